/*
 * run.c - one jail with a group of attacks in it, started by a child in as hostile a surrounding as can be made
 *
 * Runs as: the caller; the launching child too, with the caller's secrets laid out for the jail to find
 * Trusts: what the launching child tells; what attacks say is bounded text
 * Never: waits for a jail longer than COLLECT_MS
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "selftest/internal.h"

#define COLLECT_MS 90000
#define WAIT_STEP_US 5000
#define WAIT_STEPS 4000
#define ARG_MAX_LEN (CANARY_PATH + 16)

/* What each group is called in attacks.py, and what its jail has less of than the policy grants. */
static const struct {
	const char *group;
	const char *sets[6][2];
} jails[JAIL_KINDS] = {
	[JAIL_MAIN] = { "main", { { NULL } } },
	[JAIL_SMALL] = { "small", { { "files.work.size", "1M" }, { "files.shm.size", "1M" }, { "files.tmp.inodes", "64" },
				    { "limits.file_size", "32M" }, { "limits.open_files", "64" } } },
	[JAIL_PROCESSES] = { "processes", { { "limits.pids", "16" } } },
	[JAIL_MEMORY] = { "memory", { { "limits.memory", "64M" } } },
	[JAIL_FLOOD] = { "flood", { { "limits.output", "64K" } } },
	[JAIL_WALL] = { "wall", { { "limits.wall", "700ms" } } },
	[JAIL_CPU] = { "cpu", { { "limits.cpu_time", "400ms" } } },
	[JAIL_STOPPED] = { "stopped", { { "limits.wall", "700ms" } } },
	[JAIL_CRASH] = { "crash", { { NULL } } },
	[JAIL_ORPHAN] = { "orphan", { { NULL } } },
	[JAIL_FOREIGN] = { "foreign", { { NULL } } },
	[JAIL_X32] = { "x32", { { NULL } } },
	[JAIL_LDT] = { "ldt", { { NULL } } },
	[JAIL_SWEEP] = { "sweep", { { NULL } } },
	[JAIL_WAIT] = { "wait", { { NULL } } },
};

/* Numbers of system calls that attacks.py asks for by name. Those that old headers lack have one number everywhere. */
#define NR(name) { #name, SYS_##name }
static const struct {
	const char *name;
	long nr;
} calls[] = {
	NR(unshare), NR(setns), NR(clone), NR(clone3), NR(mount), NR(umount2), NR(pivot_root), NR(chroot), NR(move_mount),
	NR(open_tree), NR(mount_setattr), NR(fsopen), NR(fsconfig), NR(fsmount), NR(fspick), NR(name_to_handle_at),
	NR(open_by_handle_at), NR(mknodat), NR(ioctl), NR(sethostname), NR(setdomainname), NR(capset), NR(prctl), NR(setresuid),
	NR(setresgid), NR(setgroups), NR(io_uring_setup), NR(io_uring_enter), NR(io_uring_register), NR(bpf), NR(perf_event_open),
	NR(userfaultfd), NR(init_module), NR(finit_module), NR(delete_module), NR(kexec_load), NR(kexec_file_load), NR(quotactl),
	NR(swapon), NR(swapoff), NR(reboot), NR(acct), NR(syslog), NR(settimeofday), NR(clock_settime), NR(clock_adjtime),
	NR(adjtimex), NR(fanotify_init), NR(vhangup), NR(ptrace), NR(process_vm_readv), NR(process_vm_writev), NR(pidfd_getfd),
	NR(kcmp), NR(process_madvise), NR(splice), NR(vmsplice), NR(tee), NR(personality), NR(seccomp), NR(getpid), NR(add_key),
	NR(request_key), NR(keyctl), NR(shmget), NR(msgget), NR(semget), NR(mq_open), NR(fcntl), NR(memfd_create), NR(execveat),
	NR(prlimit64), NR(mlock), NR(sched_setscheduler), NR(sched_setattr), NR(ioprio_set), NR(setpriority),
#ifdef __x86_64__
	NR(iopl), NR(ioperm), NR(modify_ldt),
#endif
};

/* ---- the launching child --------------------------------------------------- */

static void copy_text(char *to, size_t size, const char *from)
{
	snprintf(to, size, "%s", from ? from : "");
}

static void append_word(char *to, size_t size, const char *word)
{
	size_t len = strlen(to);

	snprintf(to + len, size - len, "%s%s", len ? " " : "", word);
}

/* What a careless caller might have: secrets, descriptors, odd signals, a tight umask, a folder full of traps. */
static int make_hostile(const struct canaries *c)
{
	static const int numbers[] = { 7, 77, 200 };
	sigset_t some;
	int fd = open(c->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || chdir(c->dir) < 0)
		return -errno;
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		if (dup2(fd, numbers[i]) < 0)
			return -errno;
	if (setenv("SMOLJAIL_SELFTEST_SECRET", c->secret, 1) < 0 || setenv("PYTHONPATH", c->dir, 1) < 0 ||
	    setenv("PYTHONSTARTUP", c->file, 1) < 0)
		return -ENOMEM;
	(void)signal(SIGUSR1, SIG_IGN);
	(void)signal(SIGALRM, SIG_IGN);
	sigemptyset(&some);
	sigaddset(&some, SIGUSR2);
	sigaddset(&some, SIGWINCH);
	(void)sigprocmask(SIG_BLOCK, &some, NULL);
	(void)umask(077);
	return 0;
}

static int push_arg(char ***args, const char *fmt, ...) _printf_(2, 3);

static int push_arg(char ***args, const char *fmt, ...)
{
	char word[ARG_MAX_LEN];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(word, sizeof(word), fmt, ap);
	va_end(ap);
	return strv_push(args, word);
}

/* The secret goes in backwards: what is looked for must not be what is looked with. */
static int build_args(const struct jail_run *r, const struct canaries *c, char ***ret)
{
	char turned[CANARY_NAME] = "";
	size_t len = strlen(c->secret);
	int e = strv_push(ret, jails[r->kind].group);

	for (size_t i = 0; i < len; i++)
		turned[i] = c->secret[len - 1 - i];
	for (size_t i = 0; e == 0 && i < ARRAY_LEN(calls); i++)
		e = push_arg(ret, "nr.%s=%ld", calls[i].name, calls[i].nr);
	return e < 0 || push_arg(ret, "file=%s", c->file) < 0 || push_arg(ret, "socket=%s", c->socket) < 0 ||
		push_arg(ret, "abstract=%s", c->abstract) < 0 || push_arg(ret, "queue=%s", c->queue + (c->queue[0] == '/')) < 0 ||
		push_arg(ret, "shm=%s", c->shm + (c->shm[0] == '/')) < 0 || push_arg(ret, "secret=%s", turned) < 0 ||
		push_arg(ret, "pid=%d", (int)c->pid) < 0 || push_arg(ret, "key=%d", (int)c->key) < 0 ||
		push_arg(ret, "sysv=%d", c->sysv_key) < 0 || push_arg(ret, "port=%u", c->port) < 0 ? -ENOMEM : 0;
}

static int build(const struct jail_run *r, const struct canaries *c, const char *isolation, struct sj_run **ret, struct sj_err *err)
{
	_cleanup_strv_ char **args = NULL;
	char mark[TOKEN_LEN + 24];
	struct sj_run *run = NULL;
	int e = sj_run_new(r->policy, &run, err);

	if (e < 0)
		return e;
	*ret = run;
	snprintf(mark, sizeof(mark), "SMOLJAIL_SELFTEST=%s", r->token);
	e = sj_run_set(run, "env.set", mark, err);
	if (e == 0)
		e = sj_run_set(run, "limits.wall", "60s", err);
	for (size_t i = 0; e == 0 && i < ARRAY_LEN(jails[0].sets) && jails[r->kind].sets[i][0]; i++)
		e = sj_run_set(run, jails[r->kind].sets[i][0], jails[r->kind].sets[i][1], err);
	if (e == 0)
		e = sj_run_isolation(run, isolation, err);
	if (e == 0 && (sj_run_code(run, selftest_attacks) < 0 || build_args(r, c, &args) < 0 || sj_run_args(run, args) < 0))
		e = err_oom(err);
	return e;
}

static void launch(const struct jail_run *r, const struct canaries *c, const char *isolation, int in, int result)
{
	struct ending end = { .told = true };
	struct sj_report *report = NULL;
	struct sj_run *run = NULL;
	struct sj_summary sum;
	int e = make_hostile(c);

	if (e < 0)
		(void)err_set(&end.err, -e, SJ_EXIT_SETUP, "E_SELFTEST", "cannot prepare a run in %s: %s", c->dir, strerror(-e));
	if (e == 0)
		e = build(r, c, isolation, &run, &end.err);
	if (e == 0) {
		sj_run_stdio(run, in, r->out, r->out);
		(void)sj_run_start(run, &report, &end.err);
	}
	if (report) {
		sj_report_summary(report, &sum);
		end.ran = sum.ran;
		copy_text(end.status, sizeof(end.status), sum.status);
		copy_text(end.reason, sizeof(end.reason), sum.reason);
		for (size_t i = 0; sum.isolation && sum.isolation[i]; i++)
			append_word(end.isolation, sizeof(end.isolation), sum.isolation[i]);
	}
	(void)sj_report_free(report);
	(void)sj_run_free(run);
	(void)io_write_full(result, &end, sizeof(end));
	_exit(0);
}

/* ---- the caller ---------------------------------------------------------------- */

static int make_token(char token[TOKEN_LEN])
{
	unsigned char bytes[(TOKEN_LEN - 1) / 2];

	if (syscall(SYS_getrandom, bytes, sizeof(bytes), 0) != (long)sizeof(bytes))
		return -errno;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(token + 2 * i, TOKEN_LEN - 2 * i, "%02x", bytes[i]);
	return 0;
}

static int host_fault(const char *what, int error, struct sj_err *err)
{
	return err_set(err, error, SJ_EXIT_SETUP, "E_SELFTEST", "selftest: %s: %s", what, strerror(error));
}

int run_start(struct jail_run *r, const struct canaries *c, const char *isolation, struct sj_err *err)
{
	_cleanup_close_ int in = -1, result = -1;
	int p[2], q[2], e = make_token(r->token);
	pid_t caller = getpid();

	r->in = r->result = -1;
	r->out = io_memfd("selftest", NULL, 0);
	if (e < 0 || r->out < 0)
		return host_fault("cannot make a memory file", e < 0 ? -e : -r->out, err);
	if (pipe2(p, O_CLOEXEC) < 0)
		return host_fault("cannot make a pipe", errno, err);
	r->result = p[0];
	result = p[1];
	if (pipe2(q, O_CLOEXEC) < 0)
		return host_fault("cannot make a pipe", errno, err);
	in = q[0];
	r->in = q[1];
	r->launcher = fork();
	if (r->launcher < 0)
		return host_fault("cannot start a process", errno, err);
	if (r->launcher == 0) {
		close(r->in);
		close(r->result);
		close(c->keeper_fd);
		if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != caller)
			_exit(SJ_EXIT_SETUP);
		launch(r, c, isolation, r->kind == JAIL_MAIN && c->tty >= 0 ? c->tty : in, result);
	}
	return 0;
}

bool run_wait_for(const struct jail_run *r, const char *word)
{
	char text[256];
	ssize_t n;

	for (int i = 0; i < WAIT_STEPS; i++) {
		struct pollfd over = { .fd = r->result, .events = POLLIN };

		n = pread(r->out, text, sizeof(text) - 1, 0);
		text[n > 0 ? n : 0] = '\0';
		if (strstr(text, word))
			return true;
		if (poll(&over, 1, 0) > 0)
			return false;
		(void)usleep(WAIT_STEP_US);
	}
	return false;
}

static void read_text(struct jail_run *r)
{
	struct stat st;

	if (r->out < 0 || fstat(r->out, &st) < 0)
		return;
	r->len = st.st_size < (off_t)OUTPUT_MAX ? (size_t)st.st_size : OUTPUT_MAX;
	r->text = malloc(r->len + 1);
	if (!r->text || pread(r->out, r->text, r->len, 0) != (ssize_t)r->len)
		r->len = 0;
	if (r->text)
		r->text[r->len] = '\0';
}

void run_collect(struct jail_run *r)
{
	struct pollfd p = { .fd = r->result, .events = POLLIN };

	if (r->launcher <= 0)
		return;
	base_closep(&r->in);
	if (poll(&p, 1, COLLECT_MS) <= 0)
		(void)kill(r->launcher, SIGKILL);
	if (io_read_full(r->result, &r->end, sizeof(r->end)) < 0)
		r->end = (struct ending){ 0 };
	while (waitpid(r->launcher, NULL, 0) < 0 && errno == EINTR)
		;
	r->launcher = 0;
	read_text(r);
}

void run_clear(struct jail_run *r)
{
	run_collect(r);
	outside_end(r->token);
	base_closep(&r->in);
	base_closep(&r->out);
	base_closep(&r->result);
	free(r->text);
	r->text = NULL;
}

/* The line "ID<tab>OUTCOME<tab>DETAIL". */
bool run_answer(const struct jail_run *r, const char *id, char *ret, size_t size, char *ret_detail, size_t detail_size)
{
	size_t len = strlen(id);

	for (const char *line = r->text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		const char *outcome = line + len + 1, *detail;

		if (strncmp(line, id, len) != 0 || line[len] != '\t')
			continue;
		detail = outcome + strcspn(outcome, "\t\n");
		snprintf(ret, size, "%.*s", (int)(detail - outcome), outcome);
		if (*detail == '\t')
			snprintf(ret_detail, detail_size, "%.*s", (int)strcspn(detail + 1, "\n"), detail + 1);
		return true;
	}
	return false;
}
