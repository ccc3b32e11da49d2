/*
 * manifest.c - fuzz target: the manifest parser of src/root on any bytes
 *
 * Runs as: make fuzz
 * Trusts: nothing
 * Never: lets a path leave the root, or fails without words
 */
#include <stdlib.h>
#include <string.h>

#include "root/internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct manifest *m)
{
	for (size_t i = 0; i < m->n; i++) {
		const struct manifest_entry *e = &m->entries[i];

		if (manifest_lookup(m, e->path) != e || e->mode > 0777)
			abort();
		if (e->path[0] == '/' || strncmp(e->path, "../", 3) == 0 || strstr(e->path, "/../"))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_manifest_ struct manifest m = { 0 };
	struct sj_err err = { 0 };
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (manifest_parse(text, size, "fuzz", &m, &err) == 0)
		check(&m);
	else if (err.what[0] == '\0' || err.fix[0] == '\0')
		abort();
	return 0;
}
