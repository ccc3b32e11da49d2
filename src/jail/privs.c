/*
 * privs.c - what a process gives up before it runs what it does not trust
 *
 * Runs as: the jail's first process, after its world is built; nothing is got back afterwards
 * Trusts: nothing; each step is verified
 * Never: raises a limit above the caller's own
 */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>
#include <linux/securebits.h>

#include "base/base.h"
#include "jail/internal.h"

/*
 * Not 0: that stops files, but a program behind core_pattern would still be fed.
 * Exactly 1 stops both (kernel: fs/coredump.c), and the filter keeps it there.
 */
#define CORE_NONE 1
#define STACK_SOFT (8u << 20)
#define STACK_HARD (64u << 20)
#define MEMLOCK_MAX (1u << 20)
#define MSGQUEUE_MAX 819200u
#define SIGPENDING_MAX 1024u
#define CPU_GRACE_S 2u			/* the supervisor's own CPU limit comes first and says why */
#define DATA_FLOOR (2ull << 30)		/* numpy reserves far more address space than it touches */

#define SECUREBITS (SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED | \
		    SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

static void set(struct privs_rlimit *out, size_t *n, int resource, uint64_t soft, uint64_t hard)
{
	out[(*n)++] = (struct privs_rlimit){ resource, soft, hard };
}

/* Limits on address space are only set where no cgroup holds the memory, and wide: they are a backstop. */
size_t privs_rlimits(const struct jail_limits *l, const struct jail_enforced *held,
		     struct privs_rlimit out[PRIVS_RLIMITS_MAX])
{
	uint64_t cpu_s = (l->cpu_ms + 999) / 1000 + CPU_GRACE_S;
	size_t n = 0;

	set(out, &n, RLIMIT_CORE, CORE_NONE, CORE_NONE);
	set(out, &n, RLIMIT_STACK, STACK_SOFT, STACK_HARD);
	set(out, &n, RLIMIT_MEMLOCK, MEMLOCK_MAX, MEMLOCK_MAX);
	set(out, &n, RLIMIT_MSGQUEUE, MSGQUEUE_MAX, MSGQUEUE_MAX);
	set(out, &n, RLIMIT_SIGPENDING, SIGPENDING_MAX, SIGPENDING_MAX);
	set(out, &n, RLIMIT_NICE, 0, 0);
	set(out, &n, RLIMIT_RTPRIO, 0, 0);
	if (l->open_files)
		set(out, &n, RLIMIT_NOFILE, l->open_files, l->open_files);
	if (l->file_size)
		set(out, &n, RLIMIT_FSIZE, l->file_size, l->file_size);
	if (l->cpu_ms)
		set(out, &n, RLIMIT_CPU, cpu_s, cpu_s + 1);
	if (l->pids && !held->pids)
		set(out, &n, RLIMIT_NPROC, l->pids, l->pids);
	if (l->memory && !held->memory) {
		uint64_t data = l->memory * 4 > DATA_FLOOR ? l->memory * 4 : DATA_FLOOR;

		set(out, &n, RLIMIT_DATA, data, data);
	}
	return n;
}

int privs_apply_rlimits(const struct privs_rlimit *r, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct rlimit now, want = { .rlim_cur = r[i].soft, .rlim_max = r[i].hard };

		if (syscall(SYS_prlimit64, 0, r[i].resource, NULL, &now) < 0)
			return -errno;
		if (want.rlim_max > now.rlim_max)
			want.rlim_max = now.rlim_max;
		if (want.rlim_cur > want.rlim_max)
			want.rlim_cur = want.rlim_max;
		if (syscall(SYS_prlimit64, 0, r[i].resource, &want, NULL) < 0)
			return -errno;
	}
	return 0;
}

static int verify_no_caps(bool securebits)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &head, data) < 0)
		return -errno;
	for (int i = 0; i < 2; i++)
		if (data[i].effective || data[i].permitted || data[i].inheritable)
			return -EPERM;
	if (securebits && prctl(PR_GET_SECUREBITS) != (int)SECUREBITS)
		return -EPERM;
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return -EPERM;
	return 0;
}

/* EINVAL is the kernel's word for "past the last one" (prctl(2)); any other error is no end. */
static int empty_bounding_set(void)
{
	unsigned long cap = 0;
	int has;

	while ((has = prctl(PR_CAPBSET_READ, cap, 0, 0, 0)) >= 0) {
		if (has && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
			return -errno;
		cap++;
	}
	return errno == EINVAL && cap > 0 ? 0 : -errno;
}

/*
 * Raw calls: libcap's own need allocation, and this runs after a clone in what
 * may be a threaded program. Every number up to the kernel's last is dropped
 * from the bounding set, known to this build or not.
 */
int privs_drop_all(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { 0 };
	int r;

	if (teeth_out("capabilities"))
		return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
	if (prctl(PR_SET_SECUREBITS, SECUREBITS) < 0)
		return -errno;
	r = empty_bounding_set();
	if (r < 0)
		return r;
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return -errno;
	if (syscall(SYS_capset, &head, none) < 0)
		return -errno;
	if (teeth_out("no_new_privs"))
		return 0;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return verify_no_caps(true);
}

static int become(uid_t uid, gid_t gid)
{
	if (syscall(SYS_setgroups, 0, NULL) < 0 || syscall(SYS_setresgid, gid, gid, gid) < 0 ||
	    syscall(SYS_setresuid, uid, uid, uid) < 0)
		return -errno;
	return 0;
}

/*
 * An ordinary user has no right to empty its bounding set: there it is no_new_privs that keeps
 * set-user-id programs and file capabilities from giving anything.
 */
int privs_drop_outside(uid_t uid, gid_t gid, bool change)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { 0 };
	bool may = prctl(PR_SET_SECUREBITS, SECUREBITS) == 0;
	int r;

	for (unsigned long cap = 0; may && prctl(PR_CAPBSET_READ, cap) >= 0; cap++)
		if (prctl(PR_CAPBSET_DROP, cap) < 0)
			return -errno;
	r = change ? become(uid, gid) : 0;
	if (r < 0)
		return r;
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 || syscall(SYS_capset, &head, none) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return verify_no_caps(may);
}

/* A caller may ignore or block signals (SIGCHLD, SIGPIPE); programs inside start as from a fresh login. */
int privs_normalise_signals(void)
{
	struct {
		void *handler;
		unsigned long flags;
		void *restorer;
		uint64_t mask;
	} dfl = { 0 };
	uint64_t empty = 0;

	for (int sig = 1; sig <= 64; sig++) {
		if (sig == SIGKILL || sig == SIGSTOP)
			continue;
		if (syscall(SYS_rt_sigaction, sig, &dfl, NULL, sizeof(uint64_t)) < 0)
			return -errno;
	}
	if (syscall(SYS_rt_sigprocmask, SIG_SETMASK, &empty, NULL, sizeof(uint64_t)) < 0)
		return -errno;
	return 0;
}
