/*
 * test_oci.c - profiles of containers: what is refused, what is noted, and what the policy says
 *
 * Runs as: any user
 * Trusts: nothing
 * Never: runs anything
 */
#include <jansson.h>

#include "filter/filter.h"
#include "tap.h"
#include "workbench/oci.h"

#define CALLS(list) "{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"syscalls\": [" list "]}"
#define ALLOW(name, more) "{\"names\": [\"" name "\"], \"action\": \"SCMP_ACT_ALLOW\"" more "}"
#define ARG(index, value, op) "{\"index\": " #index ", \"value\": " #value ", \"op\": \"SCMP_CMP_" op "\"}"

static struct sj_err err;
static char notes[16384];

static void keep(void *arg, const char *id, const char *path, const char *sentence)
{
	size_t n = strlen(notes);

	(void)arg;
	snprintf(notes + n, sizeof(notes) - n, "[%s] %s: %s\n", id, path, sentence);
}

static json_t *import_with(const char *text, const struct sj_policy_import *from)
{
	_cleanup_free_ char *out = NULL;
	json_t *doc = NULL;

	notes[0] = '\0';
	err = (struct sj_err){ 0 };
	if (workbench_import_oci(text, strlen(text), "p.json", from, keep, NULL, &out, &err) == 0)
		doc = json_loads(out, 0, NULL);
	return doc;
}

static json_t *import(const char *text)
{
	return import_with(text, &(struct sj_policy_import){ .arch = "amd64", .kernel = "5.10" });
}

static void refused(const char *text, const char *id, const char *place, const char *why)
{
	json_t *doc = import(text);
	bool right = !doc && err.exit == SJ_EXIT_USAGE && strcmp(err.id, id) == 0 && strstr(err.what, place) &&
		     strstr(err.why, why) && err.fix[0];

	if (!ok(right, "refused at \"%s\": %.70s", place, text))
		printf("# %s: %s; %s\n", err.id, err.what, err.why);
	json_decref(doc);
}

static void noted(const char *text, const char *id, const char *words)
{
	json_t *doc = import(text);
	char tag[64];

	snprintf(tag, sizeof(tag), "[%s] ", id);
	if (!ok(doc && strstr(notes, tag) && strstr(notes, words), "%s says \"%s\"", id, words))
		printf("# %s: %s; %s\n%s", err.id, err.what, err.why, notes);
	json_decref(doc);
}

/* The rules and allowed names of a call, as compact JSON: "allow" or "[{...}]". */
static const char *says(const char *text, const char *name)
{
	static char *last;
	json_t *doc = import(text), *entry, *found = json_array();
	json_t *calls = json_object_get(doc, "syscalls");
	size_t i;

	free(last);
	json_array_foreach(json_object_get(calls, "rules"), i, entry)
		if (strcmp(json_string_value(json_object_get(entry, "name")), name) == 0) {
			json_object_del(entry, "name");
			json_array_append(found, entry);
		}
	json_array_foreach(json_object_get(calls, "allow"), i, entry)
		if (strcmp(json_string_value(entry), name) == 0)
			json_array_append_new(found, json_string("allow"));
	last = json_dumps(found, JSON_COMPACT);
	json_decref(found);
	json_decref(doc);
	return last ? last : "";
}

static void test_form(void)
{
	char deep[400] = "";

	refused("", "E_JSON", "p.json", "");
	refused("{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"defaultAction\": \"SCMP_ACT_ALLOW\"}", "E_JSON", "p.json", "duplicate");
	for (size_t i = 0; i < 100; i++)
		strcat(deep, "[");
	for (size_t i = 0; i < 100; i++)
		strcat(deep, "]");
	refused(deep, "E_JSON_DEPTH", "p.json", "");
	refused("[]", "E_OCI", "the document", "an object");
	refused("{}", "E_OCI", "defaultAction", "missing");
	refused("{\"linux\": {\"seccomp\": 1}}", "E_OCI", "linux.seccomp", "an object");
	refused("{\"linux\": {}}", "E_OCI", "linux.seccomp", "an object");
	refused("{\"defaultAction\": \"SCMP_ACT_MAYBE\"}", "E_OCI", "defaultAction", "SCMP_ACT_MAYBE");
	refused("{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"defaultErrnoRet\": 5000}", "E_OCI", "defaultErrnoRet", "4095");
	refused("{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"syscalls\": {}}", "E_OCI", "syscalls", "a list");
	refused("{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"architectures\": [\"SCMP_ARCH_X86\"], \"archMap\": [{}]}", "E_OCI",
		"archMap", "both");
	refused("{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"archMap\": [1]}", "E_OCI", "archMap[0]", "an object");
	refused("{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"flags\": [1]}", "E_OCI", "flags[0]", "a string");
	refused(CALLS("1"), "E_OCI", "syscalls[0]", "an object");
	refused(CALLS("{\"action\": \"SCMP_ACT_ALLOW\"}"), "E_OCI", "syscalls[0]", "neither");
	refused(CALLS("{\"names\": [\"a\"], \"name\": \"b\", \"action\": \"SCMP_ACT_ALLOW\"}"), "E_OCI", "syscalls[0]", "both");
	refused(CALLS("{\"names\": [1], \"action\": \"SCMP_ACT_ALLOW\"}"), "E_OCI", "syscalls[0].names[0]", "a string");
	refused(CALLS("{\"names\": [\"open\"]}"), "E_OCI", "syscalls[0].action", "missing");
	refused(CALLS(ALLOW("open", ", \"errnoRet\": -1")), "E_OCI", "syscalls[0].errnoRet", "0 to 4095");
	refused(CALLS(ALLOW("open", ", \"errnoRet\": 1.5")), "E_OCI", "syscalls[0].errnoRet", "whole number");
	refused(CALLS(ALLOW("open", ", \"includes\": []")), "E_OCI", "syscalls[0].includes", "an object");
	refused(CALLS(ALLOW("open", ", \"includes\": {\"minKernel\": \"new\"}")), "E_OCI", "syscalls[0].includes.minKernel", "4.8");
	refused(CALLS(ALLOW("open", ", \"excludes\": {\"caps\": \"CAP_SYSLOG\"}")), "E_OCI", "syscalls[0].excludes.caps", "a list");
}

static void test_args(void)
{
	char many[4096] = "{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"syscalls\": [{\"names\": [\"dup2\"], \"action\": \"SCMP_ACT_ALLOW\", "
			  "\"args\": [";

	refused(CALLS(ALLOW("dup2", ", \"args\": {}")), "E_OCI", "syscalls[0].args", "a list");
	refused(CALLS(ALLOW("dup2", ", \"args\": [1]")), "E_OCI", "syscalls[0].args[0]", "an object");
	refused(CALLS(ALLOW("dup2", ", \"args\": [" ARG(6, 1, "EQ") "]")), "E_OCI", "syscalls[0].args[0].index", "0 to 5");
	refused(CALLS(ALLOW("dup2", ", \"args\": [{\"value\": 1, \"op\": \"SCMP_CMP_EQ\"}]")), "E_OCI", "args[0].index", "missing");
	refused(CALLS(ALLOW("dup2", ", \"args\": [" ARG(0, -1, "EQ") "]")), "E_OCI", "syscalls[0].args[0].value", "from 0");
	refused(CALLS(ALLOW("dup2", ", \"args\": [" ARG(0, "1", "EQ") "]")), "E_OCI", "syscalls[0].args[0].value", "whole number");
	refused(CALLS(ALLOW("dup2", ", \"args\": [" ARG(0, 18446744073709551616, "EQ") "]")), "E_JSON", "p.json", "");
	refused(CALLS(ALLOW("dup2", ", \"args\": [" ARG(0, 1, "IN") "]")), "E_OCI", "syscalls[0].args[0].op", "SCMP_CMP_IN");
	for (int i = 0; i <= OCI_ARGS_MAX; i++)
		snprintf(many + strlen(many), sizeof(many) - strlen(many), "%s" ARG(0, 1, "EQ"), i ? "," : "");
	strcat(many, "]}]}");
	refused(many, "E_OCI", "syscalls[0].args", "at most 32");
}

static void test_notes(void)
{
	noted("{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"colour\": 1}", "oci-ignored", "colour: no profile has this key");
	noted("{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"listenerPath\": \"/x\"}", "oci-ignored", "listenerPath: there is no agent");
	noted("{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"flags\": [\"SECCOMP_FILTER_FLAG_LOG\"]}", "oci-ignored", "flags: ");
	noted("{\"defaultAction\": \"SCMP_ACT_TRAP\"}", "oci-action", "defaultAction: SCMP_ACT_TRAP");
	noted("{\"linux\": {\"seccomp\": {\"defaultAction\": \"SCMP_ACT_KILL\"}}}", "oci-default", "linux.seccomp.defaultAction: ");
	noted(CALLS(ALLOW("frobnicate", "")), "oci-unknown", "answer ENOSYS: frobnicate");
	noted(CALLS(ALLOW("chown32", "")), "oci-elsewhere", "chown32");
	noted(CALLS(ALLOW("mount", "")), "oci-never", "mount");
	noted("{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"architectures\": [\"SCMP_ARCH_X86_64\", \"SCMP_ARCH_X86\"]}", "oci-arch", "32-bit");
	noted("{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"archMap\": [{\"subArchitectures\": [\"SCMP_ARCH_X86\"]}]}", "oci-arch", "32-bit");
	noted(CALLS(""), "oci-floor", "and 4");
	noted("{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"syscalls\": [{\"names\": [\"fcntl\"], \"action\": \"SCMP_ACT_ERRNO\", \"args\": ["
	      ARG(1, 3, "EQ") "]}]}", "oci-floor", "fcntl");
	noted(CALLS(ALLOW("open", ", \"includes\": {\"caps\": [\"CAP_SYSLOG\"]}")), "oci-left-out", "1 of 1 entries");
	noted(CALLS("{\"names\": [\"open\"], \"action\": \"SCMP_ACT_LOG\"}"), "oci-action", "syscalls[0]: SCMP_ACT_LOG");
	noted(CALLS("{\"names\": [\"open\"], \"action\": \"SCMP_ACT_ERRNO\", \"errnoRet\": 0}"), "oci-errno", "refused with EPERM");
	noted(CALLS("{\"names\": [\"open\"], \"action\": \"SCMP_ACT_ERRNO\", \"errnoRet\": 4000}"), "oci-errno", "error 4000");
	noted(CALLS(ALLOW("dup2", ", \"args\": [" ARG(5, 1, "EQ") "]")), "oci-condition", "syscalls[0].args[0]: dup2: the call has no such");
	noted(CALLS(ALLOW("open", ", \"args\": [" ARG(0, 4096, "GT") "]")), "oci-condition", "a pointer");
	noted(CALLS(ALLOW("dup2", ", \"args\": [" ARG(0, 4294967296, "EQ") "]")), "oci-condition", "more bits");
	noted(CALLS(ALLOW("dup2", ", \"args\": [" ARG(0, 1, "GE") ", " ARG(0, 5, "LE") "]")), "oci-alternatives", "syscalls[0]: ");
	noted(CALLS(ALLOW("umask", "") ", {\"names\": [\"umask\"], \"action\": \"SCMP_ACT_KILL\"}"), "oci-mixed", "umask");
	noted(CALLS(ALLOW("umask", "") ", {\"names\": [\"umask\"], \"action\": \"SCMP_ACT_KILL\", \"args\": [" ARG(0, 7, "EQ") "]}"),
	      "oci-overlap", "umask");
}

static void test_meaning(void)
{
	is_str("[\"allow\"]", says(CALLS(ALLOW("umask", "")), "umask"), "a plain name is allowed");
	is_str("[]", says(CALLS(ALLOW("read", "")), "read"), "what the floor has needs no word");
	is_str("[{\"args\":[{\"index\":0,\"op\":\"==\",\"value\":1}],\"action\":\"allow\"},"
	       "{\"args\":[{\"index\":0,\"op\":\"<\",\"value\":9}],\"action\":\"allow\"}]",
	       says(CALLS(ALLOW("dup2", ", \"args\": [" ARG(0, 1, "EQ") ", " ARG(0, 9, "LT") "]")), "dup2"),
	       "two conditions on one argument are alternatives");
	is_str("[{\"args\":[{\"index\":0,\"op\":\"==\",\"value\":1},{\"index\":1,\"op\":\"!=\",\"value\":2}],\"action\":\"allow\"}]",
	       says(CALLS(ALLOW("dup2", ", \"args\": [" ARG(0, 1, "EQ") ", " ARG(1, 2, "NE") "]")), "dup2"), "on two they go together");
	is_str("[{\"args\":[{\"index\":0,\"op\":\"==\",\"value\":4294967295}],\"action\":\"allow\"}]",
	       says(CALLS(ALLOW("dup2", ", \"args\": [" ARG(0, 18446744073709551615, "EQ") "]")), "dup2"),
	       "-1 of 64 bits is -1 of 32");
	is_str("[{\"args\":[{\"index\":1,\"op\":\"==\",\"value\":\"0xffffffffffffffff\"}],\"action\":\"allow\"}]",
	       says(CALLS(ALLOW("truncate", ", \"args\": [" ARG(1, 18446744073709551615, "EQ") "]")), "truncate"),
	       "a number past what JSON's reader holds");
	is_str("[]", says(CALLS(ALLOW("dup2", ", \"args\": [" ARG(5, 1, "EQ") "]")), "dup2"),
	       "an allowing rule that cannot be tested is dropped");
	is_str("[{\"action\":\"deny\",\"errno\":\"EINVAL\"}]",
	       says("{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"syscalls\": [{\"names\": [\"dup2\"], \"action\": \"SCMP_ACT_ERRNO\", "
		    "\"errnoRet\": 22, \"args\": [" ARG(5, 1, "EQ") "]}]}", "dup2"), "a refusing one holds always");
	is_str("[{\"args\":[{\"index\":0,\"op\":\"==\",\"value\":7}],\"action\":\"kill\"},\"allow\"]",
	       says(CALLS(ALLOW("umask", "") ", {\"names\": [\"umask\"], \"action\": \"SCMP_ACT_KILL\", \"args\": [" ARG(0, 7, "EQ") "]}"),
		    "umask"), "the strictest comes first");
	is_str("[{\"action\":\"enosys\"}]",
	       says(CALLS("{\"names\": [\"mlock\"], \"action\": \"SCMP_ACT_ERRNO\", \"errno\": \"ENOSYS\"}"), "mlock"),
	       "an error by its name");
}

/* What a policy always refuses or allows needs no rule. */
static void test_idle(void)
{
	is_str("[\"allow\"]", says(CALLS(ALLOW("clone", ", \"args\": [{\"index\": 0, \"value\": 2114060288, \"valueTwo\": 0, "
					      "\"op\": \"SCMP_CMP_MASKED_EQ\"}]")), "clone"),
	       "all but new namespaces is all that there can be");
	is_str("[{\"args\":[{\"index\":0,\"op\":\"&==\",\"mask\":2114060544,\"value\":0}],\"action\":\"allow\"}]",
	       says(CALLS(ALLOW("clone", ", \"args\": [{\"index\": 0, \"value\": 2114060544, \"valueTwo\": 0, "
				"\"op\": \"SCMP_CMP_MASKED_EQ\"}]")), "clone"),
	       "less than that is a rule");
	is_str("[]", says(CALLS(ALLOW("fcntl", ", \"args\": [" ARG(1, 3, "EQ") "]")), "fcntl"), "a part of the floor needs no rule");
	is_str("[{\"args\":[{\"index\":1,\"op\":\"==\",\"value\":8}],\"action\":\"allow\"}]",
	       says(CALLS(ALLOW("fcntl", ", \"args\": [" ARG(1, 8, "EQ") "]")), "fcntl"), "more than the floor does");
	is_str("[{\"args\":[{\"index\":0,\"op\":\"==\",\"value\":1}],\"action\":\"allow\"},{\"action\":\"deny\",\"errno\":\"EPERM\"}]",
	       says(CALLS(ALLOW("socket", ", \"args\": [" ARG(0, 1, "EQ") "]")), "socket"),
	       "the profile, not the network section, refuses other sockets");
}

static void test_here(void)
{
	static const char text[] = CALLS(ALLOW("umask", ", \"includes\": {\"caps\": [\"CAP_SYSLOG\", \"CAP_BPF\"]}") ","
					 ALLOW("times", ", \"includes\": {\"minKernel\": \"5.11\"}") ","
					 ALLOW("pause", ", \"excludes\": {\"arches\": [\"riscv64\"]}"));
	const struct sj_policy_import other = { .arch = "riscv64", .kernel = "5.11", .caps = "syslog,CAP_BPF" };
	const struct sj_policy_import bad[] = { { .arch = "AMD64" }, { .kernel = "5" }, { .kernel = "5.x" }, { .caps = "a b" } };
	json_t *doc = import(text);

	is_int(1, json_array_size(json_object_get(json_object_get(doc, "syscalls"), "allow")), "without capabilities, on Linux 5.10");
	json_decref(doc);
	doc = import_with(text, &other);
	is_int(2, json_array_size(json_object_get(json_object_get(doc, "syscalls"), "allow")), "with them, on 5.11, elsewhere");
	json_decref(doc);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		doc = import_with(text, &bad[i]);
		ok(!doc && strcmp(err.id, "E_IMPORT") == 0 && err.why[0] && err.fix[0], "%s", err.what);
	}
}

static void test_numbers(void)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{ "[9223372036854775807]", "[9223372036854775807]" },
		{ "[9223372036854775808, 1]", "[\"9223372036854775808\", 1]" },
		{ "[-9223372036854775809]", "[-9223372036854775809]" },
		{ "[9223372036854775808.5]", "[9223372036854775808.5]" },
		{ "[\"9223372036854775808\"]", "[\"9223372036854775808\"]" },
		{ "[\"\\\"\", 18446744073709551615]", "[\"\\\"\", \"18446744073709551615\"]" },
		{ "18446744073709551615", "\"18446744073709551615\"" },
		{ "\"\\", "\"\\" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		size_t len;
		_cleanup_free_ char *out = oci_quote_numbers(cases[i].in, strlen(cases[i].in), &len);

		is_str(cases[i].out, out, "%s", cases[i].in);
	}
}

static void test_region(void)
{
	const int nr = filter_call_number("dup3");
	const struct policy_arg range[] = { { .index = 0, .op = POLICY_GE, .value = 3 }, { .index = 0, .op = POLICY_LE, .value = 1034 } };
	const struct policy_arg but[] = { { .index = 0, .op = POLICY_NE, .value = 5 } };
	_cleanup_region_ struct region a = { 0 }, b = { 0 }, less = { 0 }, common = { 0 };
	size_t wrong = 0;

	ok(region_of_args(nr, range, 2, &a) == 0 && region_of_args(nr, but, 1, &b) == 0 && b.n == 32, "conditions as bits");
	ok(region_without(&a, &b, &less) == 0 && less.n == 1 && less.list[0].value[0] == 5, "a range less all but one of its numbers");
	ok(region_common(&a, &b, &common) == 0, "a range and all but one of its numbers");
	for (uint64_t v = 0; v < 3000; v++) {
		size_t n = 0;

		for (size_t i = 0; i < common.n; i++)
			n += (v & common.list[i].mask[0]) == common.list[i].value[0];
		wrong += n != (v >= 3 && v <= 1034 && v != 5);
	}
	is_int(0, wrong, "each number is in one piece, or in none");
}

static void bwrap(char *const *args, const char *id, const char *words)
{
	const struct sj_policy_import from = { .from = "bwrap-args", .args = args };
	_cleanup_free_ char *out = NULL;
	bool right;

	notes[0] = '\0';
	err = (struct sj_err){ 0 };
	if (workbench_import(&from, keep, NULL, &out, &err) < 0)
		right = id && strcmp(err.id, id) == 0 && strstr(err.why, words);
	else
		right = strstr(id ? notes : out, words);
	if (!ok(right, "bwrap %s %s: %s", args[0], args[1] ? args[1] : "", words))
		printf("# %s: %s; %s\n%s%s", err.id, err.what, err.why, notes, out ? out : "");
}
#define BWRAP(id, words, ...) bwrap((char *const[]){ __VA_ARGS__, NULL }, id, words)

static void test_bwrap(void)
{
	BWRAP(NULL, "\"/data:/in\"", "--unshare-all", "--ro-bind", "/data", "/in", "sh", "-c", "--cap-add");
	BWRAP(NULL, "\"B\"", "--setenv", "A", "B");
	BWRAP(NULL, "\"hostname\": \"h\"", "--hostname", "h");
	BWRAP("note", "[bwrap-mount] --ro-bind: /usr:/usr is left out", "--ro-bind", "/usr", "/usr");
	BWRAP("note", "[bwrap-mount] --ro-bind-try: /nonexistent is left out", "--ro-bind-try", "/nonexistent", "/x");
	BWRAP(NULL, "\"/etc:/x\"", "--ro-bind-try", "/etc", "/x");
	BWRAP("note", "[bwrap-network] ", "--unshare-pid");
	BWRAP("note", "[bwrap-network] ", "--unshare-all", "--share-net");
	BWRAP("note", "[bwrap-place] --tmpfs: /run is left out", "--tmpfs", "/run");
	BWRAP("note", "[bwrap-ignored] --chdir: ", "--chdir", "/x");
	BWRAP("E_IMPORT_BWRAP", "capability", "--cap-add", "ALL");
	BWRAP("E_IMPORT_BWRAP", "device", "--dev-bind", "/dev", "/dev");
	BWRAP("E_IMPORT_BWRAP", "missing", "--ro-bind", "/data");
	BWRAP("E_IMPORT_BWRAP", "no option", "--frobnicate");
	BWRAP("E_IMPORT_BWRAP", "UTF-8", "--setenv", "A", "\xff");
	BWRAP("E_IMPORT_BWRAP", "colon", "--ro-bind", "/data", "/a:/b");
	BWRAP("E_POLICY_VALUE", "loader", "--setenv", "LD_PRELOAD", "/x");
}

int main(void)
{
	test_form();
	test_args();
	test_notes();
	test_meaning();
	test_idle();
	test_here();
	test_numbers();
	test_region();
	test_bwrap();
	return done();
}
