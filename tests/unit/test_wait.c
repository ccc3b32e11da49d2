/*
 * test_wait.c - when the waits of src/wire look before they sleep: learnt from what was, and never beside others
 *
 * Runs as: any user
 * Trusts: nothing
 * Never: depends on how fast the machine is: waits are said to have begun when it suits the test
 */
#include "wire/wire.h"
#include "tap.h"

#define LONG_AGO_US 100000u

static void test_new(void)
{
	struct wire_wait w = { 0 };

	ok(!wire_wait_begin(&w), "nothing is known yet: the first wait sleeps");
	ok(!wire_wait_more(&w), "after one look");
}

static void test_long_waits(void)
{
	struct wire_wait w = { .us = 600 };
	int n = 0;

	for (; w.us > 0 && n < 10; n++) {
		ok(wire_wait_begin(&w), "it is looked for %u us", w.us);
		w.start -= LONG_AGO_US;
		(void)wire_wait_end(&w);
	}
	is_int(4, n, "answers that take their time are looked for less and less, then not at all");
	w.start = io_now_us() - LONG_AGO_US;
	(void)wire_wait_end(&w);
	is_int(0, w.us, "and that stays");
}

static void test_time_over(void)
{
	struct wire_wait w = { .us = 600 };

	(void)wire_wait_begin(&w);
	w.start -= LONG_AGO_US;
	ok(!wire_wait_more(&w), "past its time it sleeps");
	is_int(0, w.shy, "and has met nobody");
}

/* Somebody else had the CPU: the last look was long ago. */
static unsigned int meet(struct wire_wait *w)
{
	while (!wire_wait_begin(w) && w->us)
		;
	w->start -= LONG_AGO_US;
	w->last = w->start;
	ok(wire_wait_more(w), "one more look after the CPU came back");
	ok(!wire_wait_more(w), "then it sleeps");
	return w->shy;
}

static void test_company(void)
{
	struct wire_wait w = { .us = 600 };
	unsigned int n, asleep = 0;

	is_int(16, meet(&w), "so many waits do not look at all");
	while (!wire_wait_begin(&w))
		asleep++;
	is_int(16, asleep, "exactly");
	is_int(32, meet(&w), "company again: twice as many");
	for (n = 0; n < 20; n++)
		(void)meet(&w);
	is_int(1024, w.shy, "up to a limit");
	while (!wire_wait_begin(&w))
		;
	for (n = 0; n < 100; n++) {
		w.looks = true;
		w.start = io_now_us();
		w.us = UINT32_MAX;
		(void)wire_wait_end(&w);
	}
	is_int(16, meet(&w), "looks that found something make up for it");
}

int main(void)
{
	test_new();
	test_long_waits();
	test_time_over();
	test_company();
	return done();
}
