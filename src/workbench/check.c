/*
 * check.c - what a legal policy grants that its author should know about
 *
 * Runs as: the caller
 * Trusts: a policy that policy_load() returned
 * Never: refuses; whoever writes a policy decides
 */
#include <stdarg.h>
#include <string.h>

#include "workbench/internal.h"

#define SENTENCE_MAX 1024

struct check {
	workbench_note_fn *fn;
	void *arg;
	size_t n;
};

static void tell(struct check *c, const char *id, const char *path, const char *fmt, ...) _printf_(4, 5);
static void tell(struct check *c, const char *id, const char *path, const char *fmt, ...)
{
	char sentence[SENTENCE_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(sentence, sizeof(sentence), fmt, ap);
	va_end(ap);
	if (c->fn)
		c->fn(c->arg, id, path, sentence);
	c->n++;
}

/* ---- the table ------------------------------------------------------------------ */

static void check_risks(struct check *c, const struct policy *p)
{
	char detail[WORDS_MAX];

	for (const struct risk *risk = workbench_risks; risk->id; risk++)
		for (size_t at = 0; risk->note && risk_share(risk, p, at, detail) > 0; at++) {
			if (risk->call)
				tell(c, risk->id, detail, "%s: %s; see %s", risk->title, risk->why, risk->ref);
			else
				tell(c, risk->id, risk->path, "%s%s%s%s; see %s", detail[0] ? "\"" : "", detail, detail[0] ? "\": " : "",
				     risk->why, risk->ref);
		}
}

/* ---- what has no effect ----------------------------------------------------------- */

static const struct risk *risk_of(const char *call)
{
	for (const struct risk *risk = workbench_risks; risk->id; risk++)
		if (risk->call && risk->weight == 0 && strcmp(risk->call, call) == 0)
			return risk;
	return NULL;
}

/* The rule of "@never" that refuses every use of the call. */
static const struct policy_rule *never_rule(const struct policy *p, const char *name)
{
	for (size_t i = 0; i < p->syscalls.n_rules; i++)
		if (strcmp(p->syscalls.rules[i].name, name) == 0)
			return words_never(&p->syscalls.rules[i]) && p->syscalls.rules[i].n_args == 0 ? &p->syscalls.rules[i] : NULL;
	return NULL;
}

static void check_name(struct check *c, const struct policy *p, const char *path, const char *name)
{
	const struct policy_rule *never = name ? never_rule(p, name) : NULL;
	const struct risk *risk = never ? risk_of(name) : NULL;

	if (never)
		tell(c, "never-allowed", path, "%s is refused under every policy, and this entry has no effect: %s%s%s", name,
		     risk ? risk->why : never->reason ? never->reason : "", risk ? "; see " : "", risk ? risk->ref : "");
}

static void check_never(struct check *c, const struct policy *p)
{
	const json_t *calls = json_object_get(p->doc, "syscalls");
	const json_t *allow = json_object_get(calls, "allow"), *rules = json_object_get(calls, "rules");
	const char *action;

	for (size_t i = 0; i < json_array_size(allow); i++)
		check_name(c, p, "syscalls.allow", json_string_value(json_array_get(allow, i)));
	for (size_t i = 0; i < json_array_size(rules); i++) {
		action = json_string_value(json_object_get(json_array_get(rules, i), "action"));
		if (action && strcmp(action, "allow") == 0)
			check_name(c, p, "syscalls.rules", json_string_value(json_object_get(json_array_get(rules, i), "name")));
	}
}

static void check_limits(struct check *c, const struct policy *p)
{
	const struct policy_limits *limits = &p->limits;
	const struct policy_files *files = &p->files;

	if (limits->memory > 0 && files->tmp.size + files->work.size + files->shm.size > limits->memory)
		tell(c, "folders-over-memory", "files",
		     "the private folders may hold more than limits.memory: a program that fills them is stopped as out of "
		     "memory before it is told that a folder is full; see tmpfs(5)");
	if (limits->wall_ms > 0 && limits->cpu_milli > 0 && limits->cpu_ms > limits->wall_ms * limits->cpu_milli / 1000)
		tell(c, "cpu-time-unreachable", "limits.cpu_time",
		     "limits.wall and limits.cpus together allow less CPU time than this, so it never decides; see smoljail-policy(5)");
}

/* fork(3) is the call clone everywhere, so a policy that denies only fork denies nothing. */
static void check_fork(struct check *c, const struct policy *p)
{
	static const uint64_t none[6], forks[6] = { 17 };
	int clone = filter_call_number("clone"), fork = filter_call_number("fork"), vfork = filter_call_number("vfork");
	struct filter_verdict v = { 0 }, w = { 0 }, by_clone = { 0 };

	if (fork < 0)
		return;
	filter_decide(p, fork, none, &v);
	filter_decide(p, vfork, none, &w);
	filter_decide(p, clone, forks, &by_clone);
	if (by_clone.action == POLICY_ALLOW && ((v.rule && v.action != POLICY_ALLOW) || (w.rule && w.action != POLICY_ALLOW)))
		tell(c, "fork-by-clone", "syscalls",
		     "fork is denied, but programs fork by the call clone, which is allowed; "
		     "\"allow\": [\"!@process\", \"@threads\"] leaves threads only; see fork(2)");
}

size_t workbench_check(const struct policy *p, workbench_note_fn *fn, void *arg)
{
	struct check c = { .fn = fn, .arg = arg };

	check_risks(&c, p);
	check_never(&c, p);
	check_limits(&c, p);
	check_fork(&c, p);
	return c.n;
}
