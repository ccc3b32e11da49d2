/*
 * confine.c - the filter is loaded, the host is told, descriptors are closed
 *
 * Runs as: the guest, as its last step before untrusted code
 * Trusts: the boot record
 * Never: returns without the filter, before the host says so, or with a descriptor above 2 open (but a session's channel)
 */
#include <fcntl.h>
#include <patchlevel.h>
#include <stdlib.h>
#include <string.h>
#include <linux/close_range.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest/internal.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

static int load(const struct sock_fprog *prog, unsigned long flags)
{
	long r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, prog);

	return r < 0 ? -errno : (int)r;
}

/* Loads with a listener: descriptor or -errno. */
static int load_listener(const struct sock_fprog *prog)
{
	int r = load(prog, SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);

	return r == -EINVAL ? load(prog, SECCOMP_FILTER_FLAG_NEW_LISTENER) : r;
}

/* Without a listener a notification would answer ENOSYS: let the calls be refused in silence instead. */
static void unlisten(struct sock_filter *insns, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (insns[i].code == (BPF_RET | BPF_K) && (insns[i].k & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_USER_NOTIF)
			insns[i].k = SECCOMP_RET_ERRNO | (insns[i].k & SECCOMP_RET_DATA);
}

static void say_ready(void)
{
	struct wire_ready ready = { .magic = WIRE_BOOT_MAGIC, .step = PY_VERSION, .at_us = io_now_us() };

	guest_layout(&ready.python);
	/* write works under every filter; a socket call might not. */
	if (write(WIRE_SYNC_FD, &ready, sizeof(ready)) != (ssize_t)sizeof(ready))
		_exit(SJ_EXIT_SETUP);
}

static void confine_plain(const struct sock_fprog *prog)
{
	size_t size = prog->len * sizeof(*prog->filter);
	struct sock_fprog copy = { .len = prog->len, .filter = malloc(size) };
	int r;

	if (!copy.filter)
		guest_fail("seccomp", ENOMEM);
	memcpy(copy.filter, prog->filter, size);
	unlisten(copy.filter, copy.len);
	r = load(&copy, 0);
	if (r < 0)
		guest_fail("seccomp", -r);
	free(copy.filter);
	say_ready();
}

/* False where this kernel, or a filter around us, gives no listener. */
static bool confine_listening(const struct sock_fprog *prog)
{
	struct courier c;
	int fd;

	guest_layout(&c.python);
	if (courier_start(&c) < 0)
		return false;
	fd = load_listener(prog);
	if (fd < 0) {
		courier_finish(&c, -1);
		return false;
	}
	if (!courier_finish(&c, fd))
		_exit(SJ_EXIT_SETUP);
	close(fd);
	return true;
}

/* A trace of which nobody hears is none; and its filter counts on the listener to let calls pass. */
static void confine_unheard(const struct guest *g, const struct sock_fprog *prog)
{
	if (g->boot.head->flags & WIRE_MUST_NOTIFY)
		guest_fail(WIRE_STEP_LISTENER, EBUSY);
	confine_plain(prog);
}

/* All but 0, 1, 2 and the way to say "ready"; a session keeps its channel, which no program it starts inherits. */
static void close_descriptors(bool session)
{
	unsigned int first = teeth_out("descriptors") ? ~0u : session ? WIRE_CHANNEL_FD + 1 : WIRE_SYNC_FD + 1;

	if (close_range(first, ~0u, 0) < 0 || (close(WIRE_BOOT_FD) < 0 && errno != EBADF))
		guest_fail("descriptors", errno);
	if (session && ((close(WIRE_CLAIM_FD) < 0 && errno != EBADF) || fcntl(WIRE_CHANNEL_FD, F_SETFD, FD_CLOEXEC) < 0))
		guest_fail("channel", errno);
}

/* End of file means that the supervisor is gone. */
static void wait_for_host(void)
{
	unsigned char byte = 0;
	int r = io_read_full(WIRE_SYNC_FD, &byte, 1);

	if (r < 0 && r != -EPIPE)
		guest_fail("waiting for the host", -r);
	if (r < 0 || byte != WIRE_GO)
		_exit(SJ_EXIT_SETUP);
}

void guest_confine(const struct guest *g)
{
	struct sock_fprog prog = {
		.len = (unsigned short)g->boot.head->n_insns,
		.filter = (struct sock_filter *)(uintptr_t)g->boot.insns,
	};

	wait_for_host();
	close_descriptors(g->boot.head->mode == WIRE_MODE_SESSION);
	if (!teeth_out("no_new_privs") && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		guest_fail("no_new_privs", errno);
	if (prog.len == 0)
		say_ready();
	else if (!(g->boot.head->flags & WIRE_NOTIFY) || !confine_listening(&prog))
		confine_unheard(g, &prog);
	close(WIRE_SYNC_FD);
}
