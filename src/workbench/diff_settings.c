/*
 * diff_settings.c - two policies compared by all that is no system call: limits, files, network, environment
 *
 * Runs as: the caller
 * Trusts: policies that policy_load() returned
 * Never: leaves out a setting (tests/unit/test_workbench_diff.c changes each of them)
 */
#include <inttypes.h>
#include <string.h>

#include "workbench/internal.h"

/* ---- numbers ------------------------------------------------------------- */

enum unit { SIZE, TIME, MILLI, COUNT };

static void number(enum unit unit, uint64_t v, bool none, char *ret, size_t len)
{
	if (v == 0 && none)
		snprintf(ret, len, "no limit");
	else if (unit == SIZE)
		policy_format_size(v, ret, len);
	else if (unit == TIME)
		snprintf(ret, len, "%" PRIu64 "%s", v % 1000 ? v : v / 1000, v % 1000 ? "ms" : "s");
	else if (unit == MILLI)
		snprintf(ret, len, "%g", (double)v / 1000);
	else
		snprintf(ret, len, "%" PRIu64, v);
}

static void diff_limits(struct diff *d, const struct policy *a, const struct policy *b)
{
	const struct policy_limits *x = &a->limits, *y = &b->limits;
	const struct policy_files *f = &a->files, *g = &b->files;
	const struct {
		const char *path;
		enum unit unit;
		uint64_t a, b;
		bool none;	/* 0 is no limit */
	} rows[] = {
		{ "limits.memory", SIZE, x->memory, y->memory, true },
		{ "limits.swap", SIZE, x->swap, y->swap, false },
		{ "limits.cpus", MILLI, x->cpu_milli, y->cpu_milli, true },
		{ "limits.pids", COUNT, x->pids, y->pids, true },
		{ "limits.wall", TIME, x->wall_ms, y->wall_ms, true },
		{ "limits.cpu_time", TIME, x->cpu_ms, y->cpu_ms, true },
		{ "limits.open_files", COUNT, x->open_files, y->open_files, false },
		{ "limits.file_size", SIZE, x->file_size, y->file_size, false },
		{ "limits.output", SIZE, x->output, y->output, true },
		{ "files.tmp.size", SIZE, f->tmp.size, g->tmp.size, false },
		{ "files.tmp.inodes", COUNT, f->tmp.inodes, g->tmp.inodes, false },
		{ "files.work.size", SIZE, f->work.size, g->work.size, false },
		{ "files.work.inodes", COUNT, f->work.inodes, g->work.inodes, false },
		{ "files.shm.size", SIZE, f->shm.size, g->shm.size, false },
		{ "files.shm.inodes", COUNT, f->shm.inodes, g->shm.inodes, false },
	};
	char from[48], to[48];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		bool more = rows[i].none && rows[i].a == 0 ? false : rows[i].none && rows[i].b == 0 ? true : rows[i].b > rows[i].a;

		if (rows[i].a == rows[i].b)
			continue;
		number(rows[i].unit, rows[i].a, rows[i].none, from, sizeof(from));
		number(rows[i].unit, rows[i].b, rows[i].none, to, sizeof(to));
		diff_add(d, more ? DIFF_MORE : DIFF_LESS, "limits", "%s: %s instead of %s", rows[i].path, to, from);
	}
	if (x->enforcement != y->enforcement)
		diff_add(d, y->enforcement == POLICY_CGROUP ? DIFF_LESS : DIFF_MORE, "limits",
			 y->enforcement == POLICY_CGROUP ? "limits.enforcement: runs only where control groups hold the limits"
							 : "limits.enforcement: runs also where weaker mechanisms hold the limits");
}

/* ---- words ----------------------------------------------------------------- */

static const char *net_words(enum policy_net net)
{
	switch (net) {
	case POLICY_NET_NONE: return "no network";
	case POLICY_NET_LOOPBACK: return "a private loopback network";
	case POLICY_NET_PROXY: return "named hosts, through a proxy";
	case POLICY_NET_HOST: break;
	}
	return "the host's own network";
}

static unsigned int landlock_rank(enum policy_landlock l)
{
	return l == POLICY_LANDLOCK_REQUIRE ? 0 : l == POLICY_LANDLOCK_AUTO ? 1 : 2;
}

static const char *landlock_words(enum policy_landlock l)
{
	static const char *const words[] = { "Landlock behind the mounts, or nothing runs", "Landlock where the kernel has it",
					     "no Landlock behind the mounts" };

	return words[landlock_rank(l)];
}

static void diff_words(struct diff *d, const struct policy *a, const struct policy *b)
{
	if (a->net != b->net)
		diff_add(d, b->net > a->net ? DIFF_MORE : DIFF_LESS, "network", "%s instead of %s", net_words(b->net),
			 net_words(a->net));
	if (a->files.exec_from_writable != b->files.exec_from_writable)
		diff_add(d, b->files.exec_from_writable ? DIFF_MORE : DIFF_LESS, "files", "execute files that it has written");
	if (strcmp(a->files.root, b->files.root) != 0)
		diff_add(d, DIFF_OTHER, "files", "root \"%s\" instead of \"%s\"", b->files.root, a->files.root);
	if (strcmp(a->files.hostname, b->files.hostname) != 0)
		diff_add(d, DIFF_OTHER, "isolation", "host name \"%s\" instead of \"%s\"", b->files.hostname, a->files.hostname);
	if (a->landlock != b->landlock)
		diff_add(d, landlock_rank(b->landlock) > landlock_rank(a->landlock) ? DIFF_MORE : DIFF_LESS, "isolation",
			 "%s instead of: %s", landlock_words(b->landlock), landlock_words(a->landlock));
	if (a->isolation != b->isolation)
		diff_add(d, b->isolation == POLICY_ISOLATION_LANDLOCK ? DIFF_MORE : DIFF_LESS, "isolation",
			 b->isolation == POLICY_ISOLATION_LANDLOCK ? "run without namespaces, among the caller's own processes"
								   : "run without namespaces");
	if (a->python.guard != b->python.guard)
		diff_add(d, DIFF_OTHER, "python", "another guard inside the interpreter");
	if (a->python.operations != b->python.operations)
		diff_add(d, DIFF_OTHER, "python", "%" PRIu64 " operations instead of %" PRIu64, b->python.operations,
			 a->python.operations);
}

/* ---- lists ------------------------------------------------------------------ */

static bool listed(char *const *list, const char *s)
{
	for (; list && *list; list++)
		if (strcmp(*list, s) == 0)
			return true;
	return false;
}

/* What `b` has and `a` has not. */
static void diff_list(struct diff *d, enum diff_way way, const char *kind, const char *words, char *const *a, char *const *b)
{
	for (; b && *b; b++)
		if (!listed(a, *b))
			diff_add(d, way, kind, "%s %s", words, *b);
}

static const struct policy_mount *mount_at(const struct policy_files *f, const struct policy_mount *m)
{
	for (size_t i = 0; i < f->n_mounts; i++)
		if (strcmp(f->mounts[i].src, m->src) == 0 && strcmp(f->mounts[i].dst, m->dst) == 0)
			return &f->mounts[i];
	return NULL;
}

static void diff_mounts(struct diff *d, enum diff_way way, const struct policy_files *a, const struct policy_files *b)
{
	for (size_t i = 0; i < b->n_mounts; i++) {
		const struct policy_mount *m = &b->mounts[i], *k = mount_at(a, m);

		if (!k)
			diff_add(d, way, "files", "%s the host's %s, at %s", m->writable ? "read and change" : "read", m->src, m->dst);
		else if (m->writable && !k->writable)
			diff_add(d, way, "files", "change the host's %s, at %s", m->src, m->dst);
	}
}

static void diff_lists(struct diff *d, enum diff_way way, const struct policy *a, const struct policy *b)
{
	diff_mounts(d, way, &a->files, &b->files);
	diff_list(d, way, "network", "reach", a->net_allow, b->net_allow);
	diff_list(d, way, "environment", "see the caller's variable", a->env_pass, b->env_pass);
	diff_list(d, way, "environment", "get", a->env_set, b->env_set);
	diff_list(d, way, "python", "import", a->python.imports, b->python.imports);
	diff_list(d, way, "python", "find preloaded", a->python.preload, b->python.preload);
	diff_list(d, way, "python", "import the packages of", a->python.packages, b->python.packages);
}

void diff_settings(struct diff *d, const struct policy *a, const struct policy *b)
{
	diff_words(d, a, b);
	diff_lists(d, DIFF_MORE, a, b);
	diff_lists(d, DIFF_LESS, b, a);
	diff_limits(d, a, b);
}
