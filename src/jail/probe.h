/*
 * probe.h - what the probe files and explain.c share
 *
 * probe_host.c reads what the host says of itself (files under /proc), which
 * only ever explains. probe_child.c tries an operation in a child that cannot
 * hurt or hang the caller. The other probe_*.c files are tables of facts.
 */
#ifndef SMOLJAIL_JAIL_PROBE_H
#define SMOLJAIL_JAIL_PROBE_H

#include "jail/jail.h"

/* ---- the host in its own words (probe_host.c) ------------------------ */

#define HOST_FILE_MAX (1u << 20)	/* bytes read of one file under /proc */

/*
 * root is put before every path: "" on a real host, a folder with a made-up
 * /proc in tests. The answers that need an operation, not a file, are
 * functions, so that tests can give theirs.
 */
struct host {
	const char *root;
	/* Does a filter answer this call before the kernel sees it? Tried in a child. */
	bool (*filtered)(const char *call);
	bool (*dumpable)(void);		/* may the caller read its own files in /proc? */
	const char *(*env)(const char *name);
	const char *release;		/* of the kernel, NULL: ask uname() */
};
extern const struct host host_real;

bool host_number(const struct host *h, const char *path, long long *ret);
bool host_line(const struct host *h, const char *path, char *ret, size_t len);	/* first line, bounded */
bool host_status(const struct host *h, const char *key, int base, unsigned long long *ret);
bool host_exists(const struct host *h, const char *path);
bool host_has_cap(const struct host *h, int cap);
bool host_older_than(const struct host *h, int major, int minor);
void host_release(const struct host *h, char *ret, size_t len);
/* NULL, or what wraps the caller: "docker", "podman", "kubernetes", "lxc", "flatpak", "snap", "systemd"; mark: what says so. */
const char *host_container(const struct host *h, char *ret_mark, size_t len);
/* The set-up as one container fix sentence for that kind (also NULL). */
const char *host_container_fix(const char *kind);
bool host_chrooted(const struct host *h);
/* A mount on top of a part of /proc. */
bool host_proc_overmount(const struct host *h, char *ret, size_t len);
bool host_proc_sys_readonly(const struct host *h);
/* The option that makes /proc hide the processes of others: "hidepid=invisible". */
bool host_proc_hidden(const struct host *h, char *ret, size_t len);
bool host_in_userns(const struct host *h);	/* the caller's ids are not the first namespace's */
bool host_maps_id(const struct host *h, const char *file, unsigned long id);
bool host_on_initramfs(const struct host *h);

/* ---- trying things (probe_child.c) ----------------------------------- */

#define PROBE_DEADLINE_US 1000000u
#define PROBE_CGROUP_DEADLINE_US 7000000u	/* systemd may have to be asked, which takes up to five seconds */
#define PROBE_TEXT_MAX 512
#define PROBE_TEXTS 6

/* What the child says; one message of fixed size. */
struct probe_result {
	int32_t error;			/* 0, or the errno of the step below */
	int32_t died;			/* parent: signal that ended the child, 0 = none */
	bool timed_out;			/* parent */
	int64_t value;			/* what the act found */
	char step[24];			/* phase that failed */
	char text[PROBE_TEXTS][PROBE_TEXT_MAX];
};

/* Runs in the child: system calls only, when flags has a namespace. */
typedef void probe_act(struct probe_result *r);

struct probe_task {
	uint64_t flags;		/* CLONE_NEW*: clone3 as the launcher does it; 0: fork() */
	bool map;		/* write the id maps as the launcher does, then become the jail's user */
	probe_act *act;
	uint64_t deadline_us;	/* 0: PROBE_DEADLINE_US */
};

/* Always fills *ret. step "clone" or "uid_map": the child never acted. */
void probe_try(const struct probe_task *task, struct probe_result *ret);
/* For acts: remember errno and where; returns false. */
bool probe_failed(struct probe_result *r, const char *step);
bool probe_call_filtered(const char *call);

/* ---- the facts (probe.c, probe_ns.c, probe_limits.c, probe_calls.c) ---- */

struct probe_walk {
	probe_fn *fn;
	void *arg;
	enum probe_state worst;
	bool no_userns, no_map;	/* found missing: what needs them is not tried */
};

/* why and fix belong to a state that is not ok; NULL = none. */
void probe_say(struct probe_walk *w, const char *id, enum probe_state state, const char *why, const char *fix,
	       const char *value_fmt, ...) _printf_(6, 7);
/* A fact from a failed result: cause and fix by explain_phase(). */
void probe_say_failure(struct probe_walk *w, const char *id, enum probe_state state, const struct probe_result *r);

void probe_namespaces(struct probe_walk *w);
void probe_limits(struct probe_walk *w);
void probe_calls(struct probe_walk *w);

/* ---- explanations (explain.c, explain_evidence.c) ---------------------- */

/* Looks for signs of one cause; ret: what it saw, in a few words. detail: as given to explain_phase(). */
typedef bool evidence_fn(const struct host *h, const char *detail, char *ret, size_t len);
evidence_fn evidence_chroot, evidence_userns_filtered, evidence_clone3_filtered, evidence_mount_filtered,
	evidence_filter, evidence_unmapped, evidence_nested_limit, evidence_userns_zero, evidence_ns_limit,
	evidence_ns_missing, evidence_userns_switch, evidence_apparmor_userns, evidence_lsm_label, evidence_apparmor_label, evidence_container_label,
	evidence_no_proc,
	evidence_not_dumpable, evidence_processes, evidence_before_5_12, evidence_proc_overmount,
	evidence_proc_sys_readonly, evidence_proc_hidden, evidence_initramfs, evidence_privileged, evidence_closed_path, evidence_release;

int explain_on(const struct host *h, const char *phase, int error, const char *detail, struct sj_err *err);

/* One row of the table. */
struct explain_row {
	const char *phases;	/* words, separated by spaces */
	int error;
	evidence_fn *evidence;	/* NULL: the errno alone says it */
	const char *id, *cause;
	const char *fix;	/* NULL: what host_container_fix() says */
};
const struct explain_row *explain_row(size_t i);	/* for tests; NULL past the end */

#endif
