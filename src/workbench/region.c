/*
 * region.c - sets of calls by the bits of their arguments: common parts and differences
 *
 * Runs as: the caller
 * Trusts: nothing; rules may come from a user's policy file
 * Never: grows past REGION_MAX pieces
 */
#include <stdlib.h>
#include <string.h>

#include "workbench/oci.h"

#define FIRST_SIZE 8

void region_free(struct region *r)
{
	free(r->list);
	*r = (struct region){ 0 };
}

int region_add(struct region *r, const struct cube *c)
{
	struct cube *more;

	if (r->n == REGION_MAX)
		return -E2BIG;
	if (r->n == r->size) {
		r->size = r->size ? 2 * r->size : FIRST_SIZE;
		more = reallocarray(r->list, r->size, sizeof(*more));
		if (!more)
			return -ENOMEM;
		r->list = more;
	}
	r->list[r->n++] = *c;
	return 0;
}

static bool cube_common(const struct cube *a, const struct cube *b, struct cube *ret)
{
	for (size_t i = 0; i < POLICY_RULE_ARGS_MAX; i++) {
		if ((a->value[i] ^ b->value[i]) & a->mask[i] & b->mask[i])
			return false;
		ret->mask[i] = a->mask[i] | b->mask[i];
		ret->value[i] = a->value[i] | b->value[i];
	}
	return true;
}

int region_common(const struct region *a, const struct region *b, struct region *ret)
{
	for (size_t i = 0; i < a->n; i++)
		for (size_t k = 0; k < b->n; k++) {
			struct cube c;
			int r = cube_common(&a->list[i], &b->list[k], &c) ? region_add(ret, &c) : 0;

			if (r < 0)
				return r;
		}
	return 0;
}

/*
 * What of a is not in b: for each bit that b asks for and a leaves open, the part of a that has it otherwise, while
 * all bits before are as in b. From the highest bit down, so that what is left of a range stays a range.
 */
static int cube_without(struct cube a, const struct cube *b, struct region *ret)
{
	struct cube unused;

	if (!cube_common(&a, b, &unused))
		return region_add(ret, &a);
	for (size_t i = 0; i < POLICY_RULE_ARGS_MAX; i++)
		for (uint64_t bit = 1ull << 63; bit; bit >>= 1) {
			int r;

			if (!(b->mask[i] & ~a.mask[i] & bit))
				continue;
			a.mask[i] |= bit;
			a.value[i] |= ~b->value[i] & bit;
			r = region_add(ret, &a);
			if (r < 0)
				return r;
			a.value[i] ^= bit;
		}
	return 0;
}

static int region_cut(struct region *r, const struct cube *b)
{
	_cleanup_region_ struct region left = { 0 };

	for (size_t i = 0; i < r->n; i++) {
		int e = cube_without(r->list[i], b, &left);

		if (e < 0)
			return e;
	}
	region_free(r);
	*r = left;
	left = (struct region){ 0 };
	return 0;
}

int region_without(const struct region *a, const struct region *b, struct region *ret)
{
	int r = 0;

	for (size_t i = 0; i < a->n && r == 0; i++)
		r = region_add(ret, &a->list[i]);
	for (size_t i = 0; i < b->n && r == 0; i++)
		r = region_cut(ret, &b->list[i]);
	return r;
}

/* ---- conditions ------------------------------------------------------------ */

static int add_bits(struct region *ret, unsigned int index, uint64_t mask, uint64_t value)
{
	struct cube c = { 0 };

	c.mask[index] = mask;
	c.value[index] = value & mask;
	return region_add(ret, &c);
}

/* All numbers from low to high, in blocks of a power of two that begin at a multiple of their size. */
static int add_range(struct region *ret, unsigned int index, uint64_t bits, uint64_t low, uint64_t high)
{
	while (true) {
		uint64_t block = 0; /* its size less one */
		int r;

		while (block < bits && !(low & (2 * block + 1)) && (low | (2 * block + 1)) <= high)
			block = 2 * block + 1;
		r = add_bits(ret, index, bits & ~block, low);
		if (r < 0 || (low | block) == high)
			return r;
		low = (low | block) + 1;
	}
}

static int add_condition(struct region *ret, const struct policy_arg *a, uint64_t bits)
{
	uint64_t value = a->value & bits;
	int r = 0;

	switch (a->op) {
	case POLICY_EQ:
		return add_bits(ret, a->index, bits, value);
	case POLICY_MASKED_EQ:
		return add_bits(ret, a->index, a->mask & bits, value);
	case POLICY_LT:
		return value == 0 ? 0 : add_range(ret, a->index, bits, 0, value - 1);
	case POLICY_LE:
		return add_range(ret, a->index, bits, 0, value);
	case POLICY_GT:
		return value == bits ? 0 : add_range(ret, a->index, bits, value + 1, bits);
	case POLICY_GE:
		return add_range(ret, a->index, bits, value, bits);
	case POLICY_NE:
		if (value > 0)
			r = add_range(ret, a->index, bits, 0, value - 1);
		return r < 0 || value == bits ? r : add_range(ret, a->index, bits, value + 1, bits);
	}
	return 0;
}

int region_of_args(int nr, const struct policy_arg *args, size_t n, struct region *ret)
{
	_cleanup_region_ struct region all = { 0 };
	struct cube any = { 0 };
	int r = region_add(&all, &any);

	for (size_t i = 0; i < n && r == 0; i++) {
		_cleanup_region_ struct region one = { 0 }, common = { 0 };
		bool pointer = filter_arg_is_pointer(nr, args[i].index);

		r = add_condition(&one, &args[i], pointer ? 1 : filter_arg_mask(nr, args[i].index));
		if (r == 0)
			r = region_common(&all, &one, &common);
		if (r < 0)
			return r;
		region_free(&all);
		all = common;
		common = (struct region){ 0 };
	}
	if (r == 0) {
		*ret = all;
		all = (struct region){ 0 };
	}
	return r;
}
