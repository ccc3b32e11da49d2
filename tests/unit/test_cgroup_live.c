/*
 * test_cgroup_live.c - limits that this kernel really holds, counts and forgets
 *
 * Runs as: root, or a user with delegated control groups; else skipped
 * Trusts: the kernel
 * Never: leaves a process or a group behind
 */
#include <fcntl.h>
#include <glob.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "jail/cgroup_internal.h"
#include "tap.h"

#define MIB (1024u * 1024u)
#define NOBODY 65534
#define PIDS 8
#define SUPERVISORS 8
#define ROUNDS 10

static const struct jail_limits limits = { .memory = 64 * MIB, .pids = PIDS, .cpu_milli = 1000, .cpu_ms = 1000 };
static const struct jail_limits strict = {
	.memory = 64 * MIB, .pids = PIDS, .cpu_milli = 1000, .cpu_ms = 1000, .require_cgroup = true
};

static struct cgroup_map map;

/* ---- groups ------------------------------------------------------------------- */

static void find_groups(void)
{
	_cleanup_free_ char *mountinfo = NULL, *self = NULL;

	if (io_read_file("/proc/self/mountinfo", CGROUP_MOUNTINFO_MAX, &mountinfo, NULL) == 0 &&
	    io_read_file("/proc/self/cgroup", CGROUP_SELF_MAX, &self, NULL) == 0)
		cgroup_map_parse(mountinfo, self, &map);
}

/* In how many hierarchies does a group of that name exist, beside us or one level up? */
static unsigned int count_groups(const char *name)
{
	unsigned int n = 0;

	for (size_t t = 0; t < CGROUP_TREES; t++) {
		_cleanup_free_ char *here = str_printf("%s/%s", map.dir[t], name), *up = str_printf("%s/../%s", map.dir[t], name);

		if (map.dir[t][0] && here && up && (access(here, F_OK) == 0 || access(up, F_OK) == 0))
			n++;
	}
	return n;
}

/* As the launcher does it: born inside, or first of all joining. */
static pid_t start(struct cgroup *cg, bool join)
{
	int fds[CGROUP_JOIN_MAX], dir = cgroup_clone_fd(cg);
	struct clone_args args = { .exit_signal = SIGCHLD };
	size_t n = join ? cgroup_join_fds(cg, fds) : 0;
	pid_t pid;

	if (dir >= 0) {
		args.flags = CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)dir;
		pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	} else {
		pid = fork();
	}
	if (pid == 0)
		for (size_t i = 0; i < n; i++)
			if (write(fds[i], "0", 1) != 1)
				_exit(99);
	return pid;
}

/* Runs act in a group of its own. Returns its wait status. */
static int run(void (*act)(void), bool join, struct jail_usage *ret)
{
	struct sj_err err = { 0 };
	struct cgroup *cg = NULL;
	char name[CGROUP_NAME_MAX], c;
	int go[2], status = -1;
	pid_t pid;

	if (cgroup_open(&strict, &cg, &err) < 0 || pipe(go) < 0)
		return -1;
	(void)snprintf(name, sizeof(name), "%s", cg->name);
	ok(count_groups(name) > 0, "a group exists while the jail runs");
	pid = start(cg, join);
	if (pid == 0) {
		close(go[1]);
		if (read(go[0], &c, 1) == 0)
			act();
		_exit(0);
	}
	close(go[0]);
	is_int(0, cgroup_attach(cg, pid, &err), "the child is inside");
	close(go[1]);
	(void)waitpid(pid, &status, 0);
	cgroup_sample(cg, ret);
	(void)cgroup_close(cg);
	is_int(0, count_groups(name), "none when it has ended");
	return status;
}

/* ---- acts ----------------------------------------------------------------------- */

static void memory_bomb(void)
{
	for (size_t i = 0; i < 64; i++) {
		char *p = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED)
			_exit(1);
		memset(p, 1, 4 * MIB);
	}
}

static void fork_bomb(void)
{
	pid_t made[2 * PIDS];
	int n = 0;

	while (n < 2 * PIDS && (made[n] = fork()) > 0)
		n++;
	if (n < 2 * PIDS && made[n] == 0) {
		pause();
		_exit(0);
	}
	for (int i = 0; i < n; i++) {
		(void)kill(made[i], SIGKILL);
		(void)waitpid(made[i], NULL, 0);
	}
	_exit(n);
}

static void burn(void)
{
	clock_t began = clock();
	volatile unsigned int n = 0;

	while (++n % 1000000 || clock() - began < CLOCKS_PER_SEC / 5)
		;
}

static void nothing(void)
{
}

/* ---- tests ------------------------------------------------------------------------ */

static void test_limits(void)
{
	struct jail_usage u = { 0 };
	int status = run(memory_bomb, true, &u);

	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "a memory bomb is killed");
	ok(u.oom_kills >= 1, "and counted");
	ok(u.memory_hits >= 1, "the limit was reached");
	ok(u.memory_peak > 32 * MIB && u.memory_peak <= 64 * MIB, "the peak is at most the limit");
	memset(&u, 0, sizeof(u));
	status = run(fork_bomb, true, &u);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == PIDS - 1, "a fork bomb gets %d processes in all", PIDS);
	ok(u.pids_hits >= 1, "the refusal is counted");
	is_int(PIDS, u.pids_peak, "the peak is the limit");
	is_int(0, u.oom_kills, "nobody ran out of memory");
	memset(&u, 0, sizeof(u));
	status = run(burn, true, &u);
	ok(WIFEXITED(status) && u.cpu_us >= 150000, "CPU time is counted");
	ok(u.user_us + u.sys_us <= u.cpu_us + 1 && u.user_us > u.sys_us, "and divided");
}

static void test_slow_way(void)
{
	struct jail_usage u = { 0 };
	int status = run(burn, false, &u);

	ok(WIFEXITED(status) && u.cpu_us >= 150000, "a child that does not join is moved");
}

/* A supervisor that dies by SIGKILL leaves its groups to the next start. False where a second one has no place. */
static bool test_leftovers(void)
{
	char name[CGROUP_NAME_MAX] = "";
	struct jail_usage u = { 0 };
	int out[2];
	pid_t pid;

	if (pipe(out) < 0)
		return false;
	pid = fork();
	if (pid == 0) {
		struct cgroup *cg = NULL;

		if (cgroup_open(&strict, &cg, NULL) == 0 && write(out[1], cg->name, sizeof(cg->name)) > 0)
			pause();
		_exit(1);
	}
	close(out[1]);
	if (read(out[0], name, sizeof(name)) <= 0) {
		skip("what a killed supervisor leaves", "only one supervisor can be in this group");
		(void)waitpid(pid, NULL, 0);
		close(out[0]);
		return false;
	}
	ok(count_groups(name) > 0, "a second supervisor has its group");
	(void)run(nothing, true, &u);
	ok(count_groups(name) > 0, "which a start leaves alone while it lives");
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	ok(count_groups(name) > 0, "it is still there after SIGKILL");
	(void)run(nothing, true, &u);
	is_int(0, count_groups(name), "the next start removes it");
	close(out[0]);
	return true;
}

/* One of many; some end without a word. */
static int supervise(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct cgroup *cg = NULL;
		struct jail_enforced by;
		pid_t pid;

		if (cgroup_open(&strict, &cg, NULL) < 0)
			return 1;
		cgroup_enforced(cg, &by);
		pid = start(cg, true);
		if (pid == 0)	/* a process that has ended counts as in the top group */
			_exit(pause());
		if (!by.memory || !by.pids || !by.cpu || !by.cpu_time || cgroup_attach(cg, pid, NULL) < 0)
			return 2;
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
		if (i == ROUNDS - 1 && getpid() % 2)
			(void)kill(getpid(), SIGKILL);
		(void)cgroup_close(cg);
	}
	return 0;
}

static size_t groups_of(pid_t supervisor)
{
	size_t n = 0;

	for (size_t t = 0; t < CGROUP_TREES; t++) {
		_cleanup_free_ char *pattern = str_printf("%s/" CGROUP_PREFIX "%d-*", map.dir[t], (int)supervisor);
		glob_t g = { 0 };

		if (map.dir[t][0] && pattern && glob(pattern, 0, NULL, &g) == 0)
			n += g.gl_pathc;
		globfree(&g);
	}
	return n;
}

static void test_many(void)
{
	struct jail_usage u = { 0 };
	pid_t pids[SUPERVISORS];
	int bad = 0, status;

	for (int i = 0; i < SUPERVISORS; i++) {
		pids[i] = fork();
		if (pids[i] == 0)
			_exit(supervise());
	}
	for (int i = 0; i < SUPERVISORS; i++) {
		(void)waitpid(pids[i], &status, 0);
		bad += WIFEXITED(status) && WEXITSTATUS(status) != 0;
	}
	is_int(0, bad, "supervisors that start and sweep at once do not disturb each other");
	(void)run(nothing, true, &u);
	for (int i = 0; i < SUPERVISORS; i++)
		bad += (int)groups_of(pids[i]);
	is_int(0, bad, "and one start later nothing of theirs is left");
}

static int as_nobody(void)
{
	struct jail_enforced by = { 0 };
	struct sj_err err = { 0 };
	struct cgroup *cg = NULL;

	(void)unsetenv("XDG_RUNTIME_DIR");
	(void)unsetenv("DBUS_SESSION_BUS_ADDRESS");
	if (setresgid(NOBODY, NOBODY, NOBODY) < 0 || setresuid(NOBODY, NOBODY, NOBODY) < 0)
		return 77;
	if (cgroup_open(&limits, &cg, &err) < 0)
		return 1;
	cgroup_enforced(cg, &by);
	if (by.memory || by.pids || by.cpu || cgroup_attach(cg, getpid(), &err) < 0)
		return 2;
	(void)cgroup_close(cg);
	if (cgroup_open(&strict, &cg, &err) >= 0 || err.exit != SJ_EXIT_SETUP || !err.why[0] || !err.fix[0])
		return 3;
	return 0;
}

static void test_nobody(void)
{
	pid_t pid;
	int status = 0;

	if (geteuid() != 0) {
		skip("a user without groups", "not root");
		return;
	}
	pid = fork();
	if (pid == 0)
		_exit(as_nobody());
	(void)waitpid(pid, &status, 0);
	is_int(0, WEXITSTATUS(status), "a user without groups: nothing held, or a refusal");
}

int main(void)
{
	struct sj_err err = { 0 };
	struct cgroup *cg = NULL;

	if (cgroup_open(&strict, &cg, &err) < 0) {
		_cleanup_free_ char *why = str_printf("%s: %s", err.what, err.why);

		skip_all(why ? why : "no control groups");
	}
	(void)cgroup_close(cg);
	find_groups();
	test_limits();
	test_slow_way();
	if (test_leftovers())
		test_many();
	test_nobody();
	return done();
}
