/*
 * fuzz_cases.c - fuzz target: a file of cases for `smoljail policy test`, and the words of its calls
 *
 * Runs as: make fuzz
 * Trusts: nothing
 * Never: says an argument in words that are not read as the same argument
 */
#include <stdlib.h>
#include <string.h>

#include "filter/filter.h"
#include "workbench/workbench.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Said in words and read again, the constants of a call are the same number. */
static void same_again(const struct workbench_case *c)
{
	char word[400];
	uint64_t value;

	for (unsigned int i = 0; i < 6; i++) {
		uint64_t mask = filter_arg_bits(c->nr, i) == 32 ? UINT32_MAX : UINT64_MAX;

		filter_describe_arg(c->nr, i, c->args[i], c->args[0], word, sizeof(word));
		if (!filter_parse_arg(word, &value) || ((value ^ c->args[i]) & mask))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct workbench_case cases[WORKBENCH_CASES_MAX];
	_cleanup_free_ char *copy = malloc(size + 1);
	struct sj_err err = { 0 };
	size_t n = 0;

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	copy[size] = '\0';
	if (workbench_cases_parse(copy, size, "fuzz", cases, &n, &err) < 0) {
		if (err.exit != SJ_EXIT_USAGE || !err.what[0] || !err.why[0] || !err.fix[0])
			abort();
		return 0;
	}
	for (size_t i = 0; i < n; i++)
		same_again(&cases[i]);
	return 0;
}
