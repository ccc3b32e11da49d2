/*
 * client.c - a client's two streams: frames in, frames out
 *
 * Runs as: the server
 * Trusts: nothing that it reads
 * Never: waits for a client, drops a frame, or lets one client's slowness reach another
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "session/serve_internal.h"

int client_new(struct server *sv, int in, int out, bool own, struct client **ret, struct sj_err *err)
{
	struct client *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return err_oom(err);
	c->server = sv;
	c->in = c->out = SOURCE_NONE;
	c->in_end = c->out_end = RELAY_END_NONE;
	c->inbox = BUF_INIT(WIRE_FRAME_MAX + WIRE_FRAME_HEAD + SERVE_CHUNK);
	c->outbox.b = BUF_INIT(SERVE_QUEUE_MAX);
	relay_end_caller(&c->in_end, in, false);
	r = source_open(sv, &c->in, SOURCE_CLIENT_IN, in, own, c, EPOLLIN);
	if (r == 0 && out != in) {
		relay_end_caller(&c->out_end, out, true);
		r = source_open(sv, &c->out, SOURCE_CLIENT_OUT, out, own, c, 0);
	}
	if (r < 0) {
		client_free(c);
		return handover_fault("a client's stream", -r, err);
	}
	c->next = sv->clients;
	sv->clients = c;
	sv->n_clients++;
	*ret = c;
	return 0;
}

void client_free(struct client *c)
{
	source_close(c->server, &c->in);
	source_close(c->server, &c->out);
	relay_end_close(&c->in_end);
	relay_end_close(&c->out_end);
	buf_free(&c->inbox);
	queue_clear(&c->outbox);
	free(c);
}

static void each_live(struct client *c, void (*act)(struct live *))
{
	for (size_t i = 0; i < c->server->n_slots; i++)
		if (c->server->slots[i].live && c->server->slots[i].live->client == c)
			act(c->server->slots[i].live);
}

void client_drop(struct client *c)
{
	if (c->dropped)
		return;
	c->dropped = true;
	source_close(c->server, &c->in);
	source_close(c->server, &c->out);
	each_live(c, live_abandon);
	/* The only client of a server without a door: with it all ends. */
	if (c->server->door.fd < 0)
		server_end(c->server);
}

/* ---- out -------------------------------------------------------------------------- */

bool client_full(const struct client *c)
{
	return queue_len(&c->outbox) >= SERVE_QUEUE_FULL;
}

/* A full queue stops what fills it: the client's requests and its guests. */
static void client_want(struct client *c)
{
	bool full = client_full(c), changed = full != c->held_back;
	uint32_t in = c->ended || c->last_words || full ? 0 : EPOLLIN, out = queue_len(&c->outbox) ? EPOLLOUT : 0;

	if (c->out_end.fd >= 0) {
		source_want(c->server, &c->in, in);
		source_want(c->server, &c->out, out);
	} else {
		source_want(c->server, &c->in, in | out);
	}
	c->held_back = full;
	if (changed)
		each_live(c, live_want);
}

static bool has_done(const struct client *c)
{
	return (c->last_words || (c->ended && c->lives == 0)) && queue_len(&c->outbox) == 0;
}

static void client_take(struct client *c, const char *data, size_t len);

uint64_t client_deadline(const struct client *c)
{
	bool ending = c->ended || c->last_words || c->hung_up;

	return ending && queue_len(&c->outbox) ? c->moved_at + SERVE_STUCK_MS * 1000u : NEVER;
}

void client_flush(struct client *c)
{
	struct relay_end *end = c->out_end.fd >= 0 ? &c->out_end : &c->in_end;
	bool was_held = c->held_back;

	while (!c->dropped && queue_len(&c->outbox)) {
		ssize_t n = relay_end_write(end, c->outbox.b.data + c->outbox.off, queue_len(&c->outbox));

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (n <= 0)
			client_drop(c);
		else
			queue_taken(&c->outbox, (size_t)n);
		c->server->wrote_to_guest = false;
		c->moved_at = c->server->now;
	}
	if (!c->dropped && has_done(c))
		client_drop(c);
	if (c->dropped)
		return;
	client_want(c);
	/* What had come before it was full is served in the next turn, which sends the answers, too. */
	if (was_held && !c->held_back)
		c->more = c->server->more = true;
}

void client_sent(struct client *c, struct out *o)
{
	/* So much is never queued for a client that reads at all. */
	if (out_end(o) < 0)
		client_drop(c);
	else if (!c->held_back && client_full(c))
		client_want(c);
}

void client_error(struct client *c, const char *id, const char *session, const char *code, const char *message,
		  const char *hint)
{
	struct out o;

	if (!c || c->dropped)
		return;
	out_begin(&o, &c->outbox.b, "error", id);
	if (session)
		out_text(&o, "session", session);
	out_text(&o, "code", code);
	out_text(&o, "message", message);
	if (hint && hint[0])
		out_text(&o, "hint", hint);
	client_sent(c, &o);
}

void client_refuse(struct client *c, const char *id, const char *session, const char *code, const struct sj_err *err)
{
	char message[sizeof(err->what) + sizeof(err->why) + 3];

	snprintf(message, sizeof(message), "%s%s%s", err->what, err->why[0] ? ": " : "", err->why);
	client_error(c, id, session, code, message, err->fix);
}

void client_ok(struct client *c, const char *id)
{
	struct out o;

	if (!c || c->dropped)
		return;
	out_begin(&o, &c->outbox.b, "ok", id);
	client_sent(c, &o);
}

/* ---- in --------------------------------------------------------------------------- */

/* The stream is out of step for good: one last word. */
static void lose_step(struct client *c)
{
	client_error(c, "null", NULL, "bad_frame", "the length of a frame is 0 or above 16777216 bytes",
		     "a frame is a length of four bytes, the highest first, and so many bytes of JSON");
	c->last_words = true;
	c->moved_at = c->server->now;
}

/* Serve the whole frames at data; returns how many bytes they were. */
static size_t take_frames(struct client *c, const char *data, size_t len)
{
	size_t used = 0, n = 0;
	unsigned int taken = 0;

	while (!c->dropped && !c->last_words && !client_full(c)) {
		int r = wire_frame_peek(data + used, len - used, WIRE_FRAME_MAX, &n);

		if (r < 0)
			lose_step(c);
		if (r <= 0)
			break;
		/* The others have their turn between; a session that is opened takes its time. */
		if (c->opens || taken++ == SERVE_FRAMES) {
			c->more = true;
			c->server->more = true;
			break;
		}
		client_message(c, data + used + WIRE_FRAME_HEAD, n);
		used += WIRE_FRAME_HEAD + n;
	}
	return used;
}

static void forget_inbox(struct client *c, size_t used)
{
	if (used == c->inbox.len) {
		c->inbox.len = 0;
		if (c->inbox.size > SERVE_CHUNK)
			buf_free(&c->inbox);
		return;
	}
	memmove(c->inbox.data, c->inbox.data + used, c->inbox.len - used);
	c->inbox.len -= used;
}

/* Bytes that have arrived; what makes no whole frame yet is kept. */
static void client_take(struct client *c, const char *data, size_t len)
{
	size_t used = 0;

	if (c->inbox.len == 0)
		used = take_frames(c, data, len);
	if (c->dropped || c->last_words)
		return;
	if (used < len && buf_append(&c->inbox, data + used, len - used) < 0) {
		client_drop(c);
		return;
	}
	if (c->inbox.len > 0 && (used == 0 || len == 0)) {
		used = take_frames(c, c->inbox.data, c->inbox.len);
		if (!c->dropped)
			forget_inbox(c, used);
	}
}

static void end_if_unasked(struct live *l)
{
	if (l->asked == ASKED_NOTHING && l->opened && l->phase != PHASE_DYING)
		live_kill(l, AFTER_END);
}

/*
 * Nothing more will be asked. What was asked is still answered, for as long as
 * somebody reads: a client that is gone shows as an error of the way out.
 */
static void client_ended(struct client *c)
{
	c->ended = true;
	c->moved_at = c->server->now;
	/* A pipe's end is reported for as long as the pipe is asked. */
	if (c->out.fd >= 0)
		source_close(c->server, &c->in);
	each_live(c, end_if_unasked);
	if (has_done(c))
		client_drop(c);
	else
		client_want(c);
}

void client_readable(struct client *c)
{
	for (int i = 0; i < SERVE_READS && !c->dropped && !c->ended && !c->last_words && !c->more && !client_full(c); i++) {
		ssize_t n = relay_end_read(&c->in_end, c->server->chunk, SERVE_CHUNK);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n < 0)
			client_drop(c);
		else if (n == 0)
			c->at_end = true;
		else
			client_take(c, c->server->chunk, (size_t)n);
		if (c->at_end && !c->more && !c->dropped)
			client_ended(c);
		if (n < (ssize_t)SERVE_CHUNK)
			return;
	}
}

/* A new turn: what was left of the last one's frames, and of its guests' while it was held back. */
void client_go_on(struct client *c)
{
	bool more = c->more;

	c->more = false;
	c->opens = 0;
	if (more && !c->dropped)
		client_take(c, NULL, 0);
	if (more && !c->dropped)
		each_live(c, live_go_on);
	if (c->at_end && !c->more && !c->ended && !c->dropped)
		client_ended(c);
}

void client_hung_up(struct client *c)
{
	if (c->dropped)
		return;
	/* Both ways of a socket are dead; what it had sent before is read first. */
	if (c->out_end.fd < 0 && (c->ended || c->last_words || client_full(c))) {
		client_drop(c);
	} else if (c->in.fd >= 0 && !c->in.events) {
		/* A pipe's end, behind requests that are not read while the queue is full. */
		source_mute(c->server, &c->in);
		c->hung_up = true;
		c->moved_at = c->server->now;
	}
}
