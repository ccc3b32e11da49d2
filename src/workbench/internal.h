/*
 * internal.h - what the files of workbench/ share
 */
#ifndef SMOLJAIL_WORKBENCH_INTERNAL_H
#define SMOLJAIL_WORKBENCH_INTERNAL_H

#include <jansson.h>

#include "filter/filter.h"
#include "workbench/workbench.h"

/* ---- words for people (words.c) -------------------------------------- */

#define WORDS_MAX 512

/* A text that grows; a failure is kept until its end. */
struct page {
	struct buf b;
	bool failed;
};
#define PAGE_INIT ((struct page){ .b = BUF_INIT(WORKBENCH_TEXT_MAX) })
#define _cleanup_page_ _cleanup_(page_free)

void page_put(struct page *p, const char *fmt, ...) _printf_(2, 3);
/* A string of a policy, without what a terminal or a line would take for something else. */
void page_plain(struct page *p, const char *s);
char *page_end(struct page *p);			/* the caller frees; NULL: out of memory, or too long */
void page_free(struct page *p);

/* "argument 0 is AF_INET and argument 1 has SOCK_CLOEXEC"; "any arguments" without conditions. */
void words_conditions(const struct policy_rule *rule, int nr, char ret[WORDS_MAX]);
/* "refused with EPERM (Operation not permitted)". */
void words_verdict(const struct filter_verdict *v, char ret[WORDS_MAX]);
const char *words_answer(const struct filter_verdict *v);	/* "allow", "kill", "EPERM" */
/* What would allow it; empty: nothing is offered. */
void words_remedy(const struct filter_verdict *v, int nr, const uint64_t args[6], char ret[WORDS_MAX]);
bool words_never(const struct policy_rule *rule);	/* no policy can change this rule */
const char *words_origin(const struct policy_rule *rule); /* "default" without a rule */
char *words_json(json_t *doc);				/* as text that ends in a newline; NULL: out of memory */

/* ---- what two policies answer to one call (meaning.c) ------------------ */

#define MEANING_POINTS_MAX 65536u	/* combinations of arguments that are asked */
#define MEANING_CHANGES_MAX 64

struct meaning_change {
	struct filter_verdict a, b;
	uint64_t args[6];		/* an example */
};

struct meaning {
	struct meaning_change changes[MEANING_CHANGES_MAX]; /* one for each two rules that decide differently */
	size_t n;
	size_t asked, allowed_a, allowed_b; /* combinations of arguments */
	bool whole;			/* false: too many conditions to ask for every combination */
};

int meaning_compare(const struct policy *a, const struct policy *b, int nr, struct meaning *ret, struct sj_err *err);

/* ---- the rest of two policies (diff_settings.c) ------------------------- */

/* A list of differences: what the second could newly do, could no longer do, and what is only otherwise. */
struct diff {
	json_t *more, *less, *other;
	bool failed;			/* out of memory */
};

enum diff_way { DIFF_MORE, DIFF_LESS, DIFF_OTHER };
void diff_add(struct diff *d, enum diff_way way, const char *kind, const char *fmt, ...) _printf_(4, 5);
void diff_settings(struct diff *d, const struct policy *a, const struct policy *b);

/* ---- what a policy may grant (risks.c, risk_tests.c) --------------------- */

#define RISK_WHOLE 1000u	/* a share is in thousandths */

/* How much of it at the `at`-th place, from 0; detail is the path or name there, or empty. 0: no such place. */
typedef unsigned int risk_fn(const struct policy *p, size_t at, char detail[WORDS_MAX]);

struct risk {
	const char *id;			/* stable */
	unsigned int weight;		/* beside the others; 0: no policy can allow it */
	bool note;			/* `check` tells it */
	const char *path;		/* JSON path of the setting */
	const char *title, *why, *ref;	/* a few words; a sentence; manual pages and faults */
	risk_fn *test;			/* NULL: the call, with these arguments */
	const char *call;
	uint64_t args[6];
};

extern const struct risk workbench_risks[];	/* ends with a NULL id */
/* As risk_fn, for calls too: detail is then where the rule comes from. */
unsigned int risk_share(const struct risk *risk, const struct policy *p, size_t at, char detail[WORDS_MAX]);

risk_fn risk_service_socket, risk_secret_path, risk_wide_folder, risk_host_write, risk_host_read, risk_host_network,
	risk_secret_env, risk_no_memory, risk_no_pids, risk_no_wall, risk_no_cpus, risk_no_output, risk_best_effort,
	risk_exec_writable, risk_weak_isolation, risk_no_landlock, risk_call_surface;

/* ---- questions to a policy (cases.c, live.c) ------------------------------ */

int workbench_cases_read(const char *file, struct workbench_case **ret, size_t *ret_n, struct sj_err *err);
/* A policy for live_ask(): with a limit of time, since a call may wait for ever. */
int live_load(const char *policy, struct policy **ret, struct sj_err *err);
/* What the call does in a real jail; the rule is known only for a refusal that was seen. */
int live_ask(const struct policy *p, const struct workbench_case *c, struct filter_verdict *ret, struct sj_err *err);

/* ---- the running kernel (kernel.c) ------------------------------------ */

enum kernel_call { KERNEL_UNKNOWN, KERNEL_HAS, KERNEL_LACKS };
/* By the kernel's own list of its functions; unknown where that cannot be read. */
enum kernel_call kernel_has_call(const char *name);

#endif
