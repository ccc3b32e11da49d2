/*
 * fuzz_filter.c - fuzz target: the system call rules of any policy, compiled, against the same rules asked in C
 *
 * Runs as: make fuzz
 * Trusts: nothing
 * Never: lets the compiled program answer a call in another way than filter_decide() says
 *
 * In front eight calls of 50 bytes, a number and six arguments; behind them the policy's "syscalls" as JSON.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "../filter/sim.h"

#define CALLS 8
#define CALL_BYTES 50

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct policy *load(const char *text, size_t len)
{
	_cleanup_json_ json_t *doc = json_object(), *calls = NULL;
	struct sj_err err = { 0 };
	struct policy *p = NULL;

	if (base_json_parse(text, len, "fuzz", &calls, &err) < 0)
		return NULL;
	if (json_object_set_new(doc, "syscalls", steal_ptr(calls)) < 0)
		return NULL;
	if (policy_load_doc(doc, NULL, "fuzz", NULL, 0, &p, &err) == 0)
		return p;
	if (p || err.exit != SJ_EXIT_USAGE || err.what[0] == '\0')
		abort();
	return NULL;
}

/* Near the values of a rule, where an off-by-one would show: arguments of a rule of that call are mixed in. */
static void call_of(const struct policy *p, const uint8_t *bytes, int *ret_nr, uint64_t args[6])
{
	const struct policy_rule *rule = p->syscalls.n_rules ? &p->syscalls.rules[bytes[0] % p->syscalls.n_rules] : NULL;

	memcpy(args, bytes + 2, 6 * sizeof(uint64_t));
	*ret_nr = bytes[0] | bytes[1] << 8;
	if (!rule || !(bytes[1] & 0x80))
		return;
	*ret_nr = filter_call_number(rule->name);
	for (size_t i = 0; i < rule->n_args; i++)
		args[rule->args[i].index] = rule->args[i].value + (int8_t)bytes[2 + 8 * rule->args[i].index] % 2 +
					    ((uint64_t)bytes[6 + 8 * rule->args[i].index] << 32);
}

static void same_answer(const struct policy *p, const struct filter_prog *prog, bool notify, int nr, const uint64_t args[6])
{
	struct filter_verdict v;

	if (nr < 0 || nr & 0x40000000)
		return;
	filter_decide(p, nr, args, &v);
	if (sim_run(prog, nr, args) != sim_verdict(&v, notify))
		abort();
}

static void check(const struct policy *p, const uint8_t *calls, bool notify)
{
	_cleanup_filter_ struct filter_prog prog = { 0 };
	struct sj_err err = { 0 };
	uint64_t args[6];
	int nr;

	if (filter_compile(p, notify, &prog, &err) < 0) {
		if (err.what[0] == '\0' || err.exit == 0)
			abort();
		return;
	}
	if (!sim_valid(&prog))
		abort();
	for (size_t i = 0; i < CALLS; i++) {
		call_of(p, calls + i * CALL_BYTES, &nr, args);
		same_answer(p, &prog, notify, nr, args);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_policy_ struct policy *p = NULL;

	if (size <= CALLS * CALL_BYTES)
		return 0;
	p = load((const char *)data + CALLS * CALL_BYTES, size - CALLS * CALL_BYTES);
	if (p)
		check(p, data, data[0] & 1);
	return 0;
}
