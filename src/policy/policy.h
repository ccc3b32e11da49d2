/*
 * policy.h - what a jailed program may do, use and see
 *
 * A policy is JSON, parsed by one field table (schema.c) into the plain
 * structs below, which every mechanism takes const. Defaults are a shipped
 * policy and take the same path. Flags of the command line go through the same
 * table by policy_set(). Nothing here performs a system call but reading a
 * policy file that the caller named.
 */
#ifndef SMOLJAIL_POLICY_H
#define SMOLJAIL_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

#define POLICY_FILE_MAX (1u << 20)	/* bytes of one policy file */
#define POLICY_EXTENDS_MAX 8		/* length of a chain of "extends" */
#define POLICY_MOUNTS_MAX 64
#define POLICY_ENV_MAX 256
#define POLICY_RULES_MAX 512		/* entries of "syscalls.rules" */
#define POLICY_RULE_ARGS_MAX 6
#define POLICY_CALLS_MAX 1024		/* rules after the groups are expanded */

enum policy_enforcement { POLICY_BEST_EFFORT, POLICY_CGROUP };
enum policy_net { POLICY_NET_NONE, POLICY_NET_LOOPBACK, POLICY_NET_PROXY, POLICY_NET_HOST };
enum policy_isolation { POLICY_ISOLATION_FULL, POLICY_ISOLATION_LANDLOCK };
enum policy_guard { POLICY_GUARD_NATIVE, POLICY_GUARD_COMPAT };
enum policy_landlock { POLICY_LANDLOCK_AUTO, POLICY_LANDLOCK_REQUIRE, POLICY_LANDLOCK_OFF };
enum policy_action { POLICY_ALLOW, POLICY_DENY, POLICY_ENOSYS, POLICY_KILL };
enum policy_cmp { POLICY_EQ, POLICY_NE, POLICY_LT, POLICY_LE, POLICY_GT, POLICY_GE, POLICY_MASKED_EQ };

struct policy_limits {
	uint64_t memory;	/* bytes, 0 = none */
	uint64_t swap;		/* bytes */
	uint32_t cpu_milli;	/* thousandths of a CPU, 0 = none */
	uint32_t pids;		/* processes and threads, jail init included; 0 = none */
	uint64_t wall_ms;	/* 0 = none */
	uint64_t cpu_ms;	/* CPU time summed over all processes, 0 = none */
	uint32_t open_files;
	uint64_t file_size;	/* bytes, one file */
	uint64_t output;	/* bytes, stdout and stderr together, 0 = none */
	uint64_t frame;		/* bytes, one protocol frame */
	enum policy_enforcement enforcement;
};

struct policy_tmpfs {
	uint64_t size;		/* bytes */
	uint64_t inodes;
};

/* "SRC" or "SRC:DST"; src is what the user wrote, not yet resolved. */
struct policy_mount {
	char *src, *dst;
	bool writable;
};

struct policy_files {
	char *root;		/* name of a root, never a path */
	struct policy_tmpfs tmp, work, shm;
	struct policy_mount *mounts;
	size_t n_mounts;
	bool exec_from_writable;
	char *hostname;
};

struct policy_arg {
	unsigned int index;	/* 0..5 */
	enum policy_cmp op;
	uint64_t mask;		/* POLICY_MASKED_EQ only */
	uint64_t value;
};

/*
 * One line of the system call part after groups are expanded and "!name" is applied.
 *
 * The list is in order of precedence. For one call with its arguments the first
 * rule of that name whose conditions all hold decides; where there is none, the
 * answer is default_error (ENOSYS for a call that libseccomp does not know).
 * The order: 1. "@never", then the group of isolation where it is not "full"
 * 2. "@floor", which starts and ends every program
 * 3. "syscalls.rules", the nearest policy of a chain of "extends" first
 * 4. "syscalls.deny"  5. the group of network.mode  6. "syscalls.allow".
 * So a rule with arguments may allow a part of what "deny" forbids, "deny" beats
 * "allow", and nothing in a policy beats 1 and 2. Inside a group its rules
 * come before its plain names. Rules behind an unconditional rule of
 * the same name can never match and are left out.
 */
struct policy_rule {
	char *name;		/* system call, kernel's name */
	enum policy_action action;
	int error;		/* errno for POLICY_DENY */
	struct policy_arg args[POLICY_RULE_ARGS_MAX];
	size_t n_args;		/* all must hold; 0 = any arguments */
	char *origin;		/* "@files", "@floor", "syscalls.rules[2]", "network.mode=none": where it comes from */
	char *reason;		/* a sentence, may be NULL */
	char *allow_with;	/* flag or policy line that would allow it, NULL = never offered */
};

struct policy_syscalls {
	int default_error;	/* errno of known calls that no rule names */
	struct policy_rule *rules; /* in order of precedence, see above */
	size_t n_rules;
};

struct policy_python {
	char **imports;
	enum policy_guard guard;
	char **preload;
	uint64_t operations;
	char **packages;	/* host directories */
};

struct policy {
	char *name, *description;
	char *origin;		/* "shipped" or the file's path */
	char **sources;		/* every file that it was read from, NULL-terminated */
	char sha256[65];	/* of the effective document in canonical form */
	struct policy_limits limits;
	struct policy_files files;
	enum policy_net net;
	char **net_allow;
	char **env_set;		/* "NAME=value" */
	char **env_pass;	/* "NAME" */
	struct policy_syscalls syscalls;
	struct policy_python python;
	enum policy_landlock landlock;
	enum policy_isolation isolation;
	struct json_t *doc;	/* the effective document, all defaults filled in */
};

/* One override, as a flag of the command line gives it: path "limits.memory", value "64M". */
struct policy_set {
	const char *path;
	const char *value;	/* scalar text, or one element to append to a list */
	const char *flag;	/* "--memory": named in errors instead of the path; may be NULL */
};

/*
 * Load by shipped name, or by path when `which` holds a '/' or ends in ".json".
 * Overrides are applied in order before the cross-field checks. For the list of
 * settings that takes "NAME=value" (env.set), a bare "NAME" means env.pass.
 * Errors: exit 2, with the JSON path or the flag, the value and the legal range.
 */
int policy_load(const char *which, const struct policy_set *sets, size_t n_sets, struct policy **ret, struct sj_err *err);
/*
 * Load from a document that a client sent; what it extends is a shipped policy, never a file.
 * Without "extends" it stands on `base`, which may be a file; NULL: on the defaults.
 * `name` stands for the document in errors. The document is not changed.
 */
int policy_load_doc(struct json_t *doc, const char *base, const char *name, const struct policy_set *sets, size_t n_sets,
		    struct policy **ret, struct sj_err *err);
/* The same conditions in the same order. */
bool policy_same_args(const struct policy_arg *a, size_t n_a, const struct policy_arg *b, size_t n_b);
/* Does a grant nothing that b does not? If not, why is a sentence. */
#define POLICY_LOOSER_MAX 200
bool policy_is_within(const struct policy *a, const struct policy *b, char why[POLICY_LOOSER_MAX]);
struct policy *policy_free(struct policy *p);	/* returns NULL */
void policy_freep(struct policy **p);
#define _cleanup_policy_ _cleanup_(policy_freep)

/* Shipped policies: index 0.. until NULL. */
const char *policy_shipped_name(size_t i);
const char *policy_shipped_text(const char *name, size_t *ret_len);

/* Names of the groups that a list of system calls may hold, a NULL-terminated list; the caller frees. */
int policy_group_names(char ***ret, struct sj_err *err);

/* Text for people and editors; the caller frees. NULL when out of memory. */
char *policy_print_json(const struct policy *p);
char *policy_print_expanded(const struct policy *p);	/* flat list of calls with origin, and the count */
char *policy_schema_json(void);
char *policy_schema_mdoc(void);				/* the body of smoljail-policy(5) */

/*
 * The rules of a group and no others, for whoever wants to know what it says of a call; no policy to run under.
 * The caller frees it.
 */
int policy_of_group(const char *name, struct policy **ret, struct sj_err *err);
/* What a group of system calls ("@threads") is for; the caller frees. NULL: no such group, or out of memory. */
char *policy_group_help(const char *name);
/* Is this path of the host among those that no suggestion offers (policies/never.json)? If so, why, as half a sentence. */
bool policy_never_offered(const char *path, char *ret_reason, size_t len);
/* May "SRC" or "SRC:DST" stand in files.read? */
bool policy_mount_possible(const char *text);

/* Number of distinct calls allowed, with or without argument rules. */
size_t policy_count_allowed(const struct policy *p);

/* ---- the kernel's constants by name ---- */

struct policy_constant {
	const char *name;
	uint32_t value;
	bool shown;		/* false: read in rules, but no name to show a value by */
};
const struct policy_constant *policy_constants(size_t *ret_n);	/* sorted by name */
/* "AF_UNIX", "CLONE_VM|CLONE_THREAD", "0x10", "7". False: no such name, or more than 64 bits. */
bool policy_parse_const(const char *text, size_t len, uint64_t *ret);
int policy_errno(const char *name);		/* "EPERM"; 0: no such name */
const char *policy_errno_name(int number);	/* NULL if it has none here */
const char *policy_action_name(enum policy_action action);	/* "allow", as a policy writes it */
const char *policy_cmp_name(enum policy_cmp op);		/* "==" */

/* "64M" -> 67108864, "1.5s" -> 1500. Errors as -EINVAL or -ERANGE. */
int policy_parse_size(const char *text, uint64_t *ret);
int policy_parse_time_ms(const char *text, uint64_t *ret);
/* 67108864 -> "64M"; exact or with one decimal. */
void policy_format_time(uint64_t ms, char *ret, size_t len); /* "90s", exact */
void policy_format_size(uint64_t bytes, char *ret, size_t len);

#endif
