/*
 * fail-call.c - run a program of which one system call fails, or one process dies at a call
 *
 * Runs as: the caller of smoljail, in a test
 * Trusts: its arguments
 * Never: changes anything but that one call
 *
 *	fail-call list FILE COMMAND...			write each call as "PROCESS CALL NUMBER" to FILE
 *	fail-call PROCESS:CALL:ERRNO FILE COMMAND...	that call is not made and answers ERRNO
 *	fail-call PROCESS:CALL:ERRNO:late FILE COMMAND...	the same, LATE_MS later: the others go on meanwhile
 *	fail-call PROCESS:CALL:kill FILE COMMAND...	that process is killed when it makes that call
 *
 * PROCESS counts processes and threads from 0 in the order in which they were started, CALL the calls of one process
 * from 0, beginning with its first after COMMAND was executed; the looks of a server that waits are left out. FILE
 * begins with "pid" and COMMAND's, then holds "hit NUMBER" if there was such a call, "spins PROCESS" for one that was told
 * of events over and over and did nothing about them, and "left PROCESS" for each that did not end with COMMAND. Exit
 * status: COMMAND's own; 128 and the signal when it was killed.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <linux/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define TASKS_MAX 4096
#define LIST (-2)
#define REST_MS 10000	/* for the others to end, once the first has */
#define SPINS 500	/* more than a server ever has events without another call between them */
#define LATE_MS 250	/* more than a guest needs from its start to its program */

struct task {
	pid_t pid;
	long calls;		/* made so far */
	bool failing;		/* its present call is the one */
	bool failing_brk;
	bool failing_close;
	bool looking;
	int told;		/* of events, by looks one after another */
	bool gone;
};

static struct task tasks[TASKS_MAX];
static int n_tasks;
static int want_task = LIST;
static long want_call;
static int want_error;		/* 0: kill */
static bool want_late;
static struct task *held;	/* it waits for the answer to its failing call */
static int held_ms;
static FILE *out;
static bool done, started;

static struct task *task_of(pid_t pid)
{
	for (int i = n_tasks - 1; i >= 0; i--)
		if (tasks[i].pid == pid)
			return &tasks[i];
	if (n_tasks == TASKS_MAX)
		exit(3);
	tasks[n_tasks] = (struct task){ .pid = pid };
	return &tasks[n_tasks++];
}

/* Only the task that matters is stopped at its calls: the others run at full speed. */
static bool watched(const struct task *t)
{
	return started && (want_task == LIST || (!done && t - tasks == want_task) || t->failing);
}

static void go_on(const struct task *t, int sig)
{
	(void)ptrace(watched(t) || !started ? PTRACE_SYSCALL : PTRACE_CONT, t->pid, NULL, (void *)(long)sig);
}

/* A call number that does not exist is not made. */
static void skip_call(pid_t pid)
{
#ifdef __x86_64__
	(void)ptrace(PTRACE_POKEUSER, pid, (void *)offsetof(struct user_regs_struct, orig_rax), (void *)-1L);
#else
	int none = -1;
	struct iovec v = { &none, sizeof(none) };

	(void)ptrace(PTRACE_SETREGSET, pid, (void *)0x404 /* NT_ARM_SYSTEM_CALL */, &v);
#endif
}

static void answer(pid_t pid, long value)
{
	struct user_regs_struct regs;
	struct iovec v = { &regs, sizeof(regs) };

	if (ptrace(PTRACE_GETREGSET, pid, (void *)NT_PRSTATUS, &v) < 0)
		return;
#ifdef __x86_64__
	regs.rax = (unsigned long)value;
#else
	regs.regs[0] = (unsigned long)value;
#endif
	(void)ptrace(PTRACE_SETREGSET, pid, (void *)NT_PRSTATUS, &v);
}

/* These do not come back, so they cannot fail. */
static bool may_fail(unsigned long nr)
{
	return nr != SYS_exit && nr != SYS_exit_group && nr != SYS_rt_sigreturn && nr != SYS_restart_syscall;
}

/* Of a wait that looks before it sleeps: how many there are is chance, so they are not counted. */
static bool is_look(const struct ptrace_syscall_info *info)
{
	unsigned long nr = (unsigned long)info->entry.nr;

#ifdef SYS_epoll_wait
	if (nr == SYS_epoll_wait)
		return (int)info->entry.args[3] == 0;
#endif
	return nr == SYS_sched_yield || (nr == SYS_epoll_pwait && (int)info->entry.args[3] == 0);
}

static void on_entry(struct task *t, unsigned long nr)
{
	long call = t->calls++;

	if (want_task == LIST) {
		fprintf(out, "%d %ld %lu\n", (int)(t - tasks), call, nr);
		return;
	}
	if (t - tasks != want_task || call != want_call || !may_fail(nr))
		return;
	done = true;
	fprintf(out, "hit %lu\n", nr);
	fflush(out);
	if (want_error == 0) {
		(void)kill(t->pid, SIGKILL);
		return;
	}
	t->failing = true;
	t->failing_close = nr == SYS_close; /* which closes all the same, close(2) */
	if (!t->failing_close)
		skip_call(t->pid);
	t->failing_brk = nr == SYS_brk; /* which answers an address: none */
}

static void on_call(struct task *t)
{
	struct ptrace_syscall_info info;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, t->pid, (void *)sizeof(info), &info) <= 0)
		return;
	if (info.op == PTRACE_SYSCALL_INFO_ENTRY && started) {
		t->looking = is_look(&info);
		if (t->looking)
			return;
		t->told = 0;
		on_entry(t, (unsigned long)info.entry.nr);
	} else if (info.op == PTRACE_SYSCALL_INFO_EXIT && t->looking) {
		t->told += info.exit.rval > 0;
		if (t->told == SPINS)
			fprintf(out, "spins %d\n", (int)(t - tasks));
	} else if (info.op == PTRACE_SYSCALL_INFO_EXIT && t->failing) {
		answer(t->pid, t->failing_brk ? 0 : -want_error);
		t->failing = false;
		held = want_late ? t : NULL;
	}
}

static void on_stop(pid_t pid, int status)
{
	struct task *t = task_of(pid);
	int sig = WSTOPSIG(status), event = status >> 16;

	if (sig == (SIGTRAP | 0x80)) {
		on_call(t);
		sig = 0;
	} else if (event == PTRACE_EVENT_EXEC) {
		started = true;
		sig = 0;
	} else if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK || event == PTRACE_EVENT_CLONE) {
		unsigned long child = 0;

		if (ptrace(PTRACE_GETEVENTMSG, pid, NULL, &child) == 0)
			(void)task_of((pid_t)child);
		sig = 0;
	} else if (event || (sig == SIGSTOP && t->calls == 0 && t != tasks)) {
		sig = 0; /* a new task stops once */
	}
	if (t != held)
		go_on(t, sig);
}

/* A pause of 1 ms. False: the first process is gone, and the others had their time. */
static bool pause_briefly(void)
{
	static int waits;

	(void)usleep(1000);
	if (!held)
		return ++waits <= REST_MS;
	if (++held_ms >= LATE_MS) {
		go_on(held, 0);
		held = NULL;
	}
	return true;
}

/* What the first process left, after it had time to end; it is ended here. */
static void end_the_rest(void)
{
	for (int i = 1; i < n_tasks; i++) {
		if (tasks[i].gone || kill(tasks[i].pid, 0) < 0)
			continue;
		fprintf(out, "left %d\n", i);
		(void)kill(tasks[i].pid, SIGKILL);
	}
}

static int trace(pid_t first)
{
	int status, last = 3;
	bool over = false;
	pid_t pid;

	while ((pid = waitpid(-1, &status, __WALL | (over || held ? WNOHANG : 0))) >= 0 || errno == EINTR) {
		if (pid == 0) {
			if (!pause_briefly())
				break;
		} else if (pid > 0 && WIFSTOPPED(status)) {
			on_stop(pid, status);
		} else if (pid > 0) {
			task_of(pid)->gone = true;
			held = task_of(pid) == held ? NULL : held;
			if (pid != first)
				continue;
			over = true;
			last = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		}
	}
	end_the_rest();
	(void)fclose(out);
	return last;
}

static bool parse(const char *what)
{
	char *end;

	if (strcmp(what, "list") == 0)
		return true;
	want_task = (int)strtol(what, &end, 10);
	if (*end != ':')
		return false;
	want_call = strtol(end + 1, &end, 10);
	if (*end != ':')
		return false;
	if (strcmp(end + 1, "kill") == 0)
		return true;
	want_error = (int)strtol(end + 1, &end, 10);
	want_late = strcmp(end, ":late") == 0;
	return want_late || !*end;
}

int main(int argc, char **argv)
{
	long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
		       PTRACE_O_TRACEEXEC;
	pid_t pid;
	int status;

	if (argc < 4 || !parse(argv[1]) || !(out = fopen(argv[2], "we"))) {
		fprintf(stderr, "usage: fail-call list|PROCESS:CALL:ERRNO|PROCESS:CALL:kill FILE COMMAND...\n");
		return 3;
	}
	pid = fork();
	if (pid == 0) {
		(void)ptrace(PTRACE_TRACEME);
		(void)raise(SIGSTOP);
		execv(argv[3], argv + 3);
		_exit(127);
	}
	if (waitpid(pid, &status, 0) != pid || ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)options) < 0) {
		perror("fail-call");
		return 3;
	}
	fprintf(out, "pid %d\n", (int)pid);
	go_on(task_of(pid), 0);
	return trace(pid);
}
