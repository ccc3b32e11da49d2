/*
 * explain.c - what a system call does under a policy, and by which rule
 *
 * Runs as: the caller
 * Trusts: a policy that policy_load() returned
 * Never: makes the call
 */
#include <stdlib.h>
#include <string.h>

#include "workbench/internal.h"

#define SCHEMA "smoljail.policy-explain/1"

/* One rule of the call, and what it answers; the last one of a call may have no rule: the default. */
struct line {
	struct filter_verdict v;
	char when[WORDS_MAX], does[WORDS_MAX], remedy[WORDS_MAX];
};

struct question {
	const struct policy *p;
	int nr;
	char name[32];
	bool asked;			/* with arguments */
	uint64_t args[6];
	enum kernel_call kernel;
	struct line *lines;		/* asked: the one that decides; else all */
	size_t n;
};

static void free_question(struct question *q)
{
	free(q->lines);
}

static void add_line(struct question *q, const struct filter_verdict *v)
{
	struct line *line = &q->lines[q->n++];

	line->v = *v;
	words_conditions(v->rule, q->nr, line->when);
	words_verdict(v, line->does);
	words_remedy(v, q->nr, q->asked ? q->args : NULL, line->remedy);
}

/* All rules of the call, up to the first that fits any arguments, or the default. */
static void add_lines(struct question *q)
{
	const struct policy_syscalls *s = &q->p->syscalls;
	struct filter_verdict v;

	for (size_t i = 0; i < s->n_rules; i++) {
		if (strcmp(s->rules[i].name, q->name) != 0)
			continue;
		filter_answer(q->p, &s->rules[i], q->nr, &v);
		add_line(q, &v);
		if (s->rules[i].n_args == 0)
			return;
	}
	filter_answer(q->p, NULL, q->nr, &v);
	add_line(q, &v);
}

static int ask(struct question *q, const char *call, char *const *args, size_t n, struct sj_err *err)
{
	struct filter_verdict v;
	int r = filter_parse_call(call, &q->nr, err);

	if (r == 0)
		r = filter_parse_args(q->nr, args, n, q->args, err);
	if (r < 0)
		return r;
	filter_call_name(q->nr, q->name, sizeof(q->name));
	q->asked = n > 0 || filter_foreign(q->nr);
	q->kernel = filter_foreign(q->nr) ? KERNEL_UNKNOWN : kernel_has_call(q->name);
	q->lines = calloc(q->p->syscalls.n_rules + 1, sizeof(*q->lines));
	if (!q->lines)
		return err_oom(err);
	if (!q->asked) {
		add_lines(q);
		return 0;
	}
	filter_decide(q->p, q->nr, q->args, &v);
	add_line(q, &v);
	return 0;
}

/* ---- for programs -------------------------------------------------------- */

static const char *kernel_word(enum kernel_call k)
{
	return k == KERNEL_HAS ? "yes" : k == KERNEL_LACKS ? "no" : "unknown";
}

static json_t *json_line(const struct line *line)
{
	const struct policy_rule *rule = line->v.rule;
	const char *error = policy_errno_name(line->v.error);
	json_t *out = json_pack("{s:s, s:s, s:s, s:s?, s:s?, s:b}", "when", line->when, "action",
				policy_action_name(line->v.action), "rule", words_origin(rule), "reason",
				rule ? rule->reason : NULL, "allow_with", line->remedy[0] ? line->remedy : NULL, "never_offered",
				line->v.action != POLICY_ALLOW && !line->remedy[0]);

	if (out && error && line->v.error)
		json_object_set_new(out, "errno", json_string(error));
	return out;
}

static char *print_json(const struct question *q)
{
	_cleanup_json_ json_t *out = json_pack("{s:s, s:s, s:s, s:i, s:s}", "schema", SCHEMA, "policy", q->p->name, "call",
					       q->name, "number", q->nr, "kernel", kernel_word(q->kernel));
	json_t *rules = json_array();
	char text[WORDS_MAX];

	for (size_t i = 0; i < q->n; i++)
		json_array_append_new(rules, json_line(&q->lines[i]));
	if (q->asked) {
		filter_describe(q->nr, q->args, text, sizeof(text));
		json_object_set_new(out, "asked", json_string(text));
	}
	return json_object_set_new(out, "rules", rules) < 0 ? NULL : words_json(out);
}

/* ---- for people ----------------------------------------------------------- */

static void put_kernel(struct page *page, const struct question *q)
{
	if (filter_foreign(q->nr))
		page_put(page, "number %d, of another architecture's table", q->nr);
	else if (q->kernel == KERNEL_UNKNOWN)
		page_put(page, "number %d; whether this kernel has it cannot be seen here", q->nr);
	else
		page_put(page, "number %d, which this kernel has%s", q->nr, q->kernel == KERNEL_HAS ? "" : " not");
}

static void put_remedy(struct page *page, const struct question *q, const struct line *line)
{
	if (line->remedy[0])
		page_plain(page, line->remedy);
	else if (words_never(line->v.rule) || filter_call_number(q->name) < 0)
		page_put(page, "nothing can: it is refused under every policy");
	else
		page_put(page, "nothing is offered; %s", line->v.rule ? "the rule is there on purpose"
									 : "no program in a jail has the privilege that it needs");
}

/* What a program sees of it. */
static const char *consequence(const struct question *q, const struct line *line)
{
	switch (line->v.action) {
	case POLICY_ALLOW:
		if (q->kernel == KERNEL_LACKS)
			return "none: this kernel answers ENOSYS by itself";
		return "the kernel carries it out, as far as its own rules let it";
	case POLICY_DENY:
		return "the program sees this error and goes on; the report counts the refusal";
	case POLICY_ENOSYS:
		return "the program goes on, mostly with an older call";
	case POLICY_KILL:
		break;
	}
	return "all of it is killed at once; the report's status is \"violation\"";
}

static void put_rule(struct page *page, const struct question *q, const struct line *line)
{
	if (filter_foreign(q->nr)) {
		page_put(page, "calls of another architecture are refused before any rule is asked");
		return;
	}
	page_plain(page, words_origin(line->v.rule));
	if (line->v.rule)
		page_put(page, ": %s", line->when);
	else if (line->v.known)
		page_put(page, ": no rule names this call with these arguments");
	else
		page_put(page, ": no rule names it, and it is newer than smoljail's table");
}

static void put_asked(struct page *page, const struct question *q)
{
	const struct line *line = &q->lines[0];
	char text[WORDS_MAX];

	filter_describe(q->nr, q->args, text, sizeof(text));
	page_put(page, "%s under \"", text);
	page_plain(page, q->p->name);
	page_put(page, "\": %s\n  rule:     ", line->does);
	put_rule(page, q, line);
	if (line->v.rule && line->v.rule->reason) {
		page_put(page, "\n  reason:   ");
		page_plain(page, line->v.rule->reason);
	}
	page_put(page, "\n  effect:   %s\n  call:     ", consequence(q, line));
	put_kernel(page, q);
	if (line->v.action != POLICY_ALLOW) {
		page_put(page, "\n  to allow: ");
		put_remedy(page, q, line);
	}
	page_put(page, "\n");
}

static void put_line(struct page *page, const struct question *q, size_t i)
{
	const struct line *line = &q->lines[i];
	bool rest = i > 0 && (!line->v.rule || line->v.rule->n_args == 0);

	page_put(page, "  %zu. %s: %s  [", i + 1, rest ? "all else" : line->when, line->does);
	page_plain(page, words_origin(line->v.rule));
	page_put(page, "]\n");
	if (line->v.rule && line->v.rule->reason) {
		page_put(page, "     reason:   ");
		page_plain(page, line->v.rule->reason);
		page_put(page, "\n");
	}
	if (line->v.action != POLICY_ALLOW) {
		page_put(page, "     to allow: ");
		put_remedy(page, q, line);
		page_put(page, "\n");
	}
}

static void put_all(struct page *page, const struct question *q)
{
	page_put(page, "%s under \"", q->name);
	page_plain(page, q->p->name);
	page_put(page, "\": ");
	put_kernel(page, q);
	page_put(page, "%s\n", q->n > 1 ? ". The first line that fits decides:" : "");
	for (size_t i = 0; i < q->n; i++)
		put_line(page, q, i);
}

int workbench_explain(const struct policy *p, const char *call, char *const *args, size_t n, bool json, char **ret,
		      struct sj_err *err)
{
	_cleanup_(free_question) struct question q = { .p = p };
	_cleanup_page_ struct page page = PAGE_INIT;
	char *text;
	int r = ask(&q, call, args, n, err);

	if (r < 0)
		return r;
	if (!json && q.asked)
		put_asked(&page, &q);
	else if (!json)
		put_all(&page, &q);
	text = json ? print_json(&q) : page_end(&page);
	if (!text)
		return err_oom(err);
	*ret = text;
	return 0;
}
