/*
 * api_doctor.c - sj_doctor: the host's facts, a rehearsal, and which policies can run
 *
 * Runs as: the caller
 * Trusts: the probes of jail/, which use the launcher's own steps
 * Never: changes the host
 */
#include <stdlib.h>
#include <string.h>

#include "jail/jail.h"
#include "policy/policy.h"
#include "root/root.h"
#include "session/session.h"

#define REHEARSAL_WALL "10s"	/* far more than an empty program takes anywhere */

struct doctor {
	sj_doctor_fact_fn *fn;
	void *arg;
	enum sj_state worst;
	char failed[40];		/* the first fact without which nothing runs */
	bool no_loopback, no_landlock;
	bool memory, pids, cpu;		/* held by a cgroup */
};

/* ---- facts ----------------------------------------------------------------- */

static void tell(struct doctor *d, const char *id, enum sj_state state, const char *value, const char *why, const char *fix)
{
	const struct sj_fact fact = { id, state, value, why, fix };

	if (state > d->worst)
		d->worst = state;
	if (state == SJ_STATE_FAIL && !d->failed[0])
		snprintf(d->failed, sizeof(d->failed), "%s", id);
	d->fn(d->arg, &fact);
}

static void remember(struct doctor *d, const struct probe_fact *f)
{
	bool ok = f->state == PROBE_OK;

	if (strcmp(f->id, "netns.lo") == 0)
		d->no_loopback = !ok;
	else if (strcmp(f->id, "landlock") == 0)
		d->no_landlock = !ok;
	else if (strcmp(f->id, "limit.memory") == 0)
		d->memory = ok;
	else if (strcmp(f->id, "limit.pids") == 0)
		d->pids = ok;
	else if (strcmp(f->id, "limit.cpu") == 0)
		d->cpu = ok;
}

static void on_probe(void *arg, const struct probe_fact *f)
{
	static const enum sj_state states[] = {
		[PROBE_OK] = SJ_STATE_OK,
		[PROBE_WARN] = SJ_STATE_WARN,
		[PROBE_FAIL] = SJ_STATE_FAIL,
	};
	struct doctor *d = arg;

	remember(d, f);
	tell(d, f->id, states[f->state], f->value, f->why, f->fix);
}

static void tell_root(struct doctor *d)
{
	_cleanup_root_ struct root root = { 0 };
	struct sj_err err = { 0 };

	if (root_find(SJ_ROOTFS_DEFAULT, &root, &err) < 0)
		tell(d, "root." SJ_ROOTFS_DEFAULT, SJ_STATE_FAIL, "no", err.why[0] ? err.why : err.what, err.fix);
	else
		tell(d, "root." SJ_ROOTFS_DEFAULT, SJ_STATE_OK, root.path, "", "");
}

/* One real run of an empty program: what the single probes cannot know, this does. */
static bool rehearse(const struct policy_set *sets, size_t n_sets, struct session_report *report, struct sj_err *err,
		     char *value, size_t len)
{
	static char code[] = "pass";
	struct session_run run = { .mode = WIRE_MODE_CODE, .code = code, .code_len = sizeof(code) - 1, .stdio = { -1, -1, -1 } };
	_cleanup_policy_ struct policy *policy = NULL;
	int r = policy_load("python", sets, n_sets, &policy, err);

	if (r == 0) {
		run.policy = policy;
		r = session_run(&run, report, err);
	}
	if (r == 0 && report->status == STATUS_OK)
		return true;
	if (r == 0 && report->status != STATUS_SETUP_ERROR) {
		snprintf(value, len, "no: an empty program ended with \"%s\"", session_status_word(report->status));
		snprintf(err->why, sizeof(err->why), "%s", report->reason);
		snprintf(err->fix, sizeof(err->fix), "smoljail run --report - -c pass shows more");
		return false;
	}
	if (!err->id[0])
		*err = report->setup;
	snprintf(value, len, "no: %s", err->id);
	if (!err->why[0])
		snprintf(err->why, sizeof(err->why), "%s", err->what);
	return false;
}

static void tell_rehearsal(struct doctor *d)
{
	static const struct policy_set sets[] = { { .path = "limits.wall", .value = REHEARSAL_WALL } };
	_cleanup_free_ struct session_report *report = calloc(1, sizeof(*report));
	struct sj_err err = { 0 };
	char value[96];

	if (!report)
		return;
	if (rehearse(sets, ARRAY_LEN(sets), report, &err, value, sizeof(value)))
		tell(d, "run", SJ_STATE_OK, "yes", "", "");
	else
		tell(d, "run", SJ_STATE_FAIL, value, err.why, err.fix);
}

/* The weaker alternative. Whether it can run is told where a full jail can, too; its absence takes nothing away. */
static void tell_light(struct doctor *d)
{
	static const struct policy_set sets[] = {
		{ .path = "limits.wall", .value = REHEARSAL_WALL }, { .path = "isolation", .value = "landlock" },
	};
	_cleanup_free_ struct session_report *report = calloc(1, sizeof(*report));
	struct sj_err err = { 0 };
	char value[96], line[sizeof(value) + sizeof(err.why) + 4];

	if (!report)
		return;
	if (rehearse(sets, ARRAY_LEN(sets), report, &err, value, sizeof(value)))
		snprintf(line, sizeof(line), "yes, if asked for (--isolation landlock); weaker");
	else
		snprintf(line, sizeof(line), "%s: %s", value, err.why);
	tell(d, "run.landlock", SJ_STATE_OK, line, err.why, err.fix);
}

/* ---- policies ---------------------------------------------------------------- */

static bool lacks_cgroup(const struct doctor *d, const struct policy_limits *l)
{
	return l->enforcement == POLICY_CGROUP &&
	       ((l->memory && !d->memory) || (l->pids && !d->pids) || (l->cpu_milli && !d->cpu));
}

/* Empty: it can run. */
static void why_not(const struct doctor *d, const char *name, char *ret, size_t len)
{
	_cleanup_policy_ struct policy *p = NULL;
	_cleanup_root_ struct root root = { 0 };
	struct sj_err err = { 0 };

	ret[0] = '\0';
	if (policy_load(name, NULL, 0, &p, &err) < 0)
		snprintf(ret, len, "%s", err.what);
	else if (root_find(p->files.root, &root, &err) < 0)
		snprintf(ret, len, "root \"%s\" is missing", p->files.root);
	else if (d->failed[0])
		snprintf(ret, len, "%s failed", d->failed);
	else if (lacks_cgroup(d, &p->limits))
		snprintf(ret, len, "limits.enforcement is \"cgroup\", and no cgroup holds all of its limits here");
	else if (p->net == POLICY_NET_LOOPBACK && d->no_loopback)
		snprintf(ret, len, "network.mode is \"loopback\", and netns.lo failed");
	else if (p->landlock == POLICY_LANDLOCK_REQUIRE && d->no_landlock)
		snprintf(ret, len, "landlock is \"require\", and this kernel has none");
}

enum sj_state sj_doctor(sj_doctor_fact_fn *fact, sj_doctor_policy_fn *policy, void *arg)
{
	struct doctor d = { .fn = fact, .arg = arg };
	char why[512];
	const char *name;

	(void)jail_probe(on_probe, &d);
	tell_root(&d);
	tell_rehearsal(&d);
	tell_light(&d);
	for (size_t i = 0; (name = policy_shipped_name(i)); i++) {
		why_not(&d, name, why, sizeof(why));
		policy(arg, name, why[0] ? why : NULL);
	}
	return d.worst;
}

bool sj_doctor_phase(size_t i, struct sj_phase *ret)
{
	struct jail_phase_text text;

	if (!jail_phase_text(i, &text))
		return false;
	*ret = (struct sj_phase){ text.name, text.runs_as, text.takes_away };
	return true;
}
