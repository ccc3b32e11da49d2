/* test_policy.c - every setting of the field table: bounds, types, unknown keys, defaults, units */
#include <inttypes.h>

#include "policy_help.h"

static bool is_number(const struct field *f)
{
	return f->type == T_SIZE || f->type == T_TIME || f->type == T_CPUS || f->type == T_INT;
}

/* A number of the table's own unit as a flag would give it. */
static const char *number_for(const struct field *f, uint64_t v)
{
	static char text[48];

	if (f->type == T_TIME)
		snprintf(text, sizeof(text), "%" PRIu64 "ms", v);
	else if (f->type == T_CPUS)
		snprintf(text, sizeof(text), "%" PRIu64 ".%03" PRIu64, v / 1000, v % 1000);
	else
		snprintf(text, sizeof(text), "%" PRIu64, v);
	return text;
}

static uint64_t stored(const struct policy *p, const struct field *f)
{
	uint64_t v = 0;
	uint32_t small;

	if (f->size == sizeof(v)) {
		memcpy(&v, (const char *)p + f->offset, sizeof(v));
		return v;
	}
	memcpy(&small, (const char *)p + f->offset, sizeof(small));
	return small;
}

static void takes(const struct field *f, uint64_t v)
{
	struct policy *p = help_set("python", f->path, number_for(f, v));

	if (ok(p, "%s takes %s", f->path, number_for(f, v)))
		is_int(v, stored(p, f), "%s is stored", f->path);
	policy_free(p);
}

static void out_of_range(const struct field *f, uint64_t v)
{
	char range[160];

	field_range_text(f, range, sizeof(range));
	set_refused(f->path, number_for(f, v), "E_POLICY_RANGE", range);
}

static void test_bounds(void)
{
	for (size_t i = 0; i < policy_n_fields; i++) {
		const struct field *f = &policy_fields[i];

		if (!is_number(f) || (f->flags & F_LATER) || strstr(f->path, "[]"))
			continue;
		ok(f->size == 4 || f->size == 8, "%s has a place", f->path);
		takes(f, f->min);
		takes(f, f->max);
		out_of_range(f, f->max + 1);
		if (f->min > 1 || (f->min == 1 && !(f->flags & F_NONE)))
			out_of_range(f, f->min - 1);
		if (!(f->flags & F_NONE)) {
			if (f->min > 0)
				out_of_range(f, 0);
			set_refused(f->path, "none", "E_POLICY_TYPE", "must be");
			continue;
		}
		takes(f, 0);
		struct policy *p = help_set("python", f->path, "none");

		if (ok(p, "%s takes none", f->path))
			is_int(0, stored(p, f), "%s: none is 0", f->path);
		policy_free(p);
	}
}

/* {"a":{"b":LEAF}} for "a.b". */
static char *nested(const char *path, const char *leaf)
{
	char *text = strdup(leaf), *copy = strdup(path), *dot;

	do {
		char *outer;

		dot = strrchr(copy, '.');
		outer = str_printf("{\"%s\":%s}", dot ? dot + 1 : copy, text);
		free(text);
		text = outer;
		if (dot)
			*dot = '\0';
	} while (dot);
	free(copy);
	return text;
}

static void test_wrong_types(void)
{
	static const char *const values[] = { "null", "true", "[1]", "{\"x\":1}", "[{}]" };

	for (size_t i = 0; i < policy_n_fields; i++) {
		const struct field *f = &policy_fields[i];

		if ((f->flags & F_LATER) || strstr(f->path, "[]") || f->type == T_SECTION)
			continue;
		for (size_t k = 0; k < ARRAY_LEN(values); k++) {
			bool list = f->type == T_LIST || f->type == T_CALLS || f->type == T_OBJECTS;
			_cleanup_free_ char *doc = NULL;

			if ((f->type == T_BOOL && k == 1) || (f->type == T_OBJECTS && k == 4))
				continue;
			doc = nested(f->path, values[k]);
			if (f->type == T_MAP && k == 3)
				refused(doc, "E_POLICY_TYPE", "env.set.x");
			else
				refused(doc, "E_POLICY_TYPE", list && k == 2 ? "[0]" : f->path);
		}
	}
}

static void test_unknown_keys(void)
{
	_cleanup_free_ char *at_top = str_printf("{\"qqqqqqqq\":1}");

	refused(at_top, "E_POLICY_KEY", "qqqqqqqq: unknown key");
	for (size_t i = 0; i < policy_n_fields; i++) {
		const struct field *f = &policy_fields[i];
		_cleanup_free_ char *doc = NULL, *path = NULL, *wrong = NULL, *fix = NULL;
		size_t len = strlen(f->path);

		if (strstr(f->path, "[]"))
			continue;
		if (f->type == T_SECTION) {
			path = str_printf("%s.qqqqqqqq", f->path);
			doc = nested(path, "1");
			refused(doc, "E_POLICY_KEY", path);
			continue;
		}
		if ((f->flags & F_LATER) || strlen(field_key(f)) < 5)
			continue;
		/* One letter doubled is a slip that everybody makes. */
		wrong = str_printf("%s%c", f->path, f->path[len - 1]);
		fix = str_printf("did you mean \"%s\"?", field_key(f));
		doc = nested(wrong, "1");
		refused(doc, "E_POLICY_KEY", fix);
	}
	refused("{\"memory\":\"64M\"}", "E_POLICY_KEY", "limits.memory");
	refused("{\"limits\":{\"hostname\":\"x\"}}", "E_POLICY_KEY", "files.hostname");
	refused("{\"syscalls\":{\"rules\":[{\"nam\":\"read\"}]}}", "E_POLICY_KEY", "syscalls.rules[0].nam");
	refused("{\"syscalls\":{\"rules\":[{\"name\":\"socket\",\"action\":\"allow\",\"args\":[{\"indx\":0}]}]}}",
		"E_POLICY_KEY", "syscalls.rules[0].args[0].indx");
}

static void test_later(void)
{
	set_refused("network.mode", "proxy", "E_POLICY_LATER", "none, loopback, host");
	refused("{\"network\":{\"allow\":[\"example.org\"]}}", "E_POLICY_LATER", "network.allow");
	refused("{\"python\":{\"imports\":[\"*\"]}}", "E_POLICY_LATER", "python.imports");
	refused("{\"limits\":{\"frame\":\"1M\"}}", "E_POLICY_LATER", "limits.frame");
}

static void test_words(void)
{
	for (size_t i = 0; i < policy_n_fields; i++) {
		const struct field *f = &policy_fields[i];

		if (f->type != T_ENUM || (f->flags & F_LATER) || strstr(f->path, "[]"))
			continue;
		for (const struct word *word = f->words; word->word; word++) {
			struct policy *p;

			if (word->later)
				continue;
			p = help_set("python", f->path, word->word);
			if (ok(p, "%s takes %s", f->path, word->word))
				is_int(word->value, stored(p, f), "%s is stored", word->word);
			policy_free(p);
		}
		set_refused(f->path, "qqqq", "E_POLICY_WORD", "known here");
	}
	set_refused("network.mode", "lopback", "E_POLICY_WORD", "did you mean \"loopback\"?");
	set_refused("syscalls.default", "EPREM", "E_POLICY_WORD", "did you mean \"EPERM\"?");
}

static void test_defaults(void)
{
	char text[256];

	for (size_t i = 0; i < policy_n_fields; i++) {
		const struct field *f = &policy_fields[i];

		field_default_text(f, text, sizeof(text));
		if (strstr(f->path, "[]") || (f->flags & F_LATER))
			is_str("", text, "%s has no default", f->path);
		else if (!(f->flags & F_OWN))
			ok(text[0], "%s has a default", f->path);
		ok(strlen(f->help) > 8 && f->help[strlen(f->help) - 1] == '.', "%s is explained", f->path);
	}
}

static void test_numbers_in_json(void)
{
	struct policy *p = help_load("{\"limits\":{\"memory\":67108864,\"wall\":1.5,\"cpus\":0.25,\"swap\":\"1.5G\",\"cpu_time\":2}}");

	if (ok(p, "numbers of several forms")) {
		is_int(64 << 20, p->limits.memory, "bytes");
		is_int(1500, p->limits.wall_ms, "seconds with decimals");
		is_int(250, p->limits.cpu_milli, "part of a CPU");
		is_int(1536ll << 20, p->limits.swap, "size with decimals");
		is_int(2000, p->limits.cpu_ms, "whole seconds");
	}
	policy_free(p);
	refused("{\"limits\":{\"memory\":64.5}}", "E_POLICY_TYPE", "limits.memory");
	refused("{\"limits\":{\"memory\":-1}}", "E_POLICY_RANGE", "limits.memory");
	refused("{\"limits\":{\"wall\":-0.5}}", "E_POLICY_RANGE", "limits.wall");
	refused("{\"limits\":{\"wall\":1e300}}", "E_POLICY_RANGE", "limits.wall");
	refused("{\"limits\":{\"wall\":9223372036854775807}}", "E_POLICY_RANGE", "limits.wall");
	refused("{\"limits\":{\"cpus\":0.0001}}", "E_POLICY_TYPE", "three decimals");
	refused("{\"limits\":{\"pids\":\"64\"}}", "E_POLICY_TYPE", "not a string");
	refused("{\"limits\":{\"memory\":\"64X\"}}", "E_POLICY_TYPE", "K, M, G");
	refused("{\"limits\":{\"memory\":\"99999999999999999999\"}}", "E_POLICY_RANGE", "8M to 1T");
}

static void size_is(const char *text, int64_t want)
{
	uint64_t v = 0;
	int r = policy_parse_size(text, &v);

	is_int(want, r < 0 ? r : (int64_t)v, "size \"%s\"", text);
}

static void time_is(const char *text, int64_t want)
{
	uint64_t v = 0;
	int r = policy_parse_time_ms(text, &v);

	is_int(want, r < 0 ? r : (int64_t)v, "time \"%s\"", text);
}

static void prints(uint64_t bytes, const char *want)
{
	char text[32];

	policy_format_size(bytes, text, sizeof(text));
	is_str(want, text, "%" PRIu64 " bytes", bytes);
}

static void test_units(void)
{
	size_is("0", 0);
	size_is("64M", 64 << 20);
	size_is("64m", 64 << 20);
	size_is("1.5K", 1536);
	size_is("0.3K", -EINVAL);
	size_is("2T", 2ll << 40);
	size_is("16777216T", -ERANGE);
	size_is("18446744073709551616", -ERANGE);
	size_is("0.999999999T", -EINVAL);
	size_is("1.0000000000", -EINVAL);
	size_is("", -EINVAL);
	size_is("M", -EINVAL);
	size_is("1.", -EINVAL);
	size_is(".5M", -EINVAL);
	size_is("-1", -EINVAL);
	size_is("+1", -EINVAL);
	size_is(" 1", -EINVAL);
	size_is("1 M", -EINVAL);
	size_is("1MB", -EINVAL);
	size_is("0x10", -EINVAL);
	time_is("1", 1000);
	time_is("1.5s", 1500);
	time_is("250ms", 250);
	time_is("0.5ms", -EINVAL);
	time_is("2m", 120000);
	time_is("1h", 3600000);
	time_is("1d", -EINVAL);
	time_is("99999999999999999h", -ERANGE);
	prints(0, "0");
	prints(1023, "1023");
	prints(1536, "1.5K");
	prints(64 << 20, "64M");
	prints(1536ull << 20, "1536M");
	prints((9ull << 20) + 1, "9.0M");
	prints(1048575, "1023.9K");
	prints(UINT64_MAX, "16777215.9T");
}

static void test_strings(void)
{
	set_refused("files.root", "../etc", "E_POLICY_VALUE", "lower-case");
	set_refused("files.root", "", "E_POLICY_RANGE", "1 to 64");
	set_refused("files.root", "A", "E_POLICY_VALUE", "lower-case");
	set_refused("files.hostname", "-a", "E_POLICY_VALUE", "host name");
	set_refused("files.hostname", "a..b", "E_POLICY_VALUE", "host name");
	set_refused("files.hostname", "a_b", "E_POLICY_VALUE", "host name");
	set_refused("files.hostname", "a.", "E_POLICY_VALUE", "host name");
	set_refused("files.exec_from_writable", "perhaps", "E_POLICY_TYPE", "true or false");
	set_refused("files.hostname", "\xff", "E_POLICY_VALUE", "UTF-8");
	refused("{\"name\":\"a/b\"}", "E_POLICY_VALUE", "name");
	accepted("{\"files\":{\"hostname\":\"Box-1.example.org\",\"root\":\"py3.11_x-y\"}}");
	accepted("{\"$schema\":\"https://example.org/x\",\"comment\":\"one\",\"limits\":{\"comment\":[\"two\",\"three\"]}}");
	refused("{\"comment\":1}", "E_POLICY_TYPE", "comment");
	refused("{\"comment\":[1]}", "E_POLICY_TYPE", "comment");
	/* A message goes to a terminal. */
	refused("{\"\\u001b[31mred\":1}", "E_POLICY_KEY", "?[31mred");
}

int main(void)
{
	help_begin();
	test_bounds();
	test_wrong_types();
	test_unknown_keys();
	test_later();
	test_words();
	test_defaults();
	test_numbers_in_json();
	test_units();
	test_strings();
	return help_end();
}
