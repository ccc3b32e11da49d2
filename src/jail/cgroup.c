/*
 * cgroup.c - one run's control groups: choose, limit, count, remove
 *
 * Runs as: the supervisor, outside the jail
 * Trusts: the kernel's files; limits that were checked
 * Never: claims a limit that no group holds
 */
/*
 * The ladder, from the top: a version 2 group of our own; a scope that systemd
 * delegates on request; one version 1 directory a controller. A machine may have
 * some controllers here and some there, so each rung serves what is not served
 * yet, and each limit knows which rung holds it. A controller that refuses is
 * no error by itself: the launcher goes on down the ladder (rlimits, polling).
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "jail/cgroup_internal.h"

#define JOIN_PAUSE_NS 50000

/* ---- bookkeeping ------------------------------------------------------------- */

unsigned int cgroup_wanted(const struct jail_limits *l)
{
	return (l->memory ? CGROUP_BIT(CGROUP_MEMORY) : 0) | (l->pids ? CGROUP_BIT(CGROUP_PIDS) : 0) |
	       (l->cpu_milli ? CGROUP_BIT(CGROUP_CPU) : 0);
}

unsigned int cgroup_served(const struct cgroup *cg)
{
	unsigned int bits = 0;

	for (size_t i = 0; i < cg->n_dirs; i++)
		bits |= cg->dirs[i].ctls;
	return bits;
}

unsigned int cgroup_held(const struct cgroup *cg)
{
	unsigned int bits = 0;

	for (size_t i = 0; i < cg->n_dirs; i++)
		bits |= cg->dirs[i].held;
	return bits;
}

/* A rung that was tried says more than one that does not exist. */
void cgroup_note_miss(struct cgroup *cg, const struct cgroup_ops *ops, unsigned int ctls, int error, const char *step,
		      const char *path)
{
	for (size_t c = 0; c < CGROUP_CTLS; c++) {
		struct cgroup_miss *m = &cg->miss[c];

		if (!(ctls & CGROUP_BIT(c)) || (m->step && !step))
			continue;
		m->ops = ops;
		m->error = error;
		m->step = step;
		(void)snprintf(m->path, sizeof(m->path), "%.*s", (int)sizeof(m->path) - 1, path);
	}
}

/* The first directory finds a free name, the others take the same. */
static int make_dir(struct cgroup *cg, int parent)
{
	uint64_t n = io_now_us() % 1000000;

	for (unsigned int i = 0; i < CGROUP_NAMES_MAX; i++) {
		if (!cg->named)
			(void)snprintf(cg->name + cg->prefix, sizeof(cg->name) - cg->prefix, "%llu",
				       (unsigned long long)(n + i));
		if (mkdirat(parent, cg->name, 0755) == 0) {
			cg->named = true;
			return 0;
		}
		if (errno != EEXIST || cg->named)
			break;
	}
	return -errno;
}

int cgroup_add_dir(struct cgroup *cg, int parent, const struct cgroup_ops *ops, const char **ret_step)
{
	_cleanup_close_ int fd = -1;
	int r;

	*ret_step = "mkdir in";
	r = make_dir(cg, parent);
	if (r < 0)
		return r;
	fd = openat(parent, cg->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* The lock says "alive" to sweepers that cannot see our process. */
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0) {
		r = -errno;
		*ret_step = fd < 0 ? "open the new group in" : "lock the new group in";
		(void)unlinkat(parent, cg->name, AT_REMOVEDIR);
		return r;
	}
	cg->dirs[cg->n_dirs] = (struct cgroup_dir){ .ops = ops, .fd = steal_fd(fd), .join = -1 };
	return (int)cg->n_dirs++;
}

void cgroup_limit_dir(struct cgroup *cg, struct cgroup_dir *d, unsigned int ctls, const char *path)
{
	for (unsigned int c = 0; c < CGROUP_CTLS; c++) {
		const char *file = "";
		char full[sizeof(cg->miss[c].path)];
		int r;

		if (!(ctls & cgroup_wanted(&cg->limits) & CGROUP_BIT(c)))
			continue;
		r = d->ops->limit(d->fd, (enum cgroup_ctl)c, &cg->limits, &file);
		if (r == 0) {
			d->held |= CGROUP_BIT(c);
			continue;
		}
		(void)snprintf(full, sizeof(full), "%.360s/%s/%s", path, cg->name, file);
		cgroup_note_miss(cg, d->ops, CGROUP_BIT(c), -r, "write", full);
	}
}

/* ---- the ladder ---------------------------------------------------------------- */

static int read_proc(const struct cgroup *cg, const char *file, size_t max, char **ret)
{
	_cleanup_close_ int fd = openat(cg->env.proc, file, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : io_read_all(fd, max, ret, NULL);
}

static int read_map(const struct cgroup *cg, struct cgroup_map *ret)
{
	_cleanup_free_ char *mountinfo = NULL, *self = NULL;
	int r = read_proc(cg, "self/mountinfo", CGROUP_MOUNTINFO_MAX, &mountinfo);

	if (r == 0)
		r = read_proc(cg, "self/cgroup", CGROUP_SELF_MAX, &self);
	if (r == 0)
		cgroup_map_parse(mountinfo, self, ret);
	return r;
}

/* A controller is in one hierarchy only: what has a v1 tree cannot be in the v2 tree. */
static bool all_on_v1(const struct cgroup_map *map)
{
	return map->dir[CGROUP_MEMORY][0] && map->dir[CGROUP_PIDS][0] && map->dir[CGROUP_CPU][0];
}

static int climb_v2(struct cgroup *cg, struct cgroup_map *map)
{
	unsigned int wanted = cgroup_wanted(&cg->limits);
	const char *step = NULL;
	int r;

	if (all_on_v1(map))
		return 0;
	cgroup_v2_open(cg, map);
	if (cg->n_dirs > 0 || !cgroup_v2_carries(cg, map, wanted))
		return 0;
	(void)snprintf(cg->name + cg->prefix, sizeof(cg->name) - cg->prefix, "%llu",
		       (unsigned long long)(io_now_us() % 1000000));
	r = scope_enter(&cg->env, cg->name, &step);
	if (r < 0) {
		if (step)
			cgroup_note_miss(cg, &cgroup_v2_ops, wanted, -r, step, map->dir[CGROUP_UNIFIED]);
		else
			cg->no_bus = geteuid() != 0 && faccessat(cg->env.root, CGROUP_SYSTEMD, F_OK, 0) == 0;
		return 0;
	}
	r = read_map(cg, map);
	if (r < 0)
		return r;
	cg->scoped = true;
	cgroup_v2_open(cg, map);
	return 0;
}

static int climb(struct cgroup *cg)
{
	_cleanup_free_ struct cgroup_map *map = malloc(sizeof(*map));
	int r;

	if (!map)
		return -ENOMEM;
	r = cgroup_name_prefix(&cg->env, cg->name, sizeof(cg->name));
	if (r < 0)
		return r;
	cg->prefix = (size_t)r;
	r = read_map(cg, map);
	if (r < 0)
		return r;
	r = climb_v2(cg, map);
	if (r == 0)
		cgroup_v1_open(cg, map);
	return r;
}

/* ---- when the policy insists ------------------------------------------------------ */

#define FIX_ELSE ", or let limits.enforcement be \"best-effort\""

static void fix_for(const struct cgroup *cg, const struct cgroup_miss *m, struct sj_err *err)
{
	unsigned int uid = (unsigned int)geteuid();

	if (!m->step)
		err_fix(err, "mount the control group hierarchies (or boot with this controller)" FIX_ELSE);
	else if (m->error == EROFS)
		err_fix(err, "give the container a writable /sys/fs/cgroup with a cgroup namespace of its own" FIX_ELSE);
	else if (m->ops == &cgroup_v1_ops && (m->error == EACCES || m->error == EPERM))
		err_fix(err, "have groups made that you may use (sudo cgcreate -a USER -t USER -g memory,pids,cpu,cpuacct:jails) "
			"and start smoljail in them by cgexec" FIX_ELSE);
	else if (cg->no_bus && (m->error == EACCES || m->error == EPERM))
		err_fix(err, "sudo loginctl enable-linger %u, then start it with XDG_RUNTIME_DIR=/run/user/%u, where this user's "
			"systemd listens" FIX_ELSE, uid, uid);
	else if (m->error == EACCES || m->error == EPERM || m->error == EBUSY)
		err_fix(err, "start it alone in a delegated group: systemd-run --user --scope -p Delegate=yes smoljail ..."
			FIX_ELSE);
	else
		err_fix(err, "see what `smoljail doctor` says of control groups" FIX_ELSE);
}

/* The first limit that no group holds, in words. */
static int refuse(const struct cgroup *cg, unsigned int missing, struct sj_err *err)
{
	static const char *const what[] = { "memory", "number of processes", "share of the CPU" };
	enum cgroup_ctl c = CGROUP_MEMORY;
	const struct cgroup_miss *m;
	int error;

	while (!(missing & CGROUP_BIT(c)))
		c++;
	m = &cg->miss[c];
	error = m->error ? m->error : ENODEV;
	(void)err_set(err, error, SJ_EXIT_SETUP, "E_CGROUP", "no control group can limit the %s (controller %s)", what[c],
		      cgroup_ctl_name(c));
	if (!m->step)
		err_why(err, "no hierarchy with the controller %s is in sight of this process", cgroup_ctl_name(c));
	else
		err_why(err, "cannot %s %.300s: %s", m->step, m->path,
			error == ENODATA ? "the kernel took another value" : strerror(error));
	fix_for(cg, m, err);
	return -error;
}

/* ---- the public part ---------------------------------------------------------------- */

int cgroup_open_at(const struct cgroup_env *env, const struct jail_limits *limits, struct cgroup **ret,
		   struct sj_err *err)
{
	struct cgroup *cg = calloc(1, sizeof(*cg));
	unsigned int missing;
	int r;

	if (!cg) {
		close(env->root);
		close(env->proc);
		return err_oom(err);
	}
	cg->env = *env;
	cg->limits = *limits;
	cg->base = -1;
	r = climb(cg);
	if (r == -ENOMEM)
		(void)err_oom(err);
	else if (r < 0)	/* no /proc, or one that is not ours: nothing can be held */
		cgroup_note_miss(cg, NULL, CGROUP_LIMITS, -r, "read the table of", "/proc/self");
	missing = limits->require_cgroup ? cgroup_wanted(limits) & ~cgroup_held(cg) : 0;
	if (r != -ENOMEM)
		r = missing ? refuse(cg, missing, err) : 0;
	if (r < 0) {
		(void)cgroup_close(cg);
		return r;
	}
	base_closep(&cg->env.root);
	*ret = cg;
	return 0;
}

int cgroup_open(const struct jail_limits *limits, struct cgroup **ret, struct sj_err *err)
{
	struct cgroup_env env = {
		.root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC),
		.proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC),
		.pid = getpid(),
	};

	return cgroup_open_at(&env, limits, ret, err);
}

int cgroup_clone_fd(const struct cgroup *cg)
{
	for (size_t i = 0; i < cg->n_dirs; i++)
		if (cg->dirs[i].ops == &cgroup_v2_ops)
			return cg->dirs[i].fd;
	return -1;
}

size_t cgroup_join_fds(struct cgroup *cg, int ret_fds[CGROUP_JOIN_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < cg->n_dirs && n < CGROUP_JOIN_MAX; i++)
		if (cg->dirs[i].join >= 0)
			ret_fds[n++] = cg->dirs[i].join;
	cg->joining = n > 0;
	return n;
}

/* Any controller of the directory finds its line. */
static bool is_inside(const struct cgroup *cg, const struct cgroup_dir *d, const char *self)
{
	size_t tree = CGROUP_UNIFIED;

	if (d->ops == &cgroup_v1_ops)
		for (tree = 0; !(d->ctls & CGROUP_BIT(tree));)
			tree++;
	return cgroup_self_in(self, tree, cg->name);
}

/* The group's own word: it holds one process, or none. */
static bool is_listed(const struct cgroup_dir *d, pid_t pid)
{
	char procs[CGROUP_FILE_MAX], line[16];

	(void)snprintf(line, sizeof(line), "%d", (int)pid);
	return cgroup_get(d->fd, "cgroup.procs", procs, sizeof(procs)) == 0 && strcmp(procs, line) == 0;
}

static int move_in(struct cgroup *cg, pid_t pid, const bool *inside)
{
	char text[16];
	int r = 0;

	(void)snprintf(text, sizeof(text), "%d", (int)pid);
	for (size_t i = 0; i < cg->n_dirs && r == 0; i++)
		if (!inside[i])
			r = cgroup_put(cg->dirs[i].fd, "cgroup.procs", text);
	return r;
}

/* Is the process in all of them? Where /proc hides it (hidepid), the groups are asked. */
static int look(const struct cgroup *cg, pid_t pid, bool *ret_inside, bool *ret_all)
{
	_cleanup_free_ char *self = NULL;
	char file[32];
	int r;

	(void)snprintf(file, sizeof(file), "%d/cgroup", (int)pid);
	r = read_proc(cg, file, CGROUP_SELF_MAX, &self);
	if (r < 0 && r != -ENOENT && r != -EPERM && r != -EACCES)
		return r;
	*ret_all = true;
	for (size_t i = 0; i < cg->n_dirs; i++) {
		ret_inside[i] = r < 0 ? is_listed(&cg->dirs[i], pid) : is_inside(cg, &cg->dirs[i], self);
		*ret_all = *ret_all && ret_inside[i];
	}
	return 0;
}

static int verify(struct cgroup *cg, pid_t pid)
{
	const struct timespec pause = { .tv_nsec = JOIN_PAUSE_NS };
	uint64_t deadline = io_now_us() + (cg->joining ? CGROUP_JOIN_US : 0);

	for (bool moved = false;;) {
		bool inside[CGROUP_CTLS], all;
		int r = look(cg, pid, inside, &all);

		if (r < 0 || all)
			return r;
		if (moved)
			return -EAGAIN;
		if (io_now_us() < deadline) {
			(void)nanosleep(&pause, NULL);
			continue;
		}
		r = move_in(cg, pid, inside);
		if (r < 0)
			return r;
		moved = true;
	}
}

int cgroup_attach(struct cgroup *cg, pid_t pid, struct sj_err *err)
{
	int r = cg->n_dirs > 0 ? verify(cg, pid) : 0;

	if (r < 0) {
		(void)err_set(err, -r, SJ_EXIT_SETUP, "E_CGROUP_ATTACH", "the jail could not be moved into its control group %s",
			      cg->name);
		err_why(err, "%s", r == -EAGAIN ? "the kernel shows it in another group" : strerror(-r));
		err_fix(err, "see that nothing else moves processes between control groups (cgrulesengd does)");
		return r;
	}
	for (size_t i = 0; i < cg->n_dirs; i++)
		base_closep(&cg->dirs[i].join);
	base_closep(&cg->env.proc);
	return 0;
}

void cgroup_enforced(const struct cgroup *cg, struct jail_enforced *ret)
{
	*ret = (struct jail_enforced){ 0 };
	for (size_t i = 0; i < cg->n_dirs; i++) {
		const struct cgroup_dir *d = &cg->dirs[i];

		if (d->held & CGROUP_BIT(CGROUP_MEMORY))
			ret->memory = d->ops->word;
		if (d->held & CGROUP_BIT(CGROUP_PIDS))
			ret->pids = d->ops->word;
		if (d->held & CGROUP_BIT(CGROUP_CPU))
			ret->cpu = d->ops->word;
		if ((d->ctls & CGROUP_BIT(CGROUP_CPUACCT)) && cg->limits.cpu_ms)
			ret->cpu_time = d->ops->word;
	}
}

void cgroup_sample(struct cgroup *cg, struct jail_usage *ret)
{
	for (size_t i = 0; i < cg->n_dirs; i++)
		cg->dirs[i].ops->sample(cg, &cg->dirs[i], ret);
}

bool cgroup_glance(struct cgroup *cg, struct jail_usage *ret)
{
	unsigned int both = CGROUP_BIT(CGROUP_CPUACCT) | CGROUP_BIT(CGROUP_MEMORY), known = 0;

	for (size_t i = 0; i < cg->n_dirs; i++)
		known |= cg->dirs[i].ops->glance(cg, &cg->dirs[i], ret);
	return known == both;
}

void cgroup_kill(struct cgroup *cg)
{
	int dir = cgroup_clone_fd(cg);

	if (dir >= 0)
		(void)cgroup_put(dir, "cgroup.kill", "1");
}

/* The first directory goes last: as long as it exists, sweepers look for the others. */
struct cgroup *cgroup_close(struct cgroup *cg)
{
	uint64_t deadline = io_now_us() + CGROUP_CLOSE_US;

	if (!cg)
		return NULL;
	while (cg->n_dirs > 0) {
		struct cgroup_dir *d = &cg->dirs[--cg->n_dirs];

		(void)cgroup_rmdir(d->fd, cg->name, deadline);
		base_closep(&d->join);
		base_closep(&d->fd);
	}
	cgroup_v2_leave(cg);
	base_closep(&cg->env.root);
	base_closep(&cg->env.proc);
	free(cg);
	return NULL;
}
