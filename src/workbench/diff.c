/*
 * diff.c - what a program could newly do under another policy, and no longer
 *
 * Runs as: the caller
 * Trusts: policies that policy_load() returned; their strings are still their authors'
 * Never: calls two policies different that answer everything alike
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "workbench/internal.h"

#define SCHEMA "smoljail.policy-diff/1"
#define CALLS "system calls"
#define TEXT_MAX 1024
#define COLUMNS 90	/* of names side by side */

/* ---- collecting ------------------------------------------------------------ */

static json_t *list_of(struct diff *d, enum diff_way way)
{
	return way == DIFF_MORE ? d->more : way == DIFF_LESS ? d->less : d->other;
}

static json_t *add(struct diff *d, enum diff_way way, const char *kind, const char *what)
{
	json_t *entry = json_pack("{s:s, s:s}", "kind", kind, "what", what);

	if (!entry || json_array_append_new(list_of(d, way), entry) < 0) {
		d->failed = true;
		return NULL;
	}
	return entry;
}

void diff_add(struct diff *d, enum diff_way way, const char *kind, const char *fmt, ...)
{
	char text[TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* A long path may have been cut within a character, which is no JSON. */
	if (!add(d, way, kind, text) && d->failed) {
		d->failed = false;
		add(d, way, kind, "a setting whose text cannot be shown");
	}
}

static enum diff_way way_of(const struct meaning_change *c)
{
	if (c->b.action == POLICY_ALLOW)
		return DIFF_MORE;
	return c->a.action == POLICY_ALLOW ? DIFF_LESS : DIFF_OTHER;
}

/* "ioctl, where argument 1 is TIOCSTI": by the conditions of the rule that allows, else of the one that refuses. */
static void describe(const struct meaning *m, const struct meaning_change *c, int nr, char ret[TEXT_MAX])
{
	const struct policy_rule *allows = way_of(c) == DIFF_LESS ? c->a.rule : c->b.rule;
	const struct policy_rule *refuses = way_of(c) == DIFF_LESS ? c->b.rule : c->a.rule;
	const struct policy_rule *rule = allows && allows->n_args ? allows : refuses && refuses->n_args ? refuses : NULL;
	char name[32], when[WORDS_MAX];
	bool partly = m->allowed_a + m->allowed_b != m->asked;
	size_t used;

	filter_call_name(nr, name, sizeof(name));
	words_conditions(rule, nr, when);
	if (rule)
		snprintf(ret, TEXT_MAX, "%s, where %s", name, when);
	else
		snprintf(ret, TEXT_MAX, "%s%s", name, partly && m->asked > 1 ? ", with some arguments" : "");
	if (way_of(c) != DIFF_OTHER)
		return;
	used = strlen(ret);
	snprintf(ret + used, TEXT_MAX - used, ": %s instead of %s", words_answer(&c->b), words_answer(&c->a));
}

static void add_change(struct diff *d, const struct meaning *m, const struct meaning_change *c, int nr)
{
	const struct policy_rule *rule = way_of(c) == DIFF_LESS ? c->a.rule : c->b.rule;
	char text[TEXT_MAX], example[WORDS_MAX];
	json_t *entry;

	describe(m, c, nr, text);
	filter_describe(nr, c->args, example, sizeof(example));
	entry = add(d, way_of(c), CALLS, text);
	if (!entry)
		return;
	json_object_set_new(entry, "rule", json_string(words_origin(rule)));
	json_object_set_new(entry, "example", json_string(example));
}

static int diff_calls(struct diff *d, const struct policy *a, const struct policy *b, struct sj_err *err)
{
	struct meaning *m = calloc(1, sizeof(*m));
	char name[32];
	int r = m ? 0 : err_oom(err);

	for (int nr = 0; nr < FILTER_CALLS && r == 0; nr++) {
		if (str_prefix(filter_call_name(nr, name, sizeof(name)), "syscall_"))
			continue;
		r = meaning_compare(a, b, nr, m, err);
		for (size_t i = 0; r == 0 && i < m->n; i++)
			add_change(d, m, &m->changes[i], nr);
		if (r == 0 && !m->whole)
			diff_add(d, DIFF_OTHER, CALLS, "%s has too many conditions to be compared with all arguments", name);
	}
	free(m);
	return r;
}

/* ---- for people ---------------------------------------------------------------- */

static const char *text_of(const json_t *entry, const char *key)
{
	const char *text = json_string_value(json_object_get(entry, key));

	return text ? text : "";
}

static bool is_kind(const json_t *entry, const char *kind)
{
	return strcmp(text_of(entry, "kind"), kind) == 0;
}

/* "@threads: Threads, but no processes": what the rules of one origin are for. */
static void put_origin(struct page *page, const char *origin)
{
	_cleanup_free_ char *help = policy_group_help(origin);

	page_put(page, "    ");
	page_plain(page, origin);
	if (help)
		page_put(page, ": %.*s", (int)strcspn(help, ":;."), help);
	page_put(page, "\n");
}

static bool is_call_of(const json_t *entry, const char *origin, bool plain)
{
	return is_kind(entry, CALLS) && strcmp(text_of(entry, "rule"), origin) == 0 &&
	       plain == !strpbrk(text_of(entry, "what"), ",:");
}

/* The calls of one origin: whole ones side by side, those with conditions one a line. */
static void put_calls(struct page *page, json_t *list, const char *origin)
{
	size_t column = 0;

	put_origin(page, origin);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *entry = json_array_get(list, i);
		size_t len = strlen(text_of(entry, "what"));

		if (!is_call_of(entry, origin, true))
			continue;
		page_put(page, "%s", column == 0 ? "      " : column + len > COLUMNS ? ",\n      " : ", ");
		column = column == 0 || column + len > COLUMNS ? len : column + 2 + len;
		page_plain(page, text_of(entry, "what"));
	}
	page_put(page, "%s", column ? "\n" : "");
	for (size_t i = 0; i < json_array_size(list); i++)
		if (is_call_of(json_array_get(list, i), origin, false)) {
			page_put(page, "      ");
			page_plain(page, text_of(json_array_get(list, i), "what"));
			page_put(page, "\n");
		}
}

static bool is_first_of_rule(json_t *list, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (is_kind(json_array_get(list, i), CALLS) &&
		    strcmp(text_of(json_array_get(list, i), "rule"), text_of(json_array_get(list, at), "rule")) == 0)
			return false;
	return true;
}

static void put_kind(struct page *page, json_t *list, const char *kind)
{
	bool head = false;

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *entry = json_array_get(list, i);

		if (!is_kind(entry, kind) || (strcmp(kind, CALLS) == 0 && !is_first_of_rule(list, i)))
			continue;
		if (!head)
			page_put(page, "  %s\n", kind);
		head = true;
		if (strcmp(kind, CALLS) == 0) {
			put_calls(page, list, text_of(entry, "rule"));
			continue;
		}
		page_put(page, "    ");
		page_plain(page, text_of(entry, "what"));
		page_put(page, "\n");
	}
}

static void put_list(struct page *page, const char *head, json_t *list)
{
	static const char *const kinds[] = { "network", "files", "environment", CALLS, "python", "isolation", "limits" };

	if (json_array_size(list) == 0)
		return;
	page_put(page, "%s\n", head);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		put_kind(page, list, kinds[i]);
}

static char *print(const struct diff *d, const struct policy *a, const struct policy *b, bool same)
{
	_cleanup_page_ struct page page = PAGE_INIT;

	page_put(&page, "from \"");
	page_plain(&page, a->name);
	page_put(&page, "\" to \"");
	page_plain(&page, b->name);
	page_put(&page, same ? "\": no difference\n" : "\"\n");
	put_list(&page, "a program could newly:", d->more);
	put_list(&page, "and no longer:", d->less);
	put_list(&page, "otherwise, but no more and no less:", d->other);
	return page_end(&page);
}

static char *print_json(const struct diff *d, const struct policy *a, const struct policy *b, bool same)
{
	_cleanup_json_ json_t *out = json_pack("{s:s, s:s, s:s, s:b, s:O, s:O, s:O}", "schema", SCHEMA, "from", a->name, "to",
					       b->name, "same", same, "more", d->more, "less", d->less, "other", d->other);

	return words_json(out);
}

int workbench_diff(const struct policy *a, const struct policy *b, bool json, char **ret, bool *ret_same,
		   struct sj_err *err)
{
	_cleanup_json_ json_t *more = json_array(), *less = json_array(), *other = json_array();
	struct diff d = { more, less, other, false };
	char *text;
	bool same;
	int r;

	if (!more || !less || !other)
		return err_oom(err);
	r = diff_calls(&d, a, b, err);
	if (r < 0)
		return r;
	diff_settings(&d, a, b);
	same = json_array_size(more) + json_array_size(less) + json_array_size(other) == 0;
	text = d.failed ? NULL : json ? print_json(&d, a, b, same) : print(&d, a, b, same);
	if (!text)
		return err_oom(err);
	*ret = text;
	*ret_same = same;
	return 0;
}
