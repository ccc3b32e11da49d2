/*
 * oci_form.c - the form of a container's profile: keys, types, numbers, and where they stand
 *
 * Runs as: the caller
 * Trusts: nothing
 * Never: takes a value of the wrong type for an absent one
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "workbench/oci.h"

#define DIGITS_MAX 20	/* of a number of 64 bits */
#define DIGITS_BIG 19	/* fewer always fit a signed one */

static void at_text(const struct oci_at *at, char *ret, size_t len)
{
	size_t n;

	ret[0] = '\0';
	if (!at)
		return;
	at_text(at->up, ret, len);
	n = strlen(ret);
	if (at->key)
		snprintf(ret + n, len - n, "%s%.60s", n ? "." : "", at->key);
	else
		snprintf(ret + n, len - n, "[%zu]", at->index);
}

int oci_refuse(const struct oci_form *f, const struct oci_at *at, const char *fmt, ...)
{
	char path[OCI_PATH_MAX], why[sizeof(f->err->why)];
	va_list ap;
	int r;

	at_text(at, path, sizeof(path));
	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	r = err_set(f->err, EINVAL, SJ_EXIT_USAGE, "E_OCI", "%.200s: %s: not right for a system call profile", f->file,
		    path[0] ? path : "the document");
	err_why(f->err, "%s", why);
	err_fix(f->err, "give a profile as Docker's --security-opt seccomp= takes it, or an OCI config.json");
	return r;
}

void oci_note(const struct oci_notes *notes, const char *id, const char *path, const char *fmt, ...)
{
	char sentence[512];
	va_list ap;

	if (!notes->fn)
		return;
	va_start(ap, fmt);
	vsnprintf(sentence, sizeof(sentence), fmt, ap);
	va_end(ap);
	notes->fn(notes->arg, id, path, sentence);
}

void oci_path(const struct oci_notes *notes, size_t entry, long arg, char ret[OCI_PATH_MAX])
{
	int n = snprintf(ret, OCI_PATH_MAX, "%ssyscalls[%zu]", notes->wrapped ? "linux.seccomp." : "", entry);

	if (arg >= 0)
		snprintf(ret + n, OCI_PATH_MAX - (size_t)n, ".args[%ld]", arg);
}

json_t *oci_get(json_t *obj, const char *key)
{
	json_t *value = json_object_get(obj, key);

	return json_is_null(value) ? NULL : value;
}

static bool has_type(const json_t *value, enum oci_type type)
{
	switch (type) {
	case OCI_STRING:
		return json_is_string(value);
	case OCI_NUMBER: /* a string is looked at by oci_number() */
		return json_is_integer(value) || json_is_string(value);
	case OCI_LIST:
	case OCI_STRINGS:
		return json_is_array(value);
	case OCI_OBJECT:
		return json_is_object(value);
	}
	return false;
}

static int check_value(const struct oci_form *f, const struct oci_at *at, json_t *value, const struct oci_key *key)
{
	static const char *const types[] = { "a string", "a whole number", "a list", "a list of strings", "an object" };
	json_t *member;
	size_t i;

	if (json_is_null(value))
		return 0;
	if (!has_type(value, key->type))
		return oci_refuse(f, at, "it must be %s", types[key->type]);
	if (key->type != OCI_STRINGS)
		return 0;
	json_array_foreach(value, i, member) {
		const struct oci_at here = { at, NULL, i };

		if (!json_is_string(member))
			return oci_refuse(f, &here, "it must be a string");
	}
	return 0;
}

int oci_check(const struct oci_form *f, const struct oci_at *at, json_t *obj, const struct oci_key *keys)
{
	const char *name;
	json_t *value;

	json_object_foreach(obj, name, value) {
		const struct oci_at here = { at, name, 0 };
		const struct oci_key *key = keys;
		char path[OCI_PATH_MAX];
		int r;

		while (key->name && strcmp(key->name, name) != 0)
			key++;
		at_text(&here, path, sizeof(path));
		if (!key->name) {
			oci_note(f->notes, "oci-ignored", path, "no profile has this key, so it is left out");
			continue;
		}
		r = check_value(f, &here, value, key);
		if (r < 0)
			return r;
		if (key->ignored && key->ignored[0] && !json_is_null(value))
			oci_note(f->notes, "oci-ignored", path, "%s", key->ignored);
	}
	return 0;
}

/* ---- numbers ------------------------------------------------------------ */

static bool parse_digits(const char *s, size_t len, uint64_t *ret)
{
	uint64_t value = 0;

	for (size_t i = 0; i < len; i++)
		if (!isdigit((unsigned char)s[i]) || __builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(s[i] - '0'), &value))
			return false;
	*ret = value;
	return len > 0;
}

int oci_number(const struct oci_form *f, const struct oci_at *at, json_t *value, uint64_t max, uint64_t *ret)
{
	const char *text = json_string_value(value);
	uint64_t n = (uint64_t)json_integer_value(value);

	/* Only oci_quote_numbers() writes a number that is a string. */
	if (text && (!parse_digits(text, strlen(text), &n) || n <= INT64_MAX))
		return oci_refuse(f, at, "it must be a whole number");
	if ((!text && json_integer_value(value) < 0) || n > max)
		return oci_refuse(f, at, "it must be from 0 to %" PRIu64, max);
	*ret = n;
	return 0;
}

/* A whole number begins here that only an unsigned type holds: its length, else 0. */
static size_t big_number(const char *text, size_t at, size_t len)
{
	uint64_t value;
	size_t n = 0;

	if (at > 0 && (isalnum((unsigned char)text[at - 1]) || strchr("+-._", text[at - 1])))
		return 0;
	while (at + n < len && n <= DIGITS_MAX && isdigit((unsigned char)text[at + n]))
		n++;
	if (n < DIGITS_BIG || (at + n < len && strchr(".eE", text[at + n])))
		return 0;
	return parse_digits(text + at, n, &value) && value > INT64_MAX ? n : 0;
}

char *oci_quote_numbers(const char *text, size_t len, size_t *ret_len)
{
	/* A number of 19 digits or more gets two characters longer. */
	const size_t size = len + len / 9 + 1;
	_cleanup_free_ char *out = malloc(size);
	bool in_string = false;
	size_t n = 0;

	if (!out)
		return NULL;
	for (size_t i = 0; i < len; i++) {
		size_t big = in_string ? 0 : big_number(text, i, len);

		if (big > 0) {
			n += (size_t)snprintf(out + n, size - n, "\"%.*s\"", (int)big, text + i);
			i += big - 1;
			continue;
		}
		if (text[i] == '"')
			in_string = !in_string;
		out[n++] = text[i];
		if (in_string && text[i] == '\\' && i + 1 < len)
			out[n++] = text[++i];
	}
	out[n] = '\0';
	*ret_len = n;
	return steal_ptr(out);
}

bool oci_kernel(const char *text, unsigned int ret[2])
{
	const char *dot = strchr(text, '.');
	uint64_t major, minor;

	if (!dot || !parse_digits(text, (size_t)(dot - text), &major) || !parse_digits(dot + 1, strlen(dot + 1), &minor) ||
	    major > UINT8_MAX || minor > UINT8_MAX || major + minor == 0)
		return false;
	ret[0] = (unsigned int)major;
	ret[1] = (unsigned int)minor;
	return true;
}
