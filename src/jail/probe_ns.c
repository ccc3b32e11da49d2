/*
 * probe_ns.c - facts on namespaces and mounts, by the very steps that a launch takes
 *
 * Runs as: a child in new namespaces
 * Trusts: nothing
 * Never: allocates memory in the child; mounts anything outside of its own mount namespace
 */
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "jail/internal.h"
#include "jail/probe.h"

#define ALL_NAMESPACES (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS)
#define BIND_FROM "/usr"	/* a folder that every system has and everybody may enter */

/* For functions that return -errno. */
static bool check(struct probe_result *r, int error, const char *step)
{
	if (error >= 0)
		return true;
	errno = -error;
	return probe_failed(r, step);
}

static void act_nothing(_unused_ struct probe_result *r)
{
}

static void act_hostname(struct probe_result *r)
{
	(void)check(r, sethostname("jail", 4) < 0 ? -errno : 0, "hostname");
}

/* The limit must be writable, and hold. */
static void act_no_nested(struct probe_result *r)
{
	_cleanup_close_ int fd = open("/proc/sys/user/max_user_namespaces", O_WRONLY | O_CLOEXEC);

	if (!check(r, fd < 0 ? -errno : 0, "no_nested_userns") ||
	    !check(r, write(fd, "0", 1) == 1 ? 0 : -errno, "no_nested_userns"))
		return;
	if (unshare(CLONE_NEWUSER) == 0)
		(void)check(r, -EEXIST, "no_nested_userns");
}

static bool make_private(struct probe_result *r)
{
	return check(r, mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ? -errno : 0, "private_mounts");
}

static void act_tmpfs(struct probe_result *r)
{
	int fd;

	if (!make_private(r))
		return;
	fd = mount_root("/");
	(void)check(r, fd, "root_tmpfs");
	base_closep(&fd);
}

static void act_bind_ro(struct probe_result *r)
{
	struct mount_op op = { .kind = MOUNT_BIND, .src = BIND_FROM, .is_dir = true, .tree = -1,
			       .attrs = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV };

	(void)check(r, mount_open_source(&op, -1), "sources");
	base_closep(&op.tree);
}

static void act_proc(struct probe_result *r)
{
	_cleanup_close_ int fs = -1, mnt = -1;

	fs = (int)syscall(SYS_fsopen, "proc", FSOPEN_CLOEXEC);
	if (fs < 0 || syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		goto fail;
	mnt = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, 0);
	if (mnt >= 0)
		return;
fail:
	(void)probe_failed(r, "proc");
}

static void act_proc_subset(struct probe_result *r)
{
	_cleanup_close_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (!make_private(r) || !check(r, root < 0 ? -errno : 0, "proc"))
		return;
	(void)check(r, mount_proc(root), "proc");
}

static void act_loopback(struct probe_result *r)
{
	struct ifreq ifr = { .ifr_name = "lo" };
	_cleanup_close_ int route = net_open_route();
	_cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (!check(r, route, "network") || !check(r, fd < 0 ? -errno : 0, "network"))
		return;
	if (ioctl(fd, SIOCGIFFLAGS, &ifr) == 0) {
		ifr.ifr_flags |= IFF_UP;
		if (ioctl(fd, SIOCSIFFLAGS, &ifr) == 0)
			return;
	}
	(void)probe_failed(r, "network");
}

/* Leaves the host's root as a launch does, and makes the new one read-only. */
static void act_pivot(struct probe_result *r)
{
	const struct mount_plan none = { 0 };
	struct mount_fail where;
	int root;

	if (!make_private(r))
		return;
	root = mount_root("/");
	if (!check(r, root, "root_tmpfs"))
		return;
	if (check(r, mount_pivot(root), "pivot"))
		(void)check(r, mount_seal(&none, &where), "read_only");
	base_closep(&root);
}

static void act_cgroupns(struct probe_result *r)
{
	(void)check(r, unshare(CLONE_NEWCGROUP) < 0 ? -errno : 0, "cgroup");
}

static const struct probe {
	const char *id;
	uint64_t flags;
	bool map;
	probe_act *act;
	enum probe_state bad;
} probes[] = {
	{ "userns.create", CLONE_NEWUSER, false, act_nothing, PROBE_FAIL },
	{ "userns.map", CLONE_NEWUSER, true, act_nothing, PROBE_FAIL },
	{ "userns.caps", CLONE_NEWUSER | CLONE_NEWUTS, true, act_hostname, PROBE_FAIL },
	{ "userns.no_nested", CLONE_NEWUSER, true, act_no_nested, PROBE_FAIL },
	{ "namespaces", ALL_NAMESPACES, true, act_nothing, PROBE_FAIL },
	{ "cgroupns", CLONE_NEWUSER, true, act_cgroupns, PROBE_FAIL },
	{ "netns.lo", CLONE_NEWUSER | CLONE_NEWNET, true, act_loopback, PROBE_WARN },
	{ "mount.tmpfs", CLONE_NEWUSER | CLONE_NEWNS, true, act_tmpfs, PROBE_FAIL },
	{ "mount.bind_ro", CLONE_NEWUSER | CLONE_NEWNS, true, act_bind_ro, PROBE_FAIL },
	{ "proc.fresh", CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID, true, act_proc, PROBE_FAIL },
	{ "proc.subset", CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID, true, act_proc_subset, PROBE_FAIL },
	{ "pivot_root", CLONE_NEWUSER | CLONE_NEWNS, true, act_pivot, PROBE_FAIL },
};

static void not_tried(struct probe_walk *w, const struct probe *p, const char *needs)
{
	char why[64];

	snprintf(why, sizeof(why), "it needs %s", needs);
	probe_say(w, p->id, p->bad, why, "see there", "not tried");
}

void probe_namespaces(struct probe_walk *w)
{
	for (size_t i = 0; i < ARRAY_LEN(probes); i++) {
		const struct probe *p = &probes[i];
		const struct probe_task task = { .flags = p->flags, .map = p->map, .act = p->act };
		struct probe_result r;

		if (w->no_userns || (p->map && w->no_map)) {
			not_tried(w, p, w->no_userns ? "userns.create" : "userns.map");
			continue;
		}
		probe_try(&task, &r);
		if (!r.error) {
			probe_say(w, p->id, PROBE_OK, NULL, NULL, "yes");
			continue;
		}
		probe_say_failure(w, p->id, p->bad, &r);
		if (strcmp(p->id, "userns.create") == 0)
			w->no_userns = true;
		if (strcmp(p->id, "userns.map") == 0)
			w->no_map = true;
	}
}
