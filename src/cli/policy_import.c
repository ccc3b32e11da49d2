/*
 * policy_import.c - smoljail policy import, export: policies from and for other sandboxes
 *
 * Runs as: the caller
 * Trusts: its arguments, as far as the library lets them
 * Never: writes a file before all of it is there
 */
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "cli/cli.h"

const char policy_import_details[] =
	"FILE is a seccomp profile as Docker, Podman, containerd, CRI-O and the OCI runtimes read it, or an OCI\n"
	"config.json. With --from bwrap-args there is no file, but options of bubblewrap behind --.\n"
	"What cannot be kept is told as notes on standard error. The policy never allows more than the original\n"
	"but for the runtime floor, which every program needs to start and end.\n"
	"\n"
	"  -o OUT.json        write it there, not to standard output\n"
	"  --name NAME        of the policy; else it gets that of its file\n"
	"  --from KIND        oci, the default, or bwrap-args\n"
	"  --caps LIST        capabilities that conditional entries may count on; none without it\n"
	"  --arch ARCH        amd64, arm64 ...: for conditional entries, this machine's without it\n"
	"  --kernel X.Y       for conditional entries, the running one without it\n";
const char policy_export_details[] =
	"The profile holds the system calls of the policy and nothing else. Rules whose order matters are written as\n"
	"parts that do not overlap, since runtimes know no order.\n"
	"\n"
	"  -o OUT.json        write it there, not to standard output\n"
	"  --format FORMAT    oci, the default: for linux.seccomp of a config.json; docker: as Docker keeps its own\n";

static void print_note(void *arg, const char *id, const char *path, const char *sentence)
{
	(void)arg;
	fputs("note: ", stderr);
	cli_print_plain(stderr, path);
	fputs(": ", stderr);
	cli_print_plain(stderr, sentence);
	fprintf(stderr, "  [%s]\n", id);
}

static int write_out(const char *verb, const char *path, const char *text)
{
	_cleanup_file_ FILE *f = NULL;
	int failed;

	if (!path) {
		fputs(text, stdout);
		return cli_finish(0);
	}
	f = fopen(path, "we");
	failed = !f || fputs(text, f) == EOF;
	if (f)
		failed |= fclose(steal_ptr(f)) == EOF;
	return failed ? cli_refuse("name a file that can be written", "policy %s: cannot write \"%s\": %s", verb, path,
				   strerror(errno))
		      : 0;
}

int policy_import(int argc, char **argv)
{
	struct sj_policy_import from = { 0 };
	const char *out = NULL;
	char **rest = NULL;
	const struct cli_option options[] = {
		{ "-o", NULL, &out }, { "--name", NULL, &from.name }, { "--from", NULL, &from.from },
		{ "--caps", NULL, &from.caps }, { "--arch", NULL, &from.arch }, { "--kernel", NULL, &from.kernel }, { 0 },
	};
	_cleanup_free_ char *text = NULL;
	struct sj_err err = { 0 };
	int r = cli_options(argc, argv, options, &from.file, 1, &rest);
	bool args = from.from && strcmp(from.from, "bwrap-args") == 0;

	if (r < 0)
		return -r;
	if (args ? from.file || !rest : !from.file || rest)
		return cli_refuse("see smoljail policy import --help", args ? "policy import: write -- and the options of bwrap"
									    : "policy import: name one file");
	from.args = rest;
	if (sj_policy_import(&from, print_note, NULL, &text, &err) < 0)
		return cli_fail(&err);
	return write_out(argv[0], out, text);
}

int policy_export(int argc, char **argv)
{
	const char *out = NULL, *format = "oci", *name = CLI_DEFAULT_POLICY;
	const struct cli_option options[] = { { "-o", NULL, &out }, { "--format", NULL, &format }, { 0 } };
	_cleanup_free_ char *text = NULL;
	struct sj_err err = { 0 };
	int r = cli_options(argc, argv, options, &name, 1, NULL);
	bool docker = strcmp(format, "docker") == 0;

	if (r < 0)
		return -r;
	if (!docker && strcmp(format, "oci") != 0)
		return cli_refuse("write --format oci or --format docker", "policy export: no format is named \"%s\"", format);
	if (sj_policy_export(name, docker ? SJ_PROFILE_DOCKER : SJ_PROFILE_OCI, print_note, NULL, &text, &err) < 0)
		return cli_fail(&err);
	return write_out(argv[0], out, text);
}
