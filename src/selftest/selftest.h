/*
 * selftest.h - the promises of a jail, tried on this host; declared for everybody in smoljail.h (sj_selftest)
 */
#ifndef SMOLJAIL_SELFTEST_SELFTEST_H
#define SMOLJAIL_SELFTEST_SELFTEST_H

#include "smoljail.h"

int selftest_run(const struct sj_selftest *options, sj_selftest_fn *fn, void *arg, size_t *ret_failed, struct sj_err *err);
bool selftest_check(size_t i, struct sj_check *ret);

/* attacks.py, carried inside the program; a NUL follows. */
extern const char selftest_attacks[];

#endif
