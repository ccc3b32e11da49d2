/*
 * test_trace.c - what a trace keeps, counts and says
 *
 * Runs as: any user
 * Trusts: nothing
 * Never: starts a jail
 */
#include <fcntl.h>
#include <jansson.h>
#include <sys/syscall.h>

#include "tap.h"
#include "session/internal.h"

static const struct wire_python no_python;
static struct policy *policy;

static void call(struct session_trace *t, const char *name, const uint64_t args[6])
{
	const struct trace_from from = { .policy = policy, .python = &no_python, .listener = -1 };
	struct filter_verdict v = { 0 };
	int nr = filter_call_number(name);

	filter_decide(policy, nr, args, &v);
	trace_call(t, &from, nr, args, &v);
}

static size_t kept(const struct session_trace *t)
{
	size_t n = 0;

	while (trace_op(t, n))
		n++;
	return n;
}

static void test_one_kind_once(void)
{
	struct session_trace *t = trace_new();
	uint64_t args[6] = { 0 };

	for (uint64_t i = 0; i < 1000000; i++) {
		args[0] = i;
		args[1] = i * 4096;
		call(t, "getcwd", args);
	}
	is_int(1, kept(t), "a million calls that rules do not tell apart are one operation");
	ok(trace_op(t, 0)->count == 1000000, "counted");
	is_str("getcwd", trace_op(t, 0)->what, "named without its arguments");
	ok(trace_sum(t)->calls == 1000000 && trace_sum(t)->refused == 0 && trace_sum(t)->unkept == 0, "nothing refused or lost");
	trace_free(t);
}

static void test_arguments(void)
{
	struct session_trace *t = trace_new();
	const uint64_t unix_socket[6] = { 1, 1 }, inet[6] = { 2, 1 }, thread[6] = { 0x3d0f00, 0x7000 }, again[6] = { 0x3d0f00, 0x9000 };

	call(t, "socket", unix_socket);
	call(t, "socket", inet);
	call(t, "clone", thread);
	call(t, "clone", again);
	call(t, "clone3", again);
	is_int(4, kept(t), "arguments that rules look at tell operations apart, pointers do not");
	is_str("allowed", session_op_action_word(trace_op(t, 0)), "a unix socket is allowed");
	is_str("denied", session_op_action_word(trace_op(t, 1)), "an internet socket is denied");
	is_int(ENETUNREACH, trace_op(t, 1)->error, "with its own error");
	is_int(2, trace_op(t, 2)->count, "two threads are one operation");
	is_str("enosys", session_op_action_word(trace_op(t, 3)), "clone3 is answered with ENOSYS");
	is_int(2, trace_sum(t)->refused, "both are counted as refused");
	trace_free(t);
}

/* Ever new arguments of one call, then a call of another kind. */
static void test_bounds(void)
{
	struct session_trace *t = trace_new();
	uint64_t args[6] = { 0 };

	for (uint64_t i = 0; i < 100000; i++) {
		args[1] = 0x10000 + i;
		call(t, "ioctl", args);
	}
	is_int(SESSION_TRACE_PER_CALL, kept(t), "one call has room for so many kinds of use");
	ok(trace_sum(t)->unkept == 100000 - SESSION_TRACE_PER_CALL, "the others are counted");
	args[1] = 0;
	call(t, "uname", args);
	is_int(SESSION_TRACE_PER_CALL + 1, kept(t), "and other calls still have theirs");
	for (int nr = 0; nr < 500; nr++)
		for (uint64_t i = 0; i < 100; i++) {
			const struct trace_from from = { .policy = policy, .python = &no_python, .listener = -1 };
			const struct filter_verdict v = { .action = POLICY_DENY, .error = (int)i + 1 };

			trace_call(t, &from, nr, args, &v);
		}
	is_int(SESSION_TRACE_CALLS, kept(t), "there is an end to all of them together");
	trace_free(t);
}

static void test_json(void)
{
	struct session_trace *t = trace_new();
	struct session_report r = { .status = STATUS_OK, .exit_code = 0, .ran = true, .wall_us = 5000, .out_bytes = 3 };
	const uint64_t inet[6] = { 2, 1 };
	_cleanup_free_ char *text = NULL;
	_cleanup_json_ json_t *doc = NULL;
	json_t *op;

	r.usage.memory_peak = 1u << 20;
	r.usage.memory_hits = 1;
	call(t, "socket", inet);
	text = session_trace_json(t, &r, policy);
	doc = text ? json_loads(text, 0, NULL) : NULL;
	is_str("smoljail.trace/1", json_string_value(json_object_get(doc, "schema")), "a trace is JSON of its schema");
	op = json_array_get(json_object_get(doc, "operations"), 0);
	is_str("ENETUNREACH", json_string_value(json_object_get(op, "errno")), "an operation has its error by name");
	is_str("network.mode=none", json_string_value(json_object_get(op, "rule")), "and the rule that decided");
	ok(json_is_null(json_object_get(op, "where")), "a line that is not known is null");
	op = json_object_get(json_object_get(doc, "peaks"), "memory");
	ok(json_integer_value(json_object_get(op, "peak")) == 1 << 20 && json_is_true(json_object_get(op, "reached")),
	   "peaks say whether the limit was reached");
	is_str("ok", json_string_value(json_object_get(json_object_get(doc, "report"), "status")), "the report is in it");
	trace_free(t);
}

int main(void)
{
	struct sj_err err = { 0 };

	if (policy_load("python", NULL, 0, &policy, &err) < 0)
		return 1;
	test_one_kind_once();
	test_arguments();
	test_bounds();
	test_json();
	policy_free(policy);
	return done();
}
