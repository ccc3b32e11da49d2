/*
 * probe.c - find the act, perform it, print what came out
 *
 * Runs as: an untrusted program inside a jail
 * Trusts: its arguments
 * Never: does anything that would harm a host if the jail failed
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probe.h"

static const struct act *const groups[] = { acts_kernel, acts_files, acts_limits, acts_net };

int raw(long nr, long a, long b, long c, long d, long e)
{
	return syscall(nr, a, b, c, d, e) < 0 ? -errno : 0;
}

static int list(void)
{
	for (size_t g = 0; g < sizeof(groups) / sizeof(groups[0]); g++)
		for (const struct act *a = groups[g]; a->name; a++)
			printf("%-24s %s\n", a->name, a->help);
	return 0;
}

static int perform(const struct act *a, char **args)
{
	int r = a->run(args);

	if (r == 0)
		puts("ok");
	else if (r < 0)
		puts(strerrorname_np(-r));
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return list();
	for (size_t g = 0; g < sizeof(groups) / sizeof(groups[0]); g++)
		for (const struct act *a = groups[g]; a->name; a++)
			if (strcmp(a->name, argv[1]) == 0)
				return perform(a, argv + 2);
	fprintf(stderr, "probe: no act named %s\n", argv[1]);
	return 2;
}
