/*
 * fuzz_report.c - fuzz target: what a guest claims of its own end, its version and its denied calls, as the host tells it
 *
 * Runs as: make fuzz
 * Trusts: nothing
 * Never: lets a forged text break a line, a field's size, UTF-8, or the report's JSON
 */
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "filter/filter.h"
#include "session/internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	uint8_t mode, stop, exited, bits, resource, status[2], nr[2];
	uint8_t args[48];
	struct wire_claim claim;
};

static struct policy policy = {
	.name = (char *)"python", .sha256 = "abc", .limits = { .wall_ms = 1000, .output = 1000, .memory = 1u << 26, .pids = 8 },
	.files = { .root = (char *)"python" },
};

static void check_line(const char *text, size_t size)
{
	size_t len = strnlen(text, size);
	json_t *j = len < size ? json_stringn(text, len) : NULL;

	if (!j) /* no NUL, or no UTF-8 */
		abort();
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			abort();
	json_decref(j);
}

static void check_claim(const struct wire_claim *c)
{
	check_line(c->type, sizeof(c->type));
	check_line(c->name, sizeof(c->name));
	check_line(c->file, sizeof(c->file));
	check_line(c->message, sizeof(c->message));
}

/* A wait status that the kernel could give: a code, or a signal. */
static int wait_status(const struct input *in)
{
	return in->status[0] & 1 ? in->status[1] << 8 : in->status[1] % 64 + 1;
}

static void judge(const struct input *in, struct session_report *rep)
{
	struct jail_usage usage = { .oom_kills = in->resource & 1, .pids_hits = in->resource >> 1 & 1, .cpu_us = 5 };
	struct verdict_in v = {
		.stop = (enum stop)(in->stop % (STOP_SIGNAL + 1)), .stop_signal = SIGTERM,
		.exited = in->exited & 1, .wait_status = wait_status(in), .mode = (enum wire_mode)(in->mode % WIRE_MODE_SESSION + 1),
		.command = in->claim.name, .usage = &usage, .enforced = &rep->enforced, .claim = &rep->claim,
		.disk_full = in->bits & 1, .clone_denied = in->bits & 2, .policy = &policy,
	};
	struct session_run run = { .policy = &policy, .mode = v.mode, .target = "x.py" };
	char command[sizeof(in->claim.name)];

	snprintf(command, sizeof(command), "%.*s", (int)sizeof(command) - 1, in->claim.name);
	v.command = command;
	verdict(&v, rep);
	hint_make(&run, rep);
}

/* The call and its arguments are the guest's too. */
static void deny(const struct input *in, struct session_report *rep)
{
	struct session_denial *d = &rep->denied[0];

	memcpy(d->args, in->args, sizeof(d->args));
	d->nr = in->nr[0] | in->nr[1] << 8;
	d->count = 1;
	filter_describe(d->nr, d->args, d->what, sizeof(d->what));
	check_line(d->what, sizeof(d->what));
	rep->n_denied = 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct session_report rep;
	struct input in = { 0 };
	char *text;
	json_t *j;

	memcpy(&in, data, size < sizeof(in) ? size : sizeof(in));
	rep = (struct session_report){ .ran = true, .enforced = { "polling", "rlimit", "none", "polling" } };
	claim_copy(&in.claim, &rep.claim);
	check_claim(&rep.claim);
	text_clean(in.claim.message, sizeof(in.claim.message), rep.python, sizeof(rep.python), true);
	check_line(rep.python, sizeof(rep.python));
	deny(&in, &rep);
	judge(&in, &rep);
	check_line(rep.reason, sizeof(rep.reason));
	check_line(rep.hint, sizeof(rep.hint));
	text = session_report_json(&rep, &policy);
	j = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
	if (!j || strchr(text, '\n'))
		abort();
	json_decref(j);
	free(text);
	return 0;
}
