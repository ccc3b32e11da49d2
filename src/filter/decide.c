/*
 * decide.c - which rule decides one call, asked in C
 *
 * Runs as: supervisor, outside the jail
 * Trusts: nothing; number and arguments come from a jailed program
 * Never: differs from the compiled program (tests/unit/test_filter_policies.c)
 */
#include <string.h>

#include "filter/internal.h"

bool filter_foreign(int nr)
{
#ifdef __x86_64__
	/* The x32 calls, a foreign architecture by another name. -1 is what a tracer sets to skip a call. */
	return (nr & FILTER_X32_BIT) && nr != -1;
#else
	(void)nr;
	return false;
#endif
}

void filter_answer(const struct policy *p, const struct policy_rule *rule, int nr, struct filter_verdict *ret)
{
	rule_verdict(p, rule, nr, ret);
}

bool filter_matches(const struct policy_rule *rule, int nr, const uint64_t args[6])
{
	return rule_matches(rule, nr, args);
}

void filter_decide(const struct policy *p, int nr, const uint64_t args[6], struct filter_verdict *ret)
{
	const struct policy_syscalls *s = &p->syscalls;
	const char *name = call_name(nr);

	if (filter_foreign(nr)) {
		*ret = (struct filter_verdict){ .action = POLICY_KILL };
		return;
	}
	for (size_t i = 0; name && i < s->n_rules; i++)
		if (strcmp(s->rules[i].name, name) == 0 && rule_matches(&s->rules[i], nr, args)) {
			rule_verdict(p, &s->rules[i], nr, ret);
			return;
		}
	rule_verdict(p, NULL, nr, ret);
}
