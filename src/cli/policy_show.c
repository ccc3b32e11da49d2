/*
 * policy_show.c - smoljail policy list, show, check, schema: a policy as it is
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

const char policy_check_details[] =
	"It ends with 0 when the policy can be used, whatever it notes, and with 2 when it cannot.\n";

static const struct cli_option no_options[] = { { 0 } };

int policy_list(int argc, char **argv)
{
	int r = cli_options(argc, argv, no_options, NULL, 0, NULL);
	const char *name;

	if (r < 0)
		return -r;
	for (size_t i = 0; (name = sj_policy_name(i)); i++) {
		_cleanup_free_ char *text = NULL;
		struct sj_err err = { 0 };

		if (sj_policy_describe(name, &text, &err) < 0) {
			fflush(stdout);
			return cli_fail(&err);
		}
		printf("%-14s  %s%s\n", name, text, strcmp(name, CLI_DEFAULT_POLICY) == 0 ? " (default)" : "");
	}
	return cli_finish(0);
}

int policy_show(int argc, char **argv)
{
	bool expand = false;
	const struct cli_option options[] = { { "--expand", &expand, NULL }, { 0 } };
	_cleanup_free_ char *text = NULL;
	const char *name = CLI_DEFAULT_POLICY;
	struct sj_err err = { 0 };
	int r = cli_options(argc, argv, options, &name, 1, NULL);

	if (r < 0)
		return -r;
	if (sj_policy_show(name, expand, &text, &err) < 0)
		return cli_fail(&err);
	policy_print_text(text);
	if (!expand)
		putchar('\n');
	return cli_finish(0);
}

void policy_print_text(const char *s)
{
	for (; *s; s++) {
		unsigned char c = (unsigned char)s[0], next = (unsigned char)s[1];

		/* The second half of the control characters is two bytes long in UTF-8. */
		if (c == 0xc2 && next >= 0x80 && next < 0xa0) {
			printf("\\u00%02x", next);
			s++;
		} else if ((c < 0x20 && c != '\n') || c == 0x7f) {
			printf("\\u00%02x", c);
		} else {
			putchar(c);
		}
	}
}

static void print_note(void *arg, const char *id, const char *path, const char *sentence)
{
	(void)arg;
	printf("note: ");
	cli_print_plain(stdout, path);
	printf(": ");
	cli_print_plain(stdout, sentence);
	printf("  [%s]\n", id);
}

int policy_check(int argc, char **argv)
{
	const char *name = NULL;
	struct sj_err err = { 0 };
	size_t notes = 0;
	int r = cli_options(argc, argv, no_options, &name, 1, NULL);

	if (r < 0)
		return -r;
	if (!name)
		return cli_refuse("see smoljail policy check --help", "policy check: name a policy or a file");
	if (sj_policy_check(name, print_note, NULL, &notes, &err) < 0)
		return cli_fail(&err);
	cli_print_plain(stdout, name);
	printf(": ok, %zu note%s\n", notes, notes == 1 ? "" : "s");
	return cli_finish(0);
}

int policy_schema(int argc, char **argv)
{
	bool mdoc = false;
	const struct cli_option options[] = { { "--mdoc", &mdoc, NULL }, { 0 } };
	_cleanup_free_ char *text = NULL;
	struct sj_err err = { 0 };
	int r = cli_options(argc, argv, options, NULL, 0, NULL);

	if (r < 0)
		return -r;
	text = sj_policy_reference(mdoc ? SJ_POLICY_MDOC : SJ_POLICY_SCHEMA);
	if (!text) {
		err_oom(&err);
		return cli_fail(&err);
	}
	fputs(text, stdout);
	if (!mdoc)
		putchar('\n');
	return cli_finish(0);
}
