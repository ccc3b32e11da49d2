/*
 * policy_trace.c - smoljail policy trace: each kind of operation of a program, allowed or not
 *
 * Runs as: the caller
 * Trusts: the library's report
 * Never: lets a byte of the program's choice reach the terminal raw
 */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cli/cli.h"

const char policy_trace_details[] =
	"Runs the program as `smoljail run` does, under the policy \"" CLI_DEFAULT_POLICY "\" or that of --policy, and looks at its\n"
	"system calls. A table on standard error tells what it did; the program's own output stays where it is.\n"
	"  -o FILE|-   the same as JSON, schema smoljail.trace/1, with the report of the run\n"
	"  -q          no table\n"
	"All options of `smoljail run` can be given. The exit status is that of run.\n"
	"Calls that move data, memory and locks (read, write, mmap, futex ...) are always allowed and not traced.\n";

/* ---- the table ------------------------------------------------------------------- */

static void print_op(const struct sj_traced *t)
{
	bool allowed = strcmp(t->action, "allowed") == 0;

	fprintf(stderr, "  %8llu  %-8s  ", (unsigned long long)t->count, allowed ? "" : t->action);
	cli_print_plain(stderr, t->what);
	if (!allowed)
		fprintf(stderr, "  (%s)", t->rule);
	if (t->file[0]) {
		fputs("  at ", stderr);
		cli_print_plain(stderr, t->file);
		fprintf(stderr, ":%d", t->line);
	}
	fputc('\n', stderr);
}

/* What every import reads; in the JSON each of them stands by itself. */
static bool is_library(const struct sj_traced *t)
{
	return str_prefix(t->what, "open \"/usr/lib/python3") && str_prefix(t->action, "allowed");
}

static void print_kind(const struct sj_report *report, const char *kind, const char *title)
{
	struct sj_traced t;
	size_t library = 0;
	bool any = false;

	for (size_t i = 0; sj_report_traced(report, i, &t) == 0; i++) {
		if (strcmp(t.kind, kind) != 0)
			continue;
		if (!any)
			fprintf(stderr, "%s\n", title);
		any = true;
		if (is_library(&t))
			library++;
		else
			print_op(&t);
	}
	if (library)
		fprintf(stderr, "  %8zu            files and folders of Python's library\n", library);
}

static void print_amount(uint64_t n, const char *unit)
{
	if (strcmp(unit, "bytes") == 0 && n >= 1u << 20)
		fprintf(stderr, "%.1f MiB", (double)n / 1048576.0);
	else if (strcmp(unit, "bytes") == 0 && n >= 1u << 10)
		fprintf(stderr, "%.1f KiB", (double)n / 1024.0);
	else
		fprintf(stderr, "%llu%s%s", (unsigned long long)n, *unit ? " " : "", unit);
}

static void print_peaks(const struct sj_report *report)
{
	struct sj_peak p;

	fputs("most used at a time, or in all\n", stderr);
	for (size_t i = 0; sj_report_peak(report, i, &p) == 0; i++) {
		fprintf(stderr, "  %-10s  ", p.name);
		if (p.peak)
			print_amount(p.peak, p.unit);
		else
			fputs(strcmp(p.name, "disk") == 0 || strcmp(p.name, "output") == 0 ? "nothing" : "unknown", stderr);
		fputs(" of ", stderr);
		if (p.limit)
			print_amount(p.limit, p.unit);
		else
			fputs("no limit", stderr);
		fputs(p.reached ? ": limit reached\n" : "\n", stderr);
	}
}

static void print_table(const struct sj_report *report)
{
	struct sj_trace_sum sum;
	struct sj_summary s;

	sj_report_summary(report, &s);
	if (!sj_report_trace_sum(report, &sum) || !s.policy)
		return;
	fprintf(stderr, "smoljail: %s: %s; policy %s: %llu calls, %llu refused\n", s.status, s.reason, s.policy,
		(unsigned long long)sum.calls, (unsigned long long)sum.refused);
	print_kind(report, "program", "programs");
	print_kind(report, "file", "files");
	print_kind(report, "host", "addresses");
	print_kind(report, "call", "system calls");
	if (sum.unkept)
		fprintf(stderr, "  %8llu  more, of kinds that found no room here\n", (unsigned long long)sum.unkept);
	print_peaks(report);
}

/* ---- the command ------------------------------------------------------------------- */

static int run_and_tell(struct sj_run *run, const struct run_options *o, int fd)
{
	struct sj_report *report = NULL;
	struct sj_summary s = { 0 };
	struct sj_err err = { 0 };
	_cleanup_free_ char *json = NULL;
	int r, w = 0;

	sj_run_trace(run);
	r = sj_run_start(run, &report, &err);
	if (r < 0)
		cli_fail(&err);
	if (report) {
		sj_report_summary(report, &s);
		json = sj_report_trace_json(report);
		w = json ? run_write_output(fd, json) : -ENOMEM;
		if (r == 0 && !o->quiet)
			print_table(report);
	}
	sj_report_free(report);
	if (w < 0)
		return cli_refuse(NULL, "policy trace: -o: cannot write: %s", strerror(-w));
	return r < 0 ? err.exit : s.exit_status;
}

int policy_trace(int argc, char **argv)
{
	const char *out = NULL;
	const struct cli_option extra[] = { { "-o", NULL, &out }, { 0 } };
	struct run_options o = { .command = "policy trace", .extra = extra };
	_cleanup_close_ int fd = -1;
	struct sj_run *run = NULL;
	struct sj_err err = { 0 };
	int status = run_options_parse(argc, argv, &o);

	if (status)
		return status;
	if (o.help || o.report)
		status = cli_refuse("see smoljail policy trace --help", "policy trace: %s",
				    o.report ? "the report is part of what -o FILE holds" : "--help comes first");
	if (status == 0)
		status = run_open_output("-o", out, &fd);
	if (status == 0 && sj_run_new(o.policy, &run, &err) < 0)
		status = cli_fail(&err);
	if (status == 0)
		status = run_configure(run, &o);
	if (status == 0)
		status = run_and_tell(run, &o, fd);
	sj_run_free(run);
	run_options_clear(&o);
	return status;
}
