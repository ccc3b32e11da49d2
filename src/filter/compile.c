/*
 * compile.c - a policy's rules as one seccomp program
 *
 * Runs as: supervisor, outside the jail
 * Trusts: nothing; rules may come from a user's policy file
 * Never: leaves a way through the program that ends in no answer of the policy
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <seccomp.h>
#include <linux/seccomp.h>

#include "filter/internal.h"

/*
 *	[ architecture | search tree over numbers | tests of call A | tests of call B ... ]
 *
 * libseccomp writes the first part: native calls go on, foreign ones are killed,
 * whatever the machine is. The rest is written here, since libseccomp has no
 * order among the rules of a call, no "not equal under a mask" and one default
 * for all numbers, and since its tree would take ten times as long to build as
 * everything else (0.6 ms of each start). The tree is over ranges of numbers
 * with the same answer: nothing is left to a default that could be forgotten.
 */

#define MARK SECCOMP_RET_DATA	/* where libseccomp's part goes on with ours */
#define NONE (-1)
#define JUMP_MAX 255		/* instructions that a conditional jump can pass over */

/* Numbers from `first` up to the next leaf's answer alike. */
struct leaf {
	int first;
	int tests;		/* the call whose arguments decide, NONE: all answer `ret` */
	uint32_t ret;
	size_t at;		/* where the leaf is in the program */
};

struct plan {
	const struct policy *p;
	enum filter_notify notify;
	/* The rules of each call as lists in the policy's order. */
	int head[FILTER_CALLS_MAX], tail[FILTER_CALLS_MAX];
	int *next;		/* one a rule */
	struct leaf leaves[FILTER_CALLS_MAX + 1];
	size_t n_leaves;
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
	int r = err_set(err, EINVAL, SJ_EXIT_USAGE, "E_SYSCALL", "%s: no system call is named \"%s\"",
			rule->origin, rule->name);

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
		plan->head[nr] = plan->tail[nr] = NONE;
	plan->next = calloc(s->n_rules + 1, sizeof(*plan->next));
	if (!plan->next)
		return err_oom(err);
	for (size_t i = 0; i < s->n_rules; i++) {
		int nr = call_resolve(s->rules[i].name), r;

		if (nr == CALL_ELSEWHERE)
			continue;
		if (teeth_out("terminal") && strcmp(s->rules[i].name, "ioctl") == 0 && s->rules[i].action == POLICY_DENY)
			continue;
		if (nr < 0 || nr >= FILTER_CALLS_MAX)
			return unknown_call(&s->rules[i], err);
		r = rule_check(&s->rules[i], nr, err);
		if (r < 0)
			return r;
		plan->next[i] = NONE;
		if (plan->head[nr] == NONE)
			plan->head[nr] = (int)i;
		else
			plan->next[plan->tail[nr]] = (int)i;
		plan->tail[nr] = (int)i;
	}
	return 0;
}

/* ---- architecture ---------------------------------------------------- */

static int too_long(struct sj_err *err)
{
	int r = err_set(err, E2BIG, SJ_EXIT_USAGE, "E_FILTER_SIZE",
			"the system call rules need more than %d instructions", FILTER_INSNS_MAX);

	err_why(err, "the kernel loads no longer program");
	err_fix(err, "use fewer rules with conditions on arguments");
	return r;
}

static int seccomp_failed(int error, const char *step, struct sj_err *err)
{
	int r = err_set(err, -error, SJ_EXIT_SETUP, "E_SECCOMP", "libseccomp: %s failed: %s", step,
			strerror(-error));

	err_why(err, "the filter of system calls could not be made");
	err_fix(err, "\"smoljail doctor\" says what this machine lacks");
	return r;
}

/* libseccomp before 2.6 writes its program to a descriptor only. */
static int export_head(scmp_filter_ctx ctx, struct emit *e, struct sj_err *err)
{
	_cleanup_close_ int fd = io_memfd("smoljail-filter", NULL, 0);
	off_t len;
	int r;

	if (fd < 0)
		return seccomp_failed(fd, "a memory file", err);
	r = seccomp_export_bpf(ctx, fd);
	if (r < 0)
		return seccomp_failed(r, "seccomp_export_bpf", err);
	len = lseek(fd, 0, SEEK_END);
	if (len < 0 || (size_t)len > e->max * sizeof(*e->insns) || lseek(fd, 0, SEEK_SET) < 0)
		return seccomp_failed(-EIO, "reading the program back", err);
	r = io_read_full(fd, e->insns, (size_t)len);
	if (r < 0)
		return seccomp_failed(r, "reading the program back", err);
	e->n = (size_t)len / sizeof(*e->insns);
	return 0;
}

/* Every way through the head that ends in the mark goes on behind it. */
static int join_head(struct emit *e, struct sj_err *err)
{
	size_t found = 0;

	for (size_t at = 0; at < e->n; at++) {
		if (e->insns[at].code != (BPF_RET | BPF_K) || e->insns[at].k != (SECCOMP_RET_TRACE | MARK))
			continue;
		e->insns[at] = (struct sock_filter){ .code = BPF_JMP | BPF_JA, .k = (uint32_t)(e->n - at - 1) };
		found++;
	}
	return found ? 0 : seccomp_failed(-EBADMSG, "seccomp_export_bpf", err);
}

static int make_head(struct emit *e, struct sj_err *err)
{
	_cleanup_(release_ctx) scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_TRACE(MARK));
	int r;

	if (!ctx)
		return seccomp_failed(-ENOMEM, "seccomp_init", err);
	r = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, teeth_out("foreign") ? SCMP_ACT_ALLOW : SCMP_ACT_KILL_PROCESS);
	if (r < 0)
		return seccomp_failed(r, "killing foreign architectures", err);
	r = export_head(ctx, e, err);
	return r < 0 ? r : join_head(e, err);
}

/* ---- numbers ---------------------------------------------------------- */

static uint32_t answer(const struct plan *plan, int rule, int nr)
{
	return rule_return(plan->p, rule == NONE ? NULL : &plan->p->syscalls.rules[rule], nr, plan->notify);
}

static struct leaf leaf_of(const struct plan *plan, int nr)
{
	int rule = nr < FILTER_CALLS_MAX ? plan->head[nr] : NONE;

	if (rule != NONE && plan->p->syscalls.rules[rule].n_args > 0)
		return (struct leaf){ .first = nr, .tests = nr };
	return (struct leaf){ .first = nr, .tests = NONE, .ret = answer(plan, rule, nr) };
}

/* The last leaf holds every number behind the table. */
static void plan_leaves(struct plan *plan)
{
	for (int nr = 0; nr <= FILTER_CALLS_MAX; nr++) {
		struct leaf leaf = leaf_of(plan, nr);
		const struct leaf *last = nr > 0 ? &plan->leaves[plan->n_leaves - 1] : NULL;

		if (last && leaf.tests == NONE && last->tests == NONE && leaf.ret == last->ret)
			continue;
		plan->leaves[plan->n_leaves++] = leaf;
	}
}

static size_t tree_size(size_t n)
{
	size_t left;

	if (n == 1)
		return 1;
	left = tree_size(n / 2);
	return (left > JUMP_MAX ? 2 : 1) + left + tree_size(n - n / 2);
}

static void emit_tree(struct emit *e, struct leaf *leaves, size_t n)
{
	uint32_t middle = (uint32_t)leaves[n / 2].first;
	size_t left;

	if (n == 1) {
		leaves->at = e->n;
		if (leaves->tests == NONE)
			emit_insn(e, BPF_RET | BPF_K, leaves->ret, 0, 0);
		else
			emit_insn(e, BPF_JMP | BPF_JA, 0, 0, 0);
		return;
	}
	left = tree_size(n / 2);
	if (left > JUMP_MAX) {
		emit_insn(e, BPF_JMP | BPF_JGE | BPF_K, middle, 0, 1);
		emit_insn(e, BPF_JMP | BPF_JA, (uint32_t)left, 0, 0);
	} else {
		emit_insn(e, BPF_JMP | BPF_JGE | BPF_K, middle, (uint8_t)left, 0);
	}
	emit_tree(e, leaves, n / 2);
	emit_tree(e, leaves + n / 2, n - n / 2);
}

/* ---- arguments -------------------------------------------------------- */

static void emit_tests(const struct plan *plan, struct emit *e, int nr)
{
	for (int i = plan->head[nr]; i != NONE; i = plan->next[i]) {
		const struct policy_rule *rule = &plan->p->syscalls.rules[i];

		emit_rule(e, rule, nr, answer(plan, i, nr));
		if (rule->n_args == 0)
			return;
	}
	emit_insn(e, BPF_RET | BPF_K, answer(plan, NONE, nr), 0, 0);
}

static void emit_all(struct plan *plan, struct emit *e)
{
	plan_leaves(plan);
	emit_insn(e, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
	emit_tree(e, plan->leaves, plan->n_leaves);
	for (size_t i = 0; i < plan->n_leaves && !e->full; i++) {
		const struct leaf *leaf = &plan->leaves[i];

		if (leaf->tests == NONE)
			continue;
		e->insns[leaf->at].k = (uint32_t)(e->n - leaf->at - 1);
		emit_tests(plan, e, leaf->tests);
	}
}

int filter_compile(const struct policy *p, enum filter_notify notify, struct filter_prog *ret, struct sj_err *err)
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
	r = make_head(&e, err);
	if (r < 0)
		return r;
	emit_all(&plan, &e);
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
