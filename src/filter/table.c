/*
 * table.c - the table of calls, for tools that write rules
 *
 * Runs as: the caller
 * Trusts: nothing; names come from files
 * Never: knows a call that filter_compile() does not
 */
#include <string.h>

#include "filter/internal.h"

_Static_assert(FILTER_ELSEWHERE == CALL_ELSEWHERE, "one number, two names");

int filter_call_find(const char *name)
{
	return call_resolve(name);
}

const char *filter_call_at(int nr)
{
	return call_name(nr);
}

uint64_t filter_arg_mask(int nr, unsigned int index)
{
	return call_arg_mask(nr, index);
}

bool filter_arg_is_pointer(int nr, unsigned int index)
{
	const char *args = call_args(nr);

	return args && index < strlen(args) && args[index] == 'p';
}

int filter_rule_check(const struct policy_rule *rule, struct sj_err *err)
{
	return rule_check(rule, call_resolve(rule->name), err);
}
