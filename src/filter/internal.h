/*
 * internal.h - what the files of filter/ share
 */
#ifndef SMOLJAIL_FILTER_INTERNAL_H
#define SMOLJAIL_FILTER_INTERNAL_H

#include "filter/filter.h"

#define FILTER_CALLS_MAX FILTER_CALLS
#define FILTER_X32_BIT 0x40000000

/* ---- calls (calls.c) ------------------------------------------------ */

#define CALL_UNKNOWN (-1)	/* no such name */
#define CALL_ELSEWHERE (-2)	/* a call of other architectures */

int call_resolve(const char *name);
const char *call_nearest(const char *name); /* for "did you mean"; NULL if none is close */
const char *call_name(int nr);		/* NULL: no such call */
bool call_known(int nr);
const char *call_args(int nr);		/* one letter an argument; NULL: no such call */
/* The bits of an argument that the kernel reads: 32 or 64 ones. */
uint64_t call_arg_mask(int nr, unsigned int index);

/* ---- one rule (rule.c) ----------------------------------------------- */

/* Refuses what cannot be tested: exit 2 with the rule's origin. */
int rule_check(const struct policy_rule *rule, int nr, struct sj_err *err);
bool rule_matches(const struct policy_rule *rule, int nr, const uint64_t args[6]);
/* What the rule's call answers; rule NULL: the default of a call of that number. */
void rule_verdict(const struct policy *p, const struct policy_rule *rule, int nr, struct filter_verdict *ret);
/* The same as a return value of the program. */
uint32_t rule_return(const struct policy *p, const struct policy_rule *rule, int nr, enum filter_notify notify);

/* ---- instructions (emit.c) -------------------------------------------- */

struct emit {
	struct sock_filter *insns;
	size_t n, max;
	bool full;		/* an instruction was dropped for lack of room */
};

void emit_insn(struct emit *e, uint16_t code, uint32_t k, uint8_t jt, uint8_t jf);
/* Return `ret` where all conditions of the rule hold, else go on with what comes next. */
void emit_rule(struct emit *e, const struct policy_rule *rule, int nr, uint32_t ret);

#endif
