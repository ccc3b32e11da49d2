/*
 * words.c - rules, answers and remedies in words
 *
 * Runs as: the caller
 * Trusts: a policy that policy_load() returned; its strings are still its author's
 * Never: says more than the rules do
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "session/session.h"
#include "workbench/internal.h"

#define VALUE_MAX 200

void page_put(struct page *p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (buf_vprintf(&p->b, fmt, ap) < 0)
		p->failed = true;
	va_end(ap);
}

void page_plain(struct page *p, const char *s)
{
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (buf_append(&p->b, c < 0x20 || c == 0x7f ? " " : s, 1) < 0)
			p->failed = true;
	}
}

char *page_end(struct page *p)
{
	return p->failed ? NULL : steal_ptr(p->b.data);
}

void page_free(struct page *p)
{
	buf_free(&p->b);
}

static void add(char ret[WORDS_MAX], const char *fmt, ...) _printf_(2, 3);
static void add(char ret[WORDS_MAX], const char *fmt, ...)
{
	size_t used = strlen(ret);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(ret + used, WORDS_MAX - used, fmt, ap);
	va_end(ap);
}

static const char *relation(enum policy_cmp op)
{
	switch (op) {
	case POLICY_EQ: return "is";
	case POLICY_NE: return "is not";
	case POLICY_LT: return "is below";
	case POLICY_LE: return "is at most";
	case POLICY_GT: return "is above";
	case POLICY_GE: return "is at least";
	case POLICY_MASKED_EQ: break;
	}
	return "has";
}

/* What argument 0 is where the rule holds, 0 if it may be anything. */
static uint64_t first_of(const struct policy_rule *rule)
{
	for (size_t i = 0; i < rule->n_args; i++)
		if (rule->args[i].index == 0 && rule->args[i].op == POLICY_EQ)
			return rule->args[i].value;
	return 0;
}

static void add_condition(char ret[WORDS_MAX], const struct policy_rule *rule, const struct policy_arg *arg, int nr)
{
	char value[VALUE_MAX], mask[VALUE_MAX];

	filter_describe_arg(nr, arg->index, arg->value, first_of(rule), value, sizeof(value));
	filter_describe_arg(nr, arg->index, arg->mask, 0, mask, sizeof(mask));
	if (arg->op != POLICY_MASKED_EQ || arg->mask == arg->value)
		add(ret, "argument %u %s %s", arg->index, relation(arg->op), value);
	else if (arg->value == 0)
		add(ret, "argument %u has nothing of %s", arg->index, mask);
	else
		add(ret, "argument %u has %s of %s", arg->index, value, mask);
}

void words_conditions(const struct policy_rule *rule, int nr, char ret[WORDS_MAX])
{
	ret[0] = '\0';
	for (size_t i = 0; rule && i < rule->n_args; i++) {
		add(ret, "%s", i ? " and " : "");
		add_condition(ret, rule, &rule->args[i], nr);
	}
	if (!ret[0])
		add(ret, "any arguments");
}

void words_verdict(const struct filter_verdict *v, char ret[WORDS_MAX])
{
	const char *name = policy_errno_name(v->error);

	ret[0] = '\0';
	switch (v->action) {
	case POLICY_ALLOW:
		add(ret, "allowed");
		break;
	case POLICY_DENY:
		if (name)
			add(ret, "refused with %s (%s)", name, strerror(v->error));
		else
			add(ret, "refused with errno %d (%s)", v->error, strerror(v->error));
		break;
	case POLICY_ENOSYS:
		add(ret, "answered with ENOSYS, as by a kernel that has no such call");
		break;
	case POLICY_KILL:
		add(ret, "the end of the program");
		break;
	}
}

const char *words_answer(const struct filter_verdict *v)
{
	const char *name = policy_errno_name(v->error);

	if (v->action == POLICY_ALLOW || v->action == POLICY_KILL)
		return policy_action_name(v->action);
	return name ? name : "another error";
}

bool words_never(const struct policy_rule *rule)
{
	return rule && strcmp(rule->origin, "@never") == 0;
}

const char *words_origin(const struct policy_rule *rule)
{
	return rule ? rule->origin : "default";
}

void words_remedy(const struct filter_verdict *v, int nr, const uint64_t args[6], char ret[WORDS_MAX])
{
	char buf[32];
	const char *name = filter_call_name(nr, buf, sizeof(buf));

	ret[0] = '\0';
	/* A number without a name cannot stand in a policy. */
	if (v->action == POLICY_ALLOW || words_never(v->rule) || filter_call_number(name) < 0)
		return;
	if (v->rule && str_prefix(v->rule->origin, "syscalls.rules["))
		add(ret, "change or take out %s", v->rule->origin);
	else
		session_remedy(nr, args, v->rule, ret, WORDS_MAX);
}

char *words_json(json_t *doc)
{
	_cleanup_free_ char *text = doc ? json_dumps(doc, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) : NULL;

	return text ? str_printf("%s\n", text) : NULL;
}
