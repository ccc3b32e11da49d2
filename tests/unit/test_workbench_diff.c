/*
 * test_workbench_diff.c - two policies compared by meaning
 *
 * Runs as: any user
 * Trusts: nothing
 * Never: takes a difference of texts for one of meaning
 */
#include <sys/syscall.h>

#include "policy_help.h"
#include "workbench/internal.h"

#define ROUNDS 4000

/* ---- random lists against brute force ------------------------------------ */

static uint32_t seed = 20261129;

static uint32_t random_below(uint32_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

static void random_rule(struct policy_rule *rule)
{
	static const enum policy_action actions[] = { POLICY_ALLOW, POLICY_DENY, POLICY_ENOSYS, POLICY_KILL };
	static char name[] = "socket", origin[] = "x";

	*rule = (struct policy_rule){ .name = name, .origin = origin, .action = actions[random_below(4)], .n_args = random_below(3) };
	rule->error = rule->action == POLICY_DENY ? EPERM : 0;
	for (size_t i = 0; i < rule->n_args; i++) {
		struct policy_arg *arg = &rule->args[i];

		*arg = (struct policy_arg){ .index = random_below(2), .op = (enum policy_cmp)random_below(7) };
		arg->mask = arg->op == POLICY_MASKED_EQ ? random_below(16) : 0;
		arg->value = random_below(16) & (arg->op == POLICY_MASKED_EQ ? arg->mask : 15);
	}
}

static bool differ(const struct policy *a, const struct policy *b)
{
	for (uint64_t x = 0; x < 20; x++)
		for (uint64_t y = 0; y < 20; y++) {
			const uint64_t args[6] = { x == 19 ? UINT64_MAX : x, y == 19 ? UINT64_MAX : y };
			struct filter_verdict v, w;

			filter_decide(a, SYS_socket, args, &v);
			filter_decide(b, SYS_socket, args, &w);
			if (v.action != w.action || v.error != w.error)
				return true;
		}
	return false;
}

static void test_random(void)
{
	struct meaning *m = calloc(1, sizeof(*m));
	size_t wrong = 0, same = 0;

	for (int round = 0; m && round < ROUNDS; round++) {
		struct policy_rule rules[2][4];
		struct policy a = { .syscalls = { EPERM, rules[0], random_below(5) } };
		struct policy b = { .syscalls = { EPERM, rules[1], 0 } };
		bool want;

		for (size_t i = 0; i < 4; i++)
			random_rule(&rules[0][i]);
		memcpy(rules[1], rules[0], sizeof(rules[0]));
		b.syscalls.n_rules = a.syscalls.n_rules;
		/* Often only one rule differs, so that the lists often mean the same all the same. */
		if (b.syscalls.n_rules)
			random_rule(&rules[1][random_below((uint32_t)b.syscalls.n_rules)]);
		want = differ(&a, &b);
		same += !want;
		wrong += meaning_compare(&a, &b, SYS_socket, m, NULL) < 0 || !m->whole || want != (m->n > 0);
	}
	free(m);
	is_int(0, wrong, "%d pairs of random lists: the same as by asking for every argument", ROUNDS);
	ok(same > 100, "%zu of them mean the same", same);
}

/* ---- whole policies ------------------------------------------------------------ */

static struct policy *load(const char *text)
{
	struct policy *p = help_load(text);

	if (!p)
		printf("# %s: %s\n", help_err.what, help_err.why);
	return p;
}

static bool same_text(const char *x, const char *y, char **ret)
{
	_cleanup_policy_ struct policy *a = load(x), *b = load(y);
	char *text = NULL;
	bool same = false;

	if (!a || !b || workbench_diff(a, b, false, &text, &same, &help_err) < 0)
		return false;
	if (ret)
		*ret = text;
	else
		free(text);
	return same;
}

static void test_same(void)
{
	ok(same_text("{}", "{\"name\":\"other\",\"description\":\"d\",\"comment\":\"c\"}", NULL), "names and comments are no difference");
	ok(same_text("{\"syscalls\":{\"allow\":[\"kill\",\"fork\"]}}", "{\"syscalls\":{\"allow\":[\"fork\",\"kill\",\"fork\"]}}", NULL),
	   "nor is the order of names");
	ok(same_text("{\"syscalls\":{\"allow\":[\"@threads\"]}}",
		     "{\"syscalls\":{\"rules\":[{\"name\":\"clone\",\"args\":[{\"index\":0,\"op\":\"&==\",\"mask\":\"CLONE_THREAD|CLONE_VM\","
		     "\"value\":\"CLONE_THREAD|CLONE_VM\"}],\"action\":\"allow\"}],\"allow\":[\"sched_yield\",\"sched_getaffinity\","
		     "\"sched_getparam\",\"sched_getscheduler\",\"sched_get_priority_min\",\"sched_get_priority_max\",\"futex_waitv\"]}}",
		     NULL),
	   "nor a group written out");
	ok(same_text("{\"syscalls\":{\"rules\":[{\"name\":\"kill\",\"args\":[{\"index\":1,\"op\":\"<=\",\"value\":4}],\"action\":\"allow\"}]}}",
		     "{\"syscalls\":{\"rules\":[{\"name\":\"kill\",\"args\":[{\"index\":1,\"op\":\"<\",\"value\":5}],\"action\":\"allow\"}]}}",
		     NULL),
	   "nor another way to say a condition");
	ok(same_text("{\"limits\":{\"memory\":\"1G\",\"wall\":60}}", "{\"limits\":{\"memory\":1073741824,\"wall\":\"1m\"}}", NULL),
	   "nor another way to write a number");
	ok(same_text("{\"files\":{\"read\":[\"/a\",\"/b\"]}}", "{\"files\":{\"read\":[\"/b\",\"/a:/a\"]}}", NULL), "nor the order of folders");
	ok(same_text("{\"syscalls\":{\"allow\":[\"ptrace\"]}}", "{}", NULL), "nor a call that no policy can allow");
}

/* `from` to `to`: the text has the words. */
static void told(const char *from, const char *to, const char *head, const char *words)
{
	_cleanup_free_ char *text = NULL;
	bool same = same_text(from, to, &text);

	ok(!same && text && strstr(text, head) && strstr(strstr(text, head), words), "%s %s", head, words);
	if (text && !strstr(text, words))
		printf("# %s\n", text);
}

static void test_told(void)
{
	const char *more = "could newly", *less = "no longer", *other = "otherwise";

	told("{}", "{\"syscalls\":{\"allow\":[\"fork\"]}}", more, "fork");
	told("{\"syscalls\":{\"allow\":[\"fork\"]}}", "{}", less, "fork");
	told("{}", "{\"syscalls\":{\"rules\":[{\"name\":\"kill\",\"args\":[{\"index\":1,\"op\":\"==\",\"value\":\"SIGTERM\"}],"
	     "\"action\":\"allow\"}]}}", more, "kill, where argument 1 is SIGTERM");
	told("{\"syscalls\":{\"allow\":[\"kill\"]}}", "{\"syscalls\":{\"allow\":[\"kill\"],\"rules\":[{\"name\":\"kill\",\"args\":"
	     "[{\"index\":1,\"op\":\"==\",\"value\":\"SIGKILL\"}],\"action\":\"deny\"}]}}", less, "kill, where argument 1 is SIGKILL");
	told("{}", "{\"syscalls\":{\"default\":\"EACCES\"}}", other, "EACCES instead of EPERM");
	told("{}", "{\"network\":{\"mode\":\"host\"}}", more, "the host's own network instead of no network");
	told("{}", "{\"files\":{\"write\":[\"/srv/x:/x\"]}}", more, "read and change the host's /srv/x, at /x");
	told("{\"files\":{\"read\":[\"/srv/x:/x\"]}}", "{\"files\":{\"write\":[\"/srv/x:/x\"]}}", more, "change the host's /srv/x, at /x");
	told("{\"env\":{\"pass\":[\"TOKEN\"]}}", "{}", less, "see the caller's variable TOKEN");
	told("{}", "{\"limits\":{\"memory\":\"none\"}}", more, "limits.memory: no limit instead of 512M");
	told("{\"limits\":{\"cpus\":\"none\"}}", "{\"limits\":{\"cpus\":1.5}}", less, "limits.cpus: 1.5 instead of no limit");
	told("{}", "{\"landlock\":\"off\"}", more, "no Landlock behind the mounts");
	told("{}", "{\"files\":{\"exec_from_writable\":true}}", more, "execute files that it has written");
}

/* Each setting that can be changed by itself makes a difference. */
static void test_settings(void)
{
	static const char *const values[] = { "77M", "7", "77", "landlock", "7s", "false", "true", "python2", "loopback", "cgroup", "require", "best-effort",
					      "EACCES", "elsewhere", "/srv/seven", "SEVEN=7", "kill", "/srv/seven:/seven" };

	for (size_t i = 0; i < policy_n_fields; i++) {
		const struct field *f = &policy_fields[i];
		bool seen = false, changes = false;

		if (f->type == T_SECTION || f->type == T_OBJECTS || (f->flags & (F_LATER | F_OWN)) || strchr(f->path, '['))
			continue;
		for (size_t k = 0; k < ARRAY_LEN(values) && !changes; k++) {
			const struct policy_set set = { .path = f->path, .value = values[k] };
			_cleanup_policy_ struct policy *a = NULL, *b = NULL;
			_cleanup_free_ char *text = NULL;
			bool same = true;

			if (policy_load("python", NULL, 0, &a, NULL) < 0 || policy_load("python", &set, 1, &b, NULL) < 0 ||
			    strcmp(a->sha256, b->sha256) == 0)
				continue;
			seen = true;
			changes = workbench_diff(a, b, false, &text, &same, NULL) == 0 && !same;
		}
		/* What is allowed already is allowed again, and denied again: told above. */
		if (strcmp(f->path, "syscalls.allow") == 0)
			continue;
		ok(seen && changes, "%s makes a difference", f->path);
	}
}

static void test_json(void)
{
	_cleanup_policy_ struct policy *a = load("{}"), *b = load("{\"syscalls\":{\"allow\":[\"fork\"]}}");
	_cleanup_free_ char *text = NULL;
	_cleanup_json_ json_t *doc = NULL;
	bool same = true;

	ok(workbench_diff(a, b, true, &text, &same, &help_err) == 0 && !same, "as JSON");
	ok(base_json_parse(text, strlen(text), "diff", &doc, NULL) == 0, "which is strict JSON");
	is_str("fork", json_string_value(json_object_get(json_array_get(json_object_get(doc, "more"), 0), "what")), "with the call");
	is_int(0, json_array_size(json_object_get(doc, "less")), "and nothing else");
}

int main(void)
{
	help_begin();
	test_random();
	test_same();
	test_told();
	test_settings();
	test_json();
	return help_end();
}
