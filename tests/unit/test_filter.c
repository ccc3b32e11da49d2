/*
 * test_filter.c - hand-made rules: the compiled program against the same rules asked in C
 *
 * Runs as: any user
 * Trusts: nothing
 * Never: loads a filter
 */
#include <sys/syscall.h>

#include "filter/internal.h"
#include "tap.h"
#include "../filter/sim.h"

#define ERRNO(e) (SECCOMP_RET_ERRNO | (e))
#define ALLOW SECCOMP_RET_ALLOW

static struct policy *policy_of(struct policy_rule *rules, size_t n)
{
	static struct policy p;

	for (size_t i = 0; i < n; i++)
		if (!rules[i].origin)
			rules[i].origin = (char *)"test";
	p = (struct policy){ .syscalls = { .default_error = EPERM, .rules = rules, .n_rules = n } };
	return &p;
}
#define POLICY(...) policy_of((struct policy_rule[]){ __VA_ARGS__ }, \
			      sizeof((struct policy_rule[]){ __VA_ARGS__ }) / sizeof(struct policy_rule))

#define RULE(call, act, ...) { .name = (char *)#call, .action = POLICY_##act, \
			       .error = POLICY_##act == POLICY_DENY ? EACCES : 0, __VA_ARGS__ }
#define ONE(i, cmp, v) .n_args = 1, .args = { { .index = i, .op = POLICY_##cmp, .value = v } }
#define MASKED(i, m, v) .n_args = 1, .args = { { .index = i, .op = POLICY_MASKED_EQ, .mask = m, .value = v } }

/* The answer of the program, once it agrees with filter_decide(). */
static uint32_t answer(const struct policy *p, int nr, const uint64_t args[6], bool notify)
{
	_cleanup_filter_ struct filter_prog prog = { 0 };
	struct sj_err err = { 0 };
	struct filter_verdict v;
	uint32_t ret;

	if (filter_compile(p, notify, &prog, &err) < 0) {
		printf("# %s: %s\n", err.id, err.what);
		return SIM_BAD;
	}
	if (!sim_valid(&prog))
		return SIM_BAD;
	ret = sim_run(&prog, nr, args);
	filter_decide(p, nr, args, &v);
	return ret == sim_verdict(&v, notify) ? ret : SIM_BAD;
}

static uint32_t answer_1(const struct policy *p, int nr, unsigned int index, uint64_t value)
{
	uint64_t args[6] = { 0 };

	args[index] = value;
	return answer(p, nr, args, false);
}

static void test_numbers(void)
{
	const struct policy *p = POLICY(RULE(read, ALLOW), RULE(write, DENY), RULE(close, ENOSYS), RULE(stat, KILL),
					RULE(fchmodat2, ALLOW), RULE(mseal, DENY));
	static const uint64_t none[6];
	struct policy enosys = *p;
	struct filter_verdict v;

	is_int(ALLOW, answer(p, SYS_read, none, false), "allow");
	is_int(ERRNO(EACCES), answer(p, SYS_write, none, false), "deny gives its errno");
	is_int(SECCOMP_RET_USER_NOTIF | EACCES, answer(p, SYS_write, none, true), "or asks the listener, errno aside");
	is_int(ERRNO(ENOSYS), answer(p, SYS_close, none, true), "enosys never asks");
	is_int(SECCOMP_RET_KILL_PROCESS, answer(p, SYS_stat, none, true), "kill kills the process");
	is_int(ERRNO(EPERM), answer(p, SYS_mount, none, false), "a known call that no rule names");
	is_int(SECCOMP_RET_USER_NOTIF | EPERM, answer(p, SYS_mount, none, true), "asks the listener as well");
	is_int(ERRNO(ENOSYS), answer(p, 350, none, true), "a hole in the table");
	is_int(ERRNO(ENOSYS), answer(p, 451, none, true), "a call newer than the table");
	is_int(ERRNO(ENOSYS), answer(p, 100000, none, true), "a number far above");
	is_int(ALLOW, answer(p, 452, none, false), "a newer call that a rule allows");
	is_int(ERRNO(EACCES), answer(p, 462, none, false), "a newer call that a rule denies");
	is_int(ERRNO(ENOSYS), answer(p, -1, none, true), "-1 is no call");
	is_int(ERRNO(ENOSYS), answer(p, 0x3fffffff, none, true), "the last native number");
	filter_decide(p, SYS_mount, none, &v);
	ok(v.known && !v.rule && v.error == EPERM && v.action == POLICY_DENY, "the default has no rule and is a denial");
	filter_decide(p, 451, none, &v);
	ok(!v.known && v.action == POLICY_ENOSYS && v.error == ENOSYS, "an unknown call is no denial");
	filter_decide(p, SYS_write, none, &v);
	ok(v.rule == &p->syscalls.rules[1] && v.known, "the deciding rule is told");
	enosys.syscalls.default_error = ENOSYS;
	is_int(ERRNO(ENOSYS), answer(&enosys, SYS_mount, none, true), "a default of ENOSYS never asks");
}

#ifdef __x86_64__
static void test_foreign(void)
{
	const struct policy *p = POLICY(RULE(read, ALLOW), RULE(getpid, ALLOW));
	_cleanup_filter_ struct filter_prog prog = { 0 };
	static const uint64_t none[6];
	struct seccomp_data data = { .nr = SYS_read, .arch = AUDIT_ARCH_I386 };

	is_int(0, filter_compile(p, false, &prog, NULL), "compiles");
	is_int(SECCOMP_RET_KILL_PROCESS, sim_data(&prog, &data), "i386 is killed");
	data.arch = AUDIT_ARCH_AARCH64;
	is_int(SECCOMP_RET_KILL_PROCESS, sim_data(&prog, &data), "any other architecture is killed");
	is_int(SECCOMP_RET_KILL_PROCESS, answer(p, 0x40000000, none, false), "x32 read is killed");
	is_int(SECCOMP_RET_KILL_PROCESS, answer(p, 0x40000000 | SYS_getpid, none, false), "x32 getpid is killed");
	is_int(SECCOMP_RET_KILL_PROCESS, answer(p, 0x7fffffff, none, false), "the last positive number is killed");
	is_int(SECCOMP_RET_KILL_PROCESS, answer(p, -2, none, false), "a negative number is killed");
}
#endif

static void test_order(void)
{
	const struct policy *p;
	static const uint64_t none[6];

	p = POLICY(RULE(kill, DENY, ONE(1, EQ, 9)), RULE(kill, ALLOW));
	is_int(ERRNO(EACCES), answer_1(p, SYS_kill, 1, 9), "a part denied before the whole is allowed");
	is_int(ALLOW, answer_1(p, SYS_kill, 1, 10), "the rest is allowed");
	p = POLICY(RULE(kill, ALLOW), RULE(kill, DENY, ONE(1, EQ, 9)));
	is_int(ALLOW, answer_1(p, SYS_kill, 1, 9), "the first match decides");
	p = POLICY(RULE(kill, ALLOW, ONE(1, EQ, 0)), RULE(kill, DENY));
	is_int(ALLOW, answer_1(p, SYS_kill, 1, 0), "a part allowed before the whole is denied");
	is_int(ERRNO(EACCES), answer_1(p, SYS_kill, 1, 1), "the rest is denied with the rule's errno");
	p = POLICY(RULE(kill, ALLOW, ONE(1, EQ, 0)), RULE(kill, KILL, ONE(1, EQ, 1)), RULE(kill, ENOSYS, ONE(1, EQ, 2)));
	is_int(ALLOW, answer_1(p, SYS_kill, 1, 0), "four answers for one call: allow");
	is_int(SECCOMP_RET_KILL_PROCESS, answer_1(p, SYS_kill, 1, 1), "kill");
	is_int(ERRNO(ENOSYS), answer_1(p, SYS_kill, 1, 2), "enosys");
	is_int(ERRNO(EPERM), answer_1(p, SYS_kill, 1, 3), "and the default");
	p = POLICY(RULE(mseal, ALLOW, ONE(1, EQ, 0)));
	is_int(ERRNO(ENOSYS), answer_1(p, 462, 1, 1), "the default of a newer call is ENOSYS");
	p = POLICY(RULE(socketcall, ALLOW), RULE(read, ALLOW));
	is_int(ALLOW, answer(p, SYS_read, none, false), "calls of other architectures are passed over");
	is_int(ERRNO(EPERM), answer(policy_of(NULL, 0), SYS_read, none, false), "no rules at all");
}

/* Each comparison around a value, for an argument of 32 bits and one of 64. */
static void test_compare(void)
{
	static const struct {
		enum policy_cmp op;
		bool below, same, above;
	} cases[] = {
		{ POLICY_EQ, false, true, false }, { POLICY_NE, true, false, true }, { POLICY_LT, true, false, false },
		{ POLICY_LE, true, true, false }, { POLICY_GT, false, false, true }, { POLICY_GE, false, true, true },
	};
	static const uint64_t values[] = { 1, 0x7fffffff, 0x80000000, 0xfffffffe };
	static const uint64_t wide[] = { 1, 0xffffffff, 0x100000000, 0x100000001, 0x7fffffffffffffff, 0xfffffffffffffffe };

	for (size_t c = 0; c < ARRAY_LEN(cases); c++) {
		struct policy_rule r32 = RULE(ioctl, ALLOW, ONE(1, EQ, 0)), r64 = RULE(ioctl, ALLOW, ONE(2, EQ, 0));
		bool good = true;

		r32.args[0].op = r64.args[0].op = cases[c].op;
		for (size_t i = 0; i < ARRAY_LEN(values); i++) {
			const uint64_t v = r32.args[0].value = values[i], high = 0xabcdef01ull << 32;
			const struct policy *p = policy_of(&r32, 1);

			good &= (answer_1(p, SYS_ioctl, 1, v - 1) == ALLOW) == cases[c].below;
			good &= (answer_1(p, SYS_ioctl, 1, v) == ALLOW) == cases[c].same;
			good &= (answer_1(p, SYS_ioctl, 1, v + 1) == ALLOW) == cases[c].above;
			good &= (answer_1(p, SYS_ioctl, 1, high | v) == ALLOW) == cases[c].same;
		}
		ok(good, "operator %d reads 32 bits of an int", cases[c].op);
		good = true;
		for (size_t i = 0; i < ARRAY_LEN(wide); i++) {
			const uint64_t v = r64.args[0].value = wide[i];
			const struct policy *p = policy_of(&r64, 1);

			good &= (answer_1(p, SYS_ioctl, 2, v - 1) == ALLOW) == cases[c].below;
			good &= (answer_1(p, SYS_ioctl, 2, v) == ALLOW) == cases[c].same;
			good &= (answer_1(p, SYS_ioctl, 2, v + 1) == ALLOW) == cases[c].above;
		}
		ok(good, "operator %d reads 64 bits of a long", cases[c].op);
	}
}

static void test_masked(void)
{
	const struct policy *p = POLICY(RULE(ioctl, DENY, ONE(1, EQ, 0x5412)), RULE(ioctl, ALLOW),
					RULE(clone, ALLOW, MASKED(0, 0x7e020000, 0)),
					RULE(mmap, ALLOW, MASKED(3, 0x100000000, 0x100000000)),
					RULE(personality, ALLOW, ONE(0, EQ, UINT64_MAX)),
					RULE(kill, ALLOW, ONE(0, EQ, (uint64_t)-1)));

	is_int(ERRNO(EACCES), answer_1(p, SYS_ioctl, 1, 0x5412), "TIOCSTI");
	is_int(ERRNO(EACCES), answer_1(p, SYS_ioctl, 1, 0x100005412), "TIOCSTI with a bit above what the kernel reads");
	is_int(ERRNO(EACCES), answer_1(p, SYS_ioctl, 1, 0xffffffff00005412), "TIOCSTI, sign-extended");
	is_int(ALLOW, answer_1(p, SYS_ioctl, 1, 0x5413), "its neighbour");
	is_int(ALLOW, answer_1(p, SYS_clone, 0, 0x3d0f00), "clone for a thread");
	is_int(ERRNO(EPERM), answer_1(p, SYS_clone, 0, 0x10000011), "clone with CLONE_NEWUSER");
	is_int(ERRNO(EPERM), answer_1(p, SYS_clone, 0, 0x3d0f00 | 0x20000), "clone with CLONE_NEWNS");
	is_int(ALLOW, answer_1(p, SYS_mmap, 3, 0x123456789), "a mask in the upper half");
	is_int(ERRNO(EPERM), answer_1(p, SYS_mmap, 3, 0x23456789), "and without its bit");
	is_int(ALLOW, answer_1(p, SYS_personality, 0, 0xffffffff), "a negative value fits an int");
	is_int(ALLOW, answer_1(p, SYS_kill, 0, 0xffffffff), "-1 as an int, upper half empty");
	is_int(ALLOW, answer_1(p, SYS_kill, 0, UINT64_MAX), "-1 as an int, sign-extended");
}

static void test_conjunction(void)
{
	struct policy_rule rule = RULE(socket, ALLOW, .n_args = 3, .args = {
		{ .index = 0, .op = POLICY_EQ, .value = 2 },
		{ .index = 1, .op = POLICY_MASKED_EQ, .mask = 0xf, .value = 1 },
		{ .index = 2, .op = POLICY_LE, .value = 17 } });
	struct policy_rule range = RULE(fcntl, ALLOW, .n_args = 2, .args = {
		{ .index = 1, .op = POLICY_GE, .value = 36 }, { .index = 1, .op = POLICY_LE, .value = 38 } });
	const struct policy *p = policy_of(&rule, 1);

	is_int(ALLOW, answer(p, SYS_socket, (uint64_t[6]){ 2, 1 | 0x80800, 6 }, false), "all conditions hold");
	is_int(ERRNO(EPERM), answer(p, SYS_socket, (uint64_t[6]){ 10, 1, 6 }, false), "the first fails");
	is_int(ERRNO(EPERM), answer(p, SYS_socket, (uint64_t[6]){ 2, 3, 6 }, false), "the second fails");
	is_int(ERRNO(EPERM), answer(p, SYS_socket, (uint64_t[6]){ 2, 1, 132 }, false), "the third fails");
	p = policy_of(&range, 1);
	is_int(ERRNO(EPERM), answer_1(p, SYS_fcntl, 1, 35), "below a range");
	is_int(ALLOW, answer_1(p, SYS_fcntl, 1, 36), "one argument tested twice: from");
	is_int(ALLOW, answer_1(p, SYS_fcntl, 1, 38), "to");
	is_int(ERRNO(EPERM), answer_1(p, SYS_fcntl, 1, 39), "above a range");
}

static void refused(const struct policy *p, const char *id, const char *words, const char *name)
{
	struct filter_prog prog = { .len = 7 };
	struct sj_err err = { 0 };
	bool failed = filter_compile(p, false, &prog, &err) < 0;

	ok(failed && prog.len == 7 && !prog.insns && err.exit == SJ_EXIT_USAGE, "%s: refused, output untouched", name);
	is_str(id, err.id, "%s: id", name);
	has_str("test: ", err.what, "%s: says where", name);
	ok(strstr(err.why, words) || strstr(err.fix, words), "%s: says \"%s\"", name, words);
}

static void test_refused(void)
{
	struct policy_rule bad_errno = RULE(read, DENY);

	bad_errno.error = 0;
	refused(POLICY(RULE(opnat, ALLOW)), "E_SYSCALL", "did you mean \"openat\"", "a misspelt call");
	refused(POLICY(RULE(, ALLOW)), "E_SYSCALL", "syscalls(2)", "an empty name");
	refused(POLICY(RULE(openat, DENY, ONE(1, EQ, 4096))), "E_FILTER_ARG", "pointer", "a pointer compared");
	refused(POLICY(RULE(openat, DENY, MASKED(1, 1, 0))), "E_FILTER_ARG", "pointer", "a pointer masked");
	refused(POLICY(RULE(kill, DENY, ONE(2, EQ, 0))), "E_FILTER_ARG", "fewer arguments", "an argument too many");
	refused(POLICY(RULE(kill, DENY, ONE(6, EQ, 0))), "E_FILTER_ARG", "fewer arguments", "argument 6");
	refused(POLICY(RULE(kill, DENY, ONE(0, EQ, 0x100000001))), "E_FILTER_ARG", "32 bits", "a value of 33 bits");
	refused(POLICY(RULE(kill, DENY, MASKED(0, 0x1ffffffff, 1))), "E_FILTER_ARG", "32 bits", "a mask of 33 bits");
	refused(POLICY(RULE(kill, DENY, MASKED(0, 1, 3))), "E_FILTER_ARG", "never match", "a value outside its mask");
	refused(policy_of(&bad_errno, 1), "E_FILTER_RULE", "valid errno", "errno 0");
	bad_errno.error = 4096;
	refused(policy_of(&bad_errno, 1), "E_FILTER_RULE", "valid errno", "errno 4096");
	bad_errno = (struct policy_rule)RULE(read, ALLOW, .n_args = 7);
	refused(policy_of(&bad_errno, 1), "E_FILTER_RULE", "conditions", "seven conditions");
	is_int(ALLOW, answer_1(POLICY(RULE(prlimit64, ALLOW, ONE(2, EQ, 0))), SYS_prlimit64, 2, 0),
	       "a pointer may be tested for NULL");
}

static void test_size(void)
{
	enum { N = 1000 };
	struct policy_rule *rules = calloc(N, sizeof(*rules));
	struct filter_prog prog = { 0 };
	struct sj_err err = { 0 };

	if (!rules)
		abort();
	for (size_t i = 0; i < N; i++)
		rules[i] = (struct policy_rule)RULE(ioctl, ALLOW, ONE(2, EQ, i));
	is_int(-E2BIG, filter_compile(policy_of(rules, N), false, &prog, &err), "more than the kernel takes is refused");
	is_str("E_FILTER_SIZE", err.id, "by name");
	for (size_t i = 0; i < N; i++)
		rules[i] = (struct policy_rule)RULE(ioctl, ALLOW, ONE(1, EQ, i));
	is_int(ALLOW, answer_1(policy_of(rules, N), SYS_ioctl, 1, N - 1), "1000 rules of one call: the last");
	is_int(ERRNO(EPERM), answer_1(policy_of(rules, N), SYS_ioctl, 1, N), "and behind it");
	free(rules);
}

/* Every second call, so that the tree is as large as it can be and jumps are long. */
static void test_alternating(void)
{
	struct policy_rule rules[FILTER_CALLS_MAX];
	_cleanup_filter_ struct filter_prog prog = { 0 };
	static const uint64_t none[6];
	size_t n = 0, bad = 0;
	const struct policy *p;

	for (int nr = 0; nr < FILTER_CALLS_MAX; nr += 2)
		if (call_name(nr))
			rules[n++] = (struct policy_rule){ .name = (char *)call_name(nr), .action = POLICY_ALLOW };
	p = policy_of(rules, n);
	is_int(0, filter_compile(p, false, &prog, NULL), "every second call: compiles");
	ok(sim_valid(&prog), "every second call: the kernel would load %u instructions", prog.len);
	for (int nr = 0; nr < FILTER_CALLS_MAX; nr++) {
		uint32_t want = call_name(nr) && nr % 2 == 0 ? ALLOW : ERRNO((uint32_t)(call_known(nr) ? EPERM : ENOSYS));

		bad += sim_run(&prog, nr, none) != want;
	}
	is_int(0, bad, "every second call: every answer is right");
}

/* ---- random rules ---------------------------------------------------- */

static uint64_t seed = 0x9e3779b97f4a7c15;

static uint64_t roll(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* Small numbers, powers of two and their neighbours, all bits: where comparisons go wrong. */
static uint64_t edge(void)
{
	uint64_t bit = 1ull << (roll() % 64), r = roll();

	switch (r % 5) {
	case 0:
		return r >> 8 & 7;
	case 1:
		return bit + (r >> 8) % 3 - 1;
	case 2:
		return UINT64_MAX - (r >> 8 & 3);
	case 3:
		return (uint32_t)(bit | (r >> 8 & 3));
	default:
		return (r >> 8 & 3) << 32 | (r >> 16 & 3);
	}
}

static const char *const random_calls[] = { "ioctl", "socket", "mmap",  "clone",    "kill",
					    "fcntl", "prctl",  "fchmodat2", "read" };

static struct policy_rule random_rule(void)
{
	struct policy_rule rule = { .origin = (char *)"test",
				    .name = (char *)random_calls[roll() % ARRAY_LEN(random_calls)],
				    .action = (enum policy_action)(roll() % 4), .n_args = roll() % 4 };
	const char *letters = call_args(filter_call_number(rule.name));

	rule.error = rule.action == POLICY_DENY ? (int)(1 + roll() % 133) : 0;
	for (size_t i = 0; i < rule.n_args; i++) {
		struct policy_arg *a = &rule.args[i];
		uint64_t mask;

		do
			a->index = (unsigned int)(roll() % strlen(letters));
		while (letters[a->index] == 'p');
		mask = call_arg_mask(filter_call_number(rule.name), a->index);
		a->op = (enum policy_cmp)(roll() % 7);
		a->mask = a->op == POLICY_MASKED_EQ ? edge() & mask : 0;
		a->value = edge() & mask & (a->op == POLICY_MASKED_EQ ? a->mask : UINT64_MAX);
	}
	return rule;
}

static bool random_policy_agrees(void)
{
	struct policy_rule rules[12];
	const size_t n = 1 + roll() % ARRAY_LEN(rules);
	_cleanup_filter_ struct filter_prog prog = { 0 };
	const bool notify = roll() & 1;
	struct sj_err err = { 0 };
	struct policy *p;

	for (size_t i = 0; i < n; i++)
		rules[i] = random_rule();
	p = policy_of(rules, n);
	if (filter_compile(p, notify, &prog, &err) < 0) {
		printf("# %s: %s; %s\n", err.id, err.what, err.why);
		return false;
	}
	if (!sim_valid(&prog))
		return false;
	for (int i = 0; i < 200; i++) {
		const struct policy_rule *near = &rules[roll() % n];
		uint64_t args[6];
		struct filter_verdict v;
		const int nr = filter_call_number(near->name);

		for (size_t a = 0; a < 6; a++)
			args[a] = edge();
		for (size_t a = 0; a < near->n_args; a++)
			if (roll() & 1)
				args[near->args[a].index] = near->args[a].value + roll() % 3 - 1;
		filter_decide(p, nr, args, &v);
		if (sim_run(&prog, nr, args) != sim_verdict(&v, notify)) {
			printf("# %s: program %#x, decision %#x\n", near->name, sim_run(&prog, nr, args), sim_verdict(&v, notify));
			return false;
		}
	}
	return true;
}

static void test_random(void)
{
	int good = 0;

	for (int i = 0; i < 3000; i++)
		good += random_policy_agrees();
	is_int(3000, good, "program and decision agree on random rules");
}

static void test_names(void)
{
	struct filter_prog prog = { 0 };
	char buf[32];

	is_str("read", filter_call_name(SYS_read, buf, sizeof(buf)), "a number's name");
	is_str("fchmodat2", filter_call_name(452, buf, sizeof(buf)), "a newer call has a name");
	is_str("syscall_350", filter_call_name(350, buf, sizeof(buf)), "a hole has none");
	is_str("syscall_-1", filter_call_name(-1, buf, sizeof(buf)), "-1 has none");
	is_int(SYS_read, filter_call_number("read"), "a name's number");
	is_int(452, filter_call_number("fchmodat2"), "of a newer call");
	is_int(-1, filter_call_number("nonsense"), "of none");
	is_int(-1, filter_call_number(""), "of an empty name");
	is_int(-1, filter_call_number("socketcall"), "of a call of another architecture");
	for (int nr = 0, bad = 0; nr <= FILTER_NEWEST + 1; nr++) {
		if (call_known(nr) && filter_call_number(filter_call_name(nr, buf, sizeof(buf))) != nr)
			bad += printf("# %s is not number %d for libseccomp\n", buf, nr);
		if (nr > FILTER_NEWEST)
			is_int(0, bad, "all names and numbers are libseccomp's");
	}
	filter_prog_free(NULL);
	filter_prog_free(&prog);
}

int main(void)
{
	test_numbers();
#ifdef __x86_64__
	test_foreign();
#endif
	test_order();
	test_compare();
	test_masked();
	test_conjunction();
	test_refused();
	test_size();
	test_alternating();
	test_random();
	test_names();
	return done();
}
