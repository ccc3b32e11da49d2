/*
 * oci_fixed.c - what smoljail says of a call by itself, before any rule of a policy
 *
 * Runs as: the caller
 * Trusts: the shipped groups of system calls
 * Never: takes a rule for idle because it could not find out
 */
#include <string.h>

#include "workbench/oci.h"

int oci_fixed_read(struct oci_fixed *ret, struct sj_err *err)
{
	int r = policy_load("default", NULL, 0, &ret->p, err);

	for (size_t i = 0; r == 0 && i < ret->p->syscalls.n_rules; i++) {
		const struct policy_rule *rule = &ret->p->syscalls.rules[i];
		int nr = filter_call_find(rule->name);

		if (nr < 0)
			continue;
		if (strcmp(rule->origin, "@never") == 0)
			*(rule->n_args ? &ret->calls[nr].part : &ret->calls[nr].never) = true;
		else if (strcmp(rule->origin, "@floor") == 0 && rule->n_args == 0)
			ret->calls[nr].floor = true;
		else if (strcmp(rule->origin, "@floor") == 0)
			ret->calls[nr].floor_part = ret->calls[nr].part = true;
		else
			ret->calls[nr].network = true;
	}
	return r;
}

void oci_fixed_free(struct oci_fixed *f)
{
	f->p = policy_free(f->p);
}

static int take_out(struct region *r, int nr, const struct policy_arg *args, size_t n)
{
	_cleanup_region_ struct region out = { 0 }, less = { 0 };
	int e = region_of_args(nr, args, n, &out);

	if (e == 0)
		e = region_without(r, &out, &less);
	if (e < 0)
		return e;
	region_free(r);
	*r = less;
	less = (struct region){ 0 };
	return 0;
}

/* What is left of these calls for rules of a policy; only_never: of those that no policy can allow. */
static int take_out_fixed(const struct oci_fixed *f, struct region *r, int nr, bool only_never)
{
	int e = 0;

	for (size_t i = 0; i < f->p->syscalls.n_rules && e == 0; i++) {
		const struct policy_rule *rule = &f->p->syscalls.rules[i];

		if (strcmp(rule->origin, "@never") != 0 && (only_never || strcmp(rule->origin, "@floor") != 0))
			continue;
		if (filter_call_find(rule->name) == nr)
			e = take_out(r, nr, rule->args, rule->n_args);
	}
	return e;
}

bool oci_fixed_decides(const struct oci_fixed *f, const struct oci_rule *rule, bool only_never)
{
	_cleanup_region_ struct region r = { 0 };

	return f->calls[rule->nr].part && region_of_args(rule->nr, rule->args, rule->n_args, &r) == 0 &&
	       take_out_fixed(f, &r, rule->nr, only_never) == 0 && r.n == 0;
}

bool oci_fixed_and_rules_decide(const struct oci_fixed *f, const struct oci_set *s, int nr)
{
	_cleanup_region_ struct region r = { 0 };
	int e = region_of_args(nr, NULL, 0, &r);

	if (!f->calls[nr].part || e < 0 || take_out_fixed(f, &r, nr, false) < 0)
		return false;
	for (size_t i = 0; i < s->n_rules && r.n > 0 && e == 0; i++)
		if (s->rules[i].nr == nr)
			e = take_out(&r, nr, s->rules[i].args, s->rules[i].n_args);
	return e == 0 && r.n == 0;
}
