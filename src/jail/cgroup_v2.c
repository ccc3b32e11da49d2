/*
 * cgroup_v2.c - limits and counters of control groups version 2, the unified tree
 *
 * Runs as: the supervisor, which may move itself one level down to make room
 * Trusts: the kernel's files
 * Never: moves a process that is not this one, or uses a group that systemd did not delegate
 */
/*
 * A group that gives controllers to its children may hold no processes, and the
 * supervisor sits in the very group that it wants to use. So it steps aside:
 *
 *	X			X			cgroup.subtree_control: memory pids cpu
 *	`- (supervisor)		|- supervisor/		(supervisor)
 *				`- smoljail-1-2-3/	(jail)
 *
 * Only when it is alone in X: other processes belong to somebody who may rely on
 * where they are. Who already sits in a group called "supervisor" or "init"
 * (systemd's DelegateSubgroup=, container images) uses the group above it.
 */
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "jail/cgroup_internal.h"

/* ---- limits ------------------------------------------------------------------ */

static int v2_memory(int dir, const struct jail_limits *l, const char **ret_file)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	int r;

	*ret_file = "memory.max";
	r = cgroup_set_u64(dir, *ret_file, l->memory, page - 1);
	if (r < 0)
		return r;
	/* Absent without swap accounting; the memory limit holds all the same. */
	*ret_file = "memory.swap.max";
	r = cgroup_set_u64(dir, *ret_file, l->swap, page - 1);
	if (r < 0 && r != -ENOENT)
		return r;
	/* Half a killed jail is of no use to anybody. Older kernels kill one process at a time. */
	(void)cgroup_put(dir, "memory.oom.group", "1");
	return 0;
}

static int v2_limit(int dir, enum cgroup_ctl ctl, const struct jail_limits *l, const char **ret_file)
{
	char text[CGROUP_VALUE_MAX];
	uint64_t quota, period;

	switch (ctl) {
	case CGROUP_MEMORY:
		return v2_memory(dir, l, ret_file);
	case CGROUP_PIDS:
		*ret_file = "pids.max";
		return cgroup_set_u64(dir, *ret_file, l->pids, 0);
	case CGROUP_CPU:
		*ret_file = "cpu.max";
		cgroup_quota(l->cpu_milli, &quota, &period);
		(void)snprintf(text, sizeof(text), "%llu %llu", (unsigned long long)quota, (unsigned long long)period);
		return cgroup_set(dir, *ret_file, text);
	case CGROUP_CPUACCT:
	case CGROUP_CTLS:
		break;
	}
	return 0;
}

/* ---- counters ------------------------------------------------------------------ */

static bool v2_sample_cpu(int dir, struct jail_usage *ret)
{
	char text[CGROUP_FILE_MAX];

	if (cgroup_get(dir, "cpu.stat", text, sizeof(text)) < 0)
		return false;
	(void)cgroup_parse_key(text, "user_usec", &ret->user_us);
	(void)cgroup_parse_key(text, "system_usec", &ret->sys_us);
	return cgroup_parse_key(text, "usage_usec", &ret->cpu_us);
}

/* The kernel's own peak, or the highest value that was seen where it keeps none. */
static bool peak(int dir, const char *peak_file, const char *current_file, uint64_t *seen)
{
	uint64_t v;

	if (!cgroup_get_u64(dir, peak_file, &v) && !cgroup_get_u64(dir, current_file, &v))
		return false;
	if (v > *seen)
		*seen = v;
	return true;
}

static void v2_sample(struct cgroup *cg, const struct cgroup_dir *d, struct jail_usage *ret)
{
	char text[CGROUP_FILE_MAX];

	(void)v2_sample_cpu(d->fd, ret);
	if (d->ctls & CGROUP_BIT(CGROUP_MEMORY)) {
		if (peak(d->fd, "memory.peak", "memory.current", &cg->memory_seen))
			ret->memory_peak = cg->memory_seen;
		if (cgroup_get(d->fd, "memory.events", text, sizeof(text)) == 0) {
			(void)cgroup_parse_key(text, "oom_kill", &ret->oom_kills);
			(void)cgroup_parse_key(text, "max", &ret->memory_hits);
		}
	}
	if (d->ctls & CGROUP_BIT(CGROUP_PIDS)) {
		if (peak(d->fd, "pids.peak", "pids.current", &cg->pids_seen))
			ret->pids_peak = (uint32_t)cg->pids_seen;
		if (cgroup_get(d->fd, "pids.events", text, sizeof(text)) == 0)
			(void)cgroup_parse_key(text, "max", &ret->pids_hits);
	}
}

static unsigned int v2_glance(struct cgroup *cg, const struct cgroup_dir *d, struct jail_usage *ret)
{
	unsigned int known = 0;

	if (v2_sample_cpu(d->fd, ret))
		known |= CGROUP_BIT(CGROUP_CPUACCT);
	if ((d->ctls & CGROUP_BIT(CGROUP_MEMORY)) && peak(d->fd, "memory.peak", "memory.current", &cg->memory_seen)) {
		ret->memory_peak = cg->memory_seen;
		known |= CGROUP_BIT(CGROUP_MEMORY);
	}
	return known;
}

const struct cgroup_ops cgroup_v2_ops = { .word = "cgroup2", .limit = v2_limit, .sample = v2_sample, .glance = v2_glance };

/* ---- a base that may carry jails -------------------------------------------------- */

static unsigned int controllers(int dir, const char *file)
{
	char text[CGROUP_FILE_MAX];

	return cgroup_get(dir, file, text, sizeof(text)) == 0 ? cgroup_parse_list(text) : 0;
}

bool cgroup_v2_carries(const struct cgroup *cg, const struct cgroup_map *map, unsigned int ctls)
{
	_cleanup_close_ int top = -1;
	char point[CGROUP_PATH_MAX];

	if (!map->dir[CGROUP_UNIFIED][0])
		return false;
	memcpy(point, map->dir[CGROUP_UNIFIED], map->point[CGROUP_UNIFIED]);
	point[map->point[CGROUP_UNIFIED]] = '\0';
	top = cgroup_dir_open(&cg->env, point, CGROUP2_SUPER_MAGIC);
	return top >= 0 && (controllers(top, "cgroup.controllers") & ctls);
}

/* Do we sit in a place beside the jails already? */
static bool sits_aside(const struct cgroup_map *map)
{
	const char *below = map->dir[CGROUP_UNIFIED] + map->point[CGROUP_UNIFIED];
	const char *last = strrchr(below, '/');

	return last && (strcmp(last, "/" CGROUP_ASIDE) == 0 || strcmp(last, "/init") == 0);
}

static int open_base(const struct cgroup *cg, const struct cgroup_map *map, bool *ret_own)
{
	_cleanup_close_ int own = cgroup_dir_open(&cg->env, map->dir[CGROUP_UNIFIED], CGROUP2_SUPER_MAGIC);
	int up;

	*ret_own = !sits_aside(map);
	if (own < 0 || *ret_own)
		return steal_fd(own);
	up = openat(own, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return up < 0 ? -errno : up;
}

/* systemd marks what it handed out, and removes it with all that is below. */
static bool is_marked(int base)
{
	char value[4];

	return (fgetxattr(base, "user.delegate", value, sizeof(value)) == 1 && value[0] == '1') ||
	       (fgetxattr(base, "trusted.delegate", value, sizeof(value)) == 1 && value[0] == '1');
}

/*
 * For an ordinary user the permissions of the directory tell. Root may write
 * anywhere, but in a group that systemd did not delegate it takes controllers
 * back at any time, and limits would be gone that the report claims.
 */
static bool is_delegated(const struct cgroup *cg, int base)
{
	return geteuid() != 0 || faccessat(cg->env.root, CGROUP_SYSTEMD, F_OK, 0) < 0 || is_marked(base);
}

/* Held shared by every user of the base; who puts it back to its old state must be the only one. */
static int lock_base(int base)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	for (unsigned int i = 0; i < CGROUP_LOCK_TRIES; i++) {
		if (flock(base, LOCK_SH | LOCK_NB) == 0)
			return 0;
		if (errno != EWOULDBLOCK)
			return -errno;
		(void)nanosleep(&pause, NULL);
	}
	return -EBUSY;
}

static int move_self(const struct cgroup *cg, const char *procs)
{
	char pid[16];

	(void)snprintf(pid, sizeof(pid), "%d", (int)cg->env.pid);
	return cgroup_put(cg->base, procs, pid);
}

/* -EBUSY when somebody else is in the base. */
static int step_aside(struct cgroup *cg)
{
	char procs[32], pid[16];
	int r = cgroup_get(cg->base, "cgroup.procs", procs, sizeof(procs));

	if (r < 0)
		return r == -EFBIG ? -EBUSY : r;
	if (procs[0] == '\0')	/* another thread of ours was faster */
		return 0;
	(void)snprintf(pid, sizeof(pid), "%d", (int)cg->env.pid);
	if (strcmp(procs, pid) != 0)
		return -EBUSY;
	if (mkdirat(cg->base, CGROUP_ASIDE, 0755) < 0 && errno != EEXIST)
		return -errno;
	r = move_self(cg, CGROUP_ASIDE "/cgroup.procs");
	if (r < 0) {
		(void)unlinkat(cg->base, CGROUP_ASIDE, AT_REMOVEDIR);
		return r;
	}
	cg->aside = true;
	return 0;
}

static int switch_controllers(int base, char sign, unsigned int ctls)
{
	char text[CGROUP_VALUE_MAX] = "";
	size_t n = 0;

	for (unsigned int c = 0; c < CGROUP_CTLS; c++)
		if (ctls & CGROUP_BIT(c))
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%c%s", n ? " " : "", sign,
					      cgroup_ctl_name((enum cgroup_ctl)c));
	return cgroup_put(base, "cgroup.subtree_control", text);
}

/* One controller may be impossible here (cpu beside real-time tasks) while the others are not. */
static int enable_each(struct cgroup *cg, unsigned int ctls)
{
	int r = 0, last = 0;

	for (unsigned int c = 0; c < CGROUP_CTLS; c++) {
		if (!(ctls & CGROUP_BIT(c)))
			continue;
		r = switch_controllers(cg->base, '+', CGROUP_BIT(c));
		if (r == 0)
			cg->enabled |= CGROUP_BIT(c);
		else
			last = r;
	}
	return cg->enabled ? 0 : last;
}

static int enable(struct cgroup *cg, bool own, unsigned int want)
{
	for (unsigned int i = 0; i < CGROUP_ENABLE_TRIES; i++) {
		unsigned int missing = want & ~controllers(cg->base, "cgroup.subtree_control");
		int r = missing ? switch_controllers(cg->base, '+', missing) : 0;

		if (r == 0) {
			cg->enabled |= missing;
			return 0;
		}
		if (r != -EBUSY)
			return enable_each(cg, missing);
		if (!own)
			return r;
		r = step_aside(cg);
		if (r < 0)
			return r;
	}
	return -EBUSY;
}

/* ---- opening and leaving -------------------------------------------------------------- */

static int prepare_base(struct cgroup *cg, const struct cgroup_map *map, unsigned int *ret_ctls, const char **ret_step)
{
	bool own;
	int r;

	*ret_step = "open";
	cg->base = r = open_base(cg, map, &own);
	if (r < 0)
		return r;
	*ret_ctls = controllers(cg->base, "cgroup.controllers") & CGROUP_LIMITS;
	*ret_step = NULL;
	if (*ret_ctls == 0)
		return -ENODEV;
	*ret_step = "use, which systemd has not delegated,";
	if (!is_delegated(cg, cg->base))
		return -EPERM;
	*ret_step = "lock";
	r = lock_base(cg->base);
	if (r < 0)
		return r;
	r = enable(cg, own, *ret_ctls);
	*ret_step = r == -EBUSY ? "enable controllers among the other processes of" : "enable controllers in";
	if (r < 0)
		return r;
	*ret_ctls &= controllers(cg->base, "cgroup.subtree_control");
	return 0;
}

void cgroup_v2_open(struct cgroup *cg, const struct cgroup_map *map)
{
	const char *path = map->dir[CGROUP_UNIFIED], *step = NULL;
	unsigned int ctls = 0;
	int r;

	if (!path[0])
		return;
	r = prepare_base(cg, map, &ctls, &step);
	if (r == 0) {
		cgroup_sweep(&cg->env, cg->base);
		r = cgroup_add_dir(cg, cg->base, &cgroup_v2_ops, &step);
	}
	if (r < 0) {
		cgroup_note_miss(cg, &cgroup_v2_ops, CGROUP_LIMITS, -r, step, path);
		cgroup_v2_leave(cg);
		return;
	}
	/* Every group counts CPU time, with or without the controller. */
	cg->dirs[r].ctls = ctls | CGROUP_BIT(CGROUP_CPUACCT);
	cgroup_limit_dir(cg, &cg->dirs[r], ctls, path);
}

/* In a group of systemd's we stay aside: the next jail is faster, and nothing remains when we end. */
void cgroup_v2_leave(struct cgroup *cg)
{
	if (cg->base < 0)
		return;
	if (cg->aside && !cg->scoped && !is_marked(cg->base) && flock(cg->base, LOCK_EX | LOCK_NB) == 0) {
		(void)switch_controllers(cg->base, '-', cg->enabled);
		(void)move_self(cg, "cgroup.procs");
		(void)unlinkat(cg->base, CGROUP_ASIDE, AT_REMOVEDIR);
	}
	cg->aside = false;
	cg->enabled = 0;
	base_closep(&cg->base);
}
