/*
 * test_filter_describe.c - calls in words
 *
 * Runs as: any user
 * Trusts: nothing
 * Never: shows a pointer
 */
#include <sys/syscall.h>

#include "filter/internal.h"
#include "tap.h"

#define SECRET 0x7ffc12345678	/* stands for every pointer */

static const struct {
	int nr;
	uint64_t args[6];
	const char *want;
} cases[] = {
	{ SYS_socket, { 2, 1 }, "socket(AF_INET, SOCK_STREAM, 0)" },
	{ SYS_socket, { 10, 2 | 0x80800, 17 }, "socket(AF_INET6, SOCK_DGRAM|SOCK_NONBLOCK|SOCK_CLOEXEC, IPPROTO_UDP)" },
	{ SYS_socket, { 16, 3, 12 }, "socket(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER)" },
	{ SYS_socket, { 16, 3, 0 }, "socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE)" },
	{ SYS_socket, { 1, 1, 6 }, "socket(AF_UNIX, SOCK_STREAM, 6)" },
	{ SYS_socket, { 99, 0x70, 0 }, "socket(99, 0x70, 0)" },
	{ SYS_socket, { 0xdead00000002, 1 }, "socket(AF_INET, SOCK_STREAM, 0)" },
	{ SYS_clone, { 0x10000011, SECRET, SECRET, SECRET, SECRET }, "clone(SIGCHLD|CLONE_NEWUSER, ...)" },
	{ SYS_clone, { 0, SECRET }, "clone(0, ...)" },
	{ SYS_unshare, { 0x10020000 }, "unshare(CLONE_NEWNS|CLONE_NEWUSER)" },
	{ SYS_setns, { 5, 0x40000000 }, "setns(5, CLONE_NEWNET)" },
	{ SYS_ioctl, { 0, 0x5412, SECRET }, "ioctl(0, TIOCSTI, ...)" },
	{ SYS_ioctl, { 1, 0xabcd, SECRET }, "ioctl(1, 0xabcd, ...)" },
	{ SYS_fcntl, { 3, 1026, SECRET }, "fcntl(3, F_NOTIFY, ...)" },
	{ SYS_prctl, { 35, SECRET, SECRET }, "prctl(PR_SET_MM, ...)" },
	{ SYS_prctl, { 12345 }, "prctl(0x3039, ...)" },
	{ SYS_openat, { (uint64_t)-100, SECRET, 0x80241, 0644 },
	  "openat(AT_FDCWD, ..., O_WRONLY|O_CREAT|O_TRUNC|O_CLOEXEC, 0644)" },
	{ SYS_openat, { 7, SECRET, 0 }, "openat(7, ..., O_RDONLY, 0)" },
	{ SYS_openat, { 7, SECRET, 0x410002 }, "openat(7, ..., O_RDWR|O_TMPFILE, 0)" },
	{ SYS_mknodat, { (uint64_t)-100, SECRET, 0020644, 259 }, "mknodat(AT_FDCWD, ..., S_IFCHR|0644, 259)" },
	{ SYS_unlinkat, { 3, SECRET, 0x200 }, "unlinkat(3, ..., AT_REMOVEDIR)" },
	{ SYS_renameat2, { 3, SECRET, 4, SECRET, 2 }, "renameat2(3, ..., 4, ..., RENAME_EXCHANGE)" },
	{ SYS_kill, { (uint64_t)-1, 9 }, "kill(-1, SIGKILL)" },
	{ SYS_kill, { 0xffffffff, 64 }, "kill(-1, 64)" },
	{ SYS_tgkill, { 1, 2, 6 }, "tgkill(1, 2, SIGABRT)" },
	{ SYS_mmap, { SECRET, 4096, 7, 0x22, (uint64_t)-1, 0 },
	  "mmap(..., 4096, PROT_READ|PROT_WRITE|PROT_EXEC, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0)" },
	{ SYS_mprotect, { SECRET, 4096, 0 }, "mprotect(..., 4096, PROT_NONE)" },
	{ SYS_prlimit64, { 1, 7, SECRET, SECRET }, "prlimit64(1, RLIMIT_NOFILE, ...)" },
	{ SYS_sched_setscheduler, { 0, 1, SECRET }, "sched_setscheduler(0, SCHED_FIFO, ...)" },
	{ SYS_ptrace, { 16, 7, SECRET, SECRET }, "ptrace(PTRACE_ATTACH, 7, ...)" },
	{ SYS_bpf, { 5, SECRET, 128 }, "bpf(BPF_PROG_LOAD, ..., 128)" },
	{ SYS_keyctl, { 1, SECRET }, "keyctl(KEYCTL_JOIN_SESSION_KEYRING, ...)" },
	{ SYS_seccomp, { 1, 8, SECRET }, "seccomp(SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, ...)" },
	{ SYS_personality, { 0x40000 }, "personality(0x40000)" },
	{ SYS_reboot, { 0xfee1dead, 0x28121969, 0x1234567, SECRET }, "reboot(0xfee1dead, 0x28121969, 0x1234567, ...)" },
	{ SYS_wait4, { (uint64_t)-1, SECRET, 1, SECRET }, "wait4(-1, ..., WNOHANG, ...)" },
	{ SYS_clock_settime, { 0, SECRET }, "clock_settime(CLOCK_REALTIME, ...)" },
	{ SYS_madvise, { SECRET, 1, 4 }, "madvise(..., 1, MADV_DONTNEED)" },
	{ SYS_futex, { SECRET, 0x89, 3, SECRET, SECRET, 7 }, "futex(..., FUTEX_WAIT_BITSET|FUTEX_PRIVATE_FLAG, 3, ..., 7)" },
	{ SYS_setpriority, { 0, 0, (uint64_t)-5 }, "setpriority(0, 0, -5)" },
	{ SYS_mount, { SECRET, SECRET, SECRET, 0x1000, SECRET }, "mount(..., 0x1000, ...)" },
	{ SYS_fork, { SECRET }, "fork()" },
	{ 461, { SECRET, SECRET, 2 }, "lsm_list_modules(..., 0x2)" },
	{ 350, { SECRET, SECRET }, "syscall_350()" },
	{ -1, { SECRET }, "syscall_-1()" },
};

/* Whatever the call, a pointer's value must not come out of any argument that may hold one. */
static void test_no_pointers(void)
{
	static const uint64_t args[6] = { SECRET, SECRET, SECRET, SECRET, SECRET, SECRET };
	char text[200];
	int shown = 0;

	for (int nr = 0; nr < FILTER_CALLS_MAX; nr++) {
		filter_describe(nr, args, text, sizeof(text));
		/* Numbers of 64 bits that are no addresses are shown, so a caller that puts one there sees it. */
		if (call_args(nr) && strpbrk(call_args(nr), "lzXnMGT"))
			continue;
		shown += strstr(text, "7ffc12345678") != NULL;
	}
	is_int(0, shown, "no pointer is shown");
}

static void test_small_fields(void)
{
	const uint64_t args[6] = { 10, 2 | 0x80800, 17 };
	char whole[200], text[200];
	bool good = true;

	filter_describe(SYS_socket, args, whole, sizeof(whole));
	for (size_t len = 1; len < sizeof(text); len++) {
		memset(text, 'x', sizeof(text));
		filter_describe(SYS_socket, args, text, len);
		good &= strlen(text) == (strlen(whole) < len - 1 ? strlen(whole) : len - 1);
		good &= strncmp(text, whole, len - 1) == 0 && text[len] == 'x';
	}
	ok(good, "any field is filled to its end and no further");
	filter_describe(SYS_socket, args, text, 0);
}

int main(void)
{
	char text[200];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		filter_describe(cases[i].nr, cases[i].args, text, sizeof(text));
		is_str(cases[i].want, text, "call %d, case %zu", cases[i].nr, i);
	}
	test_no_pointers();
	test_small_fields();
	return done();
}
