/*
 * oci.h - system call profiles of containers, as the files that import and export them share them
 *
 * A profile is what Docker, Podman, containerd and the OCI runtimes read:
 * entries of names, an action and conditions, in no order. oci_read.c checks a
 * file's form and keeps it as the structs below, oci_select.c asks which
 * entries count here, oci_rules.c makes rules of them that decide in order,
 * oci_import.c writes these as a policy. region.c is the arithmetic of
 * conditions that oci_export.c needs for the way back, and oci_fixed.c to see
 * which rules never get to decide.
 */
#ifndef SMOLJAIL_WORKBENCH_OCI_H
#define SMOLJAIL_WORKBENCH_OCI_H

#include <jansson.h>

#include "filter/filter.h"
#include "workbench/workbench.h"

#define OCI_ENTRIES_MAX 8192	/* of "syscalls" */
#define OCI_NAMES_MAX 65536	/* in all of them together */
#define OCI_ARGS_MAX 32		/* conditions of one entry */
#define OCI_NAME_MAX 40		/* of a system call; longer ones are unknown */
#define OCI_PATH_MAX 160	/* of a place in a file, as errors and notes show it */
#define OCI_RULES_MAX 1024	/* with conditions, before it is seen which of them matter */
#define OCI_LISTED_MAX 8	/* names that one note gives before it counts the rest */

/* In the order of strictness. */
enum oci_action { OCI_ALLOW, OCI_LOG, OCI_ERRNO, OCI_TRACE, OCI_NOTIFY, OCI_TRAP, OCI_KILL_THREAD, OCI_KILL_PROCESS };

struct oci_arg {
	unsigned int index;
	enum policy_cmp op;
	uint64_t value, value_two; /* MASKED_EQ: the mask, and what is left under it */
};

/* Of "includes" and "excludes". Lists are borrowed from the document, NULL where absent. */
struct oci_when {
	json_t *caps, *arches;
	unsigned int kernel[2];	/* 0.0: any */
};

struct oci_entry {
	size_t index;		/* in "syscalls" */
	json_t *names;		/* array of strings; NULL: `name` is the only one */
	const char *name;
	enum oci_action action;
	int error;		/* of ERRNO, -1: not given */
	struct oci_arg args[OCI_ARGS_MAX];
	size_t n_args;
	struct oci_when includes, excludes;
};

struct oci_profile {
	json_t *doc;
	bool wrapped;		/* it stands under "linux.seccomp" of a config.json */
	enum oci_action action;
	int error;		/* -1: not given */
	struct oci_entry *entries;
	size_t n;
};

/* Who is told what: notes never stop the work. */
struct oci_notes {
	sj_policy_note_fn *fn;
	void *arg;
	bool wrapped;		/* paths begin with "linux.seccomp" */
};

void oci_note(const struct oci_notes *notes, const char *id, const char *path, const char *fmt, ...) _printf_(4, 5);
/* "syscalls[3].args[0]", as the file has it. arg < 0: the entry itself. */
void oci_path(const struct oci_notes *notes, size_t entry, long arg, char ret[OCI_PATH_MAX]);

/* ---- a file's form (oci_read.c, oci_form.c) -------------------------- */

int oci_parse(const char *text, size_t len, const char *name, struct oci_notes *notes, struct oci_profile *ret,
	      struct sj_err *err);
void oci_profile_free(struct oci_profile *p);
#define _cleanup_profile_ _cleanup_(oci_profile_free)

/* Where in a document: a chain of names from the inside out. */
struct oci_at {
	const struct oci_at *up;
	const char *key;	/* NULL: an index */
	size_t index;
};

struct oci_form {
	const char *file;
	struct oci_notes *notes;
	struct sj_err *err;
};

enum oci_type { OCI_STRING, OCI_NUMBER, OCI_LIST, OCI_STRINGS, OCI_OBJECT };

struct oci_key {
	const char *name;
	enum oci_type type;
	const char *ignored;	/* why it says nothing here; NULL: it is read */
};

int oci_refuse(const struct oci_form *f, const struct oci_at *at, const char *fmt, ...) _printf_(3, 4);
/* obj is an object, its known keys have their types; null stands for absent. Unknown keys are noted. */
int oci_check(const struct oci_form *f, const struct oci_at *at, json_t *obj, const struct oci_key *keys);
json_t *oci_get(json_t *obj, const char *key); /* NULL for null, too */
/* A number of up to 64 bits. */
int oci_number(const struct oci_form *f, const struct oci_at *at, json_t *value, uint64_t max, uint64_t *ret);
/* jansson has no unsigned numbers: those it cannot hold get quotes. NULL when out of memory. */
char *oci_quote_numbers(const char *text, size_t len, size_t *ret_len);
bool oci_kernel(const char *text, unsigned int ret[2]); /* "5.10" */

/* ---- which entries count (oci_select.c) ------------------------------- */

struct oci_here {
	const char *arch;	/* "amd64" */
	unsigned int kernel[2];
	char **caps;		/* "CAP_SYS_ADMIN" */
};

int oci_here(const struct sj_policy_import *from, struct oci_here *ret, struct sj_err *err);
void oci_here_free(struct oci_here *h);
bool oci_applies(const struct oci_entry *e, const struct oci_here *here);

/* ---- rules that decide in order (oci_rules.c, oci_args.c) ------------- */

struct oci_answer {
	enum policy_action action;	/* POLICY_DENY for ENOSYS too */
	int error;
};

struct oci_rule {
	int nr;
	struct oci_answer answer;
	struct policy_arg args[POLICY_RULE_ARGS_MAX];
	size_t n_args;
};

/* What a profile answers. For one call the strictest rule that matches decides, else `plain`, else `base`. */
struct oci_set {
	struct oci_answer base;
	struct oci_answer plain[FILTER_CALLS];
	bool has_plain[FILTER_CALLS];
	struct oci_rule *rules;		/* with conditions; the strictest first, else as in the file */
	size_t n_rules;
};

/* Names that share a note. */
struct oci_names {
	size_t n;
	char listed[OCI_LISTED_MAX][OCI_NAME_MAX + 4];
	size_t n_listed;
};
void oci_names_add(struct oci_names *names, const char *name);
void oci_names_note(const struct oci_notes *notes, const struct oci_names *names, const char *id, const char *what);

enum oci_fate { OCI_KEEP, OCI_ALWAYS, OCI_DROP };
/* One condition as a policy has it: kept, true for every call, or its rule is to be dropped. */
enum oci_fate oci_condition(int nr, const struct oci_arg *in, bool allows, struct policy_arg *ret, const char **ret_why);

bool oci_same(const struct oci_answer *a, const struct oci_answer *b);
int oci_strictness(const struct oci_answer *a);	/* 0: allowed */
int oci_rules(const struct oci_profile *p, const struct oci_here *here, const struct oci_notes *notes,
	      struct oci_set *ret, struct sj_err *err);
void oci_set_free(struct oci_set *set);

/* ---- arithmetic of conditions (region.c) ------------------------------ */

#define REGION_MAX 2048		/* pieces */

/* Calls whose arguments have these values in these bits. A pointer has one: is it other than 0? */
struct cube {
	uint64_t mask[POLICY_RULE_ARGS_MAX], value[POLICY_RULE_ARGS_MAX];
};

/* Pieces that do not overlap. */
struct region {
	struct cube *list;
	size_t n, size;
};

void region_free(struct region *r);
#define _cleanup_region_ _cleanup_(region_free)
int region_add(struct region *r, const struct cube *c); /* -ENOMEM, or -E2BIG past REGION_MAX */
/* All calls that meet the conditions, by the bits that the kernel reads. */
int region_of_args(int nr, const struct policy_arg *args, size_t n, struct region *ret);
int region_common(const struct region *a, const struct region *b, struct region *ret);
int region_without(const struct region *a, const struct region *b, struct region *ret);

/* ---- before any rule of a policy (oci_fixed.c) ------------------------- */

struct oci_fixed {
	struct policy *p;	/* with nothing but what is always there */
	struct {
		bool never;		/* no policy can allow it */
		bool floor, floor_part;	/* always allowed, or some of its uses */
		bool part;		/* some of its uses are decided */
		bool network;		/* the network section has rules for it */
	} calls[FILTER_CALLS];
};

int oci_fixed_read(struct oci_fixed *ret, struct sj_err *err);
void oci_fixed_free(struct oci_fixed *f);
/* Every call that the rule matches is decided before it; only_never: by what no policy can allow. */
bool oci_fixed_decides(const struct oci_fixed *f, const struct oci_rule *rule, bool only_never);
/* Every call of that number is decided by a rule of the set, or before. */
bool oci_fixed_and_rules_decide(const struct oci_fixed *f, const struct oci_set *s, int nr);

#endif
