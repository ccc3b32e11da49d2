/*
 * refuse.c - say what is wrong with a policy, where, and what would be right
 *
 * Runs as: supervisor, outside the jail
 * Trusts: the field table; keys and values are hostile text
 * Never: quotes more than a line of what it was given
 */
#include <stdlib.h>
#include <string.h>

#include "policy/internal.h"

#define QUOTE_MAX 72
#define NAMES_MAX 64

void at_text(const struct at *at, char *ret, size_t len)
{
	size_t used;

	ret[0] = '\0';
	if (!at)
		return;
	at_text(at->up, ret, len);
	used = strlen(ret);
	if (at->key)
		snprintf(ret + used, len - used, "%s%.*s", used ? "." : "", QUOTE_MAX, at->key);
	else
		snprintf(ret + used, len - used, "[%zu]", at->index);
}

/* "--memory", or "policy python: limits.memory". */
static void subject(const struct walk *w, const struct at *at, char *ret, size_t len)
{
	size_t used;

	if (w->flag) {
		snprintf(ret, len, "%s", w->flag);
		return;
	}
	snprintf(ret, len, "%.160s%s", w->doc ? w->doc : "", w->doc && at ? ": " : "");
	used = strlen(ret);
	at_text(at, ret + used, len - used);
}

static void quote(const json_t *value, char *ret, size_t len)
{
	_cleanup_free_ char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(9));
	size_t cut = text ? strlen(text) : 0;

	if (!text) {
		snprintf(ret, len, "?");
	} else if (cut < len) {
		memcpy(ret, text, cut + 1);
	} else {
		memcpy(ret, text, len - 4);
		memcpy(ret + len - 4, "...", 4);
	}
}

/* The default where there is one, else where the setting is described. */
static void fix_by_field(struct walk *w, const struct field *f)
{
	char text[QUOTE_MAX];

	if (!f) {
		err_fix(w->err, "correct it, or leave it out");
		return;
	}
	field_default_text(f, text, sizeof(text));
	if (text[0] && text[0] != '[' && text[0] != '{')
		err_fix(w->err, "the default is %s", text);
	else
		err_fix(w->err, "correct it, or leave it out; smoljail-policy(5) describes %s", f->path);
}

static const char *kind_of(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return "an object";
	case JSON_ARRAY:
		return "a list";
	case JSON_STRING:
		return "a string";
	case JSON_INTEGER:
		return "a whole number";
	case JSON_REAL:
		return "a decimal number";
	case JSON_TRUE:
	case JSON_FALSE:
		return "true or false";
	case JSON_NULL:
		return "null";
	}
	return "?";
}

/* A string where the setting has more forms than its type shows, or where a flag has only strings to give. */
static bool is_misspelt(const struct walk *w, const struct field *f, const json_t *value)
{
	return json_is_string(value) && (w->flag || f->type == T_SIZE || f->type == T_TIME || f->type == T_CPUS);
}

int refuse_type(struct walk *w, const struct at *at, const struct field *f, const json_t *value)
{
	char who[320], text[QUOTE_MAX];
	int r;

	subject(w, at, who, sizeof(who));
	quote(value, text, sizeof(text));
	if (is_misspelt(w, f, value)) {
		r = err_set(w->err, EINVAL, SJ_EXIT_USAGE, "E_POLICY_TYPE", "%s: %s cannot be understood", who, text);
		err_why(w->err, "it must be %s", field_type_text(f));
	} else {
		r = err_set(w->err, EINVAL, SJ_EXIT_USAGE, "E_POLICY_TYPE", "%s: %s has the wrong type", who, text);
		err_why(w->err, "it must be %s, not %s", field_type_text(f), kind_of(value));
	}
	fix_by_field(w, f);
	return r;
}

int refuse_range(struct walk *w, const struct at *at, const struct field *f, const json_t *value)
{
	char who[320], text[QUOTE_MAX], range[160];
	int r;

	subject(w, at, who, sizeof(who));
	quote(value, text, sizeof(text));
	field_range_text(f, range, sizeof(range));
	r = err_set(w->err, ERANGE, SJ_EXIT_USAGE, "E_POLICY_RANGE", "%s: %s is out of range", who, text);
	err_why(w->err, "the legal range is %s", range);
	fix_by_field(w, f);
	return r;
}

int refuse_value(struct walk *w, const struct at *at, const struct field *f, const char *value, const char *why)
{
	_cleanup_json_ json_t *quoted = json_string(value);
	char who[320], text[QUOTE_MAX];
	int r;

	subject(w, at, who, sizeof(who));
	if (quoted)
		quote(quoted, text, sizeof(text));
	else
		snprintf(text, sizeof(text), "\"%.60s\"", value);
	r = err_set(w->err, EINVAL, SJ_EXIT_USAGE, "E_POLICY_VALUE", "%s: %s is refused", who, text);
	err_why(w->err, "%s", why);
	fix_by_field(w, f);
	return r;
}

int refuse_later(struct walk *w, const struct at *at, const struct field *f, const char *what)
{
	char who[320], range[160];
	int r;

	subject(w, at, who, sizeof(who));
	field_range_text(f, range, sizeof(range));
	r = err_set(w->err, ENOTSUP, SJ_EXIT_USAGE, "E_POLICY_LATER", "%s: %s is not in this version", who, what);
	err_why(w->err, "nothing would enforce it, so it is refused rather than ignored");
	if (f->flags & F_LATER)
		err_fix(w->err, "leave it out");
	else
		err_fix(w->err, "write %s", range);
	return r;
}

static void fix_by_names(struct walk *w, const char *word, const char *const *names, size_t n)
{
	const char *near = str_nearest(word, names, n);
	char list[384] = "";
	size_t used = 0;

	if (near) {
		err_fix(w->err, "did you mean \"%s\"?", near);
		return;
	}
	for (size_t i = 0; i < n && used + POLICY_NAME_MAX + 3 < sizeof(list); i++) {
		snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "", names[i]);
		used = strlen(list);
	}
	if (n > 0)
		err_fix(w->err, "known here: %s", list);
	else
		err_fix(w->err, "correct it, or leave it out");
}

int refuse_word(struct walk *w, const struct at *at, const char *id, const char *what, const char *word,
		const char *why, const char *const *names, size_t n)
{
	char who[320];
	int r;

	subject(w, at, who, sizeof(who));
	r = err_set(w->err, EINVAL, SJ_EXIT_USAGE, id, "%s: %s \"%.*s\"", who, what, QUOTE_MAX, word);
	err_why(w->err, "%s", why);
	fix_by_names(w, word, names, n);
	return r;
}

/* A setting that exists, but in another section: "memory" stands in "limits". */
static const struct field *elsewhere(const char *key)
{
	for (size_t i = 0; i < policy_n_fields; i++)
		if (!(policy_fields[i].flags & F_LATER) && strcmp(field_key(&policy_fields[i]), key) == 0)
			return &policy_fields[i];
	return NULL;
}

int refuse_key(struct walk *w, const struct at *at, const struct field *parent, const char *key)
{
	const struct at here = { at, key, 0 };
	const struct field *other = elsewhere(key);
	const char *names[NAMES_MAX];
	char who[320];
	size_t n = 0;
	int r;

	for (size_t i = 0; i < policy_n_fields && n < NAMES_MAX - 1; i++)
		if (field_is_child(parent, &policy_fields[i]) && !(policy_fields[i].flags & F_LATER))
			names[n++] = field_key(&policy_fields[i]);
	names[n++] = "comment";

	subject(w, &here, who, sizeof(who));
	r = err_set(w->err, EINVAL, SJ_EXIT_USAGE, "E_POLICY_KEY", "%s: unknown key", who);
	err_why(w->err, "%s%s has no setting of that name, and a setting that is not understood is never ignored",
		parent ? field_key(parent) : "a policy", parent && parent->type == T_OBJECTS ? " entries" : "");
	fix_by_names(w, key, names, n);
	if (other && !str_nearest(key, names, n))
		err_fix(w->err, "did you mean \"%s\"?", other->path);
	return r;
}

int refuse_missing(struct walk *w, const struct at *at, const struct field *f)
{
	char who[320];
	int r;

	subject(w, at, who, sizeof(who));
	r = err_set(w->err, EINVAL, SJ_EXIT_USAGE, "E_POLICY_MISSING", "%s: \"%s\" is missing", who, field_key(f));
	err_why(w->err, "it must be %s", field_type_text(f));
	err_fix(w->err, "%s", f->help);
	return r;
}
