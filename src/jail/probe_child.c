/*
 * probe_child.c - try one operation in a child that can neither hurt nor hang the caller
 *
 * Runs as: parent (probe_try), child in the namespaces asked for (acts)
 * Trusts: the acts of the probe tables
 * Never: leaves a child behind; waits longer than the deadline
 */
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jail/internal.h"
#include "jail/probe.h"

bool probe_failed(struct probe_result *r, const char *step)
{
	r->error = errno ? errno : EIO;
	snprintf(r->step, sizeof(r->step), "%s", step);
	return false;
}

/* Also what the launcher's child does: the ids must be those of the maps before anything is created. */
static bool become_jail_user(struct probe_result *r)
{
	if (setresgid(JAIL_GID, JAIL_GID, JAIL_GID) < 0 || setresuid(JAIL_UID, JAIL_UID, JAIL_UID) < 0)
		return probe_failed(r, "identity");
	return true;
}

/* A probe that is killed is no crash to report. 1 is the value for which no handler behind core_pattern is called. */
static void no_core(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_CORE, &r) < 0)
		return;
	r.rlim_cur = r.rlim_max < 1 ? r.rlim_max : 1;
	(void)setrlimit(RLIMIT_CORE, &r);
}

static _noreturn_ void child(const struct probe_task *t, int sock, pid_t parent)
{
	struct probe_result r = { 0 };
	char go;

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (!(t->flags & CLONE_NEWPID) && getppid() != parent)
		_exit(1);
	no_core();
	if (read(sock, &go, 1) != 1)
		_exit(1);
	if (!t->map || become_jail_user(&r))
		t->act(&r);
	(void)!write(sock, &r, sizeof(r));
	_exit(0);
}

static pid_t spawn(const struct probe_task *t)
{
	struct clone_args args = { .flags = t->flags, .exit_signal = SIGCHLD };

	if (!t->flags)
		return fork(); /* the act may allocate memory */
	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

/* The child's answer, or what kept it away. */
static void hear(int sock, uint64_t deadline_us, struct probe_result *ret)
{
	uint64_t now = io_now_us(), end = now + (deadline_us ? deadline_us : PROBE_DEADLINE_US);
	struct pollfd p = { .fd = sock, .events = POLLIN };
	struct probe_result r;
	int n = 0;

	while (now < end && (n = poll(&p, 1, (int)((end - now) / 1000) + 1)) < 0 && errno == EINTR)
		now = io_now_us();
	if (n <= 0) {
		ret->timed_out = true;
		ret->error = ETIMEDOUT;
	} else if (recv(sock, &r, sizeof(r), 0) == (ssize_t)sizeof(r)) {
		*ret = r;
		ret->step[sizeof(ret->step) - 1] = '\0';
	} else {
		ret->error = ECHILD; /* ended without a word: the signal says why */
	}
}

/* unwanted: to be killed here, which is not what its end is about. */
static void reap(pid_t pid, bool unwanted, struct probe_result *ret)
{
	int status = 0;

	if (unwanted)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return;
	if (WIFSIGNALED(status) && !(unwanted && WTERMSIG(status) == SIGKILL))
		ret->died = WTERMSIG(status);
}

static bool let_go(const struct probe_task *t, pid_t pid, int sock, struct probe_result *ret)
{
	struct ids ids;
	int r = 0;

	if (t->map)
		r = ids_choose(&ids);
	if (t->map && r >= 0)
		r = ids_write_maps(pid, &ids);
	if (r < 0) {
		errno = -r;
		return probe_failed(ret, "uid_map");
	}
	if (send(sock, "G", 1, MSG_NOSIGNAL) != 1)
		return probe_failed(ret, "session");
	return true;
}

void probe_try(const struct probe_task *t, struct probe_result *ret)
{
	_cleanup_close_ int mine = -1, theirs = -1;
	pid_t parent = getpid(), pid;
	int pair[2];
	bool let;

	memset(ret, 0, sizeof(*ret));
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		probe_failed(ret, "session");
		return;
	}
	mine = pair[0];
	theirs = pair[1];
	pid = spawn(t);
	if (pid < 0) {
		probe_failed(ret, "clone");
		return;
	}
	if (pid == 0)
		child(t, theirs, parent);
	close(steal_fd(theirs));
	let = let_go(t, pid, mine, ret);
	if (let)
		hear(mine, t->deadline_us, ret);
	reap(pid, !let || ret->timed_out, ret);
}

/* ---- is it a filter that answers? -------------------------------------- */

/*
 * Each call is made with arguments that the kernel itself refuses before it
 * looks at permissions. Another answer than that comes from a filter.
 */
static void act_unshare(struct probe_result *r)
{
	r->value = syscall(SYS_unshare, CLONE_NEWUSER | CLONE_PTRACE) < 0 ? errno : 0;
	r->error = r->value == EINVAL ? 0 : 1;
}

static void act_clone(struct probe_result *r)
{
	pid_t self = getpid();
	long pid = syscall(SYS_clone, CLONE_NEWUSER | CLONE_FS | SIGCHLD, 0, 0, 0, 0);

	if (pid == 0 && getpid() != self)
		_exit(0);
	r->value = pid < 0 ? errno : 0;
	r->error = r->value == EINVAL ? 0 : 1;
}

static void act_clone3(struct probe_result *r)
{
	r->value = syscall(SYS_clone3, NULL, 0) < 0 ? errno : 0;
	r->error = r->value == EINVAL ? 0 : 1;
}

static void act_mount(struct probe_result *r)
{
	r->value = syscall(SYS_mount, 1, 1, 1, 0, 0) < 0 ? errno : 0;
	r->error = r->value == EFAULT ? 0 : 1;
}

static const struct {
	const char *call;
	probe_act *act;
} calls[] = {
	{ "unshare", act_unshare },
	{ "clone", act_clone },
	{ "clone3", act_clone3 },
	{ "mount", act_mount },
};

bool probe_call_filtered(const char *call)
{
	struct probe_task task = { 0 };
	struct probe_result r;

	for (size_t i = 0; i < ARRAY_LEN(calls); i++)
		if (strcmp(calls[i].call, call) == 0)
			task.act = calls[i].act;
	if (!task.act)
		return false;
	probe_try(&task, &r);
	return r.died == SIGSYS || (r.error == 1 && !r.died && !r.timed_out);
}
