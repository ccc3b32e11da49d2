/*
 * calls.c - the system call part: groups expanded, exceptions taken out
 *
 * Runs as: supervisor, outside the jail
 * Trusts: policies/groups.json; the lists of the policy are hostile
 * Never: lets a policy change what "@never" and "@floor" say
 */
#include <stdlib.h>
#include <string.h>

#include "policy/internal.h"

#define SLOTS 4096u /* of the name table, at least twice POLICY_CALLS_MAX */
#define NO_RULE UINT16_MAX

struct build {
	struct walk *w;
	const struct groups *groups;
	struct policy_rule *rules;
	size_t n;
	enum policy_action action;	/* what plain names become */
	char *origin, *allow_with;	/* of plain names and, the origin, of a group's rules */
	bool seen[POLICY_GROUPS_MAX];	/* groups of this list that are already in */
};

static int full(struct build *b)
{
	int r = err_set(b->w->err, E2BIG, SJ_EXIT_USAGE, "E_POLICY_CALLS", "%s: syscalls: too many rules", b->w->doc);

	err_why(b->w->err, "groups, rules and names come to more than %d", POLICY_CALLS_MAX);
	err_fix(b->w->err, "take out entries that say the same");
	return r;
}

static int add_name(struct build *b, const char *name, size_t len)
{
	struct policy_rule *rule = &b->rules[b->n];

	if (b->n >= POLICY_CALLS_MAX)
		return full(b);
	rule->name = arena_strndup(b->w->own, name, len);
	if (!rule->name)
		return err_oom(b->w->err);
	rule->action = b->action;
	rule->error = b->action == POLICY_DENY ? EPERM : 0;
	rule->origin = b->origin;
	rule->allow_with = b->allow_with;
	b->n++;
	return 0;
}

/* In a list that denies, each call that the group would allow in some form is denied. */
static int add_group_rules(struct build *b, struct span pos)
{
	struct policy_rule rule;
	int r;

	while ((r = groups_next_rule(b->w->own, &pos, &rule)) > 0) {
		if (b->action == POLICY_DENY) {
			r = rule.action == POLICY_ALLOW ? add_name(b, rule.name, strlen(rule.name)) : 0;
			if (r < 0)
				return r;
			continue;
		}
		if (b->n >= POLICY_CALLS_MAX)
			return full(b);
		rule.origin = b->origin;
		b->rules[b->n++] = rule;
	}
	return r < 0 ? groups_damaged(b->w->err) : 0;
}

static int add_group(struct build *b, const struct group *g, char *origin, unsigned int depth);

/* A plain name or "@name" in a group's own list. */
static int add_member(struct build *b, const struct span *name, char *origin, unsigned int depth)
{
	const struct group *inner;
	char *mine = b->origin;
	int r;

	if (name->len == 0 || name->s[0] != '@')
		return add_name(b, name->s, name->len);
	inner = groups_find(b->groups, name->s, name->len);
	if (!inner)
		return groups_damaged(b->w->err);
	r = add_group(b, inner, origin, depth + 1);
	b->origin = mine;
	return r;
}

/* origin NULL: each rule is said to come from the innermost group that holds it. */
static int add_group(struct build *b, const struct group *g, char *origin, unsigned int depth)
{
	size_t index = (size_t)(g - b->groups->list);
	struct span pos = g->allow, name;
	int r;

	if (b->seen[index])
		return 0;
	if (depth >= POLICY_NEST_MAX)
		return groups_damaged(b->w->err);
	b->seen[index] = true;
	b->origin = origin ? origin : arena_strndup(b->w->own, g->name.s, g->name.len);
	if (!b->origin)
		return err_oom(b->w->err);
	r = add_group_rules(b, g->rules);
	if (r < 0)
		return r;
	while ((r = groups_next_name(&pos, &name)) > 0) {
		r = add_member(b, &name, origin, depth);
		if (r < 0)
			return r;
	}
	return r < 0 ? groups_damaged(b->w->err) : 0;
}

/* Groups that apply whatever the policy says. */
static int add_implicit(struct build *b, const char *group, const char *origin)
{
	const struct group *g = groups_find(b->groups, group, strlen(group));

	memset(b->seen, 0, sizeof(b->seen));
	b->action = POLICY_ALLOW;
	b->allow_with = NULL;
	return g ? add_group(b, g, (char *)origin, 0) : groups_damaged(b->w->err);
}

static size_t take_out_name(struct build *b, size_t from, const char *name, size_t len)
{
	size_t kept = from;

	for (size_t i = from; i < b->n; i++)
		if (strncmp(b->rules[i].name, name, len) != 0 || b->rules[i].name[len] != '\0')
			b->rules[kept++] = b->rules[i];
	len = b->n - kept;
	memset(&b->rules[kept], 0, len * sizeof(*b->rules));
	b->n = kept;
	return len;
}

/* Every call of the group, by expanding it behind the list and reading the names off again. */
static int take_out_group(struct build *b, size_t from, const struct group *g, size_t *ret_count)
{
	size_t end = b->n, n;
	char **names;
	int r;

	memset(b->seen, 0, sizeof(b->seen));
	r = add_group(b, g, NULL, 0);
	if (r < 0)
		return r;
	n = b->n - end;
	names = arena_alloc(b->w->own, n * sizeof(*names));
	if (!names)
		return err_oom(b->w->err);
	for (size_t i = 0; i < n; i++)
		names[i] = b->rules[end + i].name;
	memset(&b->rules[end], 0, n * sizeof(*b->rules));
	b->n = end;
	*ret_count = 0;
	for (size_t i = 0; i < n; i++)
		*ret_count += take_out_name(b, from, names[i], strlen(names[i]));
	return 0;
}

static int refuse_removal(struct build *b, const struct at *at, size_t from, const char *entry)
{
	const char *names[POLICY_CALLS_MAX];
	size_t n = 0;

	for (size_t i = from; i < b->n; i++)
		names[n++] = b->rules[i].name;
	return refuse_word(b->w, at, "E_POLICY_REMOVE", "nothing to take out for", entry,
			   "no entry before it names this call or group", names,
			   str_nearest(entry, names, n) ? n : 0);
}

/* The floor is what a program needs to start and end at all: taking a part of it away breaks every run. */
static int refuse_floor(struct build *b, const struct at *at, const char *name)
{
	for (size_t i = 0; i < b->n; i++)
		if (b->rules[i].n_args == 0 && strcmp(b->rules[i].origin, "@floor") == 0 &&
		    strcmp(b->rules[i].name, name) == 0)
			return refuse_value(b->w, at, NULL, name,
					    "it belongs to the runtime floor, without which no program starts or ends; "
					    "smoljail policy show --expand lists the floor");
	return 0;
}

static int take_out(struct build *b, const struct at *at, size_t from, const char *entry)
{
	size_t count = 0;
	int r = 0;

	if (entry[0] == '@') {
		r = take_out_group(b, from, groups_find(b->groups, entry, strlen(entry)), &count);
	} else {
		r = refuse_floor(b, at, entry);
		count = r == 0 ? take_out_name(b, from, entry, strlen(entry)) : 0;
	}
	if (r == 0 && count == 0)
		r = refuse_removal(b, at, from, entry);
	/* A group that comes again after this is meant to put back what went. */
	memset(b->seen, 0, sizeof(b->seen));
	return r;
}

static int add_entry(struct build *b, const struct at *at, size_t from, const char *entry, char *origin)
{
	int r;

	if (entry[0] == '!')
		return take_out(b, at, from, entry + 1);
	if (entry[0] == '@')
		return add_group(b, groups_find(b->groups, entry, strlen(entry)), b->action == POLICY_DENY ? origin : NULL, 0);
	r = b->action == POLICY_DENY ? refuse_floor(b, at, entry) : 0;
	b->origin = origin;
	return r < 0 ? r : add_name(b, entry, strlen(entry));
}

static int add_list(struct build *b, const char *key, enum policy_action action, char *origin, char *allow_with)
{
	const struct at up = { NULL, "syscalls", 0 }, list = { &up, key, 0 };
	json_t *entry, *entries = doc_get(b->w->own->p.doc, origin);
	size_t from = b->n, i;

	memset(b->seen, 0, sizeof(b->seen));
	b->action = action;
	b->allow_with = allow_with;
	json_array_foreach(entries, i, entry) {
		const struct at at = { &list, NULL, i };
		int r = add_entry(b, &at, from, json_string_value(entry), origin);

		if (r < 0)
			return r;
	}
	return 0;
}

static int add_rules(struct build *b)
{
	const struct at up = { NULL, "syscalls", 0 }, list = { &up, "rules", 0 };
	json_t *entry, *entries = doc_get(b->w->own->p.doc, "syscalls.rules");
	size_t i;

	json_array_foreach(entries, i, entry) {
		const struct at at = { &list, NULL, i };
		struct policy_rule *rule = &b->rules[b->n];
		char origin[48];
		int r;

		if (b->n >= POLICY_CALLS_MAX)
			return full(b);
		r = rules_read(b->w, &at, entry, rule);
		if (r == 0 && rule->action != POLICY_ALLOW)
			r = refuse_floor(b, &at, rule->name);
		if (r < 0)
			return r;
		snprintf(origin, sizeof(origin), "syscalls.rules[%zu]", i);
		rule->origin = arena_strndup(b->w->own, origin, strlen(origin));
		if (!rule->origin)
			return err_oom(b->w->err);
		b->n++;
	}
	return 0;
}

bool policy_same_args(const struct policy_arg *a, size_t n_a, const struct policy_arg *b, size_t n_b)
{
	if (n_a != n_b)
		return false;
	for (size_t i = 0; i < n_a; i++)
		if (a[i].index != b[i].index || a[i].op != b[i].op || a[i].mask != b[i].mask || a[i].value != b[i].value)
			return false;
	return true;
}

static bool same_rule(const struct policy_rule *a, const struct policy_rule *b)
{
	return a->action == b->action && a->error == b->error && policy_same_args(a->args, a->n_args, b->args, b->n_args);
}

static uint32_t hash(const char *s)
{
	uint32_t h = 2166136261u;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 16777619u;
	return h ^ h >> 15;
}

/* Leave out what can never decide: rules behind an unconditional one of the name, and repetitions. */
static void drop_unreachable(struct build *b)
{
	uint16_t last[SLOTS], before[POLICY_CALLS_MAX] = { 0 };
	size_t kept = 0;

	memset(last, 0xff, sizeof(last));
	for (size_t i = 0; i < b->n; i++) {
		const struct policy_rule *rule = &b->rules[i];
		uint32_t slot = hash(rule->name) % SLOTS;
		bool dead = false;
		uint16_t at;

		while (last[slot] != NO_RULE && strcmp(b->rules[last[slot]].name, rule->name) != 0)
			slot = (slot + 1) % SLOTS;
		for (at = last[slot]; at != NO_RULE && !dead; at = before[at])
			dead = b->rules[at].n_args == 0 || same_rule(&b->rules[at], rule);
		if (dead)
			continue;
		before[kept] = last[slot];
		last[slot] = (uint16_t)kept;
		if (kept != i)
			b->rules[kept] = *rule;
		kept++;
	}
	b->n = kept;
}

static int add_all(struct build *b)
{
	static const char *const net_groups[] = { "@net-none", "@net-loopback", NULL, "@net-host" };
	static const char *const net_origins[] = { "network.mode=none", "network.mode=loopback", NULL,
						   "network.mode=host" };
	enum policy_net net = b->w->own->p.net;
	int r = add_implicit(b, "@never", "@never");

	if (r == 0 && b->w->own->p.isolation == POLICY_ISOLATION_LANDLOCK)
		r = add_implicit(b, "@isolation-landlock", "isolation=landlock");
	if (r == 0)
		r = add_implicit(b, "@floor", "@floor");
	if (r == 0)
		r = add_rules(b);
	if (r == 0)
		r = add_list(b, "deny", POLICY_DENY, "syscalls.deny", "take it out of syscalls.deny");
	if (r == 0)
		r = net_groups[net] ? add_implicit(b, net_groups[net], net_origins[net]) : groups_damaged(b->w->err);
	if (r == 0)
		r = add_list(b, "allow", POLICY_ALLOW, "syscalls.allow", NULL);
	return r;
}

int calls_expand(struct walk *w)
{
	struct build b = { .w = w, .groups = &w->own->groups };
	int r;

	b.rules = w->own->rules = calloc(POLICY_CALLS_MAX + 1, sizeof(*b.rules));
	if (!b.rules)
		return err_oom(w->err);
	r = add_all(&b);
	if (r < 0)
		return r;
	drop_unreachable(&b);
	w->own->p.syscalls.rules = b.rules;
	w->own->p.syscalls.n_rules = b.n;
	return 0;
}

int calls_of_group(struct policy_own *own, const char *name, struct sj_err *err)
{
	struct walk w = { .own = own, .err = err };
	struct build b = { .w = &w, .groups = &own->groups };
	int r;

	b.rules = own->rules = calloc(POLICY_CALLS_MAX + 1, sizeof(*b.rules));
	if (!b.rules)
		return err_oom(err);
	r = add_implicit(&b, name, name);
	if (r < 0)
		return r;
	own->p.syscalls.rules = b.rules;
	own->p.syscalls.n_rules = b.n;
	return 0;
}
