/*
 * policy_learn.c - smoljail policy learn: run programs, watch them, write the policy that they need
 *
 * Runs as: the caller
 * Trusts: the library's reports
 * Never: leaves half a policy in the file, or writes one that does not load
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/cli.h"
#include "cli/learn.h"

#define SEE_HELP "see smoljail policy learn --help"

const char policy_learn_details[] =
	"Runs the program in a jail with full isolation that refuses few system calls, and writes the smallest policy that\n"
	"lets it do what it did.\n"
	"  -o FILE         the policy; its name ends in .json\n"
	"  --base POLICY   start from its settings and keep what it denies\n"
	"  --merge FILE    unite with an older learned policy\n"
	"  --runs CORPUS   run every *.py of a folder, or every file that a list names, a line each\n"
	"  --allow WHAT    let the jail have more, and the policy too: WHAT is an option of run, such as net=loopback,\n"
	"                  ro=/data or packages=DIR; may be repeated\n"
	"  --check         run everything again under the new policy, and tell what differs; then exit status 1\n"
	"Options of `smoljail run` can be given too. A program that fails has still shown something: it is told, and counted in.\n";

/* ---- one run --------------------------------------------------------------------- */

static int open_captures(struct learn_end *end)
{
	end->out = io_memfd("smoljail-out", NULL, 0);
	end->err = io_memfd("smoljail-err", NULL, 0);
	return end->out < 0 || end->err < 0 ? cli_refuse(NULL, "policy learn: no memory file for the program's output") : 0;
}

static int configure(struct sj_run *run, const struct learn_job *job, const char *script, bool with_sets)
{
	struct run_options o = *job->options;

	if (script) {
		o.what = RUN_FILE;
		o.text = (char *)(uintptr_t)script;
		o.args = NULL;
	}
	/* The policy has them by now. */
	if (!with_sets)
		o.n_sets = 0;
	return run_configure(run, &o);
}

int learn_run_one(const struct learn_job *job, const char *policy, bool learning, const char *script, struct learn_end *end,
		  struct sj_report **ret)
{
	struct sj_run *run = NULL;
	struct sj_err err = { 0 };
	int status = 0;

	if (sj_run_new(policy, &run, &err) < 0)
		return cli_fail(&err);
	status = configure(run, job, script, learning);
	if (status == 0 && job->capture)
		status = open_captures(end);
	if (status == 0 && job->capture)
		sj_run_stdio(run, -1, end->out, end->err);
	if (learning)
		sj_run_learn(run);
	if (status == 0 && sj_run_start(run, ret, &err) < 0)
		status = cli_fail(&err);
	sj_run_free(run);
	return status;
}

/* ---- learning -------------------------------------------------------------------------- */

/* What it had printed, now that it is known. */
static void pass_on(int from, int to)
{
	char data[65536];
	off_t at = 0;
	ssize_t n;

	while ((n = pread(from, data, sizeof(data), at)) > 0 && io_write_full(to, data, (size_t)n) == 0)
		at += n;
}

/* Refusals of this jail are no mistake, but may be why the program did not do what it is for. */
static void tell_denied(const struct sj_report *report)
{
	struct sj_denial d;

	for (size_t i = 0; sj_report_denial(report, i, &d) == 0; i++) {
		fputs("smoljail: denied while learning, and after: ", stderr);
		cli_print_plain(stderr, d.what);
		fprintf(stderr, " (%s)%s\n", d.rule, strncmp(d.rule, "network.", 8) == 0 ? "; see --allow net=..." : "");
	}
}

static void tell_end(const struct learn_job *job, const char *script, const struct sj_report *report)
{
	struct sj_summary s;

	if (job->options->quiet)
		return;
	if (!job->scripts)
		tell_denied(report);
	sj_report_summary(report, &s);
	if (strcmp(s.status, "ok") != 0)
		fprintf(stderr, "smoljail: %s: %s: %s; what it did until then is learned\n", script ? script : "the program",
			s.status, s.reason);
}

static int learn_one(const struct learn_job *job, struct sj_learn *learn, const char *script, struct learn_end *end)
{
	struct sj_report *report = NULL;
	struct sj_err err = { 0 };
	int status = learn_run_one(job, job->base, true, script, end, &report);

	if (status == 0 && sj_learn_add(learn, report, &err) < 0)
		status = cli_fail(&err);
	if (status == 0 && job->capture && !job->scripts) {
		pass_on(end->out, STDOUT_FILENO);
		pass_on(end->err, STDERR_FILENO);
	}
	if (status == 0) {
		tell_end(job, script, report);
		status = learn_end_note(end, report);
	}
	sj_report_free(report);
	return status;
}

/* Beside the file and then in its place: a policy is there as a whole or not at all. */
static int write_policy(const char *path, const char *text)
{
	_cleanup_free_ char *temp = str_printf("%s.XXXXXX", path);
	_cleanup_close_ int fd = temp ? mkostemp(temp, O_CLOEXEC) : -1;
	int r;

	if (fd < 0)
		return cli_refuse(NULL, "-o: cannot write \"%s\": %s", path, strerror(errno));
	r = run_write_output(fd, text);
	if (r == 0 && (fchmod(fd, 0644) < 0 || rename(temp, path) < 0))
		r = -errno;
	if (r == 0)
		return 0;
	unlink(temp);
	return cli_refuse(NULL, "-o: cannot write \"%s\": %s", path, strerror(-r));
}

static char *name_of_job(const struct learn_job *job)
{
	const struct run_options *o = job->options;

	if (job->scripts)
		return str_printf("the %zu programs of %s", strv_len(job->scripts), job->corpus);
	if (o->what == RUN_COMMAND)
		return str_printf("-- %s", o->args[0]);
	if (o->what == RUN_MODULE)
		return str_printf("-m %s", o->text);
	return strdup(o->what == RUN_CODE ? "code on the command line" : o->text);
}

static int write_result(const struct learn_job *job, struct sj_learn *learn)
{
	_cleanup_free_ char *text = NULL, *what = name_of_job(job);
	struct sj_learned sum = { 0 };
	struct sj_err err = { 0 };
	int status;

	if (!what)
		err_oom(&err);
	if (!what || sj_learn_policy(learn, what, &text, &sum, &err) < 0)
		return cli_fail(&err);
	status = write_policy(job->out, text);
	if (status || job->options->quiet)
		return status;
	fprintf(stderr, "smoljail: %s: %zu system calls allowed, learned from %zu run%s\n", job->out, sum.allowed, sum.runs,
		sum.runs == 1 ? "" : "s");
	if (sum.unkept)
		fprintf(stderr, "smoljail: %llu calls were of more kinds than a trace keeps: the policy may lack some of them\n",
			(unsigned long long)sum.unkept);
	return 0;
}

static int learn_all(const struct learn_job *job, struct learn_end *ends)
{
	struct sj_learn *learn = NULL;
	struct sj_err err = { 0 };
	int status = 0;

	if (sj_learn_new(&learn, &err) < 0)
		return cli_fail(&err);
	if (job->merge && sj_learn_merge(learn, job->merge, &err) < 0)
		status = cli_fail(&err);
	for (size_t i = 0; status == 0 && i < job->n; i++)
		status = learn_one(job, learn, job->scripts ? job->scripts[i] : NULL, &ends[i]);
	if (status == 0)
		status = write_result(job, learn);
	sj_learn_free(learn);
	return status;
}

/* ---- the command ---------------------------------------------------------------------------- */

static bool is_policy_path(const char *path)
{
	size_t len = strlen(path);

	return len > 5 && strcmp(path + len - 5, ".json") == 0;
}

static int check_use(const struct learn_job *job)
{
	const struct run_options *o = job->options;

	if (!job->out || !is_policy_path(job->out))
		return cli_refuse("-o NEW.json", "policy learn: say where the policy is to be written, a file that ends in .json");
	if (o->policy)
		return cli_refuse("--base POLICY is where to start from", "policy learn: --policy is not for it");
	if (o->report)
		return cli_refuse("smoljail policy trace -o FILE has it", "policy learn: --report is not for it");
	if (job->corpus ? o->what != RUN_NOTHING : o->what == RUN_NOTHING)
		return cli_refuse(SEE_HELP, "policy learn: give a program, or --runs and no program");
	if (o->what == RUN_STDIN)
		return cli_refuse("save it as a file", "policy learn: a script on standard input can be run only once");
	return 0;
}

static int work(struct learn_job *job)
{
	struct learn_end *ends;
	int status = 0;

	if (job->corpus)
		status = learn_corpus(job->corpus, &job->scripts);
	if (status)
		return status;
	job->n = job->scripts ? strv_len(job->scripts) : 1;
	job->capture = job->check || job->scripts;
	ends = learn_ends_new(job->n);
	if (!ends)
		return cli_refuse(NULL, "out of memory");
	status = learn_all(job, ends);
	if (status == 0 && job->check)
		status = learn_check(job, ends);
	learn_ends_free(ends, job->n);
	return status;
}

int policy_learn(int argc, char **argv)
{
	struct run_options o = { .command = "policy learn", .takes_allow = true, .optional = true };
	struct learn_job job = { .options = &o, .base = SJ_POLICY_LEARN };
	const struct cli_option extra[] = {
		{ "-o", NULL, &job.out }, { "--base", NULL, &job.base }, { "--merge", NULL, &job.merge },
		{ "--runs", NULL, &job.corpus }, { "--check", &job.check, NULL }, { 0 },
	};
	int status;

	o.extra = extra;
	status = run_options_parse(argc, argv, &o);
	if (status)
		return status;
	status = o.help ? cli_refuse(SEE_HELP, "policy learn: --help comes first") : check_use(&job);
	if (status == 0)
		status = work(&job);
	base_strv_freep(&job.scripts);
	run_options_clear(&o);
	return status;
}
