/*
 * print.c - how every command tells an error, and ends
 *
 * Runs as: the caller
 * Trusts: messages of the library (plain text without control characters)
 * Never: mixes its own words into the output of a program
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "cli/cli.h"

int cli_fail(const struct sj_err *err)
{
	fprintf(stderr, "smoljail: %s\n", err->what);
	if (err->why[0])
		fprintf(stderr, "  cause: %s\n", err->why);
	if (err->fix[0])
		fprintf(stderr, "  fix:   %s\n", err->fix);
	if (err->exit == SJ_EXIT_SETUP)
		fprintf(stderr, "  nothing was run  [%s]\n", err->id);
	return err->exit;
}

int cli_refuse(const char *fix, const char *fmt, ...)
{
	va_list ap;

	fputs("smoljail: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	if (fix)
		fprintf(stderr, "  fix:   %s\n", fix);
	return SJ_EXIT_USAGE;
}

void cli_print_plain(FILE *to, const char *s)
{
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c < 0x20 || c >= 0x7f)
			fprintf(to, "\\x%02x", c);
		else
			fputc(c, to);
	}
}

int cli_finish(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	fprintf(stderr, "smoljail: cannot write to standard output: %s\n", strerror(errno));
	return SJ_EXIT_SETUP;
}
