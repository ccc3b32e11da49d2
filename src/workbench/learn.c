/*
 * learn.c - what programs did, collected from the traces of their runs
 *
 * Runs as: outside the jail, after each run
 * Trusts: numbers, scalar arguments and answers of calls; text from programs only becomes comment
 * Never: takes for allowed what the jail refused
 */
#include <stdlib.h>
#include <string.h>

#include "filter/filter.h"
#include "workbench/learn.h"

#define LEARN_GROUP "@learn"
#define LEARN_POLICY "learn"

/* ---- the jail in which programs are watched -------------------------------------- */

/* In front of what the policy allows itself: so the rules that look at arguments come before plain names. */
static int put_group_first(json_t *doc)
{
	json_t *allow = json_object_get(json_object_get(doc, "syscalls"), "allow");

	return json_is_array(allow) ? json_array_insert_new(allow, 0, json_string(LEARN_GROUP)) : -1;
}

int learn_load(const char *base, const struct policy_set *sets, size_t n_sets, struct policy **ret, struct sj_err *err)
{
	_cleanup_policy_ struct policy *p = NULL;
	_cleanup_json_ json_t *doc = NULL;
	int r = policy_load(base ? base : LEARN_POLICY, sets, n_sets, &p, err);

	if (r < 0)
		return r;
	doc = json_deep_copy(p->doc);
	if (!doc || put_group_first(doc) < 0)
		return err_oom(err);
	return policy_load_doc(doc, NULL, p->name, NULL, 0, ret, err);
}

/* ---- collecting -------------------------------------------------------------------- */

int learn_new(struct learn **ret, struct sj_err *err)
{
	struct learn *l = calloc(1, sizeof(*l));

	if (l)
		l->ops = calloc(LEARN_OPS_MAX, sizeof(*l->ops));
	if (!l || !l->ops) {
		free(l);
		return err_oom(err);
	}
	*ret = l;
	return 0;
}

struct learn *learn_free(struct learn *l)
{
	if (!l)
		return NULL;
	policy_free(l->base);
	policy_free(l->old);
	free(l->ops);
	free(l);
	return NULL;
}

bool learn_agrees(const struct policy *p, const struct learn_op *op, struct filter_verdict *ret)
{
	filter_decide(p, op->nr, op->args, ret);
	return ret->action == op->action && ret->error == op->error;
}

bool learn_wants(const struct learn *l, const struct learn_op *op)
{
	return op->action == POLICY_ALLOW || (op->action == POLICY_ENOSYS && !l->old);
}

static struct learn_op *find(const struct learn *l, const struct session_op *op)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->ops[i].nr == op->nr && memcmp(l->ops[i].args, op->args, sizeof(op->args)) == 0)
			return &l->ops[i];
	return NULL;
}

static void add_op(struct learn *l, const struct session_op *op)
{
	struct learn_op *known = find(l, op);
	struct filter_verdict v = { 0 };

	if (known) {
		known->count += op->count;
		return;
	}
	if (l->n == LEARN_OPS_MAX) {
		l->unkept += op->count;
		return;
	}
	filter_decide(l->base, op->nr, op->args, &v);
	known = &l->ops[l->n++];
	*known = (struct learn_op){
		.nr = op->nr, .action = v.action, .error = v.error, .count = op->count, .rule = v.rule, .where = op->where,
	};
	memcpy(known->args, op->args, sizeof(known->args));
	memcpy(known->call, op->call, sizeof(known->call));
	memcpy(known->what, op->what, sizeof(known->what));
}

static void raise_to(uint64_t *peak, uint64_t value)
{
	if (value > *peak)
		*peak = value;
}

static void add_peaks(struct learn_peaks *k, const struct session_report *r, const struct session_traced *t)
{
	uint64_t wall;

	raise_to(&k->memory, r->usage.memory_peak);
	raise_to(&k->pids, r->usage.pids_peak);
	raise_to(&k->cpu_ms, (r->usage.cpu_us + 999) / 1000);
	raise_to(&k->wall_ms, (r->wall_us + 999) / 1000);
	raise_to(&k->files, t->files_peak);
	raise_to(&k->disk, t->disk_peak);
	raise_to(&k->output, r->out_bytes + r->err_bytes);
	/* The CPU time has that of the set-up in it, so the time has to. */
	wall = r->setup_us + r->wall_us;
	if (wall)
		raise_to(&k->cpus, (r->usage.cpu_us + wall - 1) / wall);
}

/* Names and rules of the report's policy end with it; the same document is loaded once for all runs. */
static int take_base(struct learn *l, const struct policy *p, struct sj_err *err)
{
	if (l->base && strcmp(l->base->sha256, p->sha256) == 0)
		return 0;
	if (!l->base)
		return policy_load_doc(p->doc, NULL, p->name, NULL, 0, &l->base, err);
	err_set(err, EINVAL, SJ_EXIT_USAGE, "E_LEARN_BASE", "the programs ran under different policies");
	err_fix(err, "learn from runs that have the same base and the same --allow");
	return -EINVAL;
}

int learn_add(struct learn *l, const struct session_report *r, const struct session_trace *t, const struct policy *p,
	      struct sj_err *err)
{
	const struct session_op *op;
	int error;

	if (!r->ran || !t || !p) {
		err_set(err, EINVAL, SJ_EXIT_USAGE, "E_LEARN_RUN", "there is nothing to learn from a program that did not run");
		return -EINVAL;
	}
	error = take_base(l, p, err);
	if (error < 0)
		return error;
	for (size_t i = 0; (op = trace_op(t, i)); i++)
		if (op->kind == OP_CALL)
			add_op(l, op);
	l->unkept += trace_sum(t)->unkept;
	l->runs++;
	add_peaks(&l->peaks, r, trace_sum(t));
	return 0;
}

int learn_merge(struct learn *l, const char *policy, struct sj_err *err)
{
	_cleanup_policy_ struct policy *p = NULL;
	int r = workbench_load(policy, &p, err);

	if (r < 0)
		return r;
	policy_free(l->old);
	l->old = steal_ptr(p);
	return 0;
}

void learn_where(const struct learn_op *op, char *ret, size_t len)
{
	ret[0] = '\0';
	if (op->where.file[0])
		snprintf(ret, len, " at %s:%d in %s", op->where.file, op->where.line, op->where.function);
}
