/*
 * internal.h - what the files of policy/ share
 *
 * The way of a policy: source.c reads the documents of a chain of "extends",
 * walk.c carries each of them through the field table (schema.c) into one
 * effective document and the plain struct, value.c converts single values,
 * lists.c merges lists, rules.c and calls.c make the list of system call
 * rules, check.c looks at what no single field can know.
 */
#ifndef SMOLJAIL_POLICY_INTERNAL_H
#define SMOLJAIL_POLICY_INTERNAL_H

#include <jansson.h>

#include "policy/policy.h"

#define POLICY_NAME_MAX 64	/* of a policy or a root */
#define POLICY_TEXT_MAX 4096	/* of a description, a path, a reason */
#define POLICY_VALUE_MAX 65536	/* of one environment variable */
#define POLICY_LIST_MAX 512	/* entries of a list that has no maximum of its own */
#define POLICY_WHY_MAX 384	/* of a sentence that says why a value is refused */
#define POLICY_GROUPS_MAX 96
#define POLICY_NEST_MAX 8	/* groups that include groups */
#define POLICY_DEFAULT "default" /* the document that every chain ends in */

/* ---- memory: the policy and everything that lives as long (arena.c) -- */

struct chunk;

struct span {
	const char *s;
	size_t len;
};

/* A group of policies/groups.json; the spans lead into the shipped text. */
struct group {
	struct span name, help, allow, rules; /* the last two: the text of the lists, empty when absent */
};

struct groups {
	struct group list[POLICY_GROUPS_MAX];
	size_t n;
};

struct policy_own {
	struct policy p;	/* first: a struct policy made here is one of these */
	struct chunk *chunks;
	struct policy_rule *rules;
	struct groups groups;
};

void *arena_alloc(struct policy_own *own, size_t size); /* zeroed; NULL when out of memory */
char *arena_strndup(struct policy_own *own, const char *s, size_t len);
void arena_free(struct policy_own *own);

/* ---- the field table (schema.c) ------------------------------------ */

enum field_type {
	T_SECTION,		/* an object with fields of its own */
	T_SIZE, T_TIME, T_CPUS, T_INT, T_BOOL, T_ENUM, T_STRING,
	T_ERRNO,		/* "EPERM" */
	T_CONST,		/* integer, "0x1f", or names of constants joined by "|" */
	T_LIST,			/* strings; "!x" takes x out */
	T_CALLS,		/* strings in order: calls, "@groups", "!" before either takes out (calls.c) */
	T_MAP,			/* name: string, null takes the name out */
	T_OBJECTS,		/* list of objects whose fields are "path[].x" */
};

enum field_flag {
	F_NONE = 1,		/* 0 or "none": no limit */
	F_LATER = 2,		/* known, but not in this version: refused by name, not offered */
	F_REQUIRED = 4,
	F_OWN = 8,		/* of the document itself: not inherited by "extends" */
};

struct word {
	const char *word;
	int value;
	bool later;		/* as F_LATER */
};

/* Refuses one string (a whole value or a list's entry) by a sentence in why. */
typedef bool field_check_fn(const char *text, char why[POLICY_WHY_MAX]);

struct field {
	const char *path;	/* "files.tmp.size", "syscalls.rules[].name" */
	size_t key_at;		/* where the last name starts in path */
	enum field_type type;
	unsigned int flags;
	size_t offset, size;	/* in struct policy, or in the element of a T_OBJECTS; size 0: not stored */
	uint64_t min, max;	/* numbers: legal range; strings: longest; lists: most entries */
	const struct word *words; /* T_ENUM, ends with a NULL word */
	field_check_fn *check;
	const char *help;	/* one sentence or more, for people */
};

extern const struct field policy_fields[];
extern const size_t policy_n_fields;

const struct field *field_child(const struct field *parent, const char *key); /* parent NULL: top level */
bool field_is_child(const struct field *parent, const struct field *f);
const struct field *field_by_path(const char *path);
const char *field_key(const struct field *f);
/* "64M to 1T, or 0 for none"; "one of none, loopback, host"; empty where there is nothing to say. */
void field_range_text(const struct field *f, char *ret, size_t len);
const char *field_type_text(const struct field *f); /* "a size: ..." */
/* The value in policies/default.json as compact JSON; empty when it has none. */
void field_default_text(const struct field *f, char *ret, size_t len);
/* Follow a dotted path through a document. Borrowed; NULL if there is nothing. */
json_t *doc_get(json_t *doc, const char *path);

/* ---- one document through the table (walk.c, value.c, lists.c) ------ */

/* Where in a document: a chain of names from the inside out, printed only in errors. */
struct at {
	const struct at *up;
	const char *key;	/* NULL: an index */
	size_t index;
};

struct walk {
	struct policy_own *own;
	const char *doc;	/* names the document in errors: "policy python", "a/b.json" */
	const char *flag;	/* "--memory": named instead of document and path */
	struct sj_err *err;
};

/* Merge obj into the effective object `into` (NULL: only check) and store scalars in base. */
int walk_object(struct walk *w, const struct at *at, const struct field *parent, json_t *obj, json_t *into,
		void *base);
/* One override as a document of one field. */
int walk_set(struct walk *w, const struct policy_set *set);

/* Check a scalar and store it; *ret_normal is the value in its normal form for the effective document. */
int value_store(struct walk *w, const struct at *at, const struct field *f, json_t *in, void *base,
		json_t **ret_normal);
/* Text of a flag as the JSON value that a document would hold. */
int value_from_text(struct walk *w, const struct field *f, const char *text, json_t **ret);

int list_merge(struct walk *w, const struct at *at, const struct field *f, json_t *in, json_t *into);
int map_merge(struct walk *w, const struct at *at, const struct field *f, json_t *in, json_t *into);
/* Lists of the effective document into the arrays of the struct. */
int lists_finish(struct walk *w);

/* ---- refusals, always exit 2 (refuse.c) ----------------------------- */

int refuse_key(struct walk *w, const struct at *at, const struct field *parent, const char *key);
int refuse_later(struct walk *w, const struct at *at, const struct field *f, const char *what);
int refuse_missing(struct walk *w, const struct at *at, const struct field *f);
int refuse_type(struct walk *w, const struct at *at, const struct field *f, const json_t *value);
int refuse_range(struct walk *w, const struct at *at, const struct field *f, const json_t *value);
/* why is a finished sentence; f may be NULL. */
int refuse_value(struct walk *w, const struct at *at, const struct field *f, const char *value, const char *why);
int refuse_word(struct walk *w, const struct at *at, const char *id, const char *what, const char *word,
		const char *why, const char *const *names, size_t n);
void at_text(const struct at *at, char *ret, size_t len);

/* ---- checks of single strings (text.c) ------------------------------ */

field_check_fn text_name, text_hostname, text_mount, text_dir, text_env_name, text_call, text_call_entry, text_extends;
/* "SRC[:DST]" in two; dst is SRC where none is given. Lengths lead into text. */
void text_split_mount(const char *text, size_t *ret_src_len, const char **ret_dst);

/* ---- system calls (rules.c, calls.c, groups.c, constants.c) ---------- */

/* "syscalls.rules" of a document: checked, and put before those already in `into`. */
int rules_merge(struct walk *w, const struct at *at, const struct field *f, json_t *in, json_t *into);
/* One rule of the effective document. */
int rules_read(struct walk *w, const struct at *at, json_t *in, struct policy_rule *ret);

int groups_open(struct groups *ret);			/* -EINVAL: the shipped text is damaged */
int groups_damaged(struct sj_err *err);			/* that in words */
const struct group *groups_find(const struct groups *g, const char *name, size_t len);
void groups_unescape(char *s);				/* in place; only \" and \\ are known */
bool groups_implicit(const char *name);			/* stands in no policy: "@never", "@floor", "@privileged", "@net-...", "@isolation-..." */
/* Walk a list; *pos starts as the list's span. 1 = one more, 0 = end, -EINVAL. */
int groups_next_name(struct span *pos, struct span *ret);
int groups_next_rule(struct policy_own *own, struct span *pos, struct policy_rule *ret);

int calls_expand(struct walk *w);
int calls_of_group(struct policy_own *own, const char *name, struct sj_err *err); /* its rules, and no others */

const char *const *const_names(size_t *ret_n);
const char *const *errno_names(size_t *ret_n);
extern const struct word policy_action_words[], policy_cmp_words[];

/* ---- documents (source.c, embed.c) ----------------------------------- */

struct source {
	char *name;		/* as errors name it */
	char *path;		/* NULL: shipped */
	uint64_t dev, ino;
	json_t *doc;
};

struct chain {
	struct source docs[POLICY_EXTENDS_MAX + 1]; /* 0 = the one that was asked for */
	size_t n;
};

int chain_read(const char *which, struct chain *ret, struct sj_err *err);
void chain_free(struct chain *c);
/* A policy from the documents of a chain (policy.c). */
int policy_from_chain(const struct chain *chain, const struct policy_set *sets, size_t n_sets, struct policy **ret,
		      struct sj_err *err);

/* ---- the whole (check.c, units.c) ------------------------------------ */

int check_policy(struct walk *w);
int parse_milli(const char *text, uint64_t *ret);	/* "1.5" -> 1500 */

#endif
