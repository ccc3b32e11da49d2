/*
 * learn.h - what the files of `smoljail policy learn` share
 */
#ifndef SMOLJAIL_CLI_LEARN_H
#define SMOLJAIL_CLI_LEARN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "cli/cli.h"

#define LEARN_SCRIPTS_MAX 100000u	/* programs of one corpus */

/* How a run ended: what --check compares. */
struct learn_end {
	int out, err;			/* what it printed: memory files, -1 = not captured or already summed up */
	char status[24];
	int exit_code;
	char out_sum[65], err_sum[65];
	char **denied;			/* in words */
};

struct learn_job {
	const struct run_options *options;
	const char *out, *base, *merge, *corpus;
	bool check;
	bool capture;			/* output goes to memory files, and there is no input */
	char **scripts;			/* of the corpus; NULL: one program, by the options */
	size_t n;			/* programs */
};

/* One program in a jail. 0, or an exit status: the mistake has been told. */
int learn_run_one(const struct learn_job *job, const char *policy, bool learning, const char *script, struct learn_end *end,
		  struct sj_report **ret);
/* The files of a corpus, sorted. */
int learn_corpus(const char *path, char ***ret);

/* ---- ends of runs, and the second run (policy_learn_check.c) ---------------- */

struct learn_end *learn_ends_new(size_t n);
void learn_ends_free(struct learn_end *ends, size_t n);
int learn_end_note(struct learn_end *end, const struct sj_report *report);
/* Everything again under the new policy. 0: the same, 1: not, or an exit status. */
int learn_check(const struct learn_job *job, const struct learn_end *before);

#endif
