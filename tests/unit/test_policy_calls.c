/* test_policy_calls.c - the system call part: groups, exceptions, rules, constants, what is printed */
#include "policy_help.h"

static const struct policy_rule *find(const struct policy *p, const char *name, size_t nth)
{
	for (size_t i = 0; p && i < p->syscalls.n_rules; i++)
		if (strcmp(p->syscalls.rules[i].name, name) == 0 && nth-- == 0)
			return &p->syscalls.rules[i];
	return NULL;
}

static void first_is(const char *doc, const char *name, int action, const char *origin)
{
	struct policy *p = help_load(doc);
	const struct policy_rule *rule = find(p, name, 0);

	if (!ok(p, "loads: %.60s", doc))
		printf("# %s: %s (%s)\n", help_err.id, help_err.what, help_err.why);
	if (action < 0) {
		ok(!rule, "%s is not named", name);
	} else if (ok(rule, "%s is named", name)) {
		is_int(action, rule->action, "%s", name);
		is_str(origin, rule->origin, "origin of %s", name);
	}
	policy_free(p);
}

#define CALLS(lists) "{\"syscalls\":{" lists "}}"

static void test_order(void)
{
	first_is(CALLS("\"allow\":[\"ptrace\"]"), "ptrace", POLICY_DENY, "@never");
	first_is(CALLS("\"rules\":[{\"name\":\"ptrace\",\"action\":\"allow\"}]"), "ptrace", POLICY_DENY, "@never");
	first_is(CALLS("\"allow\":[\"clone3\"]"), "clone3", POLICY_ENOSYS, "@never");
	first_is(CALLS("\"allow\":[\"listen\"],\"deny\":[\"listen\"]"), "listen", POLICY_DENY, "syscalls.deny");
	first_is(CALLS("\"allow\":[\"@sockets\"],\"deny\":[\"@sockets\"]"), "listen", POLICY_DENY, "syscalls.deny");
	first_is(CALLS("\"deny\":[\"listen\"],\"rules\":[{\"name\":\"listen\",\"action\":\"allow\"}]"), "listen", POLICY_ALLOW,
		 "syscalls.rules[0]");
	first_is(CALLS("\"allow\":[\"socket\"]"), "socket", POLICY_DENY, "network.mode=none");
	first_is("{\"network\":{\"mode\":\"loopback\"}}", "socket", POLICY_DENY, "network.mode=loopback");
	first_is("{\"network\":{\"mode\":\"host\"}}", "listen", POLICY_ALLOW, "network.mode=host");
	first_is("{}", "read", POLICY_ALLOW, "@floor");
	first_is(CALLS("\"allow\":[\"read\"]"), "read", POLICY_ALLOW, "@floor");
	first_is("{}", "listen", -1, NULL);
}

static void test_take_out(void)
{
	first_is(CALLS("\"allow\":[\"@sockets\",\"!listen\"]"), "listen", -1, NULL);
	first_is(CALLS("\"allow\":[\"@sockets\",\"!listen\",\"listen\"]"), "listen", POLICY_ALLOW, "syscalls.allow");
	first_is(CALLS("\"allow\":[\"@sockets\",\"!listen\",\"@sockets\"]"), "listen", POLICY_ALLOW, "@sockets");
	first_is(CALLS("\"allow\":[\"@python\",\"!@sockets\"]"), "listen", -1, NULL);
	first_is(CALLS("\"allow\":[\"@python\",\"!@sockets\"]"), "rename", POLICY_ALLOW, "@files");
	first_is(CALLS("\"deny\":[\"@sockets\",\"!listen\"]"), "listen", -1, NULL);
	help_write("base.json", CALLS("\"allow\":[\"@sockets\"],\"deny\":[\"listen\"]"));
	first_is("{\"extends\":\"base.json\",\"syscalls\":{\"deny\":[\"!listen\"]}}", "listen", POLICY_ALLOW, "@sockets");
	first_is("{\"extends\":\"base.json\",\"syscalls\":{\"allow\":[\"!connect\"]}}", "connect", -1, NULL);
	refused(CALLS("\"allow\":[\"@sockets\",\"!lisen\"]"), "E_POLICY_REMOVE", "did you mean \"listen\"?");
	refused(CALLS("\"allow\":[\"!listen\",\"@sockets\"]"), "E_POLICY_REMOVE", "listen");
	refused(CALLS("\"allow\":[\"!@sockets\"]"), "E_POLICY_REMOVE", "@sockets");
}

static void test_floor(void)
{
	refused(CALLS("\"deny\":[\"read\"]"), "E_POLICY_VALUE", "floor");
	refused(CALLS("\"allow\":[\"!read\"]"), "E_POLICY_VALUE", "floor");
	refused(CALLS("\"rules\":[{\"name\":\"read\",\"action\":\"kill\"}]"), "E_POLICY_VALUE", "syscalls.rules[0]");
	refused(CALLS("\"allow\":[\"@floor\"]"), "E_POLICY_VALUE", "by itself");
	refused(CALLS("\"deny\":[\"@never\"]"), "E_POLICY_VALUE", "by itself");
	refused(CALLS("\"allow\":[\"!@net-none\"]"), "E_POLICY_VALUE", "by itself");
	/* A group in "deny" may touch the floor; the floor stays. */
	first_is(CALLS("\"deny\":[\"@files-basic\",\"@identity\"]"), "getpid", POLICY_ALLOW, "@floor");
}

static void test_names(void)
{
	refused(CALLS("\"allow\":[\"@sokets\"]"), "E_POLICY_GROUP", "did you mean \"@sockets\"?");
	refused(CALLS("\"allow\":[\"Read\"]"), "E_POLICY_VALUE", "lower-case");
	refused(CALLS("\"allow\":[\"\"]"), "E_POLICY_VALUE", "empty");
	refused(CALLS("\"allow\":[\"!\"]"), "E_POLICY_VALUE", "lower-case");
	refused(CALLS("\"allow\":[\"@\"]"), "E_POLICY_VALUE", "@");
	refused(CALLS("\"allow\":[\"!!read\"]"), "E_POLICY_VALUE", "lower-case");
	refused(CALLS("\"allow\":[\"read(2)\"]"), "E_POLICY_VALUE", "lower-case");
}

#define RULE(rest) CALLS("\"rules\":[{\"name\":\"socket\",\"action\":\"allow\"" rest "}]")
#define ARG(rest) RULE(",\"args\":[{" rest "}]")

static void test_rules(void)
{
	struct policy *p = help_load(CALLS("\"rules\":["
		"{\"name\":\"socket\",\"action\":\"deny\",\"errno\":\"EACCES\",\"reason\":\"because\",\"args\":["
		"{\"index\":0,\"op\":\"==\",\"value\":\"AF_UNIX\"},{\"index\":1,\"op\":\"&==\",\"mask\":\"0xf\",\"value\":\"SOCK_STREAM\"},"
		"{\"index\":2,\"op\":\"<=\",\"value\":17}]},"
		"{\"name\":\"socket\",\"action\":\"kill\",\"args\":[{\"index\":5,\"op\":\"!=\",\"value\":\"SOCK_CLOEXEC|SOCK_NONBLOCK|0x1\"}]}]"));
	const struct policy_rule *rule = find(p, "socket", 0);

	if (ok(rule, "a rule with arguments")) {
		is_int(POLICY_DENY, rule->action, "denies");
		is_int(EACCES, rule->error, "with its error");
		is_str("because", rule->reason, "and its reason");
		is_int(3, rule->n_args, "three conditions");
		is_int(1, rule->args[0].value, "AF_UNIX");
		is_int(POLICY_MASKED_EQ, rule->args[1].op, "masked");
		is_int(0xf, rule->args[1].mask, "mask");
		is_int(17, rule->args[2].value, "a plain number");
		rule = find(p, "socket", 1);
		is_int(POLICY_KILL, rule ? rule->action : 99, "the second");
		is_int(02000000 | 04000 | 1, rule ? rule->args[0].value : 0, "joined constants");
	}
	policy_free(p);

	help_write("base.json", CALLS("\"rules\":[{\"name\":\"listen\",\"action\":\"deny\"}]"));
	first_is("{\"extends\":\"base.json\",\"syscalls\":{\"rules\":[{\"name\":\"listen\",\"action\":\"allow\"}]}}", "listen",
		 POLICY_ALLOW, "syscalls.rules[0]");

	refused(CALLS("\"rules\":[1]"), "E_POLICY_TYPE", "syscalls.rules[0]");
	refused(CALLS("\"rules\":[{\"action\":\"allow\"}]"), "E_POLICY_MISSING", "\"name\"");
	refused(CALLS("\"rules\":[{\"name\":\"socket\"}]"), "E_POLICY_MISSING", "\"action\"");
	refused(CALLS("\"rules\":[{\"name\":\"socket\",\"action\":\"alow\"}]"), "E_POLICY_WORD", "did you mean \"allow\"?");
	refused(CALLS("\"rules\":[{\"name\":\"@files\",\"action\":\"allow\"}]"), "E_POLICY_VALUE", "lower-case");
	refused(RULE(",\"errno\":\"EPERM\""), "E_POLICY_VALUE", "only with the action");
	refused(RULE(",\"errno\":\"EPREM\""), "E_POLICY_WORD", "EPERM");
	refused(RULE(",\"args\":{}"), "E_POLICY_TYPE", "args");
	refused(RULE(",\"args\":[7]"), "E_POLICY_TYPE", "args[0]");
	refused(RULE(",\"args\":[{},{},{},{},{},{},{}]"), "E_POLICY_RANGE", "at most 6");
	refused(ARG("\"op\":\"==\",\"value\":1"), "E_POLICY_MISSING", "\"index\"");
	refused(ARG("\"index\":0,\"value\":1"), "E_POLICY_MISSING", "\"op\"");
	refused(ARG("\"index\":0,\"op\":\"==\""), "E_POLICY_MISSING", "\"value\"");
	refused(ARG("\"index\":6,\"op\":\"==\",\"value\":1"), "E_POLICY_RANGE", "0 to 5");
	refused(ARG("\"index\":0,\"op\":\"=\",\"value\":1"), "E_POLICY_WORD", "op");
	refused(ARG("\"index\":0,\"op\":\"==\",\"value\":-1"), "E_POLICY_VALUE", "unsigned");
	refused(ARG("\"index\":0,\"op\":\"==\",\"value\":1.5"), "E_POLICY_TYPE", "value");
	refused(ARG("\"index\":0,\"op\":\"==\",\"value\":\"AF_UNIXX\""), "E_POLICY_WORD", "did you mean \"AF_UNIX\"?");
	refused(ARG("\"index\":0,\"op\":\"==\",\"value\":\"AF_UNIX|\""), "E_POLICY_WORD", "AF_UNIX");
	refused(ARG("\"index\":0,\"op\":\"==\",\"value\":1,\"mask\":1"), "E_POLICY_VALUE", "mask");
	refused(ARG("\"index\":0,\"op\":\"&==\",\"value\":1"), "E_POLICY_MISSING", "\"mask\"");
	refused(ARG("\"index\":0,\"op\":\"&==\",\"value\":2,\"mask\":1"), "E_POLICY_VALUE", "never hold");
	accepted(ARG("\"index\":0,\"op\":\">\",\"value\":\"0xffffffffffffffff\",\"comment\":[\"x\"]"));
}

static void test_constants(void)
{
	const char *const *names;
	uint64_t v;
	size_t n;

	names = const_names(&n);
	for (size_t i = 0; i < n; i++)
		ok(policy_parse_const(names[i], strlen(names[i]), &v) && (i == 0 || strcmp(names[i - 1], names[i]) < 0),
		   "%s is found and in order", names[i]);
	ok(!policy_parse_const("", 0, &v), "nothing is no number");
	ok(!policy_parse_const("0x", 2, &v), "nor a bare 0x");
	ok(!policy_parse_const("1||2", 4, &v), "nor an empty part");
	ok(!policy_parse_const("18446744073709551616", 20, &v), "nor what needs 65 bits");
	ok(policy_parse_const("0XfF|256", 8, &v) && v == 511, "hex and decimal join");
	names = errno_names(&n);
	for (size_t i = 0; i < n; i++)
		is_str(names[i], policy_errno_name(policy_errno(names[i])), "%s there and back", names[i]);
}

/* The quick reader of the shipped groups against a strict one. */
static void compare_rules(struct policy_own *own, const struct group *g, json_t *rules)
{
	struct walk w = { .own = own, .doc = "groups", .err = &help_err };
	struct span pos = g->rules;
	struct policy_rule quick;
	json_t *entry;
	size_t i;

	json_array_foreach(rules, i, entry) {
		_cleanup_json_ json_t *bare = json_copy(entry);
		struct policy_rule strict = { 0 };
		bool same;

		/* Not for policy files, so the strict reader does not know it. */
		json_object_del(bare, "allow_with");
		same = groups_next_rule(own, &pos, &quick) == 1 && rules_read(&w, NULL, bare, &strict) == 0;
		same = same && strcmp(quick.name, strict.name) == 0 && quick.action == strict.action &&
		       quick.error == strict.error && quick.n_args == strict.n_args && !quick.reason == !strict.reason &&
		       (!quick.reason || strcmp(quick.reason, strict.reason) == 0) &&
		       memcmp(quick.args, strict.args, sizeof(quick.args)) == 0;
		if (!ok(same, "%.*s: rule %zu", (int)g->name.len, g->name.s, i))
			printf("# %s %s\n", help_err.what, help_err.why);
	}
	is_int(0, groups_next_rule(own, &pos, &quick), "no further rule");
}

static void compare_names(const struct group *g, json_t *names)
{
	struct span pos = g->allow, name;
	json_t *entry;
	size_t i;

	json_array_foreach(names, i, entry)
		if (groups_next_name(&pos, &name) != 1 || name.len != json_string_length(entry) ||
		    memcmp(name.s, json_string_value(entry), name.len) != 0)
			break;
	is_int(json_array_size(names), i, "%.*s: names", (int)g->name.len, g->name.s);
	is_int(0, groups_next_name(&pos, &name), "no further name");
}

static void test_groups(void)
{
	static const char *const needed[] = { "@never", "@floor", "@privileged", "@net-none", "@net-loopback", "@net-host" };
	struct policy *p = help_load("{}");
	struct groups *g = calloc(1, sizeof(*g));
	json_t *doc = NULL, *body;
	const char *text, *name;
	size_t len, n = 0;

	text = policy_shipped_text("groups", &len);
	is_int(0, base_json_parse(text, len, "groups", &doc, &help_err), "the groups are strict JSON");
	is_int(0, groups_open(g), "and the quick reader takes them");
	json_object_foreach(doc, name, body) {
		const struct group *found = groups_find(g, name, strlen(name));

		n++;
		if (!ok(found && found->help.len > 8, "%s is found and explained", name))
			continue;
		compare_names(found, json_object_get(body, "allow"));
		compare_rules((struct policy_own *)p, found, json_object_get(body, "rules"));
	}
	is_int(n, g->n, "no group more");
	for (size_t i = 0; i < ARRAY_LEN(needed); i++)
		ok(groups_find(g, needed[i], strlen(needed[i])), "%s exists", needed[i]);
	json_decref(doc);
	free(g);
	policy_free(p);
}

static void test_one_group(void)
{
	struct policy *p = NULL;
	bool all = true;

	is_int(0, policy_of_group("@privileged", &p, &help_err), "the rules of one group can be had");
	for (size_t i = 0; p && i < p->syscalls.n_rules; i++)
		all = all && p->syscalls.rules[i].action == POLICY_DENY && p->syscalls.rules[i].reason &&
		      strcmp(p->syscalls.rules[i].origin, "@privileged") == 0;
	ok(p && p->syscalls.n_rules > 10 && all, "they are that group's only, and each says why");
	policy_free(p);
	ok(policy_of_group("@nothing", &p, NULL) < 0, "and of no group there are none");
}

static void test_print(void)
{
	struct policy *p = help_load(CALLS("\"allow\":[\"@sockets\",\"!listen\"],\"default\":\"EACCES\""));
	char *text = p ? policy_print_expanded(p) : NULL, last[64];

	if (ok(text, "a flat list")) {
		ok(!strstr(text, "\nlisten "), "without what was taken out");
		has_str("\nconnect                  allow             @sockets\n", text, "a call with its origin");
		has_str("any other call: EACCES", text, "the default");
		has_str("if arg1 == 0x5401", text, "a condition");
		snprintf(last, sizeof(last), "\n%zu system calls allowed\n", policy_count_allowed(p));
		ok(strlen(text) > strlen(last) && strcmp(text + strlen(text) - strlen(last), last) == 0, "the count closes it");
	}
	free(text);
	policy_free(p);
}

static void test_unreachable(void)
{
	static const char *const names[] = { "python-strict", "python", "python-data", "shell", "open" };

	for (size_t k = 0; k < ARRAY_LEN(names); k++) {
		struct policy *p = help_load_sets(names[k], NULL, 0);
		size_t dead = 0;

		for (size_t i = 0; p && i < p->syscalls.n_rules; i++)
			for (size_t j = 0; j < i; j++)
				dead += p->syscalls.rules[j].n_args == 0 &&
					strcmp(p->syscalls.rules[i].name, p->syscalls.rules[j].name) == 0;
		is_int(0, dead, "%s: every rule can decide", names[k]);
		policy_free(p);
	}
}

static void test_too_many(void)
{
	char *text = malloc(1 << 17), *end = text;

	end += sprintf(end, "{\"syscalls\":{\"allow\":[");
	for (int i = 0; i < POLICY_LIST_MAX + 1; i++)
		end += sprintf(end, "%s\"call_%d\"", i ? "," : "", i);
	strcpy(end, "]}}");
	refused(text, "E_POLICY_RANGE", "at most 512 entries");
	end = text + sprintf(text, "{\"syscalls\":{\"rules\":[");
	for (int i = 0; i < POLICY_RULES_MAX + 1; i++)
		end += sprintf(end, "%s{\"name\":\"a\",\"action\":\"deny\"}", i ? "," : "");
	strcpy(end, "]}}");
	refused(text, "E_POLICY_RANGE", "at most 512 entries");
	end = text + sprintf(text, "{\"syscalls\":{\"allow\":[\"@open\"");
	for (int i = 0; i < POLICY_LIST_MAX - 1; i++)
		end += sprintf(end, ",\"call_%d\"", i);
	end += sprintf(end, "],\"rules\":[{\"name\":\"a\",\"action\":\"deny\"}");
	for (int i = 0; i < 300; i++)
		end += sprintf(end, ",{\"name\":\"b%d\",\"action\":\"deny\"}", i % 10);
	strcpy(end, "]}}");
	refused(text, "E_POLICY_CALLS", "more than");
	free(text);
}

int main(void)
{
	help_begin();
	test_order();
	test_take_out();
	test_floor();
	test_names();
	test_rules();
	test_constants();
	test_groups();
	test_one_group();
	test_print();
	test_unreachable();
	test_too_many();
	return help_end();
}
