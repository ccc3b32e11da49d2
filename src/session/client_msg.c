/*
 * client_msg.c - what clients ask, message by message
 *
 * Runs as: the server
 * Trusts: nothing beyond what msg_parse() has checked
 * Never: shows a client a session that another one opened
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "session/serve_internal.h"

#define TIMEOUT_MAX_S (7.0 * 24 * 3600)

/* ---- about the server ---------------------------------------------------------- */

static void out_list(struct out *o, const char *key, const char *const *words)
{
	out_open(o, key, '[');
	for (; *words; words++)
		out_text(o, NULL, *words);
	out_close(o, ']');
}

static void hello(struct client *c, const struct msg *m)
{
	static const char *const backends[] = { "local", NULL };
	static const char *const features[] = { "tools", "files", "interrupt", "guard", "limits", NULL };
	int64_t protocol = 0;
	struct out o;

	(void)msg_int(m, "protocol", &protocol);
	if (protocol != 1) {
		client_error(c, m->id, NULL, "not_hello", "only protocol 1 is spoken here", NULL);
		return;
	}
	c->greeted = true;
	out_begin(&o, &c->outbox.b, "hello", m->id);
	out_int(&o, "protocol", 1);
	out_text(&o, "version", sj_version());
	out_text(&o, "python", c->server->python[0] ? c->server->python : NULL);
	out_list(&o, "backends", backends);
	out_list(&o, "features", features);
	out_open(&o, "limits", '{');
	out_int(&o, "frame", WIRE_FRAME_MAX);
	out_int(&o, "sessions", c->server->opt.max_sessions);
	out_close(&o, '}');
	client_sent(c, &o);
}

static uint64_t own_memory(void)
{
	_cleanup_free_ char *text = NULL;
	unsigned long long size, rss;

	if (io_read_file("/proc/self/statm", 256, &text, NULL) < 0 || sscanf(text, "%llu %llu", &size, &rss) != 2)
		return 0;
	return rss * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void stats(struct client *c, const char *id)
{
	const struct server *sv = c->server;
	uint64_t lives = 0, running = 0;
	struct out o;

	for (size_t i = 0; i < sv->n_slots; i++) {
		lives += sv->slots[i].live && sv->slots[i].live->client == c;
		running += sv->slots[i].live && sv->slots[i].live->client == c && sv->slots[i].live->asked == ASKED_RUN;
	}
	out_begin(&o, &c->outbox.b, "stats", id);
	out_int(&o, "sessions", lives);
	out_int(&o, "running", running);
	out_int(&o, "steps", sv->steps);
	out_int(&o, "uptime_ms", (sv->now - sv->started_at) / 1000);
	out_int(&o, "memory", own_memory());
	client_sent(c, &o);
}

static void pong(struct client *c, const char *id)
{
	struct out o;

	out_begin(&o, &c->outbox.b, "pong", id);
	client_sent(c, &o);
}

/* ---- requests that a guest carries out ------------------------------------------- */

/* A frame for the guest: the client's own members as they came, under the same type. */
static void begin_request(struct live *l, struct out *o, const struct msg *m)
{
	l->request.len = 0;
	out_begin(o, &l->request, m->rule->type, NULL);
}

static void pass(struct out *o, const struct msg *m, const char *name)
{
	const struct wire_span *raw = msg_raw(m, name);

	if (raw && !(raw->len == 4 && memcmp(raw->text, "null", 4) == 0))
		out_raw(o, name, raw);
}

static void submit(struct live *l, struct out *o, enum asked asked, const struct msg *m)
{
	if (out_end(o) < 0)
		client_error(l->client, m->id, l->name, "too_large", "no memory for this request", NULL);
	else if (l->request.len - WIRE_FRAME_HEAD > l->frame_max)
		client_error(l->client, m->id, l->name, "too_large", "longer than a frame of this session may be", NULL);
	else
		live_submit(l, asked, m->id);
}

/* The step's time limit, 0 for the policy's; false: the client was told. */
static bool timeout_of(struct live *l, const struct msg *m, uint64_t *ret_us)
{
	uint64_t limit = l->policy->limits.wall_ms * 1000u;
	double s;

	*ret_us = 0;
	if (!msg_number(m, "timeout", &s))
		return true;
	if (!(s > 0) || s > TIMEOUT_MAX_S) {
		client_error(l->client, m->id, l->name, "bad_message", "run: \"timeout\" is not between 0 and a week", NULL);
		return false;
	}
	*ret_us = (uint64_t)(s * 1e6) + 1;
	if (limit && *ret_us > limit + 1 && !l->server->opt.allow_loosen) {
		client_error(l->client, m->id, l->name, "not_allowed", "run: \"timeout\" is above the session's limits.wall",
			     "open the session with a longer limits.wall, if the server's policy has one");
		return false;
	}
	return true;
}

static void run(struct live *l, const struct msg *m)
{
	const char *value = msg_string(m, "value", NULL);
	uint64_t timeout;
	struct out o;

	if (value && strcmp(value, "last_expr") != 0 && strcmp(value, "last_stmt") != 0) {
		client_error(l->client, m->id, l->name, "bad_message", "run: \"value\" is \"last_expr\" or \"last_stmt\"", NULL);
		return;
	}
	if (!timeout_of(l, m, &timeout))
		return;
	l->timeout_us = timeout;
	begin_request(l, &o, m);
	pass(&o, m, "code");
	pass(&o, m, "value");
	pass(&o, m, "filename");
	out_int(&o, "step", l->steps + 1);
	submit(l, &o, ASKED_RUN, m);
}

static void tools(struct live *l, const struct msg *m)
{
	const struct wire_span *raw = msg_raw(m, "tools");
	struct out o;

	free(l->new_tools);
	l->new_tools = strndup(raw->text, raw->len);
	if (!l->new_tools) {
		client_error(l->client, m->id, l->name, "too_large", "no memory for these tools", NULL);
		return;
	}
	begin_request(l, &o, m);
	pass(&o, m, "tools");
	submit(l, &o, ASKED_TOOLS, m);
}

static void forward(struct live *l, const struct msg *m, enum asked asked)
{
	struct out o;

	begin_request(l, &o, m);
	for (const struct msg_field *f = m->rule->fields; f->name; f++)
		if (strcmp(f->name, "session") != 0)
			pass(&o, m, f->name);
	submit(l, &o, asked, m);
}

static void ask(struct live *l, const struct msg *m)
{
	if (l->asked != ASKED_NOTHING || l->closing) {
		client_error(l->client, m->id, l->name, "busy",
			     l->asked == ASKED_RUN ? "a step is running" : "a request is not finished yet", NULL);
		return;
	}
	switch ((enum client_msg)m->rule->kind) {
	case CLIENT_RUN: run(l, m); break;
	case CLIENT_TOOLS: tools(l, m); break;
	case CLIENT_SET: forward(l, m, ASKED_SET); break;
	case CLIENT_GET: forward(l, m, ASKED_GET); break;
	case CLIENT_PUT: forward(l, m, ASKED_PUT); break;
	case CLIENT_FETCH: forward(l, m, ASKED_FETCH); break;
	case CLIENT_LIST: forward(l, m, ASKED_LIST); break;
	case CLIENT_HELLO: case CLIENT_OPEN: case CLIENT_TOOL_RESULT: case CLIENT_INTERRUPT: case CLIENT_CLOSE:
	case CLIENT_STATS: case CLIENT_PING: case CLIENT_SHUTDOWN: case CLIENT_UNSUPPORTED:
		break;
	}
}

static void interrupt(struct live *l, const char *id)
{
	if (l->asked != ASKED_RUN) {
		client_error(l->client, id, l->name, "not_running", "no step is running", NULL);
		return;
	}
	client_ok(l->client, id);
	if (l->sent) {
		step_stop(l, STOP_SIGNAL);
		return;
	}
	/* It still waits for a fresh interpreter: then it never runs. */
	step_begin(l);
	l->step.stop = STOP_SIGNAL;
	step_end(l, NULL, &l->seen, false);
}

/* ---- the switch --------------------------------------------------------------------- */

static void about_session(struct client *c, const struct msg *m)
{
	size_t len;
	const char *name = msg_string(m, "session", &len);
	struct live *l = name && strlen(name) == len ? live_find(c, name) : NULL;

	if (!l) {
		client_error(c, m->id, NULL, "no_session", "there is no session of that name", NULL);
		return;
	}
	l->used_at = c->server->now;
	switch ((enum client_msg)m->rule->kind) {
	case CLIENT_TOOL_RESULT:
		live_tool_result(l, m);
		break;
	case CLIENT_INTERRUPT:
		interrupt(l, m->id);
		break;
	case CLIENT_CLOSE:
		live_close(l, m->id);
		break;
	case CLIENT_UNSUPPORTED:
		client_error(c, m->id, l->name, "unsupported", "not in this version", NULL);
		break;
	case CLIENT_RUN: case CLIENT_TOOLS: case CLIENT_SET: case CLIENT_GET: case CLIENT_PUT: case CLIENT_FETCH:
	case CLIENT_LIST:
		ask(l, m);
		live_plan(l);
		break;
	case CLIENT_HELLO: case CLIENT_OPEN: case CLIENT_STATS: case CLIENT_PING: case CLIENT_SHUTDOWN:
		break;
	}
}

static void act(struct client *c, const struct msg *m)
{
	switch ((enum client_msg)m->rule->kind) {
	case CLIENT_HELLO:
		hello(c, m);
		break;
	case CLIENT_OPEN:
		client_open(c, m);
		break;
	case CLIENT_STATS:
		stats(c, m->id);
		break;
	case CLIENT_PING:
		pong(c, m->id);
		break;
	case CLIENT_SHUTDOWN:
		client_ok(c, m->id);
		server_end(c->server);
		break;
	case CLIENT_RUN: case CLIENT_TOOLS: case CLIENT_TOOL_RESULT: case CLIENT_SET: case CLIENT_GET: case CLIENT_PUT:
	case CLIENT_FETCH: case CLIENT_LIST: case CLIENT_INTERRUPT: case CLIENT_CLOSE: case CLIENT_UNSUPPORTED:
		about_session(c, m);
		break;
	}
}

void client_message(struct client *c, const char *json, size_t len)
{
	_cleanup_msg_ struct msg m = { 0 };
	struct msg_fault fault;
	int r = msg_parse(MSG_FROM_CLIENT, json, len, &m, &fault);

	if (r == -ENOMEM)
		client_drop(c);
	else if (r < 0)
		client_error(c, fault.id, NULL, fault.code, fault.message, NULL);
	else if (!(m.rule->states & (c->greeted ? MSG_WHILE_GREETED : MSG_WHILE_NEW)))
		client_error(c, m.id, NULL, "not_hello", "the first message is hello", NULL);
	else
		act(c, &m);
}
