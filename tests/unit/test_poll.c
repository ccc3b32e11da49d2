/*
 * test_poll.c - sums over a tree of processes: hostile names, races, threads, shared pages
 *
 * Runs as: any user
 * Trusts: nothing
 * Never: leaves a process behind
 */
#include <ftw.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "jail/poll.c"
#include "tap.h"

#define MIB (1024u * 1024u)

static char top[] = "/tmp/smoljail-test-XXXXXX";

/* ---- one line of /proc/<pid>/stat ---------------------------------------------- */

#define TAIL " S 5 1 1 0 -1 4194560 100 200 0 0 11 22 33 44 20 0 3 0 987654 1 2 18446744073709551615 0\n"

static void test_stat(void)
{
	static const char *const names[] = {
		"(sh)", "(a b)", "())", "(x) R 1 1 1)", "(\n)", "(()", "() S 9 9 9 9 -1 1 1 1 1 1 1 1 1 1 1 1 1 1 7)",
	};
	static const char *const bad[] = {
		"", "42", "42 (sh", "42 (sh)", "42 (sh) ", "42 (sh) S", "42 (sh) S ", "42 (sh) S 5 1", "42 (sh) SS 5" TAIL,
		"0 (sh)" TAIL, "x (sh)" TAIL, "42 (sh) S x 1 1 0 -1 0 1 2 0 0 11 22 33 44 20 0 3 0 9\n",
	};
	struct poll_stat st = { .pid = 9 };
	char text[512];

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		(void)snprintf(text, sizeof(text), "42 %s" TAIL, names[i]);
		ok(poll_parse_stat(text, &st) && st.pid == 42 && st.ppid == 5 && st.threads == 3 && st.ticks == 110 && st.state == 'S' &&
		   st.start == 987654, "hostile name %zu", i);
	}
	st.pid = 9;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		ok(!poll_parse_stat(bad[i], &st) && st.pid == 9, "broken line %zu is refused, the output untouched", i);
}

/* ---- a made-up /proc ---------------------------------------------------------------- */

static void put(const char *text, const char *fmt, ...) _printf_(2, 3);
static void put(const char *text, const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list ap;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/", top);
	va_start(ap, fmt);
	(void)vsnprintf(path + strlen(path), 256, fmt, ap);
	va_end(ap);
	for (char *p = path + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		(void)mkdir(path, 0755);
		*p = '/';
	}
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		printf("Bail out! cannot write %s\n", path);
	close(fd);
}

/* children NULL: a kernel without that file. */
static void process(int pid, int ppid, int threads, int ticks, const char *statm, const char *children)
{
	char text[256];

	(void)snprintf(text, sizeof(text), "%d (x) S %d 1 1 0 -1 0 0 0 0 0 %d 0 0 0 20 0 %d 0 1 0 0\n", pid, ppid, ticks, threads);
	put(text, "%d/stat", pid);
	put(statm, "%d/statm", pid);
	put("", "%d/task/%d/comm", pid, pid);
	if (children)
		put(children, "%d/task/%d/children", pid, pid);
}

/* A memory file that is held by a descriptor and not mapped. */
static void test_memory_files(void)
{
	_cleanup_close_ int fd = memfd_create("held", MFD_CLOEXEC), proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int again = dup(fd);
	struct poll_files files = { 0 };

	if (fd < 0 || again < 0 || ftruncate(fd, 64 * MIB) < 0 || pwrite(fd, "x", 1, 0) != 1 || pwrite(fd, "x", 1, 32 * MIB) != 1)
		printf("Bail out! no memory file\n");
	poll_files_add(&files, proc, getpid());
	poll_files_add(&files, proc, getpid());
	is_int(2 * sysconf(_SC_PAGESIZE), files.bytes, "what it holds, not how long it is, and once");
	poll_files_add(&files, proc, 0);
	is_int(1, files.n, "a process that is not there");
}

static int remove_any(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int proc_begin(void)
{
	(void)snprintf(top, sizeof(top), "/tmp/smoljail-test-XXXXXX");
	if (!mkdtemp(top))
		printf("Bail out! no temporary folder\n");
	return open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static void proc_end(int proc)
{
	close(proc);
	(void)nftw(top, remove_any, 16, FTW_DEPTH | FTW_PHYS);
}

static void test_tree(bool with_children)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), memory = 0, cpu = 0, tick = 1000000u / (uint64_t)sysconf(_SC_CLK_TCK);
	uint32_t tasks = 0;
	int proc = proc_begin();

	process(10, 1, 1, 1, "100 10 5 0 0 0 0", with_children ? "11 12 " : NULL);
	process(11, 10, 2, 2, "100 20 5 0 0 0 0", with_children ? "" : NULL);
	process(12, 10, 1, 4, "100 30 5 0 0 0 0", with_children ? "999 " : NULL);	/* gone meanwhile */
	process(13, 11, 1, 8, "0 0 0 0 0 0 0", with_children ? "" : NULL);
	if (with_children)
		put("13 ", "11/task/15/children");	/* made by its second thread */
	process(14, 1, 1, 64, "100 90 5 0 0 0 0", with_children ? "" : NULL);	/* somebody else's */
	is_int(0, sample_at(proc, 10, 0, 0, &memory, &cpu, &tasks), "tree, %s children files", with_children ? "with" : "without");
	is_int(60 * page, memory, "memory of the descendants and of no other");
	is_int(15 * tick, cpu, "their CPU time");
	is_int(5, tasks, "their threads");
	is_int(-ESRCH, sample_at(proc, 77, 0, 0, &memory, &cpu, &tasks), "no such process");
	proc_end(proc);
}

static void test_pss(void)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), memory = 0, cpu;
	uint32_t tasks;
	int proc = proc_begin();
	struct member members[] = { { .pid = 10, .rss = 50 * page }, { .pid = 11, .rss = 50 * page }, { 0 } };
	const struct walk w = { .proc = proc, .members = members, .n = ARRAY_LEN(members) };

	process(10, 1, 1, 1, "100 50 5 0 0 0 0", "11 ");
	process(11, 10, 1, 2, "100 50 5 0 0 0 0", "");
	put("1-2 ---p 0 0 0 [rollup]\nRss: 200 kB\nPss: 110 kB\nPss_Dirty: 9 kB\nPss_Anon:  60 kB\nPss_File: 30 kB\n"
	    "Pss_Shmem: 20 kB\n", "10/smaps_rollup");
	(void)sample_at(proc, 10, 100 * page, 0, &memory, &cpu, &tasks);
	is_int(100 * page, memory, "at the limit: RSS");
	(void)sample_at(proc, 10, 99 * page, 0, &memory, &cpu, &tasks);
	is_int(110 * 1024 + 50 * page, memory, "over it: PSS, and RSS where there is none");
	(void)sample_at(proc, 10, 99 * page, 15 * 1024, &memory, &cpu, &tasks);
	is_int(110 * 1024 + 50 * page, memory, "files that are mapped count once");
	(void)sample_at(proc, 10, 99 * page, 1024 * 1024, &memory, &cpu, &tasks);
	is_int(90 * 1024 + 50 * page + 1024 * 1024, memory, "files beyond what is mapped count too");
	(void)sample_at(proc, 10, 0, 4096, &memory, &cpu, &tasks);
	is_int(100 * page + 4096, memory, "no limit: the quick sum");
	members[2] = (struct member){ .pid = 12, .rss = 50 * page };
	is_int(110 * 1024 + 50 * page, proportional(&w, 0), "a process that has just ended has no pages");
	proc_end(proc);
}

/* A list that is longer than one read, and one that never ends. */
static void test_many(void)
{
	enum { MANY = 2000 };
	_cleanup_free_ char *list = malloc(POLL_TASKS_MAX * 8 + 100000);
	uint64_t memory, cpu;
	uint32_t tasks = 0;
	size_t n = 0;
	int proc = proc_begin();

	for (int i = 0; i < MANY; i++) {
		n += (size_t)sprintf(list + n, "%d ", 1000 + i);
		process(1000 + i, 10, 1, 0, "1 1 1 0 0 0 0", "");
	}
	process(10, 1, 1, 1, "1 1 1 0 0 0 0", list);
	is_int(0, sample_at(proc, 10, 0, 0, &memory, &cpu, &tasks), "many children");
	is_int(MANY + 1, tasks, "numbers that are cut between two reads are whole");
	for (n = 0; n < POLL_TASKS_MAX * 8 + 90000;)
		n += (size_t)sprintf(list + n, "%d ", 1000000);
	process(10, 1, 1, 1, "1 1 1 0 0 0 0", list);
	is_int(0, sample_at(proc, 10, 0, 0, &memory, &cpu, &tasks), "more children than are looked at");
	process(10, 1, 1, 1, "1 1 1 0 0 0 0", "10 10 10 99999999999999999999 x-3 ");
	is_int(0, sample_at(proc, 10, 0, 0, &memory, &cpu, &tasks), "a list that makes no sense ends");
	proc_end(proc);
}

/* ---- this kernel -------------------------------------------------------------------- */

static void *idle(void *arg)
{
	(void)arg;
	pause();
	return NULL;
}

static void burn(clock_t ticks)
{
	clock_t start = clock();

	while (clock() - start < ticks)
		;
}

/* Two threads, 32 MiB shared with a child, which has 8 MiB of its own, a burnt and reaped grandchild, and a bad name. */
static void family(int ready)
{
	char *shared = mmap(NULL, 32 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_t t;
	pid_t pid;

	memset(shared, 1, 32 * MIB);
	pid = fork();
	if (pid == 0) {
		char *own = malloc(8 * MIB);

		(void)prctl(PR_SET_NAME, "x) R 1 1 (");
		memset(own, 1, 8 * MIB);
		for (size_t i = 0; i < 32 * MIB; i += 4096)
			own[0] = (char)(own[0] + shared[i]);
		pid = fork();
		if (pid == 0) {
			burn(CLOCKS_PER_SEC / 4);
			_exit(0);
		}
		(void)waitpid(pid, NULL, 0);
		if (write(ready, "", 1) == 1)
			pause();
		_exit(own[0]);
	}
	(void)pthread_create(&t, NULL, idle, NULL);
	if (write(ready, "", 1) == 1)
		pause();
	_exit(0);
}

static void test_live(void)
{
	uint64_t rss = 0, pss = 0, cpu = 0;
	uint32_t tasks = 0;
	int ready[2];
	char c;
	pid_t pid, child;

	if (pipe(ready) < 0)
		return;
	pid = fork();
	if (pid == 0) {
		(void)setpgid(0, 0);
		family(ready[1]);
	}
	for (int i = 0; i < 2; i++)
		if (read(ready[0], &c, 1) != 1)
			break;
	is_int(0, poll_sample(pid, 0, 0, &rss, &cpu, &tasks), "a real family");
	is_int(3, tasks, "three threads in two processes, in spite of the name");
	/* Kernels keep this number in batches; some pages may be missing. */
	ok(rss >= 70 * MIB, "RSS counts shared pages twice");
	ok(cpu >= 200000, "CPU time of a reaped grandchild counts");
	is_int(0, poll_sample(pid, 1, 0, &pss, &cpu, &tasks), "the same with PSS");
	ok(pss >= 40 * MIB && pss + 24 * MIB < rss, "PSS counts shared pages once");
	child = (pid_t)getpgid(pid);
	(void)kill(-child, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	is_int(-ESRCH, poll_sample(pid, 0, 0, &rss, &cpu, &tasks), "gone");
	close(ready[0]);
	close(ready[1]);
}

int main(void)
{
	test_stat();
	test_tree(true);
	test_tree(false);
	test_pss();
	test_memory_files();
	test_many();
	test_live();
	return done();
}
