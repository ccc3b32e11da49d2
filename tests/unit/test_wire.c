/*
 * test_wire.c - the boot record of src/wire: filled, sealed, parsed, and refused
 *
 * Runs as: any user
 * Trusts: nothing
 * Never: leaves a memory file open
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wire/wire.h"
#include "tap.h"

#define INSNS_MAX 4096	/* the kernel's BPF_MAXINSNS */

/* ---- helpers ----------------------------------------------------------- */

static char *no_strings[] = { NULL };
static char *two_args[] = { "t.py", "--x", NULL };
static char *two_paths[] = { "/packages", "", NULL };
static const struct sock_filter three_insns[] = { { 0x20, 0, 0, 4 }, { 0x15, 0, 1, 9 }, { 0x06, 0, 0, 0x7fff0000 } };

static struct wire_boot_spec usual_spec(void)
{
	return (struct wire_boot_spec){
		.mode = WIRE_MODE_FILE, .flags = WIRE_NOTIFY, .insns = three_insns, .n_insns = 3,
		.args = two_args, .paths = two_paths, .code = "/work/t.py", .code_len = 10,
	};
}

/* Fills a new memory file; with ret_fd the caller closes it. */
static int fill(const struct wire_boot_spec *spec, int *ret_fd)
{
	int fd = memfd_create("boot", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int r = wire_boot_fill(fd, spec);

	if (ret_fd && r == 0)
		*ret_fd = fd;
	else
		close(fd);
	return r;
}

/* A record as bytes that a test may spoil. */
static char *record(const struct wire_boot_spec *spec, size_t *ret_len)
{
	struct stat st;
	char *data;
	int fd;

	if (fill(spec, &fd) < 0)
		return NULL;
	fstat(fd, &st);
	*ret_len = (size_t)st.st_size;
	data = malloc(*ret_len);
	if (pread(fd, data, *ret_len, 0) != st.st_size)
		printf("# short read\n");
	close(fd);
	return data;
}

static int parse_and_clear(const void *data, size_t len)
{
	struct wire_boot_view v;
	int r = wire_boot_parse(data, len, &v);

	if (r == 0)
		wire_boot_view_clear(&v);
	return r;
}

/* ---- what goes in comes out ---------------------------------------------- */

static void test_round_trip(void)
{
	struct wire_boot_spec spec = usual_spec();
	struct wire_boot_view v;
	size_t len;
	char *data = record(&spec, &len);

	is_int(0, wire_boot_parse(data, len, &v), "a record is parsed");
	is_int(WIRE_MODE_FILE, v.head->mode, "mode");
	is_int(WIRE_NOTIFY, v.head->flags, "flags");
	is_int(3, v.head->n_insns, "number of instructions");
	ok(memcmp(v.insns, three_insns, sizeof(three_insns)) == 0, "instructions");
	is_str("t.py", v.args[0], "first argument");
	is_str("--x", v.args[1], "second argument");
	is_str(NULL, v.args[2], "end of arguments");
	is_str("/packages", v.paths[0], "first folder");
	is_str("", v.paths[1], "an empty string is a string");
	is_str(NULL, v.paths[2], "end of folders");
	is_str("/work/t.py", v.code, "code");
	is_int(10, v.head->code, "length of code");
	wire_boot_view_clear(&v);
	is_str(NULL, (const char *)v.args, "cleared");
	wire_boot_view_clear(&v);
	free(data);
}

static void test_smallest(void)
{
	struct wire_boot_spec spec = { .mode = WIRE_MODE_CODE };
	struct wire_boot_view v;
	size_t len;
	char *data = record(&spec, &len);

	is_int(sizeof(struct wire_boot) + 1, len, "no filter, no strings, no code: head and one NUL");
	is_int(0, wire_boot_parse(data, len, &v), "is parsed");
	is_str("", v.code, "code is empty");
	is_str(NULL, v.args[0], "no arguments");
	wire_boot_view_clear(&v);
	free(data);
}

static void test_text_with_nul(void)
{
	struct wire_boot_spec spec = { .mode = WIRE_MODE_STDIN, .args = no_strings, .code = "a\0b", .code_len = 3 };
	struct wire_boot_view v;
	size_t len;
	char *data = record(&spec, &len);

	is_int(0, wire_boot_parse(data, len, &v), "a script on standard input may hold a NUL");
	ok(v.head->code == 3 && memcmp(v.code, "a\0b", 4) == 0, "and keeps it");
	wire_boot_view_clear(&v);
	free(data);
}

static void test_sealed(void)
{
	struct wire_boot_spec spec = usual_spec();
	int fd;

	is_int(0, fill(&spec, &fd), "filled");
	is_int(WIRE_BOOT_SEALS, fcntl(fd, F_GET_SEALS) & WIRE_BOOT_SEALS, "sealed");
	ok(pwrite(fd, "x", 1, 0) < 0 && errno == EPERM, "cannot be written");
	ok(ftruncate(fd, 1) < 0 && errno == EPERM, "cannot shrink");
	ok(fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) < 0 && errno == EPERM, "cannot be sealed further");
	is_int(-EPERM, wire_boot_fill(fd, &spec), "cannot be filled twice");
	close(fd);
	fd = memfd_create("unsealable", MFD_CLOEXEC);
	is_int(-EPERM, wire_boot_fill(fd, &spec), "a file that takes no seals is refused");
	close(fd);
	is_int(-EBADF, wire_boot_fill(-1, &spec), "no file at all");
}

/* ---- what fill refuses ---------------------------------------------------- */

static void test_fill_modes(void)
{
	static const struct {
		const char *name;
		enum wire_mode mode;
		char **args;
		const char *code;
		size_t len;
		int want;
	} rows[] = {
		{ "mode 0", 0, two_args, "x", 1, -EINVAL },
		{ "mode 6", 6, two_args, "x", 1, -EINVAL },
		{ "a file without name", WIRE_MODE_FILE, two_args, NULL, 0, -EINVAL },
		{ "a file name with NUL", WIRE_MODE_FILE, two_args, "a\0b", 3, -EINVAL },
		{ "a module without name", WIRE_MODE_MODULE, two_args, "", 0, -EINVAL },
		{ "a module name with NUL", WIRE_MODE_MODULE, two_args, "a\0", 2, -EINVAL },
		{ "-c with NUL", WIRE_MODE_CODE, two_args, "pass\0", 5, -EINVAL },
		{ "-c without text", WIRE_MODE_CODE, two_args, NULL, 0, 0 },
		{ "an empty script", WIRE_MODE_STDIN, two_args, NULL, 0, 0 },
		{ "no command", WIRE_MODE_EXEC, no_strings, NULL, 0, -EINVAL },
		{ "no list of arguments", WIRE_MODE_EXEC, NULL, NULL, 0, -EINVAL },
		{ "a command with text", WIRE_MODE_EXEC, two_args, "x", 1, -EINVAL },
		{ "a command", WIRE_MODE_EXEC, two_args, NULL, 0, 0 },
		{ "a module", WIRE_MODE_MODULE, no_strings, "json.tool", 9, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct wire_boot_spec spec = {
			.mode = rows[i].mode, .args = rows[i].args, .code = rows[i].code, .code_len = rows[i].len,
		};

		is_int(rows[i].want, fill(&spec, NULL), "%s", rows[i].name);
	}
}

static char **many(size_t n)
{
	char **list = calloc(n + 1, sizeof(*list));

	for (size_t i = 0; i < n; i++)
		list[i] = "a";
	return list;
}

static void test_fill_limits(void)
{
	struct wire_boot_spec spec = usual_spec();
	char **full = many(WIRE_ARGS_MAX), **over = many(WIRE_ARGS_MAX + 1);
	struct sock_filter *insns = calloc(INSNS_MAX + 1, sizeof(*insns));
	size_t big = WIRE_BOOT_MAX - sizeof(struct wire_boot) - 1;
	char *text = calloc(1, big + 1);

	spec.flags = 32;
	is_int(-EINVAL, fill(&spec, NULL), "an unknown flag");
	spec = usual_spec();
	spec.args = full;
	is_int(0, fill(&spec, NULL), "the most arguments");
	spec.args = over;
	is_int(-E2BIG, fill(&spec, NULL), "one argument more");
	spec = usual_spec();
	spec.paths = over;
	is_int(-E2BIG, fill(&spec, NULL), "one folder more");
	spec = usual_spec();
	spec.insns = insns;
	spec.n_insns = INSNS_MAX;
	is_int(0, fill(&spec, NULL), "the longest filter");
	spec.n_insns = INSNS_MAX + 1;
	is_int(-E2BIG, fill(&spec, NULL), "one instruction more");
	spec = (struct wire_boot_spec){ .mode = WIRE_MODE_STDIN, .code = text, .code_len = big };
	is_int(0, fill(&spec, NULL), "the longest record");
	spec.code_len = big + 1;
	is_int(-E2BIG, fill(&spec, NULL), "one byte more");
	spec.code_len = SIZE_MAX;
	is_int(-E2BIG, fill(&spec, NULL), "a length that would overflow");
	free(full);
	free(over);
	free(insns);
	free(text);
}

/* ---- what parse refuses --------------------------------------------------- */

#define FIELD(name) offsetof(struct wire_boot, name)

static void test_parse_head(void)
{
	static const struct {
		const char *name;
		size_t at;
		uint32_t value;
	} rows[] = {
		{ "another magic", FIELD(magic), 0x736a4230 },
		{ "mode 0", FIELD(mode), 0 },
		{ "mode 6", FIELD(mode), 6 },
		{ "a mode that takes no code", FIELD(mode), WIRE_MODE_EXEC },
		{ "an unknown flag", FIELD(flags), 0x80000000 },
		{ "fewer instructions", FIELD(n_insns), 2 },
		{ "more instructions", FIELD(n_insns), 4 },
		{ "far too many instructions", FIELD(n_insns), 0xffffffff },
		{ "fewer arguments", FIELD(n_args), 1 },
		{ "more arguments", FIELD(n_args), 3 },
		{ "far too many arguments", FIELD(n_args), 0xffffffff },
		{ "fewer folders", FIELD(n_paths), 1 },
		{ "more folders", FIELD(n_paths), 3 },
		{ "far too many folders", FIELD(n_paths), 0x80000001 },
		{ "shorter strings", FIELD(strings), 19 },
		{ "longer strings", FIELD(strings), 21 },
		{ "strings that wrap around", FIELD(strings), 0xffffffff },
		{ "shorter code", FIELD(code), 9 },
		{ "longer code", FIELD(code), 11 },
		{ "code that wraps around", FIELD(code), 0xffffffff },
	};
	struct wire_boot_spec spec = usual_spec();
	size_t len;
	char *data = record(&spec, &len);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint32_t good;

		memcpy(&good, data + rows[i].at, sizeof(good));
		memcpy(data + rows[i].at, &rows[i].value, sizeof(good));
		is_int(-EBADMSG, parse_and_clear(data, len), "%s", rows[i].name);
		memcpy(data + rows[i].at, &good, sizeof(good));
	}
	is_int(0, parse_and_clear(data, len), "and the same record unspoiled is taken");
	free(data);
}

/* Counts that are wrong but add up to the same length. */
static void test_parse_shifted(void)
{
	struct wire_boot_spec spec = usual_spec();
	struct wire_boot *h;
	size_t len;
	char *data = record(&spec, &len);

	h = (struct wire_boot *)data;
	h->strings += 1;
	h->code -= 1;
	is_int(-EBADMSG, parse_and_clear(data, len), "strings that end within the code");
	h->strings -= 2;
	h->code += 2;
	is_int(-EBADMSG, parse_and_clear(data, len), "a last string without its NUL");
	h->strings += 1;
	h->code -= 1;
	h->n_args = 1;
	h->n_paths = 3;
	is_int(0, parse_and_clear(data, len), "an argument that calls itself a folder is well-formed");
	free(data);
}

static void test_parse_length(void)
{
	struct wire_boot_spec spec = usual_spec();
	size_t len, refused = 0;
	char *data = record(&spec, &len), *copy;

	for (size_t n = 0; n < len; n++) {
		/* In memory of its own, so that the sanitizer sees one byte too far. */
		copy = malloc(n ? n : 1);
		memcpy(copy, data, n);
		refused += parse_and_clear(copy, n) == -EBADMSG;
		free(copy);
	}
	is_int(len, refused, "every shorter record is refused");
	copy = calloc(1, len + 1);
	memcpy(copy, data, len);
	is_int(-EBADMSG, parse_and_clear(copy, len + 1), "a longer one too");
	is_int(-EBADMSG, parse_and_clear(copy, (size_t)WIRE_BOOT_MAX + 1), "and one past the maximum, unread");
	memmove(copy + 1, data, len);
	is_int(-EBADMSG, parse_and_clear(copy + 1, len), "and one at an odd address");
	free(copy);
	free(data);
}

static void test_parse_untouched(void)
{
	struct wire_boot_view v = { .code = "before" };
	char junk[64] = { 0 };

	is_int(-EBADMSG, wire_boot_parse(junk, sizeof(junk), &v), "zeros");
	is_str("before", v.code, "the result is untouched by a failure");
}

int main(void)
{
	test_round_trip();
	test_smallest();
	test_text_with_nul();
	test_sealed();
	test_fill_modes();
	test_fill_limits();
	test_parse_head();
	test_parse_shifted();
	test_parse_length();
	test_parse_untouched();
	return done();
}
