/*
 * light.c - the phases of a jail without namespaces, for hosts that refuse them
 *
 * Runs as: the clone, as the caller's own user, or as a stranger where root calls
 * Trusts: struct launch, prepared by the supervisor
 * Never: goes on as root; allocates, uses stdio, parses, or goes on after a phase failed
 */
/*
 * Theory of operation. The same three processes as in launch.c, but nothing
 * hides the host: Landlock closes all paths but those of the plan, and the
 * filter's group "@isolation-landlock" closes what Landlock does not cover.
 *
 * Two Landlock domains, one in the other. The outer one, "scope", is init's and
 * holds signals only: so kill(-1) from init reaches the jail's processes and no
 * other of the user's, and the kernel sends it to all of them while none of them
 * can fork (it holds the lock that fork needs, and fork gives up when a signal is
 * pending). The inner one is the guest's: it reaches neither the host nor init.
 * Init is a subreaper: whoever leaves his parent behind becomes its child, so it
 * knows by wait() when nobody is left.
 */
#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/base.h"
#include "jail/internal.h"

/* Until init takes over, the supervisor's death is the child's. */
static int li_cgroup(struct launch *l)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return -errno;
	for (size_t i = 0; i < l->n_join; i++)
		if (write(l->join[i], "0", 1) != 1)
			return -errno;
	return 0;
}

static int li_session(struct launch *l)
{
	int r;

	(void)l;
	if (setsid() < 0)
		return -errno;
	r = privs_normalise_signals();
	(void)umask(022);
	return r;
}

/* A change of ids clears the parent-death signal (prctl(2)), so it is set once more. */
static int li_privileges(struct launch *l)
{
	int r = privs_drop_outside(l->ids.outer_uid, l->ids.outer_gid, l->ids.mapped_away);

	if (r < 0)
		return r;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return -errno;
	return 0;
}

static int open_path(const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

static int check_kind(const struct light_path *p)
{
	struct stat st;

	if (fstat(p->fd, &st) < 0)
		return -errno;
	if (p->access == LIGHT_DEVICE)
		return S_ISCHR(st.st_mode) && st.st_rdev == p->rdev ? 0 : -ENXIO;
	if (S_ISDIR(st.st_mode) != p->is_dir || (!p->is_dir && !S_ISREG(st.st_mode)))
		return -ENOTDIR;
	/* What the user named must be of use; for an ordinary user it is as readable as outside. */
	if (p->user && faccessat(AT_FDCWD, p->path, R_OK | (p->is_dir ? X_OK : 0), AT_EACCESS) < 0)
		return -errno;
	return 0;
}

/* As the jail's user: what that may not reach, the program does not get. */
static int li_sources(struct launch *l)
{
	for (size_t i = 0; i < l->light.n; i++) {
		struct light_path *p = &l->light.paths[i];
		int r;

		l->detail = p->path;
		p->fd = open_path(p->path);
		if (p->fd < 0)
			return p->fd;
		r = check_kind(p);
		if (r < 0)
			return r;
	}
	l->detail = l->spec->home;
	return fchdir(l->home.work) < 0 ? -errno : 0;
}

/* From here on the end of the control socket tells of the supervisor's death: init, killed, could end nobody. */
static int li_scope(struct launch *l)
{
	(void)l;
	if (prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0) < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		return -errno;
	return landlock_restrict_scope();
}

static int li_landlock(struct launch *l)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return -errno;
	return landlock_restrict_paths(l->light.paths, l->light.n, l->landlock);
}

const struct phase light_phases[] = {
	{ "clone", BY_SUPERVISOR, NULL, "supervisor", "nothing yet: no namespace is made" },
	{ "cgroup", BY_CHILD, li_cgroup, "child", "more memory, processes and CPU than the limits, where there is a cgroup" },
	{ "session", BY_CHILD, li_session, "child", "the terminal, inherited signal handling and umask" },
	{ "privileges", BY_CHILD, li_privileges, "child", "root's ids and all capabilities; gaining any by exec" },
	{ "sources", BY_CHILD, li_sources, "child", "every host path that is not opened here" },
	{ "scope", BY_CHILD, li_scope, "child", "signals to all but the jail's processes" },
	{ "landlock", BY_GUEST, li_landlock, "guest", "files beyond the list, TCP, signals to init, abstract sockets" },
	{ "descriptors", BY_GUEST, child_descriptors, "guest", "every descriptor but the streams and the boot record" },
	{ "rlimits", BY_GUEST, child_rlimits, "guest", "core files, locked memory, priorities, more than the limits" },
	{ "guest", BY_GUEST, child_guest, "guest", "the launcher's code and memory, by exec" },
	{ "seccomp", BY_SUPERVISOR, NULL, "guest", "system calls beyond the policy; the boot record is closed" },
	{ .name = NULL },
};
