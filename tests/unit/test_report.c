/*
 * test_report.c - reports are valid JSON with every key, whatever the guest said; hints
 *
 * Runs as: any user, in a folder of its own
 * Trusts: nothing
 * Never: starts a jail
 */
#include <jansson.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap.h"
#include "session/internal.h"

static struct policy policy = {
	.name = (char *)"python", .sha256 = "abc",
	.limits = { .wall_ms = 1000, .output = 1000 },
	.files = { .root = (char *)"python" },
};

static const char *const keys[] = {
	"schema", "status", "reason", "exit_code", "signal", "ran", "retry", "session", "wall_ms", "setup_ms", "cpu_ms",
	"user_ms", "sys_ms", "memory_peak", "pids_peak", "output", "denied", "denied_total", "denied_counted", "isolation",
	"enforced_by", "policy", "backend", "python", "smoljail", "error", "setup", "hint",
};

static json_t *parsed(const struct session_report *r, const struct policy *p)
{
	char *text = session_report_json(r, p);
	json_t *j = text ? json_loads(text, 0, NULL) : NULL;

	free(text);
	return j;
}

static const char *str(json_t *j, const char *a, const char *b)
{
	json_t *v = json_object_get(j, a);

	return json_string_value(b ? json_object_get(v, b) : v);
}

static void all_keys(const struct session_report *r, const struct policy *p, const char *name)
{
	json_t *j = parsed(r, p);

	if (!ok(j != NULL, "%s: valid JSON", name))
		return;
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		ok(json_object_get(j, keys[i]) != NULL, "%s: has %s", name, keys[i]);
	json_decref(j);
}

static void test_normal(void)
{
	struct session_report r = {
		.status = STATUS_OK, .reason = "ended normally", .ran = true, .wall_us = 12345, .setup_us = 1,
		.usage = { .cpu_us = 8800, .memory_peak = 9437184 }, .out_bytes = 12, .denied_counted = true,
		.isolation = { "userns", "seccomp" }, .enforced = { "cgroup1", "cgroup1", "cgroup1", "cgroup1" },
		.disk_enforced = "tmpfs",
	};
	char *text = session_report_json(&r, &policy);
	json_t *j = parsed(&r, &policy);

	all_keys(&r, &policy, "a normal run");
	has_str("\"wall_ms\":12.345,", text, "milliseconds have three decimals");
	has_str("\"setup_ms\":0.001,", text, "a microsecond is not lost");
	is_str("yes", str(j, "ran", NULL), "it ran");
	is_str("unsafe", str(j, "retry", NULL), "so trying again is not safe");
	is_str("timer", str(j, "enforced_by", "wall"), "wall clock by the timer");
	is_str("supervisor", str(j, "enforced_by", "output"), "output by the supervisor");
	is_str("tmpfs", str(j, "enforced_by", "disk"), "disk by tmpfs");
	is_str("python", str(j, "policy", "name"), "the policy is named");
	ok(json_is_null(json_object_get(j, "signal")), "no signal is null");
	ok(json_is_null(json_object_get(j, "pids_peak")), "an unknown peak is null");
	ok(json_is_null(json_object_get(j, "error")), "no error is null");
	free(text);
	json_decref(j);
}

static void test_setup_failure(void)
{
	struct session_report r;
	struct sj_err err = { .error = EPERM, .exit = SJ_EXIT_SETUP, .id = "E_USERNS", .what = "cannot", .why = "because" };
	json_t *j;

	session_report_refused(&r, &err);
	all_keys(&r, &policy, "a failed set-up");
	all_keys(&r, NULL, "a policy that did not load");
	j = parsed(&r, NULL);
	is_str("setup_error", str(j, "status", NULL), "status");
	is_str("no", str(j, "ran", NULL), "nothing ran");
	is_str("safe", str(j, "retry", NULL), "trying again is safe");
	is_str("E_USERNS", str(j, "setup", "id"), "the id");
	ok(json_is_null(json_object_get(json_object_get(j, "setup"), "fix")), "no fix is null");
	is_str("none", str(j, "enforced_by", "memory"), "nothing was enforced");
	is_int(SJ_EXIT_SETUP, r.exit_status, "exit 125");
	json_decref(j);
}

/* Every byte a guest can write into the page, terminated or not. */
static void test_hostile_claim(void)
{
	struct session_report r = { .status = STATUS_ERROR, .exit_code = 1, .ran = true };
	struct wire_claim raw;
	json_t *j;

	memset(&raw, 0xff, sizeof(raw));
	raw.outcome = WIRE_OUTCOME_EXCEPTION;
	claim_copy(&raw, &r.claim);
	all_keys(&r, &policy, "a claim of 0xff bytes");
	is_int(0, strnlen(r.claim.type, sizeof(r.claim.type)) == sizeof(r.claim.type), "strings are terminated");

	memset(&raw, 'a', sizeof(raw));
	raw.outcome = WIRE_OUTCOME_EXCEPTION;
	raw.line = 7;
	snprintf(raw.type, sizeof(raw.type), "Va\x1b[2Jlue\nError\xc2\x9b\xed\xa0\x80\xf0\x9f\x98\x80");
	claim_copy(&raw, &r.claim);
	is_str("Va [2Jlue Error \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xf0\x9f\x98\x80", r.claim.type,
	       "control characters and halves of surrogates are gone, an emoji is not");
	j = parsed(&r, &policy);
	ok(j != NULL, "and the report is valid");
	is_int(7, json_integer_value(json_object_get(json_object_get(j, "error"), "line")), "with the line");
	json_decref(j);
}

static void test_clean(void)
{
	char out[8];

	text_clean("\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac", 100, out, sizeof(out), false);
	is_str("\xe2\x82\xac\xe2\x82\xac", out, "no character is cut in two");
	text_clean("\xe2\x82", 100, out, sizeof(out), false);
	is_str("\xef\xbf\xbd\xef\xbf\xbd", out, "a cut character is replaced, byte by byte");
	text_clean("\xc0\x80", 100, out, sizeof(out), false);
	is_str("\xef\xbf\xbd\xef\xbf\xbd", out, "an overlong NUL is replaced");
	text_clean("a\nb", 100, out, sizeof(out), false);
	is_str("a\nb", out, "lines stay where they may");
	text_clean("abcdef", 3, out, sizeof(out), true);
	is_str("abc", out, "nothing past the maximum is read");
}

static void test_denials(void)
{
	struct policy_rule rule = { .name = (char *)"socket", .origin = (char *)"network.mode=none" };
	struct session_report r = {
		.status = STATUS_ERROR, .exit_code = 1, .ran = true, .denied_total = 5, .n_denied = 2, .denied_counted = true,
		.denied = { { .nr = 41, .count = 4, .rule = &rule, .what = "socket(AF_INET, SOCK_STREAM, 0)",
			      .allow_with = "--net host" },
			    { .nr = 101, .count = 1, .what = "ptrace(0)" } },
	};
	json_t *j = parsed(&r, &policy), *first = json_array_get(json_object_get(j, "denied"), 0);

	is_int(2, json_array_size(json_object_get(j, "denied")), "two denials");
	is_str("socket(AF_INET, SOCK_STREAM, 0)", str(first, "what", NULL), "what");
	is_str("network.mode=none", str(first, "rule", NULL), "rule");
	is_str("--net host", str(first, "allow_with", NULL), "what allows it");
	is_str("default", str(json_array_get(json_object_get(j, "denied"), 1), "rule", NULL), "no rule is the default");
	is_int(5, json_integer_value(json_object_get(j, "denied_total")), "all are counted");
	json_decref(j);
}

/* ---- hints ---------------------------------------------------------------------- */

static void hint_for(const char *target, const char *dir, const char *module, struct session_report *r)
{
	struct session_run run = { .policy = &policy, .mode = WIRE_MODE_FILE, .target = target, .dir = dir };

	*r = (struct session_report){ .status = STATUS_ERROR, .exit_code = 1, .ran = true };
	r->claim.outcome = WIRE_OUTCOME_EXCEPTION;
	snprintf(r->claim.type, sizeof(r->claim.type), "ModuleNotFoundError");
	snprintf(r->claim.name, sizeof(r->claim.name), "%s", module);
	hint_make(&run, r);
}

static void touch(const char *path)
{
	FILE *f = fopen(path, "we");

	if (f)
		fclose(f);
}

static void test_hints(void)
{
	char dir[] = "/tmp/smoljail-test-XXXXXX";
	struct session_report r;

	if (!mkdtemp(dir) || chdir(dir) < 0) {
		skip("hints", "no temporary folder");
		return;
	}
	touch("helper.py");
	mkdir("pkg", 0755);
	hint_for("t.py", NULL, "helper", &r);
	has_str("--dir .", r.hint, "a neighbour's file names --dir");
	hint_for("./t.py", NULL, "pkg.part", &r);
	has_str("--dir .", r.hint, "a neighbour's folder too");
	hint_for("t.py", ".", "helper", &r);
	ok(!strstr(r.hint, "--dir"), "not when --dir was given");
	hint_for("t.py", NULL, "numpy.linalg", &r);
	has_str("pip install --target DIR numpy", r.hint, "a package names --packages");
	hint_for("t.py", NULL, "cv2", &r);
	has_str("opencv-python-headless", r.hint, "by the package's name");
	hint_for("t.py", NULL, "tkinter", &r);
	ok(!strstr(r.hint, "pip"), "what the root leaves out cannot be installed");
	hint_for("t.py", NULL, "../../etc/passwd", &r);
	is_str("", r.hint, "a name that is no identifier leads nowhere");
	hint_for("t.py", NULL, "", &r);
	is_str("", r.hint, "nor does an empty one");
	unlink("helper.py");
	rmdir("pkg");
	if (chdir("/") == 0)
		rmdir(dir);
}

static void test_exec_hint(void)
{
	struct session_run run = { .policy = &policy, .mode = WIRE_MODE_EXEC };
	struct session_report r = { .status = STATUS_EXIT, .exit_code = 127 };

	r.claim.outcome = WIRE_OUTCOME_EXEC_FAILED;
	r.claim.line = ENOENT;
	hint_make(&run, &r);
	has_str("from the root", r.hint, "a missing command says where commands come from");
}

static void test_denial_hint(void)
{
	struct session_run run = { .policy = &policy, .mode = WIRE_MODE_CODE };
	struct policy_rule rule = { .origin = (char *)"syscalls.deny" };
	struct session_report r = {
		.status = STATUS_ERROR, .exit_code = 1, .ran = true, .n_denied = 1, .denied_total = 1,
		.denied = { { .nr = 101, .count = 1, .rule = &rule, .error = EPERM, .what = "ptrace(16)", .allow_with = "--policy open" } },
	};

	r.claim.outcome = WIRE_OUTCOME_EXCEPTION;
	snprintf(r.claim.message, sizeof(r.claim.message), "[Errno 1] Operation not permitted");
	snprintf(r.claim.type, sizeof(r.claim.type), "PermissionError");
	hint_make(&run, &r);
	is_str("the policy denied ptrace(16) (syscalls.deny); to allow it: --policy open", r.hint, "a refusal is explained");
	snprintf(r.claim.message, sizeof(r.claim.message), "[Errno 13] Permission denied");
	hint_make(&run, &r);
	is_str("", r.hint, "another errno is not the filter's");
	snprintf(r.denied[0].what, sizeof(r.denied[0].what), "socket(AF_INET)");
	snprintf(r.claim.message, sizeof(r.claim.message), "<urlopen error [Errno -3] Temporary failure in name resolution>");
	hint_make(&run, &r);
	has_str("socket(AF_INET)", r.hint, "a failed look-up of a name comes of the refused socket");
}

int main(void)
{
	test_normal();
	test_setup_failure();
	test_hostile_claim();
	test_clean();
	test_denials();
	test_hints();
	test_exec_hint();
	test_denial_hint();
	return done();
}
