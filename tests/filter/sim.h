/*
 * sim.h - runs a seccomp program without the kernel
 *
 * The subset of classic BPF that seccomp accepts. sim_valid() asks what the
 * kernel asks before it loads a program; sim_run() gives the return value.
 */
#ifndef SMOLJAIL_TESTS_SIM_H
#define SMOLJAIL_TESTS_SIM_H

#include <stddef.h>
#include <string.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "filter/filter.h"

#ifdef __x86_64__
#define SIM_ARCH AUDIT_ARCH_X86_64
#else
#define SIM_ARCH AUDIT_ARCH_AARCH64
#endif

#define SIM_BAD 0xdeadbeefu	/* no return value of seccomp */

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

__attribute__((unused))
static uint32_t sim_data(const struct filter_prog *prog, const struct seccomp_data *data)
{
	uint32_t a = 0;
	bool taken;

	for (size_t at = 0; at < prog->len; at++) {
		const struct sock_filter *insn = &prog->insns[at];

		switch (insn->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			memcpy(&a, (const char *)data + insn->k, sizeof(a));
			continue;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= insn->k;
			continue;
		case BPF_JMP | BPF_JA:
			at += insn->k;
			continue;
		case BPF_JMP | BPF_JEQ | BPF_K:
			taken = a == insn->k;
			break;
		case BPF_JMP | BPF_JGT | BPF_K:
			taken = a > insn->k;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			taken = a >= insn->k;
			break;
		case BPF_JMP | BPF_JSET | BPF_K:
			taken = a & insn->k;
			break;
		case BPF_RET | BPF_K:
			return insn->k;
		default:
			return SIM_BAD;
		}
		at += taken ? insn->jt : insn->jf;
	}
	return SIM_BAD;
}

__attribute__((unused))
static uint32_t sim_run(const struct filter_prog *prog, int nr, const uint64_t args[6])
{
	struct seccomp_data data = { .nr = nr, .arch = SIM_ARCH };

	memcpy(data.args, args, sizeof(data.args));
	return sim_data(prog, &data);
}

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

#endif
