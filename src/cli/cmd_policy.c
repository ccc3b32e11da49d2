/*
 * cmd_policy.c - smoljail policy list | show [--expand] NAME|FILE | check FILE | schema [--mdoc]
 *
 * Runs as: the caller
 * Trusts: its arguments, as far as the library lets them
 * Never: changes a policy
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cli/cli.h"

#define SEE_HELP "see `smoljail policy --help`"
#define DEFAULT_POLICY "python"

static const char usage[] =
	"usage: smoljail policy list                        the shipped policies\n"
	"       smoljail policy show [NAME|FILE]            one as JSON, with all defaults filled in\n"
	"       smoljail policy show --expand [NAME|FILE]   its system calls, one by one, and how many are allowed\n"
	"       smoljail policy check NAME|FILE             is it right, and what should its author know?\n"
	"       smoljail policy schema [--mdoc]             every setting as a JSON schema, or as a manual page's text\n"
	"\n"
	"Without a name show takes \"" DEFAULT_POLICY "\". A FILE is written with a / or ends in .json.\n"
	"check ends with 0 when the policy can be used, whatever it notes, and with 2 when it cannot.\n";

/* The arguments of a verb: at most one option and one name. */
struct args {
	bool option;
	const char *name;
};

static int list(const struct args *args)
{
	const char *name;

	(void)args;
	for (size_t i = 0; (name = sj_policy_name(i)); i++) {
		_cleanup_free_ char *text = NULL;
		struct sj_err err = { 0 };

		if (sj_policy_describe(name, &text, &err) < 0) {
			fflush(stdout);
			return cli_fail(&err);
		}
		printf("%-14s  %s%s\n", name, text, strcmp(name, DEFAULT_POLICY) == 0 ? " (default)" : "");
	}
	return cli_finish(0);
}

static int show(const struct args *args)
{
	_cleanup_free_ char *text = NULL;
	struct sj_err err = { 0 };

	if (sj_policy_show(args->name ? args->name : DEFAULT_POLICY, args->option, &text, &err) < 0)
		return cli_fail(&err);
	fputs(text, stdout);
	if (!args->option)
		putchar('\n');
	return cli_finish(0);
}

/* Paths and names in a policy may be anything: nothing of them reaches the terminal raw. */
static void print_plain(const char *s)
{
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c < 0x20 || c >= 0x7f)
			printf("\\x%02x", c);
		else
			putchar(c);
	}
}

static void print_note(void *arg, const char *id, const char *path, const char *sentence)
{
	(void)arg;
	printf("note: ");
	print_plain(path);
	printf(": ");
	print_plain(sentence);
	printf("  [%s]\n", id);
}

static int check(const struct args *args)
{
	struct sj_err err = { 0 };
	size_t notes = 0;

	if (!args->name)
		return cli_refuse(SEE_HELP, "policy check: name a policy or a file");
	if (sj_policy_check(args->name, print_note, NULL, &notes, &err) < 0)
		return cli_fail(&err);
	print_plain(args->name);
	printf(": ok, %zu note%s\n", notes, notes == 1 ? "" : "s");
	return cli_finish(0);
}

static int schema(const struct args *args)
{
	_cleanup_free_ char *text = sj_policy_reference(args->option ? SJ_POLICY_MDOC : SJ_POLICY_SCHEMA);
	struct sj_err err = { 0 };

	if (!text) {
		err_oom(&err);
		return cli_fail(&err);
	}
	fputs(text, stdout);
	if (!args->option)
		putchar('\n');
	return cli_finish(0);
}

static const struct verb {
	const char *name, *option;
	bool takes_name;
	int (*run)(const struct args *args);
} verbs[] = {
	{ "list", NULL, false, list },
	{ "show", "--expand", true, show },
	{ "check", NULL, true, check },
	{ "schema", "--mdoc", false, schema },
};

static int run_verb(const struct verb *verb, int argc, char **argv)
{
	struct args args = { 0 };

	for (int i = 0; i < argc; i++) {
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			fputs(usage, stdout);
			return cli_finish(0);
		}
		if (verb->option && strcmp(argv[i], verb->option) == 0)
			args.option = true;
		else if (argv[i][0] == '-')
			return cli_refuse(SEE_HELP, "policy %s: unknown option \"%s\"", verb->name, argv[i]);
		else if (!verb->takes_name || args.name)
			return cli_refuse(SEE_HELP, "policy %s: unexpected argument \"%s\"", verb->name, argv[i]);
		else
			args.name = argv[i];
	}
	return verb->run(&args);
}

int cmd_policy(int argc, char **argv)
{
	const char *names[ARRAY_LEN(verbs)], *nearest;
	char fix[64];

	if (argc < 2)
		return cli_refuse(SEE_HELP, "policy: say what to do: list, show, check or schema");
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		fputs(usage, stdout);
		return cli_finish(0);
	}
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
		names[i] = verbs[i].name;
		if (strcmp(argv[1], verbs[i].name) == 0)
			return run_verb(&verbs[i], argc - 2, argv + 2);
	}
	nearest = str_nearest(argv[1], names, ARRAY_LEN(names));
	snprintf(fix, sizeof(fix), nearest ? "did you mean \"%s\"?" : SEE_HELP, nearest);
	return cli_refuse(fix, "policy: unknown command \"%s\"", argv[1]);
}
