/*
 * policy_compare.c - smoljail policy explain, diff, score, test: what policies mean
 *
 * Runs as: the caller
 * Trusts: its arguments, as far as the library lets them
 * Never: decides by itself what a policy allows
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"
#include "cli/cli.h"

#define SCORE_NAMES 64
#define CALL_ARGS 6
/* One more than any call has, so that the library says how many it has. */
#define EXPLAIN_NAMES (2 + CALL_ARGS + 1)

const char policy_explain_details[] =
	"A CALL is the kernel's name for it, or its number. An ARGUMENT is a number (7, -1, 0x1f, 0644) or names of\n"
	"constants joined by | (AF_INET, SOCK_STREAM|SOCK_CLOEXEC); those left out at the end are 0. Pointers are\n"
	"never looked at. Without arguments all rules of the call are printed in the order in which they decide.\n"
	"\n"
	"  smoljail policy explain python socket AF_INET SOCK_STREAM\n"
	"  smoljail policy explain shell clone\n";

int policy_explain(int argc, char **argv)
{
	bool json = false;
	const struct cli_option options[] = { { "--json", &json, NULL }, { 0 } };
	const char *names[EXPLAIN_NAMES];
	_cleanup_free_ char *text = NULL;
	struct sj_err err = { 0 };
	int n = cli_options(argc, argv, options, names, EXPLAIN_NAMES, NULL);

	if (n < 0)
		return -n;
	if (n < 2)
		return cli_refuse("smoljail policy explain python socket AF_INET",
				  "policy explain: name a policy and a system call");
	if (sj_policy_explain(names[0], names[1], (char *const *)names + 2, (size_t)n - 2, json, &text, &err) < 0)
		return cli_fail(&err);
	policy_print_text(text);
	return cli_finish(0);
}

const char policy_diff_details[] =
	"Policies are compared by what they answer, not by their texts. It ends with 0 when they mean the same, with\n"
	"1 when they differ, and with 2 when one of them cannot be used.\n";

int policy_diff(int argc, char **argv)
{
	bool json = false, same = false;
	const struct cli_option options[] = { { "--json", &json, NULL }, { 0 } };
	const char *names[2];
	_cleanup_free_ char *text = NULL;
	struct sj_err err = { 0 };
	int n = cli_options(argc, argv, options, names, ARRAY_LEN(names), NULL);

	if (n < 0)
		return -n;
	if (n < 2)
		return cli_refuse("smoljail policy diff python shell", "policy diff: name two policies");
	if (sj_policy_diff(names[0], names[1], json, &text, &same, &err) < 0)
		return cli_fail(&err);
	policy_print_text(text);
	return cli_finish(same ? 0 : 1);
}

const char policy_score_details[] =
	"The number goes from 0 (only what every program needs, within limits) to 10 (all that matters), where it ends.\n"
	"It compares policies with each other; it does not say that a program is safe. For each policy that is named,\n"
	"a line for each protection that is missing; without a name the shipped ones, a line each.\n";

static int score_one(const char *name, enum sj_score_form form)
{
	_cleanup_free_ char *text = NULL;
	struct sj_err err = { 0 };

	if (sj_policy_score(name, form, &text, &err) < 0) {
		fflush(stdout);
		return cli_fail(&err);
	}
	policy_print_text(text);
	return 0;
}

int policy_score(int argc, char **argv)
{
	bool json = false;
	const struct cli_option options[] = { { "--json", &json, NULL }, { 0 } };
	const char *names[SCORE_NAMES];
	int n = cli_options(argc, argv, options, names, SCORE_NAMES, NULL), r = 0;

	if (n < 0)
		return -n;
	for (size_t i = 0; n == 0 && r == 0 && sj_policy_name(i); i++)
		r = score_one(sj_policy_name(i), json ? SJ_SCORE_JSON : SJ_SCORE_LINE);
	for (int i = 0; i < n && r == 0; i++)
		r = score_one(names[i], json ? SJ_SCORE_JSON : SJ_SCORE_PARTS);
	return r ? r : cli_finish(0);
}

const char policy_test_details[] =
	"CASES is a file with a case a line, a system call with its arguments and the answer that is wanted: allow, kill,\n"
	"or the name of an error. What stands behind a # is ignored.\n"
	"\n"
	"  openat AT_FDCWD 0 O_RDONLY     = allow\n"
	"  socket AF_INET SOCK_STREAM     = ENETUNREACH\n"
	"  clone CLONE_NEWUSER|SIGCHLD    = EPERM\n"
	"\n"
	"The compiled filter is asked. With --live each call is made in a jail of its own instead; what a call does\n"
	"there, it does. It ends with 0 when all answers are as wanted, with 1 when one is not, and with 2 when the\n"
	"policy or the cases cannot be used.\n";

int policy_test(int argc, char **argv)
{
	bool json = false, live = false, right = false;
	const struct cli_option options[] = { { "--live", &live, NULL }, { "--json", &json, NULL }, { 0 } };
	const char *names[2];
	_cleanup_free_ char *text = NULL;
	struct sj_err err = { 0 };
	int n = cli_options(argc, argv, options, names, ARRAY_LEN(names), NULL);

	if (n < 0)
		return -n;
	if (n < 2)
		return cli_refuse("smoljail policy test python my.tests", "policy test: name a policy and a file of cases");
	if (sj_policy_test(names[0], names[1], live, json, &text, &right, &err) < 0)
		return cli_fail(&err);
	policy_print_text(text);
	return cli_finish(right ? 0 : 1);
}
