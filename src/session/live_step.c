/*
 * live_step.c - one step of a session: its output, its end, its result
 *
 * Runs as: the server
 * Trusts: kernel and own clock; what the guest says of the end only chooses among what they permit
 * Never: sends a result before the output that was written before it
 */
#include <jansson.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "session/serve_internal.h"

#define NO_FILES "{\"new\":[],\"changed\":[],\"truncated\":false}"

/* ---- begin ------------------------------------------------------------------------ */

void step_begin(struct live *l)
{
	const struct policy_limits *limits = &l->policy->limits;
	uint64_t now = io_now_us();
	struct step *s = &l->step;

	*s = (struct step){
		.sent_at = now, .resumed_at = now, .before = l->seen,
		.wall_us = l->timeout_us ? l->timeout_us : limits->wall_ms ? limits->wall_ms * 1000u : NEVER,
		.budget = limits->output ? limits->output : UINT64_MAX,
		.total_before = l->rep->denied_total,
	};
	if (l->asked != ASKED_RUN)
		return;
	for (size_t i = 0; i < l->rep->n_denied; i++)
		s->denied_before[i] = l->rep->denied[i].count;
	l->steps++;
	l->server->steps++;
	live_plan_sample(l, &s->before);
}

/* ---- output ------------------------------------------------------------------------- */

static void send_output(struct live *l, bool err, const char *data, size_t len)
{
	struct step *s = &l->step;
	struct out o;

	if (!l->client || l->client->dropped)
		return;
	out_begin(&o, &l->client->outbox.b, "output", l->id);
	out_text(&o, "session", l->name);
	out_text(&o, "stream", err ? "stderr" : "stdout");
	out_bytes(&o, "data", data, len, err ? &s->err_rest : &s->out_rest, &s->replaced);
	client_sent(l->client, &o);
}

/* Above the limit bytes are still taken, so that the program can end, and thrown away. */
static void take_output(struct live *l, bool err, const char *data, size_t len)
{
	struct step *s = &l->step;
	size_t part = len;

	if (s->budget != UINT64_MAX) {
		part = len > s->budget ? (size_t)s->budget : len;
		s->budget -= part;
	}
	*(err ? &s->err_bytes : &s->out_bytes) += part;
	if (part)
		send_output(l, err, data, part);
	if (part < len) {
		s->truncated = true;
		step_stop(l, STOP_OUTPUT);
	}
}

/* One read; false when there is nothing more now. */
static bool pump(struct live *l, bool err)
{
	struct source *src = err ? &l->err : &l->out;
	ssize_t n;

	if (src->fd < 0)
		return false;
	n = read(src->fd, l->server->pipe_chunk, SERVE_CHUNK);
	if (n > 0)
		take_output(l, err, l->server->pipe_chunk, (size_t)n);
	else if (n == 0)
		source_close(l->server, src); /* every process has closed it */
	return n > 0;
}

void step_output(struct live *l, bool err)
{
	/* Between steps nothing is read: it belongs to the next one. */
	if (l->asked != ASKED_RUN || !l->sent || l->phase != PHASE_READY) {
		source_mute(l->server, err ? &l->err : &l->out);
		return;
	}
	(void)pump(l, err);
	live_plan(l);
}

/* What was written before a message of the guest stands in the pipes; a writer in the background has no end. */
void step_drain(struct live *l)
{
	for (int i = 0; i < SERVE_DRAIN_READS && pump(l, false); i++)
		;
	for (int i = 0; i < SERVE_DRAIN_READS && pump(l, true); i++)
		;
}

/* The beginning of a character that never came. */
static void end_output(struct live *l)
{
	struct utf8_rest *rests[] = { &l->step.out_rest, &l->step.err_rest };

	for (int i = 0; i < 2; i++) {
		if (!rests[i]->n)
			continue;
		rests[i]->n = 0;
		l->step.replaced++;
		send_output(l, i == 1, "\xef\xbf\xbd", 3);
	}
}

/* ---- pausing and stopping ------------------------------------------------------------- */

void step_pause(struct live *l)
{
	struct step *s = &l->step;

	if (s->resumed_at)
		s->used_us += io_now_us() - s->resumed_at;
	s->resumed_at = 0;
	s->pause_cpu = NEVER;
	if (l->sample_at > l->server->now + SERVE_PAUSE_LOOK_MS * 1000u)
		l->sample_at = l->server->now + SERVE_PAUSE_LOOK_MS * 1000u;
	live_plan(l);
}

void step_resume(struct live *l)
{
	if (l->phase == PHASE_READY && l->asked == ASKED_RUN)
		l->step.resumed_at = io_now_us();
}

/* SIGINT first: Python then says where it was, and its state lives on. */
void step_stop(struct live *l, enum stop why)
{
	if (l->step.stop != STOP_NONE || l->phase != PHASE_READY || !l->sent)
		return;
	l->step.stop = why;
	jail_signal(l->jail, SIGINT);
	grace_begin(&l->step.grace, l->jail, l->server->now);
	l->kill_at = l->step.grace.until;
	/* One that comes just before the guest begins to wait for a tool's result wakes it from nothing. */
	l->again_at = l->n_calls ? l->server->now + SESSION_GRACE_MS * 500u : 0;
	live_plan(l);
}

/* ---- the verdict ------------------------------------------------------------------------ */

static void copy_text(char *to, size_t len, const json_t *text)
{
	if (json_is_string(text))
		text_clean(json_string_value(text), json_string_length(text), to, len, true);
}

/* A step's end in the words that a program's end has. */
static void claim_of(const struct msg *m, struct wire_claim *ret, int *ret_wait_status)
{
	const char *status = msg_string(m, "status", NULL);
	const json_t *error = msg_json(m, "error");
	int64_t code = 0;

	*ret_wait_status = 0;
	if (strcmp(status, "exit") == 0) {
		(void)msg_int(m, "exit_code", &code);
		*ret_wait_status = (int)(code & 0xff) << 8;
	} else if (strcmp(status, "error") == 0) {
		*ret_wait_status = 1 << 8;
		ret->outcome = WIRE_OUTCOME_EXCEPTION;
		copy_text(ret->type, sizeof(ret->type), json_object_get(error, "type"));
		copy_text(ret->message, sizeof(ret->message), json_object_get(error, "message"));
		ret->line = (int)json_number_value(json_object_get(error, "line"));
	}
}

static struct jail_usage since(const struct jail_usage *now, const struct jail_usage *before)
{
	struct jail_usage u = *now;

	u.cpu_us = now->cpu_us > before->cpu_us ? now->cpu_us - before->cpu_us : 0;
	u.oom_kills = now->oom_kills > before->oom_kills ? now->oom_kills - before->oom_kills : 0;
	u.memory_hits = now->memory_hits > before->memory_hits ? now->memory_hits - before->memory_hits : 0;
	u.pids_hits = now->pids_hits > before->pids_hits ? now->pids_hits - before->pids_hits : 0;
	return u;
}

/* Sets status, reason and exit_code of *ret. */
static void judge(const struct live *l, const struct msg *m, const struct jail_usage *delta, bool full,
		  struct session_report *ret)
{
	struct policy policy = *l->policy;
	struct wire_claim claim = { 0 };
	int wait_status = l->wait_status;
	struct verdict_in in = {
		.stop = l->step.stop, .stop_signal = SIGINT, .exited = m || l->exited, .mode = WIRE_MODE_SESSION,
		.command = "", .usage = delta, .enforced = &l->rep->enforced, .claim = &claim, .disk_full = full,
		.policy = &policy,
	};

	if (m)
		claim_of(m, &claim, &wait_status);
	in.wait_status = wait_status;
	policy.limits.wall_ms = l->step.wall_us == NEVER ? 0 : l->step.wall_us / 1000u;
	verdict(&in, ret);
}

/* The words of a result; most are those of a report. */
static const char *word_of(const struct live *l, const struct msg *m, struct session_report *r)
{
	if (l->violated) {
		snprintf(r->reason, sizeof(r->reason), "%s", l->why);
		return "violation";
	}
	if (l->step.stop == STOP_SIGNAL) {
		snprintf(r->reason, sizeof(r->reason), "interrupted by the client");
		return "interrupted";
	}
	if (!m && l->hung_up && r->status == STATUS_LOST)
		snprintf(r->reason, sizeof(r->reason), "the interpreter closed its channel");
	/* Whatever its status, the interpreter has ended. */
	if (!m && r->status == STATUS_OK)
		snprintf(r->reason, sizeof(r->reason), "the interpreter ended with status 0");
	if (r->status == STATUS_OK && (!m || strcmp(msg_string(m, "status", NULL), "exit") == 0))
		return "exit";
	return session_status_word(r->status);
}

/* ---- the result -------------------------------------------------------------------------- */

static void out_usage(struct out *o, const struct live *l, const struct jail_usage *delta, bool known)
{
	out_open(o, "usage", '{');
	out_ms(o, "wall_ms", io_now_us() - l->step.sent_at);
	if (known)
		out_ms(o, "cpu_ms", delta->cpu_us);
	else
		out_null(o, "cpu_ms");
	if (known && delta->memory_peak)
		out_int(o, "memory_peak", delta->memory_peak);
	else
		out_null(o, "memory_peak");
	out_close(o, '}');
}

static void out_denied(struct out *o, const struct live *l)
{
	const struct session_report *rep = l->rep;

	out_open(o, "denied", '[');
	for (size_t i = 0; i < rep->n_denied; i++) {
		uint64_t times = rep->denied[i].count - l->step.denied_before[i];
		_cleanup_json_ json_t *j = times ? report_denial(&rep->denied[i], times) : NULL;

		if (times)
			out_json(o, NULL, j);
	}
	out_close(o, ']');
}

static void out_counts(struct out *o, const struct step *s)
{
	out_open(o, "output", '{');
	out_int(o, "stdout", s->out_bytes);
	out_int(o, "stderr", s->err_bytes);
	out_bool(o, "truncated", s->truncated);
	out_int(o, "replaced", s->replaced);
	out_close(o, '}');
}

/* What the guest says of its end, as it says it. */
static void out_claims(struct out *o, const struct msg *m, const struct session_report *r)
{
	out_raw(o, "value", m ? msg_raw(m, "value") : NULL);
	out_raw(o, "repr", m ? msg_raw(m, "repr") : NULL);
	out_bool(o, "value_truncated", m && msg_true(m, "value_truncated"));
	out_bool(o, "is_final_answer", m && msg_true(m, "is_final_answer"));
	out_raw(o, "error", m ? msg_raw(m, "error") : NULL);
	if (m)
		out_raw(o, "exit_code", msg_raw(m, "exit_code"));
	else if (r->exit_code >= 0)
		out_int(o, "exit_code", (uint64_t)r->exit_code);
	else
		out_null(o, "exit_code");
	if (m && msg_json(m, "files"))
		out_raw(o, "files", msg_raw(m, "files"));
	else
		out_raw(o, "files", &(struct wire_span){ NO_FILES, sizeof(NO_FILES) - 1 });
}

static void send_result(struct live *l, const struct msg *m, const char *word, const struct session_report *r,
			const struct jail_usage *delta, bool known)
{
	struct out o;

	if (!l->client || l->client->dropped)
		return;
	out_begin(&o, &l->client->outbox.b, "result", l->id);
	out_text(&o, "session", l->name);
	out_text(&o, "status", word);
	out_text(&o, "reason", r->reason);
	out_claims(&o, m, r);
	out_text(&o, "state", m ? "kept" : l->after == AFTER_END ? "ended" : "reset");
	out_counts(&o, &l->step);
	out_usage(&o, l, delta, known);
	out_denied(&o, l);
	client_sent(l->client, &o);
}

/* A step that went well needs all counters only where memory came near its limit: there they begin to count. */
static bool glance(struct live *l, const struct msg *m, struct jail_usage *usage)
{
	uint64_t limit = l->policy->limits.memory;

	*usage = l->seen;
	if (strcmp(msg_string(m, "status", NULL), "ok") != 0 || jail_glance(l->jail, usage) < 0 ||
	    (limit && usage->memory_peak + SERVE_MEMORY_NEAR >= limit && l->seen.memory_peak != usage->memory_peak))
		return false;
	l->seen.cpu_us = usage->cpu_us;
	l->seen.memory_peak = usage->memory_peak;
	return true;
}

/* Where no control group counts, a look costs a walk through /proc: not for a short step. */
static bool look(struct live *l, const struct msg *m, struct jail_usage *usage)
{
	bool cheap = strncmp(l->rep->enforced.memory ? l->rep->enforced.memory : "", "cgroup", 6) == 0;

	if (glance(l, m, usage))
		return true;
	if (!cheap && io_now_us() - l->step.sent_at < SERVE_USAGE_POLL_US)
		return false;
	if (jail_sample(l->jail, usage) < 0)
		return false;
	l->seen = *usage;
	return true;
}

void step_end(struct live *l, const struct msg *m, const struct jail_usage *last, bool full)
{
	struct session_report *r = l->server->verdict;
	struct jail_usage usage = *last, delta;
	const char *word;
	bool known = true;

	if (!m)
		step_drain(l);
	end_output(l);
	if (m)
		known = look(l, m, &usage);
	delta = since(&usage, &l->step.before);
	judge(l, m, &delta, full, r);
	word = word_of(l, m, r);
	send_result(l, m, word, r, &delta, known);
	l->rep->out_bytes += l->step.out_bytes;
	l->rep->err_bytes += l->step.err_bytes;
	l->rep->truncated |= l->step.truncated;
	l->asked = ASKED_NOTHING;
	l->kill_at = l->again_at = 0;
	l->n_calls = 0;
	if (m)
		live_plan_sample(l, &usage);
}
