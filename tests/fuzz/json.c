/*
 * json.c - fuzz target: base_json_parse() on any bytes
 *
 * Runs as: make fuzz
 * Trusts: nothing
 * Never: accepts what is nested too deep, or fails without words
 */
#include <stdlib.h>

#include "base/base.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_json_ struct json_t *j = NULL;
	struct sj_err err = { 0 };

	if (base_json_parse((const char *)data, size, "fuzz", &j, &err) == 0) {
		if (base_json_too_deep(j))
			abort();
	} else if (err.what[0] == '\0' || err.fix[0] == '\0') {
		abort();
	}
	return 0;
}
