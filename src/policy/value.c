/*
 * value.c - one scalar of a policy: type, legal range, normal form
 *
 * Runs as: supervisor, outside the jail
 * Trusts: nothing in the document
 * Never: stores a value that is outside the field's range
 */
#include <stdlib.h>
#include <string.h>

#include "policy/internal.h"

#define REAL_MAX 1e9 /* a larger number is out of range whatever it counts */

static void store_number(const struct field *f, void *base, uint64_t v)
{
	char *place = (char *)base + f->offset;
	uint32_t small = (uint32_t)v;

	if (f->size == sizeof(v))
		memcpy(place, &v, sizeof(v));
	else if (f->size == sizeof(small))
		memcpy(place, &small, sizeof(small));
}

/* 0 or -EINVAL (not such a thing at all), -ERANGE (too large to hold). */
static int parse_text(const struct field *f, const char *text, uint64_t *ret)
{
	if ((f->flags & F_NONE) && strcmp(text, "none") == 0) {
		*ret = 0;
		return 0;
	}
	if (f->type == T_SIZE)
		return policy_parse_size(text, ret);
	if (f->type == T_TIME)
		return policy_parse_time_ms(text, ret);
	if (f->type == T_CPUS)
		return parse_milli(text, ret);
	return -EINVAL;
}

/* Seconds or CPUs as a JSON number with decimals, in thousandths. */
static int parse_real(double d, uint64_t *ret)
{
	double milli = d * 1000, off;

	if (!(d >= 0) || d > REAL_MAX)
		return -ERANGE;
	*ret = (uint64_t)(milli + 0.5);
	off = milli - (double)*ret;
	return off > -1e-6 && off < 1e-6 ? 0 : -EINVAL;
}

static int parse_number(const struct field *f, const json_t *in, uint64_t *ret)
{
	bool milli = f->type == T_TIME || f->type == T_CPUS;
	json_int_t i;

	if (json_is_string(in))
		return parse_text(f, json_string_value(in), ret);
	if (json_is_real(in) && milli)
		return parse_real(json_real_value(in), ret);
	if (!json_is_integer(in))
		return -EINVAL;
	i = json_integer_value(in);
	if (i < 0)
		return -ERANGE;
	return __builtin_mul_overflow((uint64_t)i, milli ? 1000u : 1u, ret) ? -ERANGE : 0;
}

static json_t *normal_number(const struct field *f, uint64_t v)
{
	char text[32];

	if (v == 0 && (f->flags & F_NONE))
		return json_string("none");
	if (f->type == T_CPUS && v % 1000 != 0)
		return json_real((double)v / 1000);
	if (f->type == T_CPUS)
		return json_integer((json_int_t)(v / 1000));
	if (f->type == T_INT || v == 0 || (f->type == T_SIZE && v % 1024 != 0))
		return json_integer((json_int_t)v);
	if (f->type == T_TIME)
		policy_format_time(v, text, sizeof(text));
	else if (v % (1u << 20) == 0)
		policy_format_size(v, text, sizeof(text));
	else
		snprintf(text, sizeof(text), "%lluK", (unsigned long long)v / 1024);
	return json_string(text);
}

static int store_quantity(struct walk *w, const struct at *at, const struct field *f, json_t *in, void *base,
			  json_t **ret_normal)
{
	uint64_t v;
	int r = parse_number(f, in, &v);

	if (r == -EINVAL)
		return refuse_type(w, at, f, in);
	if (r < 0 || (!(v == 0 && (f->flags & F_NONE)) && (v < f->min || v > f->max)))
		return refuse_range(w, at, f, in);
	store_number(f, base, v);
	*ret_normal = normal_number(f, v);
	return 0;
}

static int store_enum(struct walk *w, const struct at *at, const struct field *f, json_t *in, void *base)
{
	const char *names[16];
	size_t n = 0;

	if (!json_is_string(in))
		return refuse_type(w, at, f, in);
	for (const struct word *word = f->words; word->word; word++) {
		if (strcmp(word->word, json_string_value(in)) == 0) {
			if (word->later)
				return refuse_later(w, at, f, json_string_value(in));
			store_number(f, base, (uint64_t)word->value);
			return 0;
		}
		if (!word->later && n < ARRAY_LEN(names))
			names[n++] = word->word;
	}
	return refuse_word(w, at, "E_POLICY_WORD", "there is no", json_string_value(in),
			   "this setting takes one of a few words", names, n);
}

static int store_string(struct walk *w, const struct at *at, const struct field *f, json_t *in, void *base)
{
	char why[POLICY_WHY_MAX];
	const char *text;
	size_t len;

	if (!json_is_string(in))
		return refuse_type(w, at, f, in);
	text = json_string_value(in);
	len = json_string_length(in);
	if (len < f->min || len > f->max)
		return refuse_range(w, at, f, in);
	if (f->check && !f->check(text, why))
		return refuse_value(w, at, f, text, why);
	/* The string belongs to the document, which lives as long as the policy. */
	if (f->size)
		memcpy((char *)base + f->offset, &text, sizeof(text));
	return 0;
}

static int store_errno(struct walk *w, const struct at *at, const struct field *f, json_t *in, void *base)
{
	const char *const *names;
	size_t n;
	int number;

	if (!json_is_string(in))
		return refuse_type(w, at, f, in);
	number = policy_errno(json_string_value(in));
	if (number == 0) {
		names = errno_names(&n);
		return refuse_word(w, at, "E_POLICY_WORD", "there is no error named", json_string_value(in),
				   "it must be an errno's name as errno(3) lists them", names, n);
	}
	store_number(f, base, (uint64_t)number);
	return 0;
}

static int store_const(struct walk *w, const struct at *at, const struct field *f, json_t *in, void *base)
{
	const char *const *names;
	uint64_t v;
	size_t n;

	if (json_is_integer(in)) {
		if (json_integer_value(in) < 0)
			return refuse_value(w, at, f, "negative number",
					    "arguments are compared unsigned; write the bits, such as \"0xffffffff\"");
		v = (uint64_t)json_integer_value(in);
	} else if (!json_is_string(in)) {
		return refuse_type(w, at, f, in);
	} else if (!policy_parse_const(json_string_value(in), json_string_length(in), &v)) {
		names = const_names(&n);
		return refuse_word(w, at, "E_POLICY_WORD", "no number and no known constant:", json_string_value(in),
				   "smoljail-policy(5) lists the names that may be used; any number may", names, str_nearest(json_string_value(in), names, n) ? n : 0);
	}
	store_number(f, base, v);
	return 0;
}

int value_store(struct walk *w, const struct at *at, const struct field *f, json_t *in, void *base,
		json_t **ret_normal)
{
	json_t *normal = NULL;
	bool yes = json_is_true(in);
	int r = 0;

	switch (f->type) {
	case T_SIZE:
	case T_TIME:
	case T_CPUS:
	case T_INT:
		r = store_quantity(w, at, f, in, base, &normal);
		if (r == 0 && !normal)
			return err_oom(w->err);
		break;
	case T_BOOL:
		if (!json_is_boolean(in))
			return refuse_type(w, at, f, in);
		memcpy((char *)base + f->offset, &yes, sizeof(yes));
		break;
	case T_ENUM:
		r = store_enum(w, at, f, in, base);
		break;
	case T_STRING:
		r = store_string(w, at, f, in, base);
		break;
	case T_ERRNO:
		r = store_errno(w, at, f, in, base);
		break;
	case T_CONST:
		r = store_const(w, at, f, in, base);
		break;
	case T_SECTION:
	case T_LIST:
	case T_CALLS:
	case T_MAP:
	case T_OBJECTS:
		return refuse_type(w, at, f, in);
	}
	if (r < 0)
		return r;
	*ret_normal = normal ? normal : json_incref(in);
	return 0;
}

static json_t *bool_from_text(const char *text)
{
	if (strcmp(text, "true") == 0 || strcmp(text, "yes") == 0)
		return json_true();
	if (strcmp(text, "false") == 0 || strcmp(text, "no") == 0)
		return json_false();
	return json_string(text);
}

static json_t *int_from_text(const char *text)
{
	char *end;
	long long v;

	errno = 0;
	v = strtoll(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || !strchr("-0123456789", *text))
		return json_string(text);
	return json_integer(v);
}

static json_t *map_from_text(const char *text)
{
	const char *sep = strchr(text, '=');
	json_t *map = json_object();
	_cleanup_free_ char *key = sep ? strndup(text, (size_t)(sep - text)) : NULL;

	if (!key || json_object_set_new(map, key, json_string(sep + 1)) < 0) {
		json_decref(map);
		return NULL;
	}
	return map;
}

int value_from_text(struct walk *w, const struct field *f, const char *text, json_t **ret)
{
	_cleanup_json_ json_t *probe = NULL;
	json_t *value;

	errno = 0;
	probe = json_string(text);
	if (!probe && errno == ENOMEM)
		return err_oom(w->err);
	/* jansson refuses what is not UTF-8, and says nothing about why. */
	if (!probe)
		return refuse_value(w, NULL, f, text, "it must be UTF-8");
	if (f->type == T_BOOL)
		value = bool_from_text(text);
	else if (f->type == T_INT)
		value = int_from_text(text);
	else if (f->type == T_LIST || f->type == T_CALLS)
		value = json_pack("[O]", probe);
	else if (f->type == T_MAP)
		value = map_from_text(text);
	else
		value = json_incref(probe);
	if (!value)
		return err_oom(w->err);
	*ret = value;
	return 0;
}
