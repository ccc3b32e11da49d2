/*
 * rules.c - rules of a policy that look at the arguments of a system call
 *
 * Runs as: supervisor, outside the jail
 * Trusts: nothing in the document
 * Never: accepts a condition that can never hold
 */
#include <string.h>

#include "policy/internal.h"

#define RULES_PATH "syscalls.rules"
#define ARGS_PATH "syscalls.rules[].args"

static const char *word_of(const struct word *words, int value)
{
	for (; words->word; words++)
		if (words->value == value)
			return words->word;
	return "?";
}

const char *policy_action_name(enum policy_action action)
{
	return word_of(policy_action_words, (int)action);
}

const char *policy_cmp_name(enum policy_cmp op)
{
	return word_of(policy_cmp_words, (int)op);
}

static int check_mask(struct walk *w, const struct at *at, const struct policy_arg *arg, bool has_mask)
{
	const struct at here = { at, "mask", 0 };
	bool masked = arg->op == POLICY_MASKED_EQ;

	if (masked && !has_mask)
		return refuse_missing(w, at, field_by_path(ARGS_PATH "[].mask"));
	if (!masked && has_mask)
		return refuse_value(w, &here, NULL, policy_cmp_name(arg->op), "a mask goes only with the comparison \"&==\"");
	if (masked && (arg->value & ~arg->mask))
		return refuse_value(w, &here, NULL, "value",
				    "\"value\" has bits that \"mask\" leaves out, so the condition could never hold");
	return 0;
}

static int read_arg(struct walk *w, const struct at *at, json_t *in, struct policy_arg *ret)
{
	const struct field *f = field_by_path(ARGS_PATH);
	int r;

	if (!json_is_object(in))
		return refuse_type(w, at, f, in);
	r = walk_object(w, at, f, in, NULL, ret);
	if (r < 0)
		return r;
	return check_mask(w, at, ret, json_object_get(in, "mask") != NULL);
}

int rules_read(struct walk *w, const struct at *at, json_t *in, struct policy_rule *ret)
{
	const struct field *f = field_by_path(RULES_PATH), *args = field_by_path(ARGS_PATH);
	const struct at in_errno = { at, "errno", 0 }, in_args = { at, "args", 0 };
	json_t *list, *entry;
	size_t i;
	int r;

	if (!json_is_object(in))
		return refuse_type(w, at, f, in);
	r = walk_object(w, at, f, in, NULL, ret);
	if (r < 0)
		return r;
	if (ret->action != POLICY_DENY && ret->error != 0)
		return refuse_value(w, &in_errno, NULL, policy_action_name(ret->action),
				    "an errno goes only with the action \"deny\"");
	if (ret->action == POLICY_DENY && ret->error == 0)
		ret->error = EPERM;
	list = json_object_get(in, "args");
	if (json_array_size(list) > args->max)
		return refuse_range(w, &in_args, args, list);
	json_array_foreach(list, i, entry) {
		const struct at here = { &in_args, NULL, i };

		r = read_arg(w, &here, entry, &ret->args[i]);
		if (r < 0)
			return r;
		ret->n_args = i + 1;
	}
	return 0;
}

int rules_merge(struct walk *w, const struct at *at, const struct field *f, json_t *in, json_t *into)
{
	_cleanup_json_ json_t *all = json_array();
	json_t *entry;
	size_t i;

	if (json_array_size(in) + json_array_size(into) > f->max)
		return refuse_range(w, at, f, in);
	json_array_foreach(in, i, entry) {
		const struct at here = { at, NULL, i };
		struct policy_rule scratch = { 0 };
		int r = rules_read(w, &here, entry, &scratch);

		if (r < 0)
			return r;
	}
	/* The nearest policy is asked first. */
	if (json_array_extend(all, in) < 0 || json_array_extend(all, into) < 0 || json_array_clear(into) < 0 ||
	    json_array_extend(into, all) < 0)
		return err_oom(w->err);
	return 0;
}
