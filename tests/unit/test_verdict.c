/*
 * test_verdict.c - facts and claims in, status and sentence out
 *
 * Runs as: any user
 * Trusts: nothing
 * Never: starts a jail
 */
#include <signal.h>

#include "tap.h"
#include "session/internal.h"

#define EXITED(code) ((code) << 8)
#define KILLED(sig) (sig)

static struct policy policy = {
	.limits = { .memory = 256u << 20, .pids = 64, .wall_ms = 2000, .cpu_ms = 1500, .output = 1u << 20, .file_size = 64u << 20 },
	.files = { .root = (char *)"python", .work = { .size = 256u << 20, .inodes = 16384 },
		   .tmp = { .size = 64u << 20, .inodes = 4096 } },
};

/* One situation; what is not named is 0: a Python program that ended by itself with status 0. */
struct situation {
	const char *name;
	enum stop stop;
	int stop_signal;
	unsigned int interrupts;
	bool never_exited;
	int wait_status;
	enum wire_mode mode;
	uint64_t oom_kills, memory_hits, pids_hits;
	bool disk_full, clone_denied;
	const char *memory_rung, *pids_rung;
	uint32_t pids_peak;
	uint32_t outcome;
	const char *type, *message;
	int line;
	struct sj_err fault;

	enum session_status status;
	int exit_code, signal, exit_status;
	const char *reason;
};

#define UNCAUGHT(t, m) .wait_status = EXITED(1), .outcome = WIRE_OUTCOME_EXCEPTION, .type = (t), .message = (m)
#define OWN_FAILURE .status = STATUS_ERROR, .exit_code = 1, .exit_status = 1

static const struct situation situations[] = {
	{ .name = "the end", .status = STATUS_OK, .reason = "ended normally" },
	{ .name = "a status of its own", .wait_status = EXITED(3), .outcome = WIRE_OUTCOME_CLEAN,
	  .status = STATUS_EXIT, .exit_code = 3, .exit_status = 3, .reason = "exited with status 3" },
	{ .name = "status 255", .wait_status = EXITED(255), .status = STATUS_EXIT, .exit_code = 255, .exit_status = 255 },
	{ .name = "sys.exit(text)", .wait_status = EXITED(1), .outcome = WIRE_OUTCOME_CLEAN,
	  .status = STATUS_EXIT, .exit_code = 1, .exit_status = 1 },
	{ .name = "an exception", UNCAUGHT("ZeroDivisionError", "division by zero"), .line = 3, OWN_FAILURE,
	  .reason = "uncaught ZeroDivisionError: division by zero (line 3)" },
	{ .name = "an exception without a message", UNCAUGHT("KeyError", ""), OWN_FAILURE, .reason = "uncaught KeyError" },
	{ .name = "a claim that the exit status belies", .outcome = WIRE_OUTCOME_EXCEPTION, .type = "ValueError",
	  .status = STATUS_OK },
	{ .name = "a claimed exception beside another status", .wait_status = EXITED(4),
	  .outcome = WIRE_OUTCOME_EXCEPTION, .type = "MemoryError", .memory_hits = 1,
	  .status = STATUS_EXIT, .exit_code = 4, .exit_status = 4 },
	{ .name = "RecursionError is an error", UNCAUGHT("RecursionError", "maximum recursion depth exceeded"), OWN_FAILURE },

	{ .name = "a crash", .wait_status = KILLED(SIGSEGV), .status = STATUS_SIGNAL, .exit_code = -1, .signal = SIGSEGV,
	  .exit_status = 139, .reason = "crashed with SIGSEGV" },
	{ .name = "a signal to itself", .wait_status = KILLED(SIGTERM), .status = STATUS_SIGNAL, .exit_code = -1,
	  .signal = SIGTERM, .exit_status = 143, .reason = "killed by SIGTERM" },
	{ .name = "SIGKILL without an OOM kill", .wait_status = KILLED(SIGKILL), .status = STATUS_SIGNAL,
	  .exit_code = -1, .signal = SIGKILL, .exit_status = 137 },
	{ .name = "the filter's kill", .wait_status = KILLED(SIGSYS), .status = STATUS_VIOLATION, .exit_code = -1,
	  .signal = SIGSYS, .exit_status = 159 },

	{ .name = "the time limit", .stop = STOP_WALL, .never_exited = true, .status = STATUS_TIMEOUT, .exit_code = -1,
	  .signal = SIGKILL, .exit_status = 124, .reason = "time limit of 2s reached" },
	{ .name = "a program that ends well after the time limit", .stop = STOP_WALL, .status = STATUS_TIMEOUT,
	  .exit_status = 124 },
	{ .name = "a KeyboardInterrupt by the time limit", .stop = STOP_WALL, .wait_status = KILLED(SIGINT),
	  .status = STATUS_TIMEOUT, .exit_code = -1, .signal = SIGINT, .exit_status = 124 },
	{ .name = "the CPU limit", .stop = STOP_CPU, .wait_status = KILLED(SIGINT), .status = STATUS_CPU_LIMIT,
	  .exit_code = -1, .signal = SIGINT, .exit_status = 124, .reason = "CPU time limit of 1.5s reached (used 1.6s)" },
	{ .name = "the kernel's CPU limit", .wait_status = KILLED(SIGXCPU), .status = STATUS_CPU_LIMIT, .exit_code = -1,
	  .signal = SIGXCPU, .exit_status = 124 },
	{ .name = "the output cap", .stop = STOP_OUTPUT, .never_exited = true, .status = STATUS_OUTPUT_LIMIT,
	  .exit_code = -1, .signal = SIGKILL, .exit_status = 137, .reason = "output limit of 1M reached" },
	{ .name = "the output cap, seen late", .stop = STOP_OUTPUT, .status = STATUS_OUTPUT_LIMIT, .exit_status = 137 },

	{ .name = "killed for memory", .wait_status = KILLED(SIGKILL), .oom_kills = 1, .status = STATUS_OOM,
	  .exit_code = -1, .signal = SIGKILL, .exit_status = 137, .reason = "out of memory (limit 256M, peak 200M)" },
	{ .name = "killed for memory, init as well", .never_exited = true, .oom_kills = 2, .status = STATUS_OOM,
	  .exit_code = -1, .exit_status = 137 },
	{ .name = "a child killed for memory, and the program failed", UNCAUGHT("CalledProcessError", "died with SIGKILL"),
	  .oom_kills = 1, .status = STATUS_OOM, .exit_code = 1, .exit_status = 137 },
	{ .name = "a child killed for memory, and the program got over it", .oom_kills = 1, .status = STATUS_OK },
	{ .name = "memory by polling", .stop = STOP_MEMORY, .never_exited = true, .memory_rung = "polling",
	  .status = STATUS_OOM, .exit_code = -1, .signal = SIGKILL, .exit_status = 137 },
	{ .name = "memory by polling, when the program had just ended", .stop = STOP_MEMORY, .memory_rung = "polling",
	  .status = STATUS_OK },
	{ .name = "MemoryError by an rlimit", UNCAUGHT("MemoryError", ""), .memory_rung = "rlimit", .status = STATUS_OOM,
	  .exit_code = 1, .exit_status = 137 },
	{ .name = "numpy's MemoryError at the limit", UNCAUGHT("numpy.core._exceptions._ArrayMemoryError", "Unable"),
	  .memory_hits = 3, .status = STATUS_OOM, .exit_code = 1, .exit_status = 137 },
	{ .name = "MemoryError far from the limit", UNCAUGHT("MemoryError", ""), .memory_rung = "cgroup1", OWN_FAILURE },

	{ .name = "a fork refused", UNCAUGHT("BlockingIOError", "[Errno 11] Resource temporarily unavailable"),
	  .pids_hits = 1, .status = STATUS_PIDS_LIMIT, .exit_code = 1, .exit_status = 1,
	  .reason = "limit of 64 processes and threads reached" },
	{ .name = "a thread refused", UNCAUGHT("RuntimeError", "can't start new thread"), .pids_hits = 9,
	  .status = STATUS_PIDS_LIMIT, .exit_code = 1, .exit_status = 1 },
	{ .name = "a fork claimed to be refused", UNCAUGHT("BlockingIOError", "[Errno 11] no"), OWN_FAILURE },
	{ .name = "a fork refused long ago", UNCAUGHT("ZeroDivisionError", "division by zero"), .pids_hits = 1, OWN_FAILURE },
	{ .name = "a shell whose fork was refused", .mode = WIRE_MODE_EXEC, .wait_status = EXITED(2), .pids_hits = 1,
	  .status = STATUS_PIDS_LIMIT, .exit_code = 2, .exit_status = 2 },
	{ .name = "a thread refused by an rlimit", UNCAUGHT("RuntimeError", "can't start new thread"), .pids_rung = "rlimit",
	  .status = STATUS_PIDS_LIMIT, .exit_code = 1, .exit_status = 1 },
	{ .name = "a thread refused by the policy", UNCAUGHT("RuntimeError", "can't start new thread"), .pids_rung = "rlimit",
	  .clone_denied = true, OWN_FAILURE },
	{ .name = "a fork refused by an rlimit", UNCAUGHT("BlockingIOError", "[Errno 11] no"), .pids_rung = "rlimit",
	  .pids_peak = 64, .status = STATUS_PIDS_LIMIT, .exit_code = 1, .exit_status = 1 },
	{ .name = "a fork claimed to be refused by an rlimit far away", UNCAUGHT("BlockingIOError", "[Errno 11] no"),
	  .pids_rung = "rlimit", .pids_peak = 3, OWN_FAILURE },
	{ .name = "forks refused, and all well", .pids_hits = 1, .status = STATUS_OK },

	{ .name = "no space left", UNCAUGHT("OSError", "[Errno 28] No space left on device"), .status = STATUS_DISK_LIMIT,
	  .exit_code = 1, .exit_status = 1, .reason = "disk full (work folder 256M and 16384 files, /tmp 64M and 4096 files)" },
	{ .name = "a database in a full folder", UNCAUGHT("sqlite3.OperationalError", "database or disk is full"),
	  .disk_full = true, .status = STATUS_DISK_LIMIT, .exit_code = 1, .exit_status = 1 },
	{ .name = "a full folder and another mistake", UNCAUGHT("TypeError", "x"), .disk_full = true, OWN_FAILURE },
	{ .name = "a command in a full folder", .mode = WIRE_MODE_EXEC, .wait_status = EXITED(1), .disk_full = true,
	  .status = STATUS_DISK_LIMIT, .exit_code = 1, .exit_status = 1 },
	{ .name = "a mapped file without room", .wait_status = KILLED(SIGBUS), .disk_full = true,
	  .status = STATUS_DISK_LIMIT, .exit_code = -1, .signal = SIGBUS, .exit_status = 135 },
	{ .name = "a crash in a full folder", .wait_status = KILLED(SIGSEGV), .disk_full = true, .status = STATUS_SIGNAL,
	  .exit_code = -1, .signal = SIGSEGV, .exit_status = 139 },
	{ .name = "a full folder, and all well", .disk_full = true, .status = STATUS_OK },
	{ .name = "a file too big", .wait_status = KILLED(SIGXFSZ), .status = STATUS_DISK_LIMIT, .exit_code = -1,
	  .signal = SIGXFSZ, .exit_status = 153, .reason = "file size limit of 64M reached" },
	{ .name = "a file too big, in Python", UNCAUGHT("OSError", "[Errno 27] File too large"),
	  .status = STATUS_DISK_LIMIT, .exit_code = 1, .exit_status = 1 },

	{ .name = "a signal to smoljail", .stop = STOP_SIGNAL, .stop_signal = SIGTERM, .never_exited = true,
	  .status = STATUS_SIGNAL, .exit_code = -1, .signal = SIGKILL, .exit_status = 143,
	  .reason = "SIGTERM was sent to smoljail" },
	{ .name = "Ctrl-C", .interrupts = 1, .wait_status = KILLED(SIGINT), .status = STATUS_SIGNAL, .exit_code = -1,
	  .signal = SIGINT, .exit_status = 130 },
	{ .name = "Ctrl-C as a status", .interrupts = 1, .wait_status = EXITED(130), .status = STATUS_SIGNAL,
	  .exit_code = 130, .exit_status = 130, .reason = "interrupted (SIGINT)" },
	{ .name = "Ctrl-C that the program took", .interrupts = 1, .status = STATUS_OK },
	{ .name = "init killed from outside", .never_exited = true, .status = STATUS_LOST, .exit_code = -1, .exit_status = 137,
	  .reason = "the jail's first process vanished; how far the program came is unknown" },
	{ .name = "the supervisor had to give up", .never_exited = true, .status = STATUS_LOST, .exit_code = -1, .exit_status = 137,
	  .fault = { .error = ENOMEM, .what = "cannot prepare the run: waiting for the jail", .why = "Cannot allocate memory" },
	  .reason = "cannot prepare the run: waiting for the jail: Cannot allocate memory; the program was stopped, "
		    "how far it came is unknown" },

	{ .name = "a command that is not there", .mode = WIRE_MODE_EXEC, .wait_status = EXITED(127),
	  .outcome = WIRE_OUTCOME_EXEC_FAILED, .line = ENOENT, .status = STATUS_EXIT, .exit_code = 127, .exit_status = 127,
	  .reason = "cmd: not found in the root \"python\"" },
	{ .name = "a file that is no command", .mode = WIRE_MODE_EXEC, .wait_status = EXITED(126),
	  .outcome = WIRE_OUTCOME_EXEC_FAILED, .line = EACCES, .status = STATUS_EXIT, .exit_code = 126, .exit_status = 126,
	  .reason = "cmd: cannot be executed: Permission denied" },
	{ .name = "Python that claims to be a missing command", .wait_status = EXITED(127),
	  .outcome = WIRE_OUTCOME_EXEC_FAILED, .line = ENOENT, .status = STATUS_EXIT, .exit_code = 127, .exit_status = 127,
	  .reason = "exited with status 127" },
};

static void check(const struct situation *s)
{
	struct jail_usage usage = {
		.memory_peak = 200u << 20, .cpu_us = 1600000, .oom_kills = s->oom_kills,
		.memory_hits = s->memory_hits, .pids_hits = s->pids_hits, .pids_peak = s->pids_peak,
	};
	struct jail_enforced enforced = {
		.memory = s->memory_rung ? s->memory_rung : "cgroup2", .pids = s->pids_rung ? s->pids_rung : "cgroup2",
	};
	struct wire_claim claim = { .outcome = s->outcome, .line = s->line };
	struct session_report r = { .ran = true };
	struct verdict_in in = {
		.stop = s->stop, .stop_signal = s->stop_signal, .interrupts = s->interrupts, .exited = !s->never_exited,
		.wait_status = s->wait_status, .mode = s->mode ? s->mode : WIRE_MODE_CODE, .command = "cmd",
		.usage = &usage, .enforced = &enforced, .claim = &claim, .fault = &s->fault,
		.disk_full = s->disk_full, .clone_denied = s->clone_denied, .policy = &policy,
	};

	snprintf(claim.type, sizeof(claim.type), "%s", s->type ? s->type : "");
	snprintf(claim.message, sizeof(claim.message), "%s", s->message ? s->message : "");
	verdict(&in, &r);
	is_str(session_status_word(s->status), session_status_word(r.status), "%s: status", s->name);
	is_int(s->exit_code, r.exit_code, "%s: exit code", s->name);
	is_int(s->signal, r.signal, "%s: signal", s->name);
	is_int(s->exit_status, r.exit_status, "%s: exit status", s->name);
	if (s->reason)
		is_str(s->reason, r.reason, "%s: reason", s->name);
	if (s->outcome == WIRE_OUTCOME_EXEC_FAILED)
		is_int(s->mode != WIRE_MODE_EXEC, r.ran, "%s: ran", s->name);
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_LEN(situations); i++)
		check(&situations[i]);
	return done();
}
