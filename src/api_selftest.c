/*
 * api_selftest.c - sj_selftest: the promises of a jail, tried on this host
 *
 * Runs as: the caller
 * Trusts: the caller's pointers
 * Never: prints
 */
#include "selftest/selftest.h"

int sj_selftest(const struct sj_selftest *options, sj_selftest_fn *fn, void *arg, size_t *ret_failed, struct sj_err *err)
{
	return selftest_run(options, fn, arg, ret_failed, err);
}

bool sj_selftest_check(size_t i, struct sj_check *ret)
{
	return selftest_check(i, ret);
}
