/*
 * courier.c - a thread without a filter carries the listener to the host, and ends
 *
 * Runs as: a second thread of the guest, before untrusted code
 * Trusts: the main thread
 * Never: is alive when the program starts; calls anything but futex and sendmsg
 */
#include <limits.h>
#include <patchlevel.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <linux/futex.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest/internal.h"

/*
 * A bare clone rather than a pthread: a process that ever had a pthread uses
 * locks in malloc and stdio for the rest of its life. The price is that both
 * threads share one errno, so neither looks at it while the other may be in a
 * system call: main looks before it gives an order, the courier never.
 */

enum { ORDER_WAIT, ORDER_SEND, ORDER_QUIT };

static void futex_wait(uint32_t *word, uint32_t value)
{
	/* Shared, not private: the kernel's own wake-up at a thread's end is. */
	syscall(SYS_futex, word, FUTEX_WAIT, value, NULL, NULL, 0);
}

static bool send_listener(int fd, const struct wire_python *python)
{
	struct wire_ready ready = {
		.magic = WIRE_BOOT_MAGIC, .notify = 1, .step = PY_VERSION, .at_us = io_now_us(), .python = *python,
	};
	struct iovec iov = { .iov_base = &ready, .iov_len = sizeof(ready) };
	char control[CMSG_SPACE(sizeof(int))] __attribute__((aligned(_Alignof(struct cmsghdr)))) = { 0 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(int));
	return sendmsg(WIRE_SYNC_FD, &msg, MSG_NOSIGNAL) == (ssize_t)sizeof(ready);
}

static int courier_main(void *arg)
{
	struct courier *c = arg;
	uint32_t order;

	while ((order = __atomic_load_n(&c->order, __ATOMIC_ACQUIRE)) == ORDER_WAIT)
		futex_wait(&c->order, ORDER_WAIT);
	if (order == ORDER_SEND)
		c->sent = send_listener(c->fd, &c->python);
	return 0;
}

int courier_start(struct courier *c)
{
	/* CLEARTID: "alive" becomes 0 when the thread can run no more code of ours. */
	int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
		    CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
	sigset_t all, old;
	int r;

	c->order = ORDER_WAIT;
	c->sent = false;
	/* Signals go to the main thread, never to one that has no thread state. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	r = clone(courier_main, c->stack + sizeof(c->stack), flags, c, &c->alive, NULL, &c->alive);
	if (r < 0)
		r = -errno;
	sigprocmask(SIG_SETMASK, &old, NULL);
	return r < 0 ? r : 0;
}

bool courier_finish(struct courier *c, int fd)
{
	uint32_t alive;

	c->fd = fd;
	__atomic_store_n(&c->order, fd < 0 ? ORDER_QUIT : ORDER_SEND, __ATOMIC_RELEASE);
	syscall(SYS_futex, &c->order, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	while ((alive = __atomic_load_n(&c->alive, __ATOMIC_ACQUIRE)) != 0)
		futex_wait(&c->alive, alive);
	return c->sent;
}
