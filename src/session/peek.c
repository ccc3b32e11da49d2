/*
 * peek.c - which line of Python a waiting thread is at
 *
 * Runs as: the supervisor, while the kernel holds the thread in a refused call
 * Trusts: nothing: memory, and every address and length found in it, is the program's
 * Never: decides anything by what it read, or walks further than its bounds
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "session/internal.h"

#define INTERPRETERS_MAX 16
#define THREADS_MAX 512
#define FRAMES_MAX 256		/* from the innermost outwards */
#define LINES_MAX (256u << 10)	/* bytes of one function's location table */
#define UNIT 2			/* bytes of an instruction */
#define OWNER_GENERATOR 1	/* enum _frameowner */

/*
 * /proc/TID/mem rather than process_vm_readv: the same permission is asked, once, and from then on the
 * descriptor means that very memory, whoever gets the number next. A server that has given the call up
 * for itself can still explain. Root and the owner of a jail's user namespace may open it.
 */
int peek_open(pid_t tid)
{
	char path[32];
	int fd;

	if (tid <= 0)
		return -ESRCH;
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

bool peek_read(int mem, uint64_t at, void *ret, size_t len)
{
	return at && at <= INT64_MAX - len && pread(mem, ret, len, (off_t)at) == (ssize_t)len;
}

static uint64_t word(int mem, uint64_t at)
{
	uint64_t value;

	return peek_read(mem, at, &value, sizeof(value)) ? value : 0;
}

static int number(int mem, uint64_t at)
{
	int32_t value;

	return peek_read(mem, at, &value, sizeof(value)) ? value : 0;
}

/* ---- text ------------------------------------------------------------------ */

static size_t put_utf8(uint32_t c, char *to)
{
	if (c < 0x80)
		return to[0] = (char)c, 1;
	if (c < 0x800)
		return to[0] = (char)(0xc0 | c >> 6), to[1] = (char)(0x80 | (c & 0x3f)), 2;
	if (c < 0x10000)
		return to[0] = (char)(0xe0 | c >> 12), to[1] = (char)(0x80 | (c >> 6 & 0x3f)),
		       to[2] = (char)(0x80 | (c & 0x3f)), 3;
	return to[0] = (char)(0xf0 | (c >> 18 & 7)), to[1] = (char)(0x80 | (c >> 12 & 0x3f)),
	       to[2] = (char)(0x80 | (c >> 6 & 0x3f)), to[3] = (char)(0x80 | (c & 0x3f)), 4;
}

/* A str in its compact form, which names and paths have: 1, 2 or 4 bytes a character behind the head. */
static bool read_text(const struct wire_python *l, int mem, uint64_t str, char *ret, size_t len)
{
	uint64_t length = word(mem, str + l->str_length);
	uint32_t state = (uint32_t)number(mem, str + l->str_state), kind = state >> 2 & 7;
	bool compact = state >> 5 & 1, ascii = state >> 6 & 1;
	char raw[192 * 4], utf8[sizeof(raw) + 1];
	size_t n, at = 0;

	if (!str || !compact || (kind != 1 && kind != 2 && kind != 4) || !length)
		return false;
	n = length < sizeof(raw) / 4 ? length : sizeof(raw) / 4;
	if (!peek_read(mem, str + (ascii ? l->str_ascii : l->str_compact), raw, n * kind))
		return false;
	for (size_t i = 0; i < n; i++) {
		uint32_t c = 0;

		memcpy(&c, raw + i * kind, kind);
		at += put_utf8(c, utf8 + at);
	}
	text_clean(utf8, at, ret, len, true);
	return true;
}

/* ---- lines ----------------------------------------------------------------- */

static uint32_t varint(const uint8_t *table, size_t len, size_t *at)
{
	uint32_t value = 0;
	unsigned int shift = 0;

	for (; *at < len; shift += 6) {
		uint8_t byte = table[(*at)++];

		if (shift < 32)
			value |= (uint32_t)(byte & 0x3f) << shift;
		if (!(byte & 0x40))
			break;
	}
	return value;
}

static int64_t line_delta(unsigned int kind, const uint8_t *table, size_t len, size_t at)
{
	uint32_t value;

	if (kind < 10 || kind == 15)	/* same line; no line at all */
		return 0;
	if (kind < 13)
		return kind - 10;
	value = varint(table, len, &at);
	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/* Objects/locations.md of CPython 3.11: entries begin with a byte that has its top bit set. */
int peek_line(const uint8_t *table, size_t len, int first_line, size_t at)
{
	int64_t line = first_line;
	size_t start = 0;

	for (size_t i = 0; i < len; ) {
		unsigned int kind = table[i] >> 3 & 15, units = (table[i] & 7) + 1u;

		line += line_delta(kind, table, len, i + 1);
		if (line < 0 || line > INT32_MAX)
			return 0;
		if (at < start + units * UNIT)
			return kind == 15 ? 0 : (int)line;
		start += units * UNIT;
		for (i++; i < len && !(table[i] & 0x80); i++)
			;
	}
	return 0;
}

static int line_of(const struct wire_python *l, int mem, uint64_t code, uint64_t instr)
{
	uint64_t table = word(mem, code + l->code_lines), size = word(mem, table + l->bytes_size);
	size_t len = size < LINES_MAX ? (size_t)size : LINES_MAX;
	_cleanup_free_ uint8_t *copy = table && len ? malloc(len) : NULL;

	if (!copy || instr < code + l->code_start || !peek_read(mem, table + l->bytes_data, copy, len))
		return 0;
	return peek_line(copy, len, number(mem, code + l->code_first_line), instr - (code + l->code_start));
}

/* ---- frames ---------------------------------------------------------------- */

/* The program's own files before those of its packages before the standard library. */
static int rank_of(const struct wire_python *l, const char *file)
{
	char library[sizeof(l->library)];

	snprintf(library, sizeof(library), "%.*s", (int)sizeof(library) - 1, l->library);
	if (str_prefix(file, "<frozen ") || (library[0] && strstr(file, library)))
		return 1;
	return str_prefix(file, SESSION_PACKAGES) ? 2 : 3;
}

/* A frame that has not begun, or is being taken down, has no line. */
static bool is_whole(const struct wire_python *l, int mem, uint64_t frame, uint64_t code, uint64_t instr)
{
	uint8_t owner = 0;
	int first = number(mem, code + l->code_first_traceable);

	if (!peek_read(mem, frame + l->frame_owner, &owner, 1))
		return false;
	return owner == OWNER_GENERATOR || (first >= 0 && instr >= code + l->code_start + (uint64_t)first * UNIT);
}

static bool walk_frames(const struct wire_python *l, int mem, uint64_t frame, struct session_where *ret)
{
	uint64_t found_code = 0, found_instr = 0;
	struct session_where w = { .line = 0 };
	int best = 0;

	for (int i = 0; frame && i < FRAMES_MAX && best < 3; i++, frame = word(mem, frame + l->frame_previous)) {
		uint64_t code = word(mem, frame + l->frame_code), instr = word(mem, frame + l->frame_instr);
		char file[sizeof(w.file)];
		int rank;

		if (!code || !is_whole(l, mem, frame, code, instr) ||
		    !read_text(l, mem, word(mem, code + l->code_file), file, sizeof(file)))
			continue;
		rank = rank_of(l, file);
		if (rank <= best)
			continue;
		best = rank;
		found_code = code;
		found_instr = instr;
		memcpy(w.file, file, sizeof(w.file));
	}
	if (!best)
		return false;
	w.line = line_of(l, mem, found_code, found_instr);
	(void)read_text(l, mem, word(mem, found_code + l->code_function), w.function, sizeof(w.function));
	*ret = w;
	return true;
}

/* ---- threads --------------------------------------------------------------- */

/* The thread's number where the program lives: the last of NSpid. */
static uint64_t inner_tid(pid_t tid)
{
	char path[40], text[4096], *at, *end;
	uint64_t id = 0;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	at = strstr(text, "\nNSpid:");
	if (!at)
		return 0;
	for (at += strlen("\nNSpid:"); *at == '\t' || *at == ' '; at = end) {
		id = strtoul(at, &end, 10);
		if (end == at)
			break;
	}
	return id;
}

static uint64_t frame_of(const struct wire_python *l, int mem, uint64_t thread)
{
	return word(mem, word(mem, thread + l->thread_cframe) + l->cframe_frame);
}

/*
 * The thread state of that number; where none has it, the one that holds the interpreter's lock. That is right for
 * a child between fork and exec, which is the copy of one thread and does not stand in the list by its new number.
 */
static uint64_t find_thread(const struct wire_python *l, int mem, uint64_t id)
{
	uint64_t interp = word(mem, l->runtime + l->runtime_interpreters);

	for (int i = 0; interp && i < INTERPRETERS_MAX; i++, interp = word(mem, interp + l->interp_next)) {
		uint64_t thread = word(mem, interp + l->interp_threads);

		for (int n = 0; thread && n < THREADS_MAX; n++, thread = word(mem, thread + l->thread_next))
			/* One that is being made for a new thread bears its maker's number, and has no frame. */
			if (id && word(mem, thread + l->thread_id) == id && frame_of(l, mem, thread))
				return thread;
	}
	return word(mem, l->runtime + l->runtime_current);
}

bool peek_where(const struct wire_python *layout, pid_t tid, struct session_where *ret)
{
	_cleanup_close_ int mem = -1;
	uint64_t thread;

	if (!layout->runtime)
		return false;
	mem = peek_open(tid);
	if (mem < 0)
		return false;
	thread = find_thread(layout, mem, inner_tid(tid));
	return thread && walk_frames(layout, mem, frame_of(layout, mem, thread), ret);
}
