/*
 * api_learn.c - policies learned from runs, for users of the library
 *
 * Runs as: the caller
 * Trusts: reports that sj_run_start() returned
 * Never: runs anything
 */
#include "session/session.h"
#include "workbench/workbench.h"

/* The public name of struct learn. */
static struct learn *inside(const struct sj_learn *learn)
{
	return (struct learn *)(uintptr_t)learn;
}

int sj_learn_new(struct sj_learn **ret, struct sj_err *err)
{
	struct learn *l = NULL;
	int r = learn_new(&l, err);

	if (r == 0)
		*ret = (struct sj_learn *)l;
	return r;
}

int sj_learn_add(struct sj_learn *learn, const struct sj_report *report, struct sj_err *err)
{
	return learn_add(inside(learn), &report->r, report->trace, report->policy, err);
}

int sj_learn_merge(struct sj_learn *learn, const char *policy, struct sj_err *err)
{
	return learn_merge(inside(learn), policy, err);
}

int sj_learn_policy(const struct sj_learn *learn, const char *what, char **ret, struct sj_learned *ret_sum,
		    struct sj_err *err)
{
	struct learn_sum sum;
	int r = learn_policy(inside(learn), what, ret, &sum, err);

	if (r == 0)
		*ret_sum = (struct sj_learned){
			.runs = sum.runs, .operations = sum.operations, .allowed = sum.allowed, .unkept = sum.unkept,
		};
	return r;
}

struct sj_learn *sj_learn_free(struct sj_learn *learn)
{
	learn_free(inside(learn));
	return NULL;
}
