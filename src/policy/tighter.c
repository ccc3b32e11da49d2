/*
 * tighter.c - does one policy grant nothing that another does not?
 *
 * Runs as: supervisor, outside the jail
 * Trusts: nothing; the tighter one comes from a client
 * Never: says yes where it does not know
 */
#include <string.h>

#include "policy/internal.h"

#define SAY(...) snprintf(why, POLICY_LOOSER_MAX, __VA_ARGS__)

/* ---- numbers ------------------------------------------------------------------- */

/* 0 is no limit where none says so. */
static bool within(uint64_t a, uint64_t b, bool none)
{
	if (!none)
		return a <= b;
	return b == 0 || (a != 0 && a <= b);
}

static bool limits_within(const struct policy *a, const struct policy *b, char why[POLICY_LOOSER_MAX])
{
	const struct policy_limits *x = &a->limits, *y = &b->limits;
	const struct policy_files *f = &a->files, *g = &b->files;
	const struct {
		const char *path;
		uint64_t a, b;
		bool none;
	} rows[] = {
		{ "limits.memory", x->memory, y->memory, true },
		{ "limits.swap", x->swap, y->swap, false },
		{ "limits.cpus", x->cpu_milli, y->cpu_milli, true },
		{ "limits.pids", x->pids, y->pids, true },
		{ "limits.wall", x->wall_ms, y->wall_ms, true },
		{ "limits.cpu_time", x->cpu_ms, y->cpu_ms, true },
		{ "limits.open_files", x->open_files, y->open_files, false },
		{ "limits.file_size", x->file_size, y->file_size, false },
		{ "limits.output", x->output, y->output, true },
		{ "files.tmp.size", f->tmp.size, g->tmp.size, false },
		{ "files.tmp.inodes", f->tmp.inodes, g->tmp.inodes, false },
		{ "files.work.size", f->work.size, g->work.size, false },
		{ "files.work.inodes", f->work.inodes, g->work.inodes, false },
		{ "files.shm.size", f->shm.size, g->shm.size, false },
		{ "files.shm.inodes", f->shm.inodes, g->shm.inodes, false },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (!within(rows[i].a, rows[i].b, rows[i].none)) {
			SAY("%s is above that of the server's policy", rows[i].path);
			return false;
		}
	return true;
}

/* ---- words ----------------------------------------------------------------------- */

static unsigned int landlock_rank(enum policy_landlock l)
{
	switch (l) {
	case POLICY_LANDLOCK_REQUIRE: return 2;
	case POLICY_LANDLOCK_AUTO: return 1;
	case POLICY_LANDLOCK_OFF: break;
	}
	return 0;
}

static bool words_within(const struct policy *a, const struct policy *b, char why[POLICY_LOOSER_MAX])
{
	/* The networks are listed from none to all; loopback is private to the jail. */
	if (a->net > b->net)
		SAY("network.mode reaches further than the server's policy");
	else if (a->files.exec_from_writable && !b->files.exec_from_writable)
		SAY("files.exec_from_writable is false in the server's policy");
	else if (strcmp(a->files.root, b->files.root) != 0)
		SAY("files.root is not the server's, \"%.60s\"", b->files.root);
	else if (landlock_rank(a->landlock) < landlock_rank(b->landlock))
		SAY("landlock is weaker than in the server's policy");
	else if (a->isolation > b->isolation)
		SAY("isolation is weaker than in the server's policy");
	else if (b->limits.enforcement == POLICY_CGROUP && a->limits.enforcement != POLICY_CGROUP)
		SAY("limits.enforcement is \"cgroup\" in the server's policy");
	else
		return true;
	return false;
}

/* ---- lists ----------------------------------------------------------------------- */

static bool listed(char *const *list, const char *s)
{
	for (; list && *list; list++)
		if (strcmp(*list, s) == 0)
			return true;
	return false;
}

static bool mount_listed(const struct policy_files *f, const struct policy_mount *m)
{
	for (size_t i = 0; i < f->n_mounts; i++) {
		const struct policy_mount *k = &f->mounts[i];

		if (strcmp(k->src, m->src) == 0 && strcmp(k->dst, m->dst) == 0 && (k->writable || !m->writable))
			return true;
	}
	return false;
}

static bool lists_within(const struct policy *a, const struct policy *b, char why[POLICY_LOOSER_MAX])
{
	for (size_t i = 0; i < a->files.n_mounts; i++)
		if (!mount_listed(&b->files, &a->files.mounts[i])) {
			SAY("\"%.100s\" is not mounted by the server's policy", a->files.mounts[i].src);
			return false;
		}
	for (char **name = a->env_pass; name && *name; name++)
		if (!listed(b->env_pass, *name)) {
			SAY("env.pass: \"%.60s\" is not passed on by the server's policy", *name);
			return false;
		}
	for (char **dir = a->python.packages; dir && *dir; dir++)
		if (!listed(b->python.packages, *dir)) {
			SAY("the packages \"%.100s\" are not among the server's", *dir);
			return false;
		}
	return true;
}

/* ---- system calls ------------------------------------------------------------------ */

static bool same_rule(const struct policy_rule *a, const struct policy_rule *b)
{
	if (a->action != b->action || a->n_args != b->n_args)
		return false;
	for (size_t i = 0; i < a->n_args; i++) {
		const struct policy_arg *x = &a->args[i], *y = &b->args[i];

		if (x->index != y->index || x->op != y->op || x->mask != y->mask || x->value != y->value)
			return false;
	}
	return true;
}

/* The next rule of this call from *pos on, NULL at the end. */
static const struct policy_rule *next_rule(const struct policy_syscalls *s, const char *name, size_t *pos)
{
	while (*pos < s->n_rules) {
		const struct policy_rule *rule = &s->rules[(*pos)++];

		if (strcmp(rule->name, name) == 0)
			return rule;
	}
	return NULL;
}

/*
 * The first rule that matches decides, so a's list of a call is within b's when it
 * is b's list with allowances left out and refusals put in: whatever a rule of a
 * allows, the same rule of b allows, or one of b's before it does.
 */
static bool call_within(const struct policy *a, const struct policy *b, const char *name)
{
	size_t at_a = 0, at_b = 0;
	const struct policy_rule *x, *y = next_rule(&b->syscalls, name, &at_b);

	/* All of it is allowed. */
	if (y && y->action == POLICY_ALLOW && y->n_args == 0)
		return true;
	while ((x = next_rule(&a->syscalls, name, &at_a))) {
		if (x->action != POLICY_ALLOW && (!y || !same_rule(x, y)))
			continue;
		while (y && !same_rule(x, y)) {
			if (y->action != POLICY_ALLOW)
				return false;
			y = next_rule(&b->syscalls, name, &at_b);
		}
		if (!y)
			return false;
		y = next_rule(&b->syscalls, name, &at_b);
	}
	return true;
}

static bool calls_within(const struct policy *a, const struct policy *b, char why[POLICY_LOOSER_MAX])
{
	for (size_t i = 0; i < a->syscalls.n_rules; i++) {
		const char *name = a->syscalls.rules[i].name;

		if (a->syscalls.rules[i].action == POLICY_ALLOW && !call_within(a, b, name)) {
			SAY("more uses of the system call %.40s are allowed than by the server's policy", name);
			return false;
		}
	}
	return true;
}

bool policy_is_within(const struct policy *a, const struct policy *b, char why[POLICY_LOOSER_MAX])
{
	return limits_within(a, b, why) && words_within(a, b, why) && lists_within(a, b, why) && calls_within(a, b, why);
}
