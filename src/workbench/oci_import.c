/*
 * oci_import.c - a container's system call profile as a policy
 *
 * Runs as: the caller
 * Trusts: nothing of the profile
 * Never: returns a policy that does not load, or one that allows more than the profile and the floor
 */
#include <stdlib.h>
#include <string.h>

#include "workbench/oci.h"

#define LINE_MAX_ 100		/* of the lists in the text, in characters */
#define TEXT_MAX (1u << 20)

struct import {
	const struct oci_set *set;
	const struct oci_notes *notes;
	struct oci_fixed fixed;
	struct buf allow, rules;
	size_t n_allow, n_rules, allow_column;
	struct oci_names never, floor, mixed;
	struct sj_err *err;
};

/* ---- the text ------------------------------------------------------------------- */

static int put_allow(struct import *im, int nr)
{
	const char *name = filter_call_at(nr);
	bool wrap = im->n_allow == 0 || im->allow_column + strlen(name) + 4 > LINE_MAX_;
	int r = buf_printf(&im->allow, "%s%s\"%s\"", im->n_allow ? "," : "", wrap ? "\n      " : " ", name);

	im->allow_column = (wrap ? 6 : im->allow_column) + strlen(name) + 4;
	im->n_allow++;
	return r;
}

static int put_number(struct buf *b, const char *key, uint64_t value)
{
	/* jansson, which reads policies, has no unsigned numbers. */
	return buf_printf(b, value > INT64_MAX ? ", \"%s\": \"%#llx\"" : ", \"%s\": %llu", key, (unsigned long long)value);
}

static int put_args(struct buf *b, const struct policy_arg *args, size_t n)
{
	int r = n > 0 ? buf_printf(b, ", \"args\": [") : 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		r = buf_printf(b, "%s{ \"index\": %u, \"op\": \"%s\"", i ? ", " : "", args[i].index, policy_cmp_name(args[i].op));
		if (r == 0 && args[i].op == POLICY_MASKED_EQ)
			r = put_number(b, "mask", args[i].mask);
		if (r == 0)
			r = put_number(b, "value", args[i].value);
		if (r == 0)
			r = buf_append(b, " }", 2);
	}
	return r < 0 || n == 0 ? r : buf_append(b, "]", 1);
}

static int put_rule(struct import *im, int nr, const struct policy_arg *args, size_t n, const struct oci_answer *answer)
{
	enum policy_action action = answer->error == ENOSYS ? POLICY_ENOSYS : answer->action;
	struct buf *b = &im->rules;
	int r = buf_printf(b, "%s\n      { \"name\": \"%s\"", im->n_rules ? "," : "", filter_call_at(nr));

	im->n_rules++;
	if (r == 0)
		r = put_args(b, args, n);
	if (r == 0)
		r = buf_printf(b, ", \"action\": \"%s\"", policy_action_name(action));
	if (r == 0 && action == POLICY_DENY)
		r = buf_printf(b, ", \"errno\": \"%s\"", policy_errno_name(answer->error));
	return r < 0 ? r : buf_append(b, " }", 2);
}

/* ---- one call --------------------------------------------------------------------- */

struct call {
	int nr;
	struct oci_answer base;
	size_t first, n;	/* its rules: of these many, from that one on (others lie between) */
	bool allows, refuses;	/* some rule does */
};

static struct call call_of(const struct import *im, int nr)
{
	const struct oci_set *s = im->set;
	struct call c = { .nr = nr, .base = s->has_plain[nr] ? s->plain[nr] : s->base };

	for (size_t i = 0; i < s->n_rules; i++) {
		if (s->rules[i].nr != nr)
			continue;
		c.first = c.n ? c.first : i;
		c.n++;
		if (s->rules[i].answer.action == POLICY_ALLOW)
			c.allows = true;
		else
			c.refuses = true;
	}
	return c;
}

/* No value meets both. False also where that is not easily seen. */
static bool apart(const struct policy_arg *a, const struct policy_arg *b)
{
	bool both_masks = a->op == POLICY_MASKED_EQ && b->op == POLICY_MASKED_EQ;

	if (a->index != b->index)
		return false;
	if (both_masks)
		return (a->value ^ b->value) & a->mask & b->mask;
	if (b->op == POLICY_EQ && a->op != POLICY_EQ)
		return apart(b, a);
	if (a->op != POLICY_EQ)
		return false;
	switch (b->op) {
	case POLICY_EQ:
		return a->value != b->value;
	case POLICY_NE:
		return a->value == b->value;
	case POLICY_LT:
		return a->value >= b->value;
	case POLICY_LE:
		return a->value > b->value;
	case POLICY_GT:
		return a->value <= b->value;
	case POLICY_GE:
		return a->value < b->value;
	case POLICY_MASKED_EQ:
		return (a->value & b->mask) != b->value;
	}
	return false;
}

static bool may_meet(const struct oci_rule *a, const struct oci_rule *b)
{
	for (size_t i = 0; i < a->n_args; i++)
		for (size_t k = 0; k < b->n_args; k++)
			if (apart(&a->args[i], &b->args[k]))
				return false;
	return true;
}

/* Runtimes have no order: of two answers to one call, which one holds is theirs to choose. */
static void look_for_overlap(struct import *im, const struct call *c)
{
	const struct oci_set *s = im->set;

	for (size_t i = c->first; i < s->n_rules; i++) {
		const struct oci_rule *a = &s->rules[i];

		if (a->nr != c->nr)
			continue;
		if (s->has_plain[c->nr] && !oci_same(&a->answer, &c->base)) {
			oci_names_add(&im->mixed, filter_call_at(c->nr));
			return;
		}
		for (size_t k = i + 1; k < s->n_rules; k++)
			if (s->rules[k].nr == c->nr && !oci_same(&a->answer, &s->rules[k].answer) && may_meet(a, &s->rules[k])) {
				oci_names_add(&im->mixed, filter_call_at(c->nr));
				return;
			}
	}
}

/* In runtimes an entry without conditions beats those with some; here it does unless one of them is stricter. */
static bool matters(const struct import *im, const struct call *c, const struct oci_rule *rule)
{
	if (im->set->has_plain[c->nr])
		return oci_strictness(&rule->answer) > oci_strictness(&c->base);
	return !oci_same(&rule->answer, &c->base) || (c->base.action != POLICY_ALLOW && c->allows);
}

static int put_conditions(struct import *im, const struct call *c)
{
	const struct oci_set *s = im->set;

	for (size_t i = c->first, n = 0; i < s->n_rules && n < c->n; i++) {
		const struct oci_rule *rule = &s->rules[i];
		int r;

		if (rule->nr != c->nr)
			continue;
		n++;
		r = matters(im, c, rule) ? put_rule(im, c->nr, rule->args, rule->n_args, &rule->answer) : 0;
		if (r < 0)
			return r;
	}
	return 0;
}

static int put_base(struct import *im, const struct call *c)
{
	const struct oci_answer *base = &c->base;

	/* The rules for networks come before "allow" and the default: only a rule says what the profile says. */
	if (im->fixed.calls[c->nr].network)
		return put_rule(im, c->nr, NULL, 0, base);
	if (base->action == POLICY_ALLOW)
		return put_allow(im, c->nr);
	if (base->action == POLICY_DENY && oci_same(base, &im->set->base))
		return 0;
	return put_rule(im, c->nr, NULL, 0, base);
}

static int put_call(struct import *im, int nr)
{
	struct call c = call_of(im, nr);
	const char *name = filter_call_at(nr);
	bool whole = c.base.action == POLICY_ALLOW && !c.refuses;
	int r;

	if (im->fixed.calls[nr].never) {
		if (c.base.action == POLICY_ALLOW || c.allows)
			oci_names_add(&im->never, name);
		return 0;
	}
	if (!whole && (im->fixed.calls[nr].floor || im->fixed.calls[nr].floor_part))
		oci_names_add(&im->floor, name);
	if (im->fixed.calls[nr].floor)
		return 0;
	look_for_overlap(im, &c);
	/* All that is not refused by smoljail itself: then one word says it, and says it better. */
	if (c.allows && !c.refuses && oci_fixed_and_rules_decide(&im->fixed, im->set, nr))
		c = (struct call){ .nr = nr, .base = { POLICY_ALLOW, 0 } };
	r = put_conditions(im, &c);
	return r < 0 ? r : put_base(im, &c);
}

/* Rules that never get to decide would only hide what the others say together. */
static void drop_idle(struct import *im, struct oci_set *set)
{
	size_t kept = 0;

	for (size_t i = 0; i < set->n_rules; i++) {
		const struct oci_rule *rule = &set->rules[i];

		if (!oci_fixed_decides(&im->fixed, rule, false)) {
			set->rules[kept++] = *rule;
			continue;
		}
		if (rule->answer.action != POLICY_ALLOW && !oci_fixed_decides(&im->fixed, rule, true))
			oci_names_add(&im->floor, filter_call_at(rule->nr));
	}
	set->n_rules = kept;
}

/* ---- the whole -------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
	return strcmp(filter_call_at(*(const int *)a), filter_call_at(*(const int *)b));
}

static int put_calls(struct import *im)
{
	int numbers[FILTER_CALLS] = { 0 };
	size_t n = 0;

	for (int nr = 0; nr < FILTER_CALLS; nr++)
		if (filter_call_at(nr))
			numbers[n++] = nr;
	qsort(numbers, n, sizeof(*numbers), by_name);
	for (size_t i = 0; i < n; i++) {
		int r = put_call(im, numbers[i]);

		if (r < 0)
			return r;
	}
	return 0;
}

static char *quoted(const char *text)
{
	_cleanup_json_ json_t *s = json_string(text);

	return s ? json_dumps(s, JSON_ENCODE_ANY) : NULL;
}

static int put_head(struct buf *b, const struct sj_policy_import *from, const struct oci_here *here)
{
	_cleanup_free_ char *name = from->name ? quoted(from->name) : NULL;
	int r = buf_printf(b, "{\n  \"comment\": [\n    \"Made from a seccomp profile of containers by smoljail policy import.\",\n"
			   "    \"It counts on %s, architecture %s, kernel %u.%u.\",\n"
			   "    \"The profile says nothing of files, networks and limits: these are smoljail's defaults.\"\n  ],\n",
			   here->caps ? "the capabilities given" : "no capabilities", here->arch, here->kernel[0], here->kernel[1]);

	if (r == 0 && from->name)
		r = name ? buf_printf(b, "  \"name\": %s,\n", name) : -ENOMEM;
	return r;
}

static int join(struct import *im, const struct sj_policy_import *from, const struct oci_here *here, char **ret)
{
	_cleanup_buf_ struct buf b = BUF_INIT(TEXT_MAX);
	const struct oci_answer *base = &im->set->base;
	int r = put_head(&b, from, here);

	if (r == 0)
		r = buf_printf(&b, "  \"description\": \"the system calls of a container's profile\",\n  \"syscalls\": {\n"
			       "    \"default\": \"%s\",\n    \"allow\": [%.*s%s],\n    \"rules\": [%.*s%s]\n  }\n}\n",
			       policy_errno_name(base->action == POLICY_DENY ? base->error : EPERM),
			       (int)im->allow.len, im->allow.data ? im->allow.data : "", im->n_allow ? "\n    " : "",
			       (int)im->rules.len, im->rules.data ? im->rules.data : "", im->n_rules ? "\n    " : "");
	if (r == 0)
		*ret = steal_ptr(b.data);
	return r;
}

/* What was written must load as any policy does. */
static int try_out(const char *text, const char *name, struct sj_err *err)
{
	_cleanup_policy_ struct policy *p = NULL;
	_cleanup_filter_ struct filter_prog prog = { 0 };
	_cleanup_json_ json_t *doc = NULL;
	int r = base_json_parse(text, strlen(text), name, &doc, err);

	if (r == 0)
		r = policy_load_doc(doc, NULL, name, NULL, 0, &p, err);
	return r < 0 ? r : filter_compile(p, FILTER_NOTIFY_NONE, &prog, err);
}

static void tell(const struct import *im)
{
	const char *path = im->notes->wrapped ? "linux.seccomp.defaultAction" : "defaultAction";

	oci_names_note(im->notes, &im->never, "oci-never", "the profile allows calls that no policy can allow; they stay refused");
	oci_names_note(im->notes, &im->floor, "oci-floor",
		       "the profile refuses calls, or some of their uses, that every program here needs to start and end; they stay "
		       "allowed");
	oci_names_note(im->notes, &im->mixed, "oci-overlap",
		       "rules with different answers meet on the same arguments, where runtimes have no order; the strictest decides");
	if (im->set->base.action != POLICY_DENY)
		oci_note(im->notes, "oci-default", path, "a policy names each call that is %s; a call newer than its list answers ENOSYS",
			 im->set->base.action == POLICY_ALLOW ? "allowed" : "worth ending the jail");
}

int workbench_import_oci(const char *text, size_t len, const char *name, const struct sj_policy_import *from,
			 sj_policy_note_fn *fn, void *arg, char **ret, struct sj_err *err)
{
	struct oci_notes notes = { .fn = fn, .arg = arg };
	_cleanup_profile_ struct oci_profile profile = { 0 };
	_cleanup_(oci_here_free) struct oci_here here = { 0 };
	_cleanup_(oci_set_free) struct oci_set set = { 0 };
	_cleanup_free_ struct import *im = calloc(1, sizeof(*im));
	_cleanup_free_ char *out = NULL;
	int r = im ? oci_here(from, &here, err) : err_oom(err);

	if (r == 0)
		r = oci_parse(text, len, name, &notes, &profile, err);
	if (r == 0)
		r = oci_rules(&profile, &here, &notes, &set, err);
	if (r < 0)
		return r;
	im->set = &set;
	im->notes = &notes;
	im->err = err;
	im->allow = im->rules = BUF_INIT(TEXT_MAX);
	r = oci_fixed_read(&im->fixed, err);
	if (r == 0)
		drop_idle(im, &set);
	if (r == 0 && (put_calls(im) < 0 || join(im, from, &here, &out) < 0))
		r = err_oom(err);
	if (r == 0)
		r = try_out(out, name, err);
	if (r == 0) {
		tell(im);
		*ret = steal_ptr(out);
	}
	oci_fixed_free(&im->fixed);
	buf_free(&im->allow);
	buf_free(&im->rules);
	return r;
}
