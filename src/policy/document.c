/*
 * document.c - a policy from a document that is no file: a client of the server sent it
 *
 * Runs as: supervisor, outside the jail
 * Trusts: nothing of the document
 * Never: opens a file for it
 */
#include <string.h>

#include "policy/internal.h"

static int refuse_file(const char *name, const char *extends, struct sj_err *err)
{
	int r = err_set(err, EINVAL, SJ_EXIT_USAGE, "E_POLICY_EXTENDS", "%.200s: extends: \"%.80s\" is no shipped policy", name,
			extends);

	err_why(err, "a policy that a client sends extends a shipped one, never a file of this host");
	err_fix(err, "name one of `smoljail policy list`");
	return r;
}

int policy_load_doc(json_t *doc, const char *base, const char *name, const struct policy_set *sets, size_t n_sets,
		    struct policy **ret, struct sj_err *err)
{
	const json_t *value = json_object_get(doc, "extends");
	const char *extends = value ? json_string_value(value) : base ? base : POLICY_DEFAULT;
	struct chain chain = { .n = 1 };
	size_t len;
	int r = 0;

	if (!json_is_object(doc) || !extends) {
		err_set(err, EINVAL, SJ_EXIT_USAGE, "E_POLICY_TYPE", "%.200s: a policy is a JSON object, and \"extends\" a name", name);
		return -EINVAL;
	}
	if (value && !policy_shipped_text(extends, &len))
		return refuse_file(name, extends, err);
	chain.docs[0] = (struct source){ .name = strdup(name), .doc = json_incref(doc) };
	if (!chain.docs[0].name)
		r = err_oom(err);
	if (r == 0)
		r = chain_read(extends, &chain, err);
	if (r == 0)
		r = policy_from_chain(&chain, sets, n_sets, ret, err);
	chain_free(&chain);
	return r;
}
