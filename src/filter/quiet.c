/*
 * quiet.c - what of a call matters to the rules, and which calls a trace leaves alone
 *
 * Runs as: supervisor, outside the jail
 * Trusts: nothing; number and arguments come from a jailed program
 * Never: calls a thing quiet that any policy could refuse (tests/unit/test_filter_policies.c)
 */
#include <string.h>

#include "filter/internal.h"

/*
 * All of them belong to the floor without conditions, so that nothing is lost by not
 * looking: every policy allows them. What names a path is not among them.
 */
static const char *const quiet[] = {
	"read", "write", "pread64", "writev", "lseek", "close", "fstat",			/* data */
	"mmap", "mprotect", "munmap", "mremap", "brk", "madvise",				/* memory */
	"futex", "set_robust_list", "rseq", "gettid", "getpid",					/* threads */
	"rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "restart_syscall",	/* signals */
	"clock_gettime", "gettimeofday",							/* time */
	"exit", "exit_group",									/* ends */
};

const char *filter_quiet_name(size_t i)
{
	return i < ARRAY_LEN(quiet) ? quiet[i] : NULL;
}

bool filter_quiet(int nr)
{
	const char *name = call_name(nr);

	for (size_t i = 0; name && i < ARRAY_LEN(quiet); i++)
		if (strcmp(quiet[i], name) == 0)
			return true;
	return false;
}

static unsigned int looked_at(const struct policy *p, const char *name)
{
	unsigned int args = 0;

	for (size_t i = 0; i < p->syscalls.n_rules; i++) {
		const struct policy_rule *rule = &p->syscalls.rules[i];

		for (size_t a = 0; a < rule->n_args && strcmp(rule->name, name) == 0; a++)
			args |= 1u << rule->args[a].index;
	}
	return args;
}

unsigned int filter_normalize(const struct policy *p, int nr, uint64_t args[6])
{
	const char *name = call_name(nr), *letters = call_args(nr);
	unsigned int matter = name ? looked_at(p, name) : 0;
	size_t n = letters ? strlen(letters) : 0;

	for (unsigned int i = 0; i < 6; i++) {
		if (!(matter & (1u << i)))
			args[i] = 0;
		else if (i < n && letters[i] == 'p')
			args[i] = args[i] != 0;
		else
			args[i] &= call_arg_mask(nr, i);
	}
	return matter;
}

bool filter_arg_constant(int nr, unsigned int index)
{
	const char *letters = call_args(nr);

	return letters && index < strlen(letters) && !strchr("pAlzXxdDium", letters[index]);
}
