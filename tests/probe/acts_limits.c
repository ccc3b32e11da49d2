/*
 * acts_limits.c - bombs and floods: each runs into one limit of the jail
 *
 * Runs as: an untrusted program inside a jail
 * Trusts: nothing
 * Never: runs without a bound of its own, in case a limit is missing
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "probe.h"

#define MIB (1u << 20)
#define BOMB_MAX 4096	/* MiB or processes: far past any limit of a test */

static int act_mem(char **args)
{
	(void)args;
	for (int i = 0; i < BOMB_MAX; i++) {
		char *p = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED)
			return -errno;
		memset(p, 1, MIB);
	}
	return 0;
}

static int fill(int fd)
{
	static char block[MIB];

	if (fd < 0)
		return -errno;
	memset(block, 1, sizeof(block));
	for (int i = 0; i < BOMB_MAX; i++)
		if (write(fd, block, sizeof(block)) < 0)
			return -errno;
	return 0;
}

static int act_fill(char **args)
{
	return fill(open(args[0], O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

/* Several files, so that the limit of one file is not the one that is met. */
static int act_fill_many(char **args)
{
	static char block[MIB];
	char path[256];

	memset(block, 1, sizeof(block));
	for (int i = 0; i < BOMB_MAX; i++) {
		int fd;

		snprintf(path, sizeof(path), "%s/fill-%d", args[0], i);
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		if (fd < 0 || write(fd, block, sizeof(block)) != (ssize_t)sizeof(block))
			return -(errno ? errno : ENOSPC);
		close(fd);
	}
	return 0;
}

static int act_inodes(char **args)
{
	char path[256];
	long n;

	for (n = 0; n < 1000000; n++) {
		int fd;

		snprintf(path, sizeof(path), "%s/i-%ld", args[0], n);
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		if (fd < 0)
			return -errno;
		close(fd);
	}
	return 0;
}

static int act_memfd_fill(char **args)
{
	(void)args;
	return fill(memfd_create("fill", MFD_CLOEXEC));
}

static int act_forks(char **args)
{
	int n = 0;

	(void)args;
	for (; n < BOMB_MAX; n++) {
		pid_t pid = fork();

		if (pid < 0)
			break;
		if (pid == 0) {
			sleep(30);
			_exit(0);
		}
	}
	printf("%d %s\n", n, n < BOMB_MAX ? strerrorname_np(errno) : "none");
	return PROBE_PRINTED;
}

static void *sleeper(void *arg)
{
	sleep(30);
	return arg;
}

static int act_threads(char **args)
{
	pthread_attr_t attr;
	pthread_t t;
	int n = 0, r = 0;

	(void)args;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	while (n < BOMB_MAX && (r = pthread_create(&t, &attr, sleeper, NULL)) == 0)
		n++;
	printf("%d %s\n", n, r ? strerrorname_np(r) : "none");
	return PROBE_PRINTED;
}

/* Children that fork again, none waits: bounded by time, not by count. */
static int act_fork_bomb(char **args)
{
	time_t end = time(NULL) + 20;

	(void)args;
	while (time(NULL) < end)
		(void)fork();
	return 0;
}

static int act_open_files(char **args)
{
	int n = 0;

	(void)args;
	while (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0)
		n++;
	printf("%d %s\n", n + 3, strerrorname_np(errno));
	return PROBE_PRINTED;
}

static int act_raise_limits(char **args)
{
	struct rlimit now, want;

	(void)args;
	for (int r = 0; r < RLIM_NLIMITS; r++) {
		if (getrlimit(r, &now) < 0 || now.rlim_max == RLIM_INFINITY)
			continue;
		want = now;
		want.rlim_max = now.rlim_max + 1;
		if (setrlimit(r, &want) == 0) {
			printf("raised %d\n", r);
			return PROBE_PRINTED;
		}
	}
	puts("none");
	return PROBE_PRINTED;
}

static int act_core(char **args)
{
	struct rlimit r;

	(void)args;
	getrlimit(RLIMIT_CORE, &r);
	printf("%llu\n", (unsigned long long)r.rlim_max);
	return PROBE_PRINTED;
}

static int act_stop_self(char **args)
{
	(void)args;
	return raise(SIGSTOP) ? -errno : 0;
}

static int act_segv(char **args)
{
	(void)args;
	signal(SIGSEGV, SIG_DFL);
	raise(SIGSEGV);
	return 0;
}

/* A grandchild in a session of its own that would outlive its parents. */
static int act_daemon(char **args)
{
	pid_t pid = fork();

	(void)args;
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		setsid();
		if (fork() == 0)
			for (;;)
				pause();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	return 0;
}

static int act_ignore_term(char **args)
{
	(void)args;
	for (int sig = 1; sig < 65; sig++)
		signal(sig, SIG_IGN);
	puts("ready");
	fflush(stdout);
	for (int i = 0; i < 60; i++)
		sleep(1);
	return 0;
}

static int act_pipes(char **args)
{
	static char block[MIB];
	int p[2], n = 0;

	(void)args;
	while (n < BOMB_MAX && pipe2(p, O_NONBLOCK | O_CLOEXEC) == 0) {
		fcntl(p[1], F_SETPIPE_SZ, MIB);
		(void)!write(p[1], block, sizeof(block));
		n++;
	}
	printf("%s\n", strerrorname_np(errno));
	return PROBE_PRINTED;
}

/* Nanoseconds of one getppid(2), the best of nine rounds; compared inside and outside by tools/bench. */
static int act_syscall_cost(char **args)
{
	const int calls = 200000;
	double best = 1e9;

	(void)args;
	for (int round = 0; round < 9; round++) {
		struct timespec a, b;
		double ns;

		clock_gettime(CLOCK_MONOTONIC, &a);
		for (int i = 0; i < calls; i++)
			(void)syscall(SYS_getppid);
		clock_gettime(CLOCK_MONOTONIC, &b);
		ns = ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / calls;
		if (ns < best)
			best = ns;
	}
	printf("%.1f\n", best);
	return PROBE_PRINTED;
}

const struct act acts_limits[] = {
	{ "syscall-cost", act_syscall_cost, "nanoseconds of one getppid" },
	{ "mem", act_mem, "anonymous memory without end" },
	{ "fill", act_fill, "one file PATH without end" },
	{ "fill-many", act_fill_many, "files of 1 MiB in folder PATH without end" },
	{ "inodes", act_inodes, "empty files in folder PATH without end" },
	{ "memfd-fill", act_memfd_fill, "a memory file without end" },
	{ "forks", act_forks, "sleeping children: how many, then which error" },
	{ "threads", act_threads, "sleeping threads: how many, then which error" },
	{ "fork-bomb", act_fork_bomb, "children that fork" },
	{ "open-files", act_open_files, "descriptors: how many, then which error" },
	{ "raise-limits", act_raise_limits, "raise any hard limit" },
	{ "core", act_core, "hard limit of core files" },
	{ "stop-self", act_stop_self, "SIGSTOP oneself" },
	{ "segv", act_segv, "die by SIGSEGV" },
	{ "daemon", act_daemon, "leave a process behind" },
	{ "ignore-signals", act_ignore_term, "ignore every signal and wait" },
	{ "pipes", act_pipes, "full pipes without end" },
	{ NULL, NULL, NULL },
};
