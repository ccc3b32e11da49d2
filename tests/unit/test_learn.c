/*
 * test_learn.c - from what was seen to the smallest policy: groups, names, rules, limits
 *
 * Runs as: any user
 * Trusts: nothing
 * Never: starts a jail
 */
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tap.h"
#include "session/internal.h"
#include "workbench/workbench.h"

static const struct wire_python no_python;

/* One run under the jail of learning, made up of calls. */
struct seen {
	struct policy *p;
	struct session_trace *t;
	struct session_report r;
	struct learn *l;
};

static void begin(struct seen *s, const char *base, const struct policy_set *sets, size_t n)
{
	struct sj_err err = { 0 };

	*s = (struct seen){ .r = { .ran = true, .wall_us = 40000, .setup_us = 10000 } };
	if (learn_load(base, sets, n, &s->p, &err) < 0 || learn_new(&s->l, &err) < 0) {
		printf("# %s: %s; %s\n", err.id, err.what, err.why);
		exit(1);
	}
	s->t = trace_new();
}

static void end(struct seen *s)
{
	learn_free(s->l);
	trace_free(s->t);
	policy_free(s->p);
}

static void saw(struct seen *s, const char *name, uint64_t a, uint64_t b, uint64_t c)
{
	const struct trace_from from = { .policy = s->p, .python = &no_python, .listener = -1 };
	const uint64_t args[6] = { a, b, c };
	struct filter_verdict v = { 0 };
	int nr = filter_call_number(name);

	filter_decide(s->p, nr, args, &v);
	trace_call(s->t, &from, nr, args, &v);
}

static json_t *learned(struct seen *s, struct learn_sum *sum)
{
	struct sj_err err = { 0 };
	_cleanup_free_ char *text = NULL;
	int r = learn_add(s->l, &s->r, s->t, s->p, &err);

	if (r == 0)
		r = learn_policy(s->l, "test", &text, sum, &err);
	if (r < 0)
		printf("# %s: %s; %s\n", err.id, err.what, err.why);
	return text ? json_loads(text, 0, NULL) : NULL;
}

static json_t *at(json_t *doc, const char *section, const char *key)
{
	return json_object_get(json_object_get(doc, section), key);
}

static bool lists(json_t *doc, const char *entry)
{
	json_t *allow = at(doc, "syscalls", "allow"), *value;
	size_t i;

	json_array_foreach(allow, i, value)
		if (strcmp(json_string_value(value), entry) == 0)
			return true;
	return false;
}

static json_t *rule_for(json_t *doc, const char *name)
{
	json_t *rules = at(doc, "syscalls", "rules"), *rule;
	size_t i;

	json_array_foreach(rules, i, rule)
		if (strcmp(json_string_value(json_object_get(rule, "name")), name) == 0)
			return rule;
	return NULL;
}

static const char *condition(json_t *rule, const char *key)
{
	return json_string_value(json_object_get(json_array_get(json_object_get(rule, "args"), 0), key));
}

/* What a policy answers, straight from the document. */
static enum policy_action answer(json_t *doc, const char *name, uint64_t a, uint64_t b)
{
	const uint64_t args[6] = { a, b };
	_cleanup_policy_ struct policy *p = NULL;
	struct filter_verdict v = { .action = POLICY_KILL };

	if (policy_load_doc(doc, NULL, "learned", NULL, 0, &p, NULL) == 0)
		filter_decide(p, filter_call_number(name), args, &v);
	return v.action;
}

static void test_floor_is_enough(void)
{
	struct learn_sum sum = { 0 };
	struct seen s;
	_cleanup_json_ json_t *doc = NULL;

	begin(&s, NULL, NULL, 0);
	saw(&s, "openat", 0, 0, 0);
	saw(&s, "newfstatat", 0, 0, 0);
	doc = learned(&s, &sum);
	ok(doc && !json_object_get(doc, "syscalls"), "what the floor allows needs no line");
	is_int(1, sum.runs, "one run");
	ok(answer(doc, "openat", 0, 0) == POLICY_ALLOW && answer(doc, "symlink", 0, 0) == POLICY_DENY, "and nothing more is allowed");
	end(&s);
}

static void test_names_and_rules(void)
{
	enum { THREAD = 0x3d0f00, FORK = 0x1200011, UNIX = 1, INET = 2, MFD_CLOEXEC_ = 1 };
	struct learn_sum sum;
	struct seen s;
	_cleanup_json_ json_t *doc = NULL;

	begin(&s, NULL, NULL, 0);
	saw(&s, "symlink", 0x1000, 0x2000, 0);
	saw(&s, "clone", FORK, 0, 0);
	saw(&s, "socket", UNIX, 1, 0);
	saw(&s, "socket", INET, 1, 0);
	saw(&s, "memfd_create", 0x1000, MFD_CLOEXEC_, 0);
	saw(&s, "mbind", 0, 0, 0);
	saw(&s, "ptrace", 0, 0, 0);
	doc = learned(&s, &sum);
	ok(lists(doc, "symlink"), "a call without conditions is listed by name");
	ok(answer(doc, "clone", FORK, 0) == POLICY_ALLOW && answer(doc, "clone", THREAD, 0) == POLICY_DENY,
	   "clone is bound to the flags that were seen");
	is_str("AF_UNIX", condition(rule_for(doc, "socket"), "value"), "a socket to its family");
	ok(answer(doc, "socket", INET, 1) == POLICY_DENY && answer(doc, "socket", 16, 1) == POLICY_DENY, "others stay denied");
	is_str("MFD_CLOEXEC", condition(rule_for(doc, "memfd_create"), "value"), "a memory file to its flags");
	is_str("enosys", json_string_value(json_object_get(rule_for(doc, "mbind"), "action")), "what was answered ENOSYS is again");
	ok(!lists(doc, "ptrace") && answer(doc, "ptrace", 0, 0) == POLICY_DENY, "what was refused is refused");
	end(&s);
}

static void test_groups(void)
{
	static const char *const most[] = { "timer_create", "timer_settime", "timer_gettime", "timer_delete" };
	struct learn_sum sum;
	struct seen s;
	_cleanup_json_ json_t *some = NULL, *nearly = NULL;

	begin(&s, NULL, NULL, 0);
	for (size_t i = 0; i < 2; i++)
		saw(&s, most[i], 0, 0, 0);
	some = learned(&s, &sum);
	ok(lists(some, "timer_create") && !lists(some, "@timers"), "two of the five of a group: their names");
	end(&s);
	begin(&s, NULL, NULL, 0);
	for (size_t i = 0; i < ARRAY_LEN(most); i++)
		saw(&s, most[i], 0, 0, 0);
	nearly = learned(&s, &sum);
	ok(lists(nearly, "@timers") && !lists(nearly, "timer_create"), "four of them: the group");
	has_str("@timers: 4 calls of 4 kinds, first timer_create", json_string_value(json_array_get(at(nearly, "syscalls", "comment"), 0)),
		"with a comment that says why");
	end(&s);
}

static void test_base(void)
{
	const struct policy_set deny[] = { { .path = "syscalls.deny", .value = "symlink" }, { .path = "network.mode", .value = "loopback" } };
	struct learn_sum sum;
	struct seen s;
	_cleanup_json_ json_t *doc = NULL;

	begin(&s, "python", deny, ARRAY_LEN(deny));
	saw(&s, "symlink", 0, 0, 0);
	saw(&s, "rename", 0, 0, 0);
	saw(&s, "socket", 2, 1, 0);
	saw(&s, "chown", 0, 0, 0);
	saw(&s, "personality", 0x20000, 0, 0);
	doc = learned(&s, &sum);
	ok(answer(doc, "symlink", 0, 0) == POLICY_DENY && lists(doc, "rename"), "what the base denies is not learned");
	is_str("loopback", json_string_value(at(doc, "network", "mode")), "its network is kept, and allows its sockets");
	ok(!rule_for(doc, "socket"), "without a rule");
	ok(answer(doc, "personality", 0x20000, 0) == POLICY_ALLOW && answer(doc, "personality", 0x40000, 0) == POLICY_DENY,
	   "arguments count also where the base names the call in full");
	end(&s);
}

static void test_merge(void)
{
	struct learn_sum sum;
	struct sj_err err = { 0 };
	struct seen s;
	_cleanup_json_ json_t *doc = NULL;
	char file[] = "/tmp/smoljail-test-XXXXXX.json";
	int fd = mkostemps(file, 5, O_CLOEXEC);
	FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;

	if (!f) {
		skip("an older policy", "no temporary file");
		return;
	}
	fputs("{\"limits\": {\"memory\": \"1G\", \"wall\": \"none\"}, \"network\": {\"mode\": \"loopback\"}, "
	      "\"syscalls\": {\"allow\": [\"mkdir\"], \"rules\": [{\"name\": \"chown\", \"action\": \"allow\"}]}}", f);
	fclose(f);
	begin(&s, NULL, NULL, 0);
	is_int(0, learn_merge(s.l, file, &err), "an older policy is read");
	saw(&s, "rename", 0, 0, 0);
	saw(&s, "socket", 2, 1, 0);
	doc = learned(&s, &sum);
	ok(lists(doc, "mkdir") && lists(doc, "rename") && rule_for(doc, "chown"), "the result has both");
	is_str("1G", json_string_value(at(doc, "limits", "memory")), "the larger limit");
	is_str("loopback", json_string_value(at(doc, "network", "mode")), "the wider network, although this program was refused it");
	end(&s);
	unlink(file);
}

static void test_limits(void)
{
	struct learn_sum sum;
	struct seen s;
	_cleanup_json_ json_t *doc = NULL;

	begin(&s, NULL, NULL, 0);
	s.r.usage.memory_peak = 100u << 20;
	s.r.usage.pids_peak = 11;
	s.r.usage.cpu_us = 3100000;
	s.r.wall_us = 1540000;
	s.r.out_bytes = 20000;
	saw(&s, "openat", 0, 0, 0);
	doc = learned(&s, &sum);
	is_str("208M", json_string_value(at(doc, "limits", "memory")), "memory: twice, up to the next 16M");
	is_int(24, json_integer_value(at(doc, "limits", "pids")), "processes: twice, up to the next 4");
	is_str("16s", json_string_value(at(doc, "limits", "wall")), "time: ten times, up to the next second");
	is_str("31s", json_string_value(at(doc, "limits", "cpu_time")), "CPU time too");
	is_int(2, json_integer_value(at(doc, "limits", "cpus")), "as many CPUs as were busy");
	is_str("128K", json_string_value(at(doc, "limits", "output")), "output: four times, up to the next power of two");
	is_str("1M", json_string_value(json_object_get(at(doc, "files", "work"), "size")), "a folder that nobody wrote to is small");
	ok(!at(doc, "limits", "open_files"), "what is not known stays at its default");
	has_str("memory: 100M", json_string_value(json_array_get(at(doc, "limits", "comment"), 1)), "the peaks are told");
	end(&s);
}

static void test_refusals(void)
{
	struct learn_sum sum;
	struct sj_err err = { 0 };
	struct seen s, other;
	const struct policy_set net[] = { { .path = "network.mode", .value = "loopback" } };
	char *text = NULL;

	begin(&s, NULL, NULL, 0);
	begin(&other, NULL, net, 1);
	is_int(-EINVAL, learn_policy(s.l, "x", &text, &sum, &err), "nothing ran: nothing is learned");
	is_str("E_LEARN_RUN", err.id, "by its name");
	s.r.ran = false;
	is_int(-EINVAL, learn_add(s.l, &s.r, s.t, s.p, &err), "nor from a run that did not start");
	s.r.ran = true;
	is_int(0, learn_add(s.l, &s.r, s.t, s.p, &err), "one that did");
	is_int(-EINVAL, learn_add(s.l, &other.r, other.t, other.p, &err), "runs under different policies do not go together");
	is_str("E_LEARN_BASE", err.id, "by its name");
	end(&s);
	end(&other);
}

int main(void)
{
	test_floor_is_enough();
	test_names_and_rules();
	test_groups();
	test_base();
	test_merge();
	test_limits();
	test_refusals();
	return done();
}
