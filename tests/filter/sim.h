/*
 * sim.h - a seccomp program run without the kernel (src/filter/simulate.c), for tests
 *
 * sim_valid() asks what the kernel asks before it loads a program; sim_run() gives the return value.
 */
#ifndef SMOLJAIL_TESTS_SIM_H
#define SMOLJAIL_TESTS_SIM_H

#include <stddef.h>
#include <string.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "filter/filter.h"

#define SIM_BAD FILTER_NO_ANSWER

static bool sim_valid_at(const struct filter_prog *prog, size_t at)
{
	const struct sock_filter *insn = &prog->insns[at];
	size_t left = prog->len - at - 1;

	switch (insn->code) {
	case BPF_LD | BPF_W | BPF_ABS:
		return insn->k % 4 == 0 && insn->k < sizeof(struct seccomp_data) && left > 0;
	case BPF_ALU | BPF_AND | BPF_K:
		return left > 0;
	case BPF_JMP | BPF_JA:
		return insn->k < left;
	case BPF_JMP | BPF_JEQ | BPF_K:
	case BPF_JMP | BPF_JGT | BPF_K:
	case BPF_JMP | BPF_JGE | BPF_K:
	case BPF_JMP | BPF_JSET | BPF_K:
		return insn->jt < left && insn->jf < left;
	case BPF_RET | BPF_K:
		return true;
	default:
		return false;
	}
}

/* What the kernel would load: known instructions, all jumps forward and inside. */
__attribute__((unused))
static bool sim_valid(const struct filter_prog *prog)
{
	if (prog->len == 0 || prog->len > FILTER_INSNS_MAX)
		return false;
	for (size_t at = 0; at < prog->len; at++)
		if (!sim_valid_at(prog, at))
			return false;
	return prog->insns[prog->len - 1].code == (BPF_RET | BPF_K);
}

#define sim_data filter_simulate_data
#define sim_run filter_simulate

/* The return value that a verdict stands for. */
__attribute__((unused))
static uint32_t sim_verdict(const struct filter_verdict *v, bool notify)
{
	switch (v->action) {
	case POLICY_ALLOW:
		return SECCOMP_RET_ALLOW;
	case POLICY_DENY:
		return (notify ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ERRNO) | (uint32_t)v->error;
	case POLICY_ENOSYS:
		return SECCOMP_RET_ERRNO | ENOSYS;
	case POLICY_KILL:
		return SECCOMP_RET_KILL_PROCESS;
	}
	return SIM_BAD;
}

/* With FILTER_NOTIFY_ALL: who listens sees all but the quiet calls and the killed ones. */
static inline uint32_t sim_verdict_all(const struct filter_verdict *v, int nr)
{
	if (v->action == POLICY_KILL || (v->action == POLICY_ALLOW && filter_quiet(nr)))
		return sim_verdict(v, true);
	return SECCOMP_RET_USER_NOTIF | (uint32_t)(v->action == POLICY_ALLOW ? ENOSYS : v->error);
}

#endif
