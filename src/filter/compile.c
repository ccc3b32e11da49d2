/*
 * compile.c - a policy's rules as one seccomp program
 *
 * Runs as: supervisor, outside the jail
 * Trusts: nothing; rules may come from a user's policy file
 * Never: leaves a way through the program that ends in no answer of the policy
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <seccomp.h>
#include <linux/seccomp.h>
#include <sys/stat.h>

#include "filter/internal.h"

/*
 * libseccomp makes the first part of the program: the test of the architecture
 * and a search tree over call numbers. It has no order among rules, no "not
 * equal under a mask", and one default for all numbers. So each place where it
 * would return anything but "allow" gets a marker, the tests of arguments are
 * written behind its part in the order of the policy, and every marker becomes a
 * jump to its tests or the answer itself. No instruction moves, so all jumps of
 * libseccomp stay right.
 *
 *	[ architecture | search tree | tests of call A | tests of call B | default ]
 */

#define MARK_DEFAULT SECCOMP_RET_DATA
#define NONE (-1)

_Static_assert(FILTER_CALLS_MAX < MARK_DEFAULT, "a marker's number fits");

/* The rules of each call as lists in the policy's order. */
struct plan {
	const struct policy *p;
	bool notify;
	int first[FILTER_CALLS_MAX], last[FILTER_CALLS_MAX];
	int *next;		/* one a rule */
	size_t tests[FILTER_CALLS_MAX + 1]; /* where a call's tests are in the program, 0 = not yet; last: the default */
};

static void free_plan(struct plan *plan)
{
	free(plan->next);
}

static void release_ctx(scmp_filter_ctx *ctx)
{
	if (*ctx)
		seccomp_release(*ctx);
}

static int unknown_call(const struct policy_rule *rule, struct sj_err *err)
{
	const char *near = call_nearest(rule->name);
	int r = err_set(err, EINVAL, SJ_EXIT_USAGE, "E_SYSCALL", "%s: no system call is named \"%s\"", rule->origin, rule->name);

	err_why(err, "neither libseccomp nor smoljail has it in its table");
	if (near)
		err_fix(err, "did you mean \"%s\"?", near);
	else
		err_fix(err, "take it out, or write the kernel's name as in syscalls(2)");
	return r;
}

static int plan_rules(struct plan *plan, struct sj_err *err)
{
	const struct policy_syscalls *s = &plan->p->syscalls;

	for (int nr = 0; nr < FILTER_CALLS_MAX; nr++)
		plan->first[nr] = plan->last[nr] = NONE;
	plan->next = calloc(s->n_rules + 1, sizeof(*plan->next));
	if (!plan->next)
		return err_oom(err);
	for (size_t i = 0; i < s->n_rules; i++) {
		int nr = call_resolve(s->rules[i].name), r;

		if (nr == CALL_ELSEWHERE)
			continue;
		if (nr < 0 || nr >= FILTER_CALLS_MAX)
			return unknown_call(&s->rules[i], err);
		r = rule_check(&s->rules[i], nr, err);
		if (r < 0)
			return r;
		plan->next[i] = NONE;
		if (plan->first[nr] == NONE)
			plan->first[nr] = (int)i;
		else
			plan->next[plan->last[nr]] = (int)i;
		plan->last[nr] = (int)i;
	}
	return 0;
}

/* ---- the search tree ------------------------------------------------- */

/* What stands behind a marker: the tests of a call, or one answer for any arguments. */
static bool has_tests(const struct plan *plan, int nr)
{
	return plan->p->syscalls.rules[plan->first[nr]].n_args > 0;
}

static uint32_t answer(const struct plan *plan, int rule, int nr)
{
	return rule_return(plan->p, rule == NONE ? NULL : &plan->p->syscalls.rules[rule], nr, plan->notify);
}

/* The action for libseccomp; 0 where the default says the same. */
static uint32_t tree_action(const struct plan *plan, int nr)
{
	uint32_t ret;

	if (plan->first[nr] == NONE)
		return 0;
	if (has_tests(plan, nr))
		return SCMP_ACT_TRACE(nr);
	ret = answer(plan, plan->first[nr], nr);
	if (ret == answer(plan, NONE, nr))
		return 0;
	return ret == SECCOMP_RET_ALLOW ? SCMP_ACT_ALLOW : SCMP_ACT_TRACE(nr);
}

static int tree_failed(int error, const char *step, struct sj_err *err)
{
	int r = err_set(err, -error, SJ_EXIT_SETUP, "E_SECCOMP", "libseccomp: %s failed: %s", step, strerror(-error));

	err_why(err, "the filter of system calls could not be made");
	err_fix(err, "\"smoljail doctor\" says what this machine lacks");
	return r;
}

static int build_tree(const struct plan *plan, scmp_filter_ctx ctx, struct sj_err *err)
{
	int r = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);

	if (r < 0)
		return tree_failed(r, "killing foreign architectures", err);
	r = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (r < 0)
		return tree_failed(r, "asking for a search tree", err);
	for (int nr = 0; nr < FILTER_CALLS_MAX; nr++) {
		uint32_t action = tree_action(plan, nr);

		if (!action)
			continue;
		r = seccomp_rule_add(ctx, action, nr, 0);
		if (r < 0)
			return tree_failed(r, "adding a call", err);
	}
	return 0;
}

static int too_long(struct sj_err *err)
{
	int r = err_set(err, E2BIG, SJ_EXIT_USAGE, "E_FILTER_SIZE", "the system call rules need more than %d instructions",
			FILTER_INSNS_MAX);

	err_why(err, "the kernel loads no longer program");
	err_fix(err, "use fewer rules with conditions on arguments");
	return r;
}

/* libseccomp before 2.6 writes its program to a descriptor only. */
static int export_tree(scmp_filter_ctx ctx, struct emit *e, struct sj_err *err)
{
	_cleanup_close_ int fd = io_memfd("smoljail-filter", NULL, 0);
	struct stat st;
	int r;

	if (fd < 0)
		return err_set(err, -fd, SJ_EXIT_SETUP, "E_SECCOMP", "no memory file for the filter: %s", strerror(-fd));
	r = seccomp_export_bpf(ctx, fd);
	if (r < 0)
		return tree_failed(r, "writing the program", err);
	if (fstat(fd, &st) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return err_set(err, errno, SJ_EXIT_SETUP, "E_SECCOMP", "the filter cannot be read back: %m");
	if ((size_t)st.st_size > e->max * sizeof(*e->insns))
		return too_long(err);
	e->n = (size_t)st.st_size / sizeof(*e->insns);
	r = io_read_full(fd, e->insns, e->n * sizeof(*e->insns));
	if (r < 0)
		return err_set(err, -r, SJ_EXIT_SETUP, "E_SECCOMP", "the filter cannot be read back: %s", strerror(-r));
	return 0;
}

static int make_tree(const struct plan *plan, struct emit *e, struct sj_err *err)
{
	_cleanup_(release_ctx) scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_TRACE(MARK_DEFAULT));
	int r;

	if (!ctx)
		return tree_failed(-ENOMEM, "seccomp_init", err);
	r = build_tree(plan, ctx, err);
	return r < 0 ? r : export_tree(ctx, e, err);
}

/* ---- what stands behind it ------------------------------------------- */

static void emit_tests(const struct plan *plan, struct emit *e, int nr)
{
	int i = plan->first[nr];

	for (; i != NONE; i = plan->next[i]) {
		const struct policy_rule *rule = &plan->p->syscalls.rules[i];

		emit_rule(e, rule, nr, answer(plan, i, nr));
		if (rule->n_args == 0)
			return;
	}
	emit_insn(e, BPF_RET | BPF_K, answer(plan, NONE, nr), 0, 0);
}

/* Replace the marker in instruction `at`; the tests are written when they are first needed. */
static void patch(struct plan *plan, struct emit *e, size_t at, uint32_t mark)
{
	size_t *tests = &plan->tests[mark == MARK_DEFAULT ? FILTER_CALLS_MAX : mark];

	if (mark != MARK_DEFAULT && !has_tests(plan, (int)mark)) {
		e->insns[at].k = answer(plan, plan->first[mark], (int)mark);
		return;
	}
	if (*tests == 0) {
		*tests = e->n;
		if (mark == MARK_DEFAULT)
			emit_default(e, answer(plan, NONE, 0));
		else
			emit_tests(plan, e, (int)mark);
	}
	e->insns[at] = (struct sock_filter){ .code = BPF_JMP | BPF_JA, .k = (uint32_t)(*tests - at - 1) };
}

static void emit_rest(struct plan *plan, struct emit *e)
{
	size_t tree = e->n;

	for (size_t at = 0; at < tree; at++) {
		const struct sock_filter *insn = &e->insns[at];

		if (insn->code == (BPF_RET | BPF_K) && (insn->k & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_TRACE)
			patch(plan, e, at, insn->k & SECCOMP_RET_DATA);
	}
}

int filter_compile(const struct policy *p, bool notify, struct filter_prog *ret, struct sj_err *err)
{
	_cleanup_(free_plan) struct plan plan = { .p = p, .notify = notify };
	_cleanup_free_ struct sock_filter *insns = calloc(FILTER_INSNS_MAX, sizeof(*insns));
	struct emit e = { .insns = insns, .max = FILTER_INSNS_MAX };
	int r;

	if (!insns)
		return err_oom(err);
	r = plan_rules(&plan, err);
	if (r < 0)
		return r;
	r = make_tree(&plan, &e, err);
	if (r < 0)
		return r;
	emit_rest(&plan, &e);
	if (e.full)
		return too_long(err);
	*ret = (struct filter_prog){ .insns = steal_ptr(insns), .len = (unsigned short)e.n };
	return 0;
}

void filter_prog_free(struct filter_prog *prog)
{
	if (!prog)
		return;
	free(prog->insns);
	*prog = (struct filter_prog){ 0 };
}
