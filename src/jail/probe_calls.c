/*
 * probe_calls.c - facts on system calls, filters and Landlock
 *
 * Runs as: a forked child for each
 * Trusts: nothing
 * Never: filters or confines the caller itself
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "jail/internal.h"
#include "jail/probe.h"

/* ---- calls that must be there ------------------------------------------- */

/* Arguments that the kernel refuses at once: any errno but ENOSYS and EPERM says that the call is there. */
static const struct {
	const char *name;
	long nr;
	long args[5];
} needed[] = {
	{ "clone3", SYS_clone3, { 0, 0 } },
	{ "pidfd_open", SYS_pidfd_open, { -1, 0 } },
	{ "pidfd_send_signal", SYS_pidfd_send_signal, { -1, 0, 0, 0 } },
	{ "close_range", SYS_close_range, { 1, 0, 0 } },
	{ "openat2", SYS_openat2, { -1, 0, 0, 0 } },
	{ "fsconfig", SYS_fsconfig, { -1, 0, 0, 0, 0 } },
	{ "open_tree", SYS_open_tree, { -1, 0, -1 } },
	{ "mount_setattr", SYS_mount_setattr, { -1, 0, -1, 0, 0 } },
};

static void act_needed(struct probe_result *r)
{
	for (size_t i = 0; i < ARRAY_LEN(needed); i++) {
		const long *a = needed[i].args;

		if (syscall(needed[i].nr, a[0], a[1], a[2], a[3], a[4]) >= 0 || (errno != ENOSYS && errno != EPERM))
			continue;
		snprintf(r->text[0], sizeof(r->text[0]), "%s", needed[i].name);
		(void)probe_failed(r, "calls");
		return;
	}
}

static void act_pdeathsig(struct probe_result *r)
{
	int sig = 0;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || prctl(PR_GET_PDEATHSIG, &sig, 0, 0, 0) < 0 || sig != SIGKILL)
		(void)probe_failed(r, "calls");
}

static void act_memfd(struct probe_result *r)
{
	const int seals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
	_cleanup_close_ int fd = io_memfd("probe", "x", 1);

	if (fd < 0) {
		errno = -fd;
		(void)probe_failed(r, "calls");
	} else if (fcntl(fd, F_GET_SEALS) < 0 || (fcntl(fd, F_ADD_SEALS, seals) < 0 && errno != EPERM)) {
		(void)probe_failed(r, "calls");
	}
}

/* ---- filters -------------------------------------------------------------- */

static int load_filter(unsigned int flags)
{
	struct sock_filter allow[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog prog = { .len = ARRAY_LEN(allow), .filter = allow };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog);
}

static void act_filter(struct probe_result *r)
{
	if (load_filter(0) < 0)
		(void)probe_failed(r, "seccomp");
}

static void act_notify(struct probe_result *r)
{
	if (load_filter(SECCOMP_FILTER_FLAG_NEW_LISTENER) < 0)
		(void)probe_failed(r, "seccomp");
}

/* getpid by the i386 entry: a kernel without it sends SIGSEGV. */
static void act_foreign(struct probe_result *r)
{
#if defined(__x86_64__)
	long pid = 20; /* its number there */

	__asm__ volatile("int $0x80" : "+a"(pid) : : "r8", "r9", "r10", "r11", "memory");
	r->value = pid == getpid();
#else
	r->value = 0;
#endif
}

static void say_foreign(struct probe_walk *w)
{
	const struct probe_task task = { .act = act_foreign };
	struct probe_result r;

	probe_try(&task, &r);
	probe_say(w, "seccomp.foreign", PROBE_OK, NULL, NULL, "%s",
		  !r.error && r.value ? "the i386 entry can be reached; a jail's filter kills whoever tries" : "no i386 entry");
}

/* ---- Landlock --------------------------------------------------------------- */

static void act_landlock(struct probe_result *r)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, 1);

	if (abi < 0)
		(void)probe_failed(r, "landlock");
	r->value = abi;
}

static void say_landlock(struct probe_walk *w)
{
	const struct probe_task task = { .act = act_landlock };
	struct probe_result r;

	probe_try(&task, &r);
	if (r.error)
		probe_say_failure(w, "landlock", PROBE_WARN, &r);
	else
		probe_say(w, "landlock", PROBE_OK, NULL, NULL, "ABI %lld", (long long)r.value);
}

/* ---- switches of the host ----------------------------------------------------- */

/*
 * A program behind core_pattern gets a crashed process's memory whatever its
 * RLIMIT_CORE, but for the one value 1 (fs/coredump.c).
 */
static void say_core(struct probe_walk *w)
{
	const struct jail_limits none = { 0 };
	const struct jail_enforced held = { 0 };
	struct privs_rlimit limits[PRIVS_RLIMITS_MAX];
	size_t n = privs_rlimits(&none, &held, limits);
	char pattern[128] = "";

	(void)host_line(&host_real, "/proc/sys/kernel/core_pattern", pattern, sizeof(pattern));
	if (pattern[0] != '|' && pattern[0] != '@') {
		probe_say(w, "core_pattern", PROBE_OK, NULL, NULL, "to a file; jails write none");
		return;
	}
	for (size_t i = 0; i < n; i++)
		if (limits[i].resource == RLIMIT_CORE && limits[i].soft == 1) {
			probe_say(w, "core_pattern", PROBE_OK, NULL, NULL, "to a program, which an ordinary crash in a jail does not call");
			return;
		}
	probe_say(w, "core_pattern", PROBE_WARN, "a program of the host is given the memory of jailed programs that crash",
		  "sudo sysctl -w kernel.core_pattern=core", "%.100s", pattern);
}

static const struct {
	const char *id, *path;
	const char *words[3];	/* for 0, 1, 2 */
	const char *none;	/* the kernel has no such switch */
} switches[] = {
	{ "tiocsti", "/proc/sys/dev/tty/legacy_tiocsti",
	  { "off on this host", "on; jails have no terminal, and their filter denies it", NULL },
	  "on, without a switch; jails have no terminal, and their filter denies it" },
	{ "io_uring", "/proc/sys/kernel/io_uring_disabled",
	  { "on; the filter of jails denies it", "for some users; the filter of jails denies it", "off on this host" },
	  "on, if the kernel has it; the filter of jails denies it" },
};

static void say_switches(struct probe_walk *w)
{
	for (size_t i = 0; i < ARRAY_LEN(switches); i++) {
		const char *words = switches[i].none;
		long long n;

		if (host_number(&host_real, switches[i].path, &n) && n >= 0 && n < 3 && switches[i].words[n])
			words = switches[i].words[n];
		probe_say(w, switches[i].id, PROBE_OK, NULL, NULL, "%s", words);
	}
}

/* ---- the table ------------------------------------------------------------------ */

static const struct {
	const char *id;
	probe_act *act;
	enum probe_state bad;
} probes[] = {
	{ "calls", act_needed, PROBE_FAIL },
	{ "pdeathsig", act_pdeathsig, PROBE_FAIL },
	{ "memfd", act_memfd, PROBE_FAIL },
	{ "seccomp.filter", act_filter, PROBE_FAIL },
	{ "seccomp.notify", act_notify, PROBE_WARN },
};

void probe_calls(struct probe_walk *w)
{
	for (size_t i = 0; i < ARRAY_LEN(probes); i++) {
		const struct probe_task task = { .act = probes[i].act };
		struct probe_result r;

		probe_try(&task, &r);
		if (r.error)
			probe_say_failure(w, probes[i].id, probes[i].bad, &r);
		else
			probe_say(w, probes[i].id, PROBE_OK, NULL, NULL, "yes");
	}
	say_foreign(w);
	say_landlock(w);
	say_core(w);
	say_switches(w);
}
