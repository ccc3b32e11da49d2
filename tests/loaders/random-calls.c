/*
 * random-calls.c - random sequences of system calls, made inside a jail by children that die and are replaced
 *
 * Runs as: the program of a jail, in a test
 * Trusts: its arguments: SEED SECONDS
 * Never: cares what becomes of it
 *
 * All numbers, those of other entries included (x32, int 0x80), with arguments that are small, extreme, descriptors,
 * process ids, and pointers to buffers of sensible, random or no content. The same SEED makes the same calls. Prints
 * "ROUNDS CALLS" every second and at the end; round N of SEED is round 0 of SEED + N.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CALLS_A_ROUND 300
#define ROUND_MS 400
#define NR_MAX 480
#define X32 0x40000000
#define BUFFERS 8
#define BUFFER 4096

static uint64_t state;
static unsigned char *buffers;		/* BUFFERS of BUFFER bytes, then a page that cannot be touched */
static volatile uint64_t *made;		/* calls, shared with the children */

static uint64_t next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static const uint64_t extremes[] = {
	0, 1, 2, 3, 4, 7, 8, 16, 64, 255, 256, 4095, 4096, 65535, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000,
	0x7fffffffffffffff, 0x8000000000000000, (uint64_t)-1, (uint64_t)-2, (uint64_t)AT_FDCWD,
	/* flags of namespaces, of clones, of sockets and of files */
	CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET, CLONE_VM | CLONE_THREAD | CLONE_SIGHAND, AF_UNIX, AF_INET, AF_NETLINK,
	SOCK_RAW, O_RDWR | O_CREAT, O_PATH, MAP_ANONYMOUS | MAP_PRIVATE, PROT_READ | PROT_WRITE | PROT_EXEC, 0x5412 /* TIOCSTI */, 0x541c,
};

static const char *const texts[] = {
	"/", "/proc/self/exe", "/proc/1/root", "/proc/self/fd/0", "/dev/null", "/dev/shm/x", "/tmp/x", "/work/x", "..", "../../../etc/passwd",
	"/ro/file", "/proc/sys/kernel/core_pattern", "/sys/fs/cgroup", "tmpfs", "proc", "", "/usr/bin/python3", "user.x", "lo",
};

static void fill(unsigned char *b)
{
	switch (next() % 4) {
	case 0:
		strcpy((char *)b, texts[next() % (sizeof(texts) / sizeof(texts[0]))]);
		return;
	case 1:
		for (size_t i = 0; i < 64; i++) /* a struct of extremes, pointers into the buffers among them */
			((uint64_t *)(void *)b)[i] = next() % 3 ? extremes[next() % (sizeof(extremes) / sizeof(extremes[0]))]
							       : (uint64_t)(uintptr_t)(buffers + next() % (BUFFERS * BUFFER));
		return;
	case 2:
		for (size_t i = 0; i < BUFFER / 8; i++)
			((uint64_t *)(void *)b)[i] = next();
		return;
	default:
		memset(b, 0, BUFFER);
	}
}

static uint64_t argument(void)
{
	switch (next() % 8) {
	case 0: case 1:
		return extremes[next() % (sizeof(extremes) / sizeof(extremes[0]))];
	case 2:
		return next() % 12; /* a descriptor, a small number */
	case 3: case 4: {
		unsigned char *b = buffers + (next() % BUFFERS) * BUFFER;

		fill(b);
		return (uint64_t)(uintptr_t)b;
	}
	case 5:
		return (uint64_t)(uintptr_t)(buffers + BUFFERS * BUFFER - next() % 16); /* the end of what can be read */
	case 6:
		return (uint64_t)getpid() + next() % 3 - 1;
	default:
		return next();
	}
}

#ifdef __x86_64__
static long foreign(uint32_t nr, uint32_t a, uint32_t b, uint32_t c)
{
	long r;

	__asm__ volatile("int $0x80" : "=a"(r) : "a"(nr), "b"(a), "c"(b), "d"(c) : "memory", "r8", "r9", "r10", "r11");
	return r;
}
#endif

/* A signal to everybody would end the round's parent and with it the run: rare, but it comes. */
static int ends_all(long nr, uint64_t a)
{
	return (nr == SYS_kill || nr == SYS_tkill || nr == SYS_tgkill || nr == SYS_pidfd_send_signal) && (int)a != getpid() && next() % 200;
}

static void one_call(void)
{
	uint64_t a[6];
	long nr = (long)(next() % NR_MAX);
	uint64_t how = next() % 1000;

	for (int i = 0; i < 6; i++)
		a[i] = argument();
	if (ends_all(nr, a[0]) || nr == SYS_exit || nr == SYS_exit_group || nr == SYS_pause)
		return;
	++*made;
#ifdef __x86_64__
	if (how < 2)
		(void)foreign((uint32_t)nr, (uint32_t)a[0], (uint32_t)a[1], (uint32_t)a[2]);
#endif
	if (how < 5)
		nr |= X32;
	else if (how < 10)
		nr = (long)next();
	(void)syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static void child(uint64_t seed)
{
	struct rlimit cpu = { 1, 1 };

	state = seed * 0x9e3779b97f4a7c15u + 1;
	for (int i = 0; i < 4; i++)
		(void)next();
	(void)setrlimit(RLIMIT_CPU, &cpu);
	for (int i = 0; i < CALLS_A_ROUND; i++)
		one_call();
	_exit(0);
}

static uint64_t now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void round_of(uint64_t seed)
{
	uint64_t until = now_ms() + ROUND_MS;
	pid_t pid = fork();

	if (pid == 0)
		child(seed);
	while (pid > 0 && waitpid(pid, NULL, WNOHANG) == 0) {
		if (now_ms() > until)
			(void)kill(pid, SIGKILL);
		(void)usleep(500);
	}
	/* What it started, and what lost its parent, is nobody's: the jail's init reaps it, this ends it. */
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	uint64_t until = now_ms() + (argc > 2 ? strtoull(argv[2], NULL, 10) : 1) * 1000, said = 0, rounds = 0;

	made = mmap(NULL, BUFFER, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	buffers = mmap(NULL, (BUFFERS + 1) * BUFFER, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (made == MAP_FAILED || buffers == MAP_FAILED || mprotect(buffers + BUFFERS * BUFFER, BUFFER, PROT_NONE) < 0)
		return 1;
	while (rounds == 0 || now_ms() < until) {
		round_of(seed + rounds++);
		if (now_ms() > said + 1000) {
			said = now_ms();
			dprintf(1, "%llu %llu\n", (unsigned long long)rounds, (unsigned long long)*made);
		}
	}
	dprintf(1, "%llu %llu\n", (unsigned long long)rounds, (unsigned long long)*made);
	return 0;
}
