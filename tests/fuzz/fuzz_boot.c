/*
 * fuzz_boot.c - fuzz target: wire_boot_parse() on any bytes, and what it accepts filled again
 *
 * Runs as: make fuzz
 * Trusts: nothing
 * Never: accepts a record that does not come out the same when it is written anew
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Exact size and alignment, so that a read past the end is seen. */
static void *copied(const uint8_t *data, size_t size)
{
	void *copy = malloc(size ? size : 1);

	if (copy && size)
		memcpy(copy, data, size);
	return copy;
}

static void same_again(const struct wire_boot_view *v, const void *data, size_t size)
{
	struct wire_boot_spec spec = {
		.mode = (enum wire_mode)v->head->mode, .flags = v->head->flags,
		.insns = v->insns, .n_insns = v->head->n_insns,
		.args = (char *const *)(uintptr_t)v->args, .paths = (char *const *)(uintptr_t)v->paths,
		.code = v->code, .code_len = v->head->code,
	};
	int fd = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	char *again = calloc(1, size + 1);

	if (fd < 0 || !again || wire_boot_fill(fd, &spec) < 0)
		abort();
	if (pread(fd, again, size + 1, 0) != (ssize_t)size || memcmp(again, data, size) != 0)
		abort();
	free(again);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wire_boot_view v;
	void *copy = copied(data, size);

	if (copy && wire_boot_parse(copy, size, &v) == 0) {
		same_again(&v, copy, size);
		wire_boot_view_clear(&v);
	}
	free(copy);
	return 0;
}
