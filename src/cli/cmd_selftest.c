/*
 * cmd_selftest.c - smoljail selftest: attacks from inside jails, and whether each failed as promised
 *
 * Runs as: the caller
 * Trusts: the library's results
 * Never: calls a check passed that was not tried
 */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "cli/cli.h"

#define POLICIES_MAX 32

static const char usage[] =
	"usage: smoljail selftest [options]   attack jails from inside; needs no network and leaves nothing\n"
	"\n"
	"  --policy NAME|FILE   this policy (may be given again; default: every shipped one)\n"
	"  --only ID            one check, or a group of them such as net\n"
	"  --isolation WORD     full, the default, or landlock\n"
	"  --json               for programs (schema smoljail.selftest/1)\n"
	"  --list               the checks, without running them\n"
	"\n"
	"exit status: 0 every check passed, 1 one did not, 125 no jail could be set up, 2 wrong use\n";

static const char *const words[] = { [SJ_CHECK_PASS] = "pass", [SJ_CHECK_FAIL] = "fail", [SJ_CHECK_SKIP] = "skip" };
static const char *const marks[] = { [SJ_CHECK_PASS] = "PASS", [SJ_CHECK_FAIL] = "FAIL", [SJ_CHECK_SKIP] = "SKIP" };

struct options {
	struct sj_selftest library;
	const char *policies[POLICIES_MAX + 1];
	size_t n_policies;
	bool json, list, help;
};

/* ---- for people --------------------------------------------------------------- */

struct counts {
	char policy[128];
	size_t n[3];
};

static void print_check(void *arg, const struct sj_check *c)
{
	struct counts *counts = arg;

	if (strcmp(counts->policy, c->policy) != 0) {
		printf("%spolicy %s\n", counts->policy[0] ? "\n" : "", c->policy);
		snprintf(counts->policy, sizeof(counts->policy), "%s", c->policy);
	}
	counts->n[c->state]++;
	printf("  %s  %-20s  %s", marks[c->state], c->id, c->what);
	if (c->state == SJ_CHECK_PASS)
		printf(": %s\n", c->got);
	else if (c->state == SJ_CHECK_SKIP)
		printf(": %s\n", c->why);
	else
		printf("\n        promised: %s\n        happened: %s%s%s\n", c->want, c->got, c->why[0] ? "; " : "", c->why);
}

static int finish(int r, size_t failed, const struct sj_err *err)
{
	if (r < 0)
		return cli_fail(err);
	return cli_finish(failed ? 1 : 0);
}

static int text(const struct options *o)
{
	struct counts counts = { .policy = "" };
	struct sj_err err = { 0 };
	size_t failed = 0;
	int r = sj_selftest(&o->library, print_check, &counts, &failed, &err);

	if (r == 0)
		printf("\n%zu passed, %zu failed, %zu skipped\n", counts.n[SJ_CHECK_PASS], failed, counts.n[SJ_CHECK_SKIP]);
	return finish(r, failed, &err);
}

/* ---- for programs ----------------------------------------------------------------- */

struct list {
	json_t *checks;
	bool failed;
};

/* What is not UTF-8 is left out rather than the whole report. */
static json_t *string_or_null(const char *s)
{
	json_t *v = s ? json_string(s) : json_null();

	return v ? v : json_string("");
}

static void add_check(void *arg, const struct sj_check *c)
{
	struct list *l = arg;
	json_t *o = json_pack("{s:o, s:s, s:s, s:s, s:o, s:o, s:o}", "policy", string_or_null(c->policy), "id", c->id,
			      "state", words[c->state], "what", c->what, "want", string_or_null(c->want),
			      "got", string_or_null(c->state == SJ_CHECK_SKIP ? NULL : c->got), "why", string_or_null(c->why));

	if (!o || json_array_append_new(l->checks, o) < 0)
		l->failed = true;
}

static int json(const struct options *o)
{
	struct list l = { .checks = json_array() };
	struct sj_err err = { 0 };
	size_t failed = 0;
	int r = sj_selftest(&o->library, add_check, &l, &failed, &err);
	_cleanup_json_ json_t *doc = json_pack("{s:s, s:s, s:s, s:I, s:o}", "schema", "smoljail.selftest/1", "smoljail", sj_version(),
					       "isolation", o->library.isolation ? o->library.isolation : "full",
					       "failed", (json_int_t)failed, "checks", l.checks);

	if (r == 0 && (!doc || l.failed || json_dumpf(doc, stdout, JSON_INDENT(1)) < 0)) {
		fprintf(stderr, "smoljail: cannot write the report: out of memory, or standard output is closed\n");
		return SJ_EXIT_SETUP;
	}
	if (r == 0)
		putchar('\n');
	return finish(r, failed, &err);
}

static int list(void)
{
	struct sj_check c;

	for (size_t i = 0; sj_selftest_check(i, &c); i++)
		printf("%-20s  %s%s%s%s\n", c.id, c.what, c.why ? " (" : "", c.why ? c.why : "", c.why ? ")" : "");
	return cli_finish(0);
}

/* ---- options ------------------------------------------------------------------------ */

/* Takes the value of an option that has one. */
static int take(struct options *o, const char *flag, const char *value)
{
	if (strcmp(flag, "--policy") == 0) {
		if (o->n_policies == POLICIES_MAX)
			return cli_refuse(NULL, "selftest: too many policies (at most %d)", POLICIES_MAX);
		o->policies[o->n_policies++] = value;
		o->library.policies = o->policies;
	} else if (strcmp(flag, "--only") == 0) {
		o->library.only = value;
	} else {
		o->library.isolation = value;
	}
	return 0;
}

static bool has_value(const char *flag)
{
	return strcmp(flag, "--policy") == 0 || strcmp(flag, "--only") == 0 || strcmp(flag, "--isolation") == 0;
}

static int parse(int argc, char **argv, struct options *o)
{
	for (int i = 1; i < argc; i++) {
		int r = 0;

		if (has_value(argv[i]) && i + 1 < argc)
			r = take(o, argv[i], argv[i + 1]), i++;
		else if (has_value(argv[i]))
			r = cli_refuse("smoljail selftest --help", "selftest: %s needs a value", argv[i]);
		else if (strcmp(argv[i], "--json") == 0)
			o->json = true;
		else if (strcmp(argv[i], "--list") == 0)
			o->list = true;
		else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
			o->help = true;
		else
			r = cli_refuse("smoljail selftest --help", "selftest: unexpected \"%s\"", argv[i]);
		if (r)
			return r;
	}
	return 0;
}

int cmd_selftest(int argc, char **argv)
{
	struct options o = { .n_policies = 0 };
	int r = parse(argc, argv, &o);

	if (r)
		return r;
	if (o.help) {
		fputs(usage, stdout);
		return cli_finish(0);
	}
	if (o.list)
		return list();
	return o.json ? json(&o) : text(&o);
}
