/*
 * serve_wait.c - looking for events for a while before sleeping until there are some
 *
 * Runs as: the server
 * Trusts: nothing
 * Never: looks on where another process wants this CPU, or where looking has not helped of late
 */
#include <sched.h>

#include "session/serve_internal.h"

/*
 * A step of a few microseconds costs several times that where its server sleeps
 * meanwhile and has to be woken, most of all on a virtual CPU, which halts. So
 * the server looks again and again before it sleeps. For how long follows the
 * waits before: it grows where sleeping was not worth it, and falls to nothing
 * where answers take their time. Waits for guests and waits for clients, who
 * may have to think, learn apart.
 */

#define LOOK_MAX_US 600u
#define LOOK_MIN_US 50u
#define LOOK_GAP_US 200u		/* one look takes a microsecond; after so many somebody else had the CPU */
#define SHY_WAITS 16u		/* that are slept through at once after that */

static void learn(struct looking *l, uint64_t waited_us)
{
	if (waited_us > LOOK_MAX_US)
		l->us = l->us / 2 >= LOOK_MIN_US ? l->us / 2 : 0;
	else if (waited_us > l->us)
		l->us = LOOK_MAX_US;
}

/* Looks until something is there, it has been long enough, or the CPU is wanted. */
static int look(const struct server *sv, struct looking *l, struct epoll_event *events, uint64_t start)
{
	uint64_t now = start, last;
	int n = epoll_wait(sv->epoll, events, SERVE_EVENTS, 0);

	if (l->shy > 0)
		l->shy--;
	while (n == 0 && l->shy == 0 && now - start < l->us) {
		sched_yield();
		n = epoll_wait(sv->epoll, events, SERVE_EVENTS, 0);
		last = now;
		now = io_now_us();
		if (now - last > LOOK_GAP_US)
			l->shy = SHY_WAITS;
	}
	return n;
}

int server_wait(struct server *sv, struct epoll_event events[SERVE_EVENTS], int timeout_ms)
{
	struct looking *l = &sv->looking[sv->wrote_to_guest];
	uint64_t start = io_now_us();
	int n = look(sv, l, events, start);

	if (n == 0 && timeout_ms != 0)
		n = epoll_wait(sv->epoll, events, SERVE_EVENTS, timeout_ms);
	sv->now = io_now_us();
	learn(l, sv->now - start);
	return n;
}
