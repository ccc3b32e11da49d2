/*
 * kernel.c - does the running kernel have a system call?
 *
 * Runs as: the caller
 * Trusts: /proc/kallsyms, the kernel's list of its own functions
 * Never: makes the call to find out: some do harm with any arguments
 */
#include <stdio.h>
#include <string.h>

#include "workbench/internal.h"

#ifdef __x86_64__
#define PREFIX "__x64_sys_"
#else
#define PREFIX "__arm64_sys_"
#endif
#define SURE "read"	/* a call that every kernel has: without it the list is no list of calls */

/* Calls whose function in the kernel has another name. */
static const char *function_of(const char *name)
{
	static const char *const other[][2] = {
		{ "stat", "newstat" }, { "lstat", "newlstat" }, { "fstat", "newfstat" }, { "uname", "newuname" },
		{ "sendfile", "sendfile64" }, { "umount2", "umount" },
	};

	for (size_t i = 0; i < ARRAY_LEN(other); i++)
		if (strcmp(name, other[i][0]) == 0)
			return other[i][1];
	return name;
}

enum kernel_call kernel_has_call(const char *name)
{
	_cleanup_file_ FILE *f = fopen("/proc/kallsyms", "re");
	const char *wanted = function_of(name);
	char line[512], symbol[256], type;
	bool sure = false, has = false;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%*x %c %255s", &type, symbol) != 2 || !str_prefix(symbol, PREFIX))
			continue;
		/* A weak one stands for a call that this kernel was built without. */
		if (strcmp(symbol + strlen(PREFIX), SURE) == 0)
			sure = true;
		if (strcmp(symbol + strlen(PREFIX), wanted) == 0 && (type == 'T' || type == 't'))
			has = true;
	}
	return !sure ? KERNEL_UNKNOWN : has ? KERNEL_HAS : KERNEL_LACKS;
}
