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
#include <string.h>

#include "policy/embed.h"
#include "policy/internal.h"

/* What is left of a text. A fault empties it, so that every later step fails too. */
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

/* The inside of a string, escapes as they stand. */
static bool take_string(struct span *t, struct span *ret)
{
	size_t i = 0;

	if (!take(t, '"'))
		return false;
	while (i < t->len && t->s[i] != '"')
		i += t->s[i] == '\\' ? 2 : 1;
	if (i >= t->len)
		return false;
	*ret = (struct span){ t->s, i };
	t->s += i + 1;
	t->len -= i + 1;
	return true;
}

/* Any value, brackets included. */
static bool take_value(struct span *t, struct span *ret)
{
	const char *start;
	struct span text;
	size_t depth = 0;

	skip_space(t);
	start = t->s;
	do {
		char c = skip_space(t);

		if (c == '"') {
			if (!take_string(t, &text))
				return false;
			continue;
		}
		if (c == '\0')
			return false;
		if (c == '{' || c == '[')
			depth++;
		else if (c == '}' || c == ']')
			depth--;
		t->s++;
		t->len--;
		/* A number at the top goes on to the next comma or bracket. */
		while (depth == 0 && t->len > 0 && *t->s >= '0' && *t->s <= '9') {
			t->s++;
			t->len--;
		}
	} while (depth > 0);
	*ret = (struct span){ start, (size_t)(t->s - start) };
	return true;
}

/* "key": value of an object that was entered. 1, 0 at its end, -EINVAL. */
static int next_member(struct span *t, struct span *ret_key, struct span *ret_value)
{
	take(t, ',');
	if (take(t, '}'))
		return 0;
	return take_string(t, ret_key) && take(t, ':') && take_value(t, ret_value) ? 1 : -EINVAL;
}

static bool is(const struct span *s, const char *word)
{
	return s->len == strlen(word) && memcmp(s->s, word, s->len) == 0;
}

static bool unquote(const struct span *value, struct span *ret)
{
	struct span t = *value;

	return take_string(&t, ret);
}

static int read_group(struct span body, struct group *ret)
{
	struct span key, value;
	int r;

	if (!take(&body, '{'))
		return -EINVAL;
	while ((r = next_member(&body, &key, &value)) > 0) {
		bool ok = true;

		if (is(&key, "help"))
			ok = unquote(&value, &ret->help);
		else if (is(&key, "allow"))
			ok = take(&value, '['), ret->allow = value;
		else if (is(&key, "rules"))
			ok = take(&value, '['), ret->rules = value;
		else
			ok = is(&key, "comment");
		if (!ok)
			return -EINVAL;
	}
	return r;
}

int groups_open(struct groups *ret)
{
	struct span text = { 0 }, key, value;
	size_t len;
	int r;

	ret->n = 0;
	text.s = policy_shipped_text("groups", &len);
	text.len = len;
	if (!take(&text, '{'))
		return -EINVAL;
	while ((r = next_member(&text, &key, &value)) > 0) {
		struct group *g = &ret->list[ret->n];

		if (ret->n >= POLICY_GROUPS_MAX)
			return -EINVAL;
		memset(g, 0, sizeof(*g));
		g->name = key;
		r = read_group(value, g);
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
	return strcmp(name, "@never") == 0 || strcmp(name, "@floor") == 0 || str_prefix(name, "@net-");
}

int groups_next_name(struct span *pos, struct span *ret)
{
	take(pos, ',');
	if (pos->len == 0 || take(pos, ']'))
		return 0;
	return take_string(pos, ret) ? 1 : -EINVAL;
}

/* Only \" and \\ are known. */
static char *copy(struct policy_own *own, struct span s)
{
	char *ret = arena_strndup(own, s.s, s.len), *to;

	if (!ret || !memchr(ret, '\\', s.len))
		return ret;
	to = ret;
	for (const char *from = ret; *from; from++) {
		if (*from == '\\' && from[1])
			from++;
		*to++ = *from;
	}
	*to = '\0';
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

static bool const_value(const struct span *value, uint64_t *ret)
{
	struct span text = *value;

	return (*value->s != '"' || unquote(value, &text)) && const_parse(text.s, text.len, ret);
}

static int read_arg(struct span *body, struct policy_arg *ret)
{
	struct span key, value, text;
	uint64_t index = 0;
	int r, op = 0;

	if (!take(body, '{'))
		return -EINVAL;
	while ((r = next_member(body, &key, &value)) > 0) {
		bool ok = false;

		if (is(&key, "index"))
			ok = const_value(&value, &index) && index < POLICY_RULE_ARGS_MAX;
		else if (is(&key, "op"))
			ok = unquote(&value, &text) && word_value(policy_cmp_words, &text, &op);
		else if (is(&key, "value"))
			ok = const_value(&value, &ret->value);
		else if (is(&key, "mask"))
			ok = const_value(&value, &ret->mask);
		if (!ok)
			return -EINVAL;
	}
	ret->index = (unsigned int)index;
	ret->op = (enum policy_cmp)op;
	return r;
}

static int read_args(struct span list, struct policy_rule *ret)
{
	if (!take(&list, '['))
		return -EINVAL;
	while (!take(&list, ']')) {
		if (ret->n_args >= POLICY_RULE_ARGS_MAX || read_arg(&list, &ret->args[ret->n_args]) < 0)
			return -EINVAL;
		ret->n_args++;
		take(&list, ',');
	}
	return 0;
}

static bool read_member(struct policy_own *own, const struct span *key, const struct span *value,
			struct policy_rule *ret)
{
	struct span text = { 0 };
	char name[POLICY_NAME_MAX];
	int action;

	if (is(key, "args"))
		return read_args(*value, ret) == 0;
	if (!unquote(value, &text))
		return false;
	if (is(key, "name"))
		return (ret->name = copy(own, text)) != NULL;
	if (is(key, "reason"))
		return (ret->reason = copy(own, text)) != NULL;
	if (is(key, "allow_with"))
		return (ret->allow_with = copy(own, text)) != NULL;
	if (is(key, "action")) {
		if (!word_value(policy_action_words, &text, &action))
			return false;
		ret->action = (enum policy_action)action;
		return true;
	}
	if (!is(key, "errno") || text.len >= sizeof(name))
		return false;
	memcpy(name, text.s, text.len);
	name[text.len] = '\0';
	ret->error = errno_number(name);
	return ret->error != 0;
}

int groups_next_rule(struct policy_own *own, struct span *pos, struct policy_rule *ret)
{
	struct span key, value;
	int r;

	take(pos, ',');
	if (pos->len == 0 || take(pos, ']'))
		return 0;
	if (!take(pos, '{'))
		return -EINVAL;
	memset(ret, 0, sizeof(*ret));
	while ((r = next_member(pos, &key, &value)) > 0)
		if (!read_member(own, &key, &value, ret))
			return -EINVAL;
	if (r < 0 || !ret->name)
		return -EINVAL;
	if (ret->action == POLICY_DENY && ret->error == 0)
		ret->error = EPERM;
	return 1;
}
