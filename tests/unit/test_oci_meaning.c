/*
 * test_oci_meaning.c - a profile means as a policy what it means to a runtime, and a policy the same as a profile
 *
 * Runs as: any user
 * Trusts: tests/oci/, or the profiles named as arguments
 * Never: loads a filter
 *
 * What a profile means to a runtime is asked of libseccomp itself: entries go into it as runc and crun add them, and
 * its program is run without the kernel beside the program of the policy. Of each call a grid of arguments is tried.
 * A file whose name holds "overlap" has rules that meet on the same arguments; there stricter is right, too.
 */
#include <jansson.h>
#include <seccomp.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include "filter/filter.h"
#include "tap.h"
#include "workbench/oci.h"

#define VALUES_MAX 48	/* tried of one argument */
#define GRID_MAX 6000	/* calls tried of one number */
#define SHOWN_MAX 8

static const struct sj_policy_import from = { .arch = "amd64", .kernel = "6.1" };

/* ---- a profile, as a runtime reads it -------------------------------------- */

static uint64_t number(json_t *value)
{
	/* Those past INT64_MAX are strings by now. */
	return json_is_string(value) ? strtoull(json_string_value(value), NULL, 10) : (uint64_t)json_integer_value(value);
}

static bool has(json_t *list, const char *word)
{
	json_t *entry;
	size_t i;

	json_array_foreach(list, i, entry)
		if (strcmp(json_string_value(entry), word) == 0)
			return true;
	return false;
}

/* Without capabilities, on amd64 and Linux 6.1. */
static bool counts(json_t *entry)
{
	json_t *in = json_object_get(entry, "includes"), *out = json_object_get(entry, "excludes");
	const char *min = json_string_value(json_object_get(in, "minKernel"));
	const char *below = json_string_value(json_object_get(out, "minKernel"));

	if (json_array_size(json_object_get(in, "caps")) > 0)
		return false;
	if (json_array_size(json_object_get(in, "arches")) > 0 && !has(json_object_get(in, "arches"), "amd64"))
		return false;
	if (has(json_object_get(out, "arches"), "amd64"))
		return false;
	return (!min || atof(min) < 6.1) && (!below || atof(below) > 6.1);
}

static uint32_t action_of(const char *word, json_t *obj, const char *number_key, const char *name_key)
{
	json_t *ret = json_object_get(obj, number_key);
	const char *name = json_string_value(json_object_get(obj, name_key));
	uint32_t error = ret ? (uint32_t)json_integer_value(ret) : EPERM;

	if (name && strcmp(name, "ENOMEM") == 0)
		error = ENOMEM;
	if (strcmp(word, "SCMP_ACT_ERRNO") == 0)
		return SCMP_ACT_ERRNO(error);
	if (strcmp(word, "SCMP_ACT_TRACE") == 0)
		return SCMP_ACT_TRACE(error);
	if (strcmp(word, "SCMP_ACT_ALLOW") == 0)
		return SCMP_ACT_ALLOW;
	if (strcmp(word, "SCMP_ACT_LOG") == 0)
		return SCMP_ACT_LOG;
	if (strcmp(word, "SCMP_ACT_NOTIFY") == 0)
		return SCMP_ACT_NOTIFY;
	if (strcmp(word, "SCMP_ACT_TRAP") == 0)
		return SCMP_ACT_TRAP;
	return strcmp(word, "SCMP_ACT_KILL_PROCESS") == 0 ? SCMP_ACT_KILL_PROCESS : SCMP_ACT_KILL;
}

static enum scmp_compare op_of(const char *word)
{
	static const char *const ops[] = { [SCMP_CMP_NE] = "NE", [SCMP_CMP_LT] = "LT", [SCMP_CMP_LE] = "LE", [SCMP_CMP_EQ] = "EQ",
					   [SCMP_CMP_GE] = "GE", [SCMP_CMP_GT] = "GT", [SCMP_CMP_MASKED_EQ] = "MASKED_EQ" };

	for (enum scmp_compare op = SCMP_CMP_NE; op <= SCMP_CMP_MASKED_EQ; op++)
		if (strcmp(ops[op], word + strlen("SCMP_CMP_")) == 0)
			return op;
	abort();
}

static size_t args_of(json_t *entry, struct scmp_arg_cmp ret[OCI_ARGS_MAX], bool *ret_apart)
{
	size_t n = 0, i, seen[6] = { 0 };
	json_t *arg;

	*ret_apart = false;
	json_array_foreach(json_object_get(entry, "args"), i, arg) {
		unsigned int index = (unsigned int)json_integer_value(json_object_get(arg, "index"));

		ret[n++] = (struct scmp_arg_cmp){ index, op_of(json_string_value(json_object_get(arg, "op"))),
						  number(json_object_get(arg, "value")), number(json_object_get(arg, "valueTwo")) };
		*ret_apart |= seen[index]++ > 0;
	}
	return n;
}

static void add(scmp_filter_ctx ctx, uint32_t action, const char *name, json_t *entry)
{
	int nr = seccomp_syscall_resolve_name(name);
	struct scmp_arg_cmp args[OCI_ARGS_MAX];
	bool apart;
	size_t n = args_of(entry, args, &apart);

	if (nr == __NR_SCMP_ERROR)
		nr = filter_call_find(name); /* libseccomp is older than our table */
	if (nr < 0)
		return;
	for (size_t i = 0; i < (apart ? n : 1); i++)
		if (seccomp_rule_add_array(ctx, action, nr, apart ? 1 : (unsigned int)n, args + i) < 0) {
			printf("# libseccomp refuses a rule for %s\n", name);
			abort();
		}
}

static json_t *profile_of(json_t *doc)
{
	json_t *host = json_object_get(doc, "linux");

	return host ? json_object_get(host, "seccomp") : doc;
}

static struct filter_prog compiled(scmp_filter_ctx ctx)
{
	_cleanup_close_ int fd = io_memfd("profile", NULL, 0);
	struct filter_prog prog = { 0 };
	off_t len;

	if (fd < 0 || seccomp_export_bpf(ctx, fd) < 0 || (len = lseek(fd, 0, SEEK_END)) <= 0 || lseek(fd, 0, SEEK_SET) < 0)
		abort();
	prog.insns = malloc((size_t)len);
	prog.len = (unsigned short)((size_t)len / sizeof(*prog.insns));
	if (!prog.insns || io_read_full(fd, prog.insns, (size_t)len) < 0)
		abort();
	seccomp_release(ctx);
	return prog;
}

static struct filter_prog runtime_of(json_t *doc)
{
	json_t *p = profile_of(doc), *entry, *name;
	uint32_t base = action_of(json_string_value(json_object_get(p, "defaultAction")), p, "defaultErrnoRet", "defaultErrno");
	scmp_filter_ctx ctx = seccomp_init(base);
	size_t i, k;

	json_array_foreach(json_object_get(p, "syscalls"), i, entry) {
		uint32_t action = action_of(json_string_value(json_object_get(entry, "action")), entry, "errnoRet", "errno");

		if (!counts(entry) || action == base)
			continue;
		if (json_object_get(entry, "name"))
			add(ctx, action, json_string_value(json_object_get(entry, "name")), entry);
		json_array_foreach(json_object_get(entry, "names"), k, name)
			add(ctx, action, json_string_value(name), entry);
	}
	return compiled(ctx);
}

/* ---- a grid of arguments ------------------------------------------------------- */

struct grid {
	uint64_t values[6][VALUES_MAX];
	size_t n[6];
};

static void try_value(struct grid *g, unsigned int index, uint64_t v)
{
	for (size_t i = 0; i < g->n[index]; i++)
		if (g->values[index][i] == v)
			return;
	if (g->n[index] < VALUES_MAX)
		g->values[index][g->n[index]++] = v;
}

static void try_around(struct grid *g, unsigned int index, uint64_t value, uint64_t mask)
{
	const uint64_t around[] = { value, value - 1, value + 1, ~value, value ^ mask, value | ~mask, value ^ (mask & -mask), mask,
				    value | 1u << 31, value | 1ull << 32 };

	for (size_t i = 0; i < ARRAY_LEN(around); i++)
		try_value(g, index, around[i]);
}

static void add_rules(struct grid *g, int nr, const struct policy *p)
{
	for (size_t i = 0; i < p->syscalls.n_rules; i++)
		for (size_t k = 0; k < p->syscalls.rules[i].n_args && filter_call_find(p->syscalls.rules[i].name) == nr; k++) {
			const struct policy_arg *a = &p->syscalls.rules[i].args[k];

			try_around(g, a->index, a->value, a->op == POLICY_MASKED_EQ ? a->mask : UINT64_MAX);
		}
}

static void add_profile(struct grid *g, int nr, json_t *doc)
{
	json_t *entry, *name, *arg;
	size_t i, k;

	json_array_foreach(json_object_get(profile_of(doc), "syscalls"), i, entry) {
		bool ours = json_object_get(entry, "name") &&
			    filter_call_find(json_string_value(json_object_get(entry, "name"))) == nr;

		json_array_foreach(json_object_get(entry, "names"), k, name)
			ours |= filter_call_find(json_string_value(name)) == nr;
		json_array_foreach(json_object_get(entry, "args"), k, arg)
			if (ours) {
				unsigned int index = (unsigned int)json_integer_value(json_object_get(arg, "index"));

				try_around(g, index, number(json_object_get(arg, "value")), UINT64_MAX);
				try_around(g, index, number(json_object_get(arg, "valueTwo")), number(json_object_get(arg, "value")));
			}
	}
}

/* A policy, a profile as libseccomp has it, or both. */
struct side {
	const struct policy *p;
	struct filter_prog prog;
	json_t *doc;
};

/* All combinations where they are few, else as many that are drawn. */
typedef void ask_fn(void *arg, int nr, const uint64_t args[6]);

static void ask_grid(int nr, const struct side *a, const struct side *b, ask_fn *ask, void *arg)
{
	static uint64_t seed = 1;
	struct grid g = { 0 };
	size_t n = 1;

	for (unsigned int i = 0; i < 6; i++) {
		try_value(&g, i, 0);
		try_value(&g, i, UINT64_MAX);
	}
	if (a->p)
		add_rules(&g, nr, a->p);
	if (b->p)
		add_rules(&g, nr, b->p);
	if (a->doc)
		add_profile(&g, nr, a->doc);
	for (unsigned int i = 0; i < 6 && n <= GRID_MAX; i++)
		n *= g.n[i];
	for (size_t at = 0; at < (n <= GRID_MAX ? n : GRID_MAX); at++) {
		uint64_t args[6];
		size_t rest = at;

		for (unsigned int i = 0; i < 6; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			args[i] = g.values[i][n <= GRID_MAX ? rest % g.n[i] : (seed >> 33) % g.n[i]];
			rest /= g.n[i];
		}
		ask(arg, nr, args);
	}
}

/* ---- the same meaning? ---------------------------------------------------------------- */

struct count {
	const struct side *profile, *policy;
	const char *coarse;	/* names of calls that were written stricter, for want of room */
	size_t asked, equal, never, floor, stricter, wrong;
};

/* What a policy has for an answer of a runtime. */
static uint32_t here(uint32_t answer)
{
	switch (answer & SECCOMP_RET_ACTION_FULL) {
	case SECCOMP_RET_LOG:
		return SECCOMP_RET_ALLOW;
	case SECCOMP_RET_TRACE:
		return SECCOMP_RET_ERRNO | ENOSYS;
	case SECCOMP_RET_USER_NOTIF:
		return SECCOMP_RET_ERRNO | EPERM;
	case SECCOMP_RET_TRAP:
	case SECCOMP_RET_KILL_THREAD:
		return SECCOMP_RET_KILL_PROCESS;
	default:
		return answer;
	}
}

static int strictness(uint32_t answer)
{
	return answer == SECCOMP_RET_ALLOW ? 0 : answer == SECCOMP_RET_KILL_PROCESS ? 2 : 1;
}

static void say(const char *what, int nr, const uint64_t args[6], uint32_t a, uint32_t b)
{
	char text[200];

	filter_describe(nr, args, text, sizeof(text));
	printf("# %s: %s (%#llx %#llx %#llx): %#x, %#x\n", what, text, (unsigned long long)args[0], (unsigned long long)args[1],
	       (unsigned long long)args[2], a, b);
}

/* Of an argument of 32 bits a runtime sees 64: a negative number has its sign in the others, or zeros. */
static uint32_t runtime_answer(const struct filter_prog *prog, int nr, const uint64_t args[6])
{
	uint64_t plain[6], negative[6];
	uint32_t a, b;

	for (unsigned int i = 0; i < 6; i++) {
		uint64_t mask = filter_arg_mask(nr, i);

		plain[i] = args[i] & mask;
		negative[i] = mask == UINT32_MAX ? (uint64_t)(int64_t)(int32_t)plain[i] : plain[i];
	}
	a = here(filter_simulate(prog, nr, plain));
	b = here(filter_simulate(prog, nr, negative));
	return strictness(b) < strictness(a) ? b : a;
}

static void ask_import(void *arg, int nr, const uint64_t args[6])
{
	struct count *c = arg;
	struct filter_verdict v;
	uint32_t theirs = runtime_answer(&c->profile->prog, nr, args), ours = filter_simulate(&c->policy->prog, nr, args);

	filter_decide(c->policy->p, nr, args, &v);
	c->asked++;
	if (v.rule && strcmp(v.rule->origin, "@never") == 0)
		c->never += ours != SECCOMP_RET_ALLOW;
	else if (v.rule && strcmp(v.rule->origin, "@floor") == 0)
		c->floor += ours == SECCOMP_RET_ALLOW;
	else if (ours == theirs || (nr > FILTER_NEWEST && !v.rule && strictness(theirs) == 1 && strictness(ours) == 1))
		c->equal++;
	else if (strictness(ours) >= strictness(theirs))
		c->stricter++;
	else if (c->wrong++ < SHOWN_MAX)
		say("runtime and policy", nr, args, theirs, ours);
}

static void ask_same(void *arg, int nr, const uint64_t args[6])
{
	struct count *c = arg;
	uint32_t theirs = filter_simulate(&c->profile->prog, nr, args), ours = filter_simulate(&c->policy->prog, nr, args);

	c->asked++;
	if (ours == theirs || (c->coarse && strstr(c->coarse, filter_call_at(nr)) && strictness(theirs) >= strictness(ours)))
		c->equal++;
	else if (c->wrong++ < SHOWN_MAX)
		say("profile and policy", nr, args, theirs, ours);
}

static void ask_all(struct count *c, ask_fn *ask)
{
	for (int nr = 0; nr < FILTER_CALLS; nr++)
		if (filter_call_at(nr))
			ask_grid(nr, c->profile, c->policy, ask, c);
}

/* ---- there and back ---------------------------------------------------------------------- */

static bool take(const char *text, size_t len, struct side *ret)
{
	_cleanup_free_ char *out = NULL;
	_cleanup_json_ json_t *doc = NULL;
	struct sj_err err = { 0 };
	int r = workbench_import_oci(text, len, "profile", &from, NULL, NULL, &out, &err);

	if (r == 0)
		r = base_json_parse(out, strlen(out), "policy", &doc, &err);
	if (r == 0)
		r = policy_load_doc(doc, NULL, "policy", NULL, 0, (struct policy **)&ret->p, &err);
	if (r == 0)
		r = filter_compile(ret->p, FILTER_NOTIFY_NONE, &ret->prog, &err);
	if (r < 0)
		printf("# %s; %s\n", err.what, err.why);
	return r == 0;
}

static void side_clear(struct side *s)
{
	policy_free((struct policy *)s->p);
	filter_prog_free(&s->prog);
	json_decref(s->doc);
}
#define _cleanup_side_ _cleanup_(side_clear)

static json_t *parse(const char *text, size_t len)
{
	_cleanup_free_ char *quoted = oci_quote_numbers(text, len, &len);
	json_t *doc = quoted ? json_loadb(quoted, len, 0, NULL) : NULL;

	if (!doc)
		abort();
	return doc;
}

static void keep_coarse(void *arg, const char *id, const char *path, const char *sentence)
{
	(void)path;
	if (strcmp(id, "oci-coarse") == 0)
		snprintf(arg, sizeof(((struct sj_err *)0)->what), "%s", sentence);
}

static void test_export(const char *name, const struct side *policy)
{
	_cleanup_side_ struct side profile = { 0 }, again = { 0 };
	char coarse[sizeof(((struct sj_err *)0)->what)] = "";
	struct count there = { .profile = &profile, .policy = policy, .coarse = coarse }, back = { .profile = &again, .policy = policy };
	_cleanup_free_ char *text = NULL;
	struct sj_err err = { 0 };

	if (!ok(workbench_export(policy->p, SJ_PROFILE_OCI, keep_coarse, coarse, &text, &err) == 0, "%s: is written as a profile", name))
		return;
	profile.doc = parse(text, strlen(text));
	profile.prog = runtime_of(profile.doc);
	ask_all(&there, ask_same);
	ok(there.asked > 5000 && there.wrong == 0, "%s: libseccomp and the policy agree on %zu calls", name, there.asked);
	/* One rule a call: with conditions besides, that is more than a policy holds. */
	if (strstr(name, "kill"))
		return;
	is_str("", coarse, "%s: in reasonable length", name);
	if (!ok(take(text, strlen(text), &again), "%s: the profile is read again", name))
		return;
	ask_all(&back, ask_same);
	ok(back.asked > 5000 && back.wrong == 0, "%s: and means the same on %zu calls", name, back.asked);
}

static void test_profile(const char *path)
{
	bool overlap = strstr(path, "overlap");
	_cleanup_side_ struct side profile = { 0 }, policy = { 0 };
	struct count c = { .profile = &profile, .policy = &policy };
	_cleanup_free_ char *text = NULL;
	size_t len;

	if (!ok(io_read_file(path, POLICY_FILE_MAX, &text, &len) == 0, "%s: is there", path))
		return;
	profile.doc = parse(text, len);
	profile.prog = runtime_of(profile.doc);
	if (!ok(take(text, len, &policy), "%s: is imported", path))
		return;
	ask_all(&c, ask_import);
	printf("# %s: %zu calls: %zu alike, %zu refused by @never, %zu of the floor, %zu stricter, %zu wrong\n", path, c.asked,
	       c.equal, c.never, c.floor, c.stricter, c.wrong);
	ok(c.asked > 5000 && c.wrong == 0 && (overlap || c.stricter == 0) &&
	   c.asked == c.equal + c.never + c.floor + c.stricter, "%s: means as a policy what it means to a runtime", path);
	test_export(path, &policy);
}

static void test_shipped(const char *name)
{
	_cleanup_side_ struct side policy = { 0 };
	struct sj_err err = { 0 };

	if (ok(policy_load(name, NULL, 0, (struct policy **)&policy.p, &err) == 0 &&
	       filter_compile(policy.p, FILTER_NOTIFY_NONE, &policy.prog, &err) == 0, "%s: loads", name))
		test_export(name, &policy);
}

int main(int argc, char **argv)
{
	static const char *const own[] = { "tests/oci/features.json", "tests/oci/allow.json", "tests/oci/kill.json",
					   "tests/oci/overlap.json" };

#ifndef __x86_64__
	skip_all("the profiles are for amd64");
#endif
	for (int i = 1; i < argc; i++)
		test_profile(argv[i]);
	if (argc > 1)
		return done();
	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		test_profile(own[i]);
	for (size_t i = 0; policy_shipped_name(i); i++)
		test_shipped(policy_shipped_name(i));
	return done();
}
