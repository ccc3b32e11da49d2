/*
 * session.h - the supervisor: one run from policy to report
 *
 * Unprivileged, outside the jail, deals with hostile bytes. session_run() owns
 * the caller's standard streams while it works; it prints nothing of its own.
 */
#ifndef SMOLJAIL_SESSION_H
#define SMOLJAIL_SESSION_H

#include "base/base.h"
#include "policy/policy.h"
#include "jail/jail.h"
#include "wire/wire.h"

#define SESSION_SCRIPT_MAX SJ_SCRIPT_MAX
#define SESSION_DENIED_MAX 64		/* distinct denials kept in a report */

enum session_status {
	STATUS_OK, STATUS_ERROR, STATUS_EXIT, STATUS_SIGNAL, STATUS_TIMEOUT, STATUS_CPU_LIMIT, STATUS_OOM,
	STATUS_PIDS_LIMIT, STATUS_OUTPUT_LIMIT, STATUS_DISK_LIMIT, STATUS_VIOLATION, STATUS_SETUP_ERROR, STATUS_LOST,
};
const char *session_status_word(enum session_status s);

struct session_trace;
struct session_denial;
typedef void session_denied_fn(void *arg, const struct session_denial *d);

struct session_run {
	const struct policy *policy;
	struct session_trace *trace;	/* NULL: allowed calls are not looked at */
	enum wire_mode mode;
	const char *target;		/* script path, module name, or NULL */
	const char *code;		/* text for MODE_CODE and MODE_STDIN; may hold NULs */
	size_t code_len;
	char *const *args;		/* after the script; for MODE_EXEC the whole command */
	const char *dir;		/* --dir, or NULL */
	int stdio[3];			/* the caller's; -1 = none */
	session_denied_fn *on_denied;	/* called for the first of each kind, while the program runs; may be NULL */
	void *on_denied_arg;
	bool confine;			/* the calling thread is put under a filter for good, once the jail stands */
};

/* A place in the program's Python, as far as its memory could be read; a claim, like all that stands in there. */
struct session_where {
	char file[192];
	char function[96];
	int line;			/* 0: unknown */
	char text[128];			/* that line, from the host's own copy of the program; may be empty */
};

/* A call that the filter refused, or another operation that a layer of the jail refused. */
struct session_denial {
	int nr;				/* -1: not refused by the filter */
	uint64_t args[6];
	uint64_t count;
	const struct policy_rule *rule;	/* belongs to the policy */
	int error;			/* errno that the call got; below 0: what getaddrinfo() returned; 0: not known */
	const char *layer;		/* a static word; NULL: "filter" */
	bool by_guest;			/* the interpreter inside says so, not the kernel */
	char what[256];
	char rule_text[160];		/* what refused it, where it is no rule of the filter */
	struct session_where where;	/* of the first such call; file empty: unknown */
	char allow_with[320];		/* flag or policy line that would allow it, for people; may be empty */
	char allow_flag[16], allow_value[288];	/* the same for programs: "--ro", "/data"; may be empty */
	char allow_policy[384];		/* a policy that is the present one but for this; may be empty */
	char never[160];		/* why nothing is offered; may be empty */
};
const char *session_denial_rule(const struct session_denial *d);
const char *session_denial_layer(const struct session_denial *d);

/*
 * The flag or policy line that would allow a refused call; empty: none is offered. rule NULL: no rule names the
 * call. args NULL: whatever its arguments.
 */
void session_remedy(int nr, const uint64_t args[6], const struct policy_rule *rule, char *ret, size_t len);

struct session_report {
	enum session_status status;
	char reason[512];
	int exit_code;			/* -1: none */
	int signal;			/* 0: none */
	int exit_status;		/* what the command line returns */
	bool ran;
	uint64_t wall_us, setup_us;
	struct jail_usage usage;
	uint64_t out_bytes, err_bytes;
	bool truncated;
	struct session_denial denied[SESSION_DENIED_MAX];
	size_t n_denied;
	uint64_t denied_total;		/* calls that the filter refused, the ones not kept included */
	bool denied_counted;		/* false: the kernel gave no listener, denials were not seen */
	const char *isolation[16];	/* NULL-terminated, static strings */
	char landlock[16];
	struct jail_enforced enforced;
	const char *disk_enforced;
	char python[16];		/* version of the interpreter inside, may be empty */
	const char *session;		/* "closed" for a session's; NULL for a single run's */
	struct sj_err setup;		/* valid for STATUS_SETUP_ERROR */
	struct wire_claim claim;	/* what the guest said of its own end: strings are terminated here */
	char hint[512];			/* one line for people, may be empty */
};

/* ---- a trace: each kind of operation of a program, once (trace.c) ------ */

#define SESSION_TRACE_MAX 1536		/* distinct operations kept; more of them are only counted */
#define SESSION_TRACE_CALLS 768		/* of which system calls with the arguments that rules look at */
#define SESSION_TRACE_PER_CALL 64	/* and of one system call */
#define SESSION_OP_TEXT 320

enum session_op_kind { OP_CALL, OP_FILE, OP_PROGRAM, OP_HOST };

struct session_op {
	enum session_op_kind kind;
	int nr;
	char call[32];			/* its name */
	uint64_t args[6];		/* in normal form (filter_normalize) */
	enum policy_action action;
	int error;			/* errno that the call got, 0: it was allowed */
	const struct policy_rule *rule;	/* that decided; belongs to the policy; NULL: the default */
	uint64_t count;
	char what[SESSION_OP_TEXT];
	struct session_where where;	/* of the first such call; file empty: unknown */
};

struct session_traced {
	uint64_t calls, refused;	/* quiet calls not counted */
	uint64_t unkept;		/* operations for which there was no room */
	uint64_t files_peak;		/* open descriptors of one process; 0: this kernel does not say */
	uint64_t disk_peak;		/* bytes in the private folders together */
	bool disk_full;
};

struct session_trace *trace_new(void);		/* NULL when out of memory */
struct session_trace *trace_free(struct session_trace *t);	/* returns NULL */
/* In the order of their first use: i from 0 until NULL. */
const struct session_op *trace_op(const struct session_trace *t, size_t i);
const struct session_traced *trace_sum(const struct session_trace *t);
const char *session_op_kind_word(enum session_op_kind kind);		/* "call", "file" ... */
const char *session_op_action_word(const struct session_op *op);	/* "allowed", "denied", "enosys" */

enum session_unit { UNIT_BYTES, UNIT_NUMBER, UNIT_MS };
/* The most that was used of something limited. */
struct session_peak {
	const char *name;		/* "memory", as in limits; "disk": the private folders together */
	enum session_unit unit;
	uint64_t peak, limit;		/* 0: unknown; no limit */
	bool reached;
};
/* i from 0 until false. */
bool session_peak(const struct session_traced *t, const struct session_report *r, const struct policy *p, size_t i,
		  struct session_peak *ret);
/* Schema smoljail.trace/1; p NULL: nothing ran. The caller frees. NULL when out of memory. */
char *session_trace_json(const struct session_trace *t, const struct session_report *r, const struct policy *p);

/* What a caller of the library gets of a run (smoljail.h). */
struct sj_report {
	struct session_report r;
	struct policy *policy;		/* rules and names that r points to; NULL when it did not load */
	struct session_trace *trace;	/* NULL: it was not asked for */
};

/* Always fills the report, also when it fails (then status is setup_error and nothing ran). */
int session_run(const struct session_run *run, struct session_report *ret, struct sj_err *err);

/* The report of a run that was refused before session_run() could be called. */
void session_report_refused(struct session_report *ret, const struct sj_err *err);

/* The report as JSON of schema smoljail.report/1; the caller frees. NULL when out of memory. */
char *session_report_json(const struct session_report *r, const struct policy *p);

/* ---- the server: many sessions in one process (serve.c) ---------------- */

/*
 * One thread, one epoll, each session in its own jail. It deals with two kinds of
 * strangers: clients, which may be confused or malicious, and guests, which are hostile.
 */
#define SERVE_SESSIONS_DEFAULT 64u
#define SERVE_SESSIONS_MAX 4096u

struct serve_options {
	const char *policy;		/* name or file: what sessions get, and what clients may not loosen */
	const char *socket;		/* path; NULL: one client, on in and out */
	int in, out;
	unsigned int max_sessions;	/* 0: the default */
	uint64_t idle_ms;		/* a session without a request for so long is closed; 0: never */
	bool allow_loosen;
	bool confine;			/* server_run() gives up, for good, what a server does not need */
	const uint32_t *uids;		/* users beside our own that may connect */
	size_t n_uids;
	char *const *packages;		/* host folders; sessions get them all unless they name some */
	const char *isolation;		/* NULL: the policy's */
};

struct server;

/* The socket listens when this returns. */
int server_new(const struct serve_options *options, struct server **ret, struct sj_err *err);
/* Serves until SIGTERM, SIGINT, SIGHUP, `shutdown`, or the end of the only client. */
int server_run(struct server *s, struct sj_err *err);
struct server *server_free(struct server *s);	/* returns NULL */

#endif
