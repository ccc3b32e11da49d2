/*
 * live_time.c - a session's deadlines and the limits that the server itself holds
 *
 * Runs as: the server
 * Trusts: the kernel's counters
 * Never: counts the time in which a step waits for its client, but for the CPU it uses meanwhile
 */
#include <string.h>

#include "session/serve_internal.h"

static bool runs(const struct live *l)
{
	return l->phase == PHASE_READY && l->asked == ASKED_RUN && l->sent;
}

static void earlier(uint64_t *at, uint64_t when)
{
	if (when < *at)
		*at = when;
}

static uint64_t after(uint64_t at, uint64_t us)
{
	return us > NEVER - at ? NEVER : at + us;
}

/* ---- looking at the counters -------------------------------------------------------- */

bool live_polls_memory(const struct live *l)
{
	return l->policy->limits.memory && l->rep->enforced.memory && strcmp(l->rep->enforced.memory, "polling") == 0;
}

static unsigned int busy_cpus(const struct live *l)
{
	unsigned int online = prep_online_cpus(), share = (l->policy->limits.cpu_milli + 999) / 1000;
	bool held = share && strcmp(l->rep->enforced.cpu, "none") != 0;

	return held && share < online ? share : online;
}

/* With every CPU busy the limit cannot be reached sooner than this. */
static uint64_t cpu_look_us(struct live *l, uint64_t used_us)
{
	uint64_t limit = l->policy->limits.cpu_ms * 1000u, left;

	if (!l->n_cpus)
		l->n_cpus = busy_cpus(l);
	left = used_us < limit ? (limit - used_us) / l->n_cpus : 0;
	return left < SESSION_CPU_CHECK_MIN_MS * 1000u ? SESSION_CPU_CHECK_MIN_MS * 1000u : left;
}

void live_plan_sample(struct live *l, const struct jail_usage *u)
{
	uint64_t at = NEVER, now = l->server->now;

	if (runs(l) && l->policy->limits.cpu_ms)
		earlier(&at, now + cpu_look_us(l, u->cpu_us - l->step.before.cpu_us));
	if (runs(l) && !l->step.resumed_at)
		earlier(&at, now + SERVE_PAUSE_LOOK_MS * 1000u);
	if (live_polls_memory(l)) {
		uint64_t full = (runs(l) ? SESSION_POLL_MS : SERVE_IDLE_LOOK_MS) * 1000u;

		earlier(&at, now + (u->memory_peak > l->policy->limits.memory / 4 * 3 ? full / 4 : full));
	}
	if (l->policy->isolation == POLICY_ISOLATION_LANDLOCK)
		earlier(&at, l->disk_at > now ? l->disk_at : now);
	l->sample_at = at;
}

/* What a step computes while it waits for its client is its own time after all. */
static void count_pause(struct live *l, const struct jail_usage *u)
{
	struct step *s = &l->step;

	if (s->resumed_at)
		return;
	if (s->pause_cpu != NEVER && u->cpu_us > s->pause_cpu)
		s->used_us += u->cpu_us - s->pause_cpu;
	s->pause_cpu = u->cpu_us;
}

static void too_much_memory(struct live *l)
{
	if (l->step.stop == STOP_NONE && runs(l))
		l->step.stop = STOP_MEMORY;
	live_kill(l, runs(l) ? AFTER_RESTART : AFTER_DOWN);
}

/* True: the private folders, which nothing else bounds, are past their size, and the session's jail is ended. */
static bool too_much_disk(struct live *l)
{
	uint64_t used = 0;
	bool full = false;

	if (l->policy->isolation != POLICY_ISOLATION_LANDLOCK || l->server->now < l->disk_at)
		return false;
	jail_disk(l->jail, &used, &full);
	l->disk_at = l->server->now + (runs(l) ? SESSION_DISK_MS : SERVE_IDLE_LOOK_MS) * 1000u;
	if (!full)
		return false;
	if (l->step.stop == STOP_NONE && runs(l))
		l->step.stop = STOP_DISK;
	live_kill(l, runs(l) ? AFTER_RESTART : AFTER_DOWN);
	return true;
}

static void sample(struct live *l)
{
	const struct policy_limits *limits = &l->policy->limits;
	struct jail_usage u = { 0 };

	if (jail_sample(l->jail, &u) < 0)
		u = l->seen;
	if (live_polls_memory(l) && u.memory_peak > limits->memory) {
		too_much_memory(l);
		return;
	}
	if (too_much_disk(l))
		return;
	if (runs(l)) {
		count_pause(l, &u);
		if (limits->cpu_ms && u.cpu_us - l->step.before.cpu_us >= limits->cpu_ms * 1000u)
			step_stop(l, STOP_CPU);
	}
	live_plan_sample(l, &u);
}

/* ---- deadlines ------------------------------------------------------------------------ */

static uint64_t wall_deadline(const struct live *l)
{
	const struct step *s = &l->step;

	if (!runs(l) || s->stop != STOP_NONE || s->wall_us == NEVER)
		return NEVER;
	if (s->used_us >= s->wall_us)
		return l->server->now;
	return s->resumed_at ? after(s->resumed_at, s->wall_us - s->used_us) : NEVER;
}

/* set, get, tools ...: what runs inside for them is the guest's own code, but it runs in untrusted hands. */
static uint64_t request_deadline(const struct live *l)
{
	uint64_t ms = l->policy->limits.wall_ms ? l->policy->limits.wall_ms : SERVE_REQUEST_MS;

	if (l->phase == PHASE_STARTING)
		return l->started_at + SESSION_SETUP_MS * 1000u;
	if (l->phase == PHASE_RETOOLING)
		return after(l->started_at, ms * 1000u);
	if (l->phase != PHASE_READY || l->asked == ASKED_NOTHING || l->asked == ASKED_RUN || !l->sent)
		return NEVER;
	return after(l->step.sent_at, ms * 1000u);
}

static uint64_t idle_deadline(const struct live *l)
{
	bool idle = (l->phase == PHASE_READY || l->phase == PHASE_DOWN) && l->asked == ASKED_NOTHING;

	return idle && l->server->opt.idle_ms ? after(l->used_at, l->server->opt.idle_ms * 1000u) : NEVER;
}

void live_plan(struct live *l)
{
	uint64_t at = NEVER;

	if (l->phase == PHASE_DYING || l->phase == PHASE_DEAD) {
		l->server->slots[l->slot].wake = l->phase == PHASE_DYING ? l->kill_at : NEVER;
		return;
	}
	earlier(&at, wall_deadline(l));
	earlier(&at, request_deadline(l));
	earlier(&at, idle_deadline(l));
	if (l->jail && l->phase == PHASE_READY)
		earlier(&at, l->sample_at);
	if (l->kill_at)
		earlier(&at, l->kill_at);
	if (l->again_at)
		earlier(&at, l->again_at);
	l->server->slots[l->slot].wake = at;
}

/* A step that was stopped, or a guest that closed its channel, is still there. */
static void lose_patience(struct live *l)
{
	struct grace *g = &l->step.grace;

	if (runs(l) && l->step.stop != STOP_NONE && !grace_over(g, l->jail, l->server->now))
		l->kill_at = g->until;
	else
		live_kill(l, runs(l) ? AFTER_RESTART : AFTER_DOWN);
}

static void interrupt_again(struct live *l)
{
	l->again_at = 0;
	jail_signal(l->jail, SIGINT);
}

static void give_up(struct live *l)
{
	if (l->phase == PHASE_STARTING)
		snprintf(l->why, sizeof(l->why), "the guest was not ready in %d s", SESSION_SETUP_MS / 1000);
	live_kill(l, AFTER_DOWN);
}

static void idle_too_long(struct live *l)
{
	l->closing = true;
	snprintf(l->close_id, sizeof(l->close_id), "null");
	live_kill(l, AFTER_END);
}

void live_tick(struct live *l)
{
	uint64_t now = l->server->now;

	if (l->phase == PHASE_DYING)
		live_kill_again(l);
	else if (l->kill_at && now >= l->kill_at)
		lose_patience(l);
	else if (l->again_at && now >= l->again_at)
		interrupt_again(l);
	else if (now >= wall_deadline(l))
		step_stop(l, STOP_WALL);
	else if (now >= request_deadline(l))
		give_up(l);
	else if (now >= idle_deadline(l))
		idle_too_long(l);
	else if (l->jail && l->phase == PHASE_READY && now >= l->sample_at)
		sample(l);
	live_plan(l);
}
