/*
 * test_filter_live.c - shipped policies loaded into the kernel, and what calls answer then
 *
 * Runs as: any user
 * Trusts: nothing
 * Never: leaves a child; every one of them is filtered, waited for and short-lived
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "filter/filter.h"
#include "tap.h"
#include "../filter/sim.h"

#define NOTIFY_WAIT_MS 10000

/* Results of the child, shared with it. */
static int *results;

static struct policy *load(const char *name, const char *net, struct filter_prog *ret, bool notify)
{
	const struct policy_set sets[] = { { .path = "network.mode", .value = net } };
	struct sj_err err = { 0 };
	struct policy *p = NULL;

	if (policy_load(name, sets, ARRAY_LEN(sets), &p, &err) < 0 || filter_compile(p, notify, ret, &err) < 0) {
		printf("# %s: %s; %s\n", err.id, err.what, err.why);
		exit(1);
	}
	return p;
}

/* In the child, for good. Returns what seccomp() returned. */
static int apply(const struct filter_prog *prog, unsigned int flags)
{
	struct sock_fprog fprog = { .len = prog->len, .filter = prog->insns };
	const struct rlimit no_core = { 0, 0 };

	setrlimit(RLIMIT_CORE, &no_core);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &fprog);
}

/* Run fn in a child under the program; its wait status. */
static int under(const struct filter_prog *prog, void (*fn)(void))
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		if (apply(prog, 0) != 0)
			_exit(99);
		fn();
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		abort();
	return status;
}

/* ---- errno of calls ------------------------------------------------------ */

static const struct act {
	const char *name;
	long nr, args[4];
	int strict, python;	/* errno wanted; 0: the call works; -1: any answer but EPERM and ENOSYS */
} acts[] = {
	{ "getpid", SYS_getpid, { 0 }, 0, 0 },
	{ "sched_yield", SYS_sched_yield, { 0 }, EPERM, 0 },
	{ "times", SYS_times, { 0 }, EPERM, 0 },
	{ "clone3", SYS_clone3, { 0 }, ENOSYS, ENOSYS },
	{ "io_uring_setup", SYS_io_uring_setup, { 1 }, ENOSYS, ENOSYS },
	{ "call 350", 350, { 0 }, ENOSYS, ENOSYS },
	{ "call 600", 600, { 0 }, ENOSYS, ENOSYS },
	{ "call -1", -1, { 0 }, ENOSYS, ENOSYS },
	{ "unshare(CLONE_NEWUSER)", SYS_unshare, { CLONE_NEWUSER }, EPERM, EPERM },
	{ "clone(CLONE_NEWUSER)", SYS_clone, { CLONE_NEWUSER | SIGCHLD }, EPERM, EPERM },
	{ "ioctl(TIOCSTI)", SYS_ioctl, { 0, 0x5412 }, EPERM, EPERM },
	{ "ioctl(TIOCSTI | 1 << 32)", SYS_ioctl, { 0, 0x100005412 }, EPERM, EPERM },
	{ "ioctl(TCGETS) of nothing", SYS_ioctl, { -1, 0x5401 }, EBADF, EBADF },
	{ "fcntl(F_GETFD) of nothing", SYS_fcntl, { -1, F_GETFD }, EBADF, EBADF },
	{ "fcntl(F_NOTIFY)", SYS_fcntl, { 0, F_NOTIFY }, EPERM, EPERM },
	{ "socket(AF_INET)", SYS_socket, { AF_INET, SOCK_STREAM }, ENETUNREACH, ENETUNREACH },
	{ "socket(AF_INET6)", SYS_socket, { AF_INET6, SOCK_DGRAM }, ENETUNREACH, ENETUNREACH },
	{ "socket(AF_INET | 1 << 32)", SYS_socket, { 0x100000002, SOCK_STREAM }, ENETUNREACH, ENETUNREACH },
	{ "socket(AF_NETLINK)", SYS_socket, { AF_NETLINK, SOCK_RAW }, EAFNOSUPPORT, EAFNOSUPPORT },
	{ "socket(AF_VSOCK)", SYS_socket, { 40, SOCK_STREAM }, EAFNOSUPPORT, EAFNOSUPPORT },
	{ "socket(AF_UNIX)", SYS_socket, { AF_UNIX, SOCK_STREAM }, EPERM, 0 },
	{ "ptrace(PTRACE_TRACEME)", SYS_ptrace, { 0 }, EPERM, EPERM },
	{ "keyctl", SYS_keyctl, { 0, -3, 0 }, EPERM, EPERM },
	{ "bpf", SYS_bpf, { 5 }, EPERM, EPERM },
	{ "open_by_handle_at", SYS_open_by_handle_at, { AT_FDCWD }, EPERM, EPERM },
	{ "mount", SYS_mount, { 0 }, EPERM, EPERM },
	{ "chroot", SYS_chroot, { 0 }, EPERM, EPERM },
	{ "prlimit64 of init", SYS_prlimit64, { 1, RLIMIT_NOFILE }, EPERM, EPERM },
	{ "prctl(PR_SET_MM)", SYS_prctl, { PR_SET_MM }, EPERM, EPERM },
	{ "prctl(PR_GET_NO_NEW_PRIVS)", SYS_prctl, { PR_GET_NO_NEW_PRIVS }, 0, 0 },
	{ "personality query", SYS_personality, { 0xffffffff }, EPERM, EPERM },
	{ "seccomp", SYS_seccomp, { SECCOMP_SET_MODE_FILTER, 0, 0 }, EPERM, EPERM },
	{ "fchmodat2 of nothing", 452, { -1, 0, 0, 0 }, ENOSYS, -1 },
	{ "execve of nothing", SYS_execve, { 0, 0, 0 }, EPERM, EFAULT },
};

static void play_acts(void)
{
	for (size_t i = 0; i < ARRAY_LEN(acts); i++) {
		const long *a = acts[i].args;

		errno = 0;
		results[i] = syscall(acts[i].nr, a[0], a[1], a[2], a[3], 0L, 0L) == -1 ? errno : 0;
	}
}

static void test_acts(const char *policy, bool strict)
{
	_cleanup_filter_ struct filter_prog prog = { 0 };
	_cleanup_policy_ struct policy *p = load(policy, "none", &prog, false);

	memset(results, 0xff, sizeof(acts));
	is_int(0, under(&prog, play_acts), "%s: the child lives", policy);
	for (size_t i = 0; i < ARRAY_LEN(acts); i++) {
		int want = strict ? acts[i].strict : acts[i].python;

		if (want >= 0)
			is_int(want, results[i], "%s: %s", policy, acts[i].name);
		else
			ok(results[i] != EPERM, "%s: %s is left to the kernel", policy, acts[i].name);
	}
}

/* ---- what kills ------------------------------------------------------------ */

#ifdef __x86_64__
static void call_i386(void)
{
	long ret;

	/* 20 is getpid there and writev here. */
	__asm__ volatile("int $0x80" : "=a"(ret) : "a"(20) : "memory");
}

static void call_x32(void)
{
	syscall(0x40000000 | SYS_getpid);
}

static void call_modify_ldt(void)
{
	syscall(SYS_modify_ldt, 0, NULL, 0);
}

static void test_kills(const char *policy)
{
	static const struct {
		const char *name;
		void (*fn)(void);
	} deadly[] = { { "int $0x80", call_i386 }, { "an x32 call", call_x32 }, { "modify_ldt", call_modify_ldt } };
	_cleanup_filter_ struct filter_prog prog = { 0 };
	_cleanup_policy_ struct policy *p = load(policy, "none", &prog, false);

	for (size_t i = 0; i < ARRAY_LEN(deadly); i++) {
		int status = under(&prog, deadly[i].fn);

		ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS, "%s: %s ends the process by SIGSYS", policy, deadly[i].name);
	}
}
#endif

/* ---- ordinary life ---------------------------------------------------------- */

static void *add_one(void *arg)
{
	++*(int *)arg;
	return NULL;
}

static void live(void)
{
	int pair[2], n = 0, status = -1;
	pthread_t thread;
	char byte = 'x';
	pid_t pid;

	if (pthread_create(&thread, NULL, add_one, &n) != 0 || pthread_join(thread, NULL) != 0 || n != 1)
		_exit(1);
	pid = fork();
	if (pid == 0)
		_exit(7);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 7)
		_exit(2);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0 || send(pair[0], &byte, 1, 0) != 1 ||
	    recv(pair[1], &byte, 1, 0) != 1)
		_exit(3);
}

static void make_thread(void)
{
	pthread_t thread;
	int n = 0;

	_exit(pthread_create(&thread, NULL, add_one, &n) == EPERM ? 0 : 1);
}

static void loopback(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	_exit(fd >= 0 && socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, 1) < 0 && errno == EPERM ? 0 : 1);
}

static void test_life(void)
{
	static const char *const policies[] = { "python", "python-data", "shell", "open" };

	for (size_t i = 0; i < ARRAY_LEN(policies); i++) {
		_cleanup_filter_ struct filter_prog prog = { 0 };
		_cleanup_policy_ struct policy *p = load(policies[i], "none", &prog, false);

		is_int(0, under(&prog, live), "%s: thread, process and socket pair work", policies[i]);
	}
	{
		_cleanup_filter_ struct filter_prog strict = { 0 }, net = { 0 };
		_cleanup_policy_ struct policy *p = load("python-strict", "none", &strict, false);
		_cleanup_policy_ struct policy *q = load("python", "loopback", &net, false);

		is_int(0, under(&strict, make_thread), "python-strict: no thread, and an error that says why");
		is_int(0, under(&net, loopback), "python, network loopback: a TCP socket, no raw one");
	}
}

/* ---- the listener ------------------------------------------------------------ */

struct notified {
	struct filter_prog prog;
	int fd;			/* the listener; the child shares our descriptors */
};

static int notified_child(void *arg)
{
	struct notified *n = arg;
	int fd = apply(&n->prog, SECCOMP_FILTER_FLAG_NEW_LISTENER);

	__atomic_store_n(&results[0], fd, __ATOMIC_SEQ_CST);
	if (fd < 0)
		_exit(1);
	errno = 0;
	results[1] = syscall(SYS_socket, AF_INET, SOCK_STREAM, 0) == -1 ? errno : 0;
	results[2] = syscall(SYS_mount, 0, 0, 0, 0, 0) == -1 ? errno : 0;
	results[3] = syscall(SYS_clone3, 0, 0) == -1 ? errno : 0;
	_exit(0);
}

/* Answer one denial as the supervisor does: by the rules asked in C. Returns its number, -1 at the end. */
static int serve(int fd, const struct policy *p, struct filter_verdict *ret)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	struct seccomp_notif req = { 0 };
	struct seccomp_notif_resp resp = { 0 };
	uint64_t args[6];

	if (poll(&pfd, 1, NOTIFY_WAIT_MS) != 1 || !(pfd.revents & POLLIN) || ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &req) < 0)
		return -1;
	memcpy(args, req.data.args, sizeof(args));
	filter_decide(p, req.data.nr, args, ret);
	resp.id = req.id;
	resp.error = -ret->error;
	return ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, &resp) < 0 ? -1 : req.data.nr;
}

static void test_listener(void)
{
	enum { STACK = 64 * 1024 };
	struct notified n = { .fd = -1 };
	_cleanup_policy_ struct policy *p = load("python", "none", &n.prog, true);
	struct filter_verdict v;
	int status = -1;
	char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	pid_t pid;

	if (stack == MAP_FAILED)
		abort();
	results[0] = -2;
	fflush(stdout);
	pid = clone(notified_child, stack + STACK, CLONE_FILES | SIGCHLD, &n);
	if (pid < 0)
		abort();
	for (int i = 0; i < NOTIFY_WAIT_MS && (n.fd = __atomic_load_n(&results[0], __ATOMIC_SEQ_CST)) == -2; i++)
		usleep(1000);
	if (n.fd < 0) {
		skip("denials reach the listener", "this kernel or sandbox gives no listener");
		kill(pid, SIGKILL);
	} else {
		is_int(SYS_socket, serve(n.fd, p, &v), "a denied socket() reaches the listener");
		ok(v.rule && strcmp(v.rule->origin, "network.mode=none") == 0, "with its rule");
		is_int(SYS_mount, serve(n.fd, p, &v), "a denied mount() as well");
	}
	if (waitpid(pid, &status, 0) != pid)
		abort();
	if (n.fd >= 0) {
		is_int(0, status, "the child ends well");
		is_int(ENETUNREACH, results[1], "socket() got the rule's errno");
		is_int(EPERM, results[2], "mount() got the rule's errno");
		is_int(ENOSYS, results[3], "clone3() got ENOSYS and asked nobody");
		close(n.fd);
	}
	munmap(stack, STACK);
	filter_prog_free(&n.prog);
}

int main(void)
{
	results = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (results == MAP_FAILED)
		abort();
	test_acts("python-strict", true);
	test_acts("python", false);
	test_acts("python-data", false);
#ifdef __x86_64__
	test_kills("python-strict");
	test_kills("open");
#endif
	test_life();
	test_listener();
	return done();
}
