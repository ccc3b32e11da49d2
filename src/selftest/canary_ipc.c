/*
 * canary_ipc.c - canaries that are no files: System V and POSIX objects, and a key
 *
 * Runs as: the caller, and its keeper
 * Trusts: nothing
 * Never: insists; a host without such objects has none that could be reached
 */
#include <fcntl.h>
#include <mqueue.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "selftest/internal.h"

#define SHM_SIZE 4096
/* linux/keyctl.h */
#define KEY_SESSION_KEYRING (-3)
#define KEY_READ 11
#define KEY_UNLINK 9
#define KEY_REVOKE 3
#define KEY_SETPERM 5
#define KEY_ALL_BUT_OTHERS 0x3f3f0000L

static void make_sysv(struct canaries *c)
{
	char *map;

	c->sysv_shm = shmget(c->sysv_key, SHM_SIZE, IPC_CREAT | IPC_EXCL | 0666);
	c->sysv_msg = msgget(c->sysv_key, IPC_CREAT | IPC_EXCL | 0666);
	c->sysv_sem = semget(c->sysv_key, 1, IPC_CREAT | IPC_EXCL | 0666);
	map = c->sysv_shm < 0 ? (char *)-1 : shmat(c->sysv_shm, NULL, 0);
	if (map == (char *)-1)
		return;
	memcpy(map, c->secret, strlen(c->secret) + 1);
	(void)shmdt(map);
}

static void make_posix(struct canaries *c)
{
	struct mq_attr attr = { .mq_maxmsg = 1, .mq_msgsize = 8 };
	int fd = shm_open(c->shm, O_RDWR | O_CREAT | O_EXCL, 0666);

	if (fd < 0 || io_write_full(fd, c->secret, strlen(c->secret)) < 0)
		c->shm[0] = '\0';
	base_closep(&fd);
	c->queue_fd = mq_open(c->queue, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NONBLOCK, 0666, &attr);
	if (c->queue_fd < 0)
		c->queue[0] = '\0';
}

void canary_ipc_make(struct canaries *c)
{
	make_sysv(c);
	make_posix(c);
}

void canary_ipc_remove(struct canaries *c)
{
	if (c->sysv_shm >= 0)
		(void)shmctl(c->sysv_shm, IPC_RMID, NULL);
	if (c->sysv_msg >= 0)
		(void)msgctl(c->sysv_msg, IPC_RMID, NULL);
	if (c->sysv_sem >= 0)
		(void)semctl(c->sysv_sem, 0, IPC_RMID);
	if (c->shm[0])
		(void)shm_unlink(c->shm);
	if (c->queue[0])
		(void)mq_unlink(c->queue);
	c->sysv_shm = c->sysv_msg = c->sysv_sem = -1;
	c->shm[0] = c->queue[0] = '\0';
}

static bool sysv_untouched(const struct canaries *c)
{
	struct msqid_ds queue;
	struct shmid_ds seg;
	bool same = true;

	if (c->sysv_shm >= 0) {
		const char *map = shmat(c->sysv_shm, NULL, SHM_RDONLY);

		same = map != (char *)-1 && strncmp(map, c->secret, sizeof(c->secret)) == 0;
		if (map != (char *)-1)
			(void)shmdt(map);
		same = same && shmctl(c->sysv_shm, IPC_STAT, &seg) == 0 && (seg.shm_cpid == getpid() && seg.shm_lpid == getpid());
	}
	if (c->sysv_msg >= 0)
		same = same && msgctl(c->sysv_msg, IPC_STAT, &queue) == 0 && queue.msg_qnum == 0 && queue.msg_lspid == 0;
	if (c->sysv_sem >= 0)
		same = same && semctl(c->sysv_sem, 0, GETVAL) == 0 && semctl(c->sysv_sem, 0, GETPID) == 0;
	return same;
}

static bool posix_untouched(const struct canaries *c)
{
	char text[CANARY_NAME + 1] = "";
	struct mq_attr attr;
	bool same = true;
	int fd;

	if (c->shm[0]) {
		fd = shm_open(c->shm, O_RDONLY, 0);
		same = fd >= 0 && read(fd, text, sizeof(text) - 1) == (ssize_t)strlen(c->secret) && strcmp(text, c->secret) == 0;
		base_closep(&fd);
	}
	if (c->queue_fd >= 0)
		same = same && mq_getattr(c->queue_fd, &attr) == 0 && attr.mq_curmsgs == 0;
	return same;
}

const char *canary_ipc_state(const struct canaries *c)
{
	if (!sysv_untouched(c))
		return "a System V object was changed";
	return posix_untouched(c) ? "untouched" : "a POSIX object was changed";
}

/* In the session's keyring, which a child inherits, user namespace or not: only a filter stands before it. */
int32_t canary_key_make(const char *secret)
{
	long key = syscall(SYS_add_key, "user", secret, secret, strlen(secret), KEY_SESSION_KEYRING);

	if (key > 0)
		(void)syscall(SYS_keyctl, KEY_SETPERM, key, KEY_ALL_BUT_OTHERS, 0, 0);
	return key > 0 ? (int32_t)key : 0;
}

const char *canary_key_state(const struct canaries *c)
{
	char text[CANARY_NAME + 1] = "";
	long n = syscall(SYS_keyctl, KEY_READ, (long)c->key, text, sizeof(text) - 1, 0);

	return n == (long)strlen(c->secret) && strcmp(text, c->secret) == 0 ? "untouched" : "it was changed";
}

void canary_key_remove(struct canaries *c)
{
	if (c->key <= 0)
		return;
	(void)syscall(SYS_keyctl, KEY_REVOKE, (long)c->key, 0, 0, 0);
	(void)syscall(SYS_keyctl, KEY_UNLINK, (long)c->key, KEY_SESSION_KEYRING, 0, 0);
	c->key = 0;
}
