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
#include <sys/socket.h>

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

/* Threads, processes and sockets take more than the one call that was refused first: their group. */
static const char *call_or_group(const struct session_denial *d, char *buf, size_t len)
{
	const char *name = filter_call_name(d->nr, buf, len);

	if (strcmp(name, "clone") == 0)
		return d->args[0] & CLONE_THREAD ? "@threads" : "@process";
	if ((strcmp(name, "socket") == 0 || strcmp(name, "socketpair") == 0) && d->args[0] == AF_UNIX)
		return "@sockets";
	return strcmp(name, "fork") == 0 || strcmp(name, "vfork") == 0 ? "@process" : name;
}

/* Would the kernel refuse it too, whatever the policy says? */
static bool needs_privilege(struct session_denial *d)
{
	_cleanup_policy_ struct policy *kernel = NULL;
	struct filter_verdict v = { 0 };

	if (policy_of_group("@privileged", &kernel, NULL) < 0)
		return false;
	filter_decide(kernel, d->nr, d->args, &v);
	if (v.rule)
		snprintf(d->never, sizeof(d->never), "no program in a jail has the privilege: %s", v.rule->reason);
	return v.rule;
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

static void remedy_unnamed(struct session_denial *d)
{
	char buf[40];
	const char *name = call_or_group(d, buf, sizeof(buf));

	snprintf(d->allow_with, sizeof(d->allow_with), "\"syscalls\": {\"allow\": [\"%s\"]}", name);
	put_policy(d, allow_call(name));
}

/* A call that no rule names needs only its name in the policy; a rule says for itself what would change it. */
static void remedy_filter(struct session_denial *d)
{
	if (d->rule)
		remedy_rule(d);
	else
		remedy_unnamed(d);
}

void remedy_call(struct session_denial *d)
{
	if (d->rule && d->rule->origin && strcmp(d->rule->origin, "@never") == 0)
		remedy_rule(d);
	else if (!needs_privilege(d))
		remedy_filter(d);
}

void session_remedy(int nr, const uint64_t args[6], const struct policy_rule *rule, char *ret, size_t len)
{
	struct session_denial d = { .nr = nr, .rule = rule };

	if (args) {
		memcpy(d.args, args, sizeof(d.args));
		remedy_call(&d);
	} else {
		remedy_filter(&d);
	}
	snprintf(ret, len, "%s", d.allow_with);
}

/* ---- settings ---------------------------------------------------------------- */

/* "files.tmp.size" as objects within each other. Takes over value. */
static json_t *nested(const char *path, json_t *value)
{
	const char *dot = strchr(path, '.');
	_cleanup_free_ char *key = str_printf("%.*s", dot ? (int)(dot - path) : (int)strlen(path), path);

	return json_pack("{s:o}", key ? key : "", dot ? nested(dot + 1, value) : value);
}

void remedy_set(struct session_denial *d, const char *flag, const char *path, const char *value, bool is_number)
{
	if (flag) {
		put_flag(d, flag, value);
		snprintf(d->allow_with, sizeof(d->allow_with), "%s %s", flag, value);
	} else {
		snprintf(d->allow_with, sizeof(d->allow_with), is_number ? "%s %s" : "%s \"%s\"", path, value);
	}
	put_policy(d, nested(path, is_number ? json_loads(value, JSON_DECODE_ANY, NULL) : json_string(value)));
}

void remedy_mount(struct session_denial *d, const char *mount, bool writable)
{
	put_flag(d, writable ? "--rw" : "--ro", mount);
	snprintf(d->allow_with, sizeof(d->allow_with), "%s %s", writable ? "--rw" : "--ro", mount);
	put_policy(d, json_pack("{s:{s:[s]}}", "files", writable ? "write" : "read", mount));
}

void remedy_exec(struct session_denial *d)
{
	d->layer = "mount";
	snprintf(d->rule_text, sizeof(d->rule_text), "files.exec_from_writable = false");
	remedy_set(d, NULL, "files.exec_from_writable", "true", true);
}
