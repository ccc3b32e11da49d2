/*
 * test_base.c - errors, buffers, strings, descriptors, digests and JSON of src/base
 *
 * Runs as: any user
 * Trusts: nothing
 * Never: needs a jail
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "tap.h"

#define SHA256_EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define SHA256_ABC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define SHA256_MILLION_A "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"

static void test_err(void)
{
	struct sj_err err = { 0 };
	char longer[2000];

	is_int(-ENOENT, err_set(&err, ENOENT, SJ_EXIT_SETUP, "E_ROOT", "no root named \"%s\"", "x"), "err_set returns -error");
	is_int(ENOENT, err.error, "the error is kept positive");
	is_int(SJ_EXIT_SETUP, err.exit, "the exit status is kept");
	is_str("E_ROOT", err.id, "the id is kept");
	is_str("no root named \"x\"", err.what, "what is formatted");
	is_int(-ENOENT, err_set(&err, -ENOENT, 2, "E", "x"), "a negative errno means the same");
	is_int(-EIO, err_set(&err, 0, 2, "E", "x"), "errno 0 never reads as success");
	is_int(-EPERM, err_set(NULL, EPERM, 2, "E", "x"), "NULL is legal");
	err_why(NULL, "x");
	err_fix(NULL, "x");

	err_why(&err, "because of %d", 7);
	err_fix(&err, "do %s", "that");
	is_str("because of 7", err.why, "why");
	is_str("do that", err.fix, "fix");
	err_set(&err, EPERM, 2, "E", "within %s: %s", "a", err.what);
	is_str("within a: x", err.what, "arguments may come from the error itself");
	is_str("", err.why, "a new error has no old why");

	err_set(&err, EPERM, 2, "E", "a\nb\033[31mc\x7f");
	is_str("a?b?[31mc?", err.what, "control characters are replaced");
	err_set(&err, EPERM, 2, "E", "\xc3\xa4 \xff \xc2\x9b \xe2\x82\xac \xed\xa0\x80 \xf0\x9f\x98\x80 \xc0\xaf");
	is_str("\xc3\xa4 ? ?? \xe2\x82\xac ??? \xf0\x9f\x98\x80 ??", err.what, "only well-formed UTF-8 stays");
	memset(longer, 'x', sizeof(longer));
	memcpy(longer + sizeof(err.what) - 2, "\xc3\xa4", 2);
	longer[sizeof(longer) - 1] = '\0';
	err_set(&err, EPERM, 2, "E", "%s", longer);
	is_int(sizeof(err.what) - 1, strlen(err.what), "a long message is cut to its field");
	is_int('?', err.what[sizeof(err.what) - 2], "the cut leaves no half character");
	is_int(-ENOMEM, err_oom(&err), "out of memory has an errno");
	ok(err.why[0] && err.fix[0], "and says why and what to do");
}

static void test_buf(void)
{
	struct buf b = BUF_INIT(8), none = BUF_INIT(0), big = BUF_INIT(SIZE_MAX), wide = BUF_INIT(1 << 20);

	is_int(0, buf_append(&b, "12345", 5), "append");
	is_str("12345", b.data, "the data ends in a NUL");
	is_int(0, buf_append(&b, "678", 3), "append up to the maximum");
	is_int(8, b.len, "length at the maximum");
	is_int(-ENOBUFS, buf_append(&b, "9", 1), "one byte more is refused");
	is_str("12345678", b.data, "a refusal changes nothing");
	is_int(0, buf_append(&b, NULL, 0), "nothing always fits");
	is_int(-ENOBUFS, buf_printf(&b, "%d", 5), "printf past the maximum is refused");
	ok(b.size <= 9, "no more is allocated than the maximum and the NUL");
	buf_free(&b);
	ok(!b.data && b.len == 0 && b.max == 8, "a freed buffer can be used again");
	is_int(0, buf_printf(&b, "%s-%d", "ab", 12), "printf");
	is_str("ab-12", b.data, "printf appended");
	buf_free(&b);
	buf_free(NULL);

	is_int(-ENOBUFS, buf_append(&none, "x", 1), "a buffer of maximum 0 takes nothing");
	is_int(0, buf_append(&big, "x", 1), "an unlimited buffer takes a byte");
	is_int(-ENOBUFS, buf_append(&big, "x", SIZE_MAX), "a length that wraps is refused");
	is_int(-ENOBUFS, buf_append(&big, "x", SIZE_MAX - 1), "so is one that leaves no place for the NUL");
	for (int i = 0; i < 100000; i++)
		if (buf_append(&wide, "0123456789", 10) < 0)
			break;
	is_int(1000000, wide.len, "many small pieces");
	buf_free(&none);
	buf_free(&big);
	buf_free(&wide);
}

static void test_strings(void)
{
	static const char *const names[] = { "memory", "swap", "cpus", "pids", "wall", "cpu_time" };
	_cleanup_strv_ char **v = NULL;
	_cleanup_free_ char *s = str_printf("%s %d", "x", 3);
	char word[100];

	is_str("x 3", s, "str_printf");
	ok(str_prefix("limits.memory", "limits."), "a prefix");
	ok(!str_prefix("lim", "limits"), "longer than the string is no prefix");
	is_int(0, strv_len(NULL), "NULL is an empty list");
	for (int i = 0; i < 20; i++) {
		snprintf(word, sizeof(word), "w%d", i);
		strv_push(&v, word);
	}
	is_int(20, strv_len(v), "twenty words");
	is_str("w19", v[19], "words are copied");
	is_str("memory", str_nearest("memroy", names, ARRAY_LEN(names)), "two swapped letters");
	is_str("memory", str_nearest("Memory", names, ARRAY_LEN(names)), "another case");
	is_str("memory", str_nearest("memoy", names, ARRAY_LEN(names)), "a missing letter");
	is_str("cpu_time", str_nearest("cputime", names, ARRAY_LEN(names)), "a missing underscore");
	is_str("pids", str_nearest("pid", names, ARRAY_LEN(names)), "singular");
	is_str(NULL, str_nearest("network", names, ARRAY_LEN(names)), "nothing is near");
	is_str(NULL, str_nearest("", names, ARRAY_LEN(names)), "nothing is near to nothing");
	memset(word, 'm', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	is_str(NULL, str_nearest(word, names, ARRAY_LEN(names)), "a very long word");
	is_str(NULL, str_nearest("x", names, 0), "no names");
}

static void test_read_all(void)
{
	char *data = NULL;
	size_t len = 99;
	int p[2];

	ok(pipe2(p, O_CLOEXEC) == 0 && write(p[1], "0123456789", 10) == 10, "ten bytes in a pipe");
	close(p[1]);
	is_int(-EFBIG, io_read_all(p[0], 9, &data, &len), "nine are allowed");
	ok(!data && len == 99, "outputs stay untouched on failure");
	close(p[0]);

	ok(pipe2(p, O_CLOEXEC) == 0 && write(p[1], "0123456789", 10) == 10, "again");
	close(p[1]);
	is_int(0, io_read_all(p[0], 10, &data, &len), "ten are allowed");
	is_str("0123456789", data, "a NUL is added");
	is_int(10, len, "and not counted");
	free(data);
	close(p[0]);

	data = NULL;
	is_int(0, io_read_file("/dev/null", 0, &data, &len), "an empty file");
	is_str("", data, "is an empty string");
	free(data);
	data = NULL;
	is_int(-EFBIG, io_read_file("/dev/zero", 100000, &data, NULL), "an endless file is refused");
	is_int(-EISDIR, io_read_file("/", 10, &data, NULL), "a directory is refused");
	is_int(-ENOENT, io_read_file("/nonexistent", 10, &data, NULL), "a missing file is refused");
}

static void test_full(void)
{
	char got[20] = "";
	int p[2];

	ok(pipe2(p, O_CLOEXEC) == 0, "a pipe");
	is_int(0, io_write_full(p[1], "hello", 5), "write_full");
	is_int(0, io_read_full(p[0], got, 5), "read_full");
	is_str("hello", got, "same bytes");
	is_int(0, io_write_full(p[1], "hel", 3), "a short message");
	close(p[1]);
	is_int(-EPIPE, io_read_full(p[0], got, 5), "early end of file");
	is_int(0, io_nonblock(p[0]), "nonblock");
	ok(fcntl(p[0], F_GETFL) & O_NONBLOCK, "the flag is set");
	close(p[0]);
	is_int(-EBADF, io_nonblock(-1), "a bad descriptor");
}

static void test_memfd(void)
{
	_cleanup_close_ int fd = io_memfd("test", "abc", 3);
	char hex[65] = "";

	ok(fd >= 0, "a memory file");
	ok(fcntl(fd, F_GETFD) & FD_CLOEXEC, "closes on exec");
	is_int(0, io_sha256_file(fd, hex), "its digest");
	is_str(SHA256_ABC, hex, "starts at offset 0");
	is_int(0, fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), "can be sealed");
}

static void test_sha256(void)
{
	_cleanup_free_ char *million = malloc(1000000);
	char hex[65];

	io_sha256("", 0, hex);
	is_str(SHA256_EMPTY, hex, "digest of nothing");
	io_sha256("abc", 3, hex);
	is_str(SHA256_ABC, hex, "digest of abc");
	memset(million, 'a', 1000000);
	io_sha256(million, 1000000, hex);
	is_str(SHA256_MILLION_A, hex, "digest of a million a");
	is_int(-EBADF, io_sha256_file(-1, hex), "digest of a bad descriptor");
}

static int count_open(void)
{
	int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			n++;
	return n;
}

static void test_fds(void)
{
	int s[2], fds[4] = { -1, -1, -1, -1 }, send[] = { 0, 1, 2 }, many[254] = { 0 };
	char data[8] = "";
	size_t n = 99;
	int before;

	ok(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, s) == 0, "a socket pair");
	before = count_open();
	is_int(0, io_send_fds(s[0], "ab", 2, send, 3), "send three descriptors");
	is_int(2, io_recv_fds(s[1], data, sizeof(data), fds, 4, &n), "receive the message");
	is_int(3, n, "and three descriptors");
	ok(n == 3 && (fcntl(fds[2], F_GETFD) & FD_CLOEXEC), "they close on exec");
	for (size_t i = 0; i < n; i++)
		close(fds[i]);

	is_int(0, io_send_fds(s[0], "ab", 2, send, 3), "send three again");
	is_int(2, io_recv_fds(s[1], data, sizeof(data), fds, 1, &n), "there is room for one");
	is_int(1, n, "one is kept");
	close(fds[0]);
	is_int(before, count_open(), "the others are closed");

	is_int(0, io_send_fds(s[0], "0123456789", 10, send, 3), "a message that is too long");
	is_int(-EMSGSIZE, io_recv_fds(s[1], data, sizeof(data), fds, 4, &n), "is refused");
	is_int(before, count_open(), "with all its descriptors");

	is_int(0, io_send_fds(s[0], "x", 1, NULL, 0), "no descriptor");
	is_int(1, io_recv_fds(s[1], data, sizeof(data), NULL, 0, NULL), "no room asked for");
	is_int(-EINVAL, io_send_fds(s[0], "", 0, send, 1), "an empty message is refused");
	is_int(-EINVAL, io_send_fds(s[0], "x", 1, many, ARRAY_LEN(many)), "more than the kernel carries");
	close(s[0]);
	is_int(0, io_recv_fds(s[1], data, sizeof(data), fds, 4, &n), "the end of the stream");
	is_int(-EPIPE, io_send_fds(s[1], "x", 1, NULL, 0), "no SIGPIPE");
	close(s[1]);
}

static int parse(const char *text, size_t len, struct sj_err *err)
{
	_cleanup_json_ struct json_t *j = NULL;

	return base_json_parse(text, len, "test.json", &j, err);
}

static int parse_nested(size_t depth, const char *open, const char *inner, const char *close)
{
	_cleanup_buf_ struct buf b = BUF_INIT(1 << 20);

	for (size_t i = 0; i < depth; i++)
		buf_append(&b, open, strlen(open));
	buf_append(&b, inner, strlen(inner));
	for (size_t i = 0; i < depth; i++)
		buf_append(&b, close, strlen(close));
	return parse(b.data, b.len, NULL);
}

static void test_json(void)
{
	static const struct {
		const char *text, *words, *name;
	} bad[] = {
		{ "", "line 1", "empty text" },
		{ "{\"a\": 1, \"a\": 2}", "uplicate", "a duplicate key" },
		{ "{\"a\": {\"b\": 1, \"b\": 1}}", "uplicate", "a duplicate key further in" },
		{ "{\"a\": NaN}", "NaN", "NaN" },
		{ "{\"a\": \"\\u0000\"}", "u0000", "a NUL in a string" },
		{ "{\"\\u0000a\": 1}", "u0000", "a NUL in a key" },
		{ "{\"a\": 1} x", "line 1", "text after the value" },
		{ "{\"a\": \"\xff\"}", "0xff", "bytes that are no UTF-8" },
		{ "{\"a\": 99999999999999999999}", "too big", "an integer past 64 bits" },
		{ "{\"a\": 1,}", "line 1", "a trailing comma" },
		{ "{'a': 1}", "line 1", "wrong quotes" },
		{ "3", "'[' or '{'", "a lone number" },
	};
	struct sj_err err;

	is_int(0, parse("{\"a\": [1, 2, {\"b\": null}]}", 26, NULL), "an object");
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		err = (struct sj_err){ 0 };
		is_int(-EINVAL, parse(bad[i].text, strlen(bad[i].text), &err), "refuses %s", bad[i].name);
		ok(strstr(err.what, bad[i].words) || strstr(err.why, bad[i].words), "says so: %s; %s", err.what, err.why);
		ok(err.fix[0] && err.exit == SJ_EXIT_USAGE, "with a fix and exit status 2");
	}
	is_int(-EINVAL, parse("{\"a\"\0: 1}", 9, NULL), "a raw NUL is refused");
	is_int(0, parse_nested(64, "[", "", "]"), "64 arrays deep");
	is_int(-EINVAL, parse_nested(65, "[", "", "]"), "65 arrays deep");
	is_int(0, parse_nested(64, "{\"a\":", "1", "}"), "64 objects deep");
	is_int(-EINVAL, parse_nested(65, "{\"a\":", "1", "}"), "65 objects deep");
	is_int(-EINVAL, parse_nested(100000, "[", "", "]"), "very deep");
}

int main(void)
{
	test_err();
	test_buf();
	test_strings();
	test_read_all();
	test_full();
	test_memfd();
	test_sha256();
	test_fds();
	test_json();
	return done();
}
