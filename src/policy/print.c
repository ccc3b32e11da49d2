/*
 * print.c - a loaded policy as JSON, and its system calls as a flat list
 *
 * Runs as: supervisor, outside the jail
 * Trusts: a policy that policy_load() returned
 * Never: prints: it makes text that the caller prints
 */
#include <inttypes.h>
#include <string.h>

#include "policy/internal.h"

#define PRINT_MAX (4u << 20)

char *policy_print_json(const struct policy *p)
{
	_cleanup_json_ json_t *out = json_object();
	json_t *comment = json_object_get(p->doc, "comment");

	if (!out || (comment && json_object_set(out, "comment", comment) < 0))
		return NULL;
	for (size_t i = 0; i < policy_n_fields; i++) {
		const char *key = policy_fields[i].path;
		json_t *value = policy_fields[i].key_at == 0 ? json_object_get(p->doc, key) : NULL;

		if (value && json_object_set(out, key, value) < 0)
			return NULL;
	}
	return json_dumps(out, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
}

static int print_condition(struct buf *b, const struct policy_arg *arg, bool first)
{
	const char *glue = first ? "if" : " and";

	if (arg->op == POLICY_MASKED_EQ)
		return buf_printf(b, "%s arg%u & 0x%" PRIx64 " == 0x%" PRIx64, glue, arg->index, arg->mask, arg->value);
	return buf_printf(b, "%s arg%u %s 0x%" PRIx64, glue, arg->index, policy_cmp_name(arg->op), arg->value);
}

/* Its author's words stay on their line. */
static int print_reason(struct buf *b, const char *reason)
{
	int r = buf_printf(b, "  # ");

	for (; *reason && r == 0; reason++)
		r = buf_append(b, (unsigned char)*reason < 0x20 ? " " : reason, 1);
	return r;
}

/* "ioctl  allow  @floor  if arg1 == 0x5401  # isatty(), on every open()" */
static int print_rule(struct buf *b, const struct policy_rule *rule)
{
	const char *action = policy_action_name(rule->action), *error = policy_errno_name(rule->error);
	char what[40];
	int r;

	if (rule->action == POLICY_DENY)
		snprintf(what, sizeof(what), "%s %s", action, error ? error : "?");
	else
		snprintf(what, sizeof(what), "%s", action);
	r = buf_printf(b, "%-24s %-17s %-22s", rule->name, what, rule->origin);
	for (size_t i = 0; i < rule->n_args && r == 0; i++)
		r = buf_append(b, i ? "" : " ", i ? 0 : 1) < 0 ? -ENOMEM : print_condition(b, &rule->args[i], i == 0);
	if (r == 0 && rule->reason)
		r = print_reason(b, rule->reason);
	while (b->len > 0 && b->data[b->len - 1] == ' ')
		b->len--;
	return r < 0 ? r : buf_append(b, "\n", 1);
}

static bool is_first_of_name(const struct policy *p, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (strcmp(p->syscalls.rules[i].name, p->syscalls.rules[at].name) == 0)
			return false;
	return true;
}

/* All rules of one name together: only their order among themselves means something. */
static int print_call(struct buf *b, const struct policy *p, size_t at)
{
	int r = 0;

	for (size_t i = at; i < p->syscalls.n_rules && r == 0; i++)
		if (strcmp(p->syscalls.rules[i].name, p->syscalls.rules[at].name) == 0)
			r = print_rule(b, &p->syscalls.rules[i]);
	return r;
}

char *policy_print_expanded(const struct policy *p)
{
	_cleanup_buf_ struct buf b = BUF_INIT(PRINT_MAX);
	const char *error = policy_errno_name(p->syscalls.default_error);
	int r = 0;

	for (size_t i = 0; i < p->syscalls.n_rules && r == 0; i++)
		if (is_first_of_name(p, i))
			r = print_call(&b, p, i);
	if (r == 0)
		r = buf_printf(&b, "any other call: %s; a call newer than this list: ENOSYS\n%zu system calls allowed\n",
			       error ? error : "?", policy_count_allowed(p));
	return r < 0 ? NULL : steal_ptr(b.data);
}
