/*
 * test.c - the answers of a policy against those that its author expects
 *
 * Runs as: the caller
 * Trusts: nothing in the file of cases
 * Never: asks the text of the policy: the compiled program answers, or the kernel in a real jail
 */
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>

#include "workbench/internal.h"

#define SCHEMA "smoljail.policy-test/1"

struct test {
	const struct policy *p;
	const char *file;
	bool live;
	struct filter_prog prog;
	json_t *list;			/* one object a mismatch, or case that could not be tried */
	size_t n, wrong, untried;
};

/* The answer of the program, and by the decision the rule behind it. */
static void simulate(const struct test *t, const struct workbench_case *c, struct filter_verdict *ret)
{
	uint32_t got = filter_simulate(&t->prog, c->nr, c->args);

	filter_decide(t->p, c->nr, c->args, ret);
	ret->error = 0;
	if (got == SECCOMP_RET_ALLOW) {
		ret->action = POLICY_ALLOW;
	} else if ((got & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO) {
		ret->error = (int)(got & SECCOMP_RET_DATA);
		ret->action = ret->error == ENOSYS ? POLICY_ENOSYS : POLICY_DENY;
	} else {
		ret->action = POLICY_KILL;
	}
}

static int report(struct test *t, const struct workbench_case *c, const struct filter_verdict *got, bool untried)
{
	const struct filter_verdict wanted = { .action = c->action, .error = c->error };
	struct filter_verdict decided;
	char call[WORDS_MAX];
	json_t *entry;

	filter_describe(c->nr, c->args, call, sizeof(call));
	filter_decide(t->p, c->nr, c->args, &decided);
	entry = json_pack("{s:i, s:s, s:s, s:s, s:s}", "line", c->line, "call", call, "wanted", words_answer(&wanted), "got",
			  untried ? "nothing: this kernel has no such call" : words_answer(got), "rule", words_origin(decided.rule));
	return !entry || json_array_append_new(t->list, entry) < 0 ? -ENOMEM : 0;
}

static int ask(struct test *t, const struct workbench_case *c, struct sj_err *err)
{
	struct filter_verdict got;
	bool untried = false;
	char name[32];
	int r = 0;

	if (t->live)
		r = live_ask(t->p, c, &got, err);
	else
		simulate(t, c, &got);
	if (r < 0)
		return r;
	if (got.action == c->action && got.error == c->error)
		return 0;
	/* The kernel's own ENOSYS says nothing about the policy. */
	if (t->live && got.action == POLICY_ENOSYS && c->action == POLICY_ALLOW)
		untried = kernel_has_call(filter_call_name(c->nr, name, sizeof(name))) == KERNEL_LACKS;
	t->wrong += !untried;
	t->untried += untried;
	return report(t, c, &got, untried) < 0 ? err_oom(err) : 0;
}

static const char *text_of(const json_t *entry, const char *key)
{
	const char *text = json_string_value(json_object_get(entry, key));

	return text ? text : "";
}

static char *print(const struct test *t)
{
	_cleanup_page_ struct page page = PAGE_INIT;

	for (size_t i = 0; i < json_array_size(t->list); i++) {
		const json_t *entry = json_array_get(t->list, i);

		page_plain(&page, t->file);
		page_put(&page, ":%d: %s: wanted %s, got %s (", (int)json_integer_value(json_object_get(entry, "line")),
			 text_of(entry, "call"), text_of(entry, "wanted"), text_of(entry, "got"));
		page_plain(&page, text_of(entry, "rule"));
		page_put(&page, ")\n");
	}
	page_plain(&page, t->file);
	page_put(&page, ": %zu case%s %s, %zu not as wanted", t->n, t->n == 1 ? "" : "s",
		 t->live ? "tried in a jail" : "asked of the filter", t->wrong);
	if (t->untried)
		page_put(&page, ", %zu that this kernel cannot try", t->untried);
	page_put(&page, "\n");
	return page_end(&page);
}

static char *print_json(const struct test *t)
{
	_cleanup_json_ json_t *out = json_pack("{s:s, s:s, s:b, s:I, s:I, s:I, s:O}", "schema", SCHEMA, "policy", t->p->name, "live", t->live,
					       "cases", (json_int_t)t->n, "wrong", (json_int_t)t->wrong, "untried", (json_int_t)t->untried,
					       "mismatches", t->list);

	return words_json(out);
}

static int ask_all(struct test *t, const struct workbench_case *cases, bool json, char **ret, bool *ret_right, struct sj_err *err)
{
	char *text;
	int r = filter_compile(t->p, FILTER_NOTIFY_NONE, &t->prog, err);

	for (size_t i = 0; i < t->n && r == 0; i++)
		r = ask(t, &cases[i], err);
	filter_prog_free(&t->prog);
	if (r < 0)
		return r;
	text = json ? print_json(t) : print(t);
	if (!text)
		return err_oom(err);
	*ret = text;
	*ret_right = t->wrong == 0;
	return 0;
}

int workbench_test(const char *policy, const char *file, bool live, bool json, char **ret, bool *ret_right, struct sj_err *err)
{
	_cleanup_policy_ struct policy *p = NULL;
	_cleanup_json_ json_t *list = json_array();
	_cleanup_free_ struct workbench_case *cases = NULL;
	struct test t = { .file = file, .live = live, .list = list };
	int r = live ? live_load(policy, &p, err) : workbench_load(policy, &p, err);

	if (r == 0)
		r = workbench_cases_read(file, &cases, &t.n, err);
	if (r < 0)
		return r;
	t.p = p;
	return list ? ask_all(&t, cases, json, ret, ret_right, err) : err_oom(err);
}
