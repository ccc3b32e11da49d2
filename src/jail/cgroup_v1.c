/*
 * cgroup_v1.c - limits and counters of control groups version 1, one tree a controller
 *
 * Runs as: the supervisor
 * Trusts: the kernel's files
 * Never: claims a limit that was not read back, or touches a group that is not this run's
 */
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jail/cgroup_internal.h"

#define V1_ANCESTORS_MAX 32

/* ---- limits ------------------------------------------------------------------ */

/*
 * memsw counts memory and swap together, so with swap 0 both limits are equal
 * and nothing is ever swapped. Kernels without swap accounting do not have it;
 * there a swappiness of 0 keeps the group's reclaim away from swap.
 */
static int v1_memory(int dir, const struct jail_limits *l, const char **ret_file)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t both = l->memory > UINT64_MAX - l->swap ? UINT64_MAX : l->memory + l->swap;
	int r;

	*ret_file = "memory.limit_in_bytes";
	r = cgroup_set_u64(dir, *ret_file, l->memory, page - 1);
	if (r < 0)
		return r;
	*ret_file = "memory.memsw.limit_in_bytes";
	r = cgroup_set_u64(dir, *ret_file, both, page - 1);
	if (r == -ENOENT && l->swap == 0)
		(void)cgroup_put(dir, "memory.swappiness", "0");
	return r == -ENOENT ? 0 : r;
}

/* Is some group above limited to this quota or less? Above the mount ".." leads to no such file. */
static bool ancestor_is_tighter(int dir, uint64_t quota, uint64_t period)
{
	char file[3 * V1_ANCESTORS_MAX + 32] = "";
	uint64_t q, p;

	for (size_t up = 1; up <= V1_ANCESTORS_MAX; up++) {
		char *end = file + 3 * up;

		memcpy(end - 3, "../", 3);
		memcpy(end, "cpu.cfs_quota_us", sizeof("cpu.cfs_quota_us"));
		if (!cgroup_get_u64(dir, file, &q))
			return false;
		memcpy(end, "cpu.cfs_period_us", sizeof("cpu.cfs_period_us"));
		if (q != UINT64_MAX && cgroup_get_u64(dir, file, &p) && p > 0)
			return (double)q / (double)p <= (double)quota / (double)period;
	}
	return false;
}

static int v1_cpu(int dir, const struct jail_limits *l, const char **ret_file)
{
	uint64_t quota, period;
	int r;

	cgroup_quota(l->cpu_milli, &quota, &period);
	*ret_file = "cpu.cfs_period_us";
	r = cgroup_set_u64(dir, *ret_file, period, 0);
	if (r < 0)
		return r;
	*ret_file = "cpu.cfs_quota_us";
	r = cgroup_set_u64(dir, *ret_file, quota, 0);
	/* Version 1 refuses a quota above the parent's: then the parent's is the limit, and it is tighter. */
	return r == -EINVAL && ancestor_is_tighter(dir, quota, period) ? 0 : r;
}

static int v1_limit(int dir, enum cgroup_ctl ctl, const struct jail_limits *l, const char **ret_file)
{
	switch (ctl) {
	case CGROUP_MEMORY:
		return v1_memory(dir, l, ret_file);
	case CGROUP_PIDS:
		*ret_file = "pids.max";
		return cgroup_set_u64(dir, *ret_file, l->pids, 0);
	case CGROUP_CPU:
		return v1_cpu(dir, l, ret_file);
	case CGROUP_CPUACCT:
	case CGROUP_CTLS:
		break;
	}
	return 0;
}

/* ---- counters ------------------------------------------------------------------ */

static void v1_sample_memory(struct cgroup *cg, int dir, struct jail_usage *ret)
{
	char text[CGROUP_FILE_MAX];
	uint64_t v, hits = 0;

	(void)cg;
	if (cgroup_get_u64(dir, "memory.max_usage_in_bytes", &v))
		ret->memory_peak = v;
	if (cgroup_get(dir, "memory.oom_control", text, sizeof(text)) == 0)
		(void)cgroup_parse_key(text, "oom_kill", &ret->oom_kills);
	/* Where both limits are equal the sum of memory and swap is the one that is hit. */
	if (cgroup_get_u64(dir, "memory.failcnt", &v))
		hits = v;
	if (cgroup_get_u64(dir, "memory.memsw.failcnt", &v))
		hits += v;
	/* Newer kernels may keep these at 0 even when they kill. */
	ret->memory_hits = hits > ret->oom_kills ? hits : ret->oom_kills;
}

static void v1_sample_pids(struct cgroup *cg, int dir, struct jail_usage *ret)
{
	char text[CGROUP_FILE_MAX];
	uint64_t v;

	if (cgroup_get_u64(dir, "pids.peak", &v) || cgroup_get_u64(dir, "pids.current", &v)) {
		if (v > cg->pids_seen)
			cg->pids_seen = v;
		ret->pids_peak = (uint32_t)cg->pids_seen;
	}
	if (cgroup_get(dir, "pids.events", text, sizeof(text)) == 0)
		(void)cgroup_parse_key(text, "max", &ret->pids_hits);
}

/* The total is exact; how it divides is known in clock ticks only. */
static void v1_sample_cpu(int dir, struct jail_usage *ret)
{
	char text[CGROUP_FILE_MAX];
	uint64_t ns, user, sys;

	if (!cgroup_get_u64(dir, "cpuacct.usage", &ns))
		return;
	ret->cpu_us = ns / 1000;
	if (!cgroup_get_u64(dir, "cpuacct.usage_user", &user) || !cgroup_get_u64(dir, "cpuacct.usage_sys", &sys)) {
		if (cgroup_get(dir, "cpuacct.stat", text, sizeof(text)) < 0 ||
		    !cgroup_parse_key(text, "user", &user) || !cgroup_parse_key(text, "system", &sys))
			return;
	}
	/* Shorter than a tick counts as user time, as in the kernel's own division. */
	ret->sys_us = user + sys ? (uint64_t)((double)ret->cpu_us * (double)sys / ((double)user + (double)sys)) : 0;
	ret->user_us = ret->cpu_us - ret->sys_us;
}

static void v1_sample(struct cgroup *cg, const struct cgroup_dir *d, struct jail_usage *ret)
{
	if (d->ctls & CGROUP_BIT(CGROUP_MEMORY))
		v1_sample_memory(cg, d->fd, ret);
	if (d->ctls & CGROUP_BIT(CGROUP_PIDS))
		v1_sample_pids(cg, d->fd, ret);
	if (d->ctls & CGROUP_BIT(CGROUP_CPUACCT))
		v1_sample_cpu(d->fd, ret);
}

static unsigned int v1_glance(struct cgroup *cg, const struct cgroup_dir *d, struct jail_usage *ret)
{
	unsigned int known = 0;
	uint64_t ns;

	(void)cg;
	if ((d->ctls & CGROUP_BIT(CGROUP_MEMORY)) && cgroup_get_u64(d->fd, "memory.max_usage_in_bytes", &ret->memory_peak))
		known |= CGROUP_BIT(CGROUP_MEMORY);
	if ((d->ctls & CGROUP_BIT(CGROUP_CPUACCT)) && cgroup_get_u64(d->fd, "cpuacct.usage", &ns)) {
		ret->cpu_us = ns / 1000;
		known |= CGROUP_BIT(CGROUP_CPUACCT);
	}
	return known;
}

const struct cgroup_ops cgroup_v1_ops = { .word = "cgroup1", .limit = v1_limit, .sample = v1_sample, .glance = v1_glance };

/* ---- directories ------------------------------------------------------------------ */

/* Controllers that are mounted together share one directory. */
static unsigned int comounted(const struct cgroup_map *map, size_t first)
{
	unsigned int bits = 0;

	for (size_t c = first; c < CGROUP_CTLS; c++)
		if (strcmp(map->dir[c], map->dir[first]) == 0)
			bits |= CGROUP_BIT(c);
	return bits;
}

static void open_tree(struct cgroup *cg, const struct cgroup_map *map, size_t c, unsigned int ctls)
{
	_cleanup_close_ int parent = -1;
	struct cgroup_dir *d;
	const char *step = "open";
	int r;

	parent = r = cgroup_dir_open(&cg->env, map->dir[c], CGROUP_SUPER_MAGIC);
	if (r >= 0) {
		cgroup_sweep(&cg->env, parent);
		r = cgroup_add_dir(cg, parent, &cgroup_v1_ops, &step);
	}
	if (r < 0) {
		cgroup_note_miss(cg, &cgroup_v1_ops, ctls, -r, step, map->dir[c]);
		return;
	}
	d = &cg->dirs[r];
	d->ctls = ctls;
	d->join = openat(d->fd, "tasks", O_WRONLY | O_CLOEXEC);
	cgroup_limit_dir(cg, d, ctls, map->dir[c]);
}

void cgroup_v1_open(struct cgroup *cg, const struct cgroup_map *map)
{
	for (size_t c = 0; c < CGROUP_CTLS; c++) {
		unsigned int ctls;

		if (!map->dir[c][0] || (cgroup_served(cg) & CGROUP_BIT(c)))
			continue;
		ctls = comounted(map, c) & ~cgroup_served(cg);
		open_tree(cg, map, c, ctls);
	}
}
