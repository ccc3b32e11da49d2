/*
 * test_workbench_check.c - notes on what policies grant, and the score made of it
 *
 * Runs as: any user
 * Trusts: nothing
 * Never: takes a shipped policy for granted
 */
#include "policy_help.h"
#include "workbench/internal.h"

static char ids[4096], sentences[16384];

static void note(void *arg, const char *id, const char *path, const char *sentence)
{
	(void)arg;
	(void)path;
	strcat(strcat(strcat(ids, " "), id), " ");
	strcat(strcat(sentences, sentence), "\n");
}

static size_t check(const struct policy *p)
{
	ids[0] = sentences[0] = '\0';
	return p ? workbench_check(p, note, NULL) : 0;
}

/* ---- notes ------------------------------------------------------------------ */

static const struct {
	const char *doc;
	const char *id;		/* of a note, NULL: there is none at all */
	const char *words;
} cases[] = {
	{ "{}", NULL, NULL },
	{ "{\"limits\":{\"memory\":0}}", "no-memory-limit", "cgroups(7)" },
	{ "{\"limits\":{\"pids\":0}}", "no-pids-limit", "fork bomb" },
	{ "{\"limits\":{\"wall\":0}}", "no-wall-limit", "for ever" },
	{ "{\"limits\":{\"cpus\":0}}", "no-cpu-limit", "every CPU" },
	{ "{\"limits\":{\"output\":0}}", "no-output-limit", "without end" },
	{ "{\"limits\":{\"memory\":\"64M\"}}", "folders-over-memory", "out of memory" },
	{ "{\"limits\":{\"wall\":\"2s\",\"cpu_time\":\"3s\"}}", "cpu-time-unreachable", "never decides" },
	{ "{\"files\":{\"write\":[\"/srv/x:/x\"]}}", "host-write", "\"/srv/x\"" },
	{ "{\"files\":{\"read\":[\"/etc:/e\"]}}", "wide-folder", "\"/etc\"" },
	{ "{\"files\":{\"read\":[\"/home/a/.ssh:/s\"]}}", "secret-path", "\"/home/a/.ssh\"" },
	{ "{\"files\":{\"read\":[\"/var/run/docker.sock:/d\"]}}", "service-socket", "container engine" },
	{ "{\"files\":{\"read\":[\"/run:/r\"]}}", "service-socket", "\"/run\"" },
	{ "{\"files\":{\"read\":[\"/srv/x:/x\"]}}", NULL, NULL },
	{ "{\"files\":{\"exec_from_writable\":true}}", "exec-from-writable", "machine code" },
	{ "{\"env\":{\"pass\":[\"LANG\",\"MY_API_KEY\"]}}", "secret-env", "\"MY_API_KEY\"" },
	{ "{\"env\":{\"pass\":[\"LANG\"]}}", NULL, NULL },
	{ "{\"network\":{\"mode\":\"host\"}}", "host-network", "CVE-2020-15257" },
	{ "{\"network\":{\"mode\":\"loopback\"}}", NULL, NULL },
	{ "{\"isolation\":\"landlock\"}", "weak-isolation", "--isolation" },
	{ "{\"landlock\":\"off\"}", "no-landlock", "landlock(7)" },
	{ "{\"syscalls\":{\"allow\":[\"vmsplice\"]}}", "vmsplice", "CVE-2008-0600" },
	{ "{\"syscalls\":{\"allow\":[\"ioctl\"]}}", "ioctl", "every driver" },
	{ "{\"syscalls\":{\"allow\":[\"memfd_create\"]}}", "memfd-exec", "MFD_NOEXEC_SEAL" },
	{ "{\"syscalls\":{\"allow\":[\"@memory\"]}}", NULL, NULL },
	{ "{\"syscalls\":{\"allow\":[\"personality\"]}}", "personality", "randomisation" },
	{ "{\"syscalls\":{\"allow\":[\"@personality\"]}}", NULL, NULL },
	{ "{\"extends\":\"python\",\"syscalls\":{\"allow\":[\"socket\"]}}", NULL, NULL },
	{ "{\"syscalls\":{\"rules\":[{\"name\":\"socket\",\"action\":\"allow\"}]}}", "af-alg", "CVE-2019-8912" },
	{ "{\"syscalls\":{\"rules\":[{\"name\":\"socket\",\"action\":\"allow\"}]}}", "socket-all", "every protocol" },
	{ "{\"syscalls\":{\"rules\":[{\"name\":\"socket\",\"args\":[{\"index\":0,\"op\":\"==\",\"value\":\"AF_VSOCK\"}],\"action\":\"allow\"}]}}",
	  "af-vsock", "CVE-2021-26708" },
	{ "{\"syscalls\":{\"rules\":[{\"name\":\"socket\",\"args\":[{\"index\":0,\"op\":\"==\",\"value\":\"AF_NETLINK\"}],\"action\":\"allow\"}]}}",
	  "netlink", "CVE-2024-1086" },
	{ "{\"syscalls\":{\"allow\":[\"ptrace\"]}}", "never-allowed", "CVE-2019-13272" },
	{ "{\"syscalls\":{\"allow\":[\"io_uring_setup\"]}}", "never-allowed", "pass by the filter" },
	{ "{\"syscalls\":{\"rules\":[{\"name\":\"bpf\",\"action\":\"allow\"}]}}", "never-allowed", "CVE-2021-3490" },
	{ "{\"syscalls\":{\"allow\":[\"swapon\"]}}", "never-allowed", "administration of the machine" },
	{ "{\"extends\":\"python\",\"syscalls\":{\"deny\":[\"fork\"]}}", "fork-by-clone", "by the call clone" },
	{ "{\"extends\":\"python\",\"syscalls\":{\"allow\":[\"!@process\",\"@threads\"]}}", NULL, NULL },
};

static void test_notes(void)
{
	char id[64];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_policy_ struct policy *p = help_load(cases[i].doc);
		size_t n = check(p);
		bool right;

		snprintf(id, sizeof(id), " %s ", cases[i].id ? cases[i].id : "");
		right = p && (cases[i].id ? strstr(ids, id) && strstr(sentences, cases[i].words) : n == 0);
		if (!ok(right, "%s: %.90s", cases[i].id ? cases[i].id : "no note", cases[i].doc))
			printf("# %s: %s%s\n", help_err.what, ids, sentences);
	}
}

static void test_table(void)
{
	size_t n = 0, bad = 0;

	for (const struct risk *a = workbench_risks; a->id; a++, n++) {
		bad += !a->title[0] || !a->why[0] || !a->ref[0] || (a->test == NULL) == (a->call == NULL);
		bad += a->call && filter_call_number(a->call) < 0;
		for (const struct risk *b = workbench_risks; b != a; b++)
			bad += strcmp(a->id, b->id) == 0;
	}
	is_int(0, bad, "%zu risks, each with a name of its own, a reason, a reference, and one test", n);
}

/* Rows without a weight stand for what no policy can allow. */
static void test_never(void)
{
	char doc[4096] = "{\"files\":{\"exec_from_writable\":true},\"network\":{\"mode\":\"host\"},\"syscalls\":{\"rules\":[", detail[WORDS_MAX];
	struct policy *p;
	size_t wrong = 0;

	for (const struct risk *risk = workbench_risks; risk->id; risk++)
		if (risk->call && strcmp(risk->call, "mmap") != 0) {
			strcat(strcat(strcat(doc, "{\"name\":\""), risk->call), "\",\"action\":\"allow\"}");
			strcat(doc, risk[1].id ? "," : "");
		}
	strcat(doc, "]}}");
	p = help_load(doc);
	ok(p, "a policy that asks for all of it loads");
	for (const struct risk *risk = workbench_risks; p && risk->id; risk++)
		if (risk->call && strcmp(risk->call, "mmap") != 0 && (risk_share(risk, p, 0, detail) > 0) != (risk->weight > 0)) {
			printf("# %s\n", risk->id);
			wrong++;
		}
	is_int(0, wrong, "what has a weight can be allowed, and nothing else");
	policy_free(p);
}

/* ---- the score ------------------------------------------------------------------ */

static double exposure(const char *doc)
{
	_cleanup_policy_ struct policy *p = strchr(doc, '{') ? help_load(doc) : help_load_sets(doc, NULL, 0);

	if (!p)
		printf("# %s: %s\n", help_err.what, help_err.why);
	return p ? workbench_exposure(p) : -1;
}

static void test_score(void)
{
	double strict = exposure("python-strict"), python = exposure("python"), data = exposure("python-data");
	double shell = exposure("shell"), open = exposure("open"), floor = exposure("{\"limits\":{\"enforcement\":\"cgroup\"}}");
	double all = exposure("{\"extends\":\"open\",\"limits\":{\"memory\":0,\"pids\":0},\"network\":{\"mode\":\"host\"},\"files\":{\"write\":[\"/:/host\"]},"
			      "\"landlock\":\"off\",\"env\":{\"pass\":[\"TOKEN\"]},\"syscalls\":{\"rules\":[{\"name\":\"socket\",\"action\":\"allow\"}]}}");

	printf("# floor %.2f, strict %.2f, python %.2f, data %.2f, shell %.2f, open %.2f, all %.2f\n", floor, strict, python, data, shell, open,
	       all);
	ok(floor >= 0 && floor < 0.005, "the floor within limits is closed: 0");
	ok(floor < strict && strict < python && python <= data && data < shell && shell < open, "the shipped policies in their order");
	ok(open < all && all <= 10 && all > 9.99, "and everything at once is open: 10");
	ok(exposure("{\"extends\":\"python\",\"network\":{\"mode\":\"host\"}}") > python + 1, "the host's network weighs more than a point");
	ok(exposure("{\"extends\":\"python\",\"limits\":{\"memory\":\"1G\"}}") <= python, "a larger limit is a limit");
}

static void test_lines(void)
{
	_cleanup_policy_ struct policy *p = help_load("{\"extends\":\"python\",\"files\":{\"write\":[\"/srv/a:/a\",\"/srv/b:/b\"]}}");
	_cleanup_free_ char *text = NULL, *json = NULL;
	_cleanup_json_ json_t *doc = NULL;
	double sum = 0, last = 100, points;
	size_t disorder = 0;
	json_t *part;
	size_t i;

	ok(p && workbench_score(p, WORKBENCH_SCORE_PARTS, &text, &help_err) == 0, "in lines");
	has_str("host-write", text, "the worst");
	has_str("/srv/a and 1 more", text, "with its first place, and how many more");
	ok(p && workbench_score(p, WORKBENCH_SCORE_JSON, &json, &help_err) == 0 && base_json_parse(json, strlen(json), "j", &doc, NULL) == 0,
	   "as JSON");
	json_array_foreach(json_object_get(doc, "missing"), i, part) {
		points = json_number_value(json_object_get(part, "points"));
		disorder += points > last;
		last = points;
		sum += points;
	}
	is_int(0, disorder, "worst first");
	points = json_number_value(json_object_get(doc, "exposure"));
	ok(sum - points < 0.001 && points - sum < 0.001, "and the lines add up to the total");
}

static void test_shipped(void)
{
	static const char *const clean[] = { "python-strict", "python", "python-data", "shell" };

	for (size_t i = 0; i < ARRAY_LEN(clean); i++) {
		_cleanup_policy_ struct policy *p = help_load_sets(clean[i], NULL, 0);

		is_int(0, p ? check(p) : 1, "no notes on %s", clean[i]);
	}
}

int main(void)
{
	help_begin();
	test_notes();
	test_table();
	test_never();
	test_score();
	test_lines();
	test_shipped();
	return help_end();
}
