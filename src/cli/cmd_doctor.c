/*
 * cmd_doctor.c - smoljail doctor [--json | --phases]
 *
 * Runs as: the caller
 * Trusts: the library's facts
 * Never: changes the host
 */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "cli/cli.h"

#define POLICIES_LINE_MAX 4096

static const char usage[] =
	"usage: smoljail doctor            try what jails need, explain what is missing\n"
	"       smoljail doctor --json     the same for programs (schema smoljail.doctor/1)\n"
	"       smoljail doctor --phases   the steps of a launch, and what each one takes away\n"
	"\n"
	"exit status: 0 full, 1 degraded, 2 jails cannot run here\n";

static const char *const state_words[] = {
	[SJ_STATE_OK] = "ok",
	[SJ_STATE_WARN] = "warn",
	[SJ_STATE_FAIL] = "fail",
};

static const char *const overall_words[] = {
	[SJ_STATE_OK] = "full",
	[SJ_STATE_WARN] = "degraded",
	[SJ_STATE_FAIL] = "cannot_run",
};

static const char *const overall_sentences[] = {
	[SJ_STATE_OK] = "full: every layer and every limit is available",
	[SJ_STATE_WARN] = "degraded: jails run, with what is marked above weaker than it could be",
	[SJ_STATE_FAIL] = "jails cannot run here: the first [fail] above says why",
};

/* ---- for people ----------------------------------------------------------- */

static void print_fact(void *arg, const struct sj_fact *f)
{
	static const char *const marks[] = {
		[SJ_STATE_OK] = "[ok]  ",
		[SJ_STATE_WARN] = "[warn]",
		[SJ_STATE_FAIL] = "[fail]",
	};

	(void)arg;
	printf("%s %-16s  %s\n", marks[f->state], f->id, f->value);
	if (f->state == SJ_STATE_OK)
		return;
	if (f->why[0])
		printf("         cause: %s\n", f->why);
	if (f->fix[0])
		printf("         fix:   %s\n", f->fix);
}

static void note_policy(void *arg, const char *name, const char *why_not)
{
	struct buf *line = arg;

	if (why_not)
		(void)buf_printf(line, "%s%s no (%s)", line->len ? ", " : "", name, why_not);
	else
		(void)buf_printf(line, "%s%s yes", line->len ? ", " : "", name);
}

static int text(void)
{
	_cleanup_buf_ struct buf policies = BUF_INIT(POLICIES_LINE_MAX);
	enum sj_state state = sj_doctor(print_fact, note_policy, &policies);

	printf("\npolicies that can run: %s\n%s\n", policies.len ? policies.data : "none", overall_sentences[state]);
	return cli_finish((int)state);
}

/* ---- for programs ----------------------------------------------------------- */

struct lists {
	json_t *facts, *policies;
	bool failed;
};

/* What is not UTF-8 is left out rather than the whole report. */
static json_t *string(const char *s)
{
	json_t *v = json_string(s);

	return v ? v : json_string("");
}

static void add_fact(void *arg, const struct sj_fact *f)
{
	struct lists *l = arg;
	json_t *o = json_pack("{s:s, s:s, s:o, s:o, s:o}", "id", f->id, "state", state_words[f->state], "value", string(f->value),
			      "why", string(f->why), "fix", string(f->fix));

	if (!o || json_array_append_new(l->facts, o) < 0)
		l->failed = true;
}

static void add_policy(void *arg, const char *name, const char *why_not)
{
	struct lists *l = arg;
	json_t *o = json_pack("{s:b, s:o}", "runs", !why_not, "why", string(why_not ? why_not : ""));

	if (!o || json_object_set_new(l->policies, name, o) < 0)
		l->failed = true;
}

static int json(void)
{
	struct lists l = { .facts = json_array(), .policies = json_object() };
	enum sj_state state = sj_doctor(add_fact, add_policy, &l);
	_cleanup_json_ json_t *doc = json_pack("{s:s, s:s, s:s, s:o, s:o}", "schema", "smoljail.doctor/1", "smoljail", sj_version(),
					       "state", overall_words[state], "facts", l.facts, "policies", l.policies);

	if (!doc || l.failed || json_dumpf(doc, stdout, JSON_INDENT(1)) < 0) {
		fprintf(stderr, "smoljail: cannot write the report: out of memory, or standard output is closed\n");
		return SJ_EXIT_SETUP;
	}
	putchar('\n');
	return cli_finish((int)state);
}

/* ---- the steps of a launch --------------------------------------------------- */

static int phases(void)
{
	struct sj_phase p;

	printf("%-17s %-21s %s\n", "PHASE", "RUNS AS", "TAKES AWAY");
	for (size_t i = 0; sj_doctor_phase(i, &p); i++)
		printf("%-17s %-21s %s\n", p.name, p.runs_as, p.takes_away);
	return cli_finish(0);
}

static int help(void)
{
	fputs(usage, stdout);
	return cli_finish(0);
}

static const struct {
	const char *flag;
	int (*run)(void);
} modes[] = {
	{ "--json", json },
	{ "--phases", phases },
	{ "--help", help },
	{ "-h", help },
};

int cmd_doctor(int argc, char **argv)
{
	if (argc < 2)
		return text();
	for (size_t i = 0; argc == 2 && i < ARRAY_LEN(modes); i++)
		if (strcmp(argv[1], modes[i].flag) == 0)
			return modes[i].run();
	return cli_refuse("smoljail doctor --help", "doctor: unexpected \"%s\"", argv[argc - 1]);
}
