/* Probes: what a child may do to its caller (nothing), and that every fact is fit to print. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jail/internal.h"
#include "jail/probe.h"
#include "tap.h"

#define FACTS_MAX 64

static void act_value(struct probe_result *r)
{
	r->value = 42;
}

static void act_errno(struct probe_result *r)
{
	errno = EXDEV;
	(void)probe_failed(r, "pivot");
}

static void act_hang(_unused_ struct probe_result *r)
{
	signal(SIGTERM, SIG_IGN);
	for (;;)
		pause();
}

static void act_crash(_unused_ struct probe_result *r)
{
	kill(getpid(), SIGKILL);
}

static void act_exit(_unused_ struct probe_result *r)
{
	_exit(3);
}

static void act_ids(struct probe_result *r)
{
	r->value = getuid() == JAIL_UID && getgid() == JAIL_GID && geteuid() == JAIL_UID;
}

static bool no_child_left(void)
{
	return waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD;
}

static void test_try(void)
{
	struct probe_result r;

	probe_try(&(struct probe_task){ .act = act_value }, &r);
	is_int(42, r.value, "a value comes back");
	is_int(0, r.error, "without an error");
	probe_try(&(struct probe_task){ .act = act_errno }, &r);
	is_int(EXDEV, r.error, "an errno comes back");
	is_str("pivot", r.step, "with its step");
	probe_try(&(struct probe_task){ .act = act_hang }, &r);
	ok(r.timed_out && r.error, "a child that hangs is given up");
	ok(no_child_left(), "and is gone");
	probe_try(&(struct probe_task){ .act = act_crash }, &r);
	is_int(SIGKILL, r.died, "a child that dies is told apart");
	ok(r.error && !r.timed_out, "and is no success");
	probe_try(&(struct probe_task){ .act = act_exit }, &r);
	ok(r.error && !r.died, "nor is one that says nothing");
	ok(no_child_left(), "no child is left");
}

static void test_namespace(void)
{
	struct probe_result r;

	probe_try(&(struct probe_task){ .flags = CLONE_NEWUSER, .map = true, .act = act_ids }, &r);
	if (r.error) {
		skip("ids inside", "no user namespaces here");
		return;
	}
	is_int(1, r.value, "inside, the child is the jail's user");
	probe_try(&(struct probe_task){ .flags = CLONE_NEWUSER | CLONE_NEWPID, .map = true, .act = act_hang }, &r);
	ok(r.timed_out && no_child_left(), "a first process that ignores signals is ended too");
}

static void test_filtered(void)
{
	unsigned long long mode = 0;

	host_status(&host_real, "Seccomp", 10, &mode);
	if (mode)
		skip("calls are answered by the kernel", "a filter is on this test itself");
	else
		ok(!probe_call_filtered("unshare") && !probe_call_filtered("clone") && !probe_call_filtered("mount") &&
		   !probe_call_filtered("clone3"), "without a filter no call is called filtered");
	ok(!probe_call_filtered("nonsense"), "nor is what it does not know");
}

/* ---- the facts -------------------------------------------------------------- */

struct seen {
	const char *ids[FACTS_MAX];
	size_t n;
	enum probe_state worst;
	bool bad;
};

static bool is_id(const char *s)
{
	return s[0] && strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_.") == strlen(s);
}

static void see(void *arg, const struct probe_fact *f)
{
	struct seen *s = arg;

	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->ids[i], f->id) == 0)
			s->bad = !ok(false, "%s is told twice", f->id) || s->bad;
	if (s->n < FACTS_MAX)
		s->ids[s->n++] = f->id;
	if (f->state > s->worst)
		s->worst = f->state;
	if (!is_id(f->id) || !f->value[0] || strchr(f->value, '\n') || strchr(f->why, '\n') || strchr(f->fix, '\n'))
		s->bad = !ok(false, "%s is fit to print", f->id) || s->bad;
	if ((f->state == PROBE_OK) != (f->why[0] == '\0'))
		s->bad = !ok(false, "%s gives its cause when it is not ok, and only then", f->id) || s->bad;
	if ((f->state == PROBE_OK) != (f->fix[0] == '\0'))
		s->bad = !ok(false, "%s gives its fix when it is not ok, and only then", f->id) || s->bad;
	printf("# %d %s: %s\n", (int)f->state, f->id, f->value);
}

static bool has(const struct seen *s, const char *id)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->ids[i], id) == 0)
			return true;
	return false;
}

static void test_facts(void)
{
	static const char *const promised[] = {
		"kernel", "caller", "userns.create", "userns.map", "userns.caps", "userns.no_nested", "namespaces", "cgroupns",
		"netns.lo", "mount.tmpfs", "mount.bind_ro", "proc.fresh", "proc.subset", "pivot_root", "cgroup", "limit.memory",
		"limit.pids", "limit.cpu", "limit.cpu_time", "swap", "calls", "pdeathsig", "memfd", "seccomp.filter",
		"seccomp.notify", "seccomp.foreign", "landlock", "core_pattern", "tiocsti", "io_uring",
	};
	struct seen s = { 0 };
	enum probe_state worst = jail_probe(see, &s);

	ok(!s.bad, "every fact is fit to print");
	is_int(s.worst, worst, "the worst state is returned");
	for (size_t i = 0; i < ARRAY_LEN(promised); i++)
		ok(has(&s, promised[i]), "%s is told", promised[i]);
	is_int(ARRAY_LEN(promised), s.n, "and nothing else");
	ok(no_child_left(), "no child is left");
}

int main(void)
{
	test_try();
	test_namespace();
	test_filtered();
	test_facts();
	return done();
}
