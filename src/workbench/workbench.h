/*
 * workbench.h - tools for authors of policies: what a policy means, where it is loose, what a program needs
 *
 * A policy file is read here as everywhere: by policy/, with nothing of it
 * trusted. What a system call does under a policy is never guessed from the
 * policy's text: filter/ decides, the same code that writes the program that
 * the kernel runs. Nothing here prints: functions return text for people, or
 * JSON for programs, that the command line prints. Strings of a policy in that
 * text have lost their control characters.
 */
#ifndef SMOLJAIL_WORKBENCH_H
#define SMOLJAIL_WORKBENCH_H

#include "base/base.h"
#include "policy/policy.h"

#define WORKBENCH_TEXT_MAX (4u << 20)	/* bytes of a text for people */

/*
 * Load a policy by name or file, with the checks of its system calls too, which
 * policy_load() leaves to whoever makes the filter. Errors: as of policy_load()
 * and filter_compile().
 */
int workbench_load(const char *policy, struct policy **ret, struct sj_err *err);

/* ---- learn: the smallest policy that lets programs do what they did (learn.c ...) ---- */

struct learn;
struct session_report;
struct session_trace;

struct learn_sum {
	size_t runs, operations;
	size_t allowed;			/* distinct system calls, the floor included */
	uint64_t unkept;		/* calls that are not covered: there was no room for them */
};

/* The jail to learn in: base (NULL: the shipped "learn") with the group "@learn" in front of its own system calls. */
int learn_load(const char *base, const struct policy_set *sets, size_t n_sets, struct policy **ret, struct sj_err *err);
int learn_new(struct learn **ret, struct sj_err *err);
struct learn *learn_free(struct learn *l);	/* returns NULL */
/* What one run did; all of them under the same policy. Errors: E_LEARN_RUN, E_LEARN_BASE. */
int learn_add(struct learn *l, const struct session_report *r, const struct session_trace *t, const struct policy *p,
	      struct sj_err *err);
/* What the policy allows, the result allows too, and its limits are no smaller. */
int learn_merge(struct learn *l, const char *policy, struct sj_err *err);
/* The result as text of a policy file that loads; `what` names the programs in its comment. The caller frees *ret. */
int learn_policy(const struct learn *l, const char *what, char **ret, struct learn_sum *ret_sum, struct sj_err *err);

/*
 * What a call does under a policy: by which rule, why, in this kernel, and what would allow it. Without
 * arguments (n = 0): all rules of the call in their order. The caller frees *ret. Errors: exit 2 for a call or
 * an argument that is not understood.
 */
int workbench_explain(const struct policy *p, const char *call, char *const *args, size_t n, bool json, char **ret,
		      struct sj_err *err);

/*
 * What a program could newly do under b, and no longer, compared with a: by what they answer, not by their
 * texts. *ret_same: nothing at all. The caller frees *ret.
 */
int workbench_diff(const struct policy *a, const struct policy *b, bool json, char **ret, bool *ret_same,
		   struct sj_err *err);
/* ---- policies from and for other programs (oci_import.c, oci_export.c, bwrap.c) ---- */

/*
 * A policy, as text, from a profile or a command line of another sandbox. What changes its meaning goes to fn, which
 * may be NULL. The result is never looser than the original but for the runtime floor, and is known to load.
 */
int workbench_import(const struct sj_policy_import *from, sj_policy_note_fn *fn, void *arg, char **ret, struct sj_err *err);
/* The text of a profile is bounded by POLICY_FILE_MAX; `name` stands for it in errors. */
int workbench_import_oci(const char *text, size_t len, const char *name, const struct sj_policy_import *from,
		      sj_policy_note_fn *fn, void *arg, char **ret, struct sj_err *err);
int workbench_import_bwrap(const struct sj_policy_import *from, sj_policy_note_fn *fn, void *arg, char **ret,
			struct sj_err *err);
/* The system call part of a policy as a profile for containers. */
int workbench_export(const struct policy *p, enum sj_policy_profile form, sj_policy_note_fn *fn, void *arg, char **ret,
		  struct sj_err *err);

/* What a legal policy grants that its author should know about: stable id, JSON path or rule, a sentence with a reference. */
typedef void workbench_note_fn(void *arg, const char *id, const char *path, const char *sentence);
size_t workbench_check(const struct policy *p, workbench_note_fn *fn, void *arg); /* returns the number of notes */

/* How much a policy leaves open, from 0 (only the runtime floor, within limits) to 10 (all that matters). */
double workbench_exposure(const struct policy *p);
/* That as a line; with a line for each protection that is missing, worst first; or as JSON. The caller frees *ret. */
enum workbench_score_form { WORKBENCH_SCORE_LINE, WORKBENCH_SCORE_PARTS, WORKBENCH_SCORE_JSON };
int workbench_score(const struct policy *p, enum workbench_score_form form, char **ret, struct sj_err *err);

/*
 * A file of cases, CALL [ARGUMENT...] = ANSWER a line (allow, kill, or the name of an error), against a policy:
 * asked of the compiled filter, or live: each call made in a real jail. *ret: a line for each that is not as
 * wanted, and the count; *ret_right: there is none. The caller frees *ret.
 */
int workbench_test(const char *policy, const char *file, bool live, bool json, char **ret, bool *ret_right, struct sj_err *err);

#define WORKBENCH_CASES_MAX 4096	/* in one file */
struct workbench_case {
	int line, nr;
	uint64_t args[6];
	enum policy_action action;	/* as the filter answers: ENOSYS is POLICY_ENOSYS */
	int error;
};
/* One line, which is cut up; the whole text, of which `file` is the name. Errors: exit 2. */
int workbench_case_parse(char *line, struct workbench_case *ret, struct sj_err *err);
int workbench_cases_parse(char *text, size_t len, const char *file, struct workbench_case *ret, size_t *ret_n, struct sj_err *err);

/* A commented policy from a few answers, known to load. Errors: exit 2, with the answer. The caller frees *ret. */
int workbench_new(const struct sj_policy_answers *answers, char **ret, struct sj_err *err);
const char *workbench_kind(size_t i);	/* kinds of programs: i from 0 until NULL */

#endif
