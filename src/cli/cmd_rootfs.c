/*
 * cmd_rootfs.c - smoljail rootfs list | verify [NAME] | path [NAME]
 *
 * Runs as: the caller
 * Trusts: its arguments, as far as the library lets them
 * Never: changes a root
 */
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "cli/cli.h"

#define EXIT_DIFFERS 1

#define SEE_HELP "see `smoljail rootfs --help`"

static const char usage[] =
	"usage: smoljail rootfs list              name and folder of every root\n"
	"       smoljail rootfs path [NAME]       the folder of one\n"
	"       smoljail rootfs verify [NAME]     compare it with its manifest; exit 1 if anything differs\n"
	"\n"
	"NAME is \"" SJ_ROOTFS_DEFAULT "\" when it is not given.\n";

static void print_root(void *arg, const char *name, const char *path)
{
	(void)arg;
	printf("%s\t%s\n", name, path);
}

static int list(const char *name)
{
	struct sj_err err = { 0 };

	(void)name;
	if (sj_rootfs_list(print_root, NULL, &err) < 0) {
		fflush(stdout);
		return cli_fail(&err);
	}
	return cli_finish(0);
}

static int path(const char *name)
{
	_cleanup_free_ char *where = NULL;
	struct sj_err err = { 0 };

	if (sj_rootfs_path(name, &where, &err) < 0)
		return cli_fail(&err);
	puts(where);
	return cli_finish(0);
}

static void print_difference(void *arg, const char *where, const char *what)
{
	(void)arg;
	cli_print_plain(stdout, where);
	fputs(": ", stdout);
	cli_print_plain(stdout, what);
	putchar('\n');
}

static int verify(const char *name)
{
	struct sj_err err = { 0 };
	size_t checked = 0;
	int n = sj_rootfs_verify(name, print_difference, NULL, &checked, &err);

	if (n < 0) {
		fflush(stdout);
		return cli_fail(&err);
	}
	printf("%s: %zu entries checked, %d difference%s\n", name, checked, n, n == 1 ? "" : "s");
	return cli_finish(n ? EXIT_DIFFERS : 0);
}

static const struct {
	const char *name;
	int max_args;
	int (*run)(const char *name);
} verbs[] = {
	{ "list", 0, list },
	{ "path", 1, path },
	{ "verify", 1, verify },
};

static bool is_help(const char *arg)
{
	return strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0;
}

static int help(void)
{
	fputs(usage, stdout);
	return cli_finish(0);
}

int cmd_rootfs(int argc, char **argv)
{
	const char *names[ARRAY_LEN(verbs)], *nearest;
	char fix[64];

	if (argc < 2)
		return cli_refuse(SEE_HELP, "rootfs: say what to do: list, path or verify");
	if (is_help(argv[1]))
		return help();
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
		const char *name = argc > 2 ? argv[2] : SJ_ROOTFS_DEFAULT;

		names[i] = verbs[i].name;
		if (strcmp(argv[1], verbs[i].name) != 0)
			continue;
		if (is_help(name))
			return help();
		if (argc - 2 > verbs[i].max_args)
			return cli_refuse(SEE_HELP, "rootfs: unexpected argument \"%s\"", argv[2 + verbs[i].max_args]);
		if (name[0] == '-' && argc > 2)
			return cli_refuse(SEE_HELP, "rootfs: unknown option \"%s\"", name);
		return verbs[i].run(name);
	}
	nearest = str_nearest(argv[1], names, ARRAY_LEN(names));
	snprintf(fix, sizeof(fix), nearest ? "did you mean \"%s\"?" : SEE_HELP, nearest);
	return cli_refuse(fix, "rootfs: unknown command \"%s\"", argv[1]);
}
