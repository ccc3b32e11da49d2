/*
 * checks.c - every promise that selftest tries: its name, its words, and the one outcome that keeps it
 *
 * Runs as: the caller
 * Trusts: nothing
 * Never: runs anything
 */
#include <string.h>

#include "selftest/internal.h"

#define WANT(w) .want = (w)	/* designated, so that the columns after it may be left out */
#define STRICT(w) .strict = (w)
#define DATA(w) .data = (w)
#define SHELL(w) .shell = (w)
#define OPEN(w) .open = (w)
#define LANDLOCK(w) .landlock = (w)

const struct check checks[] = {
	/* files and descriptors */
	{ "file.read", JAIL_MAIN, P_FILES, "reads a file of the host by its path", WANT("ENOENT"), LANDLOCK("EACCES") },
	{ "file.write", JAIL_MAIN, P_FILES, "writes a file of the host by its path", WANT("ENOENT"), LANDLOCK("EACCES") },
	{ "file.climb", JAIL_MAIN, P_FILES, "climbs out by .., /proc/self/root and /proc/self/cwd", WANT("ENOENT"), LANDLOCK("EACCES") },
	{ "file.secrets", JAIL_MAIN, P_FILES | P_SHIPPED, "reads /etc/shadow, /root, /home, /run, docker.sock", WANT("ENOENT"), LANDLOCK("EACCES|ENOENT|EACCES ENOENT") },
	{ "file.readonly", JAIL_MAIN, P_FILES, "creates files in /, /usr, /etc, /dev", WANT("EROFS"), LANDLOCK("EACCES") },
	{ "file.handle", JAIL_MAIN, P_FILTER, "opens files by handle, around every path", WANT("EPERM") },
	{ "file.cwd", JAIL_MAIN, P_FILES | P_SHIPPED, "working directory is the private folder", WANT("/work") },
	{ "file.chroot", JAIL_MAIN, P_FILTER, "chroot", WANT("EPERM") },
	{ "file.sockets", JAIL_MAIN, P_FILES | P_SHIPPED, "looks for sockets of the host in the file tree", WANT("none") },
	{ "fd.leak", JAIL_MAIN, P_ALWAYS, "descriptors beyond the three streams", WANT("0 1 2") },
	{ "fd.climb", JAIL_MAIN, P_ALWAYS, "opens a host file relative to each descriptor", WANT("ENOTDIR") },
	{ "fd.streams", JAIL_MAIN, P_ALWAYS, "streams are pipes, not the caller's files", WANT("pipe") },
	{ "exe.self", JAIL_MAIN, P_FILES, "overwrites the running program", WANT("EROFS|ETXTBSY|EACCES"), LANDLOCK("EACCES") },
	{ "exe.init", JAIL_MAIN, P_PIDS, "overwrites the program of the jail's init", WANT("ENOENT"), LANDLOCK("EACCES") },
	/* mounts and devices */
	{ "mount.flags", JAIL_MAIN, P_FILES | P_SHIPPED, "mounts that are not nosuid, nodev and read-only", WANT("good") },
	{ "mount.noexec", JAIL_MAIN, P_FILES | P_SHIPPED, "writable mounts from which programs run", WANT("noexec"), OPEN(ALLOWED) },
	{ "mount.mount", JAIL_MAIN, P_FILTER, "mounts, remounts and binds", WANT("EPERM") },
	{ "mount.umount", JAIL_MAIN, P_FILTER, "uncovers what is mounted over", WANT("EPERM") },
	{ "mount.new_api", JAIL_MAIN, P_FILTER, "fsopen, open_tree, move_mount and their kin", WANT("EPERM") },
	{ "mount.list", JAIL_MAIN, P_FILTER, "lists mounts by statmount and listmount", WANT("ENOSYS") },
	{ "mount.cgroup", JAIL_MAIN, P_FILES, "a mounted control group file system", WANT("none") },
	{ "dev.nodes", JAIL_MAIN, P_FILES, "device nodes beyond the five harmless ones",
	  WANT("fd full null random shm stderr stdin stdout urandom zero") },
	{ "dev.change", JAIL_MAIN, P_FILES, "removes or renames /dev/null", WANT("EROFS"), LANDLOCK("EACCES") },
	{ "dev.mknod", JAIL_MAIN, P_FILTER, "makes device nodes", WANT("EPERM") },
	/* /proc, /sys, control groups */
	{ "proc.others", JAIL_MAIN, P_PIDS, "sees processes of the host", WANT("own") },
	{ "proc.init", JAIL_MAIN, P_PIDS, "looks into the jail's init: environ, mem, root, fd", WANT("ENOENT"), LANDLOCK("EACCES") },
	{ "proc.canary", JAIL_MAIN, P_PIDS, "looks into a process of the host", WANT("ENOENT"), LANDLOCK("EACCES") },
	{ "proc.host_files", JAIL_MAIN, P_FILES, "kcore, kallsyms, keys, sysrq-trigger and their kin", WANT("ENOENT"), LANDLOCK("EACCES|ENOENT|EACCES ENOENT") },
	{ "proc.sysctl", JAIL_MAIN, P_FILES, "writes core_pattern, modprobe, binfmt_misc, uevent_helper", WANT("ENOENT"), LANDLOCK("EACCES|ENOENT|EACCES ENOENT") },
	{ "proc.sys_absent", JAIL_MAIN, P_FILES, "/sys and /proc/sys", WANT("ENOENT"), LANDLOCK("EACCES|ENOENT|EACCES ENOENT") },
	{ "cgroup.path", JAIL_MAIN, P_NAMES, "sees where its control group hangs", WANT("/") },
	{ "cgroup.raise", JAIL_MAIN, P_FILES, "raises its limits, sets a release agent", WANT("ENOENT"), LANDLOCK("EACCES|ENOENT|EACCES ENOENT") },
	/* namespaces */
	{ "ns.unshare", JAIL_MAIN, P_FILTER, "new namespaces by unshare, of each kind", WANT("EPERM") },
	{ "ns.clone", JAIL_MAIN, P_FILTER, "new namespaces by clone, of each kind", WANT("EPERM") },
	{ "ns.clone3", JAIL_MAIN, P_FILTER, "clone3, whose flags a filter cannot read", WANT("ENOSYS") },
	{ "ns.join", JAIL_MAIN, P_FILTER, "setns", WANT("EPERM") },
	{ "ns.parent", JAIL_MAIN, P_FILTER | P_NAMES, "asks for the parents of its namespaces", WANT("EPERM") },
	{ "ns.hostname", JAIL_MAIN, P_NAMES | P_SHIPPED, "sees the host's name", WANT("jail") },
	{ "ns.sethostname", JAIL_MAIN, P_FILTER, "changes the host's name", WANT("EPERM") },
	{ "ns.separate", JAIL_WAIT, P_NAMES | P_SHIPPED, "shares a namespace with the host, seen from the host", WANT("none") },
	{ "ns.nested_limit", JAIL_WAIT, P_NAMES, "limit of user namespaces inside, read from the host", WANT("0") },
	/* rights */
	{ "caps.sets", JAIL_WAIT, P_ALWAYS, "capabilities in the effective, permitted, inheritable or ambient set", WANT("0") },
	{ "caps.raise", JAIL_MAIN, P_ALWAYS, "raises CAP_SYS_ADMIN by capset", WANT("EPERM") },
	{ "caps.bounding", JAIL_MAIN, P_NAMES, "capabilities in the bounding set", WANT("none") },
	{ "caps.securebits", JAIL_MAIN, P_ALWAYS, "bits that keep uid 0 powerless", WANT("EPERM"), OPEN("0xef") },
	{ "ids.inside", JAIL_MAIN, P_NAMES, "the ids it has", WANT("1000 1000 1000 1000") },
	{ "ids.root", JAIL_MAIN, P_ALWAYS, "becomes root", WANT("EPERM"), OPEN("EINVAL") },
	{ "ids.groups", JAIL_MAIN, P_ALWAYS, "joins another group", WANT("EPERM") },
	{ "ids.outside", JAIL_WAIT, P_ALWAYS, "runs as root on the host, or with its groups", WANT("not root") },
	{ "privs.no_new", JAIL_WAIT, P_ALWAYS, "set-uid programs give rights", WANT("1") },
	{ "privs.no_new_unset", JAIL_MAIN, P_ALWAYS, "takes no_new_privs back", WANT("EINVAL") },
	/* the kernel's odd corners */
	{ "kernel.filter", JAIL_WAIT, P_FILTER, "runs without a filter", WANT("its own") },
	{ "kernel.init_filter", JAIL_WAIT, P_PIDS, "the jail's init runs without a filter", WANT("its own"), LANDLOCK("its own") },
	{ "kernel.io_uring", JAIL_MAIN, P_FILTER, "io_uring, which passes by filters", WANT("ENOSYS") },
	{ "kernel.bpf", JAIL_MAIN, P_FILTER, "bpf and perf_event_open", WANT("EPERM") },
	{ "kernel.userfaultfd", JAIL_MAIN, P_FILTER, "userfaultfd", WANT("EPERM") },
	{ "kernel.modules", JAIL_MAIN, P_FILTER, "loads modules or another kernel", WANT("EPERM") },
	{ "kernel.admin", JAIL_MAIN, P_FILTER, "quota, swap, reboot, clock, log, fanotify, hardware ports", WANT("EPERM") },
	{ "kernel.ptrace", JAIL_MAIN, P_FILTER, "ptrace", WANT("EPERM") },
	{ "kernel.other_memory", JAIL_MAIN, P_FILTER, "memory and descriptors of other processes", WANT("EPERM") },
	{ "kernel.splice", JAIL_MAIN, P_FILTER, "splice, vmsplice and tee", WANT("EPERM"), OPEN(ALLOWED) },
	{ "kernel.personality", JAIL_MAIN, P_FILTER, "personalities that weaken memory protection", WANT("EPERM") },
	{ "kernel.listener", JAIL_MAIN, P_FILTER, "a filter with a listener of its own", WANT("EPERM") },
	{ "kernel.new_calls", JAIL_MAIN, P_FILTER, "system calls newer than the policy (451 to 599)", WANT("ENOSYS") },
	{ "kernel.prctl", JAIL_MAIN, P_FILTER, "PR_SET_MM, PR_SET_TSC, PR_SCHED_CORE", WANT("EPERM"), OPEN(ALLOWED) },
#ifdef __x86_64__
	{ "kernel.x32", JAIL_X32, P_FILTER, "the x32 numbers of system calls", WANT("violation") },
	{ "kernel.i386", JAIL_FOREIGN, P_FILTER, "the 32-bit entry, int 0x80", WANT("violation") },
	{ "kernel.ldt", JAIL_LDT, P_FILTER, "modify_ldt", WANT("violation") },
#endif
	/* keys, System V and POSIX objects */
	{ "key.make", JAIL_MAIN, P_FILTER, "makes, asks for and joins kernel keyrings", WANT("EPERM") },
	{ "key.canary", JAIL_MAIN, P_FILTER, "reads a key of the caller's session", WANT("EPERM") },
	{ "ipc.sysv", JAIL_MAIN, P_IPC, "shared memory, queue and semaphore of the host (System V)", WANT("EPERM"), OPEN("ENOENT"), LANDLOCK("EPERM") },
	{ "ipc.posix_queue", JAIL_MAIN, P_IPC, "message queue of the host (POSIX)", WANT("EPERM"), OPEN("ENOENT"), LANDLOCK("EPERM") },
	{ "ipc.posix_shm", JAIL_MAIN, P_FILES, "shared memory of the host (POSIX)", WANT("ENOENT"), LANDLOCK("EACCES") },
	{ "ipc.lease", JAIL_MAIN, P_FILTER, "leases and notices on files of the root", WANT("EPERM"), OPEN("EACCES|EACCES EINVAL|EACCES ENOTDIR") },
	{ "ipc.file_locks", JAIL_NOWHERE, P_ALWAYS, "locks and watches on files that two jails share",
	  WANT("not promised: jails on one root, or with one folder, can signal to each other by them") },
	/* signals and terminal */
	{ "signal.canary", JAIL_MAIN, P_PIDS, "signals a process of the host", WANT("ESRCH"), LANDLOCK("EPERM") },
	{ "signal.init", JAIL_MAIN, P_LANDLOCK, "signals the jail's init", WANT("EPERM") },
	{ "signal.all", JAIL_MAIN, P_PIDS, "signals every process it may", WANT("ESRCH") },
	{ "tty.type", JAIL_MAIN, P_FILTER, "types into the caller's terminal (TIOCSTI, with high bits too)", WANT("EPERM") },
	{ "tty.console", JAIL_MAIN, P_FILTER, "pastes into, takes over or reprograms a console", WANT("EPERM") },
	{ "tty.open", JAIL_MAIN, P_FILES, "opens /dev/tty, ptmx, console", WANT("ENOENT"), LANDLOCK("EACCES|ENOENT|EACCES ENOENT") },
	{ "tty.session", JAIL_MAIN, P_PIDS, "belongs to the caller's session or terminal", WANT("session 1 terminal 0") },
	/* programs */
	{ "exec.written", JAIL_MAIN, P_FILES, "runs a program that it has written", WANT("EACCES"), STRICT("EPERM"), OPEN(ALLOWED), LANDLOCK("EACCES|EPERM") },
	{ "exec.map", JAIL_MAIN, P_FILES, "maps a written file executable, as a loader would", WANT("EPERM"), OPEN(ALLOWED) },
	{ "exec.memory", JAIL_MAIN, P_FILTER, "runs a program from a memory file", WANT("EPERM"), OPEN(ALLOWED) },
	{ "exec.at_empty_path", JAIL_MAIN, P_FILTER, "execveat without a path", WANT("EPERM"), OPEN(ALLOWED) },
	/* network */
	{ "net.families", JAIL_MAIN, P_FILTER, "socket families 0 to 46: those that can be made", WANT("1"), STRICT("none"), OPEN("1 2 10 16"), LANDLOCK("none") },
	{ "net.kernel_crypto", JAIL_MAIN, P_FILTER, "AF_ALG", WANT("EAFNOSUPPORT") },
	{ "net.vsock", JAIL_MAIN, P_FILTER, "AF_VSOCK", WANT("EAFNOSUPPORT") },
	{ "net.packet", JAIL_MAIN, P_FILTER | P_SHIPPED, "packet and raw sockets", WANT("EAFNOSUPPORT ENETUNREACH"), OPEN("EAFNOSUPPORT EPERM") },
	{ "net.netfilter", JAIL_MAIN, P_FILTER, "the kernel's packet filter by netlink", WANT("EAFNOSUPPORT"), OPEN("EPERM") },
	{ "net.outside", JAIL_MAIN, P_FILTER | P_SHIPPED, "the internet and cloud metadata, TCP and UDP", WANT("ENETUNREACH") },
	{ "net.host_port", JAIL_MAIN, P_FILTER | P_SHIPPED, "a port of the host by 127.0.0.1, ::1 and ::ffff:127.0.0.1", WANT("ENETUNREACH"), OPEN("ECONNREFUSED") },
	{ "net.abstract", JAIL_MAIN, P_NET | P_SHIPPED, "an abstract socket of the host", WANT("ECONNREFUSED"), STRICT("EPERM"), LANDLOCK("EACCES") },
	{ "net.socket_file", JAIL_MAIN, P_FILES, "a unix socket of the host", WANT("ENOENT"), STRICT("EPERM"), LANDLOCK("EACCES") },
	{ "net.interfaces", JAIL_MAIN, P_NET | P_SHIPPED, "network interfaces of the host", WANT("lo") },
	{ "net.granted_socket", JAIL_NOWHERE, P_ALWAYS, "a unix socket in a folder that was mounted",
	  WANT("not promised: who mounts a folder, read-only or not, grants the sockets in it") },
	{ "net.proxy", JAIL_NOWHERE, P_ALWAYS, "forbidden hosts through the egress proxy", WANT("not offered: this version has no proxy") },
	{ "net.pasta", JAIL_NOWHERE, P_ALWAYS, "the host's ports through a user-mode network", WANT("not offered: this version has no such network") },
	/* limits */
	{ "limit.raise", JAIL_MAIN, P_ALWAYS, "raises hard limits", WANT("EPERM") },
	{ "limit.of_init", JAIL_MAIN, P_FILTER, "reads or sets limits of the jail's init", WANT("EPERM") },
	{ "limit.core", JAIL_MAIN, P_ALWAYS, "core files, or a handler of the host for them", WANT("1 1") },
	{ "limit.locked", JAIL_MAIN, P_SHIPPED, "locks 4 MiB of memory", WANT("ENOMEM"), STRICT("EPERM") },
	{ "limit.memory", JAIL_MEMORY, P_ALWAYS, "512 MiB where 64 are granted", WANT("oom") },
	{ "limit.processes", JAIL_PROCESSES, P_ALWAYS, "200 processes where 16 are granted", WANT("EAGAIN"), STRICT("EPERM") },
	{ "limit.disk", JAIL_SMALL, P_DISK, "fills the work folder and /dev/shm", WANT("ENOSPC") },
	{ "limit.inodes", JAIL_SMALL, P_DISK, "300 files where 64 are granted", WANT("ENOSPC") },
	{ "limit.file_size", JAIL_SMALL, P_ALWAYS, "a file of 1 TiB with a hole", WANT("EFBIG") },
	{ "limit.open_files", JAIL_SMALL, P_ALWAYS, "descriptors without end", WANT("EMFILE") },
	{ "limit.output", JAIL_FLOOD, P_ALWAYS, "4 MiB of output where 64 KiB are granted", WANT("output_limit") },
	{ "limit.wall", JAIL_WALL, P_ALWAYS, "ignores every signal and waits", WANT("timeout") },
	{ "limit.cpu", JAIL_CPU, P_ALWAYS, "ignores every signal and computes", WANT("cpu_limit") },
	{ "limit.stopped", JAIL_STOPPED, P_ALWAYS, "stops itself to outlive its time", WANT("timeout") },
	{ "sched.realtime", JAIL_MAIN, P_FILTER, "real-time CPU and disk priorities", WANT("EPERM") },
	{ "sched.nice", JAIL_MAIN, P_ALWAYS, "a higher priority", WANT("EACCES"), STRICT("EPERM") },
	/* what a process inherits, and what it leaves */
	{ "env.clean", JAIL_MAIN, P_SHIPPED, "variables of the caller", WANT("clean") },
	{ "env.secret", JAIL_MAIN, P_ALWAYS, "a secret of the caller in any environment or command line", WANT("absent") },
	{ "env.init", JAIL_WAIT, P_PIDS, "the caller's command line in the jail's init", WANT("smoljail: init"), LANDLOCK("smoljail: init") },
	{ "state.signals", JAIL_WAIT, P_ALWAYS, "ignored and blocked signals of the caller", WANT("ignored 0 blocked 0") },
	{ "state.umask", JAIL_WAIT, P_ALWAYS, "the caller's umask", WANT("22") },
	{ "python.path", JAIL_MAIN, P_SHIPPED, "PYTHONPATH of the caller", WANT("absent") },
	{ "python.startup", JAIL_MAIN, P_ALWAYS, "PYTHONSTARTUP and sitecustomize of the caller", WANT("none") },
	{ "core.none", JAIL_CRASH, P_ALWAYS, "a crash leaves a core file on the host", WANT("signal") },
	{ "process.orphan", JAIL_ORPHAN, P_PIDS, "a daemon outlives the run", WANT("none left"), STRICT("EPERM none left"), LANDLOCK("none left|EPERM none left") },
	{ "process.supervisor", JAIL_WAIT, P_PIDS, "the jail outlives a supervisor that is killed", WANT("none left"), LANDLOCK("none left") },
	/* the host afterwards */
	{ "canary.file", JAIL_CANARIES, P_ALWAYS, "a file and a folder of the host", WANT("untouched") },
	{ "canary.sockets", JAIL_CANARIES, P_ALWAYS, "a unix, an abstract and a TCP socket of the host", WANT("untouched") },
	{ "canary.process", JAIL_CANARIES, P_ALWAYS, "a process of the host", WANT("untouched") },
	{ "canary.key", JAIL_CANARIES, P_ALWAYS, "a key of the caller's session", WANT("untouched") },
	{ "canary.lock", JAIL_CANARIES, P_ALWAYS, "a lock on a file of the host", WANT("untouched") },
	{ "canary.ipc", JAIL_CANARIES, P_ALWAYS, "shared memory, queues and a semaphore of the host", WANT("untouched") },
	{ "canary.terminal", JAIL_CANARIES, P_ALWAYS, "a terminal of the caller", WANT("untouched") },
	{ "canary.launcher", JAIL_CANARIES, P_ALWAYS, "the program that launches jails", WANT("untouched") },
};
const size_t n_checks = ARRAY_LEN(checks);

static const struct {
	const char *word;
	unsigned int provides;
} isolations[] = {
	{ "full", P_FILTER | P_LANDLOCK | P_FILES | P_PIDS | P_NET | P_IPC | P_NAMES | P_DISK },
	{ "landlock", P_FILTER | P_LANDLOCK },
};

unsigned int isolation_provides(const char *word)
{
	for (size_t i = 0; i < ARRAY_LEN(isolations); i++)
		if (strcmp(word, isolations[i].word) == 0)
			return isolations[i].provides;
	return 0;
}

/* NULL when the policy's column says nothing. */
static const char *policy_wanted(const struct check *c, const char *policy, bool *ret_known)
{
	const struct {
		const char *policy, *want;
	} columns[] = {
		{ "python-strict", c->strict }, { "python", NULL }, { "python-data", c->data }, { "shell", c->shell }, { "open", c->open },
	};

	*ret_known = false;
	for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
		if (strcmp(policy, columns[i].policy) != 0)
			continue;
		*ret_known = true;
		return columns[i].want;
	}
	return NULL;
}

const char *check_wanted(const struct check *c, const char *policy, const char *isolation, const char **ret_why)
{
	unsigned int missing = c->needs & ~isolation_provides(isolation) & ~(unsigned int)P_SHIPPED;
	const char *here = strcmp(isolation, "landlock") == 0 ? c->landlock : NULL;
	bool known;
	const char *want = policy_wanted(c, policy, &known);

	*ret_why = NULL;
	if (c->jail == JAIL_NOWHERE)
		*ret_why = c->want;
	else if (missing && !here)
		*ret_why = "not provided by this isolation";
	else if (want && strcmp(want, ALLOWED) == 0)
		*ret_why = "the policy allows it";
	else if (!known && ((c->needs & P_SHIPPED) || c->strict || c->data || c->shell || c->open))
		*ret_why = "the outcome depends on the policy, and this one is not shipped";
	if (*ret_why)
		return NULL;
	return here ? here : want ? want : c->want;
}

bool check_passes(const char *want, const char *got)
{
	size_t len = strlen(got);

	for (const char *p = want; p; p = strchr(p, '|') ? strchr(p, '|') + 1 : NULL)
		if (strcspn(p, "|") == len && strncmp(p, got, len) == 0)
			return true;
	return false;
}

/* An id, or the part before its dot. */
bool check_chosen(const struct check *c, const char *only)
{
	size_t len = only ? strlen(only) : 0;

	return !only || strcmp(c->id, only) == 0 || (strncmp(c->id, only, len) == 0 && c->id[len] == '.');
}
