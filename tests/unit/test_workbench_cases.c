/*
 * test_workbench_cases.c - files of cases, and policies held against them
 *
 * Runs as: any user
 * Trusts: nothing
 * Never: makes a call outside of a jail
 */
#include <sys/syscall.h>

#include "policy_help.h"
#include "workbench/internal.h"

static struct workbench_case cases[WORKBENCH_CASES_MAX];
static size_t n_cases;

static int parse(const char *text)
{
	_cleanup_free_ char *copy = strdup(text);

	n_cases = 0;
	memset(&help_err, 0, sizeof(help_err));
	return workbench_cases_parse(copy, strlen(text), "f.tests", cases, &n_cases, &help_err);
}

static void test_parse(void)
{
	is_int(0, parse(""), "an empty file");
	is_int(0, n_cases, "has no case");
	is_int(0, parse("# only\n\n \t\r\n  # words\n"), "neither has one of comments");
	is_int(0, n_cases, "none");
	is_int(0, parse("\nsocket AF_INET SOCK_STREAM|SOCK_CLOEXEC = EACCES # why\r\ngetpid=allow\nuselib = kill\nlseek 1 -1 0x2 = ENOSYS"),
	       "four cases");
	is_int(4, n_cases, "are four");
	ok(cases[0].line == 2 && cases[0].nr == SYS_socket && cases[0].args[0] == 2 && cases[0].args[1] == 0x80001 &&
	   cases[0].action == POLICY_DENY && cases[0].error == EACCES, "names, a line, an error");
	ok(cases[1].line == 3 && cases[1].nr == SYS_getpid && cases[1].action == POLICY_ALLOW, "no spaces");
	ok(cases[2].action == POLICY_KILL && cases[2].error == 0, "kill");
	ok(cases[3].args[1] == UINT64_MAX && cases[3].action == POLICY_ENOSYS && cases[3].error == ENOSYS, "a number below zero, ENOSYS");
}

static void refused_text(const char *text, const char *id, const char *place, const char *words)
{
	int r = parse(text);

	ok(r < 0 && help_err.exit == SJ_EXIT_USAGE && strcmp(help_err.id, id) == 0 && str_prefix(help_err.what, place) &&
	   (strstr(help_err.what, words) || strstr(help_err.why, words) || strstr(help_err.fix, words)), "%.40s is refused with %s, %s", text, id,
	   words);
}

static void test_refused(void)
{
	char longest[1024], *many = calloc(WORKBENCH_CASES_MAX + 2, 16);

	refused_text("getpid = allow\ngetpid allow\n", "E_CASES", "f.tests:2: ", "no \"= ANSWER\"");
	refused_text("getpid =\n", "E_CASES", "f.tests:1: ", "one word");
	refused_text("getpid = allow deny\n", "E_CASES", "f.tests:1: ", "one word");
	refused_text("getpid = fine\n", "E_CASES", "f.tests:1: ", "the name of an error");
	refused_text("= allow\n", "E_CASES", "f.tests:1: ", "no system call");
	refused_text("\n\ngetpit = allow\n", "E_SYSCALL", "f.tests:3: ", "getpid");
	refused_text("getpid 1 = allow\n", "E_SYSCALL_ARG", "f.tests:1: ", "too many");
	refused_text("socket AF_INTE = allow\n", "E_SYSCALL_ARG", "f.tests:1: ", "AF_INET");
	refused_text("mmap 1 2 3 4 5 6 7 = allow\n", "E_CASES", "f.tests:1: ", "six");
	memset(longest, ' ', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	refused_text(longest, "E_CASES", "f.tests: ", "too long");
	for (size_t i = 0; many && i <= WORKBENCH_CASES_MAX; i++)
		memcpy(many + i * 15, "getpid = allow\n", 15);
	refused_text(many ? many : "", "E_CASES", "f.tests: ", "too many cases");
	free(many);
	ok(workbench_cases_parse((char[]){ "get\0pid" }, 7, "f", cases, &n_cases, &help_err) < 0, "so is a byte 0");
	has_str("no text", help_err.why, "as no text");
}

static void play(const char *policy, const char *text, bool right, const char *words)
{
	_cleanup_free_ char *out = NULL;
	bool was = !right;
	int r = workbench_test(policy, help_write("c.tests", text), false, false, &out, &was, &help_err);

	ok(r == 0 && was == right && strstr(out, words), "%s: %.50s: %s", policy, text, words);
	if (r < 0 || !strstr(out, words))
		printf("# %s\n", out ? out : help_err.what);
}

static void test_played(void)
{
	_cleanup_free_ char *json = NULL;
	_cleanup_json_ json_t *doc = NULL;
	const json_t *entry;
	bool right = true;

	play("python", "socket AF_INET SOCK_STREAM = ENETUNREACH\nfork = allow\nuselib = kill\nmseal = ENOSYS\n", true, "4 cases asked");
	play("python-strict", "getpid = allow\nfork = allow\n", false, "c.tests:2: fork(): wanted allow, got EPERM (default)");
	play("python", "socket AF_INET SOCK_STREAM = allow\n", false, "got ENETUNREACH (network.mode=none)");
	play("python", "clone CLONE_NEWUSER = allow\n", false, "got EPERM (@never)");
	ok(workbench_test("python", help_path("c.tests"), false, true, &json, &right, &help_err) == 0 && !right &&
	   base_json_parse(json, strlen(json), "j", &doc, NULL) == 0, "as JSON");
	entry = json_array_get(json_object_get(doc, "mismatches"), 0);
	is_str("EPERM", json_string_value(json_object_get(entry, "got")), "with what came");
	is_str("@never", json_string_value(json_object_get(entry, "rule")), "and the rule");
	ok(workbench_test("python", "/nonexistent/c.tests", false, false, &json, &right, &help_err) < 0, "a file that is not there is refused");
	is_str("E_CASES", help_err.id, "with its name");
}

int main(void)
{
	help_begin();
	test_parse();
	test_refused();
	test_played();
	return help_end();
}
