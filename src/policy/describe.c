/*
 * describe.c - a field's type, legal range and default in words
 *
 * Runs as: supervisor, outside the jail
 * Trusts: the field table and policies/default.json
 * Never: says a range that differs from the one that is checked
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "policy/embed.h"
#include "policy/internal.h"

const char *field_type_text(const struct field *f)
{
	switch (f->type) {
	case T_SECTION:
		return "an object";
	case T_SIZE:
		return "a size: bytes, or a string such as \"64M\" (K, M, G, T are powers of 1024)";
	case T_TIME:
		return "a time: seconds, or a string such as \"30s\" (ms, s, m, h)";
	case T_CPUS:
		return "a decimal number with at most three decimals";
	case T_INT:
		return "a whole number";
	case T_BOOL:
		return "true or false";
	case T_ENUM:
		return "one of a few words";
	case T_STRING:
		return "a string";
	case T_ERRNO:
		return "the name of an error, such as \"EPERM\"";
	case T_CONST:
		return "a whole number, a string such as \"0x1f\", or names of constants such as \"AF_UNIX\", joined by |";
	case T_LIST:
	case T_CALLS:
		return "a list of strings";
	case T_MAP:
		return "an object of strings";
	case T_OBJECTS:
		return "a list of objects";
	}
	return "";
}

static void number_text(const struct field *f, uint64_t v, char *ret, size_t len)
{
	if (f->type == T_SIZE)
		policy_format_size(v, ret, len);
	else if (f->type == T_TIME)
		policy_format_time(v, ret, len);
	else if (f->type == T_CPUS && v % 1000 != 0)
		snprintf(ret, len, "%" PRIu64 ".%02" PRIu64, v / 1000, v % 1000 / 10);
	else
		snprintf(ret, len, "%" PRIu64, f->type == T_CPUS ? v / 1000 : v);
}

static void words_text(const struct word *words, char *ret, size_t len)
{
	size_t used = 0;

	ret[0] = '\0';
	for (; words->word; words++) {
		if (words->later)
			continue;
		snprintf(ret + used, len - used, "%s%s", used ? ", " : "one of ", words->word);
		used = strlen(ret);
	}
}

void field_range_text(const struct field *f, char *ret, size_t len)
{
	char low[32], high[32];

	ret[0] = '\0';
	switch (f->type) {
	case T_SIZE:
	case T_TIME:
	case T_CPUS:
	case T_INT:
		number_text(f, f->min, low, sizeof(low));
		number_text(f, f->max, high, sizeof(high));
		snprintf(ret, len, "%s to %s%s", low, high, f->flags & F_NONE ? ", or 0 or \"none\" for no limit" : "");
		break;
	case T_ENUM:
		words_text(f->words, ret, len);
		break;
	case T_STRING:
		snprintf(ret, len, "%" PRIu64 " to %" PRIu64 " bytes", f->min, f->max);
		break;
	case T_LIST:
	case T_CALLS:
	case T_MAP:
	case T_OBJECTS:
		snprintf(ret, len, "at most %" PRIu64 " entries", f->max);
		break;
	case T_SECTION:
	case T_BOOL:
	case T_ERRNO:
	case T_CONST:
		break;
	}
}

json_t *doc_get(json_t *doc, const char *path)
{
	while (doc && *path) {
		char key[POLICY_NAME_MAX];
		size_t len = strcspn(path, ".");

		if (len >= sizeof(key))
			return NULL;
		memcpy(key, path, len);
		key[len] = '\0';
		doc = json_object_get(doc, key);
		path += len + (path[len] == '.');
	}
	return doc;
}

void field_default_text(const struct field *f, char *ret, size_t len)
{
	_cleanup_json_ json_t *doc = NULL;
	_cleanup_free_ char *text = NULL;
	const char *start;
	size_t size;

	ret[0] = '\0';
	start = policy_shipped_text(POLICY_DEFAULT, &size);
	if (!start || base_json_parse(start, size, POLICY_DEFAULT, &doc, NULL) < 0)
		return;
	text = json_dumps(doc_get(doc, f->path), JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(6));
	if (text)
		snprintf(ret, len, "%s", text);
}
