/*
 * learn_cover.c - the smallest list of groups, names and rules that allows what programs did
 *
 * Runs as: outside the jail
 * Trusts: policies/groups.json; operations come from hostile programs and are bounded
 * Never: allows what the base refused, or believes itself: the result is asked about every operation
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "filter/filter.h"
#include "workbench/learn.h"

/*
 * Greedy. `now` is the policy found so far; at first it has the floor, the network's group
 * and the base's own refusals. As long as there is one, the group is taken that pays most:
 * the one of whose members most were used and fewest were not. What is left after that is
 * covered one by one: by the base's own rule where that looks at arguments, by a rule for
 * the constants that were used where any rule tells uses of the call apart, else by name.
 */
struct cover {
	const struct learn *l;
	json_t *doc;			/* the document so far, with... */
	json_t *allow, *rules, *comment; /* ...these in it, borrowed */
	struct policy *now;
	char **groups;
};

static void clear(struct cover *c)
{
	policy_free(c->now);
	base_strv_freep(&c->groups);
	json_decref(c->doc);
}

int learn_say(json_t *list, const char *fmt, ...)
{
	char text[SESSION_OP_TEXT * 2];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return json_array_append_new(list, json_stringn_nocheck(text, strlen(text)));
}

static int load(json_t *doc, struct policy **ret, struct sj_err *err)
{
	return policy_load_doc(doc, NULL, "the learned policy", NULL, 0, ret, err);
}

static int reload(struct cover *c, struct sj_err *err)
{
	struct policy *next = NULL;
	int r = load(c->doc, &next, err);

	if (r < 0)
		return r;
	policy_free(c->now);
	c->now = next;
	return 0;
}

/* ---- where it starts ------------------------------------------------------------------ */

/* Was the rule of the base, by its place in syscalls.rules, what decided some operation? */
static bool rule_was_used(const struct learn *l, size_t at)
{
	char origin[48];

	snprintf(origin, sizeof(origin), "syscalls.rules[%zu]", at);
	for (size_t i = 0; i < l->n; i++)
		if (l->ops[i].rule && strcmp(l->ops[i].rule->origin, origin) == 0)
			return true;
	return false;
}

/* The base's own rules, in their order: those that refuse, and those that were used. */
static int keep_rules(struct cover *c, json_t *from)
{
	json_t *rule;
	size_t i;

	json_array_foreach(from, i, rule) {
		const char *action = json_string_value(json_object_get(rule, "action"));

		if ((!action || strcmp(action, "allow") != 0 || rule_was_used(c->l, i)) &&
		    json_array_append(c->rules, rule) < 0)
			return -1;
	}
	return 0;
}

static bool in_list(const json_t *list, const json_t *value)
{
	json_t *have;
	size_t i;

	json_array_foreach(list, i, have)
		if (json_equal(have, (json_t *)(uintptr_t)value))
			return true;
	return false;
}

int learn_unite(json_t *into, json_t *from)
{
	json_t *value;
	size_t i;

	json_array_foreach(from, i, value)
		if (!in_list(into, value) && json_array_append(into, value) < 0)
			return -1;
	return 0;
}

static int begin(struct cover *c, const json_t *doc, struct sj_err *err)
{
	json_t *base = json_object_get(c->l->base->doc, "syscalls"), *syscalls = json_deep_copy(base);
	json_t *old = c->l->old ? json_object_get(c->l->old->doc, "syscalls") : NULL;
	int r = 0;

	c->doc = json_copy((json_t *)(uintptr_t)doc);
	c->allow = json_array();
	c->rules = json_array();
	c->comment = json_array();
	r |= json_object_set_new(syscalls, "comment", c->comment);
	r |= json_object_set_new(syscalls, "allow", c->allow);
	r |= json_object_set_new(syscalls, "rules", c->rules);
	r |= json_object_set_new(c->doc, "syscalls", syscalls);
	if (r < 0 || keep_rules(c, json_object_get(base, "rules")) < 0)
		return err_oom(err);
	if (old && (learn_unite(c->allow, json_object_get(old, "allow")) < 0 || learn_unite(c->rules, json_object_get(old, "rules")) < 0))
		return err_oom(err);
	r = policy_group_names(&c->groups, err);
	return r < 0 ? r : reload(c, err);
}

/* ---- groups --------------------------------------------------------------------------------- */

struct gain {
	size_t used, unused;		/* rules that the group brings */
	size_t first;			/* operation */
	size_t kinds;
	uint64_t calls;
	bool spoils;			/* gives another answer than the base to something that is not covered yet */
};

static bool is_new_rule(const struct policy *now, const struct policy *next, const struct policy_rule *rule)
{
	/* What a group brings stands behind everything else. */
	return rule && (size_t)(rule - next->syscalls.rules) >= now->syscalls.n_rules;
}

static void weigh(const struct cover *c, const struct policy *next, struct gain *ret)
{
	size_t brings = next->syscalls.n_rules - c->now->syscalls.n_rules;
	_cleanup_free_ bool *hit = calloc(next->syscalls.n_rules + 1, sizeof(*hit));
	struct gain g = { .first = c->l->n };

	for (size_t i = 0; hit && i < c->l->n; i++) {
		const struct learn_op *op = &c->l->ops[i];
		struct filter_verdict v, before;

		if (!learn_wants(c->l, op) || learn_agrees(c->now, op, &before))
			continue;
		if (!learn_agrees(next, op, &v)) {
			g.spoils |= is_new_rule(c->now, next, v.rule);
			continue;
		}
		if (!v.rule)
			continue;
		g.used += !hit[v.rule - next->syscalls.rules];
		hit[v.rule - next->syscalls.rules] = true;
		g.calls += op->count;
		g.kinds++;
		if (i < g.first)
			g.first = i;
	}
	g.unused = brings > g.used ? brings - g.used : 0;
	*ret = g;
}

static bool pays(const struct gain *g)
{
	return !g->spoils && g->used >= LEARN_GROUP_MIN && g->unused * LEARN_GROUP_SPARE <= g->used;
}

static bool is_better(const struct gain *a, const struct gain *b)
{
	long worth_a = (long)a->used - (long)a->unused, worth_b = (long)b->used - (long)b->unused;

	return worth_a != worth_b ? worth_a > worth_b : a->unused < b->unused;
}

/* 1: a group was added; 0: none pays. */
static int add_group(struct cover *c, struct sj_err *err)
{
	const char *best = NULL;
	struct gain best_gain = { 0 };
	char where[sizeof(struct session_where) + 16];

	for (char **name = c->groups; *name; name++) {
		_cleanup_policy_ struct policy *next = NULL;
		struct gain g;
		int r;

		json_array_append_new(c->allow, json_string(*name));
		r = load(c->doc, &next, err);
		json_array_remove(c->allow, json_array_size(c->allow) - 1);
		if (r < 0)
			return r;
		weigh(c, next, &g);
		if (!pays(&g) || (best && !is_better(&g, &best_gain)))
			continue;
		best = *name;
		best_gain = g;
	}
	if (!best)
		return 0;
	learn_where(&c->l->ops[best_gain.first], where, sizeof(where));
	if (json_array_append_new(c->allow, json_string(best)) < 0 ||
	    learn_say(c->comment, "%s: %" PRIu64 " calls of %zu kinds, first %s%s", best, best_gain.calls, best_gain.kinds,
		      c->l->ops[best_gain.first].what, where) < 0)
		return err_oom(err);
	return 1;
}

/* ---- what is left, one by one ------------------------------------------------------------------ */

static const char *op_word(enum policy_cmp op)
{
	static const char *const words[] = {
		[POLICY_EQ] = "==", [POLICY_NE] = "!=", [POLICY_LT] = "<", [POLICY_LE] = "<=", [POLICY_GT] = ">",
		[POLICY_GE] = ">=", [POLICY_MASKED_EQ] = "&==",
	};

	return words[op];
}

/* By name where the name means the same number. */
static json_t *constant(int nr, unsigned int index, uint64_t value, uint64_t first)
{
	char text[SESSION_OP_TEXT];
	uint64_t back;

	if (!filter_arg_constant(nr, index) && value <= INT32_MAX)
		return json_integer((json_int_t)value);
	filter_describe_arg(nr, index, value, first, text, sizeof(text));
	if (!filter_arg_constant(nr, index) || !filter_parse_arg(text, &back) || back != value)
		snprintf(text, sizeof(text), "0x%" PRIx64, value);
	return json_string(text);
}

static json_t *condition(int nr, const struct policy_arg *arg, uint64_t first)
{
	json_t *j = json_pack("{s:i, s:s, s:o}", "index", (int)arg->index, "op", op_word(arg->op), "value",
			      constant(nr, arg->index, arg->value, first));

	if (j && arg->op == POLICY_MASKED_EQ)
		json_object_set_new(j, "mask", constant(nr, arg->index, arg->mask, first));
	return j;
}

static json_t *rule_of(const struct learn_op *op, const struct policy_arg *args, size_t n_args)
{
	json_t *list = json_array(), *rule;
	char where[sizeof(struct session_where) + 16], reason[SESSION_OP_TEXT * 2];

	for (size_t i = 0; i < n_args; i++)
		json_array_append_new(list, condition(op->nr, &args[i], op->args[0]));
	learn_where(op, where, sizeof(where));
	snprintf(reason, sizeof(reason), "used %" PRIu64 " time%s, first%s%s", op->count, op->count == 1 ? "" : "s",
		 where[0] ? "" : " by ", where[0] ? where : op->what);
	rule = json_pack("{s:s, s:o, s:s, s:s}", "name", op->call, "args", list, "action",
			 op->action == POLICY_ENOSYS ? "enosys" : "allow", "reason", reason);
	if (n_args == 0)
		json_object_del(rule, "args");
	return rule;
}

/* The constants that were used, of the arguments that rules look at. */
static size_t used_constants(const struct policy *base, const struct learn_op *op, struct policy_arg ret[6])
{
	uint64_t scratch[6] = { 0 };
	unsigned int matter = filter_normalize(base, op->nr, scratch);
	size_t n = 0;

	for (unsigned int i = 0; i < 6; i++)
		if ((matter & (1u << i)) && filter_arg_constant(op->nr, i))
			ret[n++] = (struct policy_arg){ .index = i, .op = POLICY_EQ, .value = op->args[i] };
	return n;
}

static bool has_rule(const json_t *rules, const json_t *rule)
{
	json_t *have;
	size_t i;

	json_array_foreach(rules, i, have)
		if (json_equal(json_object_get(have, "name"), json_object_get(rule, "name")) &&
		    json_equal(json_object_get(have, "args"), json_object_get(rule, "args")))
			return true;
	return false;
}

static int add_rule(struct cover *c, const struct learn_op *op, const struct policy_arg *args, size_t n)
{
	json_t *rule = rule_of(op, args, n);

	if (has_rule(c->rules, rule)) {
		json_decref(rule);
		return 0;
	}
	return json_array_append_new(c->rules, rule);
}

static int add_name(struct cover *c, const struct learn_op *op)
{
	char where[sizeof(struct session_where) + 16];
	_cleanup_json_ json_t *name = json_string(op->call);

	if (in_list(c->allow, name))
		return 0;
	learn_where(op, where, sizeof(where));
	if (json_array_append(c->allow, name) < 0)
		return -1;
	return learn_say(c->comment, "%s: %" PRIu64 " call%s, first%s", op->call, op->count, op->count == 1 ? "" : "s",
			 where[0] ? where : " by a program that is not Python");
}

static int add_single(struct cover *c, const struct learn_op *op)
{
	struct policy_arg args[6];
	size_t n;

	if (op->rule && (op->rule->n_args > 0 || op->action != POLICY_ALLOW))
		return add_rule(c, op, op->rule->args, op->rule->n_args);
	n = used_constants(c->l->base, op, args);
	return n > 0 ? add_rule(c, op, args, n) : add_name(c, op);
}

static int add_singles(struct cover *c, struct sj_err *err)
{
	struct filter_verdict v;

	for (size_t i = 0; i < c->l->n; i++)
		if (learn_wants(c->l, &c->l->ops[i]) && !learn_agrees(c->now, &c->l->ops[i], &v) &&
		    add_single(c, &c->l->ops[i]) < 0)
			return err_oom(err);
	return reload(c, err);
}

/* ---- the proof ------------------------------------------------------------------------------------ */

static int verify(const struct cover *c, struct sj_err *err)
{
	struct filter_verdict v;

	for (size_t i = 0; i < c->l->n; i++) {
		const struct learn_op *op = &c->l->ops[i];

		bool good = learn_agrees(c->now, op, &v) || !learn_wants(c->l, op);

		/* An older policy may allow what this base refused. */
		if (good && (c->l->old || op->action == POLICY_ALLOW || v.action != POLICY_ALLOW))
			continue;
		err_set(err, EPROTO, SJ_EXIT_USAGE, "E_LEARN_COVER", "no policy was found that answers %s as it was", op->what);
		err_why(err, "the rules of the base, or those of --merge, contradict what the program was seen to do");
		err_fix(err, "learn without --base and --merge, and compare");
		return -EPROTO;
	}
	return 0;
}

int learn_cover(const struct learn *l, json_t *doc, json_t **ret_syscalls, struct sj_err *err)
{
	_cleanup_(clear) struct cover c = { .l = l };
	int r = begin(&c, doc, err);

	while (r == 0 && (r = add_group(&c, err)) == 1)
		r = reload(&c, err);
	if (r == 0)
		r = add_singles(&c, err);
	if (r == 0)
		r = verify(&c, err);
	if (r == 0)
		*ret_syscalls = json_incref(json_object_get(c.doc, "syscalls"));
	return r;
}
