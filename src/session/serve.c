/*
 * serve.c - the server's loop: one epoll, one switch, one clock
 *
 * Runs as: the server, the caller's user, outside every jail
 * Trusts: messages of the jails' inits; nothing that comes from clients and guests
 * Never: waits anywhere but in server_wait(), or lets one descriptor starve another
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "session/serve_internal.h"

/* ---- descriptors ---------------------------------------------------------------- */

int source_open(struct server *sv, struct source *src, enum source_kind kind, int fd, bool own, void *owner,
		uint32_t events)
{
	struct epoll_event e = { .events = events, .data.ptr = src };

	*src = (struct source){ .kind = kind, .fd = fd, .events = events, .own = own, .owner = owner };
	if (epoll_ctl(sv->epoll, EPOLL_CTL_ADD, fd, &e) == 0)
		return 0;
	/* Files, which no epoll takes, are a client's only. */
	if (errno != EPERM || (kind != SOURCE_CLIENT_IN && kind != SOURCE_CLIENT_OUT)) {
		src->fd = -1;
		return -errno;
	}
	src->plain = true;
	sv->plain += events != 0;
	return 0;
}

void source_want(struct server *sv, struct source *src, uint32_t events)
{
	struct epoll_event e = { .events = events, .data.ptr = src };

	if (src->fd < 0 || src->events == events)
		return;
	if (src->plain)
		sv->plain += (events != 0) - (src->events != 0);
	else if (!src->muted)
		(void)epoll_ctl(sv->epoll, EPOLL_CTL_MOD, src->fd, &e);
	else if (epoll_ctl(sv->epoll, EPOLL_CTL_ADD, src->fd, &e) < 0)
		return; /* no memory: still muted, so the next wish tries again */
	src->events = events;
	src->muted = false;
}

void source_mute(struct server *sv, struct source *src)
{
	if (src->fd < 0 || src->plain || src->muted)
		return;
	(void)epoll_ctl(sv->epoll, EPOLL_CTL_DEL, src->fd, NULL);
	src->events = 0;
	src->muted = true;
}

/* Taken out of the epoll by name: a clone that has not come to its exec yet may hold the open file for a while. */
void source_close(struct server *sv, struct source *src)
{
	if (src->fd < 0)
		return;
	if (src->plain)
		source_want(sv, src, 0);
	else if (!src->muted)
		(void)epoll_ctl(sv->epoll, EPOLL_CTL_DEL, src->fd, NULL);
	if (src->own)
		close(src->fd);
	src->fd = -1;
}

void queue_taken(struct queue *q, size_t n)
{
	size_t left = q->b.len - q->off - n;

	q->off += n;
	/* One that is never quite empty would grow by all that went through it. */
	if (left && q->off >= SERVE_CHUNK && q->off >= left) {
		memmove(q->b.data, q->b.data + q->off, left);
		q->off = 0;
		q->b.len = left;
	}
	if (left)
		return;
	q->off = q->b.len = 0;
	if (q->b.size > SERVE_CHUNK)
		queue_clear(q);
}

void queue_clear(struct queue *q)
{
	q->off = 0;
	buf_free(&q->b);
}

/* ---- signals -------------------------------------------------------------------- */

static const int end_signals[] = { SIGTERM, SIGINT, SIGHUP };

static int take_signals(struct server *sv, struct sj_err *err)
{
	struct sigaction now;
	sigset_t take;
	int fd;

	sigemptyset(&take);
	for (size_t i = 0; i < ARRAY_LEN(end_signals); i++)
		if (sigaction(end_signals[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
			sigaddset(&take, end_signals[i]);
	fd = signalfd(-1, &take, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return handover_fault("signals", errno, err);
	if (source_open(sv, &sv->signals, SOURCE_SIGNALS, fd, true, sv, EPOLLIN) < 0) {
		close(fd);
		return handover_fault("signals", errno, err);
	}
	/* A client that went away shows as EPIPE. */
	sigaddset(&take, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &take, &sv->old_mask);
	sv->mask_set = true;
	return 0;
}

static void restore_signals(struct server *sv)
{
	static const struct timespec none;
	sigset_t pipe_only;

	if (!sv->mask_set)
		return;
	sigemptyset(&pipe_only);
	sigaddset(&pipe_only, SIGPIPE);
	while (sigtimedwait(&pipe_only, NULL, &none) == SIGPIPE)
		;
	pthread_sigmask(SIG_SETMASK, &sv->old_mask, NULL);
	sv->mask_set = false;
}

static void hear_signals(struct server *sv)
{
	struct signalfd_siginfo info;

	while (read(sv->signals.fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		server_end(sv);
}

/* ---- the switch ------------------------------------------------------------------- */

static void serve(struct server *sv, struct source *src, uint32_t events)
{
	/* An earlier event of this turn may have closed it. */
	if (src->fd < 0)
		return;
	switch (src->kind) {
	case SOURCE_SIGNALS:
		hear_signals(sv);
		break;
	case SOURCE_DOOR:
		door_knock(sv);
		break;
	case SOURCE_CLIENT_IN:
		if (events & EPOLLOUT)
			client_flush(src->owner);
		if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
			client_readable(src->owner);
		if (events & (EPOLLHUP | EPOLLERR))
			client_hung_up(src->owner);
		break;
	case SOURCE_CLIENT_OUT:
		if (events & (EPOLLERR | EPOLLHUP))
			client_drop(src->owner);
		else
			client_flush(src->owner);
		break;
	case SOURCE_SYNC:
		live_sync(src->owner);
		break;
	case SOURCE_CHANNEL:
		live_channel(src->owner, events);
		break;
	case SOURCE_OUT:
		step_output(src->owner, false);
		break;
	case SOURCE_ERR:
		step_output(src->owner, true);
		break;
	case SOURCE_DENIED:
		live_denied(src->owner, events);
		break;
	case SOURCE_JAIL:
		live_jail_event(src->owner);
		break;
	case SOURCE_DEATH:
		live_dead(src->owner);
		break;
	}
}

/* Files, which no epoll takes: always ready. */
static void serve_plain(struct server *sv)
{
	for (struct client *c = sv->clients; c; c = c->next) {
		if (c->in.plain && c->in.events)
			serve(sv, &c->in, EPOLLIN);
		if (c->out.plain && c->out.events)
			serve(sv, &c->out, EPOLLOUT);
	}
}

static void go_on(struct server *sv)
{
	sv->more = false;
	for (struct client *c = sv->clients; c; c = c->next)
		if (!c->dropped)
			client_go_on(c);
}

static void serve_time(struct server *sv)
{
	for (size_t i = 0; i < sv->n_slots; i++)
		if (sv->slots[i].live && sv->now >= sv->slots[i].wake)
			live_tick(sv->slots[i].live);
	for (struct client *c = sv->clients; c; c = c->next)
		if (sv->now >= client_deadline(c))
			client_drop(c);
}

static void bury_lives(struct server *sv)
{
	if (!sv->n_dead)
		return;
	for (size_t i = 0; sv->n_dead && i < sv->n_slots; i++)
		if (sv->slots[i].live && sv->slots[i].live->phase == PHASE_DEAD)
			live_free(sv->slots[i].live);
	source_want(sv, &sv->door, EPOLLIN);
}

static void bury_clients(struct server *sv)
{
	struct client **at = &sv->clients;

	while (*at) {
		struct client *c = *at;

		if (!c->dropped) {
			at = &c->next;
			continue;
		}
		*at = c->next;
		sv->n_clients--;
		client_free(c);
		source_want(sv, &sv->door, EPOLLIN);
	}
}

/*
 * What the messages of this turn have queued goes out together. Whoever went away
 * is freed only now: its sources may have been among the events until here.
 */
static void end_turn(struct server *sv)
{
	do {
		bury_lives(sv);
		for (struct client *c = sv->clients; c; c = c->next)
			if (!c->dropped && (queue_len(&c->outbox) || c->ended))
				client_flush(c);
		bury_clients(sv);
	} while (sv->n_dead);
}

/* ---- the loop ------------------------------------------------------------------------ */

/* Milliseconds, rounded up: a wake-up before its time would be one for nothing. */
static int time_left(const struct server *sv)
{
	uint64_t at = sv->ending ? sv->ended_at + SERVE_END_MS * 1000u : NEVER;

	if (sv->plain || sv->more)
		return 0;
	for (size_t i = 0; i < sv->n_slots; i++)
		if (sv->slots[i].wake < at && sv->slots[i].live)
			at = sv->slots[i].wake;
	for (const struct client *c = sv->clients; c; c = c->next)
		if (client_deadline(c) < at)
			at = client_deadline(c);
	if (at == NEVER)
		return -1;
	at = at > sv->now ? (at - sv->now + 999) / 1000 : 0;
	return at > 60000 ? 60000 : (int)at;
}

static bool unsent(const struct server *sv)
{
	for (const struct client *c = sv->clients; c; c = c->next)
		if (queue_len(&c->outbox))
			return true;
	return false;
}

static bool finished(const struct server *sv)
{
	if (sv->ending)
		return (sv->n_lives == 0 && !unsent(sv)) || sv->now >= sv->ended_at + SERVE_END_MS * 1000u;
	return sv->door.fd < 0 && !sv->clients && sv->n_lives == 0;
}

int server_run(struct server *sv, struct sj_err *err)
{
	struct epoll_event events[SERVE_EVENTS];
	int n = sv->opt.confine ? serve_confine(sv, err) : 0;

	if (n < 0)
		return n;
	while (!finished(sv)) {
		n = server_wait(sv, events, time_left(sv));
		if (n < 0 && errno != EINTR)
			return handover_fault("events", errno, err);
		go_on(sv);
		for (int i = 0; i < n; i++)
			serve(sv, events[i].data.ptr, events[i].events);
		if (sv->plain)
			serve_plain(sv);
		serve_time(sv);
		end_turn(sv);
	}
	return 0;
}

void server_end(struct server *sv)
{
	if (sv->ending)
		return;
	sv->ending = true;
	sv->ended_at = sv->now;
	door_close(sv);
	for (size_t i = 0; i < sv->n_slots; i++)
		if (sv->slots[i].live)
			live_kill(sv->slots[i].live, AFTER_END);
}

/* ---- setting up ------------------------------------------------------------------------ */

/* A session has about a dozen descriptors. */
static void raise_open_files(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) == 0 && l.rlim_cur < l.rlim_max) {
		l.rlim_cur = l.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &l);
	}
}

size_t server_package_sets(const struct server *sv, struct policy_set sets[SERVE_PACKAGES_MAX])
{
	size_t n = 0;

	for (char *const *dir = sv->opt.packages; dir && *dir && n < SERVE_PACKAGES_MAX; dir++)
		sets[n++] = (struct policy_set){ .path = "python.packages", .value = *dir, .flag = "--packages" };
	return n;
}

bool server_isolation_set(const struct server *sv, struct policy_set *ret)
{
	*ret = (struct policy_set){ .path = "isolation", .value = sv->opt.isolation, .flag = "--isolation" };
	return sv->opt.isolation;
}

static int load_policy(struct server *sv, struct sj_err *err)
{
	struct policy_set sets[SERVE_PACKAGES_MAX + 1];
	size_t n = server_package_sets(sv, sets);

	n += server_isolation_set(sv, &sets[n]);
	return policy_load(sv->opt.policy, sets, n, &sv->policy, err);
}

/*
 * A policy that cannot be compiled is told now rather than to every client. And libseccomp asks the kernel
 * what it can do once for all time: where that fails, no server starts that could open no session.
 */
static int try_filter(const struct server *sv, struct sj_err *err)
{
	_cleanup_filter_ struct filter_prog prog = { 0 };

	return filter_compile(sv->policy, FILTER_NOTIFY_DENIED, &prog, err);
}

static int set_up(struct server *sv, struct sj_err *err)
{
	struct client *only;
	int r = load_policy(sv, err);

	if (r == 0)
		r = try_filter(sv, err);
	if (r < 0)
		return r;
	raise_open_files();
	sv->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (sv->epoll < 0)
		return handover_fault("events", errno, err);
	sv->chunk = malloc(3 * SERVE_CHUNK);
	sv->slots = calloc(sv->opt.max_sessions, sizeof(*sv->slots));
	sv->verdict = calloc(1, sizeof(*sv->verdict));
	if (!sv->chunk || !sv->slots || !sv->verdict)
		return err_oom(err);
	sv->guest_chunk = sv->chunk + SERVE_CHUNK;
	sv->pipe_chunk = sv->guest_chunk + SERVE_CHUNK;
	r = take_signals(sv, err);
	if (r < 0)
		return r;
	return sv->opt.socket ? door_open(sv, err) : client_new(sv, sv->opt.in, sv->opt.out, false, &only, err);
}

int server_new(const struct serve_options *options, struct server **ret, struct sj_err *err)
{
	struct server *sv = calloc(1, sizeof(*sv));
	int r;

	if (!sv)
		return err_oom(err);
	sv->opt = *options;
	sv->opt.max_sessions = options->max_sessions ? options->max_sessions : SERVE_SESSIONS_DEFAULT;
	sv->epoll = -1;
	sv->signals = sv->door = SOURCE_NONE;
	sv->now = sv->started_at = io_now_us();
	r = set_up(sv, err);
	if (r < 0) {
		(void)server_free(sv);
		return r;
	}
	*ret = sv;
	return 0;
}

struct server *server_free(struct server *sv)
{
	if (!sv)
		return NULL;
	for (size_t i = 0; i < sv->n_slots; i++)
		if (sv->slots[i].live)
			live_free(sv->slots[i].live);
	while (sv->clients) {
		struct client *c = sv->clients;

		sv->clients = c->next;
		client_free(c);
	}
	door_close(sv);
	source_close(sv, &sv->signals);
	base_closep(&sv->epoll);
	free(sv->slots);
	free(sv->chunk);
	free(sv->verdict);
	policy_free(sv->policy);
	restore_signals(sv);
	free(sv);
	return NULL;
}
