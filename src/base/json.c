/*
 * json.c - parse JSON strictly: no duplicate keys, no NULs, bounded depth
 *
 * Runs as: supervisor, outside the jail
 * Trusts: nothing; the text may come from a policy file or a client
 * Never: returns a value that is nested deeper than JSON_MAX_DEPTH
 */
#include <jansson.h>

#include "base/base.h"

#define TEXT_OF_(x) #x
#define TEXT_OF(x) TEXT_OF_(x)

void base_json_unrefp(struct json_t **j)
{
	json_decref(*j);
	*j = NULL;
}

static const char *fix_for(enum json_error_code code)
{
	switch ((int)code) {
	case json_error_duplicate_key:
		return "keep one of the two entries";
	case json_error_stack_overflow:
		return "nest at most " TEXT_OF(JSON_MAX_DEPTH) " levels";
	case json_error_invalid_utf8:
		return "save the text as UTF-8";
	case json_error_null_character:
	case json_error_null_byte_in_key:
		return "remove the NUL character";
	case json_error_numeric_overflow:
		return "write a number that fits in 64 bits";
	default:
		return "correct the text at that line and column; JSON has no comments and no trailing commas";
	}
}

/* depth counts the containers around j; the recursion ends at the bound whatever j holds. */
static bool deeper_than(json_t *j, unsigned int depth, unsigned int max)
{
	const char *key;
	json_t *child;
	size_t i;

	if (!json_is_object(j) && !json_is_array(j))
		return false;
	if (depth >= max)
		return true;
	json_object_foreach(j, key, child)
		if (deeper_than(child, depth + 1, max))
			return true;
	json_array_foreach(j, i, child)
		if (deeper_than(child, depth + 1, max))
			return true;
	return false;
}

bool base_json_too_deep(const struct json_t *j)
{
	return deeper_than((json_t *)j, 0, JSON_MAX_DEPTH);
}

int base_json_parse(const char *text, size_t len, const char *name, struct json_t **ret, struct sj_err *err)
{
	_cleanup_json_ json_t *j = NULL;
	json_error_t bad;
	int r;

	errno = 0;
	j = json_loadb(text, len, JSON_REJECT_DUPLICATES, &bad);
	if (!j) {
		enum json_error_code code = json_error_code(&bad);

		/* Where memory was lacking jansson says that a token is invalid, or nothing at all. */
		if (code == json_error_out_of_memory || errno == ENOMEM)
			return err_oom(err);
		r = err_set(err, EINVAL, SJ_EXIT_USAGE, "E_JSON", "%s: line %d, column %d: not valid JSON",
			    name, bad.line, bad.column);
		err_why(err, "%s", bad.text);
		err_fix(err, "%s", fix_for(code));
		return r;
	}
	if (base_json_too_deep(j)) {
		r = err_set(err, EINVAL, SJ_EXIT_USAGE, "E_JSON_DEPTH", "%s: JSON is nested too deep", name);
		err_why(err, "more than %d objects or arrays stand inside each other", JSON_MAX_DEPTH);
		err_fix(err, "%s", fix_for(json_error_stack_overflow));
		return r;
	}
	*ret = steal_ptr(j);
	return 0;
}
