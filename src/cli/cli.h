/*
 * cli.h - the commands of smoljail, one file each
 *
 * A command gets its own name as argv[0] and returns the exit status.
 */
#ifndef SMOLJAIL_CLI_H
#define SMOLJAIL_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct sj_err;
struct sj_run;

int cmd_run(int argc, char **argv);
int cmd_serve(int argc, char **argv);
int cmd_policy(int argc, char **argv);
int cmd_rootfs(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_selftest(int argc, char **argv);
int cmd_help(int argc, char **argv);
int cmd_version(int argc, char **argv);

/* ---- errors and endings (print.c) ----------------------------------- */

/* Tell an error of the library on standard error; returns its exit status. */
int cli_fail(const struct sj_err *err);
/* Wrong use of a command; returns SJ_EXIT_USAGE. fix may be NULL. */
int cli_refuse(const char *fix, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Paths, names and what was read may be anything: nothing of them reaches a terminal raw. */
void cli_print_plain(FILE *to, const char *s);
/* What was printed must have arrived: a full disk is no success. */
int cli_finish(int status);

/* ---- smoljail run --explain (explain.c) ----------------------------- */

struct sj_denial;
struct explain {
	unsigned long told, untold;	/* refusals printed, and those for which standard error had no room */
};
/* Prints one refusal in at most four lines; never waits for whoever reads them. arg: struct explain. */
void explain_denial(void *arg, const struct sj_denial *d);
/* How many were not printed, if any; calls: refused in all. */
void explain_rest(const struct explain *e, unsigned long long calls);

/* ---- smoljail policy: its verbs, of which cmd_policy.c has the table -- */

#define CLI_DEFAULT_POLICY "python"

int policy_list(int argc, char **argv);		/* policy_show.c */
int policy_show(int argc, char **argv);
int policy_check(int argc, char **argv);
int policy_schema(int argc, char **argv);
int policy_explain(int argc, char **argv);	/* policy_compare.c */
int policy_diff(int argc, char **argv);
int policy_score(int argc, char **argv);
int policy_test(int argc, char **argv);
int policy_new(int argc, char **argv);		/* policy_new.c */
extern const char policy_check_details[], policy_explain_details[], policy_diff_details[], policy_score_details[], policy_test_details[], policy_new_details[];
int policy_trace(int argc, char **argv);	/* policy_trace.c */
extern const char policy_trace_details[];
int policy_import(int argc, char **argv);	/* policy_import.c */
int policy_export(int argc, char **argv);
extern const char policy_import_details[], policy_export_details[];
int policy_learn(int argc, char **argv);	/* policy_learn.c */
extern const char policy_learn_details[];

/* A text of lines that holds such strings: all but line ends and letters is shown as \u00XX, as JSON would. */
void policy_print_text(const char *s);

/* An option of a verb: sets *flag, or takes a value into *value. A list of them ends with a NULL name. */
struct cli_option {
	const char *name;	/* "--expand" */
	bool *flag;
	void *value;		/* a const char **; with CLI_LIST for a flag a char ***, which gets one more each time */
};
extern bool cli_list;
#define CLI_LIST (&cli_list)
#define CLI_OPTIONS_MAX 32

/*
 * Options anywhere, all else into names (at most max). ret_rest not NULL: `--` ends them, and *ret_rest is
 * what stands behind it, untouched where there is no `--`. Returns the number of names, or -exit status
 * after the mistake was told.
 */
int cli_options(int argc, char **argv, const struct cli_option *options, const char **names, size_t max,
		char ***ret_rest);
bool cli_wants_help(const char *arg);

/* ---- smoljail run: its options (options.c) --------------------------- */

enum run_what { RUN_NOTHING, RUN_FILE, RUN_CODE, RUN_MODULE, RUN_STDIN, RUN_COMMAND };

/* One field of the policy that an option sets. */
struct run_set {
	const char *flag, *path, *value;
};

struct run_options {
	/* Set by the caller before parsing; zeroes are for `smoljail run`. */
	const char *command;			/* as errors name it */
	const struct cli_option *extra;		/* options of this command besides those of run */
	bool takes_allow;			/* --allow NAME=VALUE is like --NAME VALUE */
	bool optional;				/* there may be nothing to run */

	const char *policy, *dir, *report;	/* NULL: not given */
	bool explain, quiet, verbose, help;
	struct run_set *sets;
	size_t n_sets;
	enum run_what what;
	char *text;		/* file, code or module */
	char **args;		/* the rest of argv; for RUN_COMMAND all of the command */
};

/* 0, or an exit status after the mistake was told. The strings belong to argv. */
int run_options_parse(int argc, char **argv, struct run_options *o);
void run_options_clear(struct run_options *o);
void run_options_help(void);

/* What the options say, into a run (cmd_run.c). 0, or an exit status: the mistake has been told. */
int run_configure(struct sj_run *run, const struct run_options *o);
/* A file for JSON, opened before anything runs; option names it in errors. path NULL: *ret_fd stays as it is. */
int run_open_output(const char *option, const char *path, int *ret_fd);
int run_write_output(int fd, const char *text);	/* 0 or -errno; fd -1: nothing is written */

#endif
