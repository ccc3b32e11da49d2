/*
 * oci_args.c - one condition of a profile as one of a policy
 *
 * Runs as: the caller
 * Trusts: nothing
 * Never: makes a rule that allows wider, or one that refuses narrower
 */
#include "workbench/oci.h"

/*
 * Runtimes compare all 64 bits of an argument; the kernel often reads 32 of
 * them, and then a policy compares 32. So a value that does not fit into 32 bits
 * is met here only if it is a negative number, written out to 64 bits. Whatever
 * else can only be met by bits that the kernel does not look at goes the strict
 * way: an allowing rule is dropped, a refusing one is widened.
 */
static bool fits(uint64_t value, uint64_t bits)
{
	return (value & ~bits) == 0;
}

static bool is_negative(uint64_t value, uint64_t mask)
{
	return (value & mask) >> 32 == mask >> 32 && (value & mask & (1u << 31));
}

static enum oci_fate masked(uint64_t bits, bool allows, struct policy_arg *a, const char **ret_why)
{
	if (!fits(a->value, bits) && !is_negative(a->value, a->mask)) {
		*ret_why = "it asks for bits that the kernel does not read";
		if (allows)
			return OCI_DROP;
	}
	a->mask &= bits;
	a->value &= bits;
	if (a->mask == bits)
		*a = (struct policy_arg){ .index = a->index, .op = POLICY_EQ, .value = a->value };
	return a->op == POLICY_MASKED_EQ && a->mask == 0 ? OCI_ALWAYS : OCI_KEEP;
}

static enum oci_fate compared(uint64_t bits, bool allows, struct policy_arg *a, const char **ret_why)
{
	bool equal = a->op == POLICY_EQ || a->op == POLICY_NE;

	if (fits(a->value, bits))
		return OCI_KEEP;
	if (equal && is_negative(a->value, UINT64_MAX)) {
		a->value &= bits;
		return OCI_KEEP;
	}
	*ret_why = "its value has more bits than the kernel reads of this argument";
	if (equal && allows == (a->op == POLICY_EQ))
		return allows ? OCI_DROP : OCI_ALWAYS;
	if (equal) {
		a->value &= bits;
		return OCI_KEEP;
	}
	/* Below more than 32 bits can hold: so is every number that the kernel reads. */
	if (a->op == POLICY_LT || a->op == POLICY_LE)
		return OCI_ALWAYS;
	return allows ? OCI_DROP : OCI_ALWAYS;
}

enum oci_fate oci_condition(int nr, const struct oci_arg *in, bool allows, struct policy_arg *ret, const char **ret_why)
{
	struct policy_rule rule = { .name = (char *)filter_call_at(nr), .origin = (char *)"", .n_args = 1 };
	uint64_t bits = filter_arg_mask(nr, in->index);
	struct policy_arg a = { .index = in->index, .op = in->op, .value = in->value };
	enum oci_fate fate;

	if (a.op == POLICY_MASKED_EQ) {
		a.mask = in->value;
		a.value = in->value_two & a.mask; /* as libseccomp does */
	}
	fate = a.op == POLICY_MASKED_EQ ? masked(bits, allows, &a, ret_why) : compared(bits, allows, &a, ret_why);
	rule.args[0] = a;
	if (fate == OCI_KEEP && filter_rule_check(&rule, NULL) < 0) {
		*ret_why = "the call has no such argument, or it is a pointer, of which a filter sees only whether it is 0";
		return allows ? OCI_DROP : OCI_ALWAYS;
	}
	*ret = a;
	return fate;
}
