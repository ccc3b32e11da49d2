/*
 * session_channel.c - whole frames in and out of a session's channel
 *
 * Runs as: the guest, in untrusted hands
 * Trusts: nothing; the host checks every byte that leaves here, and may as well have sent it to anybody
 * Never: holds the interpreter's lock while it waits, sends half a frame, allocates beyond the limit
 */
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "guest/session.h"

#define HEAD 4			/* bytes of a frame's length */
#define INPUT_SIZE 16384	/* most frames come by one read */

static struct {
	size_t limit;
	bool lost;
	bool may_look;
	pthread_mutex_t writer;
	bool reading;		/* guarded by the interpreter's lock */
	size_t start, end;	/* what of input is not used yet */
	PyObject *body;		/* a frame that is not complete */
	size_t got;
	struct wire_wait waits[2];	/* for a command; for the result of a call */
	unsigned char input[INPUT_SIZE];
} channel = { .limit = SESSION_FRAME_MAX, .writer = PTHREAD_MUTEX_INITIALIZER };

/* ---- in ------------------------------------------------------------------ */

/* False: nothing has come, and it is time to sleep. A channel that has an error or has ended is told by read(). */
static bool look_for_bytes(struct wire_wait *w)
{
	int there = 0;

	do {
		if (ioctl(WIRE_CHANNEL_FD, FIONREAD, &there) < 0 || there > 0)
			return true;
	} while (wire_wait_more(w));
	return false;
}

/*
 * read() that gives way to a signal's handler only where a step can be interrupted. A signal that
 * comes while it looks would not wake it from its sleep any more: handlers are asked in between.
 */
static ssize_t wait_for_bytes(void *data, size_t size)
{
	struct wire_wait *w = &channel.waits[run_is_live()];
	bool looks = wire_wait_begin(w) && channel.may_look;

	for (;;) {
		PyThreadState *state;
		ssize_t n = -1;
		int error = EINTR;

		if (run_take_interrupt()) {
			PyErr_SetNone(PyExc_KeyboardInterrupt);
			return -1;
		}
		state = PyEval_SaveThread();
		if (!looks || look_for_bytes(w)) {
			n = read(WIRE_CHANNEL_FD, data, size);
			error = errno;
		}
		looks = false;
		PyEval_RestoreThread(state);
		if (n > 0) {
			(void)wire_wait_end(w);
			return n;
		}
		if (n == 0 || error != EINTR) {
			PyErr_SetString(PyExc_EOFError, "the session's channel is closed");
			return -1;
		}
		if (PyErr_CheckSignals() < 0)
			return -1;
	}
}

static int fill_input(void)
{
	ssize_t n;

	memmove(channel.input, channel.input + channel.start, channel.end - channel.start);
	channel.end -= channel.start;
	channel.start = 0;
	n = wait_for_bytes(channel.input + channel.end, INPUT_SIZE - channel.end);
	if (n < 0)
		return -1;
	channel.end += (size_t)n;
	return 0;
}

/* The length is known and legal before anything is allocated. */
static int start_body(void)
{
	const unsigned char *h;
	size_t len, have;

	while (channel.end - channel.start < HEAD)
		if (fill_input() < 0)
			return -1;
	h = channel.input + channel.start;
	len = (size_t)h[0] << 24 | (size_t)h[1] << 16 | (size_t)h[2] << 8 | h[3];
	if (len == 0 || len > SESSION_FRAME_MAX) {
		PyErr_SetString(PyExc_EOFError, "the session's channel is out of step");
		return -1;
	}
	channel.body = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)len);
	if (!channel.body)
		return -1;
	channel.start += HEAD;
	have = channel.end - channel.start;
	channel.got = have < len ? have : len;
	memcpy(PyBytes_AS_STRING(channel.body), channel.input + channel.start, channel.got);
	channel.start += channel.got;
	return 0;
}

/* An exception leaves the frame as it is: the next call goes on with it. */
static PyObject *read_frame(void)
{
	if (!channel.body && start_body() < 0)
		return NULL;
	while (channel.got < (size_t)PyBytes_GET_SIZE(channel.body)) {
		size_t want = (size_t)PyBytes_GET_SIZE(channel.body) - channel.got;
		ssize_t n = wait_for_bytes(PyBytes_AS_STRING(channel.body) + channel.got, want);

		if (n < 0)
			return NULL;
		channel.got += (size_t)n;
	}
	return steal_ptr(channel.body);
}

PyObject *channel_read(PyObject *self, PyObject *no_args)
{
	PyObject *frame;

	(void)self, (void)no_args;
	if (channel.lost || channel.reading) {
		PyErr_SetString(PyExc_EOFError, channel.lost ? "a child has no channel" : "the channel is being read");
		return NULL;
	}
	channel.reading = true;
	frame = read_frame();
	channel.reading = false;
	return frame;
}

/* ---- out ----------------------------------------------------------------- */

static int write_all(struct iovec *v, int n)
{
	while (n > 0) {
		ssize_t done = writev(WIRE_CHANNEL_FD, v, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		while (n > 0 && (size_t)done >= v->iov_len) {
			done -= (ssize_t)v->iov_len;
			v++;
			n--;
		}
		if (n > 0) {
			v->iov_base = (char *)v->iov_base + done;
			v->iov_len -= (size_t)done;
		}
	}
	return 0;
}

static int write_frame(const char *data, size_t len)
{
	unsigned char head[HEAD] = {
		(unsigned char)(len >> 24), (unsigned char)(len >> 16), (unsigned char)(len >> 8), (unsigned char)len,
	};
	struct iovec v[] = { { head, HEAD }, { (void *)(uintptr_t)data, len } };
	int r;

	pthread_mutex_lock(&channel.writer);
	r = write_all(v, 2);
	pthread_mutex_unlock(&channel.writer);
	return r;
}

PyObject *channel_write(PyObject *self, PyObject *payload)
{
	PyThreadState *state;
	size_t len;
	int r;

	(void)self;
	if (!PyBytes_Check(payload))
		return PyErr_Format(PyExc_TypeError, "a frame is bytes");
	len = (size_t)PyBytes_GET_SIZE(payload);
	if (len == 0 || len > channel.limit)
		return PyErr_Format(PyExc_ValueError, "a frame of %zu bytes, where at most %zu are allowed", len, channel.limit);
	if (channel.lost)
		return PyErr_Format(PyExc_EOFError, "a child has no channel");
	state = PyEval_SaveThread();
	r = write_frame(PyBytes_AS_STRING(payload), len);
	PyEval_RestoreThread(state);
	if (r < 0)
		return PyErr_Format(PyExc_EOFError, "the session's channel: %s", strerror(-r));
	return none();
}

PyObject *channel_limit(PyObject *self, PyObject *bytes)
{
	size_t limit = PyLong_AsSize_t(bytes);

	(void)self;
	if (limit == (size_t)-1 && PyErr_Occurred())
		return NULL;
	if (limit > 0 && limit < SESSION_FRAME_MAX)
		channel.limit = limit;
	return none();
}

/* ---- children ------------------------------------------------------------ */

/* A child that fork() made answers to nobody: frames of two processes would mix. */
static void in_child(void)
{
	channel.lost = true;
	close(WIRE_CHANNEL_FD);
}

PyObject *channel_lost(PyObject *self, PyObject *no_args)
{
	(void)self, (void)no_args;
	return PyBool_FromLong(channel.lost);
}

void channel_may_look(void)
{
	channel.may_look = true;
}

int channel_init(void)
{
	return pthread_atfork(NULL, NULL, in_child) ? -1 : 0;
}
