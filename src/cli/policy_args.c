/*
 * policy_args.c - the options and names behind a verb of smoljail policy
 *
 * Runs as: the caller
 * Trusts: nothing of its arguments
 * Never: leaves an argument that it does not understand unsaid
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "cli/cli.h"

bool cli_list;	/* only its address means something */

bool cli_wants_help(const char *arg)
{
	return strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0;
}

static int unknown(const char *verb, const struct cli_option *options, const char *arg)
{
	const char *names[CLI_OPTIONS_MAX], *nearest;
	char fix[96];
	size_t n = 0;

	for (; n < CLI_OPTIONS_MAX && options[n].name; n++)
		names[n] = options[n].name;
	nearest = str_nearest(arg, names, n);
	snprintf(fix, sizeof(fix), nearest ? "did you mean %s?" : "see smoljail policy %s --help",
		 nearest ? nearest : verb);
	return cli_refuse(fix, "policy %s: unknown option \"%s\"", verb, arg);
}

/* "--name", "--name VALUE" or "--name=VALUE". Returns how many arguments it took, or -exit status. */
static int take_option(const char *verb, const struct cli_option *options, char **argv)
{
	size_t len = strcspn(argv[0], "=");
	const struct cli_option *o = options;
	const char *value = argv[0][len] ? argv[0] + len + 1 : argv[1];

	while (o->name && (strncmp(o->name, argv[0], len) != 0 || o->name[len] != '\0'))
		o++;
	if (!o->name)
		return -unknown(verb, options, argv[0]);
	if (o->flag && o->flag != CLI_LIST) {
		if (argv[0][len])
			return -cli_refuse(NULL, "policy %s: %s takes no value", verb, o->name);
		*o->flag = true;
		return 1;
	}
	if (!value)
		return -cli_refuse(NULL, "policy %s: %s needs a value", verb, o->name);
	if (o->flag != CLI_LIST)
		*(const char **)o->value = value;
	else if (strv_push(o->value, value) < 0)
		return -cli_refuse(NULL, "out of memory");
	return argv[0][len] ? 1 : 2;
}

/* -1 is a number, and - is standard input. */
static bool is_option(const char *arg)
{
	return arg[0] == '-' && arg[1] != '\0' && !isdigit((unsigned char)arg[1]);
}

int cli_options(int argc, char **argv, const struct cli_option *options, const char **names, size_t max,
		char ***ret_rest)
{
	size_t n = 0;

	for (int i = 1; i < argc;) {
		int taken = 1;

		if (ret_rest && strcmp(argv[i], "--") == 0) {
			*ret_rest = argv + i + 1;
			break;
		}
		if (is_option(argv[i]))
			taken = take_option(argv[0], options, argv + i);
		else if (n < max)
			names[n++] = argv[i];
		else
			return -cli_refuse(NULL, "policy %s: unexpected argument \"%s\"", argv[0], argv[i]);
		if (taken < 0)
			return taken;
		i += taken;
	}
	return (int)n;
}
