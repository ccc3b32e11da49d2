/*
 * live.c - a session's life: asked, killed, dead, replaced, closed
 *
 * Runs as: the server
 * Trusts: the policy; messages of the jail's init
 * Never: waits for a jail to die; forgets to answer what was asked
 */
/*
 * Phases: STARTING until the guest's hello, RETOOLING until a fresh guest after a
 * reset has its tools again, READY, DYING from the kill until the last process is
 * gone, then by `after` a fresh jail (STARTING), DOWN until something is asked,
 * or the end. What is asked waits in `request` until the guest is READY and no
 * signal to it is on its way.
 */
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "session/serve_internal.h"

/* ---- asking --------------------------------------------------------------------------------- */

/* The request goes out as soon as the guest can take it. */
static void dispatch(struct live *l)
{
	struct sj_err err = { 0 };

	if (l->asked == ASKED_NOTHING || l->sent)
		return;
	if (l->phase == PHASE_DOWN && live_start(l, &err) < 0) {
		client_refuse(l->client, l->id, l->name, "setup", &err);
		l->asked = ASKED_NOTHING;
		return;
	}
	if (l->phase != PHASE_READY || jail_signal_pending(l->jail))
		return;
	l->sent = true;
	if (buf_append(&l->outbox.b, l->request.data, l->request.len) < 0) {
		live_violation(l, "the guest does not read");
		return;
	}
	l->request.len = 0;
	if (l->request.size > SERVE_CHUNK)
		buf_free(&l->request);
	step_begin(l);
	live_flush(l);
	live_want(l);
}

void live_submit(struct live *l, enum asked asked, const char *id)
{
	l->asked = asked;
	l->sent = false;
	snprintf(l->id, sizeof(l->id), "%s", id);
	dispatch(l);
}

void live_idle(struct live *l)
{
	l->used_at = l->server->now;
	if (l->client && l->client->ended && l->asked == ASKED_NOTHING) {
		live_kill(l, AFTER_END);
		return;
	}
	dispatch(l);
	live_want(l);
	live_plan(l);
}

/* ---- what is read, what is written ------------------------------------------------------------- */

/*
 * Nothing of a guest is read while its client's queue is full; its output only while
 * a step runs. What is written between steps mutes the pipe by its first event.
 */
void live_want(struct live *l)
{
	bool full = l->client && client_full(l->client);
	uint32_t channel = (full ? 0 : EPOLLIN) | (queue_len(&l->outbox) ? EPOLLOUT : 0);

	source_want(l->server, &l->channel, channel);
	if (full) {
		source_want(l->server, &l->out, 0);
		source_want(l->server, &l->err, 0);
	} else if (l->asked == ASKED_RUN && l->sent) {
		source_want(l->server, &l->out, EPOLLIN);
		source_want(l->server, &l->err, EPOLLIN);
	}
}

/* A channel that is dead shows when it is read. What else is lost the guest waits for in vain, and its client with it. */
static void not_sent(struct live *l, int error)
{
	if (error == EAGAIN || error == EINTR)
		return;
	queue_clear(&l->outbox);
	if (error == EPIPE || error == ECONNRESET)
		return;
	snprintf(l->why, sizeof(l->why), "nothing can be sent to the guest: %s", strerror(error));
	live_kill(l, AFTER_RESTART);
}

void live_flush(struct live *l)
{
	while (queue_len(&l->outbox)) {
		ssize_t n = send(l->channel.fd, l->outbox.b.data + l->outbox.off, queue_len(&l->outbox),
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n <= 0) {
			not_sent(l, errno);
			break;
		}
		queue_taken(&l->outbox, (size_t)n);
		l->server->wrote_to_guest = true;
	}
	source_want(l->server, &l->channel,
		    (l->channel.events & EPOLLIN) | (queue_len(&l->outbox) ? (uint32_t)EPOLLOUT : 0u));
}

void live_send(struct live *l, struct out *o)
{
	if (out_end(o) < 0)
		live_violation(l, "the guest does not read");
	else
		live_flush(l);
}

/* ---- dying --------------------------------------------------------------------------------------- */

static void enter_dead(struct live *l)
{
	l->phase = PHASE_DEAD;
	l->after = AFTER_END;
	l->server->n_dead++;
	l->server->slots[l->slot].wake = NEVER;
}

/* Should it not die of this, it is tried once more. */
void live_kill_again(struct live *l)
{
	jail_kill(l->jail);
	l->kill_at = l->server->now + SERVE_KILL_AGAIN_MS * 1000u;
}

void live_kill(struct live *l, enum after after)
{
	if (l->phase == PHASE_DEAD)
		return;
	if (l->phase != PHASE_DYING || after > l->after)
		l->after = after;
	if (l->phase == PHASE_DYING)
		return;
	if (!l->jail) {
		l->phase = PHASE_DYING;
		live_dead(l);
		return;
	}
	live_kill_again(l);
	l->fresh = l->phase == PHASE_STARTING || l->phase == PHASE_RETOOLING;
	l->phase = PHASE_DYING;
	/* What is dead says nothing more; its last output stays in the pipes. */
	source_close(l->server, &l->channel);
	source_close(l->server, &l->sync);
	source_mute(l->server, &l->status);
	source_mute(l->server, &l->out);
	source_mute(l->server, &l->err);
	if (source_open(l->server, &l->death, SOURCE_DEATH, jail_death_fd(l->jail), false, l, EPOLLIN) < 0)
		live_dead(l);
	live_plan(l);
}

void live_violation(struct live *l, const char *fmt, ...)
{
	va_list ap;

	if (l->phase == PHASE_DYING || l->phase == PHASE_DEAD)
		return;
	va_start(ap, fmt);
	vsnprintf(l->why, sizeof(l->why), fmt, ap);
	va_end(ap);
	l->violated = true;
	live_kill(l, AFTER_END);
}

void live_abandon(struct live *l)
{
	l->client->lives--;
	l->client = NULL;
	l->asked = ASKED_NOTHING;
	l->closing = false;
	live_kill(l, AFTER_END);
}

void live_close(struct live *l, const char *id)
{
	if (l->closing) {
		client_error(l->client, id, l->name, "busy", "the session is being closed", NULL);
		return;
	}
	l->closing = true;
	snprintf(l->close_id, sizeof(l->close_id), "%s", id);
	if (l->asked == ASKED_RUN && l->step.stop == STOP_NONE)
		l->step.stop = STOP_SIGNAL;
	live_kill(l, AFTER_END);
}

/* "ready", "hello" and "done" may stand in the queues before the end that follows them. */
static void read_last_words(struct live *l)
{
	if (l->sync.fd >= 0)
		live_sync(l);
	for (int i = 0; i < SERVE_LAST_READS && l->channel.fd >= 0 && l->phase != PHASE_DYING; i++) {
		uint64_t before = l->heard;

		live_channel(l, EPOLLIN);
		if (l->heard == before)
			break;
	}
}

void live_setup_failed(struct live *l, const struct sj_err *err)
{
	snprintf(l->why, sizeof(l->why), "%.150s", err->what);
	if (!l->opened) {
		client_refuse(l->client, l->open_id, l->name, "setup", err);
		l->open_id[0] = '\0';
	}
	live_kill(l, AFTER_DOWN);
}

void live_jail_event(struct live *l)
{
	enum jail_event_kind kind = JAIL_EVENT_NONE;
	struct sj_err err = { 0 };
	int status = 0;

	/* What was killed is waited for elsewhere; this event was on its way already. */
	if (l->phase == PHASE_DYING)
		return;
	if (jail_event(l->jail, &kind, &status, &err) < 0)
		kind = JAIL_EVENT_GONE;
	switch (kind) {
	case JAIL_EVENT_STARTED:
		if (handover_release(&l->handover, &err) < 0) {
			live_setup_failed(l, &err);
			return;
		}
		dispatch(l);
		return;
	case JAIL_EVENT_NONE:
		dispatch(l);
		return;
	case JAIL_EVENT_FAILED:
		live_setup_failed(l, &err);
		return;
	case JAIL_EVENT_EXITED:
		l->exited = true;
		l->wait_status = status;
		read_last_words(l);
		break;
	case JAIL_EVENT_GONE:
		l->gone = true;
		source_close(l->server, &l->status);
		read_last_words(l);
		break;
	}
	if (l->phase != PHASE_DYING && l->phase != PHASE_DEAD)
		live_kill(l, l->asked == ASKED_RUN && l->sent ? AFTER_RESTART : AFTER_DOWN);
}

/* ---- dead ------------------------------------------------------------------------------------------ */

static void add_usage(struct jail_usage *sum, const struct jail_usage *u)
{
	sum->cpu_us += u->cpu_us;
	sum->user_us += u->user_us;
	sum->sys_us += u->sys_us;
	sum->oom_kills += u->oom_kills;
	sum->memory_hits += u->memory_hits;
	sum->pids_hits += u->pids_hits;
	if (u->memory_peak > sum->memory_peak)
		sum->memory_peak = u->memory_peak;
	if (u->pids_peak > sum->pids_peak)
		sum->pids_peak = u->pids_peak;
}

static void send_report(struct live *l, const char *id)
{
	struct session_report *rep = l->rep;
	_cleanup_json_ json_t *doc = NULL;
	struct out o;

	if (!l->client || l->client->dropped)
		return;
	rep->status = l->violated ? STATUS_VIOLATION : STATUS_OK;
	snprintf(rep->reason, sizeof(rep->reason), "%s", l->violated ? l->why : "the session was closed");
	rep->ran = true;
	rep->wall_us = l->server->now - l->opened_at;
	rep->usage = l->before;
	doc = report_object(rep, l->policy);
	if (doc)
		(void)json_object_set_new(doc, "steps", json_integer((json_int_t)l->steps));
	out_begin(&o, &l->client->outbox.b, "closed", id);
	out_text(&o, "session", l->name);
	out_json(&o, "report", doc);
	client_sent(l->client, &o);
}

/* How the guest ended before it was ready, for people. */
static void say_end(const struct live *l, char *ret, size_t len)
{
	char name[24];

	if (l->why[0])
		snprintf(ret, len, "%s", l->why);
	else if (!l->exited)
		snprintf(ret, len, "the jail's first process ended before the guest was ready");
	else if (WIFSIGNALED(l->wait_status))
		snprintf(ret, len, "the guest was ended by %s before it was ready",
			 verdict_signal_name(WTERMSIG(l->wait_status), name, sizeof(name)));
	else
		snprintf(ret, len, "the guest returned %d before it was ready", WEXITSTATUS(l->wait_status));
}

static void answer_lost(struct live *l)
{
	enum asked asked = l->asked;
	char end[200];

	l->asked = ASKED_NOTHING;
	if (!l->opened) {
		say_end(l, end, sizeof(end));
		if (l->open_id[0])
			client_error(l->client, l->open_id, l->name, "setup", end,
				     "raise limits.memory and limits.pids, or see `smoljail doctor`");
	} else if (l->closing && asked == ASKED_NOTHING) {
		return;
	} else if (l->violated) {
		client_error(l->client, asked ? l->id : "null", l->name, "violation", l->why, "open a new session");
	} else if (asked && l->after == AFTER_END) {
		client_error(l->client, l->id, l->name, "shutting_down", "the session is closed", NULL);
	} else if (asked && l->sent) {
		client_error(l->client, l->id, l->name, "lost", "the interpreter ended while it worked on this",
			     "the session goes on with a fresh one");
	} else if (!asked && l->after != AFTER_END) {
		client_error(l->client, "null", l->name, "lost", "the interpreter ended between two steps",
			     "the session goes on with a fresh one");
	} else if (asked && l->fresh) {
		say_end(l, end, sizeof(end));
		client_error(l->client, l->id, l->name, "setup", end, "see whether a tool of kind \"source\" ends it");
	} else {
		/* It was not sent yet: a fresh interpreter gets it. */
		l->asked = asked;
	}
}

/* A fresh jail for a session that goes on. */
static void start_again(struct live *l)
{
	struct sj_err err = { 0 };

	if (live_start(l, &err) < 0 && l->asked != ASKED_NOTHING) {
		client_refuse(l->client, l->id, l->name, "setup", &err);
		l->asked = ASKED_NOTHING;
	}
}

void live_dead(struct live *l)
{
	struct jail_usage usage = { 0 };
	enum after after = l->opened ? l->after : AFTER_END;
	uint64_t used = 0;
	bool full = false;

	if (l->jail)
		jail_disk(l->jail, &used, &full);
	/* Its messages are of no use any more, but for how the program ended. */
	if (l->jail && !l->exited && !l->gone && l->status.fd >= 0) {
		enum jail_event_kind kind = JAIL_EVENT_NONE;
		int status = 0;

		if (jail_event(l->jail, &kind, &status, NULL) == 0 && kind == JAIL_EVENT_EXITED) {
			l->exited = true;
			l->wait_status = status;
		}
	}
	source_close(l->server, &l->status);
	source_close(l->server, &l->death);
	l->jail = jail_finish(l->jail, &usage);
	l->kill_at = 0;
	if (l->asked == ASKED_RUN && l->sent && l->opened)
		step_end(l, NULL, &usage, full);
	else
		answer_lost(l);
	add_usage(&l->before, &usage);
	live_close_sources(l);
	if (l->closing)
		send_report(l, l->close_id);
	l->closing = false;
	l->n_calls = l->open_calls = 0;
	l->phase = PHASE_DOWN;
	if (after == AFTER_END || !l->client || (l->client->ended && !l->asked))
		enter_dead(l);
	else if (after == AFTER_RESTART || l->asked != ASKED_NOTHING)
		start_again(l);
	live_plan(l);
}
