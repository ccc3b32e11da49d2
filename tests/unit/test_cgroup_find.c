/*
 * test_cgroup_find.c - where our control groups are: mountinfo, /proc/self/cgroup, lists, names
 *
 * Runs as: any user
 * Trusts: nothing
 * Never: needs a control group
 */
#include "jail/cgroup_internal.h"
#include "tap.h"

static struct cgroup_map map;

#define V1(point, root, ctl) "30 20 0:29 " root " " point " rw,relatime shared:5 - cgroup cgroup rw," ctl "\n"
#define V2(point, root) "40 20 0:38 " root " " point " rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"

static const char *dir(enum cgroup_ctl ctl)
{
	return map.dir[ctl];
}

static void test_hybrid(void)
{
	cgroup_map_parse("22 27 0:21 / /proc rw,relatime - proc proc rw\n"
			 "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
			 V1("/sys/fs/cgroup/cpu", "/", "cpu") V1("/sys/fs/cgroup/cpuacct", "/", "cpuacct")
			 V1("/sys/fs/cgroup/cpuset", "/", "cpuset") V1("/sys/fs/cgroup/memory", "/", "memory")
			 V1("/sys/fs/cgroup/pids", "/", "pids") V1("/sys/fs/cgroup/systemd", "/", "name=systemd")
			 V2("/sys/fs/cgroup/unified", "/"),
			 "9:name=systemd:/s\n8:pids:/\n5:devices:/\n4:memory:/api/6b3f\n3:cpuset:/\n2:cpuacct:/\n1:cpu:/\n0::/u\n",
			 &map);
	is_str("/sys/fs/cgroup/memory/api/6b3f", dir(CGROUP_MEMORY), "hybrid: memory, nested");
	is_str("/sys/fs/cgroup/pids", dir(CGROUP_PIDS), "hybrid: pids, at the top");
	is_str("/sys/fs/cgroup/cpu", dir(CGROUP_CPU), "separate cpu");
	is_str("/sys/fs/cgroup/cpuacct", dir(CGROUP_CPUACCT), "separate cpuacct");
	is_str("/sys/fs/cgroup/unified/u", map.dir[CGROUP_UNIFIED], "hybrid: unified tree");
	is_int(strlen("/sys/fs/cgroup/unified"), map.point[CGROUP_UNIFIED], "length of the mount point is known");
}

static void test_comounted(void)
{
	cgroup_map_parse(V1("/sys/fs/cgroup/cpu,cpuacct", "/", "cpu,cpuacct") V1("/sys/fs/cgroup/memory", "/", "seclabel,memory"),
			 "4:cpu,cpuacct:/user.slice\n5:memory:/user.slice/a b\n", &map);
	is_str("/sys/fs/cgroup/cpu,cpuacct/user.slice", dir(CGROUP_CPU), "co-mounted: cpu");
	is_str("/sys/fs/cgroup/cpu,cpuacct/user.slice", dir(CGROUP_CPUACCT), "co-mounted: cpuacct");
	is_str("/sys/fs/cgroup/memory/user.slice/a b", dir(CGROUP_MEMORY), "a space in our path stands as it is");
	is_str("", dir(CGROUP_PIDS), "no pids tree: nothing");
	is_str("", map.dir[CGROUP_UNIFIED], "no unified tree: nothing");
}

static void test_sub_roots(void)
{
	cgroup_map_parse(V1("/sys/fs/cgroup/memory", "/docker/abc", "memory"), "4:memory:/docker/abc\n", &map);
	is_str("/sys/fs/cgroup/memory", dir(CGROUP_MEMORY), "bind-mounted root that is our group");
	cgroup_map_parse(V1("/sys/fs/cgroup/memory", "/docker/abc", "memory"), "4:memory:/docker/abc/in/ner\n", &map);
	is_str("/sys/fs/cgroup/memory/in/ner", dir(CGROUP_MEMORY), "below a bind-mounted root");
	cgroup_map_parse(V1("/sys/fs/cgroup/memory", "/docker/abc", "memory"), "4:memory:/docker/abcd\n", &map);
	is_str("", dir(CGROUP_MEMORY), "a name that only begins alike is another group");
	cgroup_map_parse(V1("/sys/fs/cgroup/memory", "/docker/abc", "memory"), "4:memory:/\n", &map);
	is_str("", dir(CGROUP_MEMORY), "our group is above the mount's root: not visible");
	cgroup_map_parse(V1("/a", "/x", "memory") V1("/b", "/", "memory") V1("/c", "/", "memory"), "4:memory:/y\n", &map);
	is_str("/b/y", dir(CGROUP_MEMORY), "the first mount that shows our group");
	cgroup_map_parse(V1("/b", "/", "memory") V1("/b", "/y", "memory"), "4:memory:/y/z\n", &map);
	is_str("/b/z", dir(CGROUP_MEMORY), "a later mount on the same point hides the first");
}

static void test_namespaces(void)
{
	cgroup_map_parse(V2("/sys/fs/cgroup", "/"), "0::/\n", &map);
	is_str("/sys/fs/cgroup", map.dir[CGROUP_UNIFIED], "private namespace: its root is ours");
	cgroup_map_parse(V2("/sys/fs/cgroup", "/.."), "0::/\n", &map);
	is_str("", map.dir[CGROUP_UNIFIED], "mounted from above: the name of our group is not known");
	cgroup_map_parse(V2("/sys/fs/cgroup", "/../.."), "0::/../x\n", &map);
	is_str("", map.dir[CGROUP_UNIFIED], "neither is the name in between");
	cgroup_map_parse(V2("/sys/fs/cgroup", "/.."), "0::/../x/y\n", &map);
	is_str("/sys/fs/cgroup/x/y", map.dir[CGROUP_UNIFIED], "a sibling of the namespace's root is known");
	cgroup_map_parse(V2("/sys/fs/cgroup", "/"), "0::/../x\n", &map);
	is_str("", map.dir[CGROUP_UNIFIED], "we are outside of what is mounted");
	cgroup_map_parse(V2("/sys/fs/cgroup", "/"), "0::/a/../../etc\n", &map);
	is_str("", map.dir[CGROUP_UNIFIED], "no path with \"..\" ever comes out");
	cgroup_map_parse(V2("/sys/fs/cgroup", "/"), "0::/a..b/..c\n", &map);
	is_str("/sys/fs/cgroup/a..b/..c", map.dir[CGROUP_UNIFIED], "dots within a name are a name");
}

static void test_escapes(void)
{
	cgroup_map_parse(V2("/mnt/my\\040groups\\134x", "/r\\040oot"), "0::/r oot/s\n", &map);
	is_str("/mnt/my groups\\x/s", map.dir[CGROUP_UNIFIED], "octal escapes in point and root");
	cgroup_map_parse(V2("/mnt/a\\9z\\04", "/"), "0::/\n", &map);
	is_str("/mnt/a\\9z\\04", map.dir[CGROUP_UNIFIED], "what is no escape stands");
	cgroup_map_parse(V2("/mnt/a\\000b", "/"), "0::/\n", &map);
	is_str("/mnt/a\\000b", map.dir[CGROUP_UNIFIED], "an escaped NUL does not end the path");
	cgroup_map_parse("40 20 0:38 / / rw - cgroup2 cgroup2 rw\n", "0::/\n", &map);
	is_str("/", map.dir[CGROUP_UNIFIED], "mounted at /");
	cgroup_map_parse("40 20 0:38 / / rw - cgroup2 cgroup2 rw\n", "0::/x\n", &map);
	is_str("/x", map.dir[CGROUP_UNIFIED], "below a mount at /");
}

static void test_garbage(void)
{
	static const char *const bad[] = {
		"", "\n\n", " ", "40", "40 20 0:38 / /m rw", "40 20 0:38 / /m rw -", "40 20 0:38 / /m rw - cgroup2",
		"40 20 0:38 / /m rw - cgroup2 cgroup2", "40 20 0:38 / m rw - cgroup2 cgroup2 rw", "40 20 0:38 / /m rw - cgroup2x c rw",
	};
	static char far[3 * CGROUP_PATH_MAX], line[sizeof(far) + 100];

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		cgroup_map_parse(bad[i], "0::/\n", &map);
		is_str("", map.dir[CGROUP_UNIFIED], "broken mountinfo %zu names nothing", i);
	}
	cgroup_map_parse(V2("/m", "/"), "0:/\n0::x\n::\n:\n0:\n0::\n", &map);
	is_str("", map.dir[CGROUP_UNIFIED], "broken lines of /proc/self/cgroup");
	memset(far, 'a', sizeof(far) - 1);
	far[0] = '/';
	(void)snprintf(line, sizeof(line), "40 20 0:38 / %s rw - cgroup2 c rw\n", far);
	cgroup_map_parse(line, "0::/\n", &map);
	is_str("", map.dir[CGROUP_UNIFIED], "a mount point that is too long is left out");
	(void)snprintf(line, sizeof(line), "0::%s\n", far);
	cgroup_map_parse(V2("/m", "/"), line, &map);
	is_str("", map.dir[CGROUP_UNIFIED], "so is a path that is too long");
	far[CGROUP_PATH_MAX - 3] = '\0';
	(void)snprintf(line, sizeof(line), "0::%s\n", far);
	cgroup_map_parse(V2("/m", "/"), line, &map);
	is_int(CGROUP_PATH_MAX - 1, strlen(map.dir[CGROUP_UNIFIED]), "the longest path fits");
}

static void test_self_in(void)
{
	const char *self = "8:pids:/a/job\n4:cpu,cpuacct:/job\n1:name=memory:/job\n0::/u/job.scope\n";

	ok(cgroup_self_in(self, CGROUP_PIDS, "job"), "last part of the path");
	ok(cgroup_self_in(self, CGROUP_CPUACCT, "job"), "second of two controllers");
	ok(!cgroup_self_in(self, CGROUP_PIDS, "ob"), "not a part of a part");
	ok(!cgroup_self_in(self, CGROUP_PIDS, "a"), "not the parent");
	ok(!cgroup_self_in(self, CGROUP_MEMORY, "job"), "a named hierarchy is no controller");
	ok(cgroup_self_in(self, CGROUP_UNIFIED, "job.scope"), "unified");
	ok(!cgroup_self_in("", CGROUP_UNIFIED, "x"), "empty text");
	ok(!cgroup_self_in("0::/", CGROUP_UNIFIED, "x"), "top");
}

static void test_numbers(void)
{
	uint64_t v = 7;

	ok(cgroup_parse_u64("18446744073709551615", &v) && v == UINT64_MAX, "largest number");
	v = 7;
	ok(!cgroup_parse_u64("18446744073709551616", &v) && v == 7, "one more is refused");
	ok(cgroup_parse_u64("max\n", &v) && v == UINT64_MAX, "max");
	ok(cgroup_parse_u64("-1", &v) && v == UINT64_MAX, "-1 is version 1's max");
	ok(!cgroup_parse_u64("", &v) && !cgroup_parse_u64("x1", &v), "no number");
	ok(cgroup_parse_key("low 1\noom 2\noom_kill 34\noom_group_kill 1\n", "oom_kill", &v) && v == 34, "key of a line");
	ok(!cgroup_parse_key("xoom_kill 3\n", "oom_kill", &v), "only at the start of a line");
	ok(!cgroup_parse_key("oom_kill\n", "oom_kill", &v), "no value");
	ok(!cgroup_parse_key("oom_kill x\n", "oom_kill", &v), "no number as value");
	is_int(CGROUP_BIT(CGROUP_MEMORY) | CGROUP_BIT(CGROUP_PIDS) | CGROUP_BIT(CGROUP_CPU),
	       cgroup_parse_list("cpuset cpu io memory hugetlb pids rdma"), "list of controllers");
	is_int(0, cgroup_parse_list(""), "empty list");
	is_int(0, cgroup_parse_list("cpuset memoryx pid"), "only whole words");
}

static void test_quota(void)
{
	static const struct {
		uint32_t milli;
		uint64_t quota, period;
	} t[] = { { 1000, 100000, 100000 }, { 1500, 150000, 100000 }, { 10, 1000, 100000 }, { 9, 9000, 1000000 },
		  { 1, 1000, 1000000 }, { UINT32_MAX, 429496729500, 100000 } };

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		uint64_t quota, period;

		cgroup_quota(t[i].milli, &quota, &period);
		ok(quota == t[i].quota && period == t[i].period, "quota of %u thousandths", t[i].milli);
	}
}

static void test_names(void)
{
	static const char *const bad[] = {
		"", "smoljail", "smoljail-", "smoljail-1", "smoljail-1-2", "smoljail-1-2-", "smoljail-1-2-3x", "smoljail-1-2-3-4",
		"smoljail--1-2", "smoljail-1--2", "smoljail-0-2-3", "smoljail-2147483648-2-3", "xsmoljail-1-2-3",
		"smoljail-99999999999999999999-1-1", "smoljail- 1-2-3", "smoljail-1-2-3.scope",
	};
	uint64_t start = 0;
	pid_t pid = 0;

	ok(cgroup_parse_name("smoljail-2147483647-18446744073709551615-0", &pid, &start) && pid == 2147483647 &&
	   start == UINT64_MAX, "our names are read");
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		ok(!cgroup_parse_name(bad[i], &pid, &start), "\"%s\" is not ours", bad[i]);
}

int main(void)
{
	test_hybrid();
	test_comounted();
	test_sub_roots();
	test_namespaces();
	test_escapes();
	test_garbage();
	test_self_in();
	test_numbers();
	test_quota();
	test_names();
	return done();
}
