/*
 * internal.h - what the files of session/ share
 */
#ifndef SMOLJAIL_SESSION_INTERNAL_H
#define SMOLJAIL_SESSION_INTERNAL_H

#include <poll.h>
#include <signal.h>

#include "session/session.h"
#include "filter/filter.h"
#include "root/root.h"

#define SESSION_SETUP_MS 30000		/* from the start to the guest's ready message */
#define SESSION_GRACE_MS 400		/* between the polite SIGINT and SIGKILL, for a program that gets a CPU */
#define SESSION_GRACE_MAX_MS 5000	/* for one that does not */
#define SESSION_GRACE_CPU_MS 50		/* enough to obey */
#define SESSION_DRAIN_MS 2000		/* for the pipes to end once every writer is dead */
#define SESSION_STUCK_MS 200		/* a stopped program's output that the caller does not take */
#define SESSION_TTY_HOLD_MS 100		/* a terminal that is some other group's: look again */
#define SESSION_POLL_MS 20		/* memory held by polling: between two looks */
#define SESSION_DISK_MS 250		/* private folders without a size of their own: between two looks */
#define SESSION_CPU_CHECK_MIN_MS 5
#define SESSION_DENIED_BATCH 64		/* denials answered in one turn of the loop */
#define SESSION_DENIED_PER_CALL 8	/* entries kept for one call and one rule */
#define SESSION_EXIT_UNWRITTEN 120
#define SESSION_GUEST "/usr/bin/python3"	/* the guest; argv[0] asks for its jailed role */
#define SESSION_PROJECT "/project"
#define SESSION_PACKAGES "/packages"

#define RELAY_CHUNK (64u << 10)

/* ---- moving bytes without ever blocking (relay.c) ------------------- */

enum relay_how {
	RELAY_PLAIN,	/* regular files, devices, descriptors that are ours and non-blocking */
	RELAY_NOWAIT,	/* pipes of the caller: RWF_NOWAIT asks each call not to wait */
	RELAY_SOCKET,	/* MSG_DONTWAIT */
	RELAY_CAREFUL,	/* what is left: poll first, then at most PIPE_BUF bytes */
};

struct relay_end {
	int fd;			/* -1: closed, or never there */
	enum relay_how how;
	bool own;		/* ours to close */
	bool tty, regular;
};
#define RELAY_END_NONE ((struct relay_end){ .fd = -1 })

struct relay {
	struct relay_end src, dst;
	char *data;		/* RELAY_CHUNK bytes, allocated with the first read */
	size_t off, len;	/* what dst has not taken yet */
	uint64_t accepted;	/* bytes read and meant for dst */
	uint64_t moved_at;	/* when dst last took something */
	uint64_t hold_until;	/* terminal of another process group: do not read before */
	int error;		/* why bytes are missing: dst was given up, or src could not be read; 0 = none are */
	bool over;		/* src had more than the budget allowed */
};

/* Look at one of the caller's descriptors. A terminal is opened anew, so that O_NONBLOCK touches nobody else. */
void relay_end_caller(struct relay_end *e, int fd, bool writing);
/* One of our own pipe ends; it becomes non-blocking. Owned from then on, also on failure: 0 or -errno. */
int relay_end_own(struct relay_end *e, int fd);
void relay_end_close(struct relay_end *e);
/* As read() and write(), and never wait. */
ssize_t relay_end_read(struct relay_end *e, void *data, size_t len);
ssize_t relay_end_write(struct relay_end *e, const char *data, size_t len);

/* Events to poll for, 0 = leave that end alone. */
short relay_wants_src(const struct relay *r, uint64_t now_us);
short relay_wants_dst(const struct relay *r);
/*
 * Read once, cut at *budget (bytes still allowed, shared by two streams, may
 * be NULL), and pass on what dst takes at once. At the end of src, or when dst
 * is dead, src is closed, and dst too once it has everything: see relay_done().
 */
void relay_pump(struct relay *r, uint64_t *budget, uint64_t now_us);
void relay_flush(struct relay *r, uint64_t now_us);
bool relay_done(const struct relay *r);
void relay_close(struct relay *r);

/* ---- the jail's three streams (stdio.c) ------------------------------ */

struct session_stdio {
	struct relay in, out, err;	/* err is unused when merged */
	bool merged;			/* stdout and stderr are one open file: one pipe keeps their order */
	bool line_buffered;		/* stdout is a terminal */
	int inside[3];			/* what the jail gets; closed after jail_start() */
	int in_peek;			/* read end kept to count what the program left unread, or -1 */
	int in_seek;			/* the regular file on standard input; valid with in_peek */
};
#define SESSION_STDIO_INIT ((struct session_stdio){ .in = { .src = RELAY_END_NONE, .dst = RELAY_END_NONE }, \
	.out = { .src = RELAY_END_NONE, .dst = RELAY_END_NONE }, .err = { .src = RELAY_END_NONE, .dst = RELAY_END_NONE }, \
	.inside = { -1, -1, -1 }, .in_peek = -1 })

int stdio_open(struct session_stdio *io, const int caller[3], struct sj_err *err);
void stdio_close_inside(struct session_stdio *io);
/* A regular file on standard input: hand back to the caller's offset what the program did not read. */
void stdio_rewind_unread(struct session_stdio *io);
void stdio_close(struct session_stdio *io);

/* ---- from policy and command line to a jail_spec (prepare.c, script.c) */

struct prep {
	struct root root;
	struct jail_bind binds[JAIL_MOUNTS_MAX];
	size_t n_binds;
	struct jail_file script;	/* name NULL: none is placed */
	char *script_name, *script_data;
	char *target;			/* MODE_FILE: the script's path inside */
	char **env, **args, **paths;
	char **keep;			/* strings that binds point to */
	char *home;			/* isolation landlock: the folder that the jail will make; else NULL */
};

int prep_build(struct prep *p, const struct session_run *run, struct sj_err *err);
void prep_clear(struct prep *p);
/* Resolve a host path; add a bind. `option` names the flag or the policy field in errors. */
/* isolation landlock (prepare_light.c): a name for the private folder; NULL-terminated in place of base_env. */
int light_choose_home(struct prep *p, struct sj_err *err);
int light_env(struct prep *p);
int light_check_paths(const struct prep *p, struct sj_err *err);
int prep_env_put(struct prep *p, const char *assign);	/* "NAME=value", replacing an earlier one of that name */
int prep_bind(struct prep *p, const char *src, const char *dst, bool writable, const char *option, struct sj_err *err);
/* exposed.c: a policy that its own program could rewrite for the next run. */
int prep_refuse_exposed(const struct prep *p, const struct policy *policy, struct sj_err *err);
const char *prep_keep(struct prep *p, const char *s);	/* NULL when out of memory */
/* MODE_FILE: check the script, read it or find it below --dir; sets target and perhaps script. */
int script_prepare(struct prep *p, const struct session_run *run, struct sj_err *err);
/* Threads that numerical libraries may start under these limits. */
unsigned int prep_threads(const struct policy_limits *l, unsigned int online);
unsigned int prep_online_cpus(void);

/* ---- what the guest gets beside its streams (handover.c) -------------- */

struct handover {
	int boot_fd, claim_fd;
	const struct wire_claim *claim;	/* shared with the guest: read through a copy only */
	int sync[2];			/* ours, the guest's */
};
#define HANDOVER_INIT ((struct handover){ .boot_fd = -1, .claim_fd = -1, .sync = { -1, -1 } })

int handover_open(struct handover *h, struct sj_err *err);
/* Compile the filter into *spec and write the boot record. */
int handover_fill(struct handover *h, const struct policy *policy, struct wire_boot_spec *spec, struct sj_err *err);
/* All that is promised stands: the guest may start the program, now or when it has come that far. */
int handover_release(const struct handover *h, struct sj_err *err);
/*
 * Take the guest's ready message. -EAGAIN: there is none; -EPIPE: the guest is dead; else err is filled. Whatever is
 * returned, a descriptor that came along is the caller's (*ret_listener, else unchanged), and the program began
 * if ret->magic is WIRE_BOOT_MAGIC and ret->error 0.
 */
int handover_ready(int sync, struct wire_ready *ret, int *ret_listener, struct sj_err *err);
/* After jail_start(): the guest has its own copies. */
void handover_close_inside(struct handover *h);
void handover_forget_claim(struct handover *h);	/* what is in it does not matter */
void handover_close(struct handover *h);
/* The jail of a policy; streams, extra descriptors and files are the caller's to add. Strings belong to both. */
void handover_spec(const struct policy *policy, const struct prep *prep, struct jail_spec *ret);
/* For good, the calling thread (run_confine.c). */
int run_confine(struct sj_err *err);
/* Load a filter of one's own; `what` names it in an error. */
int confine_load(struct sock_filter *insns, unsigned short len, const char *what, struct sj_err *err);
/* The head of such a filter: foreign architectures are killed, and the call's number is loaded. Returns its length. */
#define CONFINE_HEAD 4
unsigned short confine_head(struct sock_filter insns[CONFINE_HEAD]);
int handover_fault(const char *what, int error, struct sj_err *err);	/* E_HOST; returns -error */

/* ---- a look at a thread that waits for an answer (peek.c, peek_call.c) -- */

/*
 * Only to explain, never to decide: another thread of the program may write what is read here. The caller
 * asks afterwards whether the thread still waits (SECCOMP_IOCTL_NOTIF_ID_VALID); else its number may be another's.
 */
/* The Python frame of the thread, of the program's own code if there is one; false: no Python, or unreadable. */
bool peek_where(const struct wire_python *layout, pid_t tid, struct session_where *ret);
/* filter_describe() with what pointers point to: paths, and addresses of sockets ("connect(3, 192.0.2.5:443)"). */
void peek_describe(pid_t tid, int nr, const uint64_t args[6], char *ret, size_t len);

/* What one argument leads to, as there; false: neither a path nor an address, or unreadable. */
bool peek_argument(pid_t tid, int nr, const uint64_t args[6], unsigned int index, char *ret, size_t len);

int peek_open(pid_t tid);		/* the thread's memory, or -errno */
bool peek_read(int mem, uint64_t at, void *ret, size_t len);	/* all of it, or false */
/* Line of byte `at` of a function's code by a location table of CPython 3.11; 0: none. */
int peek_line(const uint8_t *table, size_t len, int first_line, size_t at);

/* ---- denied calls (denied.c) ------------------------------------------ */

struct denied {
	const struct policy *policy;
	struct session_report *rep;	/* where they are noted */
	void (*on_new)(void *arg, struct session_denial *d);	/* may be NULL */
	void *arg;
	int listener;			/* -1: none */
	struct wire_python python;	/* all zero: the guest said nothing of its interpreter */
	struct session_trace *trace;	/* NULL: only denied calls come */
	struct jail *jail;		/* of the trace */
	uint16_t decisive[512];		/* by system call: which arguments rules look at; bit 15 = known */
};

/* Answer what waits. False: the listener is of no use any more, to be closed. */
bool denied_batch(struct denied *d, short revents);

/* ---- a trace (trace.c) ------------------------------------------------ */

struct trace_from {
	const struct policy *policy;
	struct jail *jail;		/* NULL: its folders are not looked at */
	const struct wire_python *python;
	int listener;
	uint64_t id;			/* of the call, for the listener */
	pid_t tid;
};

/* Note one call and how it was answered. */
void trace_call(struct session_trace *t, const struct trace_from *from, int nr, const uint64_t args[6],
		const struct filter_verdict *v);
void trace_look_at_disk(struct session_trace *t, struct jail *jail);
/* Make a listener as quick as the kernel can. */
void trace_listen(int listener);
/* ---- what would allow it (remedy.c) ------------------------------------ */

void remedy_call(struct session_denial *d);	/* one that the filter refused */
/* `path` of the policy, such as "limits.pids": a number or a text for it, and the flag that sets it, if any. */
void remedy_set(struct session_denial *d, const char *flag, const char *path, const char *value, bool is_number);
/* files.read or files.write; mount is "SRC" or "SRC:DST". */
void remedy_mount(struct session_denial *d, const char *mount, bool writable);
void remedy_exec(struct session_denial *d);	/* of what lies where nothing may be executed; sets layer and rule, too */

/* ---- what other layers refused (notes.c, notes_files.c) ----------------- */

struct notes {
	const struct wire_notes *shared;	/* the guest's to write: read through copies only */
	uint32_t seen;
	uint8_t denial[WIRE_NOTES_MAX];		/* which entry of the report each became; NOTES_NONE: none */
};
#define NOTES_NONE 0xff
#define NOTES_NOT_MAPPED ": failed to map segment from shared object"

struct session;
/* Take what the guest has noted since; last: the jail is gone and its counters are known. */
void notes_take(struct session *s, bool last);
/* A path that was absent, read-only or forbidden: sets layer, rule and remedy. False: no layer of the jail's doing. */
bool notes_path(const struct session_run *run, const struct wire_note *note, struct session_denial *d);
/* Adds the line's text; only where the host has the program's. */
void where_text(const struct session *s, struct session_where *w);

/* ---- one run (session.c, loop.c) -------------------------------------- */

enum stop {
	STOP_NONE,	/* the program ended by itself */
	STOP_WALL, STOP_CPU, STOP_MEMORY, STOP_OUTPUT,
	STOP_DISK,	/* isolation landlock: the private folders are past their size */
	STOP_SIGNAL,	/* a signal sent to the supervisor */
};

/* ---- how long a program may take to obey a SIGINT (grace.c) ------------ */

struct grace {
	uint64_t until;		/* when to ask grace_over(); 0: never */
	uint64_t last;		/* it is over then, whatever happens */
	uint64_t cpu_us;	/* what the program had used when it was sent */
};

void grace_begin(struct grace *g, const struct jail *j, uint64_t now);
/* At g->until. False: the program could not obey yet, and g->until is later now. */
bool grace_over(struct grace *g, const struct jail *j, uint64_t now);

struct session {
	const struct session_run *run;
	const struct policy *policy;
	struct session_report *rep;
	struct prep prep;
	struct session_stdio io;
	struct jail *jail;
	struct handover handover;
	struct denied denied;
	struct notes notes;
	int signal_fd;
	sigset_t old_mask;
	bool mask_set, sigpipe_was_pending;

	uint64_t budget;		/* output bytes still allowed */
	enum stop stop;
	int stop_signal;
	unsigned int interrupts;
	bool ready, exited, gone;
	bool begun;			/* the guest said that the program begins, understood or not */
	struct sj_err fault;		/* ours, after that; error 0: none */
	bool hurry;			/* told to stop: what is not delivered yet is given up */
	int wait_status;
	uint64_t started_at, ready_at;
	uint64_t exited_at;		/* the program ended, or init with it */
	uint64_t killed_at;		/* 0 = not yet */
	uint64_t sample_at;		/* 0 = not due */
	struct grace grace;		/* once it was stopped softly */
	uint64_t disk_at;		/* the next look at the private folders */
	unsigned int n_cpus;
};

/*
 * Runs until the jail's streams have ended. Negative: the set-up failed, err is filled, nothing ran. An error
 * after which that is not certain is s->fault.
 */
int loop_run(struct session *s, struct sj_err *err);

/* Isolation and enforcement of a jail that runs (session.c). */
void report_isolation(struct session_report *rep, const struct jail *jail, const struct policy *policy);

/* ---- the report as JSON (report.c) ------------------------------------ */

/* Flags of json_dumps(): 15 digits are enough for three decimals of any run's milliseconds. */
#define REPORT_FORMAT (JSON_COMPACT | JSON_REAL_PRECISION(15))
struct json_t *report_object(const struct session_report *r, const struct policy *p); /* NULL: out of memory */
struct json_t *report_where(const struct session_where *w);	/* JSON null: unknown */
struct json_t *report_denial(const struct session_denial *d, uint64_t times);

/* ---- what happened (verdict.c, hint.c) ------------------------------- */

struct verdict_in {
	enum stop stop;
	int stop_signal;
	unsigned int interrupts;
	bool exited;			/* wait_status is valid */
	int wait_status;
	enum wire_mode mode;
	const char *command;		/* MODE_EXEC: its first word */
	const struct jail_usage *usage;
	const struct jail_enforced *enforced;
	const struct wire_claim *claim;	/* strings terminated */
	const struct sj_err *fault;	/* of the supervisor, which ended the jail for it; NULL or error 0: none */
	bool disk_full;
	bool clone_denied;		/* the filter refused a thread or a process */
	const struct policy *policy;
};

/* Sets status, reason, exit_code, signal, exit_status. Pure. */
void verdict(const struct verdict_in *in, struct session_report *ret);
/* Anything but a normal end: only then the disk is asked. */
bool verdict_failed(bool exited, int wait_status);
const char *verdict_signal_name(int sig, char *buf, size_t len);

/* Copy a claim out of shared memory with every string terminated and made valid, one-line UTF-8. */
void claim_copy(const volatile struct wire_claim *from, struct wire_claim *ret);
/* One line that tells people what to do about this end, or "". */
void hint_make(const struct session_run *run, struct session_report *r);

/* Valid UTF-8 of at most len - 1 bytes; bad bytes become U+FFFD; control characters become spaces when one_line. */
void text_clean(const char *from, size_t max, char *ret, size_t len, bool one_line);

#endif
