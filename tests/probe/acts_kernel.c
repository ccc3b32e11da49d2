/*
 * acts_kernel.c - system calls that a jail refuses, one act each
 *
 * Runs as: an untrusted program inside a jail
 * Trusts: nothing
 * Never: passes arguments that would do harm where the call is allowed
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe.h"

/* Any call by number with up to five small integers: `syscall NR [A B C D E]`. */
static int act_syscall(char **args)
{
	long v[6] = { 0 };

	for (int i = 0; i < 6 && args[i]; i++)
		v[i] = (long)strtoull(args[i], NULL, 0);
	return raw(v[0], v[1], v[2], v[3], v[4], v[5]);
}

static int act_userns(char **args)
{
	(void)args;
	return unshare(CLONE_NEWUSER) < 0 ? -errno : 0;
}

static int act_clone_newuser(char **args)
{
	long pid = syscall(SYS_clone, (unsigned long)(CLONE_NEWUSER | SIGCHLD), NULL, NULL, NULL, NULL);

	(void)args;
	if (pid == 0)
		_exit(0);
	if (pid < 0)
		return -errno;
	waitpid((pid_t)pid, NULL, 0);
	return 0;
}

static int act_clone3(char **args)
{
	(void)args;
	return raw(SYS_clone3, 0, 0, 0, 0, 0);
}

static int act_setns(char **args)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/ns/%s", args[0] ? args[0] : "mnt");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	return raw(SYS_setns, fd, 0, 0, 0, 0);
}

static int act_ptrace(char **args)
{
	return raw(SYS_ptrace, 16 /* PTRACE_ATTACH */, args[0] ? atol(args[0]) : 1, 0, 0, 0);
}

static int act_io_uring(char **args)
{
	(void)args;
	return raw(SYS_io_uring_setup, 1, 0, 0, 0, 0);
}

static int act_bpf(char **args)
{
	(void)args;
	return raw(SYS_bpf, 5, 0, 0, 0, 0);
}

static int act_keyctl(char **args)
{
	(void)args;
	return raw(SYS_keyctl, 0 /* GET_KEYRING_ID */, -3, 1, 0, 0);
}

static int act_userfaultfd(char **args)
{
	(void)args;
	return raw(SYS_userfaultfd, 0, 0, 0, 0, 0);
}

static int act_perf(char **args)
{
	(void)args;
	return raw(SYS_perf_event_open, 0, 0, -1, -1, 0);
}

static int act_mount(char **args)
{
	(void)args;
	return raw(SYS_mount, (long)"none", (long)"/tmp", (long)"tmpfs", 0, 0);
}

static int act_umount(char **args)
{
	return raw(SYS_umount2, (long)(args[0] ? args[0] : "/proc"), 2 /* MNT_DETACH */, 0, 0, 0);
}

static int act_remount(char **args)
{
	return raw(SYS_mount, (long)"none", (long)(args[0] ? args[0] : "/usr"), 0, 0x1020 /* REMOUNT|BIND */, 0);
}

static int act_fsopen(char **args)
{
	(void)args;
	return raw(SYS_fsopen, (long)"tmpfs", 0, 0, 0, 0);
}

static int act_open_tree(char **args)
{
	(void)args;
	return raw(SYS_open_tree, AT_FDCWD, (long)"/", 1 /* CLONE */, 0, 0);
}

static int act_handle(char **args)
{
	(void)args;
	return raw(SYS_open_by_handle_at, AT_FDCWD, 0, 0, 0, 0);
}

static int act_chroot(char **args)
{
	(void)args;
	return raw(SYS_chroot, (long)"/", 0, 0, 0, 0);
}

static int act_pidfd_getfd(char **args)
{
	(void)args;
	return raw(SYS_pidfd_getfd, 0, 0, 0, 0, 0);
}

static int act_process_vm(char **args)
{
	return raw(SYS_process_vm_readv, args[0] ? atol(args[0]) : 1, 0, 0, 0, 0);
}

static int act_personality(char **args)
{
	return raw(SYS_personality, (long)strtoul(args[0] ? args[0] : "0x0400000", NULL, 0), 0, 0, 0, 0);
}

static int act_seccomp_listener(char **args)
{
	(void)args;
	return raw(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, 0, 0, 0);
}

static int act_unset_nnp(char **args)
{
	(void)args;
	return prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0) < 0 ? -errno : 0;
}

static int act_capset(char **args)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[2] = { { .effective = 1, .permitted = 1 } };

	(void)args;
	return raw(SYS_capset, (long)&h, (long)d, 0, 0, 0);
}

static int act_bounding(char **args)
{
	int held = 0;

	(void)args;
	for (int cap = 0; cap < 64; cap++)
		if (prctl(PR_CAPBSET_READ, cap, 0, 0, 0) == 1)
			held++;
	printf("%d\n", held);
	return PROBE_PRINTED;
}

static int act_setuid(char **args)
{
	return raw(SYS_setresuid, args[0] ? atol(args[0]) : 0, -1, -1, 0, 0);
}

static int act_setgroups(char **args)
{
	gid_t g = 0;

	(void)args;
	return raw(SYS_setgroups, 1, (long)&g, 0, 0, 0);
}

static int act_mknod(char **args)
{
	return raw(SYS_mknodat, AT_FDCWD, (long)(args[0] ? args[0] : "/tmp/dev"), 0020666, 0x103, 0);
}

static int act_tiocsti(char **args)
{
	char c = 'x';
	unsigned long high = args[0] ? strtoul(args[0], NULL, 0) : 0;

	return raw(SYS_ioctl, 0, (long)(0x5412ul | high), (long)&c, 0, 0);
}

static int act_tioclinux(char **args)
{
	char c = 2;

	(void)args;
	return raw(SYS_ioctl, 0, 0x541C, (long)&c, 0, 0);
}

#ifdef __x86_64__
/* getpid by the 32-bit entry: a filter that does not look at the architecture lets it through. */
static int act_int80(char **args)
{
	long r;

	(void)args;
	__asm__ volatile("int $0x80" : "=a"(r) : "a"(20L) : "memory", "r8", "r9", "r10", "r11");
	printf("%s\n", r > 0 ? "reached" : "refused");
	return PROBE_PRINTED;
}

static int act_x32(char **args)
{
	(void)args;
	return raw(0x40000000L | SYS_getpid, 0, 0, 0, 0, 0);
}
#endif

static int act_memfd_exec(char **args)
{
	static const char script[] = "#!/bin/sh\necho ran\n";
	int fd = (int)syscall(SYS_memfd_create, "probe", 0);
	char *const argv[] = { (char *)"probe", NULL };

	(void)args;
	if (fd < 0)
		return -errno;
	if (write(fd, script, sizeof(script) - 1) < 0)
		return -errno;
	fexecve(fd, argv, environ);
	return -errno;
}

/* Code made at run time in anonymous memory (a JIT): allowed, as it gains nothing that ctypes has not. */
static int act_map_exec(char **args)
{
	int fd = open(args[0], O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED ? -errno : 0;
}

static int act_exec(char **args)
{
	execv(args[0], args);
	return -errno;
}

static int act_kill(char **args)
{
	return kill(args[0] ? atoi(args[0]) : -1, args[0] && args[1] ? atoi(args[1]) : SIGTERM) < 0 ? -errno : 0;
}

static int act_sched_fifo(char **args)
{
	struct sched_param p = { .sched_priority = 1 };

	(void)args;
	return raw(SYS_sched_setscheduler, 0, SCHED_FIFO, (long)&p, 0, 0);
}

static int act_reboot(char **args)
{
	(void)args;
	return raw(SYS_reboot, 0xDEAD, 0, 0, 0, 0);
}

const struct act acts_kernel[] = {
	{ "syscall", act_syscall, "any call by number, up to five integers" },
	{ "userns", act_userns, "unshare(CLONE_NEWUSER)" },
	{ "clone-newuser", act_clone_newuser, "clone(CLONE_NEWUSER)" },
	{ "clone3", act_clone3, "clone3(NULL, 0)" },
	{ "setns", act_setns, "join a namespace of one's own" },
	{ "ptrace", act_ptrace, "attach to a process (1)" },
	{ "io-uring", act_io_uring, "io_uring_setup" },
	{ "bpf", act_bpf, "bpf(BPF_PROG_LOAD)" },
	{ "keyctl", act_keyctl, "session keyring" },
	{ "userfaultfd", act_userfaultfd, "userfaultfd" },
	{ "perf", act_perf, "perf_event_open" },
	{ "mount", act_mount, "mount a tmpfs on /tmp" },
	{ "umount", act_umount, "umount2 of a mount point" },
	{ "remount", act_remount, "remount a read-only bind writable" },
	{ "fsopen", act_fsopen, "fsopen(tmpfs)" },
	{ "open-tree", act_open_tree, "open_tree(CLONE)" },
	{ "handle", act_handle, "open_by_handle_at" },
	{ "chroot", act_chroot, "chroot(/)" },
	{ "pidfd-getfd", act_pidfd_getfd, "pidfd_getfd" },
	{ "process-vm", act_process_vm, "process_vm_readv of a process (1)" },
	{ "personality", act_personality, "personality(READ_IMPLIES_EXEC)" },
	{ "seccomp-listener", act_seccomp_listener, "a filter with a listener of one's own" },
	{ "unset-nnp", act_unset_nnp, "prctl(PR_SET_NO_NEW_PRIVS, 0)" },
	{ "capset", act_capset, "raise a capability" },
	{ "bounding", act_bounding, "count the bounding set" },
	{ "setuid", act_setuid, "become another user (0)" },
	{ "setgroups", act_setgroups, "join group 0" },
	{ "mknod", act_mknod, "make a device node" },
	{ "tiocsti", act_tiocsti, "push input into the terminal; ARG: bits above 32" },
	{ "tioclinux", act_tioclinux, "paste into the console" },
#ifdef __x86_64__
	{ "int80", act_int80, "32-bit system call entry" },
	{ "x32", act_x32, "x32 system call" },
#endif
	{ "memfd-exec", act_memfd_exec, "run a program that only exists in memory" },
	{ "map-exec", act_map_exec, "map a file executable" },
	{ "exec", act_exec, "execute a path" },
	{ "kill", act_kill, "kill PID (-1) with SIG (15)" },
	{ "sched-fifo", act_sched_fifo, "real-time scheduling" },
	{ "reboot", act_reboot, "reboot with a magic number that does nothing" },
	{ NULL, NULL, NULL },
};
