/*
 * cmd_run.c - smoljail run: a program in a jail, its exit status, a word when it was stopped
 *
 * Runs as: the caller
 * Trusts: the library's report
 * Never: prints anything of its own about a program that ended normally
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/cli.h"

/* ---- the report's file ---------------------------------------------------------- */

/* Links below these are the kernel's own, as in /dev/stderr. */
static bool is_stream_path(const char *path)
{
	return str_prefix(path, "/dev/") || str_prefix(path, "/proc/self/fd/");
}

/*
 * Opened before anything runs: a report that cannot be written is a mistake to
 * be told now. Links are not followed, since reports often go to shared folders; a
 * FIFO without a reader is refused rather than waited for.
 */
int run_open_output(const char *option, const char *path, int *ret_fd)
{
	int follow = path && is_stream_path(path) ? 0 : O_NOFOLLOW;
	int fd;

	if (!path)
		return 0;
	if (strcmp(path, "-") == 0) {
		*ret_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
		return *ret_fd < 0 ? cli_refuse(NULL, "%s -: standard output is closed", option) : 0;
	}
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | follow, 0644);
	if (fd < 0 && errno == ELOOP)
		return cli_refuse("name the file itself", "%s: \"%s\" is a symbolic link", option, path);
	if (fd < 0)
		return cli_refuse(NULL, "%s: cannot write \"%s\": %s", option, path, strerror(errno));
	if (!is_stream_path(path))
		(void)fcntl(fd, F_SETFL, 0);
	*ret_fd = fd;
	return 0;
}

int run_write_output(int fd, const char *text)
{
	int r = fd < 0 ? 0 : io_write_full(fd, text, strlen(text));

	return r < 0 || fd < 0 ? r : io_write_full(fd, "\n", 1);
}

static void write_report(int fd, const struct sj_report *report)
{
	_cleanup_free_ char *json = sj_report_json(report);
	int r = json ? run_write_output(fd, json) : -ENOMEM;

	if (r < 0)
		fprintf(stderr, "smoljail: cannot write the report: %s\n", strerror(-r));
}

/* ---- what to run ------------------------------------------------------------------ */

static int script_from_stdin(struct sj_run *run)
{
	_cleanup_free_ char *text = NULL;
	size_t len = 0;
	int r = io_read_all(STDIN_FILENO, SJ_SCRIPT_MAX, &text, &len);

	if (r == -EFBIG)
		return cli_refuse(NULL, "the script on standard input is longer than %u bytes", SJ_SCRIPT_MAX);
	if (r < 0)
		return cli_refuse(NULL, "cannot read the script from standard input: %s", strerror(-r));
	return sj_run_text(run, text, len) < 0 ? -ENOMEM : 0;
}

static int choose_program(struct sj_run *run, const struct run_options *o)
{
	switch (o->what) {
	case RUN_FILE: return sj_run_script(run, o->text);
	case RUN_CODE: return sj_run_code(run, o->text);
	case RUN_MODULE: return sj_run_module(run, o->text);
	case RUN_STDIN: return script_from_stdin(run);
	case RUN_COMMAND: return sj_run_command(run, o->args);
	case RUN_NOTHING: break;
	}
	return 0;
}

int run_configure(struct sj_run *run, const struct run_options *o)
{
	struct sj_err err = { 0 };
	int r;

	for (size_t i = 0; i < o->n_sets; i++)
		if (sj_run_set_flag(run, o->sets[i].flag, o->sets[i].path, o->sets[i].value, &err) < 0)
			return cli_fail(&err);
	r = choose_program(run, o);
	if (r == 0 && o->what != RUN_COMMAND)
		r = sj_run_args(run, o->args);
	if (r == 0 && o->dir)
		r = sj_run_dir(run, o->dir);
	if (r < 0) {
		err_oom(&err);
		return cli_fail(&err);
	}
	return r;
}

/* ---- what happened ------------------------------------------------------------------ */

static double ms(uint64_t us)
{
	return (double)us / 1000.0;
}

static void print_details(const struct sj_report *report, const struct sj_summary *s)
{
	struct sj_denial d;

	fprintf(stderr, "smoljail: %s: %s\n", s->status, s->reason);
	fprintf(stderr, "  time:      %.1f ms after %.1f ms of set-up; CPU %.1f ms in all\n", ms(s->wall_us), ms(s->setup_us),
		ms(s->cpu_us));
	if (s->memory_peak)
		fprintf(stderr, "  memory:    peak %.1f MiB\n", (double)s->memory_peak / 1048576.0);
	fprintf(stderr, "  output:    %llu bytes, errors %llu bytes%s\n", (unsigned long long)s->stdout_bytes,
		(unsigned long long)s->stderr_bytes, s->truncated ? ", cut" : "");
	fprintf(stderr, "  isolation:");
	for (size_t i = 0; s->isolation[i]; i++)
		fprintf(stderr, " %s", s->isolation[i]);
	fprintf(stderr, "\n  limits:    memory %s, cpu %s, cpu time %s, processes %s\n", s->held_by.memory, s->held_by.cpu,
		s->held_by.cpu_time, s->held_by.pids);
	for (size_t i = 0; sj_report_denial(report, i, &d) == 0; i++)
		fprintf(stderr, "  denied:    %llu x %s (%s)%s%s\n", (unsigned long long)d.count, d.what, d.rule,
			d.allow_with ? "; to allow it: " : "", d.allow_with ? d.allow_with : "");
}

static void tell(const struct run_options *o, const struct explain *explain, const struct sj_report *report)
{
	struct sj_summary s;

	sj_report_summary(report, &s);
	if (o->explain)
		explain_rest(explain, s.denied_total);
	if (s.stopped && !o->quiet)
		fprintf(stderr, "smoljail: %s%s\n", s.ran ? "stopped: " : "", s.reason);
	if (s.hint && !o->quiet)
		fprintf(stderr, "smoljail: hint: %s\n", s.hint);
	if (o->verbose && s.isolation[0])
		print_details(report, &s);
}

static int run_and_tell(struct sj_run *run, const struct run_options *o, int report_fd)
{
	struct sj_report *report = NULL;
	struct sj_summary s = { 0 };
	struct explain explain = { 0 };
	struct sj_err err = { 0 };
	int r;

	sj_run_confine(run);
	if (o->explain)
		sj_run_on_denied(run, explain_denial, &explain);
	r = sj_run_start(run, &report, &err);
	if (report) {
		write_report(report_fd, report);
		tell(o, &explain, report);
		sj_report_summary(report, &s);
	}
	if (r < 0)
		cli_fail(&err);
	sj_report_free(report);
	return r < 0 ? err.exit : s.exit_status;
}

int cmd_run(int argc, char **argv)
{
	_cleanup_close_ int report_fd = -1;
	struct run_options o = { 0 };
	struct sj_run *run = NULL;
	struct sj_err err = { 0 };
	int status = run_options_parse(argc, argv, &o);

	if (status)
		return status;
	if (o.help) {
		run_options_help();
		status = cli_finish(0);
	} else {
		status = run_open_output("--report", o.report, &report_fd);
		if (status == 0 && sj_run_new(o.policy, &run, &err) < 0)
			status = cli_fail(&err);
		if (status == 0)
			status = run_configure(run, &o);
		if (status == 0)
			status = run_and_tell(run, &o, report_fd);
	}
	sj_run_free(run);
	run_options_clear(&o);
	return status;
}
