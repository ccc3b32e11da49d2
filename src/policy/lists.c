/*
 * lists.c - merge the lists of a chain of policies, and make arrays of them
 *
 * Runs as: supervisor, outside the jail
 * Trusts: the field table; entries are hostile
 * Never: takes "!x" for done when there was no x
 */
#include <string.h>

#include "policy/internal.h"

/* Index of text in a list of strings, or its length. */
static size_t list_find(const json_t *list, const char *text)
{
	size_t n = json_array_size(list), i;

	for (i = 0; i < n; i++)
		if (strcmp(json_string_value(json_array_get(list, i)), text) == 0)
			break;
	return i;
}

static int take_out(struct walk *w, const struct at *at, const char *text, json_t *into)
{
	const char *names[POLICY_LIST_MAX];
	size_t i = list_find(into, text), n = json_array_size(into);

	if (i < n)
		return json_array_remove(into, i) < 0 ? err_oom(w->err) : 0;
	for (i = 0; i < n && i < ARRAY_LEN(names); i++)
		names[i] = json_string_value(json_array_get(into, i));
	return refuse_word(w, at, "E_POLICY_REMOVE", "there is no entry to take out:", text,
			   "! takes out what an extended policy or an earlier entry put in", names, i);
}

/* A group that is not there would otherwise be found much later, and in the wrong document. */
static int check_group(struct walk *w, const struct at *at, const struct field *f, const char *text)
{
	const struct groups *g = &w->own->groups;
	char copies[POLICY_GROUPS_MAX][POLICY_NAME_MAX];
	const char *name = text + (text[0] == '!'), *names[POLICY_GROUPS_MAX];
	size_t n = 0;

	if (name[0] != '@')
		return 0;
	if (groups_implicit(name))
		return refuse_value(w, at, f, text, "this group is no part of policies: what it says holds by itself, and always");
	if (groups_find(g, name, strlen(name)))
		return 0;
	for (size_t i = 0; i < g->n; i++) {
		snprintf(copies[n], sizeof(copies[n]), "%.*s", (int)g->list[i].name.len, g->list[i].name.s);
		names[n] = copies[n];
		n += !groups_implicit(copies[n]);
	}
	return refuse_word(w, at, "E_POLICY_GROUP", "there is no group named", name,
			   "groups of system calls are part of smoljail (smoljail-policy(5))", names, n);
}

static int merge_entry(struct walk *w, const struct at *at, const struct field *f, json_t *entry, json_t *into)
{
	const char *text = json_string_value(entry);
	char why[POLICY_WHY_MAX];
	int r;

	if (!text)
		return refuse_type(w, at, f, entry);
	if (text[0] == '!' && f->type == T_LIST)
		return take_out(w, at, text + 1, into);
	if (text[0] == '\0' || json_string_length(entry) > POLICY_TEXT_MAX)
		return refuse_value(w, at, f, text, text[0] ? "it is too long" : "it is empty");
	if (f->check && !f->check(text, why))
		return refuse_value(w, at, f, text, why);
	if (f->type == T_LIST && list_find(into, text) < json_array_size(into))
		return 0;
	if (json_array_size(into) >= f->max)
		return refuse_range(w, at->up, f, into);
	r = f->type == T_CALLS ? check_group(w, at, f, text) : 0;
	if (r < 0)
		return r;
	return json_array_append(into, entry) < 0 ? err_oom(w->err) : 0;
}

int list_merge(struct walk *w, const struct at *at, const struct field *f, json_t *in, json_t *into)
{
	json_t *entry;
	size_t i;

	json_array_foreach(in, i, entry) {
		const struct at here = { at, NULL, i };
		int r = merge_entry(w, &here, f, entry, into);

		if (r < 0)
			return r;
	}
	return 0;
}

static int merge_pair(struct walk *w, const struct at *at, const struct field *f, json_t *value, json_t *into)
{
	char why[POLICY_WHY_MAX];

	if (!f->check(at->key, why))
		return refuse_value(w, at, f, at->key, why);
	if (json_is_null(value)) {
		if (json_object_del(into, at->key) < 0)
			return refuse_value(w, at, f, at->key, "there is no variable of that name to take out");
		return 0;
	}
	if (!json_is_string(value))
		return refuse_type(w, at, f, value);
	if (json_string_length(value) > POLICY_VALUE_MAX)
		return refuse_value(w, at, f, at->key, "its value is longer than 65536 bytes");
	if (json_object_size(into) >= f->max && !json_object_get(into, at->key))
		return refuse_range(w, at->up, f, into);
	return json_object_set(into, at->key, value) < 0 ? err_oom(w->err) : 0;
}

int map_merge(struct walk *w, const struct at *at, const struct field *f, json_t *in, json_t *into)
{
	const char *key;
	json_t *value;

	json_object_foreach(in, key, value) {
		const struct at here = { at, key, 0 };
		int r = merge_pair(w, &here, f, value, into);

		if (r < 0)
			return r;
	}
	return 0;
}

static int finish_list(struct walk *w, const struct field *f, json_t *list)
{
	size_t n = json_array_size(list);
	char **v = arena_alloc(w->own, (n + 1) * sizeof(*v));

	if (!v)
		return err_oom(w->err);
	for (size_t i = 0; i < n; i++) {
		v[i] = arena_strndup(w->own, json_string_value(json_array_get(list, i)),
				     json_string_length(json_array_get(list, i)));
		if (!v[i])
			return err_oom(w->err);
	}
	memcpy((char *)&w->own->p + f->offset, &v, sizeof(v));
	return 0;
}

static int finish_map(struct walk *w, const struct field *f, json_t *map)
{
	char **v = arena_alloc(w->own, (json_object_size(map) + 1) * sizeof(*v));
	const char *key;
	json_t *value;
	size_t i = 0;

	if (!v)
		return err_oom(w->err);
	json_object_foreach(map, key, value) {
		size_t len = strlen(key);
		char *text = arena_alloc(w->own, len + json_string_length(value) + 2);

		if (!text)
			return err_oom(w->err);
		memcpy(text, key, len);
		text[len] = '=';
		memcpy(text + len + 1, json_string_value(value), json_string_length(value));
		v[i++] = text;
	}
	memcpy((char *)&w->own->p + f->offset, &v, sizeof(v));
	return 0;
}

static int finish_mounts(struct walk *w, json_t *list, bool writable)
{
	struct policy_files *files = &w->own->p.files;
	json_t *entry;
	size_t i;

	json_array_foreach(list, i, entry) {
		struct policy_mount *m = &files->mounts[files->n_mounts];
		const char *text = json_string_value(entry), *dst;
		size_t len;

		text_split_mount(text, &len, &dst);
		m->src = arena_strndup(w->own, text, len);
		m->dst = arena_strndup(w->own, dst, strlen(dst));
		m->writable = writable;
		if (!m->src || !m->dst)
			return err_oom(w->err);
		files->n_mounts++;
	}
	return 0;
}

int lists_finish(struct walk *w)
{
	json_t *doc = w->own->p.doc, *read = doc_get(doc, "files.read"), *write = doc_get(doc, "files.write");
	size_t n = json_array_size(read) + json_array_size(write);
	int r = 0;

	for (size_t i = 0; i < policy_n_fields && r == 0; i++) {
		const struct field *f = &policy_fields[i];

		if (f->size == 0 || (f->flags & F_LATER))
			continue;
		if (f->type == T_LIST)
			r = finish_list(w, f, doc_get(doc, f->path));
		else if (f->type == T_MAP)
			r = finish_map(w, f, doc_get(doc, f->path));
	}
	if (r < 0)
		return r;
	w->own->p.files.mounts = arena_alloc(w->own, (n + 1) * sizeof(struct policy_mount));
	if (!w->own->p.files.mounts)
		return err_oom(w->err);
	r = finish_mounts(w, read, false);
	return r < 0 ? r : finish_mounts(w, write, true);
}
