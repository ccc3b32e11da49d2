/*
 * smoljail.h - run Python that you did not write, behind a kernel boundary
 *
 * Pattern of use:
 *
 *	struct sj_err err = { 0 };
 *	struct sj_run *run;
 *	struct sj_report *report;
 *
 *	sj_run_new("python", &run, &err);               1. a policy, by name or file
 *	sj_run_set(run, "limits.memory", "64M", &err);  2. what differs from it
 *	sj_run_code(run, "print(6*7)");                 3. what to run
 *	sj_run_start(run, &report, &err);               4. blocks until the jail is gone
 *	sj_report_summary(report, &summary);            5. what happened
 *
 * Every function returns 0 or -errno and fills *err (never prints). A program
 * that fails is not an error: its report says so. A jail that could not be set
 * up is one: nothing has run.
 */
#ifndef SMOLJAIL_H
#define SMOLJAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SJ_PUBLIC __attribute__((visibility("default")))

#define SJ_SCRIPT_MAX (16u << 20)	/* bytes of a program's text */

/* Exit status of `smoljail run`, part of the interface. 0-255 otherwise: the program's own. */
enum sj_exit {
	SJ_EXIT_USAGE = 2,	/* flags, policy or script refused; nothing has run */
	SJ_EXIT_TIMEOUT = 124,	/* wall-clock or CPU limit */
	SJ_EXIT_SETUP = 125,	/* the jail could not be set up; nothing has run */
	SJ_EXIT_NOEXEC = 126,	/* `--`: found but not executable */
	SJ_EXIT_NOTFOUND = 127,	/* `--`: not found in the root */
	SJ_EXIT_SIGNAL = 128,	/* plus the signal's number; 137 is also out of memory */
};

/* One error: what failed, why, how to mend it. Plain text, no newline, never longer than the fields. */
struct sj_err {
	int error;		/* positive errno value */
	int exit;		/* enum sj_exit */
	char id[40];		/* stable word, such as E_USERNS_APPARMOR */
	char what[512];
	char why[512];		/* may be empty */
	char fix[512];		/* may be empty */
};

SJ_PUBLIC const char *sj_version(void);

/* ---- one run ---- */

struct sj_run;
struct sj_report;

/* policy: a shipped name ("python", "shell" ...) or a file; NULL is the default one. */
SJ_PUBLIC int sj_run_new(const char *policy, struct sj_run **ret, struct sj_err *err);
SJ_PUBLIC struct sj_run *sj_run_free(struct sj_run *run); /* accepts and returns NULL */

/*
 * One field of the policy, by its path ("limits.memory", "64M"; lists: one more
 * element). Checked by sj_run_start(). `flag` is named in errors instead of the path.
 */
SJ_PUBLIC int sj_run_set(struct sj_run *run, const char *path, const char *value, struct sj_err *err);
SJ_PUBLIC int sj_run_set_flag(struct sj_run *run, const char *flag, const char *path, const char *value,
			      struct sj_err *err);

/* What to run: exactly one of these. Everything is copied. 0 or -ENOMEM. */
SJ_PUBLIC int sj_run_script(struct sj_run *run, const char *file);
SJ_PUBLIC int sj_run_code(struct sj_run *run, const char *code);
SJ_PUBLIC int sj_run_module(struct sj_run *run, const char *module);
SJ_PUBLIC int sj_run_text(struct sj_run *run, const char *text, size_t len); /* a script's text, as `python3 -` */
SJ_PUBLIC int sj_run_command(struct sj_run *run, char *const *argv);	/* a program of the root */
SJ_PUBLIC int sj_run_args(struct sj_run *run, char *const *args);	/* sys.argv[1:] */

/* The script's project folder: read-only at /project, importable. */
SJ_PUBLIC int sj_run_dir(struct sj_run *run, const char *dir);
/* "full", or "landlock" for hosts that refuse user namespaces: the policy's setting of that name, checked by sj_run_start(). */
SJ_PUBLIC int sj_run_isolation(struct sj_run *run, const char *word, struct sj_err *err);
/* One operation that was refused. Strings are one line of valid UTF-8; NULL where nothing is known. */
struct sj_denial {
	const char *what;	/* "socket(AF_INET, SOCK_STREAM, 0)", "open(\"/data/x\")" */
	const char *rule;	/* the policy line that refused it */
	const char *layer;	/* "filter", "mount", "rlimit", "cgroup", "network", "permissions", "capability" */
	const char *reason;	/* of the rule */
	int error;		/* errno it got; below 0: what getaddrinfo() returned; 0: not known */
	int by_guest;		/* 1: the interpreter inside says so; 0: the kernel */
	const char *file, *function, *text;	/* line of Python that did it, and that line */
	int line;
	const char *allow_with;	/* what would allow it */
	const char *never;	/* why nothing is offered that would */
	uint64_t count;
};
typedef void sj_denied_fn(void *arg, const struct sj_denial *denial);
/*
 * Called from within sj_run_start() when an operation of a new kind is refused; the program waits
 * meanwhile. At most 64 times a run.
 */
SJ_PUBLIC void sj_run_on_denied(struct sj_run *run, sj_denied_fn *fn, void *arg);
/* Descriptors to relay, -1 = none; 0, 1, 2 unless set. They are never handed into the jail. */
SJ_PUBLIC void sj_run_stdio(struct sj_run *run, int in, int out, int err);
/*
 * For a program that does nothing else: once its jail stands, sj_run_start() puts the calling thread under a system call
 * filter of its own, for good. What is left is what the run, its report and an orderly end need: no new process, no
 * program, no connection.
 */
SJ_PUBLIC void sj_run_confine(struct sj_run *run);

/*
 * Load the policy, run, wait until the jail is gone. SIGINT, SIGTERM, SIGHUP and
 * SIGQUIT that come meanwhile are for the program. *ret_report is set also on
 * failure (unless out of memory): then it says that nothing ran, and why.
 */
SJ_PUBLIC int sj_run_start(struct sj_run *run, struct sj_report **ret_report, struct sj_err *err);

/* ---- what happened ---- */

/* Strings belong to the report. */
struct sj_summary {
	const char *status;	/* "ok", "error", "timeout", "oom" ... */
	const char *reason;	/* one sentence */
	const char *hint;	/* what would have made it work; NULL: nothing to say */
	int exit_code;		/* the program's own, -1 = none */
	int signal;		/* that ended it, 0 = none */
	int exit_status;	/* what `smoljail run` returns */
	bool ran;		/* false: nothing was executed, trying again is safe */
	bool stopped;		/* something other than the program itself ended it */
	bool truncated;		/* output is missing */
	uint64_t wall_us, setup_us, cpu_us;
	uint64_t memory_peak;	/* bytes, 0 = unknown */
	uint32_t pids_peak;	/* 0 = unknown */
	uint64_t stdout_bytes, stderr_bytes;
	uint64_t denied_total;
	const char *policy;	/* its name, NULL when it could not be loaded */
	const char *const *isolation;	/* layers, NULL-terminated */
	struct {
		const char *memory, *cpu, *cpu_time, *pids;
	} held_by;		/* "cgroup2", "rlimit", "none" ... */
};

SJ_PUBLIC void sj_report_summary(const struct sj_report *report, struct sj_summary *ret);
/* i from 0 until -ENOENT. */
SJ_PUBLIC int sj_report_denial(const struct sj_report *report, size_t i, struct sj_denial *ret);
/* All of it, schema smoljail.report/1; the caller frees. NULL when out of memory. */
SJ_PUBLIC char *sj_report_json(const struct sj_report *report);
SJ_PUBLIC struct sj_report *sj_report_free(struct sj_report *report); /* accepts and returns NULL */

/* ---- a trace: each kind of operation of a program, allowed or not ---- */

/* The next sj_run_start() looks at allowed calls too. It fails (E_TRACE_LISTENER) where it cannot; nothing runs then. */
SJ_PUBLIC void sj_run_trace(struct sj_run *run);

/* Strings belong to the report. */
struct sj_traced {
	const char *kind;	/* "call", "file", "program", "host" */
	const char *what;	/* in words; may hold any byte of the program's */
	const char *syscall;
	const char *action;	/* "allowed", "denied", "enosys" */
	const char *rule;	/* the policy line that decided */
	uint64_t count;
	const char *file, *function;	/* of the program's Python, when it did this first; empty: unknown */
	int line;			/* 0: unknown */
};

struct sj_peak {
	const char *name;	/* "memory", "pids", "cpu_time", "wall", "open_files", "disk", "output" */
	const char *unit;	/* "bytes", "ms", or "" for a number */
	uint64_t peak;		/* 0: unknown */
	uint64_t limit;		/* 0: none */
	bool reached;
};

struct sj_trace_sum {
	uint64_t calls, refused;	/* all but the quiet ones, such as read and futex */
	uint64_t unkept;		/* more operations of ever new kinds than a trace keeps */
};

/* False: the run was not traced. */
SJ_PUBLIC bool sj_report_trace_sum(const struct sj_report *report, struct sj_trace_sum *ret);
/* i from 0 until -ENOENT. */
SJ_PUBLIC int sj_report_traced(const struct sj_report *report, size_t i, struct sj_traced *ret);
SJ_PUBLIC int sj_report_peak(const struct sj_report *report, size_t i, struct sj_peak *ret);
/* All of it with the report, schema smoljail.trace/1; the caller frees. NULL: not traced, or out of memory. */
SJ_PUBLIC char *sj_report_trace_json(const struct sj_report *report);

/* ---- learn: the smallest policy that lets programs do what they did ---- */

#define SJ_POLICY_LEARN "learn"	/* for sj_run_new(): an isolated jail that refuses little */

struct sj_learn;

struct sj_learned {
	size_t runs, operations;	/* distinct ones */
	size_t allowed;			/* distinct system calls that the policy allows */
	uint64_t unkept;		/* calls that it may lack: there was no room for them */
};

/* The next sj_run_start() is traced, and its policy allows all but what no policy should (the group "@learn"). */
SJ_PUBLIC void sj_run_learn(struct sj_run *run);

SJ_PUBLIC int sj_learn_new(struct sj_learn **ret, struct sj_err *err);
/* What a run did that was started after sj_run_learn(). All runs have the same policy and settings. */
SJ_PUBLIC int sj_learn_add(struct sj_learn *learn, const struct sj_report *report, struct sj_err *err);
/* Unite with a policy, by name or file: what that allows, the result allows. */
SJ_PUBLIC int sj_learn_merge(struct sj_learn *learn, const char *policy, struct sj_err *err);
/* The policy as text of a file; `what` names the programs in its comment. The caller frees *ret. */
SJ_PUBLIC int sj_learn_policy(const struct sj_learn *learn, const char *what, char **ret, struct sj_learned *ret_sum,
			      struct sj_err *err);
SJ_PUBLIC struct sj_learn *sj_learn_free(struct sj_learn *learn); /* accepts and returns NULL */

/* ---- serve: many sessions in one process, by the protocol of docs/protocol.md ---- */

struct sj_server;

/* Zeroed fields mean what their comments say. */
struct sj_serve {
	const char *policy;		/* name or file; NULL: "python". What sessions get, and what clients may not loosen */
	const char *socket;		/* path of a unix socket; NULL: one client, on in and out */
	int in, out;
	unsigned int max_sessions;	/* 0: 64 */
	uint64_t idle_ms;		/* sessions without a request for so long are closed; 0: never */
	bool allow_loosen;		/* clients may ask for more than the policy grants */
	bool confine;			/* sj_server_run() puts the calling thread under a filter, for good */
	const uint32_t *allow_uids;	/* users beside our own that may connect */
	size_t n_allow_uids;
	char *const *packages;		/* folders made by pip install --target; NULL-terminated, or NULL */
	const char *isolation;		/* "full" or "landlock"; NULL: the policy's */
};

/* The socket listens when this returns. What *options points to must live as long as the server. */
SJ_PUBLIC int sj_server_new(const struct sj_serve *options, struct sj_server **ret, struct sj_err *err);
/* Until SIGTERM, SIGINT or SIGHUP, the message `shutdown`, or the end of the only client. */
SJ_PUBLIC int sj_server_run(struct sj_server *server, struct sj_err *err);
SJ_PUBLIC struct sj_server *sj_server_free(struct sj_server *server); /* accepts and returns NULL */

/* ---- policies: what a program may do, use and see ---- */

/* Shipped ones: i from 0 until NULL. */
SJ_PUBLIC const char *sj_policy_name(size_t i);
/* The line that a policy says of itself; the caller frees *ret. */
SJ_PUBLIC int sj_policy_describe(const char *policy, char **ret, struct sj_err *err);
/* As JSON, defaults filled in; expanded: its system calls one by one instead. The caller frees *ret. */
SJ_PUBLIC int sj_policy_show(const char *policy, bool expanded, char **ret, struct sj_err *err);
/* What a legal policy grants that its author should know about: stable id, JSON path, one sentence. */
typedef void sj_policy_note_fn(void *arg, const char *id, const char *path, const char *sentence);
/* All checks of a run that need no jail; *ret_notes counts what was told to fn. */
SJ_PUBLIC int sj_policy_check(const char *policy, sj_policy_note_fn *fn, void *arg, size_t *ret_notes,
			      struct sj_err *err);
/*
 * What a system call does under a policy, which rule decides, and what would allow it. args: numbers and names
 * of constants; none: all rules of the call. As text for people, or as JSON. The caller frees *ret.
 */
SJ_PUBLIC int sj_policy_explain(const char *policy, const char *call, char *const *args, size_t n_args, bool json,
				char **ret, struct sj_err *err);
/* What a program could newly do under b and no longer, compared with a; *ret_same: nothing. The caller frees *ret. */
SJ_PUBLIC int sj_policy_diff(const char *a, const char *b, bool json, char **ret, bool *ret_same, struct sj_err *err);
/*
 * How much a policy leaves open, from 0 to 10: as a line, with a line for each protection that is missing
 * (worst first), or as JSON. The caller frees *ret.
 */
enum sj_score_form { SJ_SCORE_LINE, SJ_SCORE_PARTS, SJ_SCORE_JSON };
SJ_PUBLIC int sj_policy_score(const char *policy, enum sj_score_form form, char **ret, struct sj_err *err);
/*
 * A file of cases, CALL [ARGUMENT...] = ANSWER a line, against a policy: asked of its filter, or live: each call
 * made in a jail. *ret has a line for each that is not as wanted; *ret_right: there is none. The caller frees *ret.
 */
SJ_PUBLIC int sj_policy_test(const char *policy, const char *file, bool live, bool json, char **ret, bool *ret_right,
			     struct sj_err *err);
/* What a new policy is made of. NULL: the default of its kind. */
struct sj_policy_answers {
	const char *kind;		/* "snippets", "scripts", "packages" or "shell"; NULL: "scripts" */
	char *const *read, *const *write; /* "SRC:DST", NULL-terminated lists */
	const char *network;		/* "none", "loopback", "host" */
	const char *memory, *time;	/* "512M", "30s" */
	const char *description;
};
SJ_PUBLIC const char *sj_policy_kind(size_t i);	/* i from 0 until NULL */
/* A commented policy of these answers, known to be right. The caller frees *ret. */
SJ_PUBLIC int sj_policy_new(const struct sj_policy_answers *answers, char **ret, struct sj_err *err);
enum sj_policy_form { SJ_POLICY_SCHEMA, SJ_POLICY_MDOC };
/* Every setting: a JSON schema (draft 7) for editors, or the body of smoljail-policy(5). The caller frees. */
SJ_PUBLIC char *sj_policy_reference(enum sj_policy_form form);

/* What another sandbox goes by. Fields that are NULL mean what their comments say. */
struct sj_policy_import {
	const char *from;	/* "oci", or "bwrap-args"; NULL: "oci" */
	const char *file;	/* oci: a seccomp profile of Docker, Podman, containerd or OCI */
	char *const *args;	/* bwrap-args: options as bwrap takes them; NULL-terminated */
	const char *name;	/* of the policy; NULL: it gets that of its file */
	const char *arch;	/* oci: "amd64", for conditional entries; NULL: this machine's */
	const char *kernel;	/* oci: "5.10"; NULL: the running one */
	const char *caps;	/* oci: capabilities that the profile may count on, "CAP_SYS_CHROOT,CAP_SYSLOG"; NULL: none */
};

/*
 * A policy as JSON from what another sandbox goes by. What could not be kept is told to fn, which may be NULL. It
 * never allows more than the original, but for the runtime floor. The caller frees *ret.
 */
SJ_PUBLIC int sj_policy_import(const struct sj_policy_import *from, sj_policy_note_fn *fn, void *arg, char **ret,
			       struct sj_err *err);
enum sj_policy_profile { SJ_PROFILE_OCI, SJ_PROFILE_DOCKER };
/* The system calls of a policy as a seccomp profile for container runtimes. The caller frees *ret. */
SJ_PUBLIC int sj_policy_export(const char *policy, enum sj_policy_profile form, sj_policy_note_fn *fn, void *arg,
			       char **ret, struct sj_err *err);

/* ---- roots: the small read-only trees that jails stand on ---- */

#define SJ_ROOTFS_DEFAULT "python"

typedef void sj_rootfs_list_fn(void *arg, const char *name, const char *path);
/* Every root that a run could name. One that is refused becomes the error after the others are listed. */
SJ_PUBLIC int sj_rootfs_list(sj_rootfs_list_fn *fn, void *arg, struct sj_err *err);
/* Where a root lies; the caller frees *ret_path. */
SJ_PUBLIC int sj_rootfs_path(const char *name, char **ret_path, struct sj_err *err);
typedef void sj_rootfs_diff_fn(void *arg, const char *path, const char *what);
/* Compare a root with its manifest. Returns the number of differences, each told to fn, or -errno. */
SJ_PUBLIC int sj_rootfs_verify(const char *name, sj_rootfs_diff_fn *fn, void *arg, size_t *ret_checked,
			       struct sj_err *err);

/* ---- doctor: what this host offers, found out by trying ---- */

enum sj_state {
	SJ_STATE_OK,	/* full */
	SJ_STATE_WARN,	/* degraded: jails run, but a layer or a limit is weaker than promised */
	SJ_STATE_FAIL,	/* jails cannot run */
};

struct sj_fact {
	const char *id;		/* stable: "userns.create" */
	enum sj_state state;
	const char *value;	/* "yes", "memory by cgroup2" */
	const char *why, *fix;	/* empty when ok */
};

/* The strings live until the callback returns. */
typedef void sj_doctor_fact_fn(void *arg, const struct sj_fact *fact);
/* A shipped policy, and why it cannot run here (NULL: it can). */
typedef void sj_doctor_policy_fn(void *arg, const char *name, const char *why_not);
/* Tries each thing in a child, for a second at most. Returns the worst state. */
SJ_PUBLIC enum sj_state sj_doctor(sj_doctor_fact_fn *fact, sj_doctor_policy_fn *policy, void *arg);

/* The steps of a launch, in order. False past the end. */
struct sj_phase {
	const char *name, *runs_as, *takes_away;
};
SJ_PUBLIC bool sj_doctor_phase(size_t i, struct sj_phase *ret);

/* ---- selftest: what jails promise, tried on this host ---- */

enum sj_check_state { SJ_CHECK_PASS, SJ_CHECK_FAIL, SJ_CHECK_SKIP };

struct sj_check {
	const char *policy;
	const char *id;		/* stable: "file.read" */
	const char *what;	/* what is attempted, in words */
	enum sj_check_state state;
	const char *want;	/* outcomes that pass, separated by "|"; NULL when skipped */
	const char *got;
	const char *why;	/* of a skip; else details of what happened, may be empty */
};

/* Zeroed fields mean what their comments say. */
struct sj_selftest {
	const char *const *policies;	/* names or files, NULL-terminated; NULL: every shipped one */
	const char *only;		/* one check, or those of a group ("net"); NULL: all */
	const char *isolation;		/* NULL: "full" */
};

/* The strings live until the callback returns. */
typedef void sj_selftest_fn(void *arg, const struct sj_check *check);
/*
 * Starts jails in child processes and attacks from inside them; what is put on the
 * host to be guarded is taken away again. For callers with one thread. An error:
 * no jail could be set up. *ret_failed counts the checks that did not pass.
 */
SJ_PUBLIC int sj_selftest(const struct sj_selftest *options, sj_selftest_fn *fn, void *arg, size_t *ret_failed,
			  struct sj_err *err);
/* Id and words of each check; why is set for those that are not offered. False past the end. */
SJ_PUBLIC bool sj_selftest_check(size_t i, struct sj_check *ret);

#ifdef __cplusplus
}
#endif
#endif
