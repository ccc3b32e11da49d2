/*
 * meaning.c - two decision lists of one system call, compared by what they answer
 *
 * Runs as: the caller
 * Trusts: policies that policy_load() returned, however many rules they have
 * Never: takes two texts for different things, or for the same, without asking both
 *
 * What a list answers can change only where a condition does, so a few values
 * of each argument stand for all: those around every number that a rule of
 * either policy compares with, and for tests of bits each choice of the tests
 * that hold. Every combination of them is asked of both lists.
 */
#include <stdlib.h>
#include <string.h>

#include "workbench/internal.h"

#define VALUES_MAX 4096		/* of one argument */
#define BITS_MAX 10		/* tests of bits of which all choices are tried; of more, all pairs */

struct values {
	uint64_t v[VALUES_MAX];
	size_t n;
	bool full;		/* some were left out */
};

/* The rules of one call in one policy, up to the first that decides about any arguments. */
struct list {
	const struct policy *p;
	const struct policy_rule *rules[POLICY_CALLS_MAX];
	size_t n;
};

struct compare {
	int nr;
	struct list a, b;
	struct values values[6];
	struct meaning *ret;
};

static void read_list(struct list *list, const struct policy *p, const char *name)
{
	list->p = p;
	for (size_t i = 0; i < p->syscalls.n_rules && list->n < POLICY_CALLS_MAX; i++) {
		if (strcmp(p->syscalls.rules[i].name, name) != 0)
			continue;
		list->rules[list->n++] = &p->syscalls.rules[i];
		if (p->syscalls.rules[i].n_args == 0)
			return;
	}
}

static const struct policy_rule *decide(const struct list *list, int nr, const uint64_t args[6])
{
	for (size_t i = 0; i < list->n; i++)
		if (filter_matches(list->rules[i], nr, args))
			return list->rules[i];
	return NULL;
}

/* ---- which values ------------------------------------------------------- */

static void add_value(struct values *v, uint64_t value)
{
	if (v->n < VALUES_MAX)
		v->v[v->n++] = value;
	else
		v->full = true;
}

static int by_value(const void *x, const void *y)
{
	uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;

	return a < b ? -1 : a > b;
}

static void sort_values(struct values *v, unsigned int bits)
{
	size_t kept = 0;

	for (size_t i = 0; i < v->n && bits == 32; i++)
		v->v[i] = (uint32_t)v->v[i];
	qsort(v->v, v->n, sizeof(v->v[0]), by_value);
	for (size_t i = 0; i < v->n; i++)
		if (i == 0 || v->v[i] != v->v[kept - 1])
			v->v[kept++] = v->v[i];
	v->n = kept;
}

/* `value`, changed so that exactly the chosen tests hold, if that can be. */
static uint64_t choose(const struct policy_arg *const *tests, size_t n, uint64_t chosen, uint64_t value)
{
	uint64_t fixed = 0, free_bits;

	for (size_t i = 0; i < n; i++)
		if (chosen >> i & 1) {
			value = (value & ~tests[i]->mask) | tests[i]->value;
			fixed |= tests[i]->mask;
		}
	for (size_t i = 0; i < n; i++) {
		if ((chosen >> i & 1) || (value & tests[i]->mask) != tests[i]->value)
			continue;
		free_bits = tests[i]->mask & ~fixed;
		value ^= free_bits & -free_bits;
	}
	return value;
}

static void add_bits(struct values *v, const struct policy_arg *const *tests, size_t n, uint64_t near)
{
	if (n <= BITS_MAX) {
		for (uint64_t chosen = 0; chosen < 1ull << n; chosen++)
			add_value(v, choose(tests, n, chosen, near));
		return;
	}
	/* Not every choice: what is said of this call is not certain. */
	v->full = true;
	for (size_t i = 0; i < n && i < 64; i++)
		for (size_t k = 0; k <= i; k++)
			add_value(v, choose(tests, n < 64 ? n : 64, 1ull << i | 1ull << k, near));
}

/* Where an argument is also compared as a number, each choice is wanted on both sides of each number. */
static void add_mixed(struct values *v, const struct policy_arg *const *tests, size_t n, unsigned int bits)
{
	const size_t numbers = v->n;

	for (size_t i = 0; i < numbers && !v->full; i++) {
		const uint64_t value = v->v[i];

		add_bits(v, tests, n, value);
		for (unsigned int p = 1; p < bits && (value >> p || p < 2); p++)
			add_bits(v, tests, n, ((value >> p) + 1) << p);
	}
}

static bool same_test(const struct policy_arg *x, const struct policy_arg *y)
{
	return x->mask == y->mask && x->value == y->value;
}

/* Values of one argument, from both lists. */
static void find_values(struct compare *c, unsigned int index)
{
	const struct policy_arg *tests[POLICY_CALLS_MAX];
	struct values *v = &c->values[index];
	size_t n = 0, k;

	for (size_t i = 0; i < c->a.n + c->b.n; i++) {
		const struct policy_rule *rule = i < c->a.n ? c->a.rules[i] : c->b.rules[i - c->a.n];

		for (size_t j = 0; j < rule->n_args; j++) {
			const struct policy_arg *arg = &rule->args[j];

			if (arg->index != index)
				continue;
			if (arg->op != POLICY_MASKED_EQ) {
				add_value(v, arg->value - 1);
				add_value(v, arg->value);
				add_value(v, arg->value + 1);
				continue;
			}
			for (k = 0; k < n && !same_test(tests[k], arg); k++)
				continue;
			if (k == n && n < POLICY_CALLS_MAX)
				tests[n++] = arg;
		}
	}
	if (n > 0)
		add_mixed(v, tests, n, filter_arg_bits(c->nr, index));
	if (n > 0)
		add_bits(v, tests, n, 0);
	add_value(v, 0);
	if (v->n > 1)
		add_value(v, UINT64_MAX);
	sort_values(v, filter_arg_bits(c->nr, index));
}

/* ---- asking both --------------------------------------------------------- */

static bool same_answer(const struct filter_verdict *x, const struct filter_verdict *y)
{
	return x->action == y->action && x->error == y->error;
}

/* One place where the answers differ, unless the same two rules have already been seen to. */
static void note(struct meaning *ret, const struct filter_verdict *a, const struct filter_verdict *b, const uint64_t args[6])
{
	struct meaning_change *change;

	for (size_t i = 0; i < ret->n; i++)
		if (ret->changes[i].a.rule == a->rule && ret->changes[i].b.rule == b->rule)
			return;
	if (ret->n == MEANING_CHANGES_MAX)
		return;
	change = &ret->changes[ret->n++];
	change->a = *a;
	change->b = *b;
	memcpy(change->args, args, sizeof(change->args));
}

static void ask(struct compare *c, const uint64_t args[6])
{
	struct filter_verdict a, b;

	filter_answer(c->a.p, decide(&c->a, c->nr, args), c->nr, &a);
	filter_answer(c->b.p, decide(&c->b, c->nr, args), c->nr, &b);
	c->ret->asked++;
	c->ret->allowed_a += a.action == POLICY_ALLOW;
	c->ret->allowed_b += b.action == POLICY_ALLOW;
	if (!same_answer(&a, &b))
		note(c->ret, &a, &b, args);
}

static void ask_all(struct compare *c)
{
	size_t at[6] = { 0 }, i = 0;
	uint64_t args[6];

	while (i < 6) {
		for (i = 0; i < 6; i++)
			args[i] = c->values[i].v[at[i]];
		ask(c, args);
		for (i = 0; i < 6 && ++at[i] == c->values[i].n; i++)
			at[i] = 0;
	}
}

/* More combinations than can be asked: each argument's values by themselves, the others 0. */
static void ask_singly(struct compare *c)
{
	for (unsigned int i = 0; i < 6; i++)
		for (size_t k = 0; k < c->values[i].n; k++) {
			uint64_t args[6] = { 0 };

			args[i] = c->values[i].v[k];
			ask(c, args);
		}
}

int meaning_compare(const struct policy *a, const struct policy *b, int nr, struct meaning *ret, struct sj_err *err)
{
	struct compare *c = calloc(1, sizeof(*c));
	size_t points = 1;
	char name[32];

	if (!c)
		return err_oom(err);
	memset(ret, 0, sizeof(*ret));
	c->nr = nr;
	c->ret = ret;
	ret->whole = true;
	filter_call_name(nr, name, sizeof(name));
	read_list(&c->a, a, name);
	read_list(&c->b, b, name);
	for (unsigned int i = 0; i < 6; i++) {
		find_values(c, i);
		ret->whole = ret->whole && !c->values[i].full;
		points = points > MEANING_POINTS_MAX ? points : points * c->values[i].n;
	}
	if (points <= MEANING_POINTS_MAX) {
		ask_all(c);
	} else {
		ret->whole = false;
		ask_singly(c);
	}
	free(c);
	return 0;
}
