/*
 * wait.c - for how long to look for an answer before sleeping until it comes
 *
 * Runs as: the server, and the guest in untrusted hands, each for itself
 * Trusts: nothing
 * Never: goes on looking where another process wants this CPU, or where looking has not helped of late
 */
#include <sched.h>

#include "wire/wire.h"

/*
 * A step of a few microseconds costs several times that where each side sleeps
 * meanwhile and has to be woken, most of all on a virtual CPU, which halts. So
 * both look again and again before they sleep. For how long follows the waits
 * before: it grows where sleeping was not worth it, and falls to nothing where
 * answers take their time.
 */

#define LOOK_MAX_US 600u
#define LOOK_MIN_US 50u
#define LOOK_GAP_US 700u	/* one look takes a microsecond, a step's other sides some hundred; a stranger has whole slices */
#define SHY_MIN 16u		/* waits that are slept through at once after that */
#define SHY_MAX 1024u		/* where it happens again and again */

bool wire_wait_begin(struct wire_wait *w)
{
	bool looks = w->shy == 0 && w->us > 0;

	w->start = w->last = io_now_us();
	w->shy -= w->shy > 0;
	w->looks = looks;
	return looks;
}

bool wire_wait_more(struct wire_wait *w)
{
	uint64_t before = w->last;

	if (!w->looks || before - w->start >= w->us)
		return false;
	sched_yield();
	w->last = io_now_us();
	if (w->last - before > LOOK_GAP_US) {
		w->shyness = w->shyness < SHY_MIN ? SHY_MIN : w->shyness < SHY_MAX / 2 ? 2 * w->shyness : SHY_MAX;
		w->shy = w->shyness;
		w->looks = false;
	}
	return true;
}

uint64_t wire_wait_end(struct wire_wait *w)
{
	uint64_t now = io_now_us(), waited = now - w->start;

	if (w->looks && waited <= w->us)
		w->shyness -= w->shyness / 8;
	if (waited > LOOK_MAX_US)
		w->us = w->us / 2 >= LOOK_MIN_US ? w->us / 2 : 0;
	else if (waited > w->us)
		w->us = LOOK_MAX_US;
	return now;
}
