/*
 * learn_write.c - a learned policy as a document: what differs from the defaults, with comments
 *
 * Runs as: outside the jail
 * Trusts: documents that policy/ has made; text from programs only becomes comment
 * Never: hands out a document that does not load
 */
#include <inttypes.h>
#include <string.h>

#include "filter/filter.h"
#include "workbench/learn.h"

#define DEFAULT_POLICY "default"

/* ---- what an older policy had besides system calls and limits ------------------------- */

static json_t *get(json_t *doc, const char *section, const char *key)
{
	return json_object_get(json_object_get(doc, section), key);
}

static int unite_grants(json_t *doc, const struct policy *old, const struct policy *base)
{
	static const char *const lists[][2] = {
		{ "files", "read" }, { "files", "write" }, { "env", "pass" }, { "python", "packages" },
	};
	json_t *env = get(doc, "env", "set");
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		r |= learn_unite(get(doc, lists[i][0], lists[i][1]), get(old->doc, lists[i][0], lists[i][1]));
	r |= json_object_update_missing(env, get(old->doc, "env", "set"));
	/* none, loopback, host: each has all of the one before. */
	if (old->net > base->net)
		r |= json_object_set(json_object_get(doc, "network"), "mode", get(old->doc, "network", "mode"));
	return r;
}

/* ---- what is said in the defaults need not be said again -------------------------------- */

static void prune(json_t *doc, json_t *defaults)
{
	const char *key;
	json_t *value;
	void *next;

	json_object_foreach_safe(doc, next, key, value) {
		json_t *same = json_object_get(defaults, key);

		if (json_is_object(value) && json_is_object(same))
			prune(value, same);
		if (same && (json_equal(value, same) || (json_is_object(value) && !json_object_size(value))))
			json_object_del(doc, key);
	}
}

static const char *const own_keys[] = { "name", "description", "comment", "$schema", "extends" };

/* The same object, beginning with its comment; without an empty one. */
static json_t *comment_first(json_t *section)
{
	json_t *comment = json_object_get(section, "comment"), *out;

	if (!comment)
		return json_incref(section);
	out = json_object();
	if (json_array_size(comment) > 0)
		json_object_set(out, "comment", comment);
	json_object_update_missing(out, section);
	if (json_array_size(comment) == 0)
		json_object_del(out, "comment");
	return out;
}

/* In the order in which people read a policy. */
static json_t *in_order(const struct learn *l, const char *what, json_t *doc)
{
	static const char *const keys[] = { "limits", "files", "network", "env", "syscalls", "python", "landlock" };
	json_t *out = json_object(), *comment = json_array();

	learn_say(comment, "Learned by smoljail policy learn from %zu run%s of: %s", l->runs, l->runs == 1 ? "" : "s", what);
	learn_say(comment, "It allows what was seen, and the runtime floor; what was never done stays denied.");
	if (l->unkept)
		learn_say(comment, "%" PRIu64 " calls were of more kinds than a trace keeps: it may lack some of them.", l->unkept);
	json_object_set_new(out, "comment", comment);
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		json_t *value = json_object_get(doc, keys[i]), *section = value ? comment_first(value) : NULL;

		if (json_object_size(section) > 0 || (section && !json_is_object(section)))
			json_object_set(out, keys[i], section);
		json_decref(section);
	}
	return out;
}

static int make(const struct learn *l, const char *what, json_t **ret, struct sj_err *err)
{
	_cleanup_json_ json_t *doc = json_deep_copy(l->base->doc);
	_cleanup_policy_ struct policy *defaults = NULL;
	json_t *syscalls = NULL;
	int r = policy_load(DEFAULT_POLICY, NULL, 0, &defaults, err);

	for (size_t i = 0; i < ARRAY_LEN(own_keys); i++)
		json_object_del(doc, own_keys[i]);
	if (r == 0 && l->old && unite_grants(doc, l->old, l->base) < 0)
		r = err_oom(err);
	if (r == 0)
		r = learn_limits(l, doc, defaults->doc, err);
	if (r == 0)
		r = learn_cover(l, doc, &syscalls, err);
	if (r < 0)
		return r;
	json_object_set_new(doc, "syscalls", syscalls);
	prune(doc, defaults->doc);
	*ret = in_order(l, what, doc);
	return *ret ? 0 : err_oom(err);
}

int learn_policy(const struct learn *l, const char *what, char **ret, struct learn_sum *ret_sum, struct sj_err *err)
{
	_cleanup_json_ json_t *doc = NULL;
	_cleanup_policy_ struct policy *p = NULL;
	_cleanup_filter_ struct filter_prog prog = { 0 };
	char *text;
	int r;

	if (!l->base) {
		err_set(err, EINVAL, SJ_EXIT_USAGE, "E_LEARN_RUN", "there is nothing to learn from: no program ran");
		return -EINVAL;
	}
	r = make(l, what, &doc, err);
	if (r == 0)
		r = policy_load_doc(doc, NULL, "the learned policy", NULL, 0, &p, err);
	if (r == 0)
		r = filter_compile(p, FILTER_NOTIFY_NONE, &prog, err);
	if (r < 0)
		return r;
	text = json_dumps(doc, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
	if (!text)
		return err_oom(err);
	*ret = text;
	*ret_sum = (struct learn_sum){ .runs = l->runs, .operations = l->n, .allowed = policy_count_allowed(p),
				       .unkept = l->unkept };
	return 0;
}
