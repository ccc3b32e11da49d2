/*
 * live_start.c - a session comes to life: its place in the server, its jail, and both given back
 *
 * Runs as: the server
 * Trusts: the policy
 * Never: leaves half a session behind when a step of its start fails
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "session/serve_internal.h"

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83	/* Linux 6.16 */
#endif

/* ---- places ---------------------------------------------------------------------------- */

static uint32_t hash_of(const char *name)
{
	uint32_t h = 2166136261u;

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 16777619u;
	return h;
}

struct live *live_find(const struct client *c, const char *name)
{
	uint32_t hash = hash_of(name);

	for (size_t i = 0; i < c->server->n_slots; i++) {
		const struct slot *s = &c->server->slots[i];

		if (s->hash != hash || !s->live || s->live->client != c || strcmp(s->live->name, name) != 0)
			continue;
		if (s->live->phase == PHASE_DEAD || (s->live->phase == PHASE_DYING && s->live->after == AFTER_END &&
						     !s->live->closing && s->live->asked == ASKED_NOTHING))
			continue;
		return s->live;
	}
	return NULL;
}

/* ---- starting a jail ------------------------------------------------------------------ */

/* The ends that go into the jail. */
struct inside {
	int in, out, err, channel;
};

static void close_inside(struct inside *in)
{
	base_closep(&in->in);
	base_closep(&in->out);
	base_closep(&in->err);
	base_closep(&in->channel);
}

static int open_pipe(struct live *l, struct source *src, enum source_kind kind, int *ret_inside)
{
	int p[2], r;

	if (pipe2(p, O_CLOEXEC) < 0)
		return -errno;
	*ret_inside = p[1];
	r = io_nonblock(p[0]);
	if (r == 0)
		r = source_open(l->server, src, kind, p[0], true, l, 0);
	if (r < 0)
		close(p[0]);
	return r;
}

static int open_channel(struct live *l, int *ret_inside)
{
	int pair[2], off = 0, r;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	*ret_inside = pair[1];
	/* Descriptors that a guest sends along end it; where the kernel can, they do not even come this far. */
	(void)setsockopt(pair[0], SOL_SOCKET, SO_PASSRIGHTS, &off, sizeof(off));
	r = source_open(l->server, &l->channel, SOURCE_CHANNEL, pair[0], true, l, EPOLLIN);
	if (r < 0)
		close(pair[0]);
	return r;
}

static int open_streams(struct live *l, struct inside *in, struct sj_err *err)
{
	int r;

	in->in = open("/dev/null", O_RDONLY | O_CLOEXEC | O_NOCTTY);
	r = in->in < 0 ? -errno : open_pipe(l, &l->out, SOURCE_OUT, &in->out);
	if (r == 0)
		r = open_pipe(l, &l->err, SOURCE_ERR, &in->err);
	if (r == 0)
		r = open_channel(l, &in->channel);
	return r < 0 ? handover_fault("a session's streams", -r, err) : 0;
}

static int start_jail(struct live *l, struct inside *in, struct sj_err *err)
{
	int extra[] = { l->handover.boot_fd, l->handover.sync[1], l->handover.claim_fd, in->channel };
	struct jail_spec spec;
	int r;

	handover_spec(l->policy, &l->prep, &spec);
	/* The limit is a step's; the kernel's backstop would add up the steps of one interpreter. */
	spec.limits.cpu_ms *= 1000;
	spec.stdio[0] = in->in;
	spec.stdio[1] = in->out;
	spec.stdio[2] = in->err;
	spec.extra = extra;
	spec.n_extra = ARRAY_LEN(extra);
	r = jail_start(&spec, &l->jail, err);
	handover_close_inside(&l->handover);
	handover_forget_claim(&l->handover);
	return r;
}

static int watch_jail(struct live *l, struct sj_err *err)
{
	int r = source_open(l->server, &l->status, SOURCE_JAIL, jail_status_fd(l->jail), false, l, EPOLLIN);

	if (r == 0)
		r = source_open(l->server, &l->sync, SOURCE_SYNC, l->handover.sync[0], false, l, EPOLLIN);
	return r < 0 ? handover_fault("events", -r, err) : 0;
}

static bool may_yield(const struct policy *policy)
{
	static const uint64_t no_args[6];
	struct filter_verdict v = { 0 };

	filter_decide(policy, SYS_sched_yield, no_args, &v);
	return v.action == POLICY_ALLOW;
}

static int fill_boot(struct live *l, struct sj_err *err)
{
	struct wire_boot_spec spec = {
		.mode = WIRE_MODE_SESSION, .flags = WIRE_NOTIFY | (may_yield(l->policy) ? WIRE_MAY_LOOK : 0u),
		.args = l->prep.args, .paths = l->prep.paths, .code = "",
	};

	return handover_fill(&l->handover, l->policy, &spec, err);
}

static int launch(struct live *l, struct sj_err *err)
{
	struct inside in = { -1, -1, -1, -1 };
	int r = open_streams(l, &in, err);

	if (r == 0)
		r = handover_open(&l->handover, err);
	if (r == 0)
		r = start_jail(l, &in, err);
	close_inside(&in);
	if (r == 0)
		r = fill_boot(l, err);
	if (r == 0)
		r = jail_go(l->jail, err);
	if (r == 0)
		r = watch_jail(l, err);
	base_closep(&l->handover.boot_fd);
	return r;
}

void live_close_sources(struct live *l)
{
	struct source *const all[] = { &l->sync, &l->channel, &l->out, &l->err, &l->denied_source, &l->status, &l->death };

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		source_close(l->server, all[i]);
	l->denied.listener = -1;
	handover_close(&l->handover);
	l->handover = HANDOVER_INIT;
	l->inbox.len = 0;
	queue_clear(&l->outbox);
}

int live_start(struct live *l, struct sj_err *err)
{
	int r;

	l->phase = PHASE_STARTING;
	l->ready = l->exited = l->gone = l->hung_up = false;
	l->why[0] = '\0';
	l->kill_at = l->again_at = 0;
	l->sample_at = NEVER;
	l->seen = (struct jail_usage){ 0 };
	l->started_at = io_now_us();
	r = launch(l, err);
	if (r < 0) {
		/* Nothing of it runs, so this does not wait long. */
		live_close_sources(l);
		l->jail = jail_finish(l->jail, NULL);
		l->phase = PHASE_DOWN;
	}
	live_plan(l);
	return r;
}

/* ---- a new session ------------------------------------------------------------------------ */

static size_t free_slot(struct server *sv)
{
	size_t i = 0;

	while (i < sv->n_slots && sv->slots[i].live)
		i++;
	if (i == sv->n_slots)
		sv->n_slots++;
	return i;
}

static void take_slot(struct live *l)
{
	struct server *sv = l->server;

	l->slot = free_slot(sv);
	sv->slots[l->slot] = (struct slot){ .live = l, .wake = NEVER, .hash = hash_of(l->name) };
	sv->n_lives++;
	l->client->lives++;
}

void live_free(struct live *l)
{
	struct server *sv = l->server;

	sv->slots[l->slot].live = NULL;
	sv->n_lives--;
	if (l->phase == PHASE_DEAD)
		sv->n_dead--;
	if (l->client)
		l->client->lives--;
	live_close_sources(l);
	l->jail = jail_finish(l->jail, NULL);
	prep_clear(&l->prep);
	policy_free(l->own_policy);
	buf_free(&l->request);
	buf_free(&l->inbox);
	free(l->settings);
	free(l->tools);
	free(l->new_tools);
	free(l->calls);
	free(l->rep);
	free(l);
}

static struct live *alloc_live(struct client *c, struct policy *policy, char *settings)
{
	struct live *l = calloc(1, sizeof(*l));
	struct session_report *rep = calloc(1, sizeof(*rep));

	if (!l || !rep) {
		policy_free(policy);
		free(settings);
		free(l);
		free(rep);
		return NULL;
	}
	*l = (struct live){
		.server = c->server, .client = c, .own_policy = policy, .settings = settings, .rep = rep,
		.handover = HANDOVER_INIT, .phase = PHASE_DOWN,
		.sync = SOURCE_NONE, .channel = SOURCE_NONE, .out = SOURCE_NONE, .err = SOURCE_NONE,
		.denied_source = SOURCE_NONE, .status = SOURCE_NONE, .death = SOURCE_NONE,
		.denied = { .policy = policy ? policy : c->server->policy, .rep = rep, .listener = -1 },
		.request = BUF_INIT(WIRE_FRAME_MAX + SERVE_CHUNK),
		.inbox = BUF_INIT(WIRE_FRAME_MAX + WIRE_FRAME_HEAD + SERVE_CHUNK),
		.outbox = { .b = BUF_INIT(SERVE_GUEST_QUEUE_MAX) },
		.opened_at = c->server->now, .used_at = c->server->now,
	};
	l->policy = l->denied.policy;
	rep->exit_code = -1;
	rep->session = "closed";
	return l;
}

int live_new(struct client *c, const char *name, struct policy *policy, char *settings, const char *id, struct sj_err *err)
{
	struct live *l = alloc_live(c, policy, settings);
	struct session_run run = { .mode = WIRE_MODE_SESSION };
	int r;

	if (!l)
		return err_oom(err);
	run.policy = l->policy;
	snprintf(l->name, sizeof(l->name), "%s", name);
	snprintf(l->open_id, sizeof(l->open_id), "%s", id);
	l->frame_max = l->policy->limits.frame ? l->policy->limits.frame : WIRE_FRAME_MAX;
	l->guest_frame_max = l->frame_max < SERVE_GUEST_FRAME_MAX ? l->frame_max : SERVE_GUEST_FRAME_MAX;
	take_slot(l);
	r = prep_build(&l->prep, &run, err);
	if (r == 0)
		r = live_start(l, err);
	if (r < 0)
		live_free(l);
	return r;
}
