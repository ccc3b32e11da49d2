/*
 * calls.c - the system calls: number, name, and what each argument is
 *
 * Runs as: supervisor, outside the jail
 * Trusts: the kernel's headers at build time
 * Never: asks the running kernel
 */
#include <string.h>
#include <seccomp.h>
#include <sys/syscall.h>

#include "filter/internal.h"

/*
 * One letter an argument. The letter says how it is shown and, more important,
 * how many of its bits the kernel reads: a test of all 64 bits of an argument of
 * which the kernel reads 32 is passed by setting a bit above.
 *
 *	64 bits	p pointer   A pointer or number, as another argument says
 *		l signed    z size    X hexadecimal
 *		n CLONE_    M PROT_   G MAP_  T PTRACE_
 *	32 bits	all others; d and D are descriptors, i u x plain numbers, the
 *		rest is a set of constants (describe.c)
 */
struct call {
	char name[24];
	char args[8];
};

#define C(name, args) [SYS_##name] = { #name, args }
#define N(number, name, args) [number] = { #name, args }

static const struct call calls[FILTER_CALLS_MAX] = {
	C(read, "dpz"), C(write, "dpz"), C(close, "d"), C(fstat, "dp"), C(lseek, "dlw"),
	C(mmap, "pzMGdX"), C(mprotect, "pzM"), C(munmap, "pz"), C(brk, "p"),
	C(rt_sigaction, "sppz"), C(rt_sigprocmask, "ippz"), C(rt_sigreturn, ""), C(ioctl, "dcA"),
	C(pread64, "dpzl"), C(pwrite64, "dpzl"), C(readv, "dpz"), C(writev, "dpz"),
	C(sched_yield, ""), C(mremap, "pzzXA"), C(msync, "pzx"), C(mincore, "pzp"),
	C(madvise, "pzV"), C(shmget, "xzx"), C(shmat, "ipx"), C(shmctl, "iip"), C(dup, "d"),
	C(nanosleep, "pp"), C(getitimer, "ip"), C(setitimer, "ipp"), C(getpid, ""),
	C(sendfile, "ddpz"), C(socket, "ftg"), C(connect, "dpi"), C(accept, "dpp"),
	C(sendto, "dpzxpi"), C(recvfrom, "dpzxpp"), C(sendmsg, "dpx"), C(recvmsg, "dpx"),
	C(shutdown, "dh"), C(bind, "dpi"), C(listen, "di"), C(getsockname, "dpp"),
	C(getpeername, "dpp"), C(socketpair, "ftgp"), C(setsockopt, "dLipi"),
	C(getsockopt, "dLipp"), C(clone, "npppA"), C(execve, "ppp"), C(exit, "i"),
	C(wait4, "ipWp"), C(kill, "is"), C(uname, "p"), C(semget, "xix"), C(semop, "ipu"),
	C(semctl, "iiiA"), C(shmdt, "p"), C(msgget, "xx"), C(msgsnd, "ipzx"), C(msgrcv, "ipzlx"),
	C(msgctl, "iip"), C(fcntl, "dFA"), C(flock, "dx"), C(fsync, "d"), C(fdatasync, "d"),
	C(truncate, "pl"), C(ftruncate, "dl"), C(getcwd, "pz"), C(chdir, "p"), C(fchdir, "d"),
	C(fchmod, "dm"), C(fchown, "dii"), C(umask, "m"), C(gettimeofday, "pp"),
	C(getrlimit, "rp"), C(getrusage, "ip"), C(sysinfo, "p"), C(times, "p"), C(ptrace, "TlAA"),
	C(getuid, ""), C(syslog, "ipi"), C(getgid, ""), C(setuid, "i"), C(setgid, "i"),
	C(geteuid, ""), C(getegid, ""), C(setpgid, "ii"), C(getppid, ""), C(setsid, ""),
	C(setreuid, "ii"), C(setregid, "ii"), C(getgroups, "ip"), C(setgroups, "ip"),
	C(setresuid, "iii"), C(getresuid, "ppp"), C(setresgid, "iii"), C(getresgid, "ppp"),
	C(getpgid, "i"), C(setfsuid, "i"), C(setfsgid, "i"), C(getsid, "i"), C(capget, "pp"),
	C(capset, "pp"), C(rt_sigpending, "pz"), C(rt_sigtimedwait, "pppz"),
	C(rt_sigqueueinfo, "isp"), C(rt_sigsuspend, "pz"), C(sigaltstack, "pp"),
	C(personality, "x"), C(statfs, "pp"), C(fstatfs, "dp"), C(getpriority, "ii"),
	C(setpriority, "iii"), C(sched_setparam, "ip"), C(sched_getparam, "ip"),
	C(sched_setscheduler, "iSp"), C(sched_getscheduler, "i"), C(sched_get_priority_max, "S"),
	C(sched_get_priority_min, "S"), C(sched_rr_get_interval, "ip"), C(mlock, "pz"),
	C(munlock, "pz"), C(mlockall, "x"), C(munlockall, ""), C(vhangup, ""),
	C(pivot_root, "pp"), C(prctl, "PAAAA"), C(adjtimex, "p"), C(setrlimit, "rp"),
	C(chroot, "p"), C(sync, ""), C(acct, "p"), C(settimeofday, "pp"), C(mount, "pppXp"),
	C(umount2, "px"), C(swapon, "px"), C(swapoff, "p"), C(reboot, "xxxp"),
	C(sethostname, "pi"), C(setdomainname, "pi"), C(init_module, "pzp"),
	C(delete_module, "px"), C(quotactl, "xpip"), C(nfsservctl, "ipp"), C(gettid, ""),
	C(readahead, "dlz"), C(setxattr, "pppzx"), C(lsetxattr, "pppzx"), C(fsetxattr, "dppzx"),
	C(getxattr, "pppz"), C(lgetxattr, "pppz"), C(fgetxattr, "dppz"), C(listxattr, "ppz"),
	C(llistxattr, "ppz"), C(flistxattr, "dpz"), C(removexattr, "pp"), C(lremovexattr, "pp"),
	C(fremovexattr, "dp"), C(tkill, "is"), C(futex, "pjuppu"), C(sched_setaffinity, "iup"),
	C(sched_getaffinity, "iup"), C(io_setup, "up"), C(io_destroy, "A"),
	C(io_getevents, "Allpp"), C(io_submit, "Alp"), C(io_cancel, "App"),
	C(lookup_dcookie, "zpz"), C(remap_file_pages, "pzMzG"), C(getdents64, "dpu"),
	C(set_tid_address, "p"), C(restart_syscall, ""), C(semtimedop, "ipup"),
	C(fadvise64, "dlzi"), C(timer_create, "kpp"), C(timer_settime, "iipp"),
	C(timer_gettime, "ip"), C(timer_getoverrun, "i"), C(timer_delete, "i"),
	C(clock_settime, "kp"), C(clock_gettime, "kp"), C(clock_getres, "kp"),
	C(clock_nanosleep, "kipp"), C(exit_group, "i"), C(epoll_ctl, "dEdp"), C(tgkill, "iis"),
	C(mbind, "pzXpXx"), C(set_mempolicy, "ipX"), C(get_mempolicy, "ppXAX"),
	C(mq_open, "pomp"), C(mq_unlink, "p"), C(mq_timedsend, "dpzup"),
	C(mq_timedreceive, "dpzpp"), C(mq_notify, "dp"), C(mq_getsetattr, "dpp"),
	C(kexec_load, "AXpX"), C(waitid, "iipWp"), C(add_key, "pppzi"), C(request_key, "pppi"),
	C(keyctl, "QAAAA"), C(ioprio_set, "iii"), C(ioprio_get, "ii"),
	C(inotify_add_watch, "dpx"), C(inotify_rm_watch, "di"), C(migrate_pages, "iXpp"),
	C(openat, "Dpom"), C(mkdirat, "Dpm"), C(mknodat, "DpKu"), C(fchownat, "Dpiia"),
	C(newfstatat, "Dppa"), C(unlinkat, "Dpa"), C(renameat, "DpDp"), C(linkat, "DpDpa"),
	C(symlinkat, "pDp"), C(readlinkat, "Dppi"), C(fchmodat, "Dpm"), C(faccessat, "Dpi"),
	C(pselect6, "ippppp"), C(ppoll, "puppz"), C(unshare, "n"), C(set_robust_list, "pz"),
	C(get_robust_list, "ipp"), C(splice, "dpdpzx"), C(tee, "ddzx"),
	C(sync_file_range, "dllx"), C(vmsplice, "dpzx"), C(move_pages, "izpppx"),
	C(utimensat, "Dppa"), C(epoll_pwait, "dpiipz"), C(timerfd_create, "kx"),
	C(fallocate, "dxll"), C(timerfd_settime, "dxpp"), C(timerfd_gettime, "dp"),
	C(accept4, "dppx"), C(signalfd4, "dpzx"), C(eventfd2, "ux"), C(epoll_create1, "O"),
	C(dup3, "ddO"), C(pipe2, "pO"), C(inotify_init1, "O"), C(preadv, "dpzXX"),
	C(pwritev, "dpzXX"), C(rt_tgsigqueueinfo, "iisp"), C(perf_event_open, "piidX"),
	C(recvmmsg, "dpuxp"), C(fanotify_init, "xx"), C(fanotify_mark, "dxXDp"),
	C(prlimit64, "irpp"), C(name_to_handle_at, "Dpppx"), C(open_by_handle_at, "Dpo"),
	C(clock_adjtime, "kp"), C(syncfs, "d"), C(sendmmsg, "dpux"), C(setns, "dN"),
	C(getcpu, "ppp"), C(process_vm_readv, "ipzpzX"), C(process_vm_writev, "ipzpzX"),
	C(kcmp, "iiiXX"), C(finit_module, "dpx"), C(sched_setattr, "ipx"),
	C(sched_getattr, "ipux"), C(renameat2, "DpDpR"), C(seccomp, "qep"), C(getrandom, "pzx"),
	C(memfd_create, "pZ"), C(kexec_file_load, "ddzpX"), C(bpf, "Bpu"), C(execveat, "Dpppa"),
	C(userfaultfd, "x"), C(membarrier, "ixi"), C(mlock2, "pzx"), C(copy_file_range, "dpdpzx"),
	C(preadv2, "dpzXXx"), C(pwritev2, "dpzXXx"), C(pkey_mprotect, "pzMi"),
	C(pkey_alloc, "XX"), C(pkey_free, "i"), C(statx, "Dpaxp"), C(io_pgetevents, "Allppp"),
	C(rseq, "puxx"), C(pidfd_send_signal, "dspx"), C(io_uring_setup, "up"),
	C(io_uring_enter, "duuxpz"), C(io_uring_register, "dupu"), C(open_tree, "Dpx"),
	C(move_mount, "DpDpx"), C(fsopen, "px"), C(fsconfig, "duppi"), C(fsmount, "dxx"),
	C(fspick, "Dpx"), C(pidfd_open, "ix"), C(clone3, "pz"), C(close_range, "uux"),
	C(openat2, "Dppz"), C(pidfd_getfd, "ddx"), C(faccessat2, "Dpia"),
	C(process_madvise, "dpzVx"), C(epoll_pwait2, "dpippz"), C(mount_setattr, "Dpxpz"),
	C(quotactl_fd, "dxup"), C(landlock_create_ruleset, "pzx"), C(landlock_add_rule, "dipx"),
	C(landlock_restrict_self, "dx"), C(memfd_secret, "x"), C(process_mrelease, "dx"),
	C(futex_waitv, "puxpk"), C(set_mempolicy_home_node, "AXXX"),
#ifdef __x86_64__ /* calls that newer architectures have under another name or not at all */
	C(open, "pom"), C(stat, "pp"), C(lstat, "pp"), C(poll, "pui"), C(access, "pi"),
	C(pipe, "p"), C(select, "ippppp"), C(dup2, "dd"), C(pause, ""), C(alarm, "u"),
	C(fork, ""), C(vfork, ""), C(getdents, "dpu"), C(rename, "pp"), C(mkdir, "pm"),
	C(rmdir, "p"), C(creat, "pm"), C(link, "pp"), C(unlink, "p"), C(symlink, "pp"),
	C(readlink, "ppi"), C(chmod, "pm"), C(chown, "pii"), C(lchown, "pii"), C(getpgrp, ""),
	C(utime, "pp"), C(mknod, "pKu"), C(uselib, "p"), C(ustat, "up"), C(sysfs, "iAA"),
	C(modify_ldt, "ipz"), C(_sysctl, "p"), C(arch_prctl, "HA"), C(iopl, "u"),
	C(ioperm, "XXi"), C(create_module, "pz"), C(get_kernel_syms, "p"),
	C(query_module, "pipzp"), C(getpmsg, ""), C(putpmsg, ""), C(afs_syscall, ""),
	C(tuxcall, ""), C(security, ""), C(time, "p"), C(set_thread_area, "p"),
	C(get_thread_area, "p"), C(epoll_create, "i"), C(epoll_ctl_old, ""),
	C(epoll_wait_old, ""), C(epoll_wait, "dpii"), C(utimes, "pp"), C(vserver, ""),
	C(inotify_init, ""), C(futimesat, "Dpp"), C(signalfd, "dpz"), C(eventfd, "u"),
#endif

	/* Newer than FILTER_NEWEST: the same number everywhere, and often not yet in the headers. */
	N(451, cachestat, "dppx"), N(452, fchmodat2, "Dpma"), N(453, map_shadow_stack, "Azx"),
	N(454, futex_wake, "pXix"), N(455, futex_wait, "pXXxpk"), N(456, futex_requeue, "pxii"),
	N(457, statmount, "ppzx"), N(458, listmount, "ppzx"), N(459, lsm_get_self_attr, "uppx"),
	N(460, lsm_set_self_attr, "upux"), N(461, lsm_list_modules, "ppx"), N(462, mseal, "pzX"),
	N(463, setxattrat, "Dpappz"), N(464, getxattrat, "Dpappz"), N(465, listxattrat, "Dpapz"),
	N(466, removexattrat, "Dpap"), N(467, open_tree_attr, "Dpxpz"),
	N(468, file_getattr, "Dppza"), N(469, file_setattr, "Dppza"),
};

#undef C
#undef N

const char *call_name(int nr)
{
	return nr >= 0 && nr < FILTER_CALLS_MAX && calls[nr].name[0] ? calls[nr].name : NULL;
}

bool call_known(int nr)
{
	return call_name(nr) && nr <= FILTER_NEWEST;
}

const char *call_args(int nr)
{
	return call_name(nr) ? calls[nr].args : NULL;
}

uint64_t call_arg_mask(int nr, unsigned int index)
{
	const char *args = call_args(nr);

	if (!args || index >= strlen(args) || strchr("pAlzXnMGT", args[index]))
		return UINT64_MAX;
	return UINT32_MAX;
}

const char *filter_call_name(int nr, char *buf, size_t len)
{
	const char *name = call_name(nr);

	if (name)
		snprintf(buf, len, "%s", name);
	else
		snprintf(buf, len, "syscall_%d", nr);
	return buf;
}

static bool is_named(int nr, const char *name)
{
	return call_name(nr) && strcmp(calls[nr].name, name) == 0;
}

int call_resolve(const char *name)
{
	/* By hash; a search of the table for each rule would take longer than all the rest. */
	int nr = seccomp_syscall_resolve_name(name);

	if (nr != __NR_SCMP_ERROR && nr < 0)
		return CALL_ELSEWHERE;
	if (is_named(nr, name))
		return nr;
	for (nr = FILTER_NEWEST + 1; nr < FILTER_CALLS_MAX; nr++)
		if (is_named(nr, name))
			return nr;
	return CALL_UNKNOWN;
}

int filter_call_number(const char *name)
{
	int nr = call_resolve(name);

	return nr >= 0 ? nr : -1;
}

const char *call_nearest(const char *name)
{
	const char *names[FILTER_CALLS_MAX];
	size_t n = 0;

	for (int nr = 0; nr < FILTER_CALLS_MAX; nr++)
		if (call_name(nr))
			names[n++] = calls[nr].name;
	return str_nearest(name, names, n);
}
