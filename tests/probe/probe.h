/*
 * probe.h - one named act inside a jail, its outcome printed as one word
 *
 * Built static, mounted into the jail by the tests. `probe ACT [ARG...]` prints
 * "ok", an errno's name, or a value, and exits 0 whatever came out; an unknown
 * act exits 2. A call that kills prints nothing: the test sees the signal.
 */
#ifndef SMOLJAIL_TESTS_PROBE_H
#define SMOLJAIL_TESTS_PROBE_H

#include <stddef.h>

/* 0 or -errno; an act that prints its own answer returns PROBE_PRINTED. */
#define PROBE_PRINTED 1

struct act {
	const char *name;
	int (*run)(char **args);
	const char *help;
};

extern const struct act acts_kernel[], acts_files[], acts_limits[], acts_net[];

/* errno of a raw call as a negative number, or 0. */
int raw(long nr, long a, long b, long c, long d, long e);

#endif
