/*
 * api.c - running a program, as the library's callers see it
 *
 * Runs as: the caller
 * Trusts: the caller's pointers; values are checked by policy/ and session/
 * Never: prints, exits, or does work of its own
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "policy/policy.h"
#include "session/session.h"
#include "workbench/workbench.h"

#define DEFAULT_POLICY "python"

struct sj_run {
	char *policy_name;
	struct policy_set *sets;	/* strings owned */
	size_t n_sets;
	bool chosen;			/* something to run is set */
	enum wire_mode mode;
	char *target, *code, *dir;
	size_t code_len;
	char **args;
	int stdio[3];
	bool traced, learns, confine;
	sj_denied_fn *on_denied;
	void *on_denied_arg;
};


const char *sj_version(void)
{
	return SMOLJAIL_VERSION;
}

int sj_run_new(const char *policy, struct sj_run **ret, struct sj_err *err)
{
	struct sj_run *run = calloc(1, sizeof(*run));

	if (!run)
		return err_oom(err);
	run->stdio[1] = 1;
	run->stdio[2] = 2;
	run->policy_name = strdup(policy ? policy : DEFAULT_POLICY);
	if (!run->policy_name) {
		free(run);
		return err_oom(err);
	}
	*ret = run;
	return 0;
}

static void set_clear(struct policy_set *set)
{
	free((char *)(uintptr_t)set->path);
	free((char *)(uintptr_t)set->value);
	free((char *)(uintptr_t)set->flag);
}

struct sj_run *sj_run_free(struct sj_run *run)
{
	if (!run)
		return NULL;
	for (size_t i = 0; i < run->n_sets; i++)
		set_clear(&run->sets[i]);
	free(run->sets);
	free(run->policy_name);
	free(run->target);
	free(run->code);
	free(run->dir);
	base_strv_freep(&run->args);
	free(run);
	return NULL;
}

/* ---- what differs from the policy --------------------------------------------- */

int sj_run_set_flag(struct sj_run *run, const char *flag, const char *path, const char *value, struct sj_err *err)
{
	struct policy_set set = { .path = strdup(path), .value = strdup(value), .flag = flag ? strdup(flag) : NULL };
	struct policy_set *grown = reallocarray(run->sets, run->n_sets + 1, sizeof(*grown));

	if (grown)
		run->sets = grown;
	if (!grown || !set.path || !set.value || (flag && !set.flag)) {
		set_clear(&set);
		return err_oom(err);
	}
	run->sets[run->n_sets++] = set;
	return 0;
}

int sj_run_set(struct sj_run *run, const char *path, const char *value, struct sj_err *err)
{
	return sj_run_set_flag(run, NULL, path, value, err);
}

/* ---- what to run ----------------------------------------------------------------- */

static int replace(char **where, const char *s)
{
	char *copy = strdup(s);

	if (!copy)
		return -ENOMEM;
	free(*where);
	*where = copy;
	return 0;
}

static int replace_list(char ***where, char *const *list)
{
	_cleanup_strv_ char **copy = NULL;

	for (size_t i = 0; list && list[i]; i++)
		if (strv_push(&copy, list[i]) < 0)
			return -ENOMEM;
	base_strv_freep(where);
	*where = steal_ptr(copy);
	return 0;
}

static int choose(struct sj_run *run, enum wire_mode mode, const char *target)
{
	run->mode = mode;
	run->chosen = true;
	return replace(&run->target, target);
}

int sj_run_script(struct sj_run *run, const char *file)
{
	return choose(run, WIRE_MODE_FILE, file);
}

int sj_run_module(struct sj_run *run, const char *module)
{
	return choose(run, WIRE_MODE_MODULE, module);
}

static int choose_text(struct sj_run *run, enum wire_mode mode, const char *text, size_t len)
{
	char *copy = malloc(len + 1);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, text, len);
	copy[len] = '\0';
	free(run->code);
	run->code = copy;
	run->code_len = len;
	run->mode = mode;
	run->chosen = true;
	return 0;
}

int sj_run_code(struct sj_run *run, const char *code)
{
	return choose_text(run, WIRE_MODE_CODE, code, strlen(code));
}

int sj_run_text(struct sj_run *run, const char *text, size_t len)
{
	return choose_text(run, WIRE_MODE_STDIN, text, len);
}

int sj_run_command(struct sj_run *run, char *const *argv)
{
	run->mode = WIRE_MODE_EXEC;
	run->chosen = argv && argv[0];
	return replace_list(&run->args, argv);
}

int sj_run_args(struct sj_run *run, char *const *args)
{
	return replace_list(&run->args, args);
}

int sj_run_dir(struct sj_run *run, const char *dir)
{
	return replace(&run->dir, dir);
}

void sj_run_trace(struct sj_run *run)
{
	run->traced = true;
}

void sj_run_learn(struct sj_run *run)
{
	run->traced = run->learns = true;
}

int sj_run_isolation(struct sj_run *run, const char *word, struct sj_err *err)
{
	return sj_run_set_flag(run, "--isolation", "isolation", word, err);
}

void sj_run_stdio(struct sj_run *run, int in, int out, int err)
{
	run->stdio[0] = in;
	run->stdio[1] = out;
	run->stdio[2] = err;
}

void sj_run_confine(struct sj_run *run)
{
	run->confine = true;
}

/* ---- running ------------------------------------------------------------------------ */

static int load_policy(const struct sj_run *run, struct policy **ret, struct sj_err *err)
{
	return run->learns ? learn_load(run->policy_name, run->sets, run->n_sets, ret, err)
			   : policy_load(run->policy_name, run->sets, run->n_sets, ret, err);
}

static int nothing_to_run(struct sj_err *err)
{
	err_set(err, EINVAL, SJ_EXIT_USAGE, "E_NO_PROGRAM", "nothing to run");
	err_fix(err, "give a script, code, a module or a command");
	return -EINVAL;
}

static void denial_of(const struct session_denial *d, struct sj_denial *ret)
{
	*ret = (struct sj_denial){
		.what = d->what, .count = d->count, .rule = session_denial_rule(d), .layer = session_denial_layer(d),
		.reason = d->rule ? d->rule->reason : NULL, .error = d->error, .by_guest = d->by_guest,
		.file = d->where.file[0] ? d->where.file : NULL, .line = d->where.line,
		.function = d->where.function[0] ? d->where.function : NULL,
		.text = d->where.text[0] ? d->where.text : NULL,
		.allow_with = d->allow_with[0] ? d->allow_with : NULL, .never = d->never[0] ? d->never : NULL,
	};
}

static void on_denied(void *arg, const struct session_denial *d)
{
	const struct sj_run *run = arg;
	struct sj_denial told;

	denial_of(d, &told);
	run->on_denied(run->on_denied_arg, &told);
}

void sj_run_on_denied(struct sj_run *run, sj_denied_fn *fn, void *arg)
{
	run->on_denied = fn;
	run->on_denied_arg = arg;
}

static int run_with_policy(struct sj_run *run, struct sj_report *report, struct sj_err *err)
{
	struct session_run s = {
		.policy = report->policy, .trace = report->trace, .mode = run->mode, .target = run->target,
		.code = run->code, .code_len = run->code_len, .args = run->args, .dir = run->dir,
		.stdio = { run->stdio[0], run->stdio[1], run->stdio[2] },
		.on_denied = run->on_denied ? on_denied : NULL, .on_denied_arg = run,
		.confine = run->confine,
	};

	return session_run(&s, &report->r, err);
}

int sj_run_start(struct sj_run *run, struct sj_report **ret_report, struct sj_err *err)
{
	struct sj_report *report = calloc(1, sizeof(*report));
	struct sj_err own = { 0 };
	int r;

	if (!report)
		return err_oom(err);
	if (run->traced && !(report->trace = trace_new())) {
		free(report);
		return err_oom(err);
	}
	r = run->chosen ? load_policy(run, &report->policy, &own) : nothing_to_run(&own);
	if (r < 0)
		session_report_refused(&report->r, &own);
	else
		r = run_with_policy(run, report, &own);
	if (r < 0 && err)
		*err = own;
	*ret_report = report;
	return r;
}

/* ---- what happened ---------------------------------------------------------------------- */

/* Said to a person who looks on: not what the program's own end, its own message or a key press explains. */
static bool worth_saying(const struct session_report *r)
{
	switch (r->status) {
	case STATUS_OK:
	case STATUS_ERROR:
	case STATUS_SETUP_ERROR:
		return false;
	case STATUS_EXIT:
		return !r->ran;
	case STATUS_SIGNAL:
		return r->signal != SIGINT && r->signal != SIGPIPE;
	case STATUS_TIMEOUT:
	case STATUS_CPU_LIMIT:
	case STATUS_OOM:
	case STATUS_PIDS_LIMIT:
	case STATUS_OUTPUT_LIMIT:
	case STATUS_DISK_LIMIT:
	case STATUS_VIOLATION:
	case STATUS_LOST:
		break;
	}
	return true;
}

static const char *word_or_none(const char *s)
{
	return s ? s : "none";
}

void sj_report_summary(const struct sj_report *report, struct sj_summary *ret)
{
	const struct session_report *r = &report->r;

	*ret = (struct sj_summary){
		.status = session_status_word(r->status), .reason = r->reason, .hint = r->hint[0] ? r->hint : NULL,
		.exit_code = r->exit_code, .signal = r->signal, .exit_status = r->exit_status,
		.ran = r->ran, .stopped = worth_saying(r), .truncated = r->truncated,
		.wall_us = r->wall_us, .setup_us = r->setup_us, .cpu_us = r->usage.cpu_us,
		.memory_peak = r->usage.memory_peak, .pids_peak = r->usage.pids_peak,
		.stdout_bytes = r->out_bytes, .stderr_bytes = r->err_bytes, .denied_total = r->denied_total,
		.policy = report->policy ? report->policy->name : NULL, .isolation = r->isolation,
		.held_by = { word_or_none(r->enforced.memory), word_or_none(r->enforced.cpu),
			     word_or_none(r->enforced.cpu_time), word_or_none(r->enforced.pids) },
	};
}

int sj_report_denial(const struct sj_report *report, size_t i, struct sj_denial *ret)
{
	if (i >= report->r.n_denied)
		return -ENOENT;
	denial_of(&report->r.denied[i], ret);
	return 0;
}

char *sj_report_json(const struct sj_report *report)
{
	return session_report_json(&report->r, report->policy);
}

struct sj_report *sj_report_free(struct sj_report *report)
{
	if (!report)
		return NULL;
	trace_free(report->trace);
	policy_free(report->policy);
	free(report);
	return NULL;
}
