/*
 * cmd_policy.c - smoljail policy: the table of its verbs
 *
 * Runs as: the caller
 * Trusts: nothing of its arguments
 * Never: does any work of a verb
 */
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "cli/cli.h"

/* `help` is one line; `details` (NULL: none) is what VERB --help says besides, ends with a newline. */
static const struct verb {
	const char *name;
	const char *args;
	const char *help;
	int (*run)(int argc, char **argv);	/* gets the verb as argv[0]; returns the exit status */
	const char *details;
} verbs[] = {
	{ "list", "", "the shipped policies", policy_list, NULL },
	{ "show", "[--expand] [NAME|FILE]", "one as JSON with all defaults, or its system calls one by one", policy_show, NULL },
	{ "check", "NAME|FILE", "is it right, and what should its author know?", policy_check,
	  policy_check_details },
	{ "explain", "[--json] NAME|FILE CALL [ARGUMENT...]", "what a system call does, by which rule, and what would allow it",
	  policy_explain, policy_explain_details },
	{ "diff", "[--json] NAME|FILE NAME|FILE", "what a program could newly do under the second, and no longer", policy_diff,
	  policy_diff_details },
	{ "score", "[--json] [NAME|FILE...]", "how much a policy leaves open, and what, worst first", policy_score,
	  policy_score_details },
	{ "test", "[--live] [--json] NAME|FILE CASES", "are its answers those of a file of cases?", policy_test,
	  policy_test_details },
	{ "new", "[--kind KIND] [--read SRC[:DST]] [--write SRC[:DST]] [--net MODE] [--memory SIZE] [--time TIME] [--force] [FILE]",
	  "write a policy from four answers", policy_new, policy_new_details },
	{ "schema", "[--mdoc]", "every setting as a JSON schema, or as a manual page's text", policy_schema, NULL },
	{ "trace", "[-o FILE] [--policy P] [run options] FILE | -c CODE | -- COMMAND", "run a program and list what it does",
	  policy_trace, policy_trace_details },
	{ "import", "[-o OUT.json] [--name NAME] [--caps LIST] [--arch ARCH] [--kernel X.Y] FILE | --from bwrap-args -- OPTION...",
	  "a policy from a container's seccomp profile, or from options of bubblewrap", policy_import, policy_import_details },
	{ "export", "[-o OUT.json] [--format oci|docker] [NAME|FILE]", "its system calls as a seccomp profile for containers",
	  policy_export, policy_export_details },
	{ "learn", "-o NEW.json [--base P] [--merge OLD.json] [--runs CORPUS] [--allow WHAT] [--check] FILE | -c CODE | -- COMMAND",
	  "run programs and write the smallest policy that lets them do the same", policy_learn, policy_learn_details },
};

static const char more[] =
	"\n"
	"Where a name may be left out, the policy is \"" CLI_DEFAULT_POLICY "\". A FILE is written with a / or ends in .json.\n"
	"`smoljail policy VERB --help` tells the rest.\n";

static int print_usage(void)
{
	fputs("usage: smoljail policy VERB [arguments]\n\n", stdout);
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		printf("  %s%s%s\n          %s\n", verbs[i].name, verbs[i].args[0] ? " " : "", verbs[i].args, verbs[i].help);
	fputs(more, stdout);
	return cli_finish(0);
}

static int print_verb(const struct verb *v)
{
	printf("usage: smoljail policy %s%s%s\n\n%s\n", v->name, v->args[0] ? " " : "", v->args, v->help);
	if (v->details)
		printf("\n%s", v->details);
	return cli_finish(0);
}

static int unknown(const char *name)
{
	const char *names[ARRAY_LEN(verbs)], *nearest;
	char fix[64];

	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		names[i] = verbs[i].name;
	nearest = str_nearest(name, names, ARRAY_LEN(names));
	snprintf(fix, sizeof(fix), nearest ? "did you mean \"%s\"?" : "see smoljail policy --help", nearest);
	return cli_refuse(fix, "policy: unknown command \"%s\"", name);
}

int cmd_policy(int argc, char **argv)
{
	if (argc < 2)
		return cli_refuse("see smoljail policy --help", "policy: say what to do");
	if (cli_wants_help(argv[1]))
		return print_usage();
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
		if (strcmp(argv[1], verbs[i].name) != 0)
			continue;
		if (argc > 2 && cli_wants_help(argv[2]))
			return print_verb(&verbs[i]);
		return verbs[i].run(argc - 1, argv + 1);
	}
	return unknown(argv[1]);
}
