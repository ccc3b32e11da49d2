/*
 * loop.c - the supervisor's event loop: bytes, deadlines, denials, signals
 *
 * Runs as: the supervisor, while the jail lives
 * Trusts: messages of the jail's init; nothing that comes from the guest
 * Never: blocks outside of its one ppoll(), or lets one descriptor starve another
 */
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "session/internal.h"

/* In the order in which they are served: "ready" before the end of the program that sent it. */
enum fd_kind {
	FD_SIGNALS,
	FD_SYNC,	/* the guest's ready message */
	FD_LISTENER,	/* denied system calls */
	FD_IN, FD_IN_PIPE,
	FD_OUT_PIPE, FD_OUT,
	FD_ERR_PIPE, FD_ERR,
	FD_JAIL,	/* init's messages */
	FD_KINDS,
};

#define NEVER UINT64_MAX

static void earlier(uint64_t *at, uint64_t when)
{
	if (when < *at)
		*at = when;
}

/* ---- stopping the program ---------------------------------------------------- */

static void kill_now(struct session *s, uint64_t now)
{
	jail_kill(s->jail);
	if (!s->killed_at)
		s->killed_at = now;
	s->grace.until = 0;
}

/* SIGINT first: Python then says where it was, and flushes what it had printed. */
static void stop_softly(struct session *s, enum stop why, uint64_t now)
{
	if (s->stop != STOP_NONE || s->exited)
		return;
	s->stop = why;
	jail_signal(s->jail, SIGINT);
	grace_begin(&s->grace, s->jail, now);
}

static void stop_hard(struct session *s, enum stop why, uint64_t now)
{
	if (s->exited)
		return;
	if (s->stop == STOP_NONE)
		s->stop = why;
	kill_now(s, now);
}

/* ---- time ---------------------------------------------------------------------- */

static bool polls_memory(const struct session *s)
{
	return s->policy->limits.memory && strcmp(jail_enforced(s->jail)->memory, "polling") == 0;
}

static bool polls_disk(const struct session *s)
{
	return s->policy->isolation == POLICY_ISOLATION_LANDLOCK;
}

/* With every CPU busy the limit cannot be reached sooner than this. */
static uint64_t cpu_look_us(const struct session *s, uint64_t used_us)
{
	uint64_t limit = s->policy->limits.cpu_ms * 1000u;
	uint64_t left = used_us < limit ? (limit - used_us) / s->n_cpus : 0;

	return left < SESSION_CPU_CHECK_MIN_MS * 1000u ? SESSION_CPU_CHECK_MIN_MS * 1000u : left;
}

static uint64_t memory_look_us(const struct session *s, uint64_t peak)
{
	uint64_t full = SESSION_POLL_MS * 1000u;

	return peak > s->policy->limits.memory / 4 * 3 ? full / 4 : full;
}

static void plan_sample(struct session *s, const struct jail_usage *u, uint64_t now)
{
	uint64_t at = NEVER;

	if (s->policy->limits.cpu_ms)
		earlier(&at, now + cpu_look_us(s, u->cpu_us));
	if (polls_memory(s))
		earlier(&at, now + memory_look_us(s, u->memory_peak));
	if (polls_disk(s))
		earlier(&at, s->disk_at);
	s->sample_at = at;
}

static void sample_disk(struct session *s, uint64_t now)
{
	uint64_t used = 0;
	bool full = false;

	if (!polls_disk(s) || now < s->disk_at)
		return;
	jail_disk(s->jail, &used, &full);
	if (full)
		stop_hard(s, STOP_DISK, now);
	s->disk_at = io_now_us() + SESSION_DISK_MS * 1000u;
}

static void sample(struct session *s, uint64_t now)
{
	struct jail_usage u = { 0 };
	const struct policy_limits *l = &s->policy->limits;

	if (jail_sample(s->jail, &u) == 0) {
		if (polls_memory(s) && u.memory_peak > l->memory)
			stop_hard(s, STOP_MEMORY, now);
		else if (l->cpu_ms && u.cpu_us >= l->cpu_ms * 1000u && !teeth_out("cpu_time"))
			stop_softly(s, STOP_CPU, now);
	}
	sample_disk(s, now);
	plan_sample(s, &u, now);
}

static uint64_t wall_deadline(const struct session *s)
{
	return s->policy->limits.wall_ms && !teeth_out("wall") ? s->ready_at + s->policy->limits.wall_ms * 1000u : NEVER;
}

/* When ppoll() has to return even if nothing happens. */
static uint64_t next_deadline(const struct session *s, uint64_t now)
{
	uint64_t at = NEVER, drained = (s->exited_at ? s->exited_at : s->killed_at) + SESSION_DRAIN_MS * 1000u;

	if (!s->ready)
		earlier(&at, s->started_at + SESSION_SETUP_MS * 1000u);
	if (s->ready && !s->exited && s->stop == STOP_NONE) {
		earlier(&at, wall_deadline(s));
		earlier(&at, s->sample_at);
	}
	if (s->grace.until)
		earlier(&at, s->grace.until);
	/* Once it is over, what is still waited for is a reader of the output, however long that takes. */
	if ((s->exited_at || s->killed_at) && drained > now)
		earlier(&at, drained);
	if (s->stop != STOP_NONE && relay_wants_dst(&s->io.out))
		earlier(&at, s->io.out.moved_at + SESSION_STUCK_MS * 1000u);
	if (s->stop != STOP_NONE && relay_wants_dst(&s->io.err))
		earlier(&at, s->io.err.moved_at + SESSION_STUCK_MS * 1000u);
	if (s->io.in.hold_until && s->io.in.src.fd >= 0)
		earlier(&at, s->io.in.hold_until);
	return at;
}

static void serve_time(struct session *s, uint64_t now)
{
	if (s->ready && !s->exited && s->stop == STOP_NONE) {
		if (now >= wall_deadline(s))
			stop_softly(s, STOP_WALL, now);
		else if (now >= s->sample_at)
			sample(s, now);
	}
	if (s->grace.until && now >= s->grace.until && grace_over(&s->grace, s->jail, now))
		kill_now(s, now);
	if (now >= s->io.in.hold_until)
		s->io.in.hold_until = 0;
}

/* ---- one handler a kind ------------------------------------------------------------ */

static int nobody_hears(struct sj_err *err)
{
	err_set(err, EBUSY, SJ_EXIT_SETUP, "E_TRACE_LISTENER", "the program cannot be traced: the kernel gives no listener");
	err_why(err, "this process is under a filter that has a listener of its own, as in some containers, and there is "
		"only one; or the kernel is older than Linux 5.5");
	err_fix(err, "trace outside of it; a run without a trace works here too");
	return -EBUSY;
}

/* How many CPUs the program can keep busy at once. */
static unsigned int busy_cpus(const struct session *s)
{
	unsigned int online = prep_online_cpus(), share = (s->policy->limits.cpu_milli + 999) / 1000;
	bool held = share && strcmp(jail_enforced(s->jail)->cpu, "none") != 0;

	return held && share < online ? share : online;
}

/* The program's time begins when the guest says so; nothing untrusted has run by then, and its word is bounded. */
static void become_ready(struct session *s, uint64_t at, uint64_t now)
{
	static const struct jail_usage nothing;

	s->ready = true;
	s->ready_at = at < s->started_at || at > now ? now : at;
	base_closep(&s->handover.sync[0]);
	if (s->policy->limits.cpu_ms)
		s->n_cpus = busy_cpus(s);
	s->disk_at = now + SESSION_DISK_MS * 1000u;
	plan_sample(s, &nothing, now);
}

static bool has_begun(const struct wire_ready *ready)
{
	return ready->magic == WIRE_BOOT_MAGIC && !ready->error;
}

static int serve_sync(struct session *s, uint64_t now, struct sj_err *err)
{
	struct wire_ready ready = { 0 };
	int r = handover_ready(s->handover.sync[0], &ready, &s->denied.listener, err);

	s->begun = has_begun(&ready);
	if (r == -EPIPE) /* the guest is dead; init's message says how */
		base_closep(&s->handover.sync[0]);
	if (r == -EPIPE || r == -EAGAIN)
		return 0;
	if (ready.error && s->run->trace && strncmp(ready.step, WIRE_STEP_LISTENER, sizeof(ready.step)) == 0)
		return nobody_hears(err);
	if (r < 0)
		return r;
	/* Without a listener (another one is above us) calls are refused all the same, but unseen. */
	s->rep->denied_counted = s->denied.listener >= 0;
	s->denied.python = ready.python;
	if (s->run->trace && s->denied.listener >= 0)
		trace_listen(s->denied.listener);
	text_clean(ready.step, sizeof(ready.step), s->rep->python, sizeof(s->rep->python), true);
	become_ready(s, ready.at_us, now);
	return 0;
}

/* The first SIGINT goes to the program; all else is meant for all of it. */
static void serve_signals(struct session *s, uint64_t now)
{
	struct signalfd_siginfo info;

	while (read(s->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGINT && s->interrupts++ == 0 && s->ready) {
			jail_signal(s->jail, SIGINT);
			continue;
		}
		s->stop_signal = (int)info.ssi_signo;
		s->hurry = true;
		stop_hard(s, STOP_SIGNAL, now);
	}
}

static int died_unready(const struct session *s, struct sj_err *err)
{
	char name[24];

	if (s->stop == STOP_SIGNAL) {
		err_set(err, EINTR, SJ_EXIT_SIGNAL + s->stop_signal, "E_INTERRUPTED", "stopped before the program could start");
		err_why(err, "smoljail got %s", verdict_signal_name(s->stop_signal, name, sizeof(name)));
		return -EINTR;
	}
	err_set(err, ECHILD, SJ_EXIT_SETUP, "E_GUEST_START", "the guest ended before the program could start");
	if (!s->exited)
		err_why(err, "the jail's first process is gone");
	else if (WIFSIGNALED(s->wait_status))
		err_why(err, "it was ended by %s; the limits may be too small to start Python",
			verdict_signal_name(WTERMSIG(s->wait_status), name, sizeof(name)));
	else
		err_why(err, "it returned %d; the limits may be too small to start Python", WEXITSTATUS(s->wait_status));
	err_fix(err, "raise --memory and --pids, or check the root: smoljail rootfs verify");
	return -ECHILD;
}

static bool has_message(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return fd >= 0 && poll(&p, 1, 0) > 0;
}

/* "ready" may have been sent after this turn's ppoll() looked at it. */
static int ended(struct session *s, uint64_t now, struct sj_err *err)
{
	int r = 0;

	if (!s->exited_at)
		s->exited_at = now;
	if (!s->ready && has_message(s->handover.sync[0]))
		r = serve_sync(s, now, err);
	if (r == 0 && !s->ready)
		r = died_unready(s, err);
	return r;
}

static int serve_jail(struct session *s, uint64_t now, struct sj_err *err)
{
	enum jail_event_kind kind = JAIL_EVENT_NONE;
	int status = 0, r = jail_event(s->jail, &kind, &status, err);

	if (r < 0)
		kind = JAIL_EVENT_GONE;
	switch (kind) {
	case JAIL_EVENT_NONE:
		return 0;
	case JAIL_EVENT_STARTED:
		/* Explaining why a jail cannot be built takes calls that a filter would answer in the kernel's place. */
		r = s->run->confine ? run_confine(err) : 0;
		return r < 0 ? r : handover_release(&s->handover, err);
	case JAIL_EVENT_FAILED:
		return err->error ? -err->error : -EIO;
	case JAIL_EVENT_EXITED:
		s->exited = true;
		s->wait_status = status;
		s->grace.until = 0;
		return ended(s, now, err);
	case JAIL_EVENT_GONE:
		s->gone = true;
		s->grace.until = 0;
		return ended(s, now, err);
	}
	return 0;
}

/* The cap counts both streams together. */
static void serve_output(struct session *s, struct relay *r, uint64_t now)
{
	relay_pump(r, &s->budget, now);
	if (!r->over)
		return;
	relay_end_close(&r->src);
	/* A short program may have ended before its last bytes were seen; the answer is the same. */
	if (s->stop == STOP_NONE)
		s->stop = STOP_OUTPUT;
	stop_hard(s, STOP_OUTPUT, now);
}

static int serve(struct session *s, enum fd_kind kind, short revents, uint64_t now, struct sj_err *err)
{
	switch (kind) {
	case FD_SIGNALS:
		serve_signals(s, now);
		return 0;
	case FD_SYNC:
		return serve_sync(s, now, err);
	case FD_LISTENER:
		if (!denied_batch(&s->denied, revents))
			base_closep(&s->denied.listener);
		return 0;
	case FD_IN:
		relay_pump(&s->io.in, NULL, now);
		return 0;
	case FD_IN_PIPE:
		relay_flush(&s->io.in, now);
		return 0;
	case FD_OUT_PIPE:
		serve_output(s, &s->io.out, now);
		return 0;
	case FD_OUT:
		relay_flush(&s->io.out, now);
		return 0;
	case FD_ERR_PIPE:
		serve_output(s, &s->io.err, now);
		return 0;
	case FD_ERR:
		relay_flush(&s->io.err, now);
		return 0;
	case FD_JAIL:
		return serve_jail(s, now, err);
	case FD_KINDS:
		break;
	}
	return -EINVAL;
}

/* ---- the loop ------------------------------------------------------------------------- */

static void want(struct pollfd *p, int fd, short events)
{
	*p = (struct pollfd){ .fd = events ? fd : -1, .events = events };
}

static void want_relay(struct pollfd *src, struct pollfd *dst, const struct relay *r, uint64_t now)
{
	want(src, r->src.fd, relay_wants_src(r, now));
	want(dst, r->dst.fd, relay_wants_dst(r));
}

static void want_all(const struct session *s, struct pollfd p[FD_KINDS], uint64_t now)
{
	want(&p[FD_SIGNALS], s->signal_fd, POLLIN);
	want(&p[FD_SYNC], s->handover.sync[0], POLLIN);
	want(&p[FD_LISTENER], s->denied.listener, POLLIN);
	want(&p[FD_IN], s->io.in.src.fd, s->exited_at ? 0 : relay_wants_src(&s->io.in, now));
	want(&p[FD_IN_PIPE], s->io.in.dst.fd, s->exited_at ? 0 : relay_wants_dst(&s->io.in));
	want_relay(&p[FD_OUT_PIPE], &p[FD_OUT], &s->io.out, now);
	want_relay(&p[FD_ERR_PIPE], &p[FD_ERR], &s->io.err, now);
	want(&p[FD_JAIL], s->gone ? -1 : jail_status_fd(s->jail), POLLIN);
}

/* A stream that somebody stopped taking does not keep a stopped program's verdict from its user. */
static bool abandoned(const struct session *s, const struct relay *r, uint64_t now)
{
	if (relay_done(r))
		return true;
	if (s->hurry)
		return true;
	if (relay_wants_dst(r))
		return s->stop != STOP_NONE && now >= r->moved_at + SESSION_STUCK_MS * 1000u;
	return now >= s->exited_at + SESSION_DRAIN_MS * 1000u;
}

/*
 * The program has ended and its bytes are delivered. Not before the pipes' own
 * end is it certain that nothing more comes; every writer is dead by then.
 */
static bool finished(const struct session *s, uint64_t now)
{
	if (!s->exited && !s->gone)
		return s->killed_at && now >= s->killed_at + SESSION_DRAIN_MS * 1000u;
	return abandoned(s, &s->io.out, now) && abandoned(s, &s->io.err, now);
}

static int wait_for_events(struct pollfd p[FD_KINDS], uint64_t deadline, uint64_t now)
{
	uint64_t left = deadline > now ? deadline - now : 0;
	struct timespec ts = { .tv_sec = (time_t)(left / 1000000), .tv_nsec = (long)(left % 1000000) * 1000 };
	int n = ppoll(p, FD_KINDS, deadline == NEVER ? NULL : &ts, NULL);

	return n < 0 && errno != EINTR ? -errno : n;
}

static int too_slow(struct sj_err *err)
{
	err_set(err, ETIMEDOUT, SJ_EXIT_SETUP, "E_SETUP_TIMEOUT", "the jail was not ready in time");
	err_why(err, "nothing came from the guest for %d s", SESSION_SETUP_MS / 1000);
	err_fix(err, "look at the load of this machine, then try again");
	return -ETIMEDOUT;
}

/* *ret_now: when the turn before began, and then when this one did. */
static int turn(struct session *s, uint64_t *ret_now, struct sj_err *err)
{
	struct pollfd p[FD_KINDS];
	uint64_t now = *ret_now;
	int r;

	want_all(s, p, now);
	r = wait_for_events(p, next_deadline(s, now), now);
	if (r < 0)
		return handover_fault("waiting for the jail", -r, err);
	*ret_now = now = io_now_us();
	if (!s->ready && now >= s->started_at + SESSION_SETUP_MS * 1000u)
		return too_slow(err);
	serve_time(s, now);
	for (int kind = 0; r > 0 && kind < FD_KINDS; kind++) {
		short revents = p[kind].revents;
		int e = revents ? serve(s, (enum fd_kind)kind, revents, now, err) : 0;

		if (e < 0)
			return e;
	}
	notes_take(s, false);
	return 0;
}

/* That nothing ran is said only when it is certain: the guest is dead, and had not sent that the program begins. */
static bool nothing_ran(const struct session *s)
{
	struct pollfd dead = { .fd = jail_death_fd(s->jail), .events = POLLIN };
	struct wire_ready ready = { 0 };

	if (s->ready || s->begun)
		return false;
	jail_kill(s->jail);
	if (poll(&dead, 1, SESSION_DRAIN_MS) <= 0)
		return false;
	if (s->handover.sync[0] >= 0)
		(void)recv(s->handover.sync[0], &ready, sizeof(ready), MSG_DONTWAIT);
	return !has_begun(&ready);
}

int loop_run(struct session *s, struct sj_err *err)
{
	uint64_t now = io_now_us();
	int r = 0;

	while (r == 0 && !finished(s, now))
		r = turn(s, &now, err);
	if (r == 0 || nothing_ran(s))
		return r;
	s->fault = *err;
	if (!s->ready)
		s->ready_at = io_now_us();
	return 0;
}
