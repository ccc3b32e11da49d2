/*
 * remedy.c - the flag, and the line of a policy, that would allow what was refused
 *
 * Runs as: the supervisor
 * Trusts: the policy's rules; paths are whatever the program asked for, already checked
 * Never: offers what no policy can allow
 */
#include <jansson.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "session/internal.h"

/* Takes over doc. What does not fit is left out: a cut policy would be none. */
static void put_policy(struct session_denial *d, json_t *doc)
{
	_cleanup_free_ char *text = doc ? json_dumps(doc, 0) : NULL;

	d->allow_policy[0] = '\0';
	if (text && strlen(text) < sizeof(d->allow_policy))
		snprintf(d->allow_policy, sizeof(d->allow_policy), "%s", text);
	json_decref(doc);
}

static void put_flag(struct session_denial *d, const char *flag, const char *value)
{
	if (strlen(value) >= sizeof(d->allow_value))
		return;
	snprintf(d->allow_flag, sizeof(d->allow_flag), "%s", flag);
	snprintf(d->allow_value, sizeof(d->allow_value), "%s", value);
}

/* ---- system calls ------------------------------------------------------------ */

/* Threads and processes take more than the one call that was refused first: their group. */
static const char *call_or_group(const struct session_denial *d, char *buf, size_t len)
{
	const char *name = filter_call_name(d->nr, buf, len);

	if (strcmp(name, "clone") == 0)
		return d->args[0] & CLONE_THREAD ? "@threads" : "@process";
	return strcmp(name, "fork") == 0 || strcmp(name, "vfork") == 0 ? "@process" : name;
}

static json_t *allow_call(const char *name)
{
	return json_pack("{s:{s:[s]}}", "syscalls", "allow", name);
}

/* A rule of the policy's own list is overruled by one before it: those of the policy that extends it. */
static json_t *overrule(const char *name)
{
	return json_pack("{s:{s:[{s:s, s:s}]}}", "syscalls", "rules", "name", name, "action", "allow");
}

static json_t *take_out_of_deny(const char *name)
{
	char out[48];

	snprintf(out, sizeof(out), "!%s", name);
	return json_pack("{s:{s:[s], s:[s]}}", "syscalls", "deny", out, "allow", name);
}

static void remedy_rule(struct session_denial *d)
{
	const struct policy_rule *rule = d->rule;
	const char *origin = rule->origin ? rule->origin : "";

	if (strcmp(origin, "@never") == 0) {
		snprintf(d->never, sizeof(d->never), "no policy can allow it: %s", rule->reason ? rule->reason : "");
	} else if (strcmp(origin, "network.mode=none") == 0 && rule->allow_with) {
		put_flag(d, "--net", "loopback");
		put_policy(d, json_pack("{s:{s:s}}", "network", "mode", "loopback"));
	} else if (strcmp(origin, "syscalls.deny") == 0) {
		put_policy(d, take_out_of_deny(rule->name));
	} else if (str_prefix(origin, "syscalls.rules[")) {
		put_policy(d, overrule(rule->name));
	} else if (rule->reason) {
		snprintf(d->never, sizeof(d->never), "%s", rule->reason);
	}
	snprintf(d->allow_with, sizeof(d->allow_with), "%s", rule->allow_with ? rule->allow_with : "");
	if (!d->allow_with[0] && d->allow_policy[0])
		snprintf(d->allow_with, sizeof(d->allow_with), "a rule before it that allows %s", rule->name);
}

void remedy_call(struct session_denial *d)
{
	char buf[40];
	const char *name;

	/* A call that no rule names needs only its name in the policy; a rule says for itself what would change it. */
	if (d->rule) {
		remedy_rule(d);
		return;
	}
	name = call_or_group(d, buf, sizeof(buf));
	snprintf(d->allow_with, sizeof(d->allow_with), "\"syscalls\": {\"allow\": [\"%s\"]}", name);
	put_policy(d, allow_call(name));
}

void session_remedy(int nr, const uint64_t args[6], const struct policy_rule *rule, char *ret, size_t len)
{
	struct session_denial d = { .nr = nr, .rule = rule };

	memcpy(d.args, args, sizeof(d.args));
	remedy_call(&d);
	snprintf(ret, len, "%s", d.allow_with);
}

/* ---- settings ---------------------------------------------------------------- */

void remedy_set(struct session_denial *d, const char *flag, const char *path, const char *value, bool is_number)
{
	const char *dot = strchr(path, '.');
	char section[32];

	if (flag) {
		put_flag(d, flag, value);
		snprintf(d->allow_with, sizeof(d->allow_with), "%s %s", flag, value);
	} else {
		snprintf(d->allow_with, sizeof(d->allow_with), is_number ? "%s %s" : "%s \"%s\"", path, value);
	}
	snprintf(section, sizeof(section), "%.*s", (int)(dot - path), path);
	put_policy(d, json_pack("{s:{s:o}}", section, dot + 1, is_number ? json_loads(value, JSON_DECODE_ANY, NULL)
								      : json_string(value)));
}

void remedy_mount(struct session_denial *d, const char *mount, bool writable)
{
	put_flag(d, writable ? "--rw" : "--ro", mount);
	snprintf(d->allow_with, sizeof(d->allow_with), "%s %s", writable ? "--rw" : "--ro", mount);
	put_policy(d, json_pack("{s:{s:[s]}}", "files", writable ? "write" : "read", mount));
}
