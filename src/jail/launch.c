/*
 * launch.c - start, watch and end one jail
 *
 * Runs as: the supervisor, the caller's user, outside the jail
 * Trusts: the spec; messages from the child until the guest starts, from init after that
 * Never: runs a jail from which a promised layer is missing
 */
/*
 * Theory of operation. Three processes, one socket:
 *
 *	supervisor	prepares struct launch and a cgroup, clones the child, writes its id
 *			maps, then waits; later reads counters and kills
 *	child		(child.c) joins the cgroup, walks the table of phases, each of which gives something up; says
 *			"built", waits for "go", forks the guest, and turns into
 *	init		(init.c) pid 1 of the jail: reaps, passes signals on, reports the guest's end
 *
 * The control socket is SEQPACKET. Child to supervisor: struct jail_msg. Supervisor
 * to child: single bytes (enum sync_byte), and to init: single signal numbers.
 * Either side's end of file ends the jail. Nothing of it reaches the guest.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "jail/internal.h"

#define GROUPS_MAX_SAVED 65536

#ifndef CLONE_INTO_CGROUP
#define CLONE_INTO_CGROUP 0x200000000ull
#endif
#ifndef CLONE_NEWCGROUP
#define CLONE_NEWCGROUP 0x02000000
#endif

struct clone3_args {
	uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size, cgroup;
};

/* ---- cloning ------------------------------------------------------------ */

/*
 * A child of root must not keep root's groups, and cannot drop them itself once
 * setgroups is denied. The raw call changes this thread only, and for a moment.
 */
static int drop_groups(gid_t **ret_saved, long *ret_n, struct sj_err *err)
{
	_cleanup_free_ gid_t *saved = calloc(GROUPS_MAX_SAVED, sizeof(*saved));
	long n;

	if (!saved)
		return err_oom(err);
	n = syscall(SYS_getgroups, GROUPS_MAX_SAVED, saved);
	if (n < 0 || (n > 0 && syscall(SYS_setgroups, 0, NULL) < 0)) {
		int error = errno;

		(void)err_set(err, error, SJ_EXIT_SETUP, "E_GROUPS", "the jail would keep the groups of the user who starts it");
		err_why(err, "they cannot be dropped: %s", strerror(error));
		err_fix(err, "give smoljail the capability CAP_SETGID, or start it as an ordinary user");
		return -error;
	}
	*ret_saved = steal_ptr(saved);
	*ret_n = n;
	return 0;
}

static int clone_without_groups(struct clone3_args *args, bool drop, struct sj_err *err)
{
	_cleanup_free_ gid_t *saved = NULL;
	long pid, n = 0;
	int r = drop ? drop_groups(&saved, &n, err) : 0;

	if (r < 0)
		return r;
	pid = syscall(SYS_clone3, args, sizeof(*args));
	r = pid < 0 ? explain_phase("clone", errno, "", err) : (int)pid;
	if (pid != 0 && n > 0)
		(void)syscall(SYS_setgroups, n, saved);
	return r;
}

/* Without namespaces, and without clone3, which outer filters hide. As there, its end signals nobody. */
static int fork_child(struct jail *j, int child_sock, struct sj_err *err)
{
	int pidfd = -1;
	long pid;

	j->launch.sock = child_sock;
	pid = syscall(SYS_clone, (unsigned long)CLONE_PIDFD, NULL, &pidfd, NULL, NULL);
	if (pid == 0) {
		close(j->sock);
		child_main(&j->launch);
	}
	if (pid < 0)
		return explain_phase("clone", errno, "", err);
	j->pid = (pid_t)pid;
	j->pidfd = pidfd;
	return 0;
}

static int clone_child(struct jail *j, int child_sock, struct sj_err *err)
{
	int pidfd = -1, cgroup = j->cgroup ? cgroup_clone_fd(j->cgroup) : -1;
	struct clone3_args args = {
		.flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_PIDFD,
		.pidfd = (uint64_t)(uintptr_t)&pidfd,
	};
	int pid;

	if (j->spec.isolation == JAIL_LANDLOCK)
		return fork_child(j, child_sock, err);
	if (j->spec.net != JAIL_NET_HOST && !teeth_out("netns"))
		args.flags |= CLONE_NEWNET;
	if (teeth_out("pidns"))
		args.flags &= ~(uint64_t)CLONE_NEWPID;
	if (teeth_out("ipcns"))
		args.flags &= ~(uint64_t)CLONE_NEWIPC;
	if (teeth_out("utsns"))
		args.flags &= ~(uint64_t)CLONE_NEWUTS;
	if (cgroup >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)cgroup;
	}
	j->launch.sock = child_sock;
	pid = clone_without_groups(&args, j->launch.ids.mapped_away, err);
	if (pid == 0) {
		close(j->sock);
		child_main(&j->launch);
	}
	if (pid < 0)
		return pid;
	j->pid = pid;
	j->pidfd = pidfd;
	return 0;
}

static int tell(const struct jail *j, unsigned char byte)
{
	return send(j->sock, &byte, 1, MSG_NOSIGNAL) == 1 ? 0 : -errno;
}

/* A child that waits for this byte would wait for ever without it. One that is dead has said why, or its end will tell. */
static int order(const struct jail *j, enum sync_byte byte, struct sj_err *err)
{
	int r = tell(j, (unsigned char)byte);

	return r == 0 || r == -EPIPE || r == -ECONNRESET ? 0 : explain_phase("clone", -r, "control socket", err);
}

static int admit(struct jail *j, struct sj_err *err)
{
	int r;

	if (j->spec.isolation == JAIL_LANDLOCK)
		return 0;
	r = ids_write_maps(j->pid, &j->launch.ids);
	if (r < 0)
		return explain_phase("uid_map", -r, "", err);
	return order(j, SYNC_MAPS, err);
}

int jail_start(const struct jail_spec *spec, struct jail **ret, struct sj_err *err)
{
	struct jail *j = calloc(1, sizeof(*j));
	int pair[2], r;

	if (!j)
		return err_oom(err);
	j->spec = *spec;
	j->sock = j->pidfd = -1;
	j->launch.home = LIGHT_HOME_NONE;
	for (size_t i = 0; i < LAUNCH_DISKS; i++)
		j->disks[i] = -1;
	r = prepare_jail(j, err);
	if (r == 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		r = explain_phase("clone", errno, "control socket", err);
	else if (r == 0) {
		j->sock = pair[0];
		r = clone_child(j, pair[1], err);
		close(pair[1]);
	}
	if (r == 0)
		r = admit(j, err);
	if (r < 0) {
		(void)jail_finish(j, NULL);
		return r;
	}
	*ret = j;
	return 0;
}

/* ---- messages ----------------------------------------------------------- */

static int failed(const struct jail *j, const struct jail_msg *msg, struct sj_err *err)
{
	char detail[sizeof(msg->detail)];

	memcpy(detail, msg->detail, sizeof(detail));
	detail[sizeof(detail) - 1] = '\0';
	return explain_phase(child_phase_name(j->spec.isolation, msg->phase), msg->error, detail, err);
}

/* One message; a descriptor count other than expected is closed and refused. */
static ssize_t receive(const struct jail *j, struct jail_msg *msg, int *fds, size_t *ret_n)
{
	ssize_t n = io_recv_fds(j->sock, msg, sizeof(*msg), fds, LAUNCH_DISKS, ret_n);

	return n > 0 && n != (ssize_t)sizeof(*msg) ? -EBADMSG : n;
}

static int on_route(const struct jail *j, int *fds, size_t n, struct sj_err *err)
{
	int r = n == 1 ? net_loopback_up(fds[0]) : -EBADMSG;

	if (r < 0)
		return explain_phase("network", -r, "lo", err);
	return order(j, SYNC_NET, err);
}

static bool is_polled(const struct jail *j)
{
	return strcmp(j->enforced.memory, "polling") == 0 || strcmp(j->enforced.cpu_time, "polling") == 0;
}

/* A limit that is held by looking at processes is not held where /proc hides them. */
static int watch(const struct jail *j, struct sj_err *err)
{
	uint64_t memory, cpu;
	uint32_t tasks;
	int r = is_polled(j) ? poll_sample(j->pid, 0, 0, &memory, &cpu, &tasks) : 0;

	return r < 0 ? explain_phase("watch", -r, "", err) : 0;
}

/* The child's world is built, and the caller wants the guest: verify what holds its limits, then let it start. */
static int start_guest(struct jail *j, struct sj_err *err)
{
	int r = j->cgroup ? cgroup_attach(j->cgroup, j->pid, err) : 0;

	if (r == 0)
		r = watch(j, err);
	return r < 0 ? r : order(j, SYNC_GO, err);
}

int jail_go(struct jail *j, struct sj_err *err)
{
	j->go = true;
	return j->built ? start_guest(j, err) : 0;
}

static int on_built(struct jail *j, const int *fds, size_t n, struct sj_err *err)
{
	if (n != (j->spec.isolation == JAIL_LANDLOCK ? 0 : LAUNCH_DISKS) || j->built)
		return explain_phase("clone", EBADMSG, "control socket", err);
	memcpy(j->disks, fds, n * sizeof(j->disks[0]));
	j->built = true;
	return j->go ? start_guest(j, err) : 0;
}

/* Messages before the guest starts come from our own code, and may carry descriptors. */
static int on_setup(struct jail *j, const struct jail_msg *msg, int *fds, size_t n, struct sj_err *err)
{
	int r = -EBADMSG;

	if (msg->kind == MSG_ROUTE)
		r = on_route(j, fds, n, err);
	else if (msg->kind == MSG_BUILT)
		r = on_built(j, fds, n, err);
	else
		(void)explain_phase("clone", EBADMSG, "control socket", err);
	return r;
}

static enum jail_event_kind on_end(const struct jail *j, ssize_t n, struct sj_err *err)
{
	if (j->built && j->go)
		return JAIL_EVENT_GONE;
	(void)explain_phase("clone", n == 0 ? ECHILD : (int)-n, "the child ended during set-up", err);
	return JAIL_EVENT_FAILED;
}

int jail_event(struct jail *j, enum jail_event_kind *ret, int *ret_wait_status, struct sj_err *err)
{
	struct jail_msg msg;
	int fds[LAUNCH_DISKS];
	size_t n_fds = 0;
	ssize_t n = receive(j, &msg, fds, &n_fds);

	*ret = JAIL_EVENT_NONE;
	if (n == -EAGAIN || n == -EINTR)
		return 0;
	if (n <= 0) {
		*ret = on_end(j, n, err);
	} else if (msg.kind == MSG_EXITED) {
		*ret_wait_status = msg.value;
		*ret = JAIL_EVENT_EXITED;
	} else if (msg.kind == MSG_SIGNALLED) {
		j->signals -= j->signals > 0;
	} else if (msg.kind == MSG_FAILED) {
		(void)failed(j, &msg, err);
		*ret = JAIL_EVENT_FAILED;
	} else if (on_setup(j, &msg, fds, n_fds, err) < 0) {
		*ret = JAIL_EVENT_FAILED;
	} else if (j->built && j->go) {
		*ret = JAIL_EVENT_STARTED;
	}
	return 0;
}

/* ---- control and counters ------------------------------------------------ */

int jail_status_fd(const struct jail *j)
{
	return j->sock;
}

void jail_signal(struct jail *j, int sig)
{
	if (tell(j, (unsigned char)sig) == 0)
		j->signals++;
}

bool jail_signal_pending(const struct jail *j)
{
	return j->signals > 0;
}

int jail_death_fd(const struct jail *j)
{
	return j->pidfd;
}

/*
 * Without a pid namespace init's death would end nobody else: it is asked to end them all, by the end
 * of the control socket, and woken where somebody has stopped it.
 */
static void light_kill(const struct jail *j)
{
	if (j->sock >= 0)
		(void)shutdown(j->sock, SHUT_WR);
	if (j->pidfd >= 0)
		(void)syscall(SYS_pidfd_send_signal, j->pidfd, SIGCONT, NULL, 0);
}

void jail_kill(struct jail *j)
{
	if (j->spec.isolation == JAIL_LANDLOCK) {
		light_kill(j);
		return;
	}
	if (j->pidfd >= 0)
		(void)syscall(SYS_pidfd_send_signal, j->pidfd, SIGKILL, NULL, 0);
	if (j->cgroup)
		cgroup_kill(j->cgroup);
}

static void raise_to(uint64_t *field, uint64_t value)
{
	if (value > *field)
		*field = value;
}

int jail_sample(struct jail *j, struct jail_usage *ret)
{
	struct jail_usage now = j->seen;
	uint64_t memory = 0, cpu = 0, in_folders;
	uint32_t tasks = 0;
	bool full;
	int r;

	if (j->cgroup)
		cgroup_sample(j->cgroup, &now);
	if (is_polled(j)) {
		in_folders = 0;
		if (j->spec.isolation == JAIL_FULL)
			jail_disk(j, &in_folders, &full);
		r = poll_sample(j->pid, j->spec.limits.memory, in_folders, &memory, &cpu, &tasks);
		if (r < 0 && r != -ESRCH)
			return r;
		raise_to(&now.memory_peak, memory);
		raise_to(&now.cpu_us, cpu);
		if (tasks > now.pids_peak)
			now.pids_peak = tasks;
	}
	j->seen = now;
	*ret = now;
	return 0;
}

int jail_glance(struct jail *j, struct jail_usage *ret)
{
	struct jail_usage now = j->seen;

	if (!j->cgroup || !cgroup_glance(j->cgroup, &now))
		return -ENOTSUP;
	*ret = now;
	return 0;
}

const struct jail_enforced *jail_enforced(const struct jail *j)
{
	return &j->enforced;
}

const char *const *jail_isolation(const struct jail *j)
{
	return j->isolation;
}

/* Init's own usage holds that of every process it reaped; a peak by rusage is one process's, not the jail's. */
static void last_counters(struct jail *j, const struct rusage *ru)
{
	uint64_t user = (uint64_t)ru->ru_utime.tv_sec * 1000000 + (uint64_t)ru->ru_utime.tv_usec;
	uint64_t sys = (uint64_t)ru->ru_stime.tv_sec * 1000000 + (uint64_t)ru->ru_stime.tv_usec;

	if (j->cgroup)
		cgroup_sample(j->cgroup, &j->seen);
	j->seen.user_us = user;
	j->seen.sys_us = sys;
	raise_to(&j->seen.cpu_us, user + sys);
	if (strncmp(j->enforced.memory, "cgroup", 6) != 0)
		raise_to(&j->seen.memory_peak, (uint64_t)ru->ru_maxrss * 1024);
}

struct jail *jail_finish(struct jail *j, struct jail_usage *ret)
{
	struct rusage ru = { 0 };
	pid_t got;

	if (!j)
		return NULL;
	/* Its end ends init too, should no signal reach it. */
	base_closep(&j->sock);
	if (j->pid > 0) {
		jail_kill(j);
		do
			got = (pid_t)syscall(SYS_wait4, j->pid, NULL, __WALL, &ru);
		while (got < 0 && errno == EINTR);
		if (j->enforced.memory)
			last_counters(j, &ru);
	}
	/* Init has removed the folders, unless something ended it. */
	light_home_remove(&j->launch.home);
	if (j->cgroup && j->spec.isolation == JAIL_LANDLOCK)
		cgroup_kill(j->cgroup);
	j->cgroup = cgroup_close(j->cgroup);
	if (ret)
		*ret = j->seen;
	base_closep(&j->pidfd);
	for (size_t i = 0; i < LAUNCH_DISKS; i++)
		base_closep(&j->disks[i]);
	plan_clear(&j->launch.plan);
	light_plan_clear(&j->launch.light);
	light_home_close(&j->launch.home);
	free(j);
	return NULL;
}
