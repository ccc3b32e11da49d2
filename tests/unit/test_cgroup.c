/*
 * test_cgroup.c - the ladder, limits, counters and removal on made-up trees of both versions
 *
 * Runs as: any user
 * Trusts: fake_cgroup.h to refuse what the kernel refuses
 * Never: touches a control group of this machine
 */
#include "fake_cgroup.h"

#define MIB (1024u * 1024u)
#define M1(dir, ctl) "30 20 0:29 / /cg1/" dir " rw - cgroup cgroup rw," ctl "\n"
#define M2 "40 20 0:38 / /cg2 rw - cgroup2 cgroup2 rw\n"
#define V1_ALL M1("memory", "memory") M1("pids", "pids") M1("cpu", "cpu") M1("cpuacct", "cpuacct")
#define V1_SELF "5:memory:/job\n4:pids:/\n3:cpuacct:/\n2:cpu:/\n"
#define OFFER "cpuset cpu io memory pids\n"

static const struct jail_limits limits = { .memory = 64 * MIB, .pids = 32, .cpu_milli = 1500, .cpu_ms = 1000 };
static const struct jail_limits strict = { .memory = 64 * MIB, .pids = 32, .cpu_milli = 1500, .require_cgroup = true };

static struct cgroup *cg;
static struct sj_err err;
static struct jail_enforced by;

static int open_world(const struct jail_limits *l)
{
	int r;

	cg = NULL;
	memset(&err, 0, sizeof(err));
	memset(&by, 0, sizeof(by));
	r = fake_open(l, &cg, &err);
	if (r == 0)
		cgroup_enforced(cg, &by);
	return r;
}

static void close_world(void)
{
	cg = cgroup_close(cg);
	fake_end();
}

static const char *value(const char *tree, const char *file)
{
	return get_file("%s/root%s/%s/%s", fake.top, tree, cg->name, file);
}

/* ---- version 1 ------------------------------------------------------------------ */

static void v1_world(void)
{
	fake_begin(V1_ALL, V1_SELF);
	make_dirs("%s/root/cg1/memory/job", fake.top);
	make_dirs("%s/root/cg1/pids", fake.top);
	make_dirs("%s/root/cg1/cpu", fake.top);
	make_dirs("%s/root/cg1/cpuacct", fake.top);
}

static void test_v1(void)
{
	int fds[CGROUP_JOIN_MAX];

	v1_world();
	is_int(0, open_world(&limits), "v1: opens");
	ok(str_prefix(cg->name, "smoljail-4242-777-"), "name has process and start time: %s", cg->name);
	is_str("cgroup1", by.memory, "memory is held");
	is_str("cgroup1", by.pids, "pids are held");
	is_str("cgroup1", by.cpu, "cpu is held");
	is_str("cgroup1", by.cpu_time, "cpu time is counted");
	is_str("67108864", value("/cg1/memory/job", "memory.limit_in_bytes"), "memory limit, below our own group");
	is_str("67108864", value("/cg1/memory/job", "memory.memsw.limit_in_bytes"), "and no swap beyond it");
	is_str("32", value("/cg1/pids", "pids.max"), "pids limit");
	is_str("150000", value("/cg1/cpu", "cpu.cfs_quota_us"), "cpu quota");
	is_int(-1, cgroup_clone_fd(cg), "no directory to be born in");
	is_int(4, cgroup_join_fds(cg, fds), "four files to join by");
	is_int(4, fake.mkdirs, "one directory a hierarchy");
	close_world();
}

static void test_v1_removal(void)
{
	v1_world();
	(void)open_world(&limits);
	fake.busy = 3;
	cg = cgroup_close(cg);
	is_int(0, fake_groups("/cg1/memory/job") + fake_groups("/cg1/pids") + fake_groups("/cg1/cpu"),
	       "a refused rmdir is tried again");
	ok(cgroup_close(NULL) == NULL, "closing nothing is fine");
	fake_end();
}

static void test_v1_counters(void)
{
	struct jail_usage u = { .memory_peak = 1 };

	v1_world();
	(void)open_world(&limits);
	cgroup_sample(cg, &u);
	is_int(8000, u.cpu_us, "cpu time");
	is_int(6000, u.user_us, "divided as the ticks say: user");
	is_int(2000, u.sys_us, "and system");
	is_int(20480, u.memory_peak, "memory peak");
	is_int(6, u.oom_kills, "oom kills");
	is_int(6, u.memory_hits, "hits: at least as many as kills");
	is_int(5, u.pids_peak, "pids peak");
	is_int(4, u.pids_hits, "refused forks");
	put_file("7", "%s/root/cg1/memory/job/%s/memory.failcnt", fake.top, cg->name);
	cgroup_sample(cg, &u);
	is_int(10, u.memory_hits, "hits of both memory limits");
	close_world();
}

static void test_v1_old_kernel(void)
{
	struct jail_usage u = { 0 };

	v1_world();
	fake.absent = "memory.memsw.limit_in_bytes";
	is_int(0, open_world(&strict), "no swap accounting: the memory limit still holds");
	is_str("0", value("/cg1/memory/job", "memory.swappiness"), "and the group does not swap by itself");
	close_world();
	v1_world();
	fake.absent = "pids.peak";
	(void)open_world(&limits);
	put_file("9\n", "%s/root/cg1/pids/%s/pids.current", fake.top, cg->name);
	cgroup_sample(cg, &u);
	put_file("2\n", "%s/root/cg1/pids/%s/pids.current", fake.top, cg->name);
	cgroup_sample(cg, &u);
	is_int(9, u.pids_peak, "no pids.peak: the highest number seen");
	close_world();
	v1_world();
	fake.absent = "cpuacct.usage_sys";
	(void)open_world(&limits);
	cgroup_sample(cg, &u);
	is_int(4000, u.sys_us, "no cpuacct.usage_sys: the ratio of cpuacct.stat");
	close_world();
}

static void test_v1_comounted(void)
{
	fake_begin(M1("memory", "memory") M1("pids", "pids") M1("cpu,cpuacct", "cpu,cpuacct"),
		   "5:memory:/\n4:pids:/\n3:cpu,cpuacct:/\n");
	make_dirs("%s/root/cg1/memory", fake.top);
	make_dirs("%s/root/cg1/pids", fake.top);
	make_dirs("%s/root/cg1/cpu,cpuacct", fake.top);
	is_int(0, open_world(&limits), "co-mounted: opens");
	is_int(3, fake.mkdirs, "one directory serves cpu and cpuacct");
	is_str("cgroup1", by.cpu, "cpu held");
	is_str("cgroup1", by.cpu_time, "cpu time counted");
	close_world();
}

static void test_v1_refusals(void)
{
	v1_world();
	fake.deny_mkdir = "/cg1/pids";
	fake.deny_error = EACCES;
	is_int(0, open_world(&limits), "one controller refused: no error");
	is_str("cgroup1", by.memory, "the others hold");
	is_str(NULL, by.pids, "this one does not");
	close_world();
	v1_world();
	fake.deny_mkdir = "/cg1/pids";
	fake.deny_error = EACCES;
	is_int(-EACCES, open_world(&strict), "the policy insists: an error");
	is_int(125, err.exit, "exit status 125");
	has_str("(controller pids)", err.what, "names the controller");
	has_str("/cg1/pids: Permission denied", err.why, "names path and reason");
	has_str("cgcreate", err.fix, "says what an administrator can do");
	is_int(0, fake_groups("/cg1/memory/job") + fake_groups("/cg1/cpu") + fake_groups("/cg1/cpuacct"),
	       "nothing is left of the others");
	fake_end();
	v1_world();
	fake.deny_mkdir = "/cg1/";
	fake.deny_error = EROFS;
	is_int(-EROFS, open_world(&strict), "read-only tree");
	has_str("container", err.fix, "hints at the container");
	fake_end();
}

static void test_v1_not_taken(void)
{
	static const char *const lies[] = { "memory.limit_in_bytes", "pids.max", "cpu.cfs_quota_us" };

	for (size_t i = 0; i < ARRAY_LEN(lies); i++) {
		v1_world();
		fake.lie = lies[i];
		is_int(0, open_world(&limits), "%s takes another value: no error", lies[i]);
		is_str(NULL, i == 0 ? by.memory : i == 1 ? by.pids : by.cpu, "and no claim");
		cg = cgroup_close(cg);
		is_int(-ENODATA, open_world(&strict), "an error where the policy insists");
		has_str(lies[i], err.why, "which names the file");
		fake_end();
	}
}

/* Version 1 refuses a quota above the parent's; what holds then is the parent's. */
static void test_v1_parent_quota(void)
{
	v1_world();
	put_file("50000\n", "%s/root/cg1/cpu/cpu.cfs_quota_us", fake.top);
	put_file("100000\n", "%s/root/cg1/cpu/cpu.cfs_period_us", fake.top);
	fake.deny_write = "cpu.cfs_quota_us";
	fake.deny_write_error = EINVAL;
	is_int(0, open_world(&strict), "a tighter quota above us: held");
	is_str("cgroup1", by.cpu, "by the parent");
	cg = cgroup_close(cg);
	put_file("200000\n", "%s/root/cg1/cpu/cpu.cfs_quota_us", fake.top);
	(void)open_world(&limits);
	is_str(NULL, by.cpu, "a wider one explains nothing: not held");
	close_world();
}

static void test_no_limits(void)
{
	static const struct jail_limits none = { .require_cgroup = true };

	v1_world();
	is_int(0, open_world(&none), "no limits: opens");
	is_str(NULL, by.memory, "no claim without a limit");
	is_str(NULL, by.cpu_time, "nor of cpu time");
	is_str("max", value("/cg1/pids", "pids.max"), "and nothing written");
	close_world();
	fake_begin("", "0::/\n");
	is_int(0, open_world(&limits), "no hierarchy at all: no error");
	is_str(NULL, by.memory, "and nothing held");
	is_int(0, cgroup_attach(cg, 1, &err), "attaching does nothing");
	cgroup_kill(cg);
	cg = cgroup_close(cg);
	is_int(-ENODEV, open_world(&strict), "an error where the policy insists");
	has_str("no hierarchy with the controller memory", err.why, "which says so");
	fake_end();
}

static void test_attach(void)
{
	char path[PATH_MAX], text[512];

	v1_world();
	(void)open_world(&limits);
	(void)snprintf(path, sizeof(path), "%s/proc/99/cgroup", fake.top);
	make_dirs("%s/proc/99", fake.top);
	(void)snprintf(text, sizeof(text), "5:memory:/job/%s\n4:pids:/%s\n3:cpuacct:/%s\n2:cpu:/%s\n", cg->name, cg->name,
		       cg->name, cg->name);
	put_file(text, "%s", path);
	is_int(0, cgroup_attach(cg, 99, &err), "a child that is inside everywhere");
	cg = cgroup_close(cg);
	(void)open_world(&limits);
	(void)snprintf(text, sizeof(text), "5:memory:/job/%s\n4:pids:/\n3:cpuacct:/%s\n2:cpu:/%s\n", cg->name, cg->name, cg->name);
	put_file(text, "%s", path);
	is_int(-EAGAIN, cgroup_attach(cg, 99, &err), "one that stays outside is an error");
	has_str("another group", err.why, "which says so");
	is_int(-EAGAIN, cgroup_attach(cg, 98, &err), "a process that is gone");
	for (size_t i = 0; i < cg->n_dirs; i++) {
		int fd = openat(cg->dirs[i].fd, "cgroup.procs", O_WRONLY | O_TRUNC | O_CLOEXEC);

		dprintf(fd, "98\n");
		close(fd);
	}
	is_int(0, cgroup_attach(cg, 98, &err), "one that /proc hides, and the groups list");
	close_world();
}

/* ---- version 2 ------------------------------------------------------------------- */

static void v2_world(const char *self, const char *procs)
{
	char line[128];

	(void)snprintf(line, sizeof(line), "0::%s\n", self);
	fake_begin(M2, line);
	fake_v2("", OFFER, OFFER, "");
	fake_v2("/job", OFFER, "", procs);
}

static void check_v2_limits(const char *tree)
{
	is_str("cgroup2", by.memory, "v2: memory held");
	is_str("cgroup2", by.pids, "v2: pids held");
	is_str("cgroup2", by.cpu, "v2: cpu held");
	is_str("67108864", value(tree, "memory.max"), "memory.max");
	is_str("0", value(tree, "memory.swap.max"), "no swap");
	is_str("1", value(tree, "memory.oom.group"), "out of memory ends all");
	is_str("32", value(tree, "pids.max"), "pids.max");
	is_str("150000 100000", value(tree, "cpu.max"), "cpu.max");
	ok(cgroup_clone_fd(cg) >= 0, "a directory to be born in");
}

static void test_v2_steps_aside(void)
{
	int fds[CGROUP_JOIN_MAX];

	v2_world("/job", "4242\n");
	is_int(0, open_world(&limits), "alone in our group: opens");
	check_v2_limits("/cg2/job");
	is_int(0, cgroup_join_fds(cg, fds), "nothing to join by");
	is_str("cgroup2", by.cpu_time, "cpu time counted");
	is_str("0::/job/supervisor", get_file("%s/proc/self/cgroup", fake.top), "we moved one level down");
	cgroup_kill(cg);
	is_str("1", value("/cg2/job", "cgroup.kill"), "kill writes to cgroup.kill");
	cg = cgroup_close(cg);
	is_str("0::/job", get_file("%s/proc/self/cgroup", fake.top), "closing moves us back");
	is_int(0, fake_groups("/cg2/job"), "and leaves no group");
	is_str("", get_file("%s/root/cg2/job/cgroup.subtree_control", fake.top), "and the controllers as they were");
	fake_end();
}

static void test_v2_two_at_once(void)
{
	struct cgroup *first;

	v2_world("/job", "4242\n");
	(void)open_world(&limits);
	first = cg;
	is_int(0, open_world(&limits), "a second jail of the same supervisor");
	check_v2_limits("/cg2/job");
	(void)cgroup_close(first);
	is_str("67108864", value("/cg2/job", "memory.max"), "the first one's end leaves the second its limits");
	is_str("0::/job/supervisor", get_file("%s/proc/self/cgroup", fake.top), "and the supervisor where it is");
	close_world();
}

static void test_v2_company(void)
{
	v2_world("/job", "17\n4242\n");
	is_int(0, open_world(&limits), "others in our group: no error");
	is_str(NULL, by.memory, "nothing held");
	is_str("17\n4242", get_file("%s/root/cg2/job/cgroup.procs", fake.top), "and nobody moved");
	is_int(0, fake_groups("/cg2/job"), "nothing made");
	cg = cgroup_close(cg);
	is_int(-EBUSY, open_world(&strict), "an error where the policy insists");
	has_str("other processes of /cg2/job", err.why, "which says that others are there");
	has_str("systemd-run --user --scope", err.fix, "and how to be alone");
	fake_end();
}

static void test_v2_prepared(void)
{
	v2_world("/job/supervisor", "");
	fake_v2("/job/supervisor", OFFER, "", "4242\n");
	is_int(0, open_world(&limits), "already beside the jails: opens");
	check_v2_limits("/cg2/job");
	cg = cgroup_close(cg);
	is_str("0::/job/supervisor", get_file("%s/proc/self/cgroup", fake.top), "and stays there");
	ok(exists("%s/root/cg2/job/supervisor", fake.top), "since it was not ours to make");
	fake_end();
	v2_world("/", "");
	fake_v2("", OFFER, OFFER, "1\n4242\n");
	put_file("", "%s/root/cg2/top", fake.top);
	is_int(0, open_world(&limits), "the top of all groups may hold processes: opens");
	check_v2_limits("/cg2");
	close_world();
}

static void test_v2_partial(void)
{
	v2_world("/job", "4242\n");
	fake_v2("/job", "memory pids\n", "", "4242\n");
	is_int(0, open_world(&limits), "cpu was not delegated: no error");
	is_str("cgroup2", by.memory, "memory held");
	is_str(NULL, by.cpu, "cpu not");
	is_str("cgroup2", by.cpu_time, "cpu time is counted all the same");
	cg = cgroup_close(cg);
	is_int(-ENODEV, open_world(&strict), "an error where the policy insists");
	fake_end();
	v2_world("/job", "4242\n");
	fake.absent = "memory.swap.max";
	is_int(0, open_world(&strict), "no swap accounting: the memory limit still holds");
	close_world();
}

static void test_v2_counters(void)
{
	struct jail_usage u = { 0 };

	v2_world("/job", "4242\n");
	(void)open_world(&limits);
	cgroup_sample(cg, &u);
	ok(u.cpu_us == 900 && u.user_us == 600 && u.sys_us == 300, "cpu.stat");
	is_int(12288, u.memory_peak, "memory.peak");
	ok(u.oom_kills == 1 && u.memory_hits == 9, "memory.events");
	ok(u.pids_peak == 5 && u.pids_hits == 4, "pids.peak and pids.events");
	close_world();
	v2_world("/job", "4242\n");
	fake.absent = "memory.peak";
	(void)open_world(&limits);
	cgroup_sample(cg, &u);
	put_file("100\n", "%s/root/cg2/job/%s/memory.current", fake.top, cg->name);
	cgroup_sample(cg, &u);
	is_int(8192, u.memory_peak, "no memory.peak: the highest value seen");
	close_world();
}

/* Root may write anywhere; only what systemd delegated is safe to use. */
static void test_v2_delegation(void)
{
	char path[PATH_MAX];

	if (geteuid() != 0) {
		skip("delegation as root", "not root");
		return;
	}
	v2_world("/job", "4242\n");
	make_dirs("%s/root/run/systemd/system", fake.top);
	is_int(0, open_world(&limits), "root in a group that is systemd's: no error");
	is_str(NULL, by.memory, "not used");
	is_int(0, fake.mkdirs, "not even tried");
	cg = cgroup_close(cg);
	(void)snprintf(path, sizeof(path), "%s/root/cg2/job", fake.top);
	if (setxattr(path, "trusted.delegate", "1", 1, 0) < 0) {
		skip("a delegated group is used", "no trusted attributes in /tmp");
	} else {
		(void)open_world(&limits);
		is_str("cgroup2", by.memory, "a delegated one is used");
		cg = cgroup_close(cg);
		is_str("0::/job/supervisor", get_file("%s/proc/self/cgroup", fake.top), "and left to systemd to tidy");
	}
	close_world();
}

static void test_mixed(void)
{
	fake_begin(M1("cpu", "cpu") M1("cpuacct", "cpuacct") M2, "2:cpuacct:/\n3:cpu:/\n0::/\n");
	make_dirs("%s/root/cg1/cpu", fake.top);
	make_dirs("%s/root/cg1/cpuacct", fake.top);
	fake_v2("", "memory pids\n", "memory pids\n", "4242\n");
	put_file("", "%s/root/cg2/top", fake.top);
	is_int(0, open_world(&strict), "some controllers here, some there: opens");
	is_str("cgroup2", by.memory, "memory by version 2");
	is_str("cgroup1", by.cpu, "cpu by version 1");
	is_int(2, fake.mkdirs, "a tree that has nothing to add gets no directory");
	close_world();
}

/* ---- what dead supervisors leave ---------------------------------------------------- */

static void leave_group(const char *name)
{
	make_dirs("%s/root/cg1/pids/%s", fake.top, name);
	put_file("", "%s/root/cg1/pids/%s/cgroup.procs", fake.top, name);
}

static void test_sweep(void)
{
	int held;
	char path[PATH_MAX];

	v1_world();
	fake_process("50", 50, 1000);
	leave_group("smoljail-50-1000-1");	/* alive */
	leave_group("smoljail-50-999-1");	/* its id belongs to another process now */
	leave_group("smoljail-51-1-1");		/* gone */
	leave_group("smoljail-52-1-1");		/* gone, but processes remain */
	put_file("60\n", "%s/root/cg1/pids/smoljail-52-1-1/cgroup.procs", fake.top);
	leave_group("smoljail-53-1-1");		/* of another pid namespace: looks gone, but holds its lock */
	leave_group("smoljail-mine");		/* not our kind of name */
	leave_group("other-51-1-1");
	(void)snprintf(path, sizeof(path), "%s/root/cg1/pids/smoljail-53-1-1", fake.top);
	held = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	(void)flock(held, LOCK_EX);
	(void)open_world(&limits);
	ok(exists("%s/root/cg1/pids/smoljail-50-1000-1", fake.top), "a live supervisor's group stays");
	ok(!exists("%s/root/cg1/pids/smoljail-50-999-1", fake.top), "same id, other start: removed");
	ok(!exists("%s/root/cg1/pids/smoljail-51-1-1", fake.top), "no such process: removed");
	ok(exists("%s/root/cg1/pids/smoljail-52-1-1", fake.top), "one with processes stays for the next start");
	ok(exists("%s/root/cg1/pids/smoljail-53-1-1", fake.top), "a locked one stays");
	ok(exists("%s/root/cg1/pids/smoljail-mine", fake.top) && exists("%s/root/cg1/pids/other-51-1-1", fake.top),
	   "foreign names stay");
	close(held);
	close_world();
}

int main(void)
{
	test_v1();
	test_v1_removal();
	test_v1_counters();
	test_v1_old_kernel();
	test_v1_comounted();
	test_v1_refusals();
	test_v1_not_taken();
	test_v1_parent_quota();
	test_no_limits();
	test_attach();
	test_v2_steps_aside();
	test_v2_two_at_once();
	test_v2_company();
	test_v2_prepared();
	test_v2_partial();
	test_v2_counters();
	test_v2_delegation();
	test_mixed();
	test_sweep();
	return done();
}
