/*
 * deny-userns - run a command under a filter as outer containers put on it
 *
 *	deny-userns KIND COMMAND [ARGUMENT]...
 *
 * KIND: userns (clone and unshare for user namespaces answer EPERM, clone3
 * ENOSYS, as Docker's default filter does), eperm (clone3 answers EPERM too),
 * mounts (mount and its relatives answer EPERM), newmount (the newer mount
 * calls answer ENOSYS, as from a filter older than they are), kill (unshare
 * kills the caller).
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define ANSWER(value) BPF_STMT(BPF_RET | BPF_K, (value))
#define FAIL(error) ANSWER(SECCOMP_RET_ERRNO | (error))
#define ON(call, answer) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 1), answer
/* The flags of clone and unshare are their first argument; its low half holds them all. */
#define ON_USERNS(call, answer) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 4), LOAD(args[0]), \
	BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_NEWUSER, 0, 1), answer, LOAD(nr)

static struct sock_filter userns[] = {
	LOAD(nr),
	ON_USERNS(SYS_clone, FAIL(EPERM)),
	ON_USERNS(SYS_unshare, FAIL(EPERM)),
	ON(SYS_clone3, FAIL(ENOSYS)),
	ANSWER(SECCOMP_RET_ALLOW),
};

static struct sock_filter eperm[] = {
	LOAD(nr),
	ON_USERNS(SYS_clone, FAIL(EPERM)),
	ON_USERNS(SYS_unshare, FAIL(EPERM)),
	ON(SYS_clone3, FAIL(EPERM)),
	ANSWER(SECCOMP_RET_ALLOW),
};

static struct sock_filter mounts[] = {
	LOAD(nr),
	ON(SYS_mount, FAIL(EPERM)),
	ON(SYS_umount2, FAIL(EPERM)),
	ON(SYS_pivot_root, FAIL(EPERM)),
	ON(SYS_open_tree, FAIL(EPERM)),
	ON(SYS_move_mount, FAIL(EPERM)),
	ON(SYS_fsopen, FAIL(EPERM)),
	ON(SYS_fsconfig, FAIL(EPERM)),
	ON(SYS_fsmount, FAIL(EPERM)),
	ON(SYS_mount_setattr, FAIL(EPERM)),
	ANSWER(SECCOMP_RET_ALLOW),
};

static struct sock_filter newmount[] = {
	LOAD(nr),
	ON(SYS_open_tree, FAIL(ENOSYS)),
	ON(SYS_move_mount, FAIL(ENOSYS)),
	ON(SYS_fsopen, FAIL(ENOSYS)),
	ON(SYS_fsconfig, FAIL(ENOSYS)),
	ON(SYS_fsmount, FAIL(ENOSYS)),
	ON(SYS_mount_setattr, FAIL(ENOSYS)),
	ANSWER(SECCOMP_RET_ALLOW),
};

static struct sock_filter kill_unshare[] = {
	LOAD(nr),
	ON_USERNS(SYS_clone, FAIL(EPERM)),
	ON_USERNS(SYS_unshare, ANSWER(SECCOMP_RET_KILL_PROCESS)),
	ON(SYS_clone3, FAIL(EPERM)),
	ANSWER(SECCOMP_RET_ALLOW),
};

#define KIND(word, insns) { word, { sizeof(insns) / sizeof((insns)[0]), insns } }

static const struct {
	const char *word;
	struct sock_fprog prog;
} kinds[] = {
	KIND("userns", userns),
	KIND("eperm", eperm),
	KIND("mounts", mounts),
	KIND("newmount", newmount),
	KIND("kill", kill_unshare),
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 2 && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(argv[1], kinds[i].word) != 0)
			continue;
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &kinds[i].prog) < 0) {
			perror("deny-userns");
			return 1;
		}
		execvp(argv[2], argv + 2);
		perror(argv[2]);
		return 127;
	}
	fprintf(stderr, "usage: deny-userns userns|eperm|mounts|newmount|kill COMMAND [ARGUMENT]...\n");
	return 2;
}
