/*
 * session.c - one run: prepare, start the jail, watch it, say what happened
 *
 * Runs as: the supervisor, the caller's user, outside the jail
 * Trusts: the policy; nothing that comes from inside
 * Never: prints; leaves a changed signal mask or disposition behind
 */
/*
 * Theory of operation. Order is chosen for speed: what the child needs is
 * prepared first, jail_start() sets it to work, and the filter is compiled while
 * the child builds its world. The guest finds the boot record complete because
 * jail_go() comes after that.
 *
 *	prepare		script, mounts, environment, pipes, boot and claim pages
 *	jail_start	the child begins
 *	compile		the seccomp program, into the boot record
 *	jail_go		the guest starts, and waits at its end for the word to go on
 *	loop		bytes, deadlines, denials, signals (loop.c)
 *	verdict		what the kernel says, refined by what the guest claims
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "session/internal.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008u
#endif

static const int watched_signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

/* ---- signals ------------------------------------------------------------ */

/*
 * Only this thread's mask is touched. A signal that the caller ignores stays
 * ignored (nohup works). SIGPIPE is blocked: a reader that has gone away
 * shows as EPIPE, and the pending signal is eaten before the mask returns.
 */
static int signals_take(struct session *s, struct sj_err *err)
{
	struct sigaction now;
	sigset_t take, pending;

	sigemptyset(&take);
	/* A blocked signal is queued even where it is ignored, so the ignored ones are left out. */
	for (size_t i = 0; i < ARRAY_LEN(watched_signals); i++)
		if (sigaction(watched_signals[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
			sigaddset(&take, watched_signals[i]);
	s->signal_fd = signalfd(-1, &take, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->signal_fd < 0)
		return handover_fault("signals", errno, err);
	sigpending(&pending);
	s->sigpipe_was_pending = sigismember(&pending, SIGPIPE) == 1;
	sigaddset(&take, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &take, &s->old_mask);
	s->mask_set = true;
	return 0;
}

static void signals_restore(struct session *s)
{
	static const struct timespec none;
	sigset_t pipe_only;

	if (!s->mask_set)
		return;
	sigemptyset(&pipe_only);
	sigaddset(&pipe_only, SIGPIPE);
	while (!s->sigpipe_was_pending && sigtimedwait(&pipe_only, NULL, &none) == SIGPIPE)
		;
	pthread_sigmask(SIG_SETMASK, &s->old_mask, NULL);
	s->mask_set = false;
}

/* ---- starting --------------------------------------------------------------- */

static int fill_boot_record(struct session *s, struct sj_err *err)
{
	const struct session_run *run = s->run;
	bool named = run->mode == WIRE_MODE_FILE || run->mode == WIRE_MODE_MODULE;
	const char *name = run->mode == WIRE_MODE_FILE ? s->prep.target : run->target;
	struct wire_boot_spec spec = {
		.mode = run->mode,
		.flags = WIRE_NOTIFY | WIRE_WATCH | (run->trace ? WIRE_MUST_NOTIFY : 0u) | (s->io.line_buffered ? WIRE_LINE_BUFFERED : 0u),
		.args = s->prep.args,
		.paths = s->prep.paths,
		.code = named ? name : run->code,
		.code_len = named ? strlen(name) : run->code_len,
	};

	return handover_fill(&s->handover, s->policy, &spec, err);
}

static int start_jail(struct session *s, struct sj_err *err)
{
	int extra[] = { s->handover.boot_fd, s->handover.sync[1], s->handover.claim_fd };
	struct jail_spec spec;
	int r;

	handover_spec(s->policy, &s->prep, &spec);
	spec.files = &s->prep.script;
	spec.n_files = s->prep.script.name ? 1 : 0;
	memcpy(spec.stdio, s->io.inside, sizeof(spec.stdio));
	spec.extra = extra;
	spec.n_extra = ARRAY_LEN(extra);
	r = jail_start(&spec, &s->jail, err);
	s->denied.jail = s->jail;
	/* The child has its own copies; ours would keep the pipes from ever ending. */
	stdio_close_inside(&s->io);
	handover_close_inside(&s->handover);
	return r;
}

static int start(struct session *s, struct sj_err *err)
{
	int r = prep_build(&s->prep, s->run, err);

	if (r == 0)
		r = signals_take(s, err);
	if (r == 0)
		r = stdio_open(&s->io, s->run->stdio, err);
	if (r == 0)
		r = handover_open(&s->handover, err);
	if (r == 0)
		s->notes.shared = (const struct wire_notes *)((const char *)s->handover.claim + WIRE_NOTES_AT);
	if (r == 0)
		r = start_jail(s, err);
	if (r == 0)
		r = fill_boot_record(s, err);
	if (r == 0)
		r = jail_go(s->jail, err);
	return r;
}

/* ---- ending ----------------------------------------------------------------- */

void report_isolation(struct session_report *rep, const struct jail *jail, const struct policy *policy)
{
	const char *const *words = jail_isolation(jail);
	size_t n = 0;

	for (size_t i = 0; words[i] && n < ARRAY_LEN(rep->isolation) - 2; i++) {
		if (!str_prefix(words[i], "landlock")) {
			rep->isolation[n++] = words[i];
			continue;
		}
		/* This one is the jail's own memory, which ends before the report does. */
		snprintf(rep->landlock, sizeof(rep->landlock), "%s", words[i]);
		rep->isolation[n++] = rep->landlock;
	}
	rep->isolation[n++] = "seccomp";
	rep->isolation[n] = NULL;
	rep->enforced = *jail_enforced(jail);
	rep->disk_enforced = policy->isolation == POLICY_ISOLATION_FULL ? "tmpfs" : "polling";
}

/* The reader that simply went away (EPIPE) needs no words: the program saw it too. */
static int output_fault(const struct session *s)
{
	int fault = s->io.out.error ? s->io.out.error : s->io.err.error;

	return fault == EPIPE || fault == ECONNRESET ? 0 : fault;
}

static bool clone_denied(const struct session_report *rep)
{
	for (size_t i = 0; i < rep->n_denied; i++)
		if (rep->denied[i].nr >= 0 && str_prefix(rep->denied[i].what, "clone("))
			return true;
	return false;
}

static void judge(struct session *s, bool disk_full)
{
	struct session_report *rep = s->rep;
	struct verdict_in in = {
		.stop = s->stop, .stop_signal = s->stop_signal, .interrupts = s->interrupts,
		.exited = s->exited, .wait_status = s->wait_status, .mode = s->run->mode,
		.command = s->run->args && s->run->args[0] ? s->run->args[0] : "",
		.usage = &rep->usage, .enforced = &rep->enforced, .claim = &rep->claim, .fault = &s->fault,
		.disk_full = disk_full, .clone_denied = clone_denied(rep), .policy = s->policy,
	};

	verdict(&in, rep);
	hint_make(s->run, rep);
	if (s->fault.error && !rep->hint[0])
		snprintf(rep->hint, sizeof(rep->hint), "%s", s->fault.fix);
}

/* A success whose output is lost is none: 120 is what CPython returns when it cannot flush. */
static void note_lost_output(struct session_report *rep, int fault)
{
	snprintf(rep->hint, sizeof(rep->hint), "the program's output could not be written: %s", strerror(fault));
	if (rep->exit_status == 0)
		rep->exit_status = SESSION_EXIT_UNWRITTEN;
}

static void conclude(struct session *s, uint64_t ended_at)
{
	struct session_report *rep = s->rep;
	uint64_t used = 0;
	bool full = false;

	rep->ran = true;
	rep->setup_us = s->ready_at - s->started_at;
	rep->wall_us = ended_at - s->ready_at;
	report_isolation(rep, s->jail, s->policy);
	claim_copy(s->handover.claim, &rep->claim);
	if (s->run->trace)
		trace_look_at_disk(s->run->trace, s->jail);
	if (verdict_failed(s->exited, s->wait_status))
		jail_disk(s->jail, &used, &full);
	/* Once more while it can be seen which folder is full. */
	notes_take(s, false);
	s->jail = jail_finish(s->jail, &rep->usage);
	notes_take(s, true);
	rep->out_bytes = s->io.out.accepted;
	rep->err_bytes = s->io.err.accepted;
	rep->truncated = s->io.out.over || s->io.err.over || s->io.out.len || s->io.err.len || output_fault(s);
	judge(s, full);
	if (output_fault(s))
		note_lost_output(rep, output_fault(s));
}

static void session_clear(struct session *s)
{
	s->jail = jail_finish(s->jail, NULL);
	stdio_rewind_unread(&s->io);
	stdio_close(&s->io);
	handover_close(&s->handover);
	base_closep(&s->denied.listener);
	base_closep(&s->signal_fd);
	prep_clear(&s->prep);
	signals_restore(s);
}

/* Told at once, while the program waits for its answer. */
static void on_new_denial(void *arg, struct session_denial *d)
{
	const struct session *s = arg;

	where_text(s, &d->where);
	if (s->run->on_denied)
		s->run->on_denied(s->run->on_denied_arg, d);
}

static int attempt(const struct session_run *run, struct session_report *ret, struct sj_err *err)
{
	struct session s = {
		.run = run, .policy = run->policy, .rep = ret, .io = SESSION_STDIO_INIT,
		.handover = HANDOVER_INIT, .signal_fd = -1,
		.denied = { .policy = run->policy, .rep = ret, .on_new = on_new_denial, .listener = -1, .trace = run->trace },
		.budget = run->policy->limits.output && !teeth_out("output") ? run->policy->limits.output : UINT64_MAX,
		.started_at = io_now_us(),
	};
	int r;

	s.denied.arg = &s;
	r = start(&s, err);
	if (r == 0)
		r = loop_run(&s, err);
	if (r == 0)
		conclude(&s, s.exited_at ? s.exited_at : io_now_us());
	session_clear(&s);
	return r;
}

void session_report_refused(struct session_report *ret, const struct sj_err *err)
{
	*ret = (struct session_report){
		.status = STATUS_SETUP_ERROR, .exit_code = -1, .exit_status = err->exit, .setup = *err,
	};
	snprintf(ret->reason, sizeof(ret->reason), "%s", err->what);
}

int session_run(const struct session_run *run, struct session_report *ret, struct sj_err *err)
{
	struct sj_err own = { 0 };
	int r;

	*ret = (struct session_report){ .exit_code = -1 };
	r = attempt(run, ret, &own);
	if (r == 0)
		return 0;
	/* Whatever forgot its words: a run that failed never looks like one that did not. */
	if (own.exit == 0)
		(void)err_set(&own, -r, SJ_EXIT_SETUP, "E_INTERNAL", "the run failed: %s", strerror(-r));
	session_report_refused(ret, &own);
	if (err)
		*err = own;
	return r;
}
