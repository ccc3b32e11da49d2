/*
 * oci_export.c - the system calls of a policy as a profile for container runtimes
 *
 * Runs as: the caller
 * Trusts: nothing; rules may come from a user's policy file
 * Never: writes a profile that allows what the policy refuses
 */
#include <stdlib.h>
#include <string.h>

#include "workbench/oci.h"

/*
 * A policy's rules have an order, a profile's have none. So each rule is written
 * as the calls for which it decides: what it matches, less what rules before it
 * with another answer match. What overlaps then answers alike, and any order gives
 * the same. Parts are told by bits (SCMP_CMP_MASKED_EQ), as runtimes compare 64
 * bits where the kernel often reads 32, and since an entry can hold one condition
 * on an argument only.
 */

#define TEXT_MAX (4u << 20)
#define PARTS_MAX 1024		/* entries that one call may take */

#ifdef __x86_64__
#define ARCH "SCMP_ARCH_X86_64"
#else
#define ARCH "SCMP_ARCH_AARCH64"
#endif

struct part {
	struct cube cube;
	uint32_t answer;
};

/* An answer in one number: 0 allowed, 1 to 4095 the errno, KILL. */
#define KILL UINT32_MAX

struct export {
	const struct policy *p;
	const struct oci_notes *notes;
	struct sj_err *err;
	struct buf b;
	uint32_t whole[FILTER_CALLS]; /* of calls whose arguments do not matter */
	bool in_parts[FILTER_CALLS];
	size_t n_entries;
	struct oci_names coarse;
};

static uint32_t answer_of(const struct policy *p, const struct policy_rule *rule, int nr)
{
	if (!rule)
		return nr > FILTER_NEWEST ? ENOSYS : (uint32_t)p->syscalls.default_error;
	switch (rule->action) {
	case POLICY_ALLOW:
		return 0;
	case POLICY_DENY:
		return (uint32_t)rule->error;
	case POLICY_ENOSYS:
		return ENOSYS;
	case POLICY_KILL:
		break;
	}
	return KILL;
}

/* ---- entries --------------------------------------------------------------------- */

static int put_answer(struct export *x, uint32_t answer)
{
	if (answer == 0)
		return buf_printf(&x->b, ", \"action\": \"SCMP_ACT_ALLOW\"");
	if (answer == KILL)
		return buf_printf(&x->b, ", \"action\": \"SCMP_ACT_KILL_PROCESS\"");
	return buf_printf(&x->b, ", \"action\": \"SCMP_ACT_ERRNO\", \"errnoRet\": %u", answer);
}

static int put_arg(struct export *x, int nr, const struct cube *c, unsigned int i, const char *comma)
{
	int r = buf_printf(&x->b, "%s{ \"index\": %u, ", comma, i);

	if (r < 0)
		return r;
	if (filter_arg_is_pointer(nr, i))
		return buf_printf(&x->b, "\"value\": 0, \"op\": \"SCMP_CMP_%s\" }", c->value[i] ? "NE" : "EQ");
	if (c->mask[i] == UINT64_MAX)
		return buf_printf(&x->b, "\"value\": %llu, \"op\": \"SCMP_CMP_EQ\" }", (unsigned long long)c->value[i]);
	return buf_printf(&x->b, "\"value\": %llu, \"valueTwo\": %llu, \"op\": \"SCMP_CMP_MASKED_EQ\" }",
			  (unsigned long long)c->mask[i], (unsigned long long)c->value[i]);
}

static int put_cube(struct export *x, int nr, const struct cube *c)
{
	const char *comma = "";
	int r = buf_printf(&x->b, ", \"args\": [");

	for (unsigned int i = 0; i < POLICY_RULE_ARGS_MAX && r == 0; i++) {
		if (c->mask[i] == 0)
			continue;
		r = put_arg(x, nr, c, i, comma);
		comma = ", ";
	}
	return r < 0 ? r : buf_append(&x->b, "]", 1);
}

static int put_part(struct export *x, int nr, const struct cube *c, uint32_t answer)
{
	int r = buf_printf(&x->b, "%s\n    { \"names\": [\"%s\"]", x->n_entries++ ? "," : "", filter_call_at(nr));

	if (r == 0)
		r = put_answer(x, answer);
	if (r == 0)
		r = put_cube(x, nr, c);
	return r < 0 ? r : buf_append(&x->b, " }", 2);
}

/* ---- one call ---------------------------------------------------------------------- */

struct parts {
	struct part *list;
	size_t n;
};

static bool is_within(const struct cube *a, const struct cube *b)
{
	for (size_t i = 0; i < POLICY_RULE_ARGS_MAX; i++)
		if ((b->mask[i] & ~a->mask[i]) || ((a->value[i] ^ b->value[i]) & b->mask[i]))
			return false;
	return true;
}

/* A part that lies in another one with its answer says nothing. */
static int add_part(struct parts *parts, const struct cube *c, uint32_t answer)
{
	size_t kept = 0;

	for (size_t i = 0; i < parts->n; i++)
		if (parts->list[i].answer == answer && is_within(c, &parts->list[i].cube))
			return 0;
	for (size_t i = 0; i < parts->n; i++)
		if (parts->list[i].answer != answer || !is_within(&parts->list[i].cube, c))
			parts->list[kept++] = parts->list[i];
	parts->n = kept;
	if (parts->n == PARTS_MAX)
		return -E2BIG;
	parts->list[parts->n++] = (struct part){ *c, answer };
	return 0;
}

static int add_parts(struct parts *parts, const struct region *r, uint32_t answer)
{
	int e = 0;

	for (size_t i = 0; i < r->n && e == 0; i++)
		e = add_part(parts, &r->list[i], answer);
	return e;
}

/* The rules of one call, in order; `base` stands for what is left when none of them matches. */
struct chain {
	const struct policy_rule *rules[POLICY_CALLS_MAX];
	size_t n;
};

static void chain_of(const struct policy *p, int nr, struct chain *ret)
{
	ret->n = 0;
	for (size_t i = 0; i < p->syscalls.n_rules; i++)
		if (filter_call_find(p->syscalls.rules[i].name) == nr)
			ret->rules[ret->n++] = &p->syscalls.rules[i];
}

/* What matches rule `at` (its number past the last: anything), and no rule before it that answers otherwise. */
static int share_of(const struct export *x, int nr, const struct chain *c, size_t at, uint32_t answer, struct region *ret)
{
	const struct policy_rule *rule = at < c->n ? c->rules[at] : NULL;
	int r = region_of_args(nr, rule ? rule->args : NULL, rule ? rule->n_args : 0, ret);

	for (size_t i = 0; i < at && r == 0 && ret->n > 0; i++) {
		_cleanup_region_ struct region other = { 0 }, less = { 0 };

		if (answer_of(x->p, c->rules[i], nr) == answer)
			continue;
		r = region_of_args(nr, c->rules[i]->args, c->rules[i]->n_args, &other);
		if (r == 0)
			r = region_without(ret, &other, &less);
		if (r < 0)
			break;
		region_free(ret);
		*ret = less;
		less = (struct region){ 0 };
	}
	return r;
}

static int split_call(const struct export *x, int nr, struct parts *parts)
{
	struct chain c;
	int r = 0;

	chain_of(x->p, nr, &c);
	for (size_t i = 0; i <= c.n && r == 0; i++) {
		uint32_t answer = answer_of(x->p, i < c.n ? c.rules[i] : NULL, nr);
		_cleanup_region_ struct region share = { 0 };

		if (answer == (uint32_t)x->p->syscalls.default_error)
			continue;
		r = share_of(x, nr, &c, i, answer, &share);
		if (r == 0)
			r = add_parts(parts, &share, answer);
	}
	return r;
}

/* Too many parts for one call: it is refused whatever its arguments, as hard as any of its rules does. */
static uint32_t strictest(const struct policy *p, int nr)
{
	uint32_t answer = (uint32_t)p->syscalls.default_error;

	for (size_t i = 0; i < p->syscalls.n_rules; i++)
		if (filter_call_find(p->syscalls.rules[i].name) == nr && p->syscalls.rules[i].action == POLICY_KILL)
			answer = KILL;
	return answer;
}

static bool is_any(const struct cube *c)
{
	for (size_t i = 0; i < POLICY_RULE_ARGS_MAX; i++)
		if (c->mask[i])
			return false;
	return true;
}

/* A part that takes every argument: then what else there is answers alike. */
static const struct part *whole_part(const struct parts *parts)
{
	for (size_t i = 0; i < parts->n; i++)
		if (is_any(&parts->list[i].cube))
			return &parts->list[i];
	return NULL;
}

static int export_call(struct export *x, int nr, struct parts *parts)
{
	const struct part *whole;
	int r;

	parts->n = 0;
	r = split_call(x, nr, parts);
	if (r == -E2BIG) {
		oci_names_add(&x->coarse, filter_call_at(nr));
		x->whole[nr] = strictest(x->p, nr);
		return 0;
	}
	if (r < 0)
		return r;
	whole = whole_part(parts);
	x->whole[nr] = whole ? whole->answer : (uint32_t)x->p->syscalls.default_error;
	x->in_parts[nr] = parts->n > 0 && !whole;
	for (size_t i = 0; i < parts->n && x->in_parts[nr] && r == 0; i++)
		r = put_part(x, nr, &parts->list[i].cube, parts->list[i].answer);
	return r;
}

/* ---- the whole ------------------------------------------------------------------------ */

/* One entry for all calls that answer alike whatever their arguments. */
static int put_names(struct export *x, uint32_t answer)
{
	size_t n = 0;
	int r = buf_printf(&x->b, "%s\n    { \"names\": [", x->n_entries++ ? "," : "");

	for (int nr = 0; nr < FILTER_CALLS && r == 0; nr++)
		if (filter_call_at(nr) && !x->in_parts[nr] && x->whole[nr] == answer) {
			r = buf_printf(&x->b, "%s%s\"%s\"", n ? "," : "", n % 8 ? " " : "\n        ", filter_call_at(nr));
			n++;
		}
	if (r == 0)
		r = buf_printf(&x->b, "]");
	if (r == 0)
		r = put_answer(x, answer);
	return r < 0 ? r : buf_append(&x->b, " }", 2);
}

static int put_all_names(struct export *x)
{
	bool done[FILTER_CALLS] = { false };
	int r = 0;

	for (int nr = 0; nr < FILTER_CALLS && r == 0; nr++) {
		if (!filter_call_at(nr) || done[nr] || x->in_parts[nr] || x->whole[nr] == (uint32_t)x->p->syscalls.default_error)
			continue;
		r = put_names(x, x->whole[nr]);
		for (int i = nr; i < FILTER_CALLS; i++)
			done[i] |= x->whole[i] == x->whole[nr] && !x->in_parts[i];
	}
	return r;
}

static int put_head(struct export *x, enum sj_policy_profile form)
{
	int r = buf_printf(&x->b, "{\n  \"defaultAction\": \"SCMP_ACT_ERRNO\",\n  \"defaultErrnoRet\": %d,\n",
			   x->p->syscalls.default_error);

	if (r < 0)
		return r;
	if (form == SJ_PROFILE_DOCKER)
		r = buf_printf(&x->b, "  \"archMap\": [{ \"architecture\": \"" ARCH "\", \"subArchitectures\": [] }],\n");
	else
		r = buf_printf(&x->b, "  \"architectures\": [\"" ARCH "\"],\n");
	return r < 0 ? r : buf_printf(&x->b, "  \"syscalls\": [");
}

static int export_all(struct export *x, enum sj_policy_profile form)
{
	_cleanup_free_ struct part *list = calloc(PARTS_MAX, sizeof(*list));
	struct parts parts = { .list = list };
	int r = list ? put_head(x, form) : -ENOMEM;

	for (int nr = 0; nr < FILTER_CALLS && r == 0; nr++)
		if (filter_call_at(nr))
			r = export_call(x, nr, &parts);
	if (r == 0)
		r = put_all_names(x);
	return r < 0 ? r : buf_printf(&x->b, "\n  ]\n}\n");
}

int workbench_export(const struct policy *p, enum sj_policy_profile form, sj_policy_note_fn *fn, void *arg, char **ret,
		     struct sj_err *err)
{
	const struct oci_notes notes = { .fn = fn, .arg = arg };
	_cleanup_free_ struct export *x = calloc(1, sizeof(*x));
	int r;

	if (!x)
		return err_oom(err);
	x->p = p;
	x->notes = &notes;
	x->b = BUF_INIT(TEXT_MAX);
	r = export_all(x, form);
	if (r == -ENOBUFS) {
		r = err_set(err, E2BIG, SJ_EXIT_USAGE, "E_OCI_SIZE", "the policy makes a profile of more than %u bytes", TEXT_MAX);
		err_why(err, "rules with conditions are written as parts that do not overlap");
		err_fix(err, "use fewer rules that look at arguments");
	} else if (r < 0) {
		r = err_oom(err);
	} else {
		oci_names_note(&notes, &x->coarse, "oci-coarse",
			       "a profile cannot express these rules in reasonable length; the calls are refused whatever their arguments");
		*ret = steal_ptr(x->b.data);
	}
	buf_free(&x->b);
	return r;
}
