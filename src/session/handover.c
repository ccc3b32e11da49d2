/*
 * handover.c - what a guest gets beside its streams: boot record, claim page, sync socket; and its jail's spec
 *
 * Runs as: the supervisor, before the jail exists
 * Trusts: the policy
 * Never: lets the guest change what the supervisor reads without a copy
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "session/internal.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008u
#endif

int handover_fault(const char *what, int error, struct sj_err *err)
{
	err_set(err, error, SJ_EXIT_SETUP, "E_HOST", "cannot prepare the run: %s", what);
	err_why(err, "%s", strerror(error));
	if (error == EMFILE || error == ENFILE)
		err_fix(err, "raise the limit of open files (ulimit -n)");
	return -error;
}

static int sealable_memfd(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);

	/* Kernels before 6.3 do not know the second flag. */
	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return fd < 0 ? -errno : fd;
}

/* Its size is sealed, so that reading it here can never fault; its contents are the guest's. */
static int make_claim_page(struct handover *h, struct sj_err *err)
{
	void *map;

	h->claim_fd = sealable_memfd("smoljail-claim");
	if (h->claim_fd < 0)
		return handover_fault("claim page", -h->claim_fd, err);
	if (ftruncate(h->claim_fd, WIRE_CLAIM_SIZE) < 0 ||
	    fcntl(h->claim_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return handover_fault("claim page", errno, err);
	map = mmap(NULL, WIRE_CLAIM_SIZE, PROT_READ, MAP_SHARED, h->claim_fd, 0);
	if (map == MAP_FAILED)
		return handover_fault("claim page", errno, err);
	h->claim = map;
	return 0;
}

int handover_open(struct handover *h, struct sj_err *err)
{
	h->boot_fd = sealable_memfd("smoljail-boot");
	if (h->boot_fd < 0)
		return handover_fault("boot record", -h->boot_fd, err);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, h->sync) < 0)
		return handover_fault("socket", errno, err);
	return make_claim_page(h, err);
}

int handover_fill(struct handover *h, const struct policy *policy, struct wire_boot_spec *spec, struct sj_err *err)
{
	_cleanup_filter_ struct filter_prog prog = { 0 };
	bool all = spec->flags & WIRE_MUST_NOTIFY;
	int r = filter_compile(policy, all ? FILTER_NOTIFY_ALL : FILTER_NOTIFY_DENIED, &prog, err);

	if (r < 0)
		return r;
	spec->insns = prog.insns;
	spec->n_insns = teeth_out("filter") ? 0 : prog.len;
	r = wire_boot_fill(h->boot_fd, spec);
	spec->insns = NULL;
	if (r == 0)
		return 0;
	err_set(err, -r, r == -E2BIG || r == -EINVAL ? SJ_EXIT_USAGE : SJ_EXIT_SETUP, "E_BOOT", "cannot hand the program over");
	err_why(err, "%s", r == -E2BIG ? "its arguments or its text are too long"
		: r == -EINVAL ? "it holds a NUL byte" : strerror(-r));
	return r;
}

int handover_release(const struct handover *h, struct sj_err *err)
{
	static const unsigned char go = WIRE_GO;

	if (h->sync[0] < 0 || send(h->sync[0], &go, 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1 || errno == EPIPE || errno == ECONNRESET)
		return 0;
	return handover_fault("the order to start", errno, err);
}

static int guest_fault(const struct wire_ready *ready, struct sj_err *err)
{
	char step[sizeof(ready->step) + 1] = { 0 };

	memcpy(step, ready->step, sizeof(ready->step));
	err_set(err, ready->error, SJ_EXIT_SETUP, "E_GUEST_START", "the guest could not start: %s", step);
	err_why(err, "%s", strerror(ready->error));
	return -(ready->error > 0 ? ready->error : EIO);
}

static int guest_nonsense(struct sj_err *err)
{
	err_set(err, EBADMSG, SJ_EXIT_SETUP, "E_GUEST_PROTOCOL", "the guest sent an unknown start message");
	err_why(err, "the root's guest and this program do not belong together");
	err_fix(err, "build both together, and see `smoljail rootfs verify`");
	return -EBADMSG;
}

int handover_ready(int sync, struct wire_ready *ret, int *ret_listener, struct sj_err *err)
{
	size_t n_fds = 0;
	ssize_t n = io_recv_fds(sync, ret, sizeof(*ret), ret_listener, 1, &n_fds);

	if (n == -EAGAIN)
		return -EAGAIN;
	if (n == 0 || n == -ECONNRESET)
		return -EPIPE;
	if (n < 0)
		return handover_fault("the guest's start message", (int)-n, err);
	if (n != (ssize_t)sizeof(*ret) || ret->magic != WIRE_BOOT_MAGIC) {
		ret->magic = 0;
		return guest_nonsense(err);
	}
	if (ret->error)
		return guest_fault(ret, err);
	if (ret->notify == 1 && n_fds == 0) /* the kernel drops a descriptor that there is no number for */
		return handover_fault("the guest's listener", EMFILE, err);
	return ret->notify != n_fds ? guest_nonsense(err) : 0;
}

void handover_close_inside(struct handover *h)
{
	base_closep(&h->sync[1]);
	base_closep(&h->claim_fd);
}

void handover_forget_claim(struct handover *h)
{
	if (h->claim)
		munmap((void *)(uintptr_t)h->claim, WIRE_CLAIM_SIZE);
	h->claim = NULL;
}

void handover_close(struct handover *h)
{
	handover_close_inside(h);
	base_closep(&h->boot_fd);
	base_closep(&h->sync[0]);
	handover_forget_claim(h);
}

/* ---- the jail of a policy ---------------------------------------------------- */

static enum jail_net net_of(enum policy_net net)
{
	switch (net) {
	case POLICY_NET_HOST: return JAIL_NET_HOST;
	case POLICY_NET_LOOPBACK: return JAIL_NET_LOOPBACK;
	case POLICY_NET_NONE:
	case POLICY_NET_PROXY: break;
	}
	return JAIL_NET_NONE;
}

static enum jail_landlock landlock_of(enum policy_landlock l)
{
	switch (l) {
	case POLICY_LANDLOCK_REQUIRE: return JAIL_LANDLOCK_REQUIRE;
	case POLICY_LANDLOCK_OFF: return JAIL_LANDLOCK_OFF;
	case POLICY_LANDLOCK_AUTO: break;
	}
	return JAIL_LANDLOCK_AUTO;
}

static struct jail_tmpfs tmpfs_of(const struct policy_tmpfs *t)
{
	return (struct jail_tmpfs){ .size = t->size, .inodes = t->inodes };
}

static struct jail_limits limits_of(const struct policy_limits *l)
{
	return (struct jail_limits){
		.memory = l->memory, .swap = l->swap, .cpu_milli = l->cpu_milli, .pids = l->pids,
		.cpu_ms = l->cpu_ms, .open_files = l->open_files, .file_size = l->file_size,
		.require_cgroup = l->enforcement == POLICY_CGROUP,
	};
}

void handover_spec(const struct policy *policy, const struct prep *prep, struct jail_spec *ret)
{
	static char *const guest_argv[] = { (char *)"smoljail-guest", NULL };
	const struct policy_files *f = &policy->files;

	*ret = (struct jail_spec){
		.root = prep->root.path, .hostname = f->hostname,
		.net = net_of(policy->net),
		.isolation = policy->isolation == POLICY_ISOLATION_LANDLOCK ? JAIL_LANDLOCK : JAIL_FULL,
		.home = prep->home, .folders = prep->paths,
		.landlock = landlock_of(policy->landlock),
		.tmp = tmpfs_of(&f->tmp), .work = tmpfs_of(&f->work), .shm = tmpfs_of(&f->shm),
		.exec_from_writable = f->exec_from_writable,
		.binds = prep->binds, .n_binds = prep->n_binds,
		.limits = limits_of(&policy->limits),
		.path = SESSION_GUEST, .argv = guest_argv, .envp = prep->env,
		.stdio = { -1, -1, -1 },
	};
}
