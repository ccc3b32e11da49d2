/*
 * live_guest.c - what a guest says: a table of messages and states, all else ends its session
 *
 * Runs as: the server
 * Trusts: nothing; each of these bytes may have been written by the jailed program
 * Never: takes a claim for a fact, or a descriptor from inside
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "session/serve_internal.h"

/* ---- the ready message ---------------------------------------------------------------- */

static void become_ready(struct live *l, const struct wire_ready *ready, int listener)
{
	struct session_report *rep = l->rep;

	l->ready = true;
	rep->denied_counted = listener >= 0;
	l->denied.python = ready->python;
	text_clean(ready->step, sizeof(ready->step), rep->python, sizeof(rep->python), true);
	memcpy(l->server->python, rep->python, sizeof(rep->python));
	report_isolation(rep, l->jail, l->policy);
	rep->setup_us = io_now_us() - l->started_at;
	source_close(l->server, &l->sync);
	base_closep(&l->handover.sync[0]);
	l->denied.listener = listener;
	if (listener >= 0 &&
	    source_open(l->server, &l->denied_source, SOURCE_DENIED, listener, true, l, EPOLLIN) < 0) {
		close(listener);
		l->denied.listener = -1;
		rep->denied_counted = false;
	}
}

void live_sync(struct live *l)
{
	struct wire_ready ready = { 0 };
	struct sj_err err = { 0 };
	int listener = -1, r;

	if (l->sync.fd < 0 || (recv(l->sync.fd, &ready, 0, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN))
		return;
	r = handover_ready(l->sync.fd, &ready, &listener, &err);
	if (r == 0) {
		become_ready(l, &ready, listener);
		return;
	}
	base_closep(&listener);
	if (r == -EPIPE) /* the guest is dead; init's message says how */
		source_close(l->server, &l->sync);
	else if (r != -EAGAIN)
		live_setup_failed(l, &err);
}

void live_denied(struct live *l, uint32_t events)
{
	if (denied_batch(&l->denied, events & EPOLLIN ? POLLIN : POLLHUP))
		return;
	source_close(l->server, &l->denied_source);
	l->denied.listener = -1;
}

/* ---- hello ------------------------------------------------------------------------------- */

static void send_opened(struct live *l)
{
	_cleanup_json_ json_t *report = report_object(l->rep, l->policy);
	struct out o;

	l->opened = true;
	if (!l->client)
		return;
	out_begin(&o, &l->client->outbox.b, "opened", l->open_id);
	out_text(&o, "session", l->name);
	out_text(&o, "python", l->rep->python);
	out_text(&o, "backend", "local");
	out_json(&o, "isolation", json_object_get(report, "isolation"));
	out_json(&o, "enforced_by", json_object_get(report, "enforced_by"));
	client_sent(l->client, &o);
}

static void send_settings(struct live *l)
{
	struct out o;

	out_begin(&o, &l->outbox.b, "limits", NULL);
	out_raw(&o, NULL, &(struct wire_span){ l->settings, strlen(l->settings) });
	out_int(&o, "frame", l->guest_frame_max);
	live_send(l, &o);
}

static void become_whole(struct live *l)
{
	l->phase = PHASE_READY;
	if (jail_sample(l->jail, &l->seen) < 0)
		l->seen = (struct jail_usage){ 0 };
	live_plan_sample(l, &l->seen);
	if (!l->opened)
		send_opened(l);
	live_idle(l);
}

static void on_hello(struct live *l)
{
	struct out o;

	/* The filter was loaded before; its message may wait behind this one. */
	if (!l->ready)
		live_sync(l);
	if (!l->ready) {
		live_violation(l, "hello before the filter was loaded");
		return;
	}
	send_settings(l);
	if (!l->tools) {
		become_whole(l);
		return;
	}
	l->phase = PHASE_RETOOLING;
	l->started_at = l->server->now;
	out_begin(&o, &l->outbox.b, "tools", NULL);
	out_raw(&o, "tools", &(struct wire_span){ l->tools, strlen(l->tools) });
	live_send(l, &o);
	live_plan(l);
}

/* ---- a step's messages ---------------------------------------------------------------------- */

static void begin_answer(struct live *l, struct out *o, const char *type)
{
	out_begin(o, &l->client->outbox.b, type, l->id);
	out_text(o, "session", l->name);
}

static void on_display(struct live *l, const struct msg *m)
{
	json_t *data = msg_json(m, "data"), *value;
	const char *mime, *first = NULL;
	struct out o;

	json_object_foreach(data, mime, value) {
		if (!json_is_string(value) || strlen(mime) > SERVE_MIME_MAX) {
			live_violation(l, "display with data that is no text, or a type that is none");
			return;
		}
		first = first ? first : mime;
	}
	if (!l->client)
		return;
	begin_answer(l, &o, "display");
	out_text(&o, "mime", first);
	out_raw(&o, "data", msg_raw(m, "data"));
	client_sent(l->client, &o);
}

static struct call *new_call(struct live *l)
{
	struct call *grown;

	if (l->n_calls == l->calls_size) {
		size_t size = l->calls_size ? 2 * l->calls_size : 4;

		grown = l->n_calls < SERVE_CALLS_MAX ? reallocarray(l->calls, size, sizeof(*grown)) : NULL;
		if (!grown)
			return NULL;
		l->calls = grown;
		l->calls_size = size;
	}
	return &l->calls[l->n_calls];
}

static void on_tool_call(struct live *l, const struct msg *m)
{
	struct call *call;
	int64_t guest = 0;
	struct out o;

	(void)msg_int(m, "call", &guest);
	for (size_t i = 0; i < l->n_calls; i++)
		if (l->calls[i].guest == guest) {
			live_violation(l, "two open calls of one number");
			return;
		}
	call = new_call(l);
	if (!call) {
		live_violation(l, "more than %u open calls", SERVE_CALLS_MAX);
		return;
	}
	*call = (struct call){ .number = ++l->next_call, .guest = guest };
	if (l->n_calls++ == 0)
		step_pause(l);
	if (!l->client)
		return;
	begin_answer(l, &o, "tool_call");
	out_int(&o, "call", call->number);
	out_raw(&o, "tool", msg_raw(m, "tool"));
	out_raw(&o, "args", msg_raw(m, "args"));
	out_raw(&o, "kwargs", msg_raw(m, "kwargs"));
	client_sent(l->client, &o);
}

void live_tool_result(struct live *l, const struct msg *m)
{
	const struct wire_span *value = msg_raw(m, "value"), *error = msg_raw(m, "error");
	int64_t number = 0;
	char guest[24];
	size_t i = 0;
	struct out o;

	(void)msg_int(m, "call", &number);
	while (i < l->n_calls && l->calls[i].number != (uint64_t)number)
		i++;
	if (number < 1 || i == l->n_calls) {
		client_error(l->client, m->id, l->name, "not_running", "that call is not open", NULL);
		return;
	}
	if (!value == !error) {
		client_error(l->client, m->id, l->name, "bad_message", "tool_result: either \"value\" or \"error\"", NULL);
		return;
	}
	if (queue_len(&l->outbox) >= SERVE_GUEST_QUEUE_FULL) {
		client_error(l->client, m->id, l->name, "too_many", "the guest has not read earlier results yet", NULL);
		return;
	}
	snprintf(guest, sizeof(guest), "%lld", (long long)l->calls[i].guest);
	l->calls[i] = l->calls[--l->n_calls];
	out_begin(&o, &l->outbox.b, "tool_result", NULL);
	out_raw(&o, "call", &(struct wire_span){ guest, strlen(guest) });
	out_raw(&o, value ? "value" : "error", value ? value : error);
	live_send(l, &o);
	if (l->n_calls == 0)
		step_resume(l);
	live_plan(l);
}

static void on_done(struct live *l, const struct msg *m)
{
	const char *status = msg_string(m, "status", NULL);
	struct jail_usage usage = { 0 };
	uint64_t used = 0;
	bool full = false;

	if (strcmp(status, "ok") != 0 && strcmp(status, "error") != 0 && strcmp(status, "exit") != 0) {
		live_violation(l, "done with an unknown status");
		return;
	}
	if (!live_guarded(l, m)) {
		live_violation(l, "done with refusals that no guard makes");
		return;
	}
	if (strcmp(status, "ok") != 0)
		jail_disk(l->jail, &used, &full);
	step_end(l, m, &usage, full);
	live_idle(l);
}

/* ---- answers ------------------------------------------------------------------------------------ */

static const char *answer_type(enum asked asked)
{
	switch (asked) {
	case ASKED_GET: return "variables";
	case ASKED_FETCH: return "data";
	case ASKED_LIST: return "files";
	case ASKED_NOTHING: case ASKED_RUN: case ASKED_TOOLS: case ASKED_SET: case ASKED_PUT: break;
	}
	return "ok";
}

static bool word_ok(const char *s)
{
	return s && s[0] && strlen(s) <= 32 && strspn(s, "abcdefghijklmnopqrstuvwxyz_") == strlen(s);
}

static void pass_answer(struct live *l, const struct msg *m)
{
	const json_t *error = msg_json(m, "error");
	const char *code = json_string_value(json_object_get(error, "code"));
	const char *message = json_string_value(json_object_get(error, "message"));
	struct out o;

	if (!l->client)
		return;
	if (error) {
		client_error(l->client, l->id, l->name, word_ok(code) ? code : "io", message ? message : "", NULL);
		return;
	}
	begin_answer(l, &o, answer_type(l->asked));
	for (size_t i = 0; i < m->raw.n; i++) {
		const struct wire_member *member = &m->raw.list[i];
		char key[16];

		if (member->key.len >= sizeof(key) || msg_is_key(&member->key, "type") || msg_is_key(&member->key, "ok"))
			continue;
		memcpy(key, member->key.text, member->key.len);
		key[member->key.len] = '\0';
		out_raw(&o, key, &member->value);
	}
	client_sent(l->client, &o);
}

static void on_answer(struct live *l, const struct msg *m)
{
	if (l->phase == PHASE_RETOOLING) {
		become_whole(l);
		return;
	}
	pass_answer(l, m);
	if (l->asked == ASKED_TOOLS && !msg_json(m, "error")) {
		free(l->tools);
		l->tools = steal_ptr(l->new_tools);
	}
	l->asked = ASKED_NOTHING;
	l->kill_at = 0;
	live_idle(l);
}

/* ---- the channel -------------------------------------------------------------------------------- */

/* Which messages are permitted now. */
static unsigned int state_of(const struct live *l)
{
	if (l->phase == PHASE_STARTING)
		return MSG_WHILE_OPENING;
	if (l->phase == PHASE_RETOOLING)
		return MSG_WHILE_ASKED;
	if (l->phase != PHASE_READY || l->asked == ASKED_NOTHING || !l->sent)
		return MSG_WHILE_IDLE;
	return l->asked == ASKED_RUN ? MSG_WHILE_RUNNING : MSG_WHILE_ASKED;
}

static void act(struct live *l, const struct msg *m)
{
	switch ((enum guest_msg)m->rule->kind) {
	case GUEST_HELLO:
		on_hello(l);
		break;
	case GUEST_TOOL_CALL:
		step_drain(l);
		on_tool_call(l, m);
		break;
	case GUEST_DISPLAY:
		step_drain(l);
		on_display(l, m);
		break;
	case GUEST_DONE:
		step_drain(l);
		on_done(l, m);
		break;
	case GUEST_ANSWER:
		on_answer(l, m);
		break;
	}
}

static void guest_message(struct live *l, const char *json, size_t len)
{
	_cleanup_msg_ struct msg m = { 0 };
	struct msg_fault fault;
	int r = msg_parse(MSG_FROM_GUEST, json, len, &m, &fault);

	if (r == -ENOMEM)
		live_violation(l, "no memory for a message of the guest");
	else if (r < 0)
		live_violation(l, "the guest sent %s: %.100s", fault.code, fault.message);
	else if (!(m.rule->states & state_of(l)))
		live_violation(l, "the guest sent %s, which is not permitted now", m.rule->type);
	else
		act(l, &m);
}

static bool listens(const struct live *l)
{
	return l->channel.fd >= 0 && (l->phase == PHASE_STARTING || l->phase == PHASE_RETOOLING || l->phase == PHASE_READY);
}

static size_t take_frames(struct live *l, const char *data, size_t len)
{
	size_t used = 0, n = 0;

	while (listens(l) && !(l->client && client_full(l->client))) {
		int r = wire_frame_peek(data + used, len - used, l->guest_frame_max, &n);

		if (r < 0)
			live_violation(l, "the guest sent a frame of an illegal length");
		if (r <= 0)
			break;
		guest_message(l, data + used + WIRE_FRAME_HEAD, n);
		used += WIRE_FRAME_HEAD + n;
	}
	return used;
}

/* As for a client's bytes; see client_take(). */
static void guest_take(struct live *l, const char *data, size_t len)
{
	size_t used = l->inbox.len == 0 ? take_frames(l, data, len) : 0;

	if (!listens(l))
		return;
	if (used < len && buf_append(&l->inbox, data + used, len - used) < 0) {
		live_violation(l, "no memory for a message of the guest");
		return;
	}
	if (l->inbox.len == 0 || (used > 0 && len > 0))
		return;
	used = take_frames(l, l->inbox.data, l->inbox.len);
	if (used < l->inbox.len)
		memmove(l->inbox.data, l->inbox.data + used, l->inbox.len - used);
	l->inbox.len -= used;
	if (l->inbox.len == 0 && l->inbox.size > SERVE_CHUNK)
		buf_free(&l->inbox);
}

/* Frames that came before the client's queue was full. */
void live_go_on(struct live *l)
{
	if (l->inbox.len)
		guest_take(l, NULL, 0);
}

/* No room for control data: a descriptor that rides along is closed by the kernel, and told by MSG_CTRUNC. */
static ssize_t receive(struct live *l, bool *ret_rider)
{
	struct iovec iov = { .iov_base = l->server->guest_chunk, .iov_len = SERVE_CHUNK };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n = recvmsg(l->channel.fd, &msg, MSG_DONTWAIT);

	l->heard += n > 0 ? (uint64_t)n : 0;
	*ret_rider = n >= 0 && (msg.msg_flags & MSG_CTRUNC);
	return n;
}

/* The end of the guest is heard from init; a guest that lives on without its channel is of no use. */
static void hung_up(struct live *l)
{
	source_close(l->server, &l->channel);
	l->hung_up = true;
	if (!l->kill_at)
		l->kill_at = l->server->now + SERVE_HANGUP_MS * 1000u;
	live_plan(l);
}

/* One read in a turn: a guest that floods the channel gets no more of the server than others. */
void live_channel(struct live *l, uint32_t events)
{
	bool rider;
	ssize_t n;

	if (events & EPOLLOUT)
		live_flush(l);
	live_go_on(l);
	if (!listens(l))
		return;
	if (l->client && client_full(l->client)) {
		/* An end that is not read yet would be told over and over. */
		if (events & (EPOLLHUP | EPOLLERR))
			source_mute(l->server, &l->channel);
		else
			live_want(l);
		return;
	}
	n = receive(l, &rider);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (rider)
		live_violation(l, "the guest sent a descriptor");
	else if (n > 0)
		guest_take(l, l->server->guest_chunk, (size_t)n);
	else
		hung_up(l);
}
