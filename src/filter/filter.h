/*
 * filter.h - a policy's system call rules as a seccomp program
 *
 * Made in the parent with libseccomp; the guest loads the bytes. The same
 * rules can be asked in C which of them decides a call, so that a denial that
 * the kernel reports gets its rule and its words from one place.
 *
 * Rules decide in the order of the policy, the first that matches. Arguments
 * that the kernel reads as 32 bits are compared as 32 bits, unsigned, whatever
 * the rule says: a bit above passes no rule by. Calls newer than this table
 * (Linux 5.17) and numbers that are no call answer ENOSYS unless a rule names
 * them, known ones the policy's default. x32 and foreign architectures are killed.
 */
#ifndef SMOLJAIL_FILTER_H
#define SMOLJAIL_FILTER_H

#include <stddef.h>
#include <stdint.h>
#include <linux/filter.h>

#include "base/base.h"
#include "policy/policy.h"

#define FILTER_INSNS_MAX 4096	/* the kernel's BPF_MAXINSNS */
#define FILTER_ERRNO_MAX 4095	/* the kernel cuts larger ones */

/*
 * Calls up to this number are known: refused, they answer the policy's errno.
 * Those behind it answer ENOSYS unless a rule names them, since programs that
 * try a new call fall back to an old one on ENOSYS only. Fixed, so that
 * one policy means the same with any libseccomp and any kernel.
 */
#define FILTER_NEWEST 450	/* set_mempolicy_home_node, Linux 5.17 */

struct filter_prog {
	struct sock_filter *insns;
	unsigned short len;
};

struct filter_verdict {
	enum policy_action action;
	int error;			/* what the caller of the system call gets */
	const struct policy_rule *rule;	/* NULL: no rule names the call (default) */
	bool known;			/* a call of the table; others answer ENOSYS unless a rule names them */
};

/*
 * Which calls answer SECCOMP_RET_USER_NOTIF, so that a listener sees them. Their
 * errno is its data, which the kernel does not look at, but which is there for a
 * guest that gets no listener. All others answer directly.
 *
 * FILTER_NOTIFY_DENIED: denied calls (POLICY_DENY and the default for known
 * calls). ENOSYS answers do not notify.
 *
 * FILTER_NOTIFY_ALL, for a trace: also ENOSYS answers, and allowed calls but for
 * the quiet ones (filter_quiet()). The listener answers an allowed call with
 * SECCOMP_USER_NOTIF_FLAG_CONTINUE, for exactly those calls that filter_decide()
 * allows. That is sound here, although seccomp_unotify(2) warns of it, because
 * nothing is decided that could change between the answer and the call: the
 * decision is the filter's own, made again by the same rules from the number and
 * the scalar arguments, which are registers of a thread that stands still. Only
 * ptrace could change them, and "@never" denies it. A signal that interrupts the
 * wait cancels the notification, and the call is judged anew. Nothing is ever
 * decided from what a pointer leads to. Without a listener an allowed call has
 * ENOSYS for its data: it fails, it does not pass.
 *
 * Errors: exit 2 with the rule's origin for a rule that cannot be compiled, 125
 * where libseccomp fails.
 */
enum filter_notify { FILTER_NOTIFY_NONE, FILTER_NOTIFY_DENIED, FILTER_NOTIFY_ALL };
int filter_compile(const struct policy *p, enum filter_notify notify, struct filter_prog *ret, struct sj_err *err);
void filter_prog_free(struct filter_prog *prog);
#define _cleanup_filter_ _cleanup_(filter_prog_free)

/* Which rule decides, by the same order as the compiled program (tested against it). */
void filter_decide(const struct policy *p, int nr, const uint64_t args[6], struct filter_verdict *ret);

/* Allowed by the floor whatever its arguments, made at a high rate, and of no interest to a trace: "read", "futex". */
bool filter_quiet(int nr);
const char *filter_quiet_name(size_t i);	/* i from 0 until NULL */
/*
 * The normal form of a call's arguments: those that no rule of p for this call looks at are 0, the others are
 * cut to the bits that the kernel reads, and of pointers only NULL or not is left. Two calls with the same
 * normal form are one to the filter. Returns which arguments rules look at, by bit.
 */
unsigned int filter_normalize(const struct policy *p, int nr, uint64_t args[6]);
/* Is the argument one of a set of constants (a family, a command, flags), rather than a number or a pointer? */
bool filter_arg_constant(int nr, unsigned int index);
/* What a rule answers for a call of that number, whatever its conditions; NULL: the answer where no rule matches. */
void filter_answer(const struct policy *p, const struct policy_rule *rule, int nr, struct filter_verdict *ret);
bool filter_matches(const struct policy_rule *rule, int nr, const uint64_t args[6]); /* do all its conditions hold? */
bool filter_foreign(int nr);				/* a number of another architecture's table: always killed */

/* "socket(AF_INET, SOCK_STREAM, 0)": name with decoded scalar arguments, never pointers. */
void filter_describe(int nr, const uint64_t args[6], char *ret, size_t len);
/*
 * The same with pointers followed by the caller: called for each, it writes what is there as text of
 * at most `len` bytes and returns 1, or 2 if that makes a last argument with its length superfluous, or 0 for "...".
 */
typedef int filter_pointee_fn(void *arg, unsigned int index, char *ret, size_t len);
void filter_describe_with(int nr, const uint64_t args[6], filter_pointee_fn *pointee, void *arg, char *ret, size_t len);
const char *filter_call_name(int nr, char *buf, size_t len); /* "socket", or "syscall_460" */
int filter_call_number(const char *name);		/* -1: no call of this architecture */
/* One argument of it in the same words; `first` is argument 0, on which the meaning of others may depend. */
void filter_describe_arg(int nr, unsigned int index, uint64_t value, uint64_t first, char *ret, size_t len);
#define FILTER_CALLS 512	/* numbers from 0 that a policy can name; not all of them are calls */
unsigned int filter_arg_bits(int nr, unsigned int index);	/* how many the kernel reads: 32 or 64 */

/* ---- what people write about a call (ask.c); errors: exit 2, with the nearest name ---- */

int filter_parse_call(const char *name, int *ret, struct sj_err *err);	/* a name, or a number */
bool filter_parse_arg(const char *word, uint64_t *ret);			/* "AF_INET", "A|B", "-1", "0644", "0x10" */
/* At most as many as the call has; those that are left out are 0. */
int filter_parse_args(int nr, char *const *words, size_t n, uint64_t ret[6], struct sj_err *err);

/* ---- the program itself, run without the kernel (simulate.c) ---- */

#define FILTER_NO_ANSWER 0xdeadbeefu	/* no return value of seccomp: the kernel would not load this program */

struct seccomp_data;

/* A SECCOMP_RET_ value. */
uint32_t filter_simulate(const struct filter_prog *prog, int nr, const uint64_t args[6]);
uint32_t filter_simulate_data(const struct filter_prog *prog, const struct seccomp_data *data);

/* ---- for tools that write rules (table.c) ---- */

#define FILTER_ELSEWHERE (-2)
/* Number of a call; -1: no such name, FILTER_ELSEWHERE: a call of other architectures only. */
int filter_call_find(const char *name);
const char *filter_call_at(int nr);			/* NULL: no such call */
uint64_t filter_arg_mask(int nr, unsigned int index);	/* those that the kernel reads of an argument */
bool filter_arg_is_pointer(int nr, unsigned int index);	/* of which a filter sees whether it is 0 */
/* Can this rule be tested at all? -EINVAL, as filter_compile() says. */
int filter_rule_check(const struct policy_rule *rule, struct sj_err *err);

#endif
