/*
 * fake_cgroup.h - a kernel's control groups in a temporary folder
 *
 * Includes the real files with four calls replaced, so that mkdir fills a new
 * group with files, rmdir refuses one that has processes, and writes do what the
 * kernel would. Mounts: /cg1/<controllers> (version 1) and /cg2 (version 2).
 * Only the rules that the code under test depends on are here.
 */
#ifndef SMOLJAIL_TESTS_FAKE_CGROUP_H
#define SMOLJAIL_TESTS_FAKE_CGROUP_H

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/magic.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "tap.h"

static int fake_mkdirat(int dir, const char *name, mode_t mode);
static int fake_unlinkat(int dir, const char *name, int flags);
static ssize_t fake_write(int fd, const void *data, size_t len);
static int fake_fstatfs(int fd, struct statfs *fs);

#define mkdirat fake_mkdirat
#define unlinkat fake_unlinkat
#define write fake_write
#define fstatfs fake_fstatfs
#include "jail/cgroup_v1.c"
#include "jail/cgroup_v2.c"
#include "jail/cgroup_dir.c"
#include "jail/cgroup_find.c"
#include "jail/cgroup.c"
#include "jail/scope.c"
#undef mkdirat
#undef unlinkat
#undef write
#undef fstatfs

#define FAKE_PID 4242
#define FAKE_START 777

/* What goes wrong on purpose: the last part of a path, and the answer. */
static struct {
	char top[64];
	const char *deny_mkdir;	/* parent's path holds this: */
	int deny_error;
	const char *deny_write;	/* file's path holds this: */
	int deny_write_error;
	const char *lie;	/* file that takes "max" whatever is written */
	const char *absent;	/* file that new groups lack */
	unsigned int mkdirs, busy;	/* busy: rmdir refusals to come */
} fake;

/* ---- paths and files --------------------------------------------------------- */

static void fake_path(int dir, const char *name, char ret[PATH_MAX])
{
	char link[64], base[PATH_MAX];
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
	n = readlink(link, base, sizeof(base) - 1);
	base[n > 0 ? n : 0] = '\0';
	if (str_prefix(name, "../")) {
		*strrchr(base, '/') = '\0';
		name += 3;
	}
	(void)snprintf(ret, PATH_MAX, "%.3000s%s%.1000s", base, *name ? "/" : "", name);
}

static void put_file(const char *text, const char *fmt, ...) _printf_(2, 3);
static void put_file(const char *text, const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list ap;
	int fd;

	va_start(ap, fmt);
	(void)vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		printf("Bail out! cannot write %s\n", path);
	close(fd);
}

static const char *get_file(const char *fmt, ...) _printf_(1, 2);
static const char *get_file(const char *fmt, ...)
{
	static char text[8][1024];
	static unsigned int turn;
	char path[PATH_MAX], *ret = text[turn++ % 8];
	va_list ap;
	ssize_t n;
	int fd;

	va_start(ap, fmt);
	(void)vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, ret, sizeof(text[0]) - 1);
	if (fd >= 0)
		close(fd);
	if (n < 0)
		return "(none)";
	ret[n] = '\0';
	while (n > 0 && ret[n - 1] == '\n')
		ret[--n] = '\0';
	return ret;
}

static bool exists(const char *fmt, ...) _printf_(1, 2);
static bool exists(const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	return access(path, F_OK) == 0;
}

/* ---- what the kernel does ------------------------------------------------------- */

static void new_file(const char *group, const char *file, const char *text)
{
	if (!fake.absent || strcmp(fake.absent, file) != 0)
		put_file(text, "%s/%s", group, file);
}

static void fill_v2(const char *group, const char *ctls)
{
	if (strstr(ctls, "memory")) {
		new_file(group, "memory.max", "max\n");
		new_file(group, "memory.swap.max", "max\n");
		new_file(group, "memory.oom.group", "0\n");
		new_file(group, "memory.peak", "12288\n");
		new_file(group, "memory.current", "8192\n");
		new_file(group, "memory.events", "low 0\nhigh 0\nmax 9\noom 2\noom_kill 1\noom_group_kill 1\n");
	}
	if (strstr(ctls, "pids")) {
		new_file(group, "pids.max", "max\n");
		new_file(group, "pids.peak", "5\n");
		new_file(group, "pids.current", "3\n");
		new_file(group, "pids.events", "max 4\n");
	}
	if (strstr(ctls, "cpu"))
		new_file(group, "cpu.max", "max 100000\n");
}

static void fill_v1(const char *group)
{
	const char *ctls = strstr(group, "/cg1/");

	new_file(group, "cgroup.procs", "");
	new_file(group, "tasks", "");
	if (strstr(ctls, "memory")) {
		new_file(group, "memory.limit_in_bytes", "9223372036854771712\n");
		new_file(group, "memory.memsw.limit_in_bytes", "9223372036854771712\n");
		new_file(group, "memory.swappiness", "60\n");
		new_file(group, "memory.max_usage_in_bytes", "20480\n");
		new_file(group, "memory.failcnt", "2\n");
		new_file(group, "memory.memsw.failcnt", "3\n");
		new_file(group, "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 6\n");
	}
	if (strstr(ctls, "pids")) {
		new_file(group, "pids.max", "max\n");
		new_file(group, "pids.peak", "5\n");
		new_file(group, "pids.current", "3\n");
		new_file(group, "pids.events", "max 4\n");
	}
	if (strstr(ctls, "cpu/") || strstr(ctls, "cpu,")) {
		new_file(group, "cpu.cfs_quota_us", "-1\n");
		new_file(group, "cpu.cfs_period_us", "100000\n");
	}
	if (strstr(ctls, "cpuacct")) {
		new_file(group, "cpuacct.usage", "8000000\n");
		new_file(group, "cpuacct.usage_user", "3000000\n");
		new_file(group, "cpuacct.usage_sys", "1000000\n");
		new_file(group, "cpuacct.stat", "user 1\nsystem 1\n");
	}
}

static int fake_mkdirat(int dir, const char *name, mode_t mode)
{
	char path[PATH_MAX], parent[PATH_MAX];

	fake_path(dir, name, path);
	fake_path(dir, "", parent);
	if (fake.deny_mkdir && strstr(parent, fake.deny_mkdir)) {
		errno = fake.deny_error;
		return -1;
	}
	if (mkdir(path, mode) < 0)
		return -1;
	fake.mkdirs++;
	if (strstr(path, "/cg1/")) {
		fill_v1(path);
		return 0;
	}
	put_file("", "%s/cgroup.procs", path);
	put_file(get_file("%s/cgroup.subtree_control", parent), "%s/cgroup.controllers", path);
	put_file("", "%s/cgroup.subtree_control", path);
	put_file("usage_usec 900\nuser_usec 600\nsystem_usec 300\n", "%s/cpu.stat", path);
	put_file("", "%s/cgroup.kill", path);
	fill_v2(path, get_file("%s/cgroup.subtree_control", parent));
	return 0;
}

/* Every directory below, or every file in it. */
static void each(const char *path, bool dirs, void (*fn)(const char *path, const char *arg), const char *arg)
{
	DIR *d = opendir(path);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		char full[PATH_MAX];

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 || (e->d_type == DT_DIR) != dirs)
			continue;
		(void)snprintf(full, sizeof(full), "%.3000s/%.255s", path, e->d_name);
		fn(full, arg);
	}
	if (d)
		closedir(d);
}

static void count_one(const char *path, const char *arg)
{
	(void)path;
	++*(unsigned int *)(uintptr_t)arg;
}

static void remove_file(const char *path, const char *arg)
{
	(void)arg;
	(void)unlink(path);
}

static int fake_unlinkat(int dir, const char *name, int flags)
{
	char path[PATH_MAX];
	unsigned int below = 0;

	fake_path(dir, name, path);
	each(path, true, count_one, (const char *)&below);
	if (get_file("%s/cgroup.procs", path)[0] != '(' && (get_file("%s/cgroup.procs", path)[0] || below)) {
		errno = EBUSY;
		return -1;
	}
	if (fake.busy > 0) {
		fake.busy--;
		errno = EBUSY;
		return -1;
	}
	(void)flags;
	each(path, false, remove_file, NULL);
	return rmdir(path);
}

static void fill_child(const char *path, const char *ctls)
{
	fill_v2(path, ctls);
}

static void drop_controller_files(const char *path, const char *arg)
{
	const char *last = strrchr(path, '/') + 1;

	(void)arg;
	if (str_prefix(last, "memory.") || str_prefix(last, "pids.") || strcmp(last, "cpu.max") == 0)
		(void)unlink(path);
}

static void empty_child(const char *path, const char *ctls)
{
	each(path, false, drop_controller_files, ctls);
}

/* No processes in a group that gives controllers away, unless it is the top of all. */
static int write_subtree(const char *group, const char *text)
{
	const char *on = get_file("%s/cgroup.subtree_control", group);
	char now[1536];

	if (text[0] == '-') {
		put_file("", "%s/cgroup.subtree_control", group);
		each(group, true, empty_child, "");
		return 0;
	}
	if (get_file("%s/cgroup.procs", group)[0] && !exists("%s/top", group))
		return EBUSY;
	(void)snprintf(now, sizeof(now), "%s %s", on, text);
	for (char *p = now; *p; p++)
		if (*p == '+')
			*p = ' ';
	put_file(now, "%s/cgroup.subtree_control", group);
	each(group, true, fill_child, now);
	return 0;
}

static int write_procs(const char *group, const char *pid)
{
	const char *place = strstr(group, "/cg2") + 4;
	char line[PATH_MAX];

	if (strstr(group, "/cg1/"))
		return 0;
	if (get_file("%s/cgroup.subtree_control", group)[0] && !exists("%s/top", group))
		return EBUSY;
	/* One process is enough for the tests: it leaves its old group, which says nothing else. */
	(void)snprintf(line, sizeof(line), "0::%s\n", *place ? place : "/");
	if (strcmp(pid, "4242") == 0) {
		char old[PATH_MAX] = "";

		(void)sscanf(get_file("%s/proc/self/cgroup", fake.top), "0::%4000s", old);
		if (exists("%s/root/cg2%s/cgroup.procs", fake.top, old))
			put_file("", "%s/root/cg2%s/cgroup.procs", fake.top, old);
		put_file(line, "%s/proc/self/cgroup", fake.top);
	}
	put_file(line, "%s/proc/%s/cgroup", fake.top, pid);
	put_file(pid, "%s/cgroup.procs", group);
	return 0;
}

static ssize_t fake_write(int fd, const void *data, size_t len)
{
	char path[PATH_MAX], text[256], *file;
	int error = 0;

	fake_path(fd, "", path);
	(void)snprintf(text, sizeof(text), "%.*s", (int)len, (const char *)data);
	file = strrchr(path, '/');
	if (fake.deny_write && strstr(path, fake.deny_write)) {
		errno = fake.deny_write_error;
		return -1;
	}
	*file++ = '\0';
	if (strcmp(file, "cgroup.procs") == 0)
		error = write_procs(path, text);
	else if (strcmp(file, "cgroup.subtree_control") == 0)
		error = write_subtree(path, text);
	else if (fake.lie && strcmp(file, fake.lie) == 0)
		put_file("max\n", "%s/%s", path, file);
	else {
		char line[300];

		(void)snprintf(line, sizeof(line), "%s\n", text);
		put_file(line, "%s/%s", path, file);
	}
	errno = error;
	return error ? -1 : (ssize_t)len;
}

static int fake_fstatfs(int fd, struct statfs *fs)
{
	char path[PATH_MAX];

	fake_path(fd, "", path);
	if (fstatfs(fd, fs) < 0)
		return -1;
	if (strstr(path, "/cg1/"))
		fs->f_type = CGROUP_SUPER_MAGIC;
	if (strstr(path, "/cg2"))
		fs->f_type = CGROUP2_SUPER_MAGIC;
	return 0;
}

/* ---- the world of one test ---------------------------------------------------------- */

static void make_dirs(const char *fmt, ...) _printf_(1, 2);
static void make_dirs(const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	for (char *p = path + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		(void)mkdir(path, 0755);
		*p = '/';
	}
	(void)mkdir(path, 0755);
}

static void fake_process(const char *who, int pid, unsigned long start)
{
	char text[256];

	make_dirs("%s/proc/%s", fake.top, who);
	(void)snprintf(text, sizeof(text), "%d (smol (x) 1) S 1 1 1 0 -1 0 0 0 0 0 1 2 3 4 20 0 1 0 %lu 0 0\n", pid, start);
	put_file(text, "%s/proc/%s/stat", fake.top, who);
}

/* self: text of /proc/self/cgroup. The supervisor is process 4242, started at tick 777. */
static void fake_begin(const char *mountinfo, const char *self)
{
	memset(&fake, 0, sizeof(fake));
	(void)snprintf(fake.top, sizeof(fake.top), "/tmp/smoljail-test-XXXXXX");
	if (!mkdtemp(fake.top))
		printf("Bail out! no temporary folder\n");
	make_dirs("%s/root", fake.top);
	fake_process("self", FAKE_PID, FAKE_START);
	fake_process("4242", FAKE_PID, FAKE_START);
	put_file(mountinfo, "%s/proc/self/mountinfo", fake.top);
	put_file(self, "%s/proc/self/cgroup", fake.top);
	put_file(self, "%s/proc/4242/cgroup", fake.top);
}

/* A group of version 2 as somebody has set it up. */
static void fake_v2(const char *place, const char *ctls, const char *subtree, const char *procs)
{
	make_dirs("%s/root/cg2%s", fake.top, place);
	put_file(ctls, "%s/root/cg2%s/cgroup.controllers", fake.top, place);
	put_file(subtree, "%s/root/cg2%s/cgroup.subtree_control", fake.top, place);
	put_file(procs, "%s/root/cg2%s/cgroup.procs", fake.top, place);
}

static int fake_open(const struct jail_limits *l, struct cgroup **ret, struct sj_err *err)
{
	struct cgroup_env env = { .pid = FAKE_PID };
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/root", fake.top);
	env.root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	(void)snprintf(path, sizeof(path), "%s/proc", fake.top);
	env.proc = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return cgroup_open_at(&env, l, ret, err);
}

_unused_ static unsigned int fake_groups(const char *place)
{
	unsigned int n = 0;
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/root%s", fake.top, place);
	each(path, true, count_one, (const char *)&n);
	return n;
}

static int remove_any(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void fake_end(void)
{
	(void)nftw(fake.top, remove_any, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
