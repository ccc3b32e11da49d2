/*
 * rule.c - what one rule means: whether it can be tested, matches, and answers
 *
 * Runs as: supervisor, outside the jail
 * Trusts: nothing; rules may come from a user's policy file
 * Never: gives a weaker rule than the one that was written
 */
#include <string.h>
#include <linux/seccomp.h>

#include "filter/internal.h"

static int refuse(const struct policy_rule *rule, struct sj_err *err, const struct policy_arg *arg,
		  const char *why)
{
	int r = err_set(err, EINVAL, SJ_EXIT_USAGE, "E_FILTER_ARG",
			"%s: the rule for %s tests argument %u, which is not possible", rule->origin, rule->name,
			arg->index);

	err_why(err, "%s", why);
	err_fix(err, "change or remove args[%zu] of the rule; \"smoljail policy show --expand\" lists all rules",
		(size_t)(arg - rule->args));
	return r;
}

/* Fits the bits that the kernel reads, as an unsigned number or as a negative one. */
static bool fits(uint64_t value, uint64_t mask)
{
	return (value & ~mask) == 0 || (int64_t)value == (int32_t)value;
}

static int check_arg(const struct policy_rule *rule, int nr, const struct policy_arg *arg, struct sj_err *err)
{
	uint64_t mask = call_arg_mask(nr, arg->index);
	const char *args = call_args(nr);

	if (arg->index >= POLICY_RULE_ARGS_MAX || (args && arg->index >= strlen(args)))
		return refuse(rule, err, arg, "the call has fewer arguments; they are counted from 0");
	/* NULL is the one pointer whose meaning does not change after the test. */
	if (args && args[arg->index] == 'p' && (arg->value != 0 || (arg->op != POLICY_EQ && arg->op != POLICY_NE)))
		return refuse(rule, err, arg,
			      "it is a pointer: a filter cannot see what it leads to, only whether it is 0");
	if (!fits(arg->value, mask))
		return refuse(rule, err, arg, "the kernel reads 32 bits of it, and the value needs more");
	if (arg->op != POLICY_MASKED_EQ)
		return 0;
	if (!fits(arg->mask, mask))
		return refuse(rule, err, arg, "the kernel reads 32 bits of it, and the mask needs more");
	if (arg->value & ~arg->mask & mask)
		return refuse(rule, err, arg, "the value has a bit that the mask has not: the rule would never match");
	return 0;
}

int rule_check(const struct policy_rule *rule, int nr, struct sj_err *err)
{
	int r;

	if (rule->n_args > POLICY_RULE_ARGS_MAX ||
	    (rule->action == POLICY_DENY && (rule->error <= 0 || rule->error > FILTER_ERRNO_MAX))) {
		r = err_set(err, EINVAL, SJ_EXIT_USAGE, "E_FILTER_RULE", "%s: the rule for %s is not valid",
			    rule->origin, rule->name);
		err_why(err, "%zu conditions (at most %d), errno %d (1 to %d)", rule->n_args, POLICY_RULE_ARGS_MAX,
			rule->error, FILTER_ERRNO_MAX);
		err_fix(err, "give the rule a valid errno and at most %d conditions", POLICY_RULE_ARGS_MAX);
		return r;
	}
	for (size_t i = 0; i < rule->n_args; i++) {
		r = check_arg(rule, nr, &rule->args[i], err);
		if (r < 0)
			return r;
	}
	return 0;
}

static bool arg_matches(const struct policy_arg *arg, uint64_t mask, uint64_t given)
{
	uint64_t value = arg->value & mask;

	given &= mask;
	switch (arg->op) {
	case POLICY_EQ:
		return given == value;
	case POLICY_NE:
		return given != value;
	case POLICY_LT:
		return given < value;
	case POLICY_LE:
		return given <= value;
	case POLICY_GT:
		return given > value;
	case POLICY_GE:
		return given >= value;
	case POLICY_MASKED_EQ:
		return (given & arg->mask) == value;
	}
	return false;
}

bool rule_matches(const struct policy_rule *rule, int nr, const uint64_t args[6])
{
	for (size_t i = 0; i < rule->n_args; i++) {
		const struct policy_arg *arg = &rule->args[i];

		if (!arg_matches(arg, call_arg_mask(nr, arg->index), args[arg->index]))
			return false;
	}
	return true;
}

void rule_verdict(const struct policy *p, const struct policy_rule *rule, int nr, struct filter_verdict *ret)
{
	enum policy_action action = rule ? rule->action : POLICY_DENY;
	int error = rule ? rule->error : p->syscalls.default_error;

	if (action == POLICY_ENOSYS || (!rule && !call_known(nr)))
		error = ENOSYS;
	/* One answer, one name: it makes no difference who asked for ENOSYS. */
	if (action == POLICY_DENY && error == ENOSYS)
		action = POLICY_ENOSYS;
	if (action == POLICY_ALLOW || action == POLICY_KILL)
		error = 0;
	*ret = (struct filter_verdict){ .action = action, .error = error, .rule = rule, .known = call_known(nr) };
}

uint32_t rule_return(const struct policy *p, const struct policy_rule *rule, int nr, enum filter_notify notify)
{
	struct filter_verdict v;

	rule_verdict(p, rule, nr, &v);
	switch (v.action) {
	case POLICY_ALLOW:
		return notify == FILTER_NOTIFY_ALL && !filter_quiet(nr) ? SECCOMP_RET_USER_NOTIF | ENOSYS
									: SECCOMP_RET_ALLOW;
	case POLICY_DENY:
		return (notify != FILTER_NOTIFY_NONE ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ERRNO) | (uint32_t)v.error;
	case POLICY_ENOSYS:
		return (notify == FILTER_NOTIFY_ALL ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ERRNO) | ENOSYS;
	case POLICY_KILL:
		break;
	}
	return SECCOMP_RET_KILL_PROCESS;
}
