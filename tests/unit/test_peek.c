/* A look at a waiting thread: location tables, a made-up interpreter, and memory that lies. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <netinet/in.h>

#include "session/internal.h"
#include "tap.h"

/* ---- location tables ---------------------------------------------------------- */

/* Of a function with a loop, a handler and a comprehension, as CPython 3.11 compiled it: first line 3. */
static const char table_hex[] =
	"8000e0090ad8090af103010a0b8041e50d12903189588c58f000040511f0000405118801f002030911d80c0d9011894688418841f8dd0f19f0000109"
	"11f000010911f000010911d80c108844f003010911f8f8f8f004010c14f000010c14d80d0e90018846f003010c14f100010c14f400010c14f0000105"
	"14";

static size_t unhex(const char *hex, uint8_t *ret)
{
	size_t n = strlen(hex) / 2;

	for (size_t i = 0; i < n; i++) {
		unsigned int byte = 0;

		sscanf(hex + 2 * i, "%2x", &byte);
		ret[i] = (uint8_t)byte;
	}
	return n;
}

static void test_lines(void)
{
	static const struct { size_t at; int line; } want[] = {
		{ 0, 3 }, { 2, 5 }, { 4, 6 }, { 6, 5 }, { 12, 7 }, { 26, 7 }, { 46, 8 }, { 48, 9 }, { 56, 9 }, { 60, 0 }, { 62, 10 },
		{ 80, 11 }, { 84, 10 }, { 88, 0 }, { 92, 12 }, { 96, 13 }, { 102, 12 }, { 118, 12 }, { 4000, 0 },
	};
	uint8_t table[256], noise[256];
	size_t len = unhex(table_hex, table);
	uint32_t seed = 1;

	for (size_t i = 0; i < ARRAY_LEN(want); i++)
		is_int(want[i].line, peek_line(table, len, 3, want[i].at), "byte %zu of the code", want[i].at);
	is_int(0, peek_line(table, 0, 3, 0), "an empty table has no line");
	/* Kind 14, whose number never ends. */
	is_int(0, peek_line((const uint8_t *)"\xf0\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f", 9, INT32_MAX, 0), "no line past the largest");
	for (int round = 0; round < 20000; round++) {
		for (size_t i = 0; i < sizeof(noise); i++)
			noise[i] = (uint8_t)((seed = seed * 1103515245 + 12345) >> 16);
		if (peek_line(noise, sizeof(noise), (int)seed, seed % 3000) < 0)
			break;
		if (round == 19999)
			ok(true, "noise has lines or none, and is read to its end only");
	}
}

/* ---- a made-up interpreter ------------------------------------------------------ */

struct fake_str { uint64_t length; uint32_t state, pad; union { char ascii[64]; struct { uint64_t more; uint16_t wide[32]; } compact; } u; };
struct fake_bytes { uint64_t size; uint8_t data[64]; };
struct fake_code { const void *file, *function, *lines; int32_t first, traceable; uint16_t start[32]; };
struct fake_frame { const void *code, *previous; uint64_t instr; uint8_t owner; };
struct fake_cframe { const void *frame; };
struct fake_thread { const void *next; uint64_t id; const void *cframe; };
struct fake_interp { const void *next, *threads; };
struct fake_runtime { const void *interpreters, *current; };

#define ASCII (1u << 2 | 1u << 5 | 1u << 6)
#define WIDE (2u << 2 | 1u << 5)

struct fake {
	struct fake_runtime runtime;
	struct fake_interp interp;
	struct fake_thread threads[2];
	struct fake_cframe cframe;
	struct fake_frame frames[3];
	struct fake_code codes[3];
	struct fake_str files[3], names[3];
	struct fake_bytes table;
};

static const struct wire_python layout_of_fake = {
	.runtime_interpreters = offsetof(struct fake_runtime, interpreters), .runtime_current = offsetof(struct fake_runtime, current),
	.interp_next = offsetof(struct fake_interp, next), .interp_threads = offsetof(struct fake_interp, threads),
	.thread_next = offsetof(struct fake_thread, next), .thread_id = offsetof(struct fake_thread, id),
	.thread_cframe = offsetof(struct fake_thread, cframe), .cframe_frame = offsetof(struct fake_cframe, frame),
	.frame_code = offsetof(struct fake_frame, code), .frame_previous = offsetof(struct fake_frame, previous),
	.frame_instr = offsetof(struct fake_frame, instr), .frame_owner = offsetof(struct fake_frame, owner),
	.code_file = offsetof(struct fake_code, file), .code_function = offsetof(struct fake_code, function),
	.code_lines = offsetof(struct fake_code, lines), .code_first_line = offsetof(struct fake_code, first),
	.code_first_traceable = offsetof(struct fake_code, traceable), .code_start = offsetof(struct fake_code, start),
	.bytes_size = offsetof(struct fake_bytes, size), .bytes_data = offsetof(struct fake_bytes, data),
	.str_length = offsetof(struct fake_str, length), .str_state = offsetof(struct fake_str, state),
	.str_ascii = offsetof(struct fake_str, u.ascii), .str_compact = offsetof(struct fake_str, u.compact.wide),
	.library = "/usr/lib/python3.11/",
};

static void fake_text(struct fake_str *s, const char *text)
{
	*s = (struct fake_str){ .length = strlen(text), .state = ASCII };
	snprintf(s->u.ascii, sizeof(s->u.ascii), "%s", text);
}

/* The innermost frame is the library's, the next the program's, the last a package's. */
static struct wire_python make_fake(struct fake *f)
{
	static const char *const files[] = { "/usr/lib/python3.11/socket.py", "/work/own.py", "/packages/numpy/x.py" };
	static const char *const names[] = { "create_connection", "go.<locals>.inner", "call" };
	struct wire_python l = layout_of_fake;

	memset(f, 0, sizeof(*f));
	f->table = (struct fake_bytes){ .size = 4, .data = { 0x80, 0, 0xe9, 0 } };	/* two entries of 1 and 2 units, kind 13: +0 */
	f->table.data[2] = 0xd9;							/* kind 11, two units: one line on */
	for (int i = 0; i < 3; i++) {
		fake_text(&f->files[i], files[i]);
		fake_text(&f->names[i], names[i]);
		f->codes[i] = (struct fake_code){ .file = &f->files[i], .function = &f->names[i], .lines = &f->table, .first = 40 };
		f->frames[i] = (struct fake_frame){ .code = &f->codes[i], .previous = i < 2 ? &f->frames[i + 1] : NULL,
						    .instr = (uintptr_t)&f->codes[i].start[1] };
	}
	f->cframe.frame = &f->frames[0];
	f->threads[0] = (struct fake_thread){ .next = &f->threads[1], .id = 1 };
	f->threads[1] = (struct fake_thread){ .id = (uint64_t)gettid(), .cframe = &f->cframe };
	f->interp.threads = &f->threads[0];
	f->runtime.interpreters = &f->interp;
	l.runtime = (uintptr_t)&f->runtime;
	return l;
}

static void test_frames(struct fake *f)
{
	struct wire_python l = make_fake(f);
	struct session_where w = { .line = -7 };

	ok(peek_where(&l, gettid(), &w), "a thread is found by its number");
	is_str("/work/own.py", w.file, "the program's own frame, not the library's inside it");
	is_str("go.<locals>.inner", w.function, "its function");
	is_int(41, w.line, "its line");
	f->frames[1].code = NULL;
	ok(peek_where(&l, gettid(), &w) && strcmp(w.file, "/packages/numpy/x.py") == 0, "a package's before the library's");
	f->frames[0].previous = NULL;
	ok(peek_where(&l, gettid(), &w) && strcmp(w.file, "/usr/lib/python3.11/socket.py") == 0, "the library's if there is no other");
	f->codes[0].traceable = 9;
	ok(!peek_where(&l, gettid(), &w), "a frame that has not begun is none");
	l = make_fake(f);
	f->threads[1].id = 5;
	ok(!peek_where(&l, gettid(), &w), "no thread of that number, and nobody holds the lock");
	f->runtime.current = &f->threads[1];
	ok(peek_where(&l, gettid(), &w), "whoever holds the lock stands in");
	f->files[1].state = WIDE;
	f->files[1].length = 3;
	memcpy(f->files[1].u.compact.wide, (uint16_t[]){ 'a', 0x20ac, '\n' }, 6);
	ok(peek_where(&l, gettid(), &w) && strcmp(w.file, "a\xe2\x82\xac ") == 0, "wide characters, in one line");
	l.runtime = 0;
	ok(!peek_where(&l, gettid(), &w), "an unknown interpreter");
}

/* Each pointer in turn leads nowhere, to itself, or to its own beginning; it ends, and the file is text or nothing happened. */
static void test_lies(struct fake *f)
{
	static const uint64_t lies[] = { 1, 8, 0x7fffffffffff, UINT64_MAX, INT64_MAX, 0x8000000000000000u };
	struct wire_python l = make_fake(f);
	struct session_where w;
	size_t words = sizeof(*f) / 8, looked = 0;

	for (size_t i = 0; i < words; i++)
		for (size_t k = 0; k < ARRAY_LEN(lies) + 2; k++) {
			uint64_t *at;

			l = make_fake(f);
			at = (uint64_t *)(void *)f + i;
			*at = k < ARRAY_LEN(lies) ? lies[k] : k == ARRAY_LEN(lies) ? (uintptr_t)at : (uintptr_t)f;
			w = (struct session_where){ .line = 0 };
			(void)peek_where(&l, gettid(), &w);
			looked += memchr(w.file, 0, sizeof(w.file)) && memchr(w.function, 0, sizeof(w.function)) && w.line >= 0;
		}
	is_int((int)(words * (ARRAY_LEN(lies) + 2)), (int)looked, "every word of an interpreter may lie");
	l = make_fake(f);
	f->frames[0].previous = &f->frames[0];
	ok(peek_where(&l, gettid(), &w), "a frame that is its own caller");
	f->threads[0].next = &f->threads[0];
	f->interp.next = &f->interp;
	f->threads[1].id = 0;
	ok(!peek_where(&l, gettid(), &w), "threads and interpreters in a ring");
}

/* ---- arguments --------------------------------------------------------------------- */

static void describes(const char *want, const char *call, const uint64_t args[6])
{
	char got[256];

	peek_describe(gettid(), filter_call_number(call), args, got, sizeof(got));
	is_str(want, got, "%s", call);
}

#define P(x) ((uint64_t)(uintptr_t)(x))

static void test_texts(void)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char path[300], got[256];

	describes("openat(AT_FDCWD, \"/etc/shadow\", O_RDONLY|O_CLOEXEC, 0)", "openat",
		  (uint64_t[6]){ (uint32_t)AT_FDCWD, P("/etc/shadow"), O_CLOEXEC, 0 });
	describes("execve(\"/bin/sh\", ...)", "execve", (uint64_t[6]){ P("/bin/sh"), P("x"), P("y") });
	describes("rename(\"a b\", \"\xef\xbf\xbd\")", "rename", (uint64_t[6]){ P("a\nb"), P("\xff") });
	describes("access(\"/x\", 4)", "access", (uint64_t[6]){ P("/x"), 4 });
	describes("chroot(...)", "chroot", (uint64_t[6]){ 0 });
	describes("chroot(...)", "chroot", (uint64_t[6]){ UINT64_MAX - 1 });
	memset(path, 'p', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	peek_describe(gettid(), filter_call_number("chroot"), (uint64_t[6]){ P(path) }, got, sizeof(got));
	ok(strlen(got) < 130 && strstr(got, "ppp...\")"), "a long path is cut");
	if (page == MAP_FAILED || munmap(page + 4096, 4096) < 0) {
		skip("text before a hole", "no memory");
		return;
	}
	memcpy(page + 4093, "ab", 3);
	describes("chroot(\"ab\")", "chroot", (uint64_t[6]){ P(page + 4093) });
	page[4095] = 'c';
	describes("chroot(...)", "chroot", (uint64_t[6]){ P(page + 4093) });
	munmap(page, 4096);
}

static void test_addresses(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(443) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(53), .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct sockaddr_un un = { .sun_family = AF_UNIX, .sun_path = "/run/docker.sock" };
	struct msghdr msg = { .msg_name = &in, .msg_namelen = sizeof(in) };

	inet_pton(AF_INET, "192.0.2.5", &in.sin_addr);
	describes("connect(3, 192.0.2.5:443)", "connect", (uint64_t[6]){ 3, P(&in), sizeof(in) });
	describes("bind(3, [::1]:53)", "bind", (uint64_t[6]){ 3, P(&in6), sizeof(in6) });
	describes("connect(3, \"/run/docker.sock\")", "connect", (uint64_t[6]){ 3, P(&un), sizeof(un) });
	describes("sendto(3, ..., 5, 0, 192.0.2.5:443)", "sendto", (uint64_t[6]){ 3, P("hello"), 5, 0, P(&in), sizeof(in) });
	describes("sendmsg(3, 192.0.2.5:443, 0)", "sendmsg", (uint64_t[6]){ 3, P(&msg), 0 });
	memcpy(un.sun_path, "\0abstract", 10);
	describes("connect(3, \"@abstract\")", "connect", (uint64_t[6]){ 3, P(&un), 11 });
	describes("connect(3, ..., 1)", "connect", (uint64_t[6]){ 3, P(&in), 1 });
	memset(&un, 0xff, sizeof(un));
	describes("connect(3, address family 65535)", "connect", (uint64_t[6]){ 3, P(&un), UINT32_MAX });
	describes("connect(3, ..., 110)", "connect", (uint64_t[6]){ 3, 4096, 110 });
}

int main(void)
{
	struct fake *f = calloc(1, sizeof(*f));

	test_lines();
	if (f) {
		test_frames(f);
		test_lies(f);
	}
	test_texts();
	test_addresses();
	free(f);
	return done();
}
