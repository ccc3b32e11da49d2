/*
 * api_trace.c - what a traced program did, for users of the library
 *
 * Runs as: the caller
 * Trusts: a report that sj_run_start() returned
 * Never: does work of its own
 */
#include "filter/filter.h"
#include "session/session.h"

bool sj_report_trace_sum(const struct sj_report *report, struct sj_trace_sum *ret)
{
	const struct session_traced *sum;

	if (!report->trace)
		return false;
	sum = trace_sum(report->trace);
	*ret = (struct sj_trace_sum){ .calls = sum->calls, .refused = sum->refused, .unkept = sum->unkept };
	return true;
}

int sj_report_traced(const struct sj_report *report, size_t i, struct sj_traced *ret)
{
	const struct session_op *op = report->trace ? trace_op(report->trace, i) : NULL;

	if (!op)
		return -ENOENT;
	*ret = (struct sj_traced){
		.kind = session_op_kind_word(op->kind), .what = op->what, .syscall = op->call,
		.action = session_op_action_word(op), .count = op->count,
		.rule = op->rule && op->rule->origin ? op->rule->origin : "default",
		.file = op->where.file, .function = op->where.function, .line = op->where.line,
	};
	return 0;
}

int sj_report_peak(const struct sj_report *report, size_t i, struct sj_peak *ret)
{
	static const char *const units[] = { [UNIT_BYTES] = "bytes", [UNIT_NUMBER] = "", [UNIT_MS] = "ms" };
	struct session_peak k;

	if (!report->trace || !report->policy ||
	    !session_peak(trace_sum(report->trace), &report->r, report->policy, i, &k))
		return -ENOENT;
	*ret = (struct sj_peak){
		.name = k.name, .unit = units[k.unit], .peak = k.peak, .limit = k.limit, .reached = k.reached,
	};
	return 0;
}

char *sj_report_trace_json(const struct sj_report *report)
{
	return report->trace ? session_trace_json(report->trace, &report->r, report->policy) : NULL;
}
