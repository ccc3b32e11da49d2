/*
 * relay.c - bytes from one descriptor to another, never waiting for either
 *
 * Runs as: the supervisor, outside the jail
 * Trusts: nothing about the bytes, their number or the reader's pace
 * Never: sets O_NONBLOCK on a descriptor that the caller shares with others
 */
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "session/internal.h"

/* A new open file of the same terminal: O_NONBLOCK belongs to the open file, so nobody else sees it. */
static int reopen_tty(int fd, bool writing)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, (writing ? O_WRONLY : O_RDONLY) | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

void relay_end_caller(struct relay_end *e, int fd, bool writing)
{
	struct stat st;
	int tty;

	*e = (struct relay_end){ .fd = fd, .how = RELAY_CAREFUL };
	if (fstat(fd, &st) < 0)
		return;
	if (S_ISREG(st.st_mode)) {
		e->how = RELAY_PLAIN;
		e->regular = true;
	} else if (S_ISFIFO(st.st_mode)) {
		e->how = RELAY_NOWAIT;
	} else if (S_ISSOCK(st.st_mode)) {
		e->how = RELAY_SOCKET;
	} else if (S_ISCHR(st.st_mode) && isatty(fd)) {
		e->tty = true;
		tty = reopen_tty(fd, writing);
		if (tty >= 0)
			*e = (struct relay_end){ .fd = tty, .how = RELAY_PLAIN, .own = true, .tty = true };
	}
}

int relay_end_own(struct relay_end *e, int fd)
{
	*e = (struct relay_end){ .fd = fd, .how = RELAY_PLAIN, .own = true };
	return io_nonblock(fd);
}

void relay_end_close(struct relay_end *e)
{
	if (e->own && e->fd >= 0)
		close(e->fd);
	e->fd = -1;
}

static bool ready_now(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };

	return poll(&p, 1, 0) > 0;
}

/* The kernel cannot do this call without waiting on this kind of file. */
static bool nowait_unknown(int error)
{
	return error == EOPNOTSUPP || error == ENOSYS || error == EINVAL || error == EPERM;
}

static ssize_t careful_read(int fd, void *data, size_t len)
{
	if (!ready_now(fd, POLLIN)) {
		errno = EAGAIN;
		return -1;
	}
	return read(fd, data, len);
}

static ssize_t careful_write(int fd, const void *data, size_t len)
{
	if (!ready_now(fd, POLLOUT)) {
		errno = EAGAIN;
		return -1;
	}
	/* A pipe that polls writable has room for PIPE_BUF bytes, so this does not wait. */
	return write(fd, data, len < PIPE_BUF ? len : PIPE_BUF);
}

ssize_t relay_end_read(struct relay_end *e, void *data, size_t len)
{
	struct iovec iov = { .iov_base = data, .iov_len = len };
	ssize_t n;

	switch (e->how) {
	case RELAY_SOCKET:
		return recv(e->fd, data, len, MSG_DONTWAIT);
	case RELAY_NOWAIT:
		n = preadv2(e->fd, &iov, 1, -1, RWF_NOWAIT);
		if (n >= 0 || !nowait_unknown(errno))
			return n;
		e->how = RELAY_CAREFUL;
		return careful_read(e->fd, data, len);
	case RELAY_CAREFUL:
		return careful_read(e->fd, data, len);
	case RELAY_PLAIN:
		break;
	}
	return read(e->fd, data, len);
}

ssize_t relay_end_write(struct relay_end *e, const char *data, size_t len)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)data, .iov_len = len };
	ssize_t n;

	switch (e->how) {
	case RELAY_SOCKET:
		return send(e->fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	case RELAY_NOWAIT:
		n = pwritev2(e->fd, &iov, 1, -1, RWF_NOWAIT);
		if (n >= 0 || !nowait_unknown(errno))
			return n;
		e->how = RELAY_CAREFUL;
		return careful_write(e->fd, data, len);
	case RELAY_CAREFUL:
		return careful_write(e->fd, data, len);
	case RELAY_PLAIN:
		break;
	}
	return write(e->fd, data, len);
}

static bool try_again(int error)
{
	return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

short relay_wants_src(const struct relay *r, uint64_t now_us)
{
	return r->src.fd >= 0 && !r->len && now_us >= r->hold_until ? POLLIN : 0;
}

short relay_wants_dst(const struct relay *r)
{
	return r->dst.fd >= 0 && r->len ? POLLOUT : 0;
}

bool relay_done(const struct relay *r)
{
	return r->src.fd < 0 && !r->len;
}

/* Nobody takes the bytes any more: the writer must see a closed pipe, as it would without us. */
static void give_up(struct relay *r, int error)
{
	r->error = error;
	r->len = 0;
	relay_end_close(&r->src);
	relay_end_close(&r->dst);
}

/* The end of src travels on: a pipe of ours is closed when dst has taken everything. */
static void settle(struct relay *r)
{
	if (relay_done(r))
		relay_end_close(&r->dst);
}

void relay_flush(struct relay *r, uint64_t now_us)
{
	ssize_t n;

	while (r->len) {
		n = relay_end_write(&r->dst, r->data + r->off, r->len);
		if (n < 0 && try_again(errno))
			return;
		if (n < 0) {
			give_up(r, errno);
			return;
		}
		r->off += (size_t)n;
		r->len -= (size_t)n;
		r->moved_at = now_us;
	}
	settle(r);
}

/* Reading a terminal from the background would stop the whole supervisor (SIGTTIN). */
static bool in_background(const struct relay_end *e)
{
	return e->tty && tcgetpgrp(e->fd) != getpgrp();
}

static void take(struct relay *r, size_t n, uint64_t *budget)
{
	r->off = 0;
	r->len = n;
	if (budget && *budget != UINT64_MAX) {
		if (n > *budget) {
			r->len = (size_t)*budget;
			r->over = true;
		}
		*budget -= r->len;
	}
	r->accepted += r->len;
}

void relay_pump(struct relay *r, uint64_t *budget, uint64_t now_us)
{
	ssize_t n;

	if (r->src.fd < 0 || r->len)
		return;
	if (in_background(&r->src)) {
		r->hold_until = now_us + SESSION_TTY_HOLD_MS * 1000u;
		return;
	}
	if (!r->data) {
		r->data = malloc(RELAY_CHUNK);
		if (!r->data) {
			give_up(r, ENOMEM);
			return;
		}
	}
	n = relay_end_read(&r->src, r->data, RELAY_CHUNK);
	if (n < 0 && try_again(errno))
		return;
	if (n <= 0) {
		/* Not its end: what follows in it is lost. */
		if (n < 0)
			r->error = errno;
		relay_end_close(&r->src);
		settle(r);
		return;
	}
	take(r, (size_t)n, budget);
	r->moved_at = now_us;
	relay_flush(r, now_us);
}

void relay_close(struct relay *r)
{
	relay_end_close(&r->src);
	relay_end_close(&r->dst);
	free(r->data);
	r->data = NULL;
	r->len = 0;
}
