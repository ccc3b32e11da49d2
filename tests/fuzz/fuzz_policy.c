/*
 * fuzz_policy.c - fuzz target: policy_load() on any document, with any overrides
 *
 * Runs as: make fuzz
 * Trusts: nothing
 * Never: accepts a policy that is not the same after it was shown and loaded again
 *
 * The document ends at the first NUL; what follows are overrides, "path=value" and a NUL each.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "policy/policy.h"
#include "workbench/workbench.h"

#define SETS_MAX 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct policy *load(const void *doc, size_t len, const struct policy_set *sets, size_t n)
{
	_cleanup_close_ int fd = io_memfd("policy", doc, len);
	struct sj_err err = { 0 };
	struct policy *p = NULL;
	char path[64];

	if (fd < 0)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (policy_load(path, sets, n, &p, &err) == 0)
		return p;
	if (p || err.exit != SJ_EXIT_USAGE || err.what[0] == '\0' || err.why[0] == '\0' || err.fix[0] == '\0')
		abort();
	return NULL;
}

static void same_again(const struct policy *p)
{
	_cleanup_free_ char *text = policy_print_json(p);
	_cleanup_policy_ struct policy *again = text ? load(text, strlen(text), NULL, 0) : NULL;

	char why[POLICY_LOOSER_MAX];

	if (!again || strcmp(again->sha256, p->sha256) != 0 || again->syscalls.n_rules != p->syscalls.n_rules)
		abort();
	if (!policy_is_within(p, again, why) || !policy_is_within(again, p, why))
		abort();
}

/* A client may send the same words; what it extends is no file then. */
static void as_document(const char *text, size_t len)
{
	_cleanup_json_ struct json_t *doc = NULL;
	_cleanup_policy_ struct policy *p = NULL, *strict = NULL;
	struct sj_err err = { 0 };
	char why[POLICY_LOOSER_MAX];

	if (base_json_parse(text, len, "fuzz", &doc, &err) < 0)
		return;
	if (policy_load_doc(doc, NULL, "fuzz", NULL, 0, &p, &err) < 0) {
		if (p || err.exit != SJ_EXIT_USAGE || err.what[0] == '\0')
			abort();
		return;
	}
	strict = load("{\"extends\":\"python-strict\"}", 27, NULL, 0);
	if (!strict || (!policy_is_within(p, strict, why) && why[0] == '\0'))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *copy = malloc(size + 1), *flat = NULL;
	_cleanup_policy_ struct policy *p = NULL;
	struct policy_set sets[SETS_MAX];
	size_t len, n = 0;

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	copy[size] = '\0';
	len = strlen(copy);
	for (size_t at = len + 1; at < size && n < SETS_MAX; at += strlen(copy + at) + 1) {
		char *equals = strchr(copy + at, '=');

		if (!equals)
			continue;
		*equals = '\0';
		sets[n] = (struct policy_set){ copy + at, equals + 1, n % 2 ? "--flag" : NULL };
		n++;
		at = (size_t)(equals + 1 - copy);
	}
	as_document((const char *)data, len);
	p = load(copy, len, sets, n);
	if (!p)
		return 0;
	same_again(p);
	flat = policy_print_expanded(p);
	workbench_check(p, NULL, NULL);
	return 0;
}
