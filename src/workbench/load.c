/*
 * load.c - a policy for the workbench: read, and its system calls checked
 *
 * Runs as: the caller
 * Trusts: nothing in a policy file
 * Never: hands out a policy that a run would refuse
 */
#include "filter/filter.h"
#include "workbench/workbench.h"

int workbench_load(const char *policy, struct policy **ret, struct sj_err *err)
{
	_cleanup_policy_ struct policy *p = NULL;
	_cleanup_filter_ struct filter_prog prog = { 0 };
	int r = policy_load(policy, NULL, 0, &p, err);

	/* Names of system calls are known to filter/ only. */
	if (r == 0)
		r = filter_compile(p, false, &prog, err);
	if (r == 0)
		*ret = steal_ptr(p);
	return r;
}
