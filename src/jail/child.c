/*
 * child.c - phases are run one by one; those that turn a fresh clone into the inside of a full jail
 *
 * Runs as: the clone; first with all capabilities of its own user namespace, after "privileges" with none
 * Trusts: struct launch, prepared by the supervisor
 * Never: allocates, uses stdio, parses, or goes on after a phase failed
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/base.h"
#include "jail/internal.h"

#define HIGH_FD 512	/* descriptors are parked here while 0, 1, 2 ... are laid */

/* ---- talking to the supervisor ---------------------------------------- */

int child_send(const struct launch *l, enum msg_kind kind, int error, const int *fds, size_t n_fds)
{
	struct jail_msg msg = { .kind = kind, .phase = l->phase, .error = error };

	if (l->detail) {
		size_t len = strlen(l->detail);

		if (len >= sizeof(msg.detail))
			len = sizeof(msg.detail) - 1;
		memcpy(msg.detail, l->detail, len);
	}
	return io_send_fds(l->sock, &msg, sizeof(msg), fds, n_fds);
}

_noreturn_ static void fail(const struct launch *l, int error)
{
	(void)child_send(l, MSG_FAILED, -error, NULL, 0);
	_exit(SJ_EXIT_SETUP);
}

static unsigned int sync_bit(unsigned char byte)
{
	return 1u << (byte & 31);
}

/* End of file means that the supervisor is gone: nothing is left to do. */
void child_wait_for(struct launch *l, enum sync_byte want)
{
	unsigned char byte;

	while (!(l->seen & sync_bit((unsigned char)want))) {
		ssize_t n = recv(l->sock, &byte, 1, 0);

		if (n == 0 || (n < 0 && errno != EINTR))
			_exit(SJ_EXIT_SETUP);
		if (n == 1)
			l->seen |= sync_bit(byte);
	}
}

/* ---- the phases -------------------------------------------------------- */

/*
 * First of all, so that everything later is accounted for. The namespace is
 * made after the move: the run's own cgroup is the root of all that can be seen.
 */
static int ph_cgroup(struct launch *l)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return -errno;
	for (size_t i = 0; i < l->n_join; i++)
		if (write(l->join[i], "0", 1) != 1)
			return -errno;
	if (teeth_out("cgroupns"))
		return 0;
	return unshare(CLONE_NEWCGROUP) < 0 ? -errno : 0;
}

static int ph_session(struct launch *l)
{
	int r;

	child_wait_for(l, SYNC_MAPS);
	if (!teeth_out("session") && setsid() < 0)
		return -errno;
	if (teeth_out("inherited"))
		return 0;
	r = privs_normalise_signals();
	(void)umask(022);
	return r;
}

/* As the caller: what the caller may not read, the jail does not get. */
static int ph_sources(struct launch *l)
{
	for (size_t i = 0; i < l->plan.n; i++) {
		struct mount_op *op = &l->plan.ops[i];
		int r;

		if ((op->kind != MOUNT_BIND && op->kind != MOUNT_DEVICE) || op->tree >= 0)
			continue;
		l->detail = op->src;
		r = mount_open_source(op, -1);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Raw calls: libc's wrappers change the ids of all threads of the program it believes to be in. */
static int ph_identity(struct launch *l)
{
	(void)l;
	if (syscall(SYS_setresgid, JAIL_GID, JAIL_GID, JAIL_GID) < 0 ||
	    syscall(SYS_setresuid, JAIL_UID, JAIL_UID, JAIL_UID) < 0)
		return -errno;
	return 0;
}

static int ph_hostname(struct launch *l)
{
	if (teeth_out("utsns"))
		return 0;
	return sethostname(l->spec->hostname, strlen(l->spec->hostname)) < 0 ? -errno : 0;
}

/* A new network has only lo, and lo is down. Bringing it up is the supervisor's part, by the socket made here. */
static int ph_network(struct launch *l)
{
	int fd, r;

	if (l->spec->net != JAIL_NET_LOOPBACK || teeth_out("netns"))
		return 0;
	fd = net_open_route();
	if (fd < 0)
		return fd;
	r = child_send(l, MSG_ROUTE, 0, &fd, 1);
	close(fd);
	if (r < 0)
		return r;
	child_wait_for(l, SYNC_NET);
	return 0;
}

/* The limit belongs to the namespace of the process that opens the file: it holds for all that is born inside. */
static int ph_no_nested_userns(struct launch *l)
{
	_cleanup_close_ int fd = open("/proc/sys/user/max_user_namespaces", O_WRONLY | O_CLOEXEC);

	(void)l;
	if (teeth_out("nesting"))
		return 0;
	if (fd < 0)
		return -errno;
	return write(fd, "0", 1) == 1 ? 0 : -errno;
}

static int ph_private_mounts(struct launch *l)
{
	(void)l;
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ? -errno : 0;
}

static int ph_root_tmpfs(struct launch *l)
{
	l->detail = "/";
	l->root = mount_root("/");
	return l->root < 0 ? l->root : 0;
}

static int ph_plan(struct launch *l)
{
	struct mount_fail where = { 0 };
	int r = mount_apply(&l->plan, l->root, &where);

	l->detail = where.detail;
	return r;
}

static int ph_proc(struct launch *l)
{
	return mount_proc(l->root);
}

static int ph_pivot(struct launch *l)
{
	return mount_pivot(l->root);
}

static int ph_read_only(struct launch *l)
{
	struct mount_fail where = { 0 };
	int r = mount_seal(&l->plan, &where);

	l->detail = where.detail;
	if (r == 0 && chdir(JAIL_WORK) < 0)
		r = -errno;
	return r;
}

int child_rlimits(struct launch *l)
{
	return teeth_out("rlimits") ? 0 : privs_apply_rlimits(l->rlimits, l->n_rlimits);
}

/* A change of credentials clears the parent-death signal (prctl(2)), so it is set once more. */
static int ph_privileges(struct launch *l)
{
	int r = privs_drop_all();

	(void)l;
	if (r < 0)
		return r;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, teeth_out("dumpable"), 0, 0, 0) < 0)
		return -errno;
	return 0;
}

static int ph_landlock(struct launch *l)
{
	return l->landlock && !teeth_out("landlock") ? landlock_restrict(&l->plan, l->landlock) : 0;
}

static int dup_high(int fd, int n)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD + n);

	return high < 0 ? -errno : high;
}

/* 0, 1, 2 and the extras in order; all else closes at exec. Parked high first, since numbers may overlap. */
static int lay_descriptors(const struct jail_spec *spec)
{
	int high[3 + 8], n = 3 + (int)spec->n_extra;

	if (spec->n_extra > ARRAY_LEN(high) - 3)
		return -E2BIG;
	for (int i = 0; i < n; i++) {
		high[i] = dup_high(i < 3 ? spec->stdio[i] : spec->extra[i - 3], i);
		if (high[i] < 0)
			return high[i];
	}
	for (int i = 0; i < n; i++)
		if (dup2(high[i], i) < 0)
			return -errno;
	return 0;
}

/* Before the limit on open files, which may be lower than the numbers used here. */
int child_descriptors(struct launch *l)
{
	int r = dup_high(l->sock, 100);

	if (r < 0)
		return r;
	l->sock = r;
	r = lay_descriptors(l->spec);
	if (r < 0)
		return r;
	if (teeth_out("descriptors"))
		return 0;
	return syscall(SYS_close_range, 3 + l->spec->n_extra, ~0u, CLOSE_RANGE_CLOEXEC) < 0 ? -errno : 0;
}

int child_guest(struct launch *l)
{
	l->detail = l->spec->path;
	(void)execve(l->spec->path, l->spec->argv, l->spec->envp);
	return -errno;
}

/* ---- the table --------------------------------------------------------- */

const struct phase full_phases[] = {
	{ "clone", BY_SUPERVISOR, NULL, "supervisor", "the host's users, mounts, processes, network, IPC and names" },
	{ "cgroup", BY_CHILD, ph_cgroup, "child", "more memory, processes and CPU than the limits; sight of the cgroup tree" },
	{ "uid_map", BY_SUPERVISOR, NULL, "supervisor", "every user and group id but one" },
	{ "session", BY_CHILD, ph_session, "child", "the terminal, inherited signal handling and umask" },
	{ "sources", BY_CHILD, ph_sources, "child, as the caller", "every host path that is not opened here" },
	{ "identity", BY_CHILD, ph_identity, "child", "the caller's identity" },
	{ "hostname", BY_CHILD, ph_hostname, "child", "the host's name" },
	{ "network", BY_CHILD, ph_network, "child and supervisor", "every interface but lo" },
	{ "no_nested_userns", BY_CHILD, ph_no_nested_userns, "child", "new user namespaces, and with them new capabilities" },
	{ "private_mounts", BY_CHILD, ph_private_mounts, "child", "propagation of mounts to and from the host" },
	{ "root_tmpfs", BY_CHILD, ph_root_tmpfs, "child", "nothing yet: the new root is an empty tmpfs" },
	{ "plan", BY_CHILD, ph_plan, "child", "set-uid files, device files and writing where the plan says so" },
	{ "proc", BY_CHILD, ph_proc, "child", "the host's /proc; the new one shows this jail's processes only" },
	{ "pivot", BY_CHILD, ph_pivot, "child", "the host's file system" },
	{ "read_only", BY_CHILD, ph_read_only, "child", "changes to / and /dev" },
	{ "privileges", BY_CHILD, ph_privileges, "child", "all capabilities, for good; gaining any by exec" },
	{ "landlock", BY_GUEST, ph_landlock, "guest", "file access beyond the plan, signals and sockets to the outside" },
	{ "descriptors", BY_GUEST, child_descriptors, "guest", "every descriptor but the streams and the boot record" },
	{ "rlimits", BY_GUEST, child_rlimits, "guest", "core files, locked memory, priorities, more than the limits" },
	{ "guest", BY_GUEST, child_guest, "guest", "the launcher's code and memory, by exec" },
	{ "seccomp", BY_SUPERVISOR, NULL, "guest", "system calls beyond the policy; the boot record is closed" },
	{ .name = NULL },
};

/* ---- running them -------------------------------------------------------- */

static const struct phase *phases_of(enum jail_isolation isolation)
{
	return isolation == JAIL_LANDLOCK ? light_phases : full_phases;
}

static int index_of(const struct phase *phases, int (*run)(struct launch *))
{
	int i = 0;

	while (phases[i].run != run)
		i++;
	return i;
}

static void run_phases(struct launch *l, enum phase_by by)
{
	const struct phase *phases = phases_of(l->spec->isolation);

	for (int i = 0; phases[i].name; i++) {
		int r;

		if (phases[i].by != by)
			continue;
		l->phase = i;
		l->detail = NULL;
		r = phases[i].run(l);
		if (r < 0)
			fail(l, r);
	}
}

/* The supervisor keeps one descriptor of each writable folder, to ask how full it is. (Without namespaces it made them.) */
static void report_built(struct launch *l)
{
	bool light = l->spec->isolation == JAIL_LANDLOCK;
	int fds[LAUNCH_DISKS], n = 0;

	for (size_t d = 0; d < LAUNCH_DISKS; d++)
		for (size_t i = 0; i < l->plan.n; i++)
			if (l->plan.ops[i].kind == MOUNT_TMPFS && strcmp(l->plan.ops[i].dst, launch_disks[d]) == 0)
				fds[n++] = l->plan.ops[i].tree;
	if (n != (light ? 0 : LAUNCH_DISKS))
		fail(l, -ENOENT);
	if (child_send(l, MSG_BUILT, 0, fds, (size_t)n) < 0)
		_exit(SJ_EXIT_SETUP);
}

void child_main(struct launch *l)
{
	pid_t guest;

	run_phases(l, BY_CHILD);
	report_built(l);
	child_wait_for(l, SYNC_GO);
	guest = (pid_t)syscall(SYS_clone, (unsigned long)SIGCHLD, NULL, NULL, NULL, NULL);
	if (guest == 0) {
		run_phases(l, BY_GUEST);
		_exit(SJ_EXIT_SETUP);
	}
	l->phase = index_of(phases_of(l->spec->isolation), child_guest);
	l->detail = NULL;
	if (guest < 0)
		fail(l, -errno);
	init_main(l, guest);
}

const char *child_phase_name(enum jail_isolation isolation, int phase)
{
	const struct phase *phases = phases_of(isolation);

	for (int i = 0; phases[i].name; i++)
		if (i == phase)
			return phases[i].name;
	return "unknown";
}

const struct jail_phase_text *jail_phase_text(size_t i, struct jail_phase_text *ret)
{
	if (i >= ARRAY_LEN(full_phases) - 1)
		return NULL;
	*ret = (struct jail_phase_text){ full_phases[i].name, full_phases[i].runs_as, full_phases[i].takes_away };
	return ret;
}
