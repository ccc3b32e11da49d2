/*
 * poll.c - what a jail uses, added up from /proc, where no control group counts it
 *
 * Runs as: the supervisor, which sees the jail's processes under the host's ids
 * Trusts: the kernel's numbers; never the names that processes gave themselves
 * Never: looks at more than POLL_TASKS_MAX tasks, or fails because a process has just gone
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jail/cgroup_internal.h"

#define POLL_TASKS_MAX 32768u
#define POLL_CHUNK 4096
#define POLL_STAT_FIELDS 20	/* the last one needed after the name: start time */

/* The fields after the name, counted from the state (field 3 of proc(5)). */
enum { STAT_PPID = 1, STAT_UTIME = 11, STAT_STIME, STAT_CUTIME, STAT_CSTIME, STAT_THREADS = 17, STAT_START = 19 };

/* ---- parsing ----------------------------------------------------------------- */

/* A process may call itself "x) R 1 2 3": what counts is behind the last parenthesis. */
bool poll_parse_stat(const char *text, struct poll_stat *ret)
{
	const char *p = strrchr(text, ')');
	long long v[POLL_STAT_FIELDS] = { 0 };
	long pid = strtol(text, NULL, 10);
	char *end, state;

	if (!p || p[1] != ' ' || p[2] == '\0' || p[3] != ' ' || pid <= 0 || pid > INT_MAX)
		return false;
	state = p[2];
	p += 3;
	for (size_t i = 1; i < POLL_STAT_FIELDS; i++) {
		v[i] = strtoll(p, &end, 10);
		if (end == p)
			return false;
		p = end;
	}
	if (v[STAT_PPID] < 0 || v[STAT_PPID] > INT_MAX)
		return false;
	ret->pid = (pid_t)pid;
	ret->ppid = (pid_t)v[STAT_PPID];
	ret->state = state;
	ret->threads = v[STAT_THREADS] > 0 ? (uint32_t)v[STAT_THREADS] : 0;
	ret->start = (uint64_t)v[STAT_START];
	ret->ticks = 0;
	for (size_t i = STAT_UTIME; i <= STAT_CSTIME; i++)
		ret->ticks += v[i] > 0 ? (uint64_t)v[i] : 0;
	return true;
}

/* ---- the walk ------------------------------------------------------------------ */

struct member {
	pid_t pid;
	uint64_t rss;
};

struct link {
	pid_t pid, ppid;
};

struct walk {
	int proc;
	struct member *members;	/* found so far; the walk is over when all were visited */
	size_t n;
	struct link *links;	/* every process of the host, by parent: only without `children` files */
	size_t n_links;
	uint64_t memory, ticks;
	uint32_t tasks;
};

static int read_file(const struct walk *w, pid_t pid, const char *file, char *ret, size_t len)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "%d/%s", (int)pid, file);
	return cgroup_get(w->proc, path, ret, len);
}

static bool exists(const struct walk *w, pid_t pid)
{
	char path[24];

	(void)snprintf(path, sizeof(path), "%d", (int)pid);
	return faccessat(w->proc, path, F_OK, 0) == 0;
}

static void add(struct walk *w, pid_t pid)
{
	if (pid > 0 && w->n < POLL_TASKS_MAX)
		w->members[w->n++] = (struct member){ .pid = pid };
}

/* "123 456 ": numbers that may be cut by the end of a chunk. */
static int add_children_of(struct walk *w, pid_t pid, pid_t task)
{
	char path[64], chunk[POLL_CHUNK];
	_cleanup_close_ int fd = -1;
	pid_t number = 0;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "%d/task/%d/children", (int)pid, (int)task);
	fd = openat(w->proc, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while (w->n < POLL_TASKS_MAX && (n = read(fd, chunk, sizeof(chunk))) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			if (chunk[i] >= '0' && chunk[i] <= '9' && number < 100000000) {
				number = number * 10 + (chunk[i] - '0');
			} else {
				add(w, number);
				number = 0;
			}
		}
	}
	add(w, number);
	return 0;
}

/* Children belong to the thread that made them. */
static void add_children_of_threads(struct walk *w, pid_t pid)
{
	char path[32];
	struct dirent *d;
	DIR *dir;
	int fd;

	(void)snprintf(path, sizeof(path), "%d/task", (int)pid);
	fd = openat(w->proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		base_closep(&fd);
		return;
	}
	for (size_t i = 0; i < POLL_TASKS_MAX && (d = readdir(dir)); i++)
		if (d->d_name[0] >= '1' && d->d_name[0] <= '9')
			(void)add_children_of(w, pid, (pid_t)strtol(d->d_name, NULL, 10));
	closedir(dir);
}

static int by_parent(const void *a, const void *b)
{
	pid_t x = ((const struct link *)a)->ppid, y = ((const struct link *)b)->ppid;

	return x < y ? -1 : x > y;
}

/* First of the links with this parent, by halving. */
static void add_children_from_links(struct walk *w, pid_t pid)
{
	size_t low = 0, high = w->n_links;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (w->links[mid].ppid < pid)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < w->n_links && w->links[low].ppid == pid; low++)
		add(w, w->links[low].pid);
}

/* Kernels without CONFIG_PROC_CHILDREN: ask every process for its parent. */
static int scan_links(struct walk *w)
{
	char text[CGROUP_FILE_MAX];
	struct poll_stat st;
	struct dirent *d;
	int fd = openat(w->proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir) {
		base_closep(&fd);
		return -errno;
	}
	w->links = malloc(POLL_TASKS_MAX * sizeof(*w->links));
	while (w->links && w->n_links < POLL_TASKS_MAX && (d = readdir(dir))) {
		pid_t pid = (pid_t)strtol(d->d_name, NULL, 10);

		if (pid > 0 && read_file(w, pid, "stat", text, sizeof(text)) == 0 && poll_parse_stat(text, &st))
			w->links[w->n_links++] = (struct link){ .pid = pid, .ppid = st.ppid };
	}
	closedir(dir);
	if (!w->links)
		return -ENOMEM;
	qsort(w->links, w->n_links, sizeof(*w->links), by_parent);
	return 0;
}

/* ---- adding up ------------------------------------------------------------------ */

static uint64_t resident(const struct walk *w, pid_t pid)
{
	char text[CGROUP_FILE_MAX];
	unsigned long long size, rss;

	if (read_file(w, pid, "statm", text, sizeof(text)) < 0 || sscanf(text, "%llu %llu", &size, &rss) != 2)
		return 0;
	return rss * (uint64_t)sysconf(_SC_PAGESIZE);
}

static bool visit(struct walk *w, struct member *m)
{
	char text[CGROUP_FILE_MAX];
	struct poll_stat st;

	if (read_file(w, m->pid, "stat", text, sizeof(text)) < 0 || !poll_parse_stat(text, &st))
		return false;
	m->rss = resident(w, m->pid);
	w->memory += m->rss;
	w->ticks += st.ticks;
	w->tasks += st.threads ? st.threads : 1;
	if (w->links)
		add_children_from_links(w, m->pid);
	else if (st.threads > 1)
		add_children_of_threads(w, m->pid);
	else
		(void)add_children_of(w, m->pid, m->pid);
	return true;
}

static bool field_kib(const char *text, const char *name, uint64_t *ret)
{
	const char *line = strstr(text, name);
	unsigned long long kib;

	if (!line || sscanf(line + strlen(name), " %llu", &kib) != 1)
		return false;
	*ret += kib * 1024;
	return true;
}

/*
 * Pages that processes share count once, and those of a file that is also
 * mapped do not count again. Where PSS may not be read, RSS stands: too much,
 * never too little. But a process that has ended meanwhile has none of either.
 */
static uint64_t proportional(const struct walk *w, uint64_t in_files)
{
	char text[CGROUP_FILE_MAX];
	uint64_t own = 0, shared = 0;

	for (size_t i = 0; i < w->n; i++) {
		int r = w->members[i].rss ? read_file(w, w->members[i].pid, "smaps_rollup", text, sizeof(text)) : -ESRCH;

		if (r == -ESRCH || (r == -ENOENT && !exists(w, w->members[i].pid)))
			continue;
		if (r < 0 || !field_kib(text, "\nPss_Anon:", &own) || !field_kib(text, "\nPss_File:", &own) ||
		    !field_kib(text, "\nPss_Shmem:", &shared))
			own += w->members[i].rss;
	}
	return own + (shared > in_files ? shared : in_files);
}

static uint64_t memory_files(const struct walk *w)
{
	struct poll_files files = { 0 };

	for (size_t i = 0; i < w->n; i++)
		if (w->members[i].rss)
			poll_files_add(&files, w->proc, w->members[i].pid);
	return files.bytes;
}

static uint64_t total_memory(const struct walk *w, uint64_t limit, uint64_t in_folders)
{
	uint64_t in_files = in_folders + memory_files(w), quick = w->memory + in_files;

	return limit && quick > limit ? proportional(w, in_files) : quick;
}

static int walk_from(struct walk *w, pid_t init)
{
	int r;

	w->members = malloc(POLL_TASKS_MAX * sizeof(*w->members));
	if (!w->members)
		return -ENOMEM;
	if (add_children_of(w, init, init) == -ENOENT) {
		r = scan_links(w);
		if (r < 0)
			return r;
	}
	w->n = 0;
	add(w, init);
	if (!visit(w, &w->members[0]))
		return -ESRCH;
	for (size_t i = 1; i < w->n && w->tasks < POLL_TASKS_MAX; i++)
		(void)visit(w, &w->members[i]);
	return 0;
}

static int sample_at(int proc, pid_t init, uint64_t limit, uint64_t in_folders, uint64_t *ret_memory,
		     uint64_t *ret_cpu_us, uint32_t *ret_tasks)
{
	struct walk w = { .proc = proc };
	int r = walk_from(&w, init);

	if (r == 0) {
		*ret_memory = total_memory(&w, limit, in_folders);
		*ret_cpu_us = w.ticks * (1000000u / (uint64_t)sysconf(_SC_CLK_TCK));
		*ret_tasks = w.tasks;
	}
	free(w.members);
	free(w.links);
	return r;
}

int poll_sample(pid_t init, uint64_t limit, uint64_t in_folders, uint64_t *ret_memory, uint64_t *ret_cpu_us,
		uint32_t *ret_tasks)
{
	_cleanup_close_ int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return proc < 0 ? -errno : sample_at(proc, init, limit, in_folders, ret_memory, ret_cpu_us, ret_tasks);
}
