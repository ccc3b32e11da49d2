/*
 * main.c - smoljail: the table of commands
 *
 * Runs as: the caller
 * Trusts: nothing of its arguments
 * Never: does any work of a command
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/cli.h"

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
} commands[] = {
	{ "run", cmd_run, "run a Python program, or any program of the root, in a jail" },
	{ "serve", cmd_serve, "keep sessions in which Python's state lives, for clients that speak its protocol" },
	{ "policy", cmd_policy, "list, show and check policies" },
	{ "rootfs", cmd_rootfs, "list and verify the small roots that jails stand on" },
	{ "doctor", cmd_doctor, "what this host offers, and what to do about the rest" },
	{ "selftest", cmd_selftest, "attack jails from inside, and tell whether each attack failed as promised" },
	{ "help", cmd_help, "this text, or `smoljail help COMMAND`" },
	{ "version", cmd_version, "print the version" },
};

static const struct command *find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		if (strcmp(name, commands[i].name) == 0)
			return &commands[i];
	return NULL;
}

static void print_usage(FILE *to)
{
	fputs("usage: smoljail COMMAND [arguments]\n\n", to);
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		fprintf(to, "  %-8s  %s\n", commands[i].name, commands[i].help);
	fputs("\n`smoljail COMMAND --help` tells the rest.\n"
	      "First steps: smoljail run -c 'print(6*7)'    smoljail doctor\n", to);
}

static int unknown(const char *name)
{
	const char *names[ARRAY_LEN(commands)];
	const char *nearest;
	char fix[64];

	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		names[i] = commands[i].name;
	nearest = str_nearest(name, names, ARRAY_LEN(names));
	snprintf(fix, sizeof(fix), nearest ? "did you mean \"%s\"?" : "see smoljail help", nearest);
	return cli_refuse(fix, "unknown command \"%s\"", name);
}

int cmd_help(int argc, char **argv)
{
	char *help[] = { NULL, (char *)"--help", NULL };
	const struct command *c;

	if (argc < 2 || argv[1][0] == '-') {
		print_usage(stdout);
		return cli_finish(0);
	}
	c = find(argv[1]);
	if (!c)
		return unknown(argv[1]);
	if (c->run == cmd_help)
		return cmd_help(1, argv);
	help[0] = argv[1];
	return c->run(2, help);
}

int cmd_version(int argc, char **argv)
{
	if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
		puts("usage: smoljail version");
	else if (argc > 1)
		return cli_refuse(NULL, "version: unexpected \"%s\"", argv[1]);
	else
		printf("smoljail %s\n", sj_version());
	return cli_finish(0);
}

/* A closed standard stream's number would go to the next file that is opened, which then would be printed into. */
static void occupy_closed_streams(void)
{
	int fd;

	for (int i = 0; i < 3; i++) {
		if (fcntl(i, F_GETFD) >= 0)
			continue;
		/* The other way round, so that the stream stays as unusable as it was. */
		fd = open("/dev/null", (i == 0 ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
		if (fd >= 0 && fd != i)
			close(fd);
	}
}

int main(int argc, char **argv)
{
	const struct command *c;

	occupy_closed_streams();
	/* Both streams often go to one file, where an error stands behind what was printed before it. */
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	/* A limit on the size of files (ulimit -f) shall answer a write, not end the program without a word. */
	(void)signal(SIGXFSZ, SIG_IGN);
	if (argc < 2) {
		print_usage(stderr);
		return SJ_EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return cmd_help(1, argv);
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)
		return cmd_version(1, argv);
	c = find(argv[1]);
	return c ? c->run(argc - 1, argv + 1) : unknown(argv[1]);
}
