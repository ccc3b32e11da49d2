/*
 * run_confine.c - the system calls that are left to a supervisor whose jail stands
 *
 * Runs as: the supervisor of one run, once the jail is built and before its program starts
 * Trusts: the kernel's headers
 * Never: is needed for the jail to hold; it bounds what an error in the supervisor's parsing could be used for
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "session/internal.h"

#if defined(__x86_64__)
#define OWN_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCH AUDIT_ARCH_AARCH64
#else
#error "run_confine.c needs the audit architecture of this machine"
#endif

#define INSN(code_, jt_, jf_, k_) ((struct sock_filter){ .code = (code_), .jt = (jt_), .jf = (jf_), .k = (k_) })
#define ARG(i) ((uint32_t)(offsetof(struct seccomp_data, args) + 8 * (i)))	/* its low half: all targets are little-endian */

/* Relaying, waiting, counting, explaining, killing, cleaning up, and the report: no new process, program or connection. */
static const int allowed[] = {
	/* streams, the jail's channels, the report */
	SYS_read, SYS_readv, SYS_pread64, SYS_preadv2, SYS_write, SYS_writev, SYS_pwrite64, SYS_lseek, SYS_close, SYS_fcntl,
	SYS_recvmsg, SYS_recvfrom, SYS_sendmsg, SYS_sendto, SYS_shutdown, SYS_ppoll, SYS_fsync, SYS_dup, SYS_dup3, SYS_pipe2,
	/* files of control groups and of /proc, private folders to be removed, the report */
	SYS_openat, SYS_fstat, SYS_newfstatat, SYS_statx, SYS_fstatfs, SYS_statfs, SYS_getdents64, SYS_readlinkat, SYS_faccessat,
	SYS_faccessat2, SYS_unlinkat, SYS_mkdirat, SYS_renameat2, SYS_ftruncate, SYS_fchmod, SYS_flock, SYS_getcwd, SYS_chdir, SYS_fchdir,
	/* the jail's processes: their end, and what a refused call of theirs was about */
	SYS_wait4, SYS_waitid, SYS_pidfd_open, SYS_pidfd_send_signal, SYS_kill,
	/* itself */
	SYS_brk, SYS_munmap, SYS_mremap, SYS_madvise, SYS_futex, SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn,
	SYS_rt_sigtimedwait, SYS_sigaltstack, SYS_restart_syscall, SYS_tgkill, SYS_getpid, SYS_gettid, SYS_getppid, SYS_getuid,
	SYS_geteuid, SYS_getgid, SYS_getegid, SYS_clock_gettime, SYS_clock_nanosleep, SYS_nanosleep, SYS_gettimeofday, SYS_getrandom,
	SYS_uname, SYS_sysinfo, SYS_sched_getaffinity, SYS_sched_yield, SYS_prlimit64, SYS_getrusage, SYS_set_robust_list,
	SYS_exit, SYS_exit_group,
#ifdef __x86_64__
	SYS_poll, SYS_open, SYS_stat, SYS_lstat, SYS_access, SYS_readlink, SYS_unlink, SYS_rmdir, SYS_mkdir, SYS_dup2, SYS_time,
#endif
};

/* Calls of which only some uses are: memory that is not executed, no typing into a terminal, no filter of one's own. */
static const struct {
	int nr;
	unsigned int arg;
	bool masked;		/* refused where a bit of value is set, else where it equals value */
	bool only;		/* allowed where it equals value, and nowhere else */
	uint32_t value;
} partly[] = {
	{ SYS_mmap, 2, true, false, PROT_EXEC },
	{ SYS_mprotect, 2, true, false, PROT_EXEC },
	{ SYS_ioctl, 1, false, false, TIOCSTI },
	{ SYS_seccomp, 0, false, true, SECCOMP_GET_NOTIF_SIZES },
};

#define INSNS_MAX (ARRAY_LEN(allowed) * 2 + ARRAY_LEN(partly) * 5 + 8)

unsigned short confine_head(struct sock_filter insns[CONFINE_HEAD])
{
	insns[0] = INSN(BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, arch));
	insns[1] = INSN(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, OWN_ARCH);
	insns[2] = INSN(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS);
	insns[3] = INSN(BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr));
	return CONFINE_HEAD;
}

int confine_load(struct sock_filter *insns, unsigned short len, const char *what, struct sj_err *err)
{
	struct sock_fprog prog = { .len = len, .filter = insns };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) < 0)
		return handover_fault(what, errno, err);
	return 0;
}

static unsigned short build(struct sock_filter insns[INSNS_MAX])
{
	const struct sock_filter allow = INSN(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
	const struct sock_filter refuse = INSN(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EPERM);
	unsigned short n = confine_head(insns);

	for (size_t i = 0; i < ARRAY_LEN(allowed); i++) {
		insns[n++] = INSN(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (uint32_t)allowed[i]);
		insns[n++] = allow;
	}
	for (size_t i = 0; i < ARRAY_LEN(partly); i++) {
		uint16_t test = partly[i].masked ? BPF_JMP | BPF_JSET | BPF_K : BPF_JMP | BPF_JEQ | BPF_K;

		insns[n++] = INSN(BPF_JMP | BPF_JEQ | BPF_K, 0, 4, (uint32_t)partly[i].nr);
		insns[n++] = INSN(BPF_LD | BPF_W | BPF_ABS, 0, 0, ARG(partly[i].arg));
		insns[n++] = INSN(test, partly[i].only ? 1 : 0, partly[i].only ? 0 : 1, partly[i].value);
		insns[n++] = refuse;
		insns[n++] = allow;
	}
	insns[n++] = refuse;
	return n;
}

int run_confine(struct sj_err *err)
{
	struct sock_filter insns[INSNS_MAX];

	return confine_load(insns, build(insns), "the supervisor's own filter", err);
}
