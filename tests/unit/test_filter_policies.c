/*
 * test_filter_policies.c - what the shipped policies allow, by simulation
 *
 * Runs as: any user
 * Trusts: tests/filter/policies.tests
 * Never: loads a filter
 */
#include <sys/syscall.h>

#include "filter/internal.h"
#include "workbench/workbench.h"
#include "tap.h"
#include "../filter/sim.h"

#define STRICT_MAX 75	/* calls that python-strict may allow */
#define PYTHON_MAX 190	/* and python */
#define NUMBERS 600	/* call numbers tried, well past the newest */
#define TABLE "tests/filter/policies.tests"

static const char *const nets[] = { "none", "loopback", "host" };

/* A shipped policy under one network mode, compiled without a listener, with one, and for a trace. */
struct pair {
	const char *name, *net;
	struct policy *p;
	struct filter_prog direct, notify, all;
	size_t asked, wrong;
};

static struct pair pairs[16];
static size_t n_pairs;

static struct policy *load(const char *name, const char *net)
{
	const struct policy_set sets[] = { { .path = "network.mode", .value = net } };
	struct sj_err err = { 0 };
	struct policy *p = NULL;

	if (policy_load(name, sets, ARRAY_LEN(sets), &p, &err) < 0) {
		printf("# %s: %s; %s\n", err.id, err.what, err.why);
		exit(1);
	}
	return p;
}

static void compile(const char *name, const char *net)
{
	struct pair *pair = &pairs[n_pairs++];
	struct sj_err err = { 0 };

	if (n_pairs > ARRAY_LEN(pairs))
		abort();
	*pair = (struct pair){ .name = name, .net = net, .p = load(name, net) };
	if (ok(filter_compile(pair->p, FILTER_NOTIFY_NONE, &pair->direct, &err) == 0 &&
	       filter_compile(pair->p, FILTER_NOTIFY_DENIED, &pair->notify, &err) == 0 &&
	       filter_compile(pair->p, FILTER_NOTIFY_ALL, &pair->all, &err) == 0, "%s, network %s: compiles", name, net))
		return;
	printf("# %s: %s; %s\n", err.id, err.what, err.why);
	exit(1);
}

/* ---- program and decision agree ---------------------------------------- */

static void ask(struct pair *pair, int nr, const uint64_t args[6])
{
	uint32_t direct = sim_run(&pair->direct, nr, args), notify = sim_run(&pair->notify, nr, args);
	uint32_t all = sim_run(&pair->all, nr, args);
	struct filter_verdict v;
	char text[200];

	filter_decide(pair->p, nr, args, &v);
	pair->asked++;
	if (direct == sim_verdict(&v, false) && notify == sim_verdict(&v, true) && all == sim_verdict_all(&v, nr))
		return;
	filter_describe(nr, args, text, sizeof(text));
	if (pair->wrong++ < 10)
		printf("# %s: program %#x, %#x and %#x, decision %#x\n", text, direct, notify, all, sim_verdict(&v, false));
}

/* Every number with arguments that rules are likely to test. */
static void ask_numbers(struct pair *pair)
{
	static const uint64_t values[] = { 0, 1, 2, 5, 10, 16, 0x11, 0x5401, 0x5412, 0x100005412, 0x3d0f00, 0x10000011,
					   0xffffffff, 0x100000000, UINT64_MAX };

	for (int nr = -1; nr <= NUMBERS; nr++)
		for (size_t i = 0; i < ARRAY_LEN(values); i++)
			for (size_t j = 0; j < 3; j++) {
				uint64_t args[6] = { 0 };

				args[j] = values[i];
				ask(pair, nr, args);
			}
}

/* For each rule: values around those it tests, all combinations. */
static void ask_rule(struct pair *pair, const struct policy_rule *rule)
{
	enum { SHIFTS = 6 };
	const int nr = filter_call_number(rule->name);
	size_t n = 1;

	for (size_t i = 0; i < rule->n_args; i++)
		n *= SHIFTS;
	for (size_t at = 0; nr >= 0 && at < n; at++) {
		uint64_t args[6] = { 0 };
		size_t rest = at;

		for (size_t i = 0; i < rule->n_args; i++) {
			const struct policy_arg *a = &rule->args[i];
			const uint64_t shifted[SHIFTS] = { a->value, a->value - 1, a->value + 1, a->value | 1ull << 32,
							   a->value ^ a->mask, a->value | ~a->mask };

			args[a->index] = shifted[rest % SHIFTS];
			rest /= SHIFTS;
		}
		ask(pair, nr, args);
	}
}

static void test_agreement(struct pair *pair)
{
	ok(sim_valid(&pair->direct) && sim_valid(&pair->notify) && sim_valid(&pair->all), "%s, network %s: the kernel would load it (%u instructions)",
	   pair->name, pair->net, pair->direct.len);
	ask_numbers(pair);
	for (size_t i = 0; i < pair->p->syscalls.n_rules; i++)
		ask_rule(pair, &pair->p->syscalls.rules[i]);
	ok(pair->asked > 20000 && pair->wrong == 0, "%s, network %s: program and decision agree on %zu calls", pair->name,
	   pair->net, pair->asked);
}

/* ---- counts --------------------------------------------------------------- */

static void test_counts(void)
{
	for (size_t i = 0; policy_shipped_name(i); i++) {
		const char *name = policy_shipped_name(i);
		_cleanup_policy_ struct policy *p = load(name, "none");
		size_t n = policy_count_allowed(p);

		printf("# %s allows %zu calls\n", name, n);
		if (strcmp(name, "python-strict") == 0)
			ok(n <= STRICT_MAX, "python-strict allows at most %d calls", STRICT_MAX);
		if (strcmp(name, "python") == 0)
			ok(n <= PYTHON_MAX, "python allows at most %d calls", PYTHON_MAX);
	}
}

/* ---- the table -------------------------------------------------------------- */

/* word is in the list "a,b,c", or the list is "*". */
static bool listed(const char *list, const char *word)
{
	const size_t len = strlen(word);

	if (strcmp(list, "*") == 0)
		return true;
	for (const char *at = list; *at; at += *at == ',') {
		size_t n = strcspn(at, ",");

		if (n == len && memcmp(at, word, n) == 0)
			return true;
		at += n;
	}
	return false;
}

static uint32_t answer_of(const struct workbench_case *c)
{
	const struct filter_verdict v = { .action = c->action, .error = c->error };

	return sim_verdict(&v, false);
}

struct question {
	char *policies, *nets;
	struct workbench_case c;
};

/* Two columns in front of a case as `smoljail policy test` takes it. */
static bool parse_line(char *line, struct question *ret)
{
	char *save;

	line[strcspn(line, "\n")] = '\0';
	ret->policies = strtok_r(line, " \t", &save);
	ret->nets = strtok_r(NULL, " \t", &save);
	return ret->nets && workbench_case_parse(save, &ret->c, NULL) == 0;
}

static void play(const struct question *q, int line)
{
	size_t asked = 0, wrong = 0;
	char text[200];

	filter_describe(q->c.nr, q->c.args, text, sizeof(text));
	for (size_t i = 0; i < n_pairs; i++) {
		uint32_t got = sim_run(&pairs[i].direct, q->c.nr, q->c.args);

		if (!listed(q->policies, pairs[i].name) || !listed(q->nets, pairs[i].net))
			continue;
		asked++;
		if (got == answer_of(&q->c))
			continue;
		wrong++;
		printf("# %s, network %s: got %#x\n", pairs[i].name, pairs[i].net, got);
	}
	ok(asked > 0 && wrong == 0, "line %d: %s is as wanted", line, text);
}

static void test_table(void)
{
	_cleanup_file_ FILE *f = fopen(TABLE, "re");
	char line[300];
	struct question q;

	if (!ok(f != NULL, "%s opens", TABLE))
		return;
	for (int n = 1; fgets(line, sizeof(line), f); n++) {
		if (line[0] == '#' || line[0] == '\n')
			continue;
		if (parse_line(line, &q))
			play(&q, n);
		else
			ok(false, "line %d is well-formed", n);
	}
}

/* ---- what no policy can change ------------------------------------------------ */

static void test_never(void)
{
	static const char *const calls[] = { "clone3", "unshare", "ptrace", "mount", "bpf", "io_uring_setup", "keyctl",
					     "open_by_handle_at", "kexec_load", "setns" };
	static const uint64_t none[6], tiocsti[6] = { 0, 0x5412 }, newuser[6] = { 0x10000011 };
	struct policy_set sets[ARRAY_LEN(calls) + 3];
	struct sj_err err = { 0 };
	struct filter_verdict v;
	struct policy *p = NULL;
	size_t n = 0;

	for (; n < ARRAY_LEN(calls); n++)
		sets[n] = (struct policy_set){ .path = "syscalls.allow", .value = calls[n] };
	sets[n++] = (struct policy_set){ .path = "syscalls.allow", .value = "ioctl" };
	sets[n++] = (struct policy_set){ .path = "syscalls.allow", .value = "clone" };
	if (!ok(policy_load("python", sets, n, &p, &err) == 0, "a policy that asks for everything loads"))
		printf("# %s: %s; %s\n", err.id, err.what, err.why);
	for (size_t i = 0; p && i < ARRAY_LEN(calls); i++) {
		filter_decide(p, filter_call_number(calls[i]), none, &v);
		ok(v.action != POLICY_ALLOW && v.rule && strcmp(v.rule->origin, "@never") == 0 && v.rule->reason,
		   "%s stays refused by @never, with a reason", calls[i]);
	}
	if (p) {
		filter_decide(p, SYS_ioctl, tiocsti, &v);
		ok(v.action == POLICY_DENY, "so does ioctl(TIOCSTI)");
		filter_decide(p, SYS_clone, newuser, &v);
		ok(v.action == POLICY_DENY, "and clone(CLONE_NEWUSER)");
	}
	policy_free(p);
}

/* An allow-list: whatever family is invented next is refused. */
static void test_families(void)
{
	enum { UNIX = 1, INET = 2, INET6 = 10, NETLINK = 16, LAST = 64 };
	size_t wrong = 0;

	for (size_t i = 0; i < n_pairs; i++)
		for (uint64_t family = 0; family <= LAST; family++) {
			const uint64_t args[6] = { family, 1 };
			bool net = strcmp(pairs[i].net, "none") != 0;
			bool local = net || strcmp(pairs[i].name, "python-strict") != 0;
			bool wanted = family == UNIX ? local : net && (family == INET || family == INET6 || family == NETLINK);

			wrong += wanted != (sim_run(&pairs[i].direct, SYS_socket, args) == SECCOMP_RET_ALLOW);
			wrong += (family == UNIX && local) !=
				 (sim_run(&pairs[i].direct, SYS_socketpair, args) == SECCOMP_RET_ALLOW);
		}
	is_int(0, wrong, "of the socket families 0 to %d only the listed ones work", LAST);
}

static void test_explained(void)
{
	static const uint64_t inet[6] = { 2, 1 };
	_cleanup_policy_ struct policy *p = load("python", "none");
	struct filter_verdict v;

	filter_decide(p, SYS_socket, inet, &v);
	ok(v.action == POLICY_DENY && v.error == ENETUNREACH && v.rule, "no network: an internet socket is unreachable");
	is_str("network.mode=none", v.rule ? v.rule->origin : NULL, "by the network's rule");
	has_str("--net loopback", v.rule ? v.rule->allow_with : NULL, "with the flag that would allow it");
}

/* What a trace does not see it need not see: every policy allows it, whatever the arguments. */
static void test_quiet(void)
{
	const char *name;
	size_t n = 0;

	for (; (name = filter_quiet_name(n)); n++) {
		int nr = filter_call_number(name);
		size_t sure = 0;

		for (size_t i = 0; i < n_pairs; i++) {
			const struct policy_syscalls *s = &pairs[i].p->syscalls;

			for (size_t k = 0; k < s->n_rules; k++)
				if (strcmp(s->rules[k].name, name) == 0) {
					sure += s->rules[k].action == POLICY_ALLOW && s->rules[k].n_args == 0 &&
						strcmp(s->rules[k].origin, "@floor") == 0;
					break;
				}
		}
		ok(nr >= 0 && filter_quiet(nr) && sure == n_pairs, "%s is quiet, and of the floor without conditions", name);
	}
	ok(!filter_quiet(filter_call_number("openat")) && !filter_quiet(-1) && !filter_quiet(NUMBERS), "others are not");
}

static void test_normal_form(void)
{
	_cleanup_policy_ struct policy *p = load("python", "none");
	uint64_t open_args[6] = { 3, 0x7000, 2, 0600, 5, 6 };
	uint64_t sock[6] = { 1ull << 32 | 2, 1, 0, 99 }, limit[6] = { 0, 7, 0x7ffc0000, 0x7ffd0000 };

	filter_normalize(p, filter_call_number("openat"), open_args);
	ok(!open_args[0] && !open_args[1] && !open_args[2] && !open_args[5], "no rule looks at openat: no argument is left");
	filter_normalize(p, filter_call_number("socket"), sock);
	ok(sock[0] == 2 && sock[3] == 0, "of socket the family is left, in the bits that the kernel reads");
	filter_normalize(p, filter_call_number("prlimit64"), limit);
	ok(limit[0] == 0 && limit[1] == 7 && limit[2] == 1 && limit[3] == 0, "of a pointer only whether it is one");
	ok(filter_arg_constant(SYS_socket, 0) && filter_arg_constant(SYS_clone, 0) && !filter_arg_constant(SYS_kill, 0) &&
	   !filter_arg_constant(SYS_openat, 1) && !filter_arg_constant(SYS_openat, 9), "which arguments are constants");
}

int main(void)
{
	for (size_t i = 0; policy_shipped_name(i); i++)
		for (size_t j = 0; j < ARRAY_LEN(nets); j++)
			compile(policy_shipped_name(i), nets[j]);
	for (size_t i = 0; i < n_pairs; i++)
		test_agreement(&pairs[i]);
	test_counts();
	test_table();
	test_never();
	test_families();
	test_explained();
	test_quiet();
	test_normal_form();
	for (size_t i = 0; i < n_pairs; i++) {
		filter_prog_free(&pairs[i].direct);
		filter_prog_free(&pairs[i].notify);
		filter_prog_free(&pairs[i].all);
		policy_free(pairs[i].p);
	}
	return done();
}
