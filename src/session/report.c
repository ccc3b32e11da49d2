/*
 * report.c - a run's report as JSON, schema smoljail.report/1
 *
 * Runs as: the supervisor, after the jail is gone
 * Trusts: its own numbers; text from inside is made valid first
 * Never: leaves a key out: callers read every report the same way
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "session/internal.h"

#define REPORT_TEXT_MAX 2048

static json_t *text(const char *s)
{
	char clean[REPORT_TEXT_MAX];

	if (!s)
		return json_null();
	text_clean(s, REPORT_TEXT_MAX, clean, sizeof(clean), false);
	return json_string(clean);
}

static json_t *text_or_null(const char *s)
{
	return s && s[0] ? text(s) : json_null();
}

static json_t *millis(uint64_t us)
{
	return json_real((double)us / 1000.0);
}

static json_t *count(uint64_t n)
{
	return json_integer(n > INT64_MAX ? INT64_MAX : (json_int_t)n);
}

static json_t *count_or_null(uint64_t n)
{
	return n ? count(n) : json_null();
}

/* ---- the parts ---------------------------------------------------------------- */

static json_t *output_part(const struct session_report *r)
{
	return json_pack("{s:o, s:o, s:b}", "stdout", count(r->out_bytes), "stderr", count(r->err_bytes),
			 "truncated", r->truncated);
}

json_t *report_where(const struct session_where *w)
{
	if (!w->file[0])
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:o}", "file", text(w->file),
			 "line", w->line > 0 ? json_integer(w->line) : json_null(),
			 "function", text_or_null(w->function), "text", text_or_null(w->text));
}

/* ["--ro", "/data"], to be put before the program. */
static json_t *flag_part(const struct session_denial *d)
{
	return d->allow_flag[0] ? json_pack("[o, o]", text(d->allow_flag), text(d->allow_value)) : json_null();
}

static json_t *policy_fragment(const struct session_denial *d)
{
	json_t *doc = d->allow_policy[0] ? json_loads(d->allow_policy, 0, NULL) : NULL;

	return doc ? doc : json_null();
}

static json_t *error_name(int error)
{
	const char *name = error > 0 ? strerrorname_np(error) : NULL;

	return name ? json_string(name) : json_null();
}

json_t *report_denial(const struct session_denial *d, uint64_t times)
{
	char buf[40];

	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o}", "what", text(d->what),
			 "syscall", d->nr < 0 ? json_null() : text(filter_call_name(d->nr, buf, sizeof(buf))),
			 "errno", error_name(d->error), "count", count(times),
			 "layer", text(session_denial_layer(d)), "rule", text(session_denial_rule(d)),
			 "seen_by", d->by_guest ? "guest" : "kernel", "where", report_where(&d->where),
			 "allow_with", text_or_null(d->allow_with), "allow_flag", flag_part(d),
			 "allow_policy", policy_fragment(d), "never", text_or_null(d->never));
}

static json_t *denied_part(const struct session_report *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->n_denied; i++)
		json_array_append_new(list, report_denial(&r->denied[i], r->denied[i].count));
	return list;
}

static json_t *isolation_part(const struct session_report *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < ARRAY_LEN(r->isolation) && r->isolation[i]; i++)
		json_array_append_new(list, text(r->isolation[i]));
	return list;
}

static const char *held_by(const char *word, bool limited)
{
	return limited && word ? word : "none";
}

static json_t *enforced_part(const struct session_report *r, const struct policy *p)
{
	const struct jail_enforced *e = &r->enforced;
	bool known = r->status != STATUS_SETUP_ERROR;

	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
			 "memory", text(held_by(e->memory, known)), "cpu", text(held_by(e->cpu, known)),
			 "cpu_time", text(held_by(e->cpu_time, known)), "pids", text(held_by(e->pids, known)),
			 "wall", text(held_by("timer", known && p && p->limits.wall_ms)),
			 "disk", text(held_by(r->disk_enforced, known)),
			 "output", text(held_by("supervisor", known && p && p->limits.output)));
}

static json_t *error_part(const struct session_report *r)
{
	const struct wire_claim *c = &r->claim;

	if (r->status == STATUS_OK || c->outcome != WIRE_OUTCOME_EXCEPTION || r->exit_code != 1)
		return json_null();
	return json_pack("{s:o, s:o, s:o}", "type", text(c->type), "message", text(c->message),
			 "line", c->line > 0 ? count((uint64_t)c->line) : json_null());
}

static json_t *setup_part(const struct session_report *r)
{
	if (r->status != STATUS_SETUP_ERROR)
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:o}", "id", text(r->setup.id), "what", text(r->setup.what),
			 "why", text_or_null(r->setup.why), "fix", text_or_null(r->setup.fix));
}

static json_t *policy_part(const struct policy *p)
{
	return json_pack("{s:o, s:o}", "name", text(p ? p->name : NULL), "sha256", text_or_null(p ? p->sha256 : NULL));
}

/* ---- the whole ------------------------------------------------------------------ */

static json_t *end_part(const struct session_report *r)
{
	bool lost = r->status == STATUS_LOST;

	return json_pack("{s:s, s:o, s:o, s:o, s:o, s:s, s:s, s:s}",
			 "schema", "smoljail.report/1", "status", text(session_status_word(r->status)),
			 "reason", text(r->reason),
			 "exit_code", r->exit_code >= 0 ? json_integer(r->exit_code) : json_null(),
			 "signal", r->signal > 0 ? json_integer(r->signal) : json_null(),
			 "ran", lost ? "unknown" : r->ran ? "yes" : "no",
			 "retry", r->ran ? "unsafe" : "safe", "session", r->session ? r->session : "none");
}

static json_t *usage_part(const struct session_report *r)
{
	const struct jail_usage *u = &r->usage;

	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "wall_ms", millis(r->wall_us),
			 "setup_ms", millis(r->setup_us), "cpu_ms", millis(u->cpu_us), "user_ms", millis(u->user_us),
			 "sys_ms", millis(u->sys_us), "memory_peak", count_or_null(u->memory_peak),
			 "pids_peak", count_or_null(u->pids_peak));
}

static json_t *rest_part(const struct session_report *r, const struct policy *p)
{
	return json_pack("{s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:o, s:s}",
			 "output", output_part(r), "denied", denied_part(r), "denied_total", count(r->denied_total),
			 "denied_counted", r->denied_counted, "error", error_part(r), "hint", text_or_null(r->hint),
			 "setup", setup_part(r), "isolation", isolation_part(r), "enforced_by", enforced_part(r, p),
			 "policy", policy_part(p), "backend", "local", "python", text_or_null(r->python),
			 "smoljail", sj_version());
}

json_t *report_object(const struct session_report *r, const struct policy *p)
{
	json_t *doc = end_part(r);
	_cleanup_json_ json_t *usage = usage_part(r);
	_cleanup_json_ json_t *rest = rest_part(r, p);

	if (doc && usage && rest && json_object_update(doc, usage) == 0 && json_object_update(doc, rest) == 0)
		return doc;
	json_decref(doc);
	return NULL;
}

char *session_report_json(const struct session_report *r, const struct policy *p)
{
	_cleanup_json_ json_t *doc = report_object(r, p);

	return doc ? json_dumps(doc, REPORT_FORMAT) : NULL;
}
