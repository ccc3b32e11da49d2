/*
 * emit.c - conditions of a rule as BPF instructions
 *
 * Runs as: supervisor, outside the jail
 * Trusts: rules that passed rule_check()
 * Never: looks at more bits of an argument than the kernel does
 */
#include <stddef.h>
#include <endian.h>
#include <linux/seccomp.h>

#include "filter/internal.h"

_Static_assert(__BYTE_ORDER == __LITTLE_ENDIAN, "the lower half of an argument comes first");

#define LOAD (BPF_LD | BPF_W | BPF_ABS)
#define AND (BPF_ALU | BPF_AND | BPF_K)
#define JUMP(test) (BPF_JMP | (test) | BPF_K)
#define RETURN (BPF_RET | BPF_K)

#define FAIL 0xff	/* jump target until the end of the rule is known */
/* The longest condition: load, and, test for each half. A jump spans 255 at most. */
#define CONDITION_MAX 6
_Static_assert(CONDITION_MAX * POLICY_RULE_ARGS_MAX + 1 < FAIL, "a rule is longer than a jump");

void emit_insn(struct emit *e, uint16_t code, uint32_t k, uint8_t jt, uint8_t jf)
{
	if (e->n >= e->max) {
		e->full = true;
		return;
	}
	e->insns[e->n++] = (struct sock_filter){ .code = code, .jt = jt, .jf = jf, .k = k };
}

static void load_low(struct emit *e, unsigned int index)
{
	emit_insn(e, LOAD, (uint32_t)(offsetof(struct seccomp_data, args) + index * sizeof(uint64_t)), 0, 0);
}

static void load_high(struct emit *e, unsigned int index)
{
	emit_insn(e, LOAD, (uint32_t)(offsetof(struct seccomp_data, args) + index * sizeof(uint64_t) + 4), 0, 0);
}

/* One half of (argument & mask) == value. */
static void half_equals(struct emit *e, uint32_t mask, uint32_t value)
{
	if (mask != UINT32_MAX)
		emit_insn(e, AND, mask, 0, 0);
	emit_insn(e, JUMP(BPF_JEQ), value, 0, FAIL);
}

static void emit_equals(struct emit *e, unsigned int index, uint64_t mask, uint64_t value)
{
	if (mask >> 32) {
		load_high(e, index);
		half_equals(e, (uint32_t)(mask >> 32), (uint32_t)(value >> 32));
	}
	if ((uint32_t)mask) {
		load_low(e, index);
		half_equals(e, (uint32_t)mask, (uint32_t)value);
	}
}

static void emit_differs(struct emit *e, unsigned int index, bool wide, uint64_t value)
{
	if (wide) {
		load_high(e, index);
		emit_insn(e, JUMP(BPF_JEQ), (uint32_t)(value >> 32), 0, 2);
	}
	load_low(e, index);
	emit_insn(e, JUMP(BPF_JEQ), (uint32_t)value, FAIL, 0);
}

/* test is BPF_JGT or BPF_JGE; below: the argument must fail the test. */
static void emit_order(struct emit *e, unsigned int index, bool wide, uint64_t value, uint16_t test,
		       bool below)
{
	uint32_t high = (uint32_t)(value >> 32);

	if (wide) {
		load_high(e, index);
		emit_insn(e, JUMP(BPF_JGT), high, below ? FAIL : 3, 0);
		emit_insn(e, JUMP(BPF_JEQ), high, 0, below ? 2 : FAIL);
	}
	load_low(e, index);
	emit_insn(e, JUMP(test), (uint32_t)value, below ? FAIL : 0, below ? 0 : FAIL);
}

static void emit_condition(struct emit *e, const struct policy_arg *arg, uint64_t mask)
{
	uint64_t value = arg->value & mask;
	bool wide = mask >> 32;

	switch (arg->op) {
	case POLICY_EQ:
		emit_equals(e, arg->index, mask, value);
		break;
	case POLICY_MASKED_EQ:
		emit_equals(e, arg->index, arg->mask & mask, value);
		break;
	case POLICY_NE:
		emit_differs(e, arg->index, wide, value);
		break;
	case POLICY_GT:
		emit_order(e, arg->index, wide, value, BPF_JGT, false);
		break;
	case POLICY_GE:
		emit_order(e, arg->index, wide, value, BPF_JGE, false);
		break;
	case POLICY_LE:
		emit_order(e, arg->index, wide, value, BPF_JGT, true);
		break;
	case POLICY_LT:
		emit_order(e, arg->index, wide, value, BPF_JGE, true);
		break;
	}
}

void emit_rule(struct emit *e, const struct policy_rule *rule, int nr, uint32_t ret)
{
	size_t start = e->n;

	for (size_t i = 0; i < rule->n_args; i++)
		emit_condition(e, &rule->args[i], call_arg_mask(nr, rule->args[i].index));
	emit_insn(e, RETURN, ret, 0, 0);
	for (size_t at = start; at < e->n; at++) {
		struct sock_filter *insn = &e->insns[at];

		if (BPF_CLASS(insn->code) != BPF_JMP)
			continue;
		if (insn->jt == FAIL)
			insn->jt = (uint8_t)(e->n - at - 1);
		if (insn->jf == FAIL)
			insn->jf = (uint8_t)(e->n - at - 1);
	}
}
