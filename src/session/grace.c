/*
 * grace.c - how long a program may take to obey a SIGINT
 *
 * Runs as: the supervisor, the server
 * Trusts: the kernel's numbers
 * Never: counts time against a program in which it had no CPU, or waits for ever
 */
#include "session/internal.h"

/*
 * On a busy machine, or under a small limits.cpu, a program may get no CPU for
 * longer than the grace time. It would be killed, and a session would lose its
 * state, for something that it had no chance to do. One that sleeps and does not
 * wake, or that computes on, had its chance.
 */

static void from_here(struct grace *g, const struct jail *j, uint64_t now)
{
	struct jail_progress p = { 0 };

	g->until = now + SESSION_GRACE_MS * 1000u;
	g->cpu_us = jail_progress(j, &p) == 0 ? p.cpu_us : 0;
}

static bool starves(const struct grace *g, const struct jail *j)
{
	struct jail_progress p;

	return jail_progress(j, &p) == 0 && p.ready && p.cpu_us < g->cpu_us + SESSION_GRACE_CPU_MS * 1000u;
}

void grace_begin(struct grace *g, const struct jail *j, uint64_t now)
{
	from_here(g, j, now);
	g->last = now + SESSION_GRACE_MAX_MS * 1000u;
}

bool grace_over(struct grace *g, const struct jail *j, uint64_t now)
{
	if (now >= g->last)
		return true;
	/* Init has not passed it on yet. */
	if (jail_signal_pending(j))
		from_here(g, j, now);
	else if (starves(g, j))
		g->until = now + SESSION_GRACE_MS * 1000u / 4;
	else
		return true;
	return false;
}
