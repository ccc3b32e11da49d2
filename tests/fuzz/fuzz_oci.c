/*
 * fuzz_oci.c - fuzz target: profiles of containers as policies, and those as profiles again
 *
 * Runs as: make fuzz
 * Trusts: nothing
 * Never: accepts a profile whose policy means something else after it was written and read again
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "filter/filter.h"
#include "workbench/oci.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct sj_policy_import from = { .arch = "amd64", .kernel = "5.10", .caps = "CAP_SYSLOG" };

/* Notes and errors are sentences that end inside their fields. */
static void look(void *arg, const char *id, const char *path, const char *sentence)
{
	(void)arg;
	if (!id[0] || !path[0] || !sentence[0])
		abort();
	if (strcmp(id, "oci-coarse") == 0)
		*(bool *)arg = true;
}

static struct policy *take(const char *text, size_t len, struct filter_prog *ret, bool *coarse)
{
	_cleanup_free_ char *out = NULL;
	_cleanup_json_ json_t *doc = NULL;
	struct sj_err err = { 0 };
	struct policy *p = NULL;

	if (workbench_import_oci(text, len, "profile", &from, look, coarse, &out, &err) < 0) {
		if (out || err.exit != SJ_EXIT_USAGE || !err.what[0] || !err.why[0] || !err.fix[0])
			abort();
		return NULL;
	}
	if (base_json_parse(out, strlen(out), "policy", &doc, &err) < 0 ||
	    policy_load_doc(doc, NULL, "policy", NULL, 0, &p, &err) < 0 || filter_compile(p, FILTER_NOTIFY_NONE, ret, &err) < 0)
		abort();
	return p;
}

static void same(const struct policy *p, const struct filter_prog *a, const struct filter_prog *b)
{
	for (size_t i = 0; i < p->syscalls.n_rules; i++) {
		const struct policy_rule *rule = &p->syscalls.rules[i];
		int nr = filter_call_find(rule->name);
		uint64_t args[6] = { 0 };

		for (unsigned int shift = 0; nr >= 0 && shift < 3; shift++) {
			for (size_t k = 0; k < rule->n_args; k++)
				args[rule->args[k].index] = rule->args[k].value + shift - 1;
			if (filter_simulate(a, nr, args) != filter_simulate(b, nr, args))
				abort();
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_filter_ struct filter_prog prog = { 0 }, prog_again = { 0 };
	_cleanup_policy_ struct policy *p = NULL, *again = NULL;
	_cleanup_free_ char *copy = malloc(size ? size : 1), *text = NULL;
	struct sj_err err = { 0 };
	bool coarse = false;

	if (!copy)
		return 0;
	if (size)
		memcpy(copy, data, size);
	p = take(copy, size, &prog, &coarse);
	if (!p)
		return 0;
	if (workbench_export(p, SJ_PROFILE_DOCKER, look, &coarse, &text, &err) < 0) {
		if (!err.what[0] || strcmp(err.id, "E_OCI_SIZE") != 0)
			abort();
		return 0;
	}
	/* More rules than a policy holds are refused: then there is nothing to compare. */
	again = take(text, strlen(text), &prog_again, &coarse);
	if (again && !coarse)
		same(p, &prog, &prog_again);
	return 0;
}
