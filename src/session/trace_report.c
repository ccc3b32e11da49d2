/*
 * trace_report.c - a trace as JSON, schema smoljail.trace/1, and the peaks of what is limited
 *
 * Runs as: the supervisor, after the jail is gone
 * Trusts: its own numbers; text from inside is made valid first
 * Never: leaves a key out
 */
#include <jansson.h>
#include <string.h>

#include "session/internal.h"

/* ---- peaks ---------------------------------------------------------------------- */

static uint64_t disk_limit(const struct policy *p)
{
	return p->files.tmp.size + p->files.work.size + p->files.shm.size;
}

static struct session_peak peak(const char *name, enum session_unit unit, uint64_t used, uint64_t limit, bool reached)
{
	return (struct session_peak){ .name = name, .unit = unit, .peak = used, .limit = limit, .reached = reached };
}

bool session_peak(const struct session_traced *t, const struct session_report *r, const struct policy *p, size_t i,
		  struct session_peak *ret)
{
	const struct policy_limits *l = &p->limits;
	const struct jail_usage *u = &r->usage;
	const struct session_peak peaks[] = {
		peak("memory", UNIT_BYTES, u->memory_peak, l->memory, r->status == STATUS_OOM || u->memory_hits),
		peak("pids", UNIT_NUMBER, u->pids_peak, l->pids, r->status == STATUS_PIDS_LIMIT || u->pids_hits),
		peak("cpu_time", UNIT_MS, u->cpu_us / 1000, l->cpu_ms, r->status == STATUS_CPU_LIMIT),
		peak("wall", UNIT_MS, r->wall_us / 1000, l->wall_ms, r->status == STATUS_TIMEOUT),
		peak("open_files", UNIT_NUMBER, t->files_peak, l->open_files, t->files_peak > l->open_files),
		peak("disk", UNIT_BYTES, t->disk_peak, disk_limit(p), r->status == STATUS_DISK_LIMIT || t->disk_full),
		peak("output", UNIT_BYTES, r->out_bytes + r->err_bytes, l->output, r->status == STATUS_OUTPUT_LIMIT),
	};

	if (i >= ARRAY_LEN(peaks))
		return false;
	*ret = peaks[i];
	return true;
}

static json_t *peaks_part(const struct session_traced *t, const struct session_report *r, const struct policy *p)
{
	static const char *const units[] = { [UNIT_BYTES] = "bytes", [UNIT_NUMBER] = "number", [UNIT_MS] = "ms" };
	json_t *all = json_object();
	struct session_peak k;

	for (size_t i = 0; session_peak(t, r, p, i, &k); i++)
		json_object_set_new(all, k.name, json_pack("{s:I, s:o, s:s, s:b}", "peak", (json_int_t)k.peak, "limit",
			k.limit ? json_integer((json_int_t)k.limit) : json_null(), "unit", units[k.unit],
			"reached", (int)k.reached));
	return all;
}

/* ---- operations -------------------------------------------------------------------- */

const char *session_op_kind_word(enum session_op_kind kind)
{
	static const char *const words[] = {
		[OP_CALL] = "call", [OP_FILE] = "file", [OP_PROGRAM] = "program", [OP_HOST] = "host",
	};

	return words[kind];
}

const char *session_op_action_word(const struct session_op *op)
{
	return op->action == POLICY_ALLOW ? "allowed" : op->action == POLICY_ENOSYS ? "enosys" : "denied";
}

static json_t *text(const char *s)
{
	char clean[SESSION_OP_TEXT * 3];

	text_clean(s, SESSION_OP_TEXT, clean, sizeof(clean), false);
	return json_string(clean);
}

static json_t *op_part(const struct session_op *op)
{
	const char *error = op->error ? strerrorname_np(op->error) : NULL;

	return json_pack("{s:s, s:o, s:s, s:s, s:o, s:s, s:I, s:o}", "kind", session_op_kind_word(op->kind),
			 "what", text(op->what), "syscall", op->call,
			 "action", session_op_action_word(op), "errno", error ? json_string(error) : json_null(),
			 "rule", op->rule && op->rule->origin ? op->rule->origin : "default",
			 "count", (json_int_t)op->count, "where", report_where(&op->where));
}

static json_t *ops_part(const struct session_trace *t)
{
	json_t *list = json_array();
	const struct session_op *op;

	for (size_t i = 0; (op = trace_op(t, i)); i++)
		json_array_append_new(list, op_part(op));
	return list;
}

static json_t *quiet_part(void)
{
	json_t *list = json_array();
	const char *name;

	for (size_t i = 0; (name = filter_quiet_name(i)); i++)
		json_array_append_new(list, json_string(name));
	return list;
}

char *session_trace_json(const struct session_trace *t, const struct session_report *r, const struct policy *p)
{
	const struct session_traced *sum = trace_sum(t);
	_cleanup_json_ json_t *doc = json_pack("{s:s, s:I, s:I, s:I, s:o, s:o, s:o, s:o}", "schema", "smoljail.trace/1",
		"calls", (json_int_t)sum->calls, "refused", (json_int_t)sum->refused, "unkept", (json_int_t)sum->unkept,
		"operations", ops_part(t), "peaks", p ? peaks_part(sum, r, p) : json_object(), "not_traced", quiet_part(),
		"report", report_object(r, p));

	return doc ? json_dumps(doc, JSON_INDENT(1) | JSON_REAL_PRECISION(15)) : NULL;
}
