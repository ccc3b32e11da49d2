/*
 * serve_wait.c - the one place where the server waits
 *
 * Runs as: the server
 * Trusts: nothing
 * Never: sleeps past timeout_ms
 */
#include "session/serve_internal.h"

/* Waits for guests and waits for clients, who may have to think, learn apart. */
int server_wait(struct server *sv, struct epoll_event events[SERVE_EVENTS], int timeout_ms)
{
	struct wire_wait *w = &sv->waits[sv->wrote_to_guest];
	int n;

	(void)wire_wait_begin(w);
	do
		n = epoll_wait(sv->epoll, events, SERVE_EVENTS, 0);
	while (n == 0 && wire_wait_more(w));
	if (n == 0 && timeout_ms != 0)
		n = epoll_wait(sv->epoll, events, SERVE_EVENTS, timeout_ms);
	sv->now = wire_wait_end(w);
	return n;
}
