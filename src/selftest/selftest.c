/*
 * selftest.c - jails of every policy are attacked, and each outcome is held against the one that was promised
 *
 * Runs as: the caller
 * Trusts: the kernel, and the reports of its own supervisors; answers from inside are our own attacks'
 * Never: counts an attack as failed because it was not tried
 */
/*
 * Theory of operation. For each policy one jail is looked at from the host and loses
 * its supervisor; then the others run, some side by side: one in which most attacks
 * are made, and one for each that ends or fills its jail. Checks are judged when all
 * have ended, in the order of the table. Canaries are looked at last.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "selftest/internal.h"

#define GOT_MAX 256
#define LEFT_MS 5000
#define LANDLOCK_SCOPES 6	/* the version from which on signals and abstract sockets are held */

struct policy_test {
	const struct sj_selftest *options;
	const char *policy, *isolation;
	struct canaries *canaries;
	struct jail_run runs[JAIL_KINDS];
	bool used[JAIL_KINDS];
	struct outside outside;
	char looked[24][OUTSIDE_MAX];	/* answers of JAIL_WAIT, in the table's order */
	unsigned int left[JAIL_KINDS];
};

static const char *skip_reason(const struct policy_test *t, const struct check *c)
{
	const char *why;

	(void)check_wanted(c, t->policy, t->isolation, &why);
	return why;
}

static bool to_be_tried(const struct policy_test *t, const struct check *c)
{
	return check_chosen(c, t->options->only) && !skip_reason(t, c);
}

/* ---- running ------------------------------------------------------------------------ */

static int start(struct policy_test *t, enum jail_kind kind, struct sj_err *err)
{
	t->runs[kind] = (struct jail_run){ .kind = kind, .policy = t->policy, .in = -1, .out = -1, .result = -1 };
	t->used[kind] = true;
	return run_start(&t->runs[kind], t->canaries, t->isolation, err);
}

/* A launch that failed is the host's affair, told as such. */
static int refused(const struct jail_run *r, struct sj_err *err)
{
	if (!r->end.told || r->end.ran)
		return 0;
	*err = r->end.err;
	if (!err->exit)
		return err_set(err, EIO, SJ_EXIT_SETUP, "E_SELFTEST", "selftest: no jail of policy %s: %s", r->policy, r->end.reason);
	return err->error ? -err->error : -EIO;
}

/* Seen from the host while it waits; then its supervisor is killed. */
static int watch(struct policy_test *t, struct sj_err *err)
{
	struct jail_run *r = &t->runs[JAIL_WAIT];
	size_t n = 0;
	int e = start(t, JAIL_WAIT, err);

	if (e < 0)
		return e;
	if (run_wait_for(r, "waiting\tready") && outside_find(&t->outside, r->launcher))
		for (size_t i = 0; i < n_checks; i++)
			if (checks[i].jail == JAIL_WAIT && n < ARRAY_LEN(t->looked))
				outside_look(&t->outside, checks[i].id, t->looked[n++], OUTSIDE_MAX);
	if (t->outside.guest)
		(void)kill(r->launcher, SIGKILL);
	run_collect(r);
	t->left[JAIL_WAIT] = outside_left(r->token, LEFT_MS);
	return refused(r, err);
}

static bool jail_needed(const struct policy_test *t, enum jail_kind kind)
{
	for (size_t i = 0; i < n_checks; i++)
		if (checks[i].jail == kind && to_be_tried(t, &checks[i]))
			return true;
	return false;
}

/* Most of them wait more than they compute; but all at once would starve on a small machine, or a busy one. */
static size_t jails_at_once(void)
{
	cpu_set_t cpus;

	return 2 * (sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? (size_t)CPU_COUNT(&cpus) : 1);
}

static int finish_one(struct policy_test *t, enum jail_kind kind, struct sj_err *err)
{
	run_collect(&t->runs[kind]);
	return refused(&t->runs[kind], err);
}

/* The first error is told; what was started is waited for all the same. */
static int run_side_by_side(struct policy_test *t, struct sj_err *err)
{
	enum jail_kind started[JAIL_KINDS];
	size_t max = jails_at_once(), n = 0, ended = 0;
	struct sj_err ignored;
	int e = 0;

	for (int k = 0; e == 0 && k < JAIL_KINDS; k++) {
		if (k == JAIL_WAIT || !jail_needed(t, (enum jail_kind)k))
			continue;
		if (n - ended == max)
			e = finish_one(t, started[ended++], err);
		if (e == 0)
			e = start(t, started[n++] = (enum jail_kind)k, err);
	}
	while (ended < n) {
		int r = finish_one(t, started[ended++], e == 0 ? err : &ignored);

		e = e == 0 ? r : e;
	}
	return e;
}

static int run_all(struct policy_test *t, struct sj_err *err)
{
	int e = jail_needed(t, JAIL_WAIT) ? watch(t, err) : 0;

	if (e == 0)
		e = run_side_by_side(t, err);
	if (t->used[JAIL_ORPHAN])
		t->left[JAIL_ORPHAN] = outside_left(t->runs[JAIL_ORPHAN].token, LEFT_MS);
	return e;
}

/* ---- judging ---------------------------------------------------------------------------- */

struct verdict {
	char got[GOT_MAX], detail[GOT_MAX * 4];
	const char *skip;
};

/* Landlock's version in the words of the report, 0 = none. */
static long landlock_version(const struct jail_run *r)
{
	const char *at = strstr(r->end.isolation, "landlock:");

	return at ? strtol(at + strlen("landlock:"), NULL, 10) : 0;
}

static void left_over(const struct policy_test *t, enum jail_kind kind, struct verdict *v)
{
	size_t len = strlen(v->got);

	if (t->left[kind])
		snprintf(v->got + len, sizeof(v->got) - len, "%s%u left", len ? " " : "", t->left[kind]);
	else
		snprintf(v->got + len, sizeof(v->got) - len, "%snone left", len ? " " : "");
}

static void judge_waiting(const struct policy_test *t, const struct check *c, struct verdict *v)
{
	size_t n = 0;

	if (strcmp(c->id, "process.supervisor") == 0) {
		if (t->outside.guest)
			left_over(t, JAIL_WAIT, v);
		return;
	}
	for (size_t i = 0; i < n_checks && &checks[i] != c; i++)
		n += checks[i].jail == JAIL_WAIT;
	if (n < ARRAY_LEN(t->looked))
		snprintf(v->got, sizeof(v->got), "%s", t->looked[n]);
}

/* An attack that outlived what should have ended it speaks for itself; else the report does. */
static void judge_ending(const struct policy_test *t, const struct check *c, struct verdict *v)
{
	const struct jail_run *r = &t->runs[c->jail];

	if (run_answer(r, c->id, v->got, sizeof(v->got), v->detail, sizeof(v->detail)))
		return;
	snprintf(v->got, sizeof(v->got), "%s", r->end.status);
	snprintf(v->detail, sizeof(v->detail), "%s", r->end.reason);
}

static void judge_answer(const struct policy_test *t, const struct check *c, struct verdict *v)
{
	const struct jail_run *r = &t->runs[c->jail];

	if (!run_answer(r, c->id, v->got, sizeof(v->got), v->detail, sizeof(v->detail)))
		snprintf(v->detail, sizeof(v->detail), "the jail ended before: %s, %s", r->end.status, r->end.reason);
	if ((c->needs & P_LANDLOCK) && landlock_version(r) < LANDLOCK_SCOPES)
		v->skip = "the kernel's Landlock knows no scope of signals (version 6 does)";
	if (strcmp(c->id, "key.canary") == 0 && t->canaries->key <= 0)
		v->skip = "no kernel keys here";
}

static void judge(const struct policy_test *t, const struct check *c, struct verdict *v)
{
	const char *state;

	switch (c->jail) {
	case JAIL_WAIT:
		judge_waiting(t, c, v);
		break;
	case JAIL_MAIN:
	case JAIL_SMALL:
	case JAIL_PROCESSES:
		judge_answer(t, c, v);
		break;
	case JAIL_ORPHAN:
		judge_answer(t, c, v);
		if (strcmp(v->got, "left") == 0)
			v->got[0] = '\0';
		left_over(t, JAIL_ORPHAN, v);
		break;
	case JAIL_CANARIES:
		state = canary_state(t->canaries, c->id, &v->skip);
		snprintf(v->got, sizeof(v->got), "%s", state ? state : "");
		break;
	case JAIL_MEMORY:
	case JAIL_FLOOD:
	case JAIL_WALL:
	case JAIL_CPU:
	case JAIL_STOPPED:
	case JAIL_CRASH:
	case JAIL_FOREIGN:
	case JAIL_X32:
	case JAIL_LDT:
		judge_ending(t, c, v);
		break;
	case JAIL_SWEEP:
	case JAIL_KINDS:
	case JAIL_NOWHERE:
		break;
	}
}

/* Not every policy goes with every isolation; one that was asked for by name is an error instead. */
static void tell_unfit(const struct policy_test *t, sj_selftest_fn *fn, void *arg)
{
	for (size_t i = 0; i < n_checks; i++) {
		struct sj_check told = { .policy = t->policy, .id = checks[i].id, .what = checks[i].what, .state = SJ_CHECK_SKIP,
					 .got = "no answer", .why = "the policy does not go with this isolation" };

		if (check_chosen(&checks[i], t->options->only))
			fn(arg, &told);
	}
}

static size_t tell(struct policy_test *t, sj_selftest_fn *fn, void *arg)
{
	size_t failed = 0;

	for (size_t i = 0; i < n_checks; i++) {
		const struct check *c = &checks[i];
		struct verdict v = { .skip = skip_reason(t, c) };
		struct sj_check told = { .policy = t->policy, .id = c->id, .what = c->what };

		if (!check_chosen(c, t->options->only))
			continue;
		if (!v.skip) {
			told.want = check_wanted(c, t->policy, t->isolation, &v.skip);
			judge(t, c, &v);
		}
		if (v.skip)
			told.state = SJ_CHECK_SKIP;
		else
			told.state = check_passes(told.want, v.got) ? SJ_CHECK_PASS : SJ_CHECK_FAIL;
		told.got = v.got[0] ? v.got : "no answer";
		told.why = v.skip ? v.skip : v.detail;
		failed += told.state == SJ_CHECK_FAIL;
		fn(arg, &told);
	}
	return failed;
}

/* A supervisor that was killed has left its control group, if it had one; the next launch takes it away. */
static void sweep(struct policy_test *t)
{
	struct sj_err ignored = { 0 };

	if (!t->used[JAIL_WAIT])
		return;
	if (start(t, JAIL_SWEEP, &ignored) == 0)
		run_collect(&t->runs[JAIL_SWEEP]);
}

static int test_policy(struct policy_test *t, sj_selftest_fn *fn, void *arg, size_t *failed, struct sj_err *err)
{
	bool named = t->options->policies;
	int e = run_all(t, err);

	if (e == 0) {
		*failed += tell(t, fn, arg);
	} else if (!named && err->exit == SJ_EXIT_USAGE) {
		tell_unfit(t, fn, arg);
		e = 0;
	}
	sweep(t);
	for (int k = 0; k < JAIL_KINDS; k++)
		if (t->used[k])
			run_clear(&t->runs[k]);
	return e;
}

/* ---- all of it ----------------------------------------------------------------------------- */

static int check_options(const struct sj_selftest *o, struct sj_err *err)
{
	bool known = !o->only;

	for (size_t i = 0; !known && i < n_checks; i++)
		known = check_chosen(&checks[i], o->only);
	if (!known) {
		err_set(err, EINVAL, SJ_EXIT_USAGE, "E_CHECK", "no check is named \"%s\"", o->only);
		err_fix(err, "smoljail selftest --list");
		return -EINVAL;
	}
	if (!isolation_provides(o->isolation ? o->isolation : "full")) {
		err_set(err, EINVAL, SJ_EXIT_USAGE, "E_ISOLATION", "--isolation: unknown word \"%s\"", o->isolation);
		err_fix(err, "full, the default, or landlock");
		return -EINVAL;
	}
	return 0;
}

int selftest_run(const struct sj_selftest *options, sj_selftest_fn *fn, void *arg, size_t *ret_failed, struct sj_err *err)
{
	struct policy_test t = { .options = options, .isolation = options->isolation ? options->isolation : "full" };
	struct canaries *canaries = NULL;
	struct sj_err own = { 0 };
	size_t failed = 0;
	int r = check_options(options, &own);

	if (r == 0)
		r = canary_make(&canaries, &own);
	for (size_t i = 0; r == 0; i++) {
		struct policy_test one = t;

		one.policy = options->policies ? options->policies[i] : sj_policy_name(i);
		if (!one.policy)
			break;
		one.canaries = canaries;
		r = test_policy(&one, fn, arg, &failed, &own);
	}
	canaries = canary_remove(canaries);
	if (r < 0) {
		if (err)
			*err = own;
		return r;
	}
	*ret_failed = failed;
	return 0;
}

bool selftest_check(size_t i, struct sj_check *ret)
{
	if (i >= n_checks)
		return false;
	*ret = (struct sj_check){ .id = checks[i].id, .what = checks[i].what, .state = SJ_CHECK_SKIP };
	if (checks[i].jail == JAIL_NOWHERE)
		ret->why = checks[i].want;
	return true;
}
