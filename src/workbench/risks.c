/*
 * risks.c - what a policy may grant that an attacker would ask for: the one table behind `check` and `score`
 *
 * Runs as: the caller
 * Trusts: a policy that policy_load() returned
 * Never: refuses; whoever writes a policy decides
 */
#include <string.h>
#include <linux/personality.h>
#include <sys/mman.h>

#include "workbench/internal.h"

/* clang-format off */
/* A setting: how much of the risk, by a function. A call: whether the filter allows it with these arguments. */
#define SETTING(id, weight, note, path, title, why, ref, test) { id, weight, note, path, title, why, ref, test, NULL, { 0 } }
#define CALL(id, weight, note, title, why, ref, call, ...) \
	{ id, weight, note, "syscalls", title, why, ref, NULL, call, { __VA_ARGS__ } }
#define NOTE true
#define QUIET false	/* part of ordinary work: counted by `score`, no word of `check` */

enum { UNIX = 1, INET = 2, X25 = 9, NETLINK = 16, PACKET = 17, TIPC = 30, BLUETOOTH = 31, ALG = 38, VSOCK = 40 };
enum { STREAM = 1, DGRAM = 2, RAW = 3, SEQPACKET = 5 };

const struct risk workbench_risks[] = {
	/* ---- the host -------------------------------------------------------------------------------------- */
	SETTING("service-socket", 120, NOTE, "files", "a socket of a service of the host",
		"who can talk to a container engine or a like service can have it start anything on the host",
		"unix(7); docs.docker.com/engine/security", risk_service_socket),
	SETTING("weak-isolation", 150, NOTE, "isolation", "no namespaces",
		"the program runs among the caller's own processes, with the caller's rights as far as Landlock and the filter do not "
		"take them away", "smoljail(1) --isolation", risk_weak_isolation),
	SETTING("host-network", 120, NOTE, "network.mode", "the host's own network",
		"the program reaches everything that the host reaches: local services, abstract unix sockets, metadata services",
		"network_namespaces(7); CVE-2020-15257", risk_host_network),
	SETTING("secret-path", 80, NOTE, "files", "a place of secrets",
		"it looks like a place of keys or passwords, and the program can read it", "ssh(1) FILES", risk_secret_path),
	SETTING("host-write", 80, NOTE, "files.write", "a folder of the host that it may write",
		"the program may change, fill and delete it; no limit bounds what it writes there, and what it writes may be run "
		"or read by others later", "mount_namespaces(7)", risk_host_write),
	SETTING("wide-folder", 60, NOTE, "files", "a whole part of the host to read",
		"it shows the program a whole part of the host", "hier(7)", risk_wide_folder),
	SETTING("secret-env", 60, NOTE, "env.pass", "a secret in the environment",
		"it looks like a secret, and the program can read it", "environ(7)", risk_secret_env),
	SETTING("host-read", 20, QUIET, "files.read", "a folder of the host to read",
		"what is there can be read, and sent wherever the program can send", "mount_namespaces(7)", risk_host_read),

	/* ---- limits ---------------------------------------------------------------------------------------- */
	SETTING("no-memory-limit", 50, NOTE, "limits.memory", "no limit of memory",
		"the program may use all memory of the host", "cgroups(7)", risk_no_memory),
	SETTING("no-pids-limit", 50, NOTE, "limits.pids", "no limit of processes",
		"a fork bomb is stopped only by the host", "cgroups(7)", risk_no_pids),
	SETTING("no-wall-limit", 30, NOTE, "limits.wall", "no limit of time",
		"a program that waits for ever runs for ever", "time(7)", risk_no_wall),
	SETTING("no-cpu-limit", 30, NOTE, "limits.cpus", "no limit of CPUs",
		"the program may keep every CPU busy", "cgroups(7)", risk_no_cpus),
	SETTING("no-output-limit", 20, NOTE, "limits.output", "no limit of output",
		"output goes on without end into whatever receives it", "pipe(7)", risk_no_output),
	SETTING("best-effort", 10, QUIET, "limits.enforcement", "limits that weaker mechanisms may hold",
		"where control groups cannot be had, limits are held by polling and by rlimits", "cgroups(7)", risk_best_effort),

	/* ---- code ------------------------------------------------------------------------------------------ */
	SETTING("exec-from-writable", 50, NOTE, "files.exec_from_writable", "execution of files that it has written",
		"the program may bring its own machine code and run it as a program", "mount(2) MS_NOEXEC", risk_exec_writable),
	CALL("memfd-exec", 30, NOTE, "execution of memory files", "memory files can be executed although no folder lets that happen",
	     "memfd_create(2) MFD_NOEXEC_SEAL", "memfd_create", 0, 1),
	CALL("wx-memory", 30, NOTE, "memory that is writable and executable", "code can be made while the program runs",
	     "mprotect(2)", "mmap", 0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS),
	CALL("execve", 40, QUIET, "execution of programs of the root", "each program of the root can be run", "execve(2)", "execve", 0),
	SETTING("no-landlock", 30, NOTE, "landlock", "no Landlock behind the mounts", "the second layer over files is switched off",
		"landlock(7)", risk_no_landlock),

	/* ---- the kernel's surface ---------------------------------------------------------------------------- */
	SETTING("call-surface", 100, QUIET, "syscalls", "system calls", "each call that is allowed is code of the kernel that can be attacked",
		"seccomp(2)", risk_call_surface),
	CALL("af-alg", 80, NOTE, "sockets of the kernel's ciphers (AF_ALG)", "rarely used, and attacked more than once",
	     "CVE-2019-8912", "socket", ALG, SEQPACKET),
	CALL("af-vsock", 80, NOTE, "sockets to virtual machines (AF_VSOCK)", "they reach the host of a virtual machine, past every network rule",
	     "CVE-2021-26708, vsock(7)", "socket", VSOCK, STREAM),
	CALL("af-packet", 80, NOTE, "raw packets (AF_PACKET)", "a long row of faults that gave root", "CVE-2017-7308, CVE-2020-14386, packet(7)",
	     "socket", PACKET, RAW),
	CALL("netlink", 80, NOTE, "netlink beyond NETLINK_ROUTE", "it reaches the firewall's and other tables of the kernel",
	     "CVE-2024-1086, CVE-2022-32250, netlink(7)", "socket", NETLINK, RAW, 12),
	CALL("netlink-xfrm", 40, NOTE, "netlink of IPsec (NETLINK_XFRM)", "it changes the kernel's tables of IPsec", "CVE-2017-16939, netlink(7)",
	     "socket", NETLINK, RAW, 6),
	CALL("raw-socket", 60, NOTE, "raw sockets", "they forge packets, and their code has had races", "CVE-2017-17712, raw(7)",
	     "socket", INET, RAW, 1),
	CALL("af-bluetooth", 50, NOTE, "Bluetooth sockets", "they reach drivers of the host", "CVE-2020-12351, socket(2)", "socket", BLUETOOTH, RAW),
	CALL("af-tipc", 50, NOTE, "sockets of rare protocols", "their modules are loaded for the first program that asks, and are little tested",
	     "CVE-2021-43267, socket(2)", "socket", TIPC, DGRAM),
	CALL("af-x25", 20, NOTE, "sockets of dead protocols", "nobody needs them, and nobody mends them", "x25(7)", "socket", X25, SEQPACKET),
	CALL("inet", 30, QUIET, "internet sockets", "the program can talk, within its network", "ip(7)", "socket", INET, STREAM),
	CALL("unix-sockets", 20, QUIET, "unix sockets", "descriptors can be passed among the jail's processes; their collector has had faults",
	     "CVE-2021-0920, unix(7)", "socket", UNIX, STREAM),
	CALL("ioctl", 50, NOTE, "every ioctl", "without a condition it reaches every driver behind an open descriptor", "ioctl(2)",
	     "ioctl", 0, 0xabcd),
	CALL("tty-settings", 10, QUIET, "settings of terminals", "modes of a terminal that it owns can be changed", "ioctl_tty(2)", "ioctl", 0, 0x5402),
	CALL("prctl", 30, NOTE, "every prctl", "without a condition it changes how the kernel protects the process", "prctl(2)", "prctl", 0xabcd),
	CALL("personality", 30, NOTE, "personality without randomisation", "it switches off the randomisation of addresses", "personality(2)",
	     "personality", ADDR_NO_RANDOMIZE),
	CALL("vmsplice", 30, NOTE, "vmsplice", "it maps pages into pipes, a favourite help of kernel exploits", "CVE-2008-0600, vmsplice(2)", "vmsplice", 0),
	CALL("splice", 20, QUIET, "splice", "it moves pages between files and pipes", "CVE-2022-0847, splice(2)", "splice", 0),
	CALL("old-aio", 20, NOTE, "the old asynchronous files", "rarely used and often attacked", "io_setup(2)", "io_setup", 1),
	CALL("device-nodes", 40, NOTE, "device nodes", "it makes special files", "mknod(2)", "mknodat", (uint64_t)-100, 0, 0020600, 0x103),
	CALL("socket-all", 40, NOTE, "sockets of families that nobody has thought of", "without a condition it reaches every protocol that the kernel has",
	     "socket(2)", "socket", 63, STREAM),
	CALL("sysv-ipc", 20, QUIET, "System V memory, queues and semaphores", "old code of the kernel that few programs need", "sysvipc(7)", "shmget", 0, 4096),
	CALL("ids", 10, QUIET, "changes of user and group", "there is nobody to change to, but the calls are there", "credentials(7)", "setresuid", 0),
	CALL("inotify", 5, QUIET, "watching of files", "watches are counted for the whole user of the host", "inotify(7)", "inotify_init1", 0),
	CALL("timers", 5, QUIET, "POSIX timers", "a fault of them has given root", "CVE-2025-38352, timer_create(2)", "timer_create", 0),

	/* ---- processes --------------------------------------------------------------------------------------- */
	CALL("processes", 40, QUIET, "child processes", "races between processes are what many exploits of kernels are made of", "fork(2)", "clone", 17),
	CALL("threads", 10, QUIET, "threads", "races need at least two of them", "pthreads(7)", "clone", 0x10100),

	/*
	 * ---- what "@never" denies: no weight, since no policy can allow it -------------------------------------
	 * `check` has the reason and the reference for a policy that names such a call all the same.
	 */
	CALL("io-uring", 0, NOTE, "io_uring", "its operations pass by the filter, and it has been a row of faults", "CVE-2021-41073, CVE-2022-29582, io_uring(7)",
	     "io_uring_setup", 0),
	CALL("userfaultfd", 0, NOTE, "userfaultfd", "it stops the kernel half-way, which turns small races into sure ones", "userfaultfd(2)", "userfaultfd", 0),
	CALL("ptrace", 0, NOTE, "ptrace", "it controls another process, past the filter of that process", "CVE-2019-13272, ptrace(2)", "ptrace", 0),
	CALL("process-vm-read", 0, NOTE, "process_vm_readv", "it reads another process's memory", "process_vm_readv(2)", "process_vm_readv", 0),
	CALL("process-vm-write", 0, NOTE, "process_vm_writev", "it writes another process's memory", "process_vm_writev(2)", "process_vm_writev", 0),
	CALL("bpf", 0, NOTE, "bpf", "it runs code in the kernel", "CVE-2020-8835, CVE-2021-3490, bpf(2)", "bpf", 0),
	CALL("perf", 0, NOTE, "perf_event_open", "a long row of faults, and a side channel", "CVE-2013-2094, perf_event_open(2)", "perf_event_open", 0),
	CALL("keys", 0, NOTE, "kernel keys", "they are shared with other jails of the user", "CVE-2016-0728, keyrings(7)", "keyctl", 0),
	CALL("userns", 0, NOTE, "new namespaces", "in one of its own, a program is root for most of the kernel's code", "CVE-2022-0185, user_namespaces(7)",
	     "unshare", 0x10000000),
	CALL("clone-userns", 0, NOTE, "new namespaces by clone", "in one of its own, a program is root for most of the kernel's code",
	     "CVE-2022-0185, user_namespaces(7)", "clone", 0x10000011),
	CALL("setns", 0, NOTE, "entering namespaces", "it leaves the jail", "setns(2)", "setns", 0),
	CALL("mount", 0, NOTE, "mounts", "they change what every path means", "CVE-2022-0185, mount(2)", "mount", 0),
	CALL("handles", 0, NOTE, "file handles", "they reach files outside of the root", "open_by_handle_at(2)", "open_by_handle_at", 0),
	CALL("modules", 0, NOTE, "kernel modules", "they are code of the kernel", "init_module(2)", "finit_module", 0),
	CALL("kexec", 0, NOTE, "another kernel", "it replaces the one that holds the jail", "kexec_load(2)", "kexec_load", 0),
	CALL("tiocsti", 0, NOTE, "typing into the caller's terminal", "the caller's shell runs what is typed", "CVE-2017-5226, CVE-2019-10063, ioctl_tty(2)",
	     "ioctl", 0, 0x5412),
	CALL("tioclinux", 0, NOTE, "pasting into the console", "the caller's shell runs what is pasted", "CVE-2023-28100, ioctl_console(2)", "ioctl", 0, 0x541c),
	{ NULL, 0, false, NULL, NULL, NULL, NULL, NULL, NULL, { 0 } },
};
/* clang-format on */

unsigned int risk_share(const struct risk *risk, const struct policy *p, size_t at, char detail[WORDS_MAX])
{
	struct filter_verdict v;
	int nr;

	detail[0] = '\0';
	if (risk->test)
		return risk->test(p, at, detail);
	nr = filter_call_number(risk->call);
	if (at > 0 || nr < 0)
		return 0;
	filter_decide(p, nr, risk->args, &v);
	/* What every program has by the floor is no choice of a policy. */
	if (v.action != POLICY_ALLOW || strcmp(words_origin(v.rule), "@floor") == 0)
		return 0;
	snprintf(detail, WORDS_MAX, "%s", words_origin(v.rule));
	return RISK_WHOLE;
}
