/*
 * verdict.c - why a program ended, in one word, one number and one sentence
 *
 * Runs as: the supervisor, after the jail is gone; pure
 * Trusts: what the kernel and the supervisor saw; the guest's claim only chooses among what that permits
 * Never: lets the guest name its own verdict
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "session/internal.h"

const char *session_status_word(enum session_status s)
{
	static const char *const words[] = {
		[STATUS_OK] = "ok", [STATUS_ERROR] = "error", [STATUS_EXIT] = "exit", [STATUS_SIGNAL] = "signal",
		[STATUS_TIMEOUT] = "timeout", [STATUS_CPU_LIMIT] = "cpu_limit", [STATUS_OOM] = "oom",
		[STATUS_PIDS_LIMIT] = "pids_limit", [STATUS_OUTPUT_LIMIT] = "output_limit",
		[STATUS_DISK_LIMIT] = "disk_limit", [STATUS_VIOLATION] = "violation",
		[STATUS_SETUP_ERROR] = "setup_error", [STATUS_LOST] = "lost",
	};

	return (size_t)s < ARRAY_LEN(words) ? words[s] : "lost";
}

const char *verdict_signal_name(int sig, char *buf, size_t len)
{
	const char *abbrev = sigabbrev_np(sig);

	if (abbrev)
		snprintf(buf, len, "SIG%s", abbrev);
	else
		snprintf(buf, len, "signal %d", sig);
	return buf;
}

bool verdict_failed(bool exited, int wait_status)
{
	return !exited || !WIFEXITED(wait_status) || WEXITSTATUS(wait_status) != 0;
}

/* ---- facts ------------------------------------------------------------------ */

static int signal_of(const struct verdict_in *in)
{
	if (!in->exited)
		return in->stop == STOP_NONE ? 0 : SIGKILL;
	return WIFSIGNALED(in->wait_status) ? WTERMSIG(in->wait_status) : 0;
}

static int code_of(const struct verdict_in *in)
{
	return in->exited && WIFEXITED(in->wait_status) ? WEXITSTATUS(in->wait_status) : -1;
}

static bool failed(const struct verdict_in *in)
{
	return verdict_failed(in->exited, in->wait_status);
}

/* An uncaught exception ends CPython with status 1; a claim beside any other end is void. */
static bool uncaught(const struct verdict_in *in)
{
	return code_of(in) == 1 && in->claim->outcome == WIRE_OUTCOME_EXCEPTION;
}

static bool ends_with(const char *s, const char *tail)
{
	size_t n = strlen(s), m = strlen(tail);

	return n >= m && strcmp(s + n - m, tail) == 0;
}

static bool claims_errno(const struct verdict_in *in, int error)
{
	char text[24];

	snprintf(text, sizeof(text), "[Errno %d]", error);
	return uncaught(in) && str_prefix(in->claim->message, text);
}

/* ---- one predicate a row ------------------------------------------------------ */

static bool by_output(const struct verdict_in *in) { return in->stop == STOP_OUTPUT; }
static bool by_wall(const struct verdict_in *in) { return in->stop == STOP_WALL; }
static bool by_cpu(const struct verdict_in *in) { return in->stop == STOP_CPU; }
static bool by_disk(const struct verdict_in *in) { return in->stop == STOP_DISK; }
static bool by_signal(const struct verdict_in *in) { return in->stop == STOP_SIGNAL; }

/* A kill for memory that came too late stopped nobody: the program ended by itself. */
static bool by_memory(const struct verdict_in *in)
{
	return in->stop == STOP_MEMORY && !(in->exited && WIFEXITED(in->wait_status));
}

/* The kernel ended a process for memory, and the program did not get over it. */
static bool oom_killed(const struct verdict_in *in)
{
	return in->usage->oom_kills > 0 && failed(in);
}

static bool rlimit_cpu(const struct verdict_in *in)
{
	return signal_of(in) == SIGXCPU && in->policy->limits.cpu_ms;
}

static bool filter_killed(const struct verdict_in *in) { return signal_of(in) == SIGSYS; }
static bool vanished(const struct verdict_in *in) { return !in->exited; }

/*
 * A MemoryError is the limit's doing where the limit makes allocations fail, or
 * was reached; else it is the program's own (bytearray(10**15)).
 */
static bool memory_error(const struct verdict_in *in)
{
	const char *rung = in->enforced->memory ? in->enforced->memory : "none";
	bool refuses = strcmp(rung, "rlimit") == 0 || strcmp(rung, "polling") == 0;

	return in->policy->limits.memory && uncaught(in) && ends_with(in->claim->type, "MemoryError") &&
	       (refuses || in->usage->memory_hits > 0);
}

static bool thread_refused(const struct verdict_in *in)
{
	return uncaught(in) && strcmp(in->claim->type, "RuntimeError") == 0 &&
	       strstr(in->claim->message, "start new thread");
}

/*
 * Where an rlimit holds the number nobody counts refusals: the claim must fit what was seen. A policy
 * without threads makes the same exception.
 */
static bool pids_full_uncounted(const struct verdict_in *in)
{
	const char *rung = in->enforced->pids;

	if (!rung || strcmp(rung, "rlimit") != 0 || !in->policy->limits.pids || in->clone_denied)
		return false;
	return thread_refused(in) || (claims_errno(in, EAGAIN) && in->usage->pids_peak + 1 >= in->policy->limits.pids);
}

/* Forks were refused. An exception of another kind is the program's own business. */
static bool pids_full(const struct verdict_in *in)
{
	const char *type = in->claim->type;

	if (!in->usage->pids_hits || !failed(in))
		return pids_full_uncounted(in);
	return !uncaught(in) || thread_refused(in) || claims_errno(in, EAGAIN) || strcmp(type, "BlockingIOError") == 0 ||
	       ends_with(type, "BrokenProcessPool") || ends_with(type, "CalledProcessError");
}

static bool file_too_big(const struct verdict_in *in)
{
	return in->policy->limits.file_size && (signal_of(in) == SIGXFSZ || claims_errno(in, EFBIG));
}

static bool disk_full(const struct verdict_in *in)
{
	if (claims_errno(in, ENOSPC) || claims_errno(in, EDQUOT))
		return true;
	if (!in->disk_full || !failed(in))
		return false;
	if (uncaught(in))
		return ends_with(in->claim->type, "OSError") || ends_with(in->claim->type, "OperationalError");
	return code_of(in) > 0 || signal_of(in) == SIGBUS;
}

static bool signalled(const struct verdict_in *in) { return signal_of(in) != 0; }

/* Python may end by status 130 where other programs end by the signal. */
static bool interrupted(const struct verdict_in *in)
{
	return in->interrupts && code_of(in) == SJ_EXIT_SIGNAL + SIGINT;
}

/* Only a command that never ran leaves this claim: a successful execve() unmaps the page. */
static bool not_executed(const struct verdict_in *in)
{
	return in->mode == WIRE_MODE_EXEC && in->claim->outcome == WIRE_OUTCOME_EXEC_FAILED && code_of(in) > 0;
}

static bool anything(const struct verdict_in *in)
{
	(void)in;
	return true;
}

/* ---- sentences ------------------------------------------------------------------ */

static void time_text(uint64_t ms, char *buf, size_t len)
{
	if (ms % 1000 == 0)
		snprintf(buf, len, "%llus", (unsigned long long)(ms / 1000));
	else if (ms > 1000)
		snprintf(buf, len, "%.4gs", (double)ms / 1000.0);
	else
		snprintf(buf, len, "%llums", (unsigned long long)ms);
}

static void say_output(const struct verdict_in *in, char *ret, size_t len)
{
	char size[24];

	policy_format_size(in->policy->limits.output, size, sizeof(size));
	snprintf(ret, len, "output limit of %s%s reached", size, in->policy->limits.output < 1024 ? " bytes" : "");
}

static void say_wall(const struct verdict_in *in, char *ret, size_t len)
{
	char t[32];

	time_text(in->policy->limits.wall_ms, t, sizeof(t));
	snprintf(ret, len, "time limit of %s reached", t);
}

static void say_cpu(const struct verdict_in *in, char *ret, size_t len)
{
	char limit[32], used[32];

	time_text(in->policy->limits.cpu_ms, limit, sizeof(limit));
	time_text(in->usage->cpu_us / 1000, used, sizeof(used));
	snprintf(ret, len, "CPU time limit of %s reached (used %s)", limit, used);
}

/* What was counted is a multiple of pages: "64.3M" says more to people than "65896K". Cut, not rounded. */
static void mib_text(uint64_t bytes, char *buf, size_t len)
{
	unsigned long long whole = bytes >> 20, tenths = (bytes & 0xfffff) * 10 >> 20;

	if (tenths)
		snprintf(buf, len, "%llu.%lluM", whole, tenths);
	else
		snprintf(buf, len, "%lluM", whole);
}

static void say_memory(const struct verdict_in *in, char *ret, size_t len)
{
	char limit[24] = "none", peak[24] = "unknown";

	if (in->policy->limits.memory)
		policy_format_size(in->policy->limits.memory, limit, sizeof(limit));
	if (in->usage->memory_peak)
		mib_text(in->usage->memory_peak, peak, sizeof(peak));
	snprintf(ret, len, "out of memory (limit %s, peak %s)", limit, peak);
}

static void say_told(const struct verdict_in *in, char *ret, size_t len)
{
	char name[24];

	snprintf(ret, len, "%s was sent to smoljail", verdict_signal_name(in->stop_signal, name, sizeof(name)));
}

static void say_filter(const struct verdict_in *in, char *ret, size_t len)
{
	(void)in;
	snprintf(ret, len, "killed by the system call filter (SIGSYS)");
}

static void say_lost(const struct verdict_in *in, char *ret, size_t len)
{
	const struct sj_err *f = in->fault;

	if (f && f->error)
		snprintf(ret, len, "%.150s%s%.150s; the program was stopped, how far it came is unknown", f->what,
			 f->why[0] ? ": " : "", f->why);
	else
		snprintf(ret, len, "the jail's first process vanished; how far the program came is unknown");
}

static void say_pids(const struct verdict_in *in, char *ret, size_t len)
{
	snprintf(ret, len, "limit of %u processes and threads reached", in->policy->limits.pids);
}

static void say_file(const struct verdict_in *in, char *ret, size_t len)
{
	char size[24];

	policy_format_size(in->policy->limits.file_size, size, sizeof(size));
	snprintf(ret, len, "file size limit of %s reached", size);
}

static void say_disk(const struct verdict_in *in, char *ret, size_t len)
{
	char work[24], tmp[24];

	policy_format_size(in->policy->files.work.size, work, sizeof(work));
	policy_format_size(in->policy->files.tmp.size, tmp, sizeof(tmp));
	snprintf(ret, len, "disk full (work folder %s and %llu files, /tmp %s and %llu files)", work,
		 (unsigned long long)in->policy->files.work.inodes, tmp, (unsigned long long)in->policy->files.tmp.inodes);
}

static void say_signal(const struct verdict_in *in, char *ret, size_t len)
{
	int sig = signal_of(in);
	bool crash = sig == SIGSEGV || sig == SIGBUS || sig == SIGILL || sig == SIGFPE || sig == SIGABRT || sig == SIGTRAP;
	char name[24];

	snprintf(ret, len, "%s %s", crash ? "crashed with" : "killed by", verdict_signal_name(sig, name, sizeof(name)));
}

static void say_interrupted(const struct verdict_in *in, char *ret, size_t len)
{
	(void)in;
	snprintf(ret, len, "interrupted (SIGINT)");
}

static void say_exec(const struct verdict_in *in, char *ret, size_t len)
{
	int error = in->claim->line;

	if (error == ENOENT)
		snprintf(ret, len, "%.200s: not found in the root \"%s\"", in->command, in->policy->files.root);
	else
		snprintf(ret, len, "%.200s: cannot be executed: %s", in->command, strerror(error));
}

static void say_error(const struct verdict_in *in, char *ret, size_t len)
{
	const struct wire_claim *c = in->claim;
	char where[24] = "";

	if (c->line > 0)
		snprintf(where, sizeof(where), " (line %d)", c->line);
	snprintf(ret, len, "uncaught %s%s%.300s%s", c->type[0] ? c->type : "exception", c->message[0] ? ": " : "",
		 c->message, where);
}

static void say_exit(const struct verdict_in *in, char *ret, size_t len)
{
	snprintf(ret, len, "exited with status %d", code_of(in));
}

static void say_ok(const struct verdict_in *in, char *ret, size_t len)
{
	(void)in;
	snprintf(ret, len, "ended normally");
}

/* ---- the table -------------------------------------------------------------------- */

/* The first row that applies decides. What the supervisor did comes first, then the kernel's facts, then the rest. */
static const struct row {
	enum session_status status;
	bool (*applies)(const struct verdict_in *in);
	void (*say)(const struct verdict_in *in, char *ret, size_t len);
	int exit_status;		/* 0: the program's own, or 128 plus its signal */
} rows[] = {
	{ STATUS_OUTPUT_LIMIT, by_output, say_output, SJ_EXIT_SIGNAL + SIGKILL },
	{ STATUS_TIMEOUT, by_wall, say_wall, SJ_EXIT_TIMEOUT },
	{ STATUS_CPU_LIMIT, by_cpu, say_cpu, SJ_EXIT_TIMEOUT },
	{ STATUS_OOM, by_memory, say_memory, SJ_EXIT_SIGNAL + SIGKILL },
	{ STATUS_DISK_LIMIT, by_disk, say_disk, SJ_EXIT_SIGNAL + SIGKILL },
	{ STATUS_SIGNAL, by_signal, say_told, 0 },
	{ STATUS_OOM, oom_killed, say_memory, SJ_EXIT_SIGNAL + SIGKILL },
	{ STATUS_CPU_LIMIT, rlimit_cpu, say_cpu, SJ_EXIT_TIMEOUT },
	{ STATUS_VIOLATION, filter_killed, say_filter, 0 },
	{ STATUS_LOST, vanished, say_lost, SJ_EXIT_SIGNAL + SIGKILL },
	{ STATUS_OOM, memory_error, say_memory, SJ_EXIT_SIGNAL + SIGKILL },
	{ STATUS_PIDS_LIMIT, pids_full, say_pids, 0 },
	{ STATUS_DISK_LIMIT, file_too_big, say_file, 0 },
	{ STATUS_DISK_LIMIT, disk_full, say_disk, 0 },
	{ STATUS_SIGNAL, interrupted, say_interrupted, 0 },
	{ STATUS_SIGNAL, signalled, say_signal, 0 },
	{ STATUS_EXIT, not_executed, say_exec, 0 },
	{ STATUS_ERROR, uncaught, say_error, 0 },
	{ STATUS_EXIT, failed, say_exit, 0 },
	{ STATUS_OK, anything, say_ok, 0 },
};

static int own_exit_status(const struct verdict_in *in)
{
	if (in->stop == STOP_SIGNAL)
		return SJ_EXIT_SIGNAL + in->stop_signal;
	return signal_of(in) ? SJ_EXIT_SIGNAL + signal_of(in) : code_of(in);
}

void verdict(const struct verdict_in *in, struct session_report *ret)
{
	const struct row *row = rows;
	char reason[sizeof(ret->reason)];

	while (!row->applies(in))
		row++;
	row->say(in, reason, sizeof(reason));
	text_clean(reason, sizeof(reason), ret->reason, sizeof(ret->reason), true);
	ret->status = row->status;
	ret->exit_code = code_of(in);
	ret->signal = signal_of(in);
	ret->exit_status = row->exit_status ? row->exit_status : own_exit_status(in);
	/* A command that was never executed: trying again is safe. */
	if (row->applies == not_executed)
		ret->ran = false;
}
