/*
 * init.c - the jail's first process: starts nothing, reaps all, ends everything
 *
 * Runs as: pid 1 of the jail, no capabilities, not dumpable, under a filter of its own
 * Trusts: single bytes from the supervisor, each a signal number
 * Never: runs or reads anything that the guest wrote; outlives the supervisor
 */
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "jail/internal.h"

#define INIT_SOCK 3
#define INIT_TOP 4		/* without namespaces: the private folder, and the one it is in */
#define INIT_PARENT 5
#define INIT_HIGH 64		/* above all of these: where descriptors wait while they are laid */
#define INIT_TITLE "smoljail: init"

#if defined(__x86_64__)
#define INIT_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define INIT_ARCH AUDIT_ARCH_AARCH64
#else
#error "init.c needs the audit architecture of this machine"
#endif

#define ALLOW(nr) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

#define FIRST_INSNS \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)), \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, INIT_ARCH, 1, 0), \
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS), \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)), \
	ALLOW(SYS_ppoll), ALLOW(SYS_read), ALLOW(SYS_wait4), ALLOW(SYS_recvfrom), ALLOW(SYS_sendto), ALLOW(SYS_kill), \
	ALLOW(SYS_exit_group)
#define LAST_INSN BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

/* All that the loop below needs; the guest has nothing to gain by subverting a process that can do only this. */
static const struct sock_filter full_insns[] = { FIRST_INSNS, LAST_INSN };

/* And what the private folder is removed with, once nobody is left who could use it. */
static const struct sock_filter light_insns[] = {
	FIRST_INSNS,
	ALLOW(SYS_openat), ALLOW(SYS_close), ALLOW(SYS_lseek), ALLOW(SYS_getdents64), ALLOW(SYS_unlinkat),
	ALLOW(SYS_renameat), ALLOW(SYS_fchmodat),
	LAST_INSN,
};

static int confine(bool light)
{
	const struct sock_filter *insns = light ? light_insns : full_insns;
	struct sock_fprog prog = {
		.len = light ? ARRAY_LEN(light_insns) : ARRAY_LEN(full_insns),
		.filter = (struct sock_filter *)(uintptr_t)insns,
	};

	if (teeth_out("init_filter"))
		return 0;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog, 0, 0) < 0 ? -errno : 0;
}

/* Wipes the copy of the supervisor's arguments and environment, and writes a title for ps there. */
static void scrub(const struct launch *l)
{
	if (l->scrub_len < sizeof(INIT_TITLE) || teeth_out("scrub"))
		return;
	explicit_bzero(l->scrub, l->scrub_len);
	memcpy(l->scrub, INIT_TITLE, sizeof(INIT_TITLE));
}

struct init {
	pid_t guest;
	bool light;			/* without namespaces: it ends the others itself, and removes their folder */
	struct light_home home;		/* INIT_TOP and INIT_PARENT */
};

/* Only the control socket stays open, as descriptor INIT_SOCK, and what the removal starts from. */
static int keep_descriptors(struct init *init, const struct launch *l)
{
	const int from[] = { l->sock, l->home.top, l->home.parent };
	unsigned int n = init->light ? 3 : 1;
	int high[3];

	for (unsigned int i = 0; i < n; i++) {
		high[i] = fcntl(from[i], F_DUPFD, INIT_HIGH);
		if (high[i] < 0)
			return -errno;
	}
	for (unsigned int i = 0; i < n; i++)
		if (dup2(high[i], INIT_SOCK + (int)i) < 0)
			return -errno;
	for (int fd = 0; fd < INIT_SOCK; fd++)
		(void)close(fd);
	init->home = (struct light_home){ INIT_PARENT, INIT_TOP, -1, -1, l->home.name };
	return syscall(SYS_close_range, INIT_SOCK + n, ~0u, 0) < 0 ? -errno : 0;
}

/* A descriptor that is readable when a child has ended; every signal is blocked. */
static int watch_children(void)
{
	sigset_t all;

	(void)sigfillset(&all);
	if (syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof(uint64_t)) < 0)
		return -errno;
	(void)sigemptyset(&all);
	(void)sigaddset(&all, SIGCHLD);
	return signalfd(-1, &all, SFD_CLOEXEC);
}

/* Not in a build for tests that has no pid namespace: there it would be everything that the user runs. */
static void kill_all(void)
{
	if (!teeth_out("pidns"))
		(void)kill(-1, SIGKILL);
}

/*
 * When pid 1 exits the kernel kills all others. Without a pid namespace kill(-1) does, since its
 * Landlock domain reaches the jail's processes only (light.c), and wait() tells when all are gone.
 */
_noreturn_ static void end(const struct init *init)
{
	kill_all();
	if (!init->light)
		_exit(0);
	while (syscall(SYS_wait4, -1, NULL, __WALL, NULL) > 0 || errno == EINTR)
		kill_all();
	light_home_remove(&init->home);
	_exit(0);
}

/* The end of the main program is the end of the jail. */
_noreturn_ static void finish(const struct init *init, int wait_status)
{
	struct jail_msg msg = { .kind = MSG_EXITED, .value = wait_status };

	(void)sendto(INIT_SOCK, &msg, sizeof(msg), MSG_NOSIGNAL, NULL, 0);
	end(init);
}

static void reap(const struct init *init)
{
	int status;
	pid_t pid;

	while ((pid = (pid_t)syscall(SYS_wait4, -1, &status, WNOHANG | __WALL, NULL)) > 0)
		if (pid == init->guest)
			finish(init, status);
}

/*
 * A byte is a signal for the program and its process group, which init leads; end of file is the end.
 * The answer tells that the signal is on its way: nothing that the program is told later can be overtaken by it.
 */
static void obey(const struct init *init)
{
	struct jail_msg msg = { .kind = MSG_SIGNALLED };
	unsigned char sig;
	ssize_t n = recvfrom(INIT_SOCK, &sig, 1, MSG_DONTWAIT, NULL, NULL);

	if (n == 0)
		end(init);
	if (n != 1 || sig < 1 || sig > 64)
		return;
	(void)kill(0, sig);
	(void)sendto(INIT_SOCK, &msg, sizeof(msg), MSG_NOSIGNAL, NULL, 0);
}

void init_main(const struct launch *l, pid_t guest)
{
	struct pollfd fds[2] = { { .fd = INIT_SOCK, .events = POLLIN }, { .events = POLLIN } };
	struct init init = { .guest = guest, .light = l->spec->isolation == JAIL_LANDLOCK };
	struct signalfd_siginfo info;

	(void)prctl(PR_SET_NAME, "smoljail-init", 0, 0, 0);
	scrub(l);
	fds[1].fd = -1;
	if (keep_descriptors(&init, l) == 0)
		fds[1].fd = watch_children();
	if (fds[1].fd < 0 || confine(init.light) < 0) {
		kill_all();
		_exit(SJ_EXIT_SETUP);
	}
	reap(&init);
	for (;;) {
		if (syscall(SYS_ppoll, fds, 2, NULL, NULL, sizeof(uint64_t)) < 0)
			continue;
		if (fds[1].revents && read(fds[1].fd, &info, sizeof(info)) < 0)
			continue;
		reap(&init);
		if (fds[0].revents)
			obey(&init);
	}
}
