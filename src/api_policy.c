/*
 * api_policy.c - sj_policy_*: policies to read, for users of the library
 *
 * Runs as: the caller
 * Trusts: nothing in a policy file
 * Never: runs anything
 */
#include <string.h>

#include "policy/policy.h"
#include "workbench/workbench.h"

const char *sj_policy_name(size_t i)
{
	return policy_shipped_name(i);
}

int sj_policy_describe(const char *policy, char **ret, struct sj_err *err)
{
	_cleanup_policy_ struct policy *p = NULL;
	char *text;
	int r = policy_load(policy, NULL, 0, &p, err);

	if (r < 0)
		return r;
	text = strdup(p->description);
	if (!text)
		return err_oom(err);
	*ret = text;
	return 0;
}

int sj_policy_show(const char *policy, bool expanded, char **ret, struct sj_err *err)
{
	_cleanup_policy_ struct policy *p = NULL;
	char *text;
	int r = workbench_load(policy, &p, err);

	if (r < 0)
		return r;
	text = expanded ? policy_print_expanded(p) : policy_print_json(p);
	if (!text)
		return err_oom(err);
	*ret = text;
	return 0;
}

int sj_policy_check(const char *policy, sj_policy_note_fn *fn, void *arg, size_t *ret_notes, struct sj_err *err)
{
	_cleanup_policy_ struct policy *p = NULL;
	int r = workbench_load(policy, &p, err);

	if (r < 0)
		return r;
	*ret_notes = workbench_check(p, fn, arg);
	return 0;
}

char *sj_policy_reference(enum sj_policy_form form)
{
	return form == SJ_POLICY_SCHEMA ? policy_schema_json() : policy_schema_mdoc();
}

int sj_policy_explain(const char *policy, const char *call, char *const *args, size_t n_args, bool json, char **ret,
		      struct sj_err *err)
{
	_cleanup_policy_ struct policy *p = NULL;
	int r = workbench_load(policy, &p, err);

	return r < 0 ? r : workbench_explain(p, call, args, n_args, json, ret, err);
}

int sj_policy_diff(const char *a, const char *b, bool json, char **ret, bool *ret_same, struct sj_err *err)
{
	_cleanup_policy_ struct policy *from = NULL, *to = NULL;
	int r = workbench_load(a, &from, err);

	if (r == 0)
		r = workbench_load(b, &to, err);
	return r < 0 ? r : workbench_diff(from, to, json, ret, ret_same, err);
}

int sj_policy_import(const struct sj_policy_import *from, sj_policy_note_fn *fn, void *arg, char **ret,
		     struct sj_err *err)
{
	return workbench_import(from, fn, arg, ret, err);
}

int sj_policy_export(const char *policy, enum sj_policy_profile form, sj_policy_note_fn *fn, void *arg, char **ret,
		     struct sj_err *err)
{
	_cleanup_policy_ struct policy *p = NULL;
	int r = workbench_load(policy, &p, err);

	return r < 0 ? r : workbench_export(p, form, fn, arg, ret, err);
}

int sj_policy_score(const char *policy, enum sj_score_form form, char **ret, struct sj_err *err)
{
	static const enum workbench_score_form forms[] = {
		[SJ_SCORE_LINE] = WORKBENCH_SCORE_LINE, [SJ_SCORE_PARTS] = WORKBENCH_SCORE_PARTS, [SJ_SCORE_JSON] = WORKBENCH_SCORE_JSON,
	};
	_cleanup_policy_ struct policy *p = NULL;
	int r = workbench_load(policy, &p, err);

	return r < 0 ? r : workbench_score(p, forms[form], ret, err);
}

int sj_policy_test(const char *policy, const char *file, bool live, bool json, char **ret, bool *ret_right, struct sj_err *err)
{
	return workbench_test(policy, file, live, json, ret, ret_right, err);
}

const char *sj_policy_kind(size_t i)
{
	return workbench_kind(i);
}

int sj_policy_new(const struct sj_policy_answers *answers, char **ret, struct sj_err *err)
{
	return workbench_new(answers, ret, err);
}
