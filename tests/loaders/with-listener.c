/*
 * with-listener.c - run a program below a seccomp filter that has a listener already
 *
 * Runs as: the caller of smoljail, in a test
 * Trusts: its arguments
 * Never: answers a notification; its filter allows every call
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel gives one listener to a chain of filters (seccomp(2): EBUSY), as in a container that is watched. */
int main(int argc, char **argv)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog prog = { .len = 1, .filter = &allow };
	long fd;

	if (argc < 2)
		return 2;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return 3;
	fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &prog);
	if (fd < 0 || fcntl((int)fd, F_SETFD, 0) < 0) {
		perror("with-listener");
		return 3;
	}
	execv(argv[1], argv + 1);
	return 127;
}
