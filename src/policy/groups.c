/*
 * groups.c - read the shipped groups of system calls where they lie
 *
 * Runs as: supervisor, outside the jail
 * Trusts: policies/groups.json, which is part of the program (tests parse it strictly)
 * Never: reads a policy file; those take the strict and slower way of base/json.c
 *
 * Every start needs the groups, and building a tree of objects from 26 kB
 * would cost more time than all the rest of loading a policy.
 */
#include <stdlib.h>
#include <string.h>

#include "policy/embed.h"
#include "policy/internal.h"

/* The next character that means something; NUL at the end of the text. */
static char skip_space(struct span *t)
{
	while (t->len > 0 && (*t->s == ' ' || *t->s == '\n' || *t->s == '\t' || *t->s == '\r')) {
		t->s++;
		t->len--;
	}
	return t->len > 0 ? *t->s : '\0';
}

static bool take(struct span *t, char c)
{
	if (skip_space(t) != c)
		return false;
	t->s++;
	t->len--;
	return true;
}

/* The quote that ends a string whose inside begins at p; NULL without one. */
static const char *string_end(const char *p, const char *stop)
{
	const char *start = p;

	while (p < stop && (p = memchr(p, '"', (size_t)(stop - p)))) {
		const char *back = p;

		while (back > start && back[-1] == '\\')
			back--;
		if ((p - back) % 2 == 0)
			return p;
		p++;
	}
	return NULL;
}

/* The inside of a string, escapes as they stand. */
static bool take_string(struct span *t, struct span *ret)
{
	const char *start, *end;

	if (!take(t, '"'))
		return false;
	start = t->s;
	end = string_end(start, start + t->len);
	if (!end)
		return false;
	*ret = (struct span){ start, (size_t)(end - start) };
	t->len -= (size_t)(end + 1 - start);
	t->s = end + 1;
	return true;
}

/* Past the end of a list that was entered; its text is *ret. */
static bool skip_list(struct span *t, struct span *ret)
{
	const char *p = t->s, *stop = t->s + t->len;
	size_t depth = 1;

	while (p < stop && depth > 0) {
		char c = *p++;

		if (c == '"') {
			p = string_end(p, stop);
			if (!p)
				return false;
			p++;
		} else if (c == '[') {
			depth++;
		} else if (c == ']') {
			depth--;
		}
	}
	if (depth > 0)
		return false;
	*ret = (struct span){ t->s, (size_t)(p - t->s) };
	t->len -= ret->len;
	t->s = p;
	return true;
}

/* The next key of an object that was entered. 1, 0 at the end, -EINVAL. */
static int next_key(struct span *t, struct span *ret)
{
	take(t, ',');
	if (take(t, '}'))
		return 0;
	return take_string(t, ret) && take(t, ':') ? 1 : -EINVAL;
}

static bool is(const struct span *s, const char *word)
{
	return s->len == strlen(word) && memcmp(s->s, word, s->len) == 0;
}

static int read_group(struct span *t, struct group *ret)
{
	struct span key;
	int r;

	if (!take(t, '{'))
		return -EINVAL;
	while ((r = next_key(t, &key)) > 0) {
		bool ok = false;

		if (is(&key, "help"))
			ok = take_string(t, &ret->help);
		else if (is(&key, "allow"))
			ok = take(t, '[') && skip_list(t, &ret->allow);
		else if (is(&key, "rules"))
			ok = take(t, '[') && skip_list(t, &ret->rules);
		if (!ok)
			return -EINVAL;
	}
	return r;
}

int groups_open(struct groups *ret)
{
	struct span text = { 0 }, key;
	size_t len;
	int r;

	ret->n = 0;
	text.s = policy_shipped_text("groups", &len);
	text.len = len;
	if (!take(&text, '{'))
		return -EINVAL;
	while ((r = next_key(&text, &key)) > 0) {
		struct group *g = &ret->list[ret->n];

		if (ret->n >= POLICY_GROUPS_MAX)
			return -EINVAL;
		memset(g, 0, sizeof(*g));
		g->name = key;
		r = read_group(&text, g);
		if (r < 0)
			return r;
		ret->n++;
	}
	return r;
}

int groups_damaged(struct sj_err *err)
{
	int r = err_set(err, EINVAL, SJ_EXIT_SETUP, "E_POLICY_GROUPS", "the shipped system call groups are damaged");

	err_why(err, "policies/groups.json was not as this program expects it when it was built");
	err_fix(err, "build or install smoljail again");
	return r;
}

const struct group *groups_find(const struct groups *g, const char *name, size_t len)
{
	for (size_t i = 0; i < g->n; i++)
		if (g->list[i].name.len == len && memcmp(g->list[i].name.s, name, len) == 0)
			return &g->list[i];
	return NULL;
}

bool groups_implicit(const char *name)
{
	return strcmp(name, "@never") == 0 || strcmp(name, "@floor") == 0 || strcmp(name, "@privileged") == 0 ||
	       str_prefix(name, "@net-") || str_prefix(name, "@isolation-");
}

int groups_next_name(struct span *pos, struct span *ret)
{
	take(pos, ',');
	if (pos->len == 0 || take(pos, ']'))
		return 0;
	return take_string(pos, ret) ? 1 : -EINVAL;
}

void groups_unescape(char *s)
{
	char *to = s;

	for (; *s; s++) {
		if (*s == '\\' && s[1])
			s++;
		*to++ = *s;
	}
	*to = '\0';
}

char *policy_group_help(const char *name)
{
	_cleanup_free_ struct groups *groups = calloc(1, sizeof(*groups));
	const struct group *g = groups && groups_open(groups) == 0 ? groups_find(groups, name, strlen(name)) : NULL;
	char *help = g ? str_printf("%.*s", (int)g->help.len, g->help.s) : NULL;

	if (help)
		groups_unescape(help);
	return help;
}

int policy_group_names(char ***ret, struct sj_err *err)
{
	_cleanup_free_ struct groups *groups = calloc(1, sizeof(*groups));
	_cleanup_strv_ char **names = NULL;

	if (!groups)
		return err_oom(err);
	if (groups_open(groups) < 0)
		return groups_damaged(err);
	for (size_t i = 0; i < groups->n; i++) {
		char name[POLICY_NAME_MAX];

		snprintf(name, sizeof(name), "%.*s", (int)groups->list[i].name.len, groups->list[i].name.s);
		if (!groups_implicit(name) && strv_push(&names, name) < 0)
			return err_oom(err);
	}
	*ret = steal_ptr(names);
	return 0;
}

static char *copy(struct policy_own *own, struct span s)
{
	char *ret = arena_strndup(own, s.s, s.len);

	if (ret && memchr(ret, '\\', s.len))
		groups_unescape(ret);
	return ret;
}

static bool word_value(const struct word *words, const struct span *text, int *ret)
{
	for (; words->word; words++)
		if (is(text, words->word)) {
			*ret = words->value;
			return true;
		}
	return false;
}

/* A number, or a string with a number or names of constants. */
static bool take_const(struct span *t, uint64_t *ret)
{
	struct span text = { 0 };

	if (skip_space(t) == '"')
		return take_string(t, &text) && policy_parse_const(text.s, text.len, ret);
	text.s = t->s;
	while (t->len > 0 && *t->s >= '0' && *t->s <= '9') {
		t->s++;
		t->len--;
		text.len++;
	}
	return policy_parse_const(text.s, text.len, ret);
}

static int read_arg(struct span *t, struct policy_arg *ret)
{
	struct span key, text;
	uint64_t index = 0;
	int r, op = 0;

	if (!take(t, '{'))
		return -EINVAL;
	while ((r = next_key(t, &key)) > 0) {
		bool ok = false;

		if (is(&key, "index"))
			ok = take_const(t, &index) && index < POLICY_RULE_ARGS_MAX;
		else if (is(&key, "op"))
			ok = take_string(t, &text) && word_value(policy_cmp_words, &text, &op);
		else if (is(&key, "value"))
			ok = take_const(t, &ret->value);
		else if (is(&key, "mask"))
			ok = take_const(t, &ret->mask);
		if (!ok)
			return -EINVAL;
	}
	ret->index = (unsigned int)index;
	ret->op = (enum policy_cmp)op;
	return r;
}

static bool read_args(struct span *t, struct policy_rule *ret)
{
	if (!take(t, '['))
		return false;
	while (!take(t, ']')) {
		if (ret->n_args >= POLICY_RULE_ARGS_MAX || read_arg(t, &ret->args[ret->n_args]) < 0)
			return false;
		ret->n_args++;
		take(t, ',');
	}
	return true;
}

static bool read_errno(struct span text, int *ret)
{
	char name[POLICY_NAME_MAX];

	if (text.len >= sizeof(name))
		return false;
	memcpy(name, text.s, text.len);
	name[text.len] = '\0';
	*ret = policy_errno(name);
	return *ret != 0;
}

static bool read_member(struct policy_own *own, struct span *t, const struct span *key, struct policy_rule *ret)
{
	struct span text;
	int action;

	if (is(key, "args"))
		return read_args(t, ret);
	if (!take_string(t, &text))
		return false;
	if (is(key, "name"))
		return (ret->name = copy(own, text)) != NULL;
	if (is(key, "reason"))
		return (ret->reason = copy(own, text)) != NULL;
	if (is(key, "allow_with"))
		return (ret->allow_with = copy(own, text)) != NULL;
	if (is(key, "errno"))
		return read_errno(text, &ret->error);
	if (!is(key, "action") || !word_value(policy_action_words, &text, &action))
		return false;
	ret->action = (enum policy_action)action;
	return true;
}

int groups_next_rule(struct policy_own *own, struct span *pos, struct policy_rule *ret)
{
	struct span key;
	int r;

	take(pos, ',');
	if (pos->len == 0 || take(pos, ']'))
		return 0;
	if (!take(pos, '{'))
		return -EINVAL;
	memset(ret, 0, sizeof(*ret));
	while ((r = next_key(pos, &key)) > 0)
		if (!read_member(own, pos, &key, ret))
			return -EINVAL;
	if (r < 0 || !ret->name)
		return -EINVAL;
	if (ret->action == POLICY_DENY && ret->error == 0)
		ret->error = EPERM;
	return 1;
}
