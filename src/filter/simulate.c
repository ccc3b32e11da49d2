/*
 * simulate.c - what the kernel would answer: a seccomp program run here
 *
 * Runs as: the caller
 * Trusts: nothing; a program that the kernel would not load gives no answer
 * Never: makes the call
 */
#include <string.h>
#include <linux/audit.h>
#include <linux/seccomp.h>

#include "filter/internal.h"

#ifdef __x86_64__
#define ARCH AUDIT_ARCH_X86_64
#else
#define ARCH AUDIT_ARCH_AARCH64
#endif

/* Does a conditional jump go to its first target? False for *ret_known where it is no conditional jump. */
static bool jumps(const struct sock_filter *insn, uint32_t a, bool *ret_known)
{
	*ret_known = true;
	switch (insn->code) {
	case BPF_JMP | BPF_JEQ | BPF_K:
		return a == insn->k;
	case BPF_JMP | BPF_JGT | BPF_K:
		return a > insn->k;
	case BPF_JMP | BPF_JGE | BPF_K:
		return a >= insn->k;
	case BPF_JMP | BPF_JSET | BPF_K:
		return a & insn->k;
	default:
		*ret_known = false;
		return false;
	}
}

uint32_t filter_simulate_data(const struct filter_prog *prog, const struct seccomp_data *data)
{
	uint32_t a = 0;
	bool known, taken;

	for (size_t at = 0; at < prog->len; at++) {
		const struct sock_filter *insn = &prog->insns[at];

		if (insn->code == (BPF_RET | BPF_K))
			return insn->k;
		if (insn->code == (BPF_LD | BPF_W | BPF_ABS) && insn->k % 4 == 0 && insn->k < sizeof(*data)) {
			memcpy(&a, (const char *)data + insn->k, sizeof(a));
		} else if (insn->code == (BPF_ALU | BPF_AND | BPF_K)) {
			a &= insn->k;
		} else if (insn->code == (BPF_JMP | BPF_JA)) {
			at += insn->k;
		} else {
			taken = jumps(insn, a, &known);
			if (!known)
				return FILTER_NO_ANSWER;
			at += taken ? insn->jt : insn->jf;
		}
	}
	return FILTER_NO_ANSWER;
}

uint32_t filter_simulate(const struct filter_prog *prog, int nr, const uint64_t args[6])
{
	struct seccomp_data data = { .nr = nr, .arch = ARCH };

	memcpy(data.args, args, sizeof(data.args));
	return filter_simulate_data(prog, &data);
}
