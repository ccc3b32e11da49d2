/*
 * walk.c - carry one document through the field table into the effective policy
 *
 * Runs as: supervisor, outside the jail
 * Trusts: the field table; the document is hostile
 * Never: skips a key that the table does not know
 */
#include <stdlib.h>
#include <string.h>

#include "policy/internal.h"

/* A string or a list of strings; of the whole policy's own it is kept for `policy show`. */
static int walk_comment(struct walk *w, const struct at *at, json_t *value, json_t *into)
{
	static const struct field comment = { .path = "comment", .type = T_LIST, .help =
		"a comment is a string or a list of strings" };
	const struct at here = { at, "comment", 0 };
	json_t *line;
	size_t i;

	if (!json_is_string(value) && !json_is_array(value))
		return refuse_type(w, &here, &comment, value);
	json_array_foreach(value, i, line)
		if (!json_is_string(line))
			return refuse_type(w, &here, &comment, line);
	if (into && !at && json_object_set(into, "comment", value) < 0)
		return err_oom(w->err);
	return 0;
}

/* The object or list `key` of the effective document, made where it is missing. */
static json_t *open_child(json_t *into, const char *key, enum field_type type)
{
	json_t *child = into ? json_object_get(into, key) : NULL;

	if (!into || child)
		return child;
	child = type == T_SECTION || type == T_MAP ? json_object() : json_array();
	return json_object_set_new(into, key, child) < 0 ? NULL : child;
}

static int walk_scalar(struct walk *w, const struct at *at, const struct field *f, json_t *value, json_t *into,
		       void *base)
{
	_cleanup_json_ json_t *normal = NULL;
	int r = value_store(w, at, f, value, base, &normal);

	if (r < 0)
		return r;
	/* "extends" and "$schema" belong to the file, not to the policy that it makes. */
	if (into && (f->size > 0) && json_object_set(into, field_key(f), normal) < 0)
		return err_oom(w->err);
	return 0;
}

static int walk_value(struct walk *w, const struct at *at, const struct field *f, json_t *value, json_t *into,
		      void *base)
{
	bool object = f->type == T_SECTION || f->type == T_MAP;
	bool list = f->type == T_LIST || f->type == T_CALLS || f->type == T_OBJECTS;
	json_t *child;

	if (!object && !list)
		return walk_scalar(w, at, f, value, into, base);
	if (object ? !json_is_object(value) : !json_is_array(value))
		return refuse_type(w, at, f, value);
	/* The conditions of a rule are read with their rule (rules.c). */
	if (!into)
		return 0;
	child = open_child(into, field_key(f), f->type);
	if (!child)
		return err_oom(w->err);
	if (f->type == T_SECTION)
		return walk_object(w, at, f, value, child, base);
	if (f->type == T_MAP)
		return map_merge(w, at, f, value, child);
	if (f->type == T_OBJECTS)
		return rules_merge(w, at, f, value, child);
	return list_merge(w, at, f, value, child);
}

static int check_required(struct walk *w, const struct at *at, const struct field *parent, json_t *obj)
{
	for (size_t i = 0; i < policy_n_fields; i++) {
		const struct field *f = &policy_fields[i];

		if (!(f->flags & F_REQUIRED) || !field_is_child(parent, f) || json_object_get(obj, field_key(f)))
			continue;
		return refuse_missing(w, at, f);
	}
	return 0;
}

int walk_object(struct walk *w, const struct at *at, const struct field *parent, json_t *obj, json_t *into,
		void *base)
{
	const char *key;
	json_t *value;
	int r;

	json_object_foreach(obj, key, value) {
		const struct field *f = field_child(parent, key);
		const struct at here = { at, key, 0 };

		if (strcmp(key, "comment") == 0)
			r = walk_comment(w, at, value, into);
		else if (!f)
			r = refuse_key(w, at, parent, key);
		else if (f->flags & F_LATER)
			r = refuse_later(w, &here, f, "this setting");
		else
			r = walk_value(w, &here, f, value, into, base);
		if (r < 0)
			return r;
	}
	return parent && parent->type == T_OBJECTS ? check_required(w, at, parent, obj) : 0;
}

/* {"a": {"b": value}} for "a.b", so that a flag takes the way of a document. Owns value. */
static json_t *nest(const char *path, json_t *value)
{
	char names[POLICY_NAME_MAX];
	char *dot;

	if (strlen(path) >= sizeof(names)) {
		json_decref(value);
		return NULL;
	}
	strcpy(names, path);
	do {
		json_t *outer = json_object();

		dot = strrchr(names, '.');
		if (json_object_set_new(outer, dot ? dot + 1 : names, value) < 0) {
			json_decref(outer);
			return NULL;
		}
		value = outer;
		if (dot)
			*dot = '\0';
	} while (dot);
	return value;
}

/* The last word wins between setting a variable and passing it. */
static void forget_variable(struct walk *w, const char *text, bool set)
{
	json_t *pass = doc_get(w->own->p.doc, "env.pass"), *map = doc_get(w->own->p.doc, "env.set"), *name;
	size_t len = strcspn(text, "="), i;
	char key[POLICY_NAME_MAX * 4];

	if (len >= sizeof(key))
		return;
	memcpy(key, text, len);
	key[len] = '\0';
	if (!set) {
		json_object_del(map, key);
		return;
	}
	json_array_foreach(pass, i, name)
		if (strcmp(json_string_value(name), key) == 0) {
			json_array_remove(pass, i);
			return;
		}
}

int walk_set(struct walk *w, const struct policy_set *set)
{
	_cleanup_json_ json_t *doc = NULL;
	const struct field *f = field_by_path(set->path);
	json_t *value;
	int r;

	w->flag = set->flag ? set->flag : set->path;
	if (f && f->type == T_MAP && !strchr(set->value, '='))
		f = field_by_path("env.pass");
	if (!f || f->type == T_SECTION || f->type == T_OBJECTS || (f->flags & F_OWN))
		return refuse_word(w, NULL, "E_POLICY_KEY", "no setting that can be changed by itself:", set->path,
				   "a single value, or one entry of a list, can be set", NULL, 0);
	r = value_from_text(w, f, set->value, &value);
	if (r < 0)
		return r;
	doc = nest(f->path, value);
	if (!doc)
		return err_oom(w->err);
	r = walk_object(w, NULL, NULL, doc, w->own->p.doc, &w->own->p);
	if (r == 0 && str_prefix(f->path, "env."))
		forget_variable(w, set->value, f->type == T_MAP);
	w->flag = NULL;
	return r;
}
