/*
 * learn.h - what the files of `policy learn` share
 *
 * The way of a learned policy: learn.c collects what programs did, by traces;
 * learn_cover.c finds groups, names and rules that allow just that;
 * learn_limits.c makes limits of peaks; learn_write.c puts the document together.
 */
#ifndef SMOLJAIL_WORKBENCH_LEARN_H
#define SMOLJAIL_WORKBENCH_LEARN_H

#include <jansson.h>

#include "filter/filter.h"
#include "session/session.h"
#include "workbench/workbench.h"

#define LEARN_OPS_MAX 4096u	/* distinct operations of all runs together */

/* Head room: a group may bring so much that was not used for each thing that was (LEARN_SPARE of it unused). */
#define LEARN_GROUP_MIN 2u	/* used members below which single names are plainer */
#define LEARN_GROUP_SPARE 2u	/* unused members * this <= used members */

/* And of limits: peaks times this, rounded up, and never less than the smallest (learn_limits.c). */
#define LEARN_ROOM 2u
#define LEARN_ROOM_TIME 10u	/* other machines, and busy ones, are slower by more than that they use more memory */
#define LEARN_ROOM_OUTPUT 4u

struct learn_op {
	int nr;
	uint64_t args[6];		/* in normal form under the base */
	enum policy_action action;
	int error;
	uint64_t count;
	const struct policy_rule *rule;	/* of the base: which decided */
	char call[32], what[SESSION_OP_TEXT];
	struct session_where where;	/* of the first */
};

/* 0: nothing is known. */
struct learn_peaks {
	uint64_t memory, pids, cpu_ms, wall_ms, files, disk, output, cpus, nothing;
};

struct learn {
	struct policy *base;		/* what the programs ran under */
	struct policy *old;		/* to unite with; NULL: none */
	struct learn_op *ops;
	size_t n, runs;
	uint64_t unkept;		/* operations that a trace had no room for */
	struct learn_peaks peaks;
};

/* Does a policy answer the operation as the base did? */
bool learn_agrees(const struct policy *p, const struct learn_op *op, struct filter_verdict *ret);
/*
 * Is the operation to be answered as it was? Refusals come by themselves, and an older policy may allow them;
 * but what was answered with ENOSYS is no refusal: programs look for another way.
 */
bool learn_wants(const struct learn *l, const struct learn_op *op);
/* " at FILE:LINE in FUNCTION", or "". */
void learn_where(const struct learn_op *op, char *ret, size_t len);

/* The section "syscalls" of the smallest policy that agrees on every operation. `doc` is the rest of the document. */
int learn_cover(const struct learn *l, json_t *doc, json_t **ret_syscalls, struct sj_err *err);
/* Set limits and sizes in the document, with a comment in "limits"; `defaults` where nothing is known. */
int learn_limits(const struct learn *l, json_t *doc, json_t *defaults, struct sj_err *err);
/* Append what is not in the list yet; 0 or -1. */
int learn_unite(json_t *into, json_t *from);
/* One more line of a comment; 0 or -1. */
int learn_say(json_t *list, const char *fmt, ...) _printf_(2, 3);

#endif
