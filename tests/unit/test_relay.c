/*
 * test_relay.c - bytes between pipes: whole, capped, never waiting
 *
 * Runs as: any user
 * Trusts: nothing
 * Never: starts a jail
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tap.h"
#include "session/internal.h"

/* What a jail writes comes in at `in`, what the caller reads comes out at `out`. */
struct line {
	struct relay r;
	int in, out;
};

static struct line line_open(bool socket)
{
	struct line l = { .r = { .src = RELAY_END_NONE, .dst = RELAY_END_NONE } };
	int a[2], b[2];

	if (pipe2(a, O_CLOEXEC) < 0 || (socket ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, b) : pipe2(b, O_CLOEXEC)) < 0)
		exit(1);
	relay_end_own(&l.r.src, a[0]);
	relay_end_caller(&l.r.dst, b[1], true);
	l.in = a[1];
	l.out = b[0];
	fcntl(l.out, F_SETFL, O_NONBLOCK);
	return l;
}

static void line_close(struct line *l)
{
	int dst = l->r.dst.fd;

	relay_close(&l->r);
	if (dst >= 0)
		close(dst);
	base_closep(&l->in);
	base_closep(&l->out);
}

static void put(int fd, const char *s)
{
	if (write(fd, s, strlen(s)) < 0)
		printf("# cannot write\n");
}

static const char *get(int fd)
{
	static char buf[1 << 17];
	ssize_t n = read(fd, buf, sizeof(buf) - 1);

	buf[n > 0 ? n : 0] = '\0';
	return buf;
}

static void test_through(bool socket, const char *name)
{
	struct line l = line_open(socket);

	relay_pump(&l.r, NULL, 1);
	ok(!relay_done(&l.r), "%s: nothing there yet", name);
	put(l.in, "hello");
	relay_pump(&l.r, NULL, 1);
	is_str("hello", get(l.out), "%s: bytes pass", name);
	base_closep(&l.in);
	relay_pump(&l.r, NULL, 1);
	ok(relay_done(&l.r), "%s: the end passes", name);
	is_int(5, l.r.accepted, "%s: counted", name);
	line_close(&l);
}

static void test_budget(void)
{
	struct line l = line_open(false);
	uint64_t budget = 8;

	put(l.in, "12345678");
	relay_pump(&l.r, &budget, 1);
	is_int(0, budget, "the budget is used up");
	ok(!l.r.over, "exactly as much is not too much");
	put(l.in, "9");
	relay_pump(&l.r, &budget, 1);
	ok(l.r.over, "one more byte is");
	is_str("12345678", get(l.out), "exactly the budget came out");
	is_int(8, l.r.accepted, "and was counted");
	line_close(&l);
}

static void test_shared_budget(void)
{
	struct line a = line_open(false), b = line_open(false);
	uint64_t budget = 6;

	put(a.in, "aaaa");
	put(b.in, "bbbb");
	relay_pump(&a.r, &budget, 1);
	relay_pump(&b.r, &budget, 1);
	is_int(4, a.r.accepted, "the first stream's part");
	is_int(2, b.r.accepted, "the second gets what is left");
	ok(b.r.over && !a.r.over, "and is the one that is over");
	line_close(&a);
	line_close(&b);
}

/* The caller does not read: the relay holds what it has and returns at once. */
static void test_slow_reader(enum relay_how how, const char *name)
{
	struct line l = line_open(false);
	char *block = calloc(1, RELAY_CHUNK);
	size_t got = 0;

	l.r.dst.how = how;
	memset(block, 'x', RELAY_CHUNK);
	fcntl(l.in, F_SETFL, O_NONBLOCK);
	for (int i = 0; i < 8; i++) {
		if (write(l.in, block, RELAY_CHUNK) < 0)
			break;
		relay_pump(&l.r, NULL, 1);
	}
	ok(l.r.len > 0, "%s: bytes wait for the reader", name);
	is_int(POLLOUT, relay_wants_dst(&l.r), "%s: it asks for room", name);
	is_int(0, relay_wants_src(&l.r, 1), "%s: and reads no more meanwhile", name);
	base_closep(&l.in);
	while (!relay_done(&l.r)) {
		got += strlen(get(l.out));
		relay_flush(&l.r, 2);
		relay_pump(&l.r, NULL, 2);
	}
	got += strlen(get(l.out));
	is_int(l.r.accepted, got, "%s: in the end all arrives", name);
	is_int(2, l.r.moved_at, "%s: and the time is noted", name);
	free(block);
	line_close(&l);
}

static void test_careful_source(void)
{
	struct line l = line_open(false);

	fcntl(l.r.src.fd, F_SETFL, 0);
	l.r.src.how = RELAY_CAREFUL;
	relay_pump(&l.r, NULL, 1);
	ok(!relay_done(&l.r), "an empty blocking source does not hold the relay");
	put(l.in, "hello");
	relay_pump(&l.r, NULL, 1);
	is_str("hello", get(l.out), "what it has passes");
	line_close(&l);
}

static void test_reader_gone(void)
{
	struct line l = line_open(false);

	base_closep(&l.out);
	put(l.in, "for nobody");
	relay_pump(&l.r, NULL, 1);
	is_int(EPIPE, l.r.error, "a reader that is gone is noted");
	ok(relay_done(&l.r), "and the stream is over");
	ok(write(l.in, "x", 1) < 0 && errno == EPIPE, "the writer sees it too");
	line_close(&l);
}

static void test_hold(void)
{
	struct line l = line_open(false);

	l.r.hold_until = 100;
	is_int(0, relay_wants_src(&l.r, 99), "a held source is left alone");
	is_int(POLLIN, relay_wants_src(&l.r, 100), "until its time");
	line_close(&l);
}

/* What a caller's descriptor looks like to others must not change. */
static void test_flags_stay(void)
{
	struct relay_end e;
	int p[2];

	if (pipe2(p, O_CLOEXEC) < 0)
		exit(1);
	relay_end_caller(&e, p[1], true);
	is_int(0, fcntl(p[1], F_GETFL) & O_NONBLOCK, "a caller's pipe stays blocking");
	is_int(false, e.own, "and is not ours to close");
	relay_end_close(&e);
	ok(fcntl(p[1], F_GETFD) >= 0, "it stays open");
	close(p[0]);
	close(p[1]);
}

static void test_unread_goes_back(void)
{
	char path[] = "/tmp/smoljail-test-XXXXXX", buf[4] = "";
	int file = mkostemp(path, O_CLOEXEC), null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	int caller[3] = { file, null, null };
	struct session_stdio io;
	struct sj_err err = { 0 };

	unlink(path);
	put(file, "one\ntwo\nthree\n");
	lseek(file, 0, SEEK_SET);
	is_int(0, stdio_open(&io, caller, &err), "streams open");
	relay_pump(&io.in, NULL, 1);
	is_int(14, lseek(file, 0, SEEK_CUR), "all of the file was taken");
	is_int(4, read(io.inside[0], buf, 4), "the program reads a line");
	stdio_close_inside(&io);
	stdio_rewind_unread(&io);
	is_int(4, lseek(file, 0, SEEK_CUR), "the rest is handed back");
	stdio_close(&io);
	close(file);
	close(null);
}

static void test_merging(void)
{
	int p[2], q[2];
	struct session_stdio io;
	struct sj_err err = { 0 };

	if (pipe2(p, O_CLOEXEC) < 0 || pipe2(q, O_CLOEXEC) < 0)
		exit(1);
	stdio_open(&io, (const int[]){ -1, p[1], p[1] }, &err);
	ok(io.merged, "one open file: one pipe");
	stdio_close(&io);
	stdio_open(&io, (const int[]){ -1, p[1], q[1] }, &err);
	ok(!io.merged, "two pipes stay two");
	stdio_close(&io);
	is_int(0, stdio_open(&io, (const int[]){ -1, -1, -1 }, &err), "no streams at all are fine");
	ok(io.inside[0] >= 0 && io.inside[1] >= 0 && io.inside[2] >= 0, "the jail has three descriptors all the same");
	ok(relay_done(&io.out) && relay_done(&io.err), "and nothing is waited for");
	stdio_close(&io);
	stdio_open(&io, (const int[]){ p[1], p[0], p[0] }, &err);
	ok(relay_done(&io.out), "a stream open for the wrong direction counts as closed");
	stdio_close(&io);
	close(p[0]);
	close(p[1]);
	close(q[0]);
	close(q[1]);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	test_through(false, "a pipe");
	test_through(true, "a socket");
	test_budget();
	test_shared_budget();
	test_slow_reader(RELAY_NOWAIT, "asking not to wait");
	test_slow_reader(RELAY_CAREFUL, "looking first");
	test_careful_source();
	test_reader_gone();
	test_hold();
	test_flags_stay();
	test_unread_goes_back();
	test_merging();
	return done();
}
