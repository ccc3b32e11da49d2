/*
 * policy.c - load a policy: its chain of documents, the flags, the checks
 *
 * Runs as: supervisor, outside the jail
 * Trusts: the shipped documents
 * Never: returns a policy that was not checked as a whole
 */
#include <stdlib.h>
#include <string.h>

#include "policy/internal.h"

struct policy *policy_free(struct policy *p)
{
	struct policy_own *own = (struct policy_own *)p;

	if (!own)
		return NULL;
	json_decref(own->p.doc);
	free(own->rules);
	arena_free(own);
	free(own);
	return NULL;
}

void policy_freep(struct policy **p)
{
	*p = policy_free(*p);
}

/* From the defaults up to the policy that was asked for. */
static int merge_chain(struct walk *w, const struct chain *chain)
{
	static const char *const own_keys[] = { "name", "description", "comment" };
	struct policy *p = &w->own->p;

	for (size_t i = chain->n; i-- > 0;) {
		int r;

		for (size_t k = 0; k < ARRAY_LEN(own_keys); k++)
			json_object_del(p->doc, own_keys[k]);
		p->name = p->description = NULL;
		w->doc = chain->docs[i].name;
		r = walk_object(w, NULL, NULL, chain->docs[i].doc, p->doc, p);
		if (r < 0)
			return r;
	}
	return 0;
}

/* "a/My policy.json" -> "my-policy": what a name may hold, from a file that gives none. */
static char *name_of_file(struct policy_own *own, const char *path)
{
	const char *base = strrchr(path, '/');
	char why[POLICY_WHY_MAX], name[POLICY_NAME_MAX + 1];
	size_t len;

	snprintf(name, sizeof(name), "%s", base ? base + 1 : path);
	len = strlen(name);
	if (len > 5 && strcmp(name + len - 5, ".json") == 0)
		name[len -= 5] = '\0';
	for (char *c = name; *c; c++)
		if (*c >= 'A' && *c <= 'Z')
			*c = (char)(*c - 'A' + 'a');
		else if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789._-", *c))
			*c = '-';
	return text_name(name, why) ? arena_strndup(own, name, len) : arena_strndup(own, "unnamed", 7);
}

static int name_policy(struct walk *w, const struct source *leaf)
{
	struct policy *p = &w->own->p;
	const char *origin = leaf->path ? leaf->path : "shipped";

	if (!p->name) {
		p->name = name_of_file(w->own, leaf->path ? leaf->path : leaf->name);
		if (!p->name || json_object_set_new(p->doc, "name", json_string(p->name)) < 0)
			return err_oom(w->err);
	}
	if (!p->description)
		p->description = arena_strndup(w->own, "", 0);
	p->origin = arena_strndup(w->own, origin, strlen(origin));
	return p->description && p->origin ? 0 : err_oom(w->err);
}

static int note_sources(struct walk *w, const struct chain *chain)
{
	struct policy *p = &w->own->p;
	size_t n = 0;

	p->sources = arena_alloc(w->own, (chain->n + 1) * sizeof(*p->sources));
	for (size_t i = 0; p->sources && i < chain->n; i++) {
		const char *path = chain->docs[i].path;

		if (!path)
			continue;
		p->sources[n] = arena_strndup(w->own, path, strlen(path));
		if (!p->sources[n++])
			return err_oom(w->err);
	}
	return p->sources ? 0 : err_oom(w->err);
}

/* Two documents that mean the same give the same sum: values are in normal form, comments are out. */
static int sum_policy(struct walk *w)
{
	_cleanup_json_ json_t *bare = json_copy(w->own->p.doc);
	_cleanup_free_ char *text = NULL;

	if (!bare)
		return err_oom(w->err);
	json_object_del(bare, "comment");
	text = json_dumps(bare, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(9));
	if (!text)
		return err_oom(w->err);
	io_sha256(text, strlen(text), w->own->p.sha256);
	return 0;
}

static int make_policy(struct walk *w, const struct chain *chain, const struct policy_set *sets, size_t n_sets)
{
	int r = merge_chain(w, chain);

	w->doc = chain->docs[0].name;
	if (r == 0)
		r = name_policy(w, &chain->docs[0]);
	if (r == 0)
		r = note_sources(w, chain);
	for (size_t i = 0; i < n_sets && r == 0; i++)
		r = walk_set(w, &sets[i]);
	if (r == 0)
		r = lists_finish(w);
	if (r == 0)
		r = calls_expand(w);
	if (r == 0)
		r = check_policy(w);
	return r < 0 ? r : sum_policy(w);
}

/* The list was made with room for the longest; a server keeps many of them. */
static void trim_rules(struct policy_own *own)
{
	struct policy_rule *less = reallocarray(own->rules, own->p.syscalls.n_rules + 1, sizeof(*less));

	if (less)
		own->rules = own->p.syscalls.rules = less;
}

int policy_from_chain(const struct chain *chain, const struct policy_set *sets, size_t n_sets, struct policy **ret,
		      struct sj_err *err)
{
	struct policy_own *own = calloc(1, sizeof(*own));
	_cleanup_policy_ struct policy *p = own ? &own->p : NULL;
	struct walk w = { .own = own, .err = err };
	int r;

	if (!p)
		return err_oom(err);
	p->doc = json_object();
	if (!p->doc)
		return err_oom(err);
	if (groups_open(&own->groups) < 0)
		return groups_damaged(err);
	r = make_policy(&w, chain, sets, n_sets);
	if (r < 0)
		return r;
	trim_rules(own);
	*ret = steal_ptr(p);
	return 0;
}

int policy_of_group(const char *name, struct policy **ret, struct sj_err *err)
{
	struct policy_own *own = calloc(1, sizeof(*own));
	_cleanup_policy_ struct policy *p = own ? &own->p : NULL;
	int r;

	if (!p)
		return err_oom(err);
	if (groups_open(&own->groups) < 0)
		return groups_damaged(err);
	r = calls_of_group(own, name, err);
	if (r < 0)
		return r;
	trim_rules(own);
	*ret = steal_ptr(p);
	return 0;
}

int policy_load(const char *which, const struct policy_set *sets, size_t n_sets, struct policy **ret,
		struct sj_err *err)
{
	struct chain chain = { .n = 0 };
	int r = chain_read(which, &chain, err);

	if (r == 0)
		r = policy_from_chain(&chain, sets, n_sets, ret, err);
	chain_free(&chain);
	return r;
}

size_t policy_count_allowed(const struct policy *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->syscalls.n_rules; i++) {
		const struct policy_rule *rule = &p->syscalls.rules[i];
		bool first = rule->action == POLICY_ALLOW;

		for (size_t k = 0; k < i && first; k++)
			first = p->syscalls.rules[k].action != POLICY_ALLOW ||
				strcmp(p->syscalls.rules[k].name, rule->name) != 0;
		n += first;
	}
	return n;
}
