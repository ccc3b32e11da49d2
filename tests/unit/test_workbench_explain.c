/*
 * test_workbench_explain.c - what a call does under a policy, in words
 *
 * Runs as: any user
 * Trusts: nothing
 * Never: makes a call that it asks about
 */
#include <sys/syscall.h>

#include "policy_help.h"
#include "workbench/internal.h"

#define WORDS 4

static const struct {
	const char *policy, *call;
	const char *args[6];
	const char *words[WORDS];	/* all of them are in the text */
} cases[] = {
	{ "python", "socket", { "AF_INET", "SOCK_STREAM" },
	  { "refused with ENETUNREACH", "network.mode=none: argument 0 is AF_INET", "the jail has no network", "--net loopback" } },
	{ "python", "socket", { "AF_UNIX", "SOCK_STREAM|SOCK_CLOEXEC" }, { "allowed", "@sockets", "SOCK_STREAM|SOCK_CLOEXEC" } },
	{ "python", "41", { "1" }, { "socket(AF_UNIX, 0, 0)", "allowed" } },
	{ "python", "socket", { "AF_ALG" }, { "EAFNOSUPPORT", "only unix sockets", "nothing is offered" } },
	{ "python", "clone", { "SIGCHLD|CLONE_NEWUSER" }, { "EPERM", "@never", "nothing can: it is refused under every policy" } },
	{ "python-strict", "clone", { "CLONE_VM|CLONE_THREAD" }, { "EPERM", "default", "[\"@threads\"]" } },
	{ "python-strict", "clone", { "SIGCHLD" }, { "EPERM", "[\"@process\"]" } },
	{ "python", "clone3", { NULL }, { "ENOSYS", "@never", "falls back to clone" } },
	{ "python", "uselib", { NULL }, { "the end of the program", "used by exploits only" } },
	{ "python", "mseal", { NULL }, { "ENOSYS", "default", "[\"mseal\"]" } },
	{ "python", "mseal", { "0" }, { "newer than smoljail's table" } },
	{ "python", "syscall_700", { NULL }, { "ENOSYS", "number 700", "nothing can" } },
	{ "python", "lseek", { "0", "-1", "SEEK_END" }, { "lseek(0, -1, SEEK_END)", "allowed", "@floor" } },
	{ "python", "openat", { "AT_FDCWD", "0", "O_RDWR|O_CREAT", "0644" }, { "openat(AT_FDCWD, ..., O_RDWR|O_CREAT, 0644)" } },
	{ "python", "ioctl", { "0", "0x100005412" }, { "TIOCSTI", "@never", "EPERM" } },
	{ "shell", "clone", { NULL }, { "The first line that fits decides", "argument 0 has CLONE_NEWNS", "all else: allowed", "[@process]" } },
	{ "open", "socket", { NULL }, { "argument 1 has SOCK_STREAM of 0xf", "argument 2 is at most IPPROTO_UDP", "all else" } },
#ifdef __x86_64__
	{ "open", "1073741863", { NULL }, { "the end of the program", "another architecture" } },
#endif
};

static void test_cases(void)
{
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_policy_ struct policy *p = help_load_sets(cases[i].policy, NULL, 0);
		_cleanup_free_ char *text = NULL;
		bool all;
		size_t n = 0;
		int r;

		while (n < 6 && cases[i].args[n])
			n++;
		r = workbench_explain(p, cases[i].call, (char *const *)cases[i].args, n, false, &text, &help_err);
		all = r == 0;
		for (size_t k = 0; k < WORDS && cases[i].words[k] && all; k++)
			all = strstr(text, cases[i].words[k]);
		if (!ok(all, "%s: %s %s", cases[i].policy, cases[i].call, n ? cases[i].args[0] : "")) {
			printf("# %s\n", r < 0 ? help_err.what : "");
			for (char *line = text ? strtok(text, "\n") : NULL; line; line = strtok(NULL, "\n"))
				printf("# %s\n", line);
		}
	}
}

static void refused_call(const char *call, const char *arg, const char *id, const char *words)
{
	_cleanup_policy_ struct policy *p = help_load_sets("python", NULL, 0);
	char *args[] = { (char *)arg }, *text = NULL;
	int r = workbench_explain(p, call, args, arg ? 1 : 0, false, &text, &help_err);

	ok(r < 0 && !text && strcmp(help_err.id, id) == 0 && help_err.exit == SJ_EXIT_USAGE && help_err.why[0],
	   "%s %s is refused with %s", call, arg ? arg : "", id);
	has_str(words, help_err.fix, "and says %s", words);
}

static void test_refused(void)
{
	refused_call("sockt", NULL, "E_SYSCALL", "did you mean \"socket\"?");
	refused_call("", NULL, "E_SYSCALL", "syscalls(2)");
	refused_call("99999999999", NULL, "E_SYSCALL", "syscalls(2)");
	refused_call("-1", NULL, "E_SYSCALL", "syscalls(2)");
	refused_call("socket", "AF_INTE", "E_SYSCALL_ARG", "did you mean AF_INET?");
	refused_call("socket", "AF_INET|", "E_SYSCALL_ARG", "CONSTANTS");
	refused_call("socket", "08", "E_SYSCALL_ARG", "CONSTANTS");
	refused_call("socket", "99999999999999999999999", "E_SYSCALL_ARG", "CONSTANTS");
	refused_call("getpid", "1", "E_SYSCALL_ARG", "leave out");
	refused_call("socketcall", NULL, "E_SYSCALL", "here");
}

/* A policy's own rule, and words in it that a terminal would obey. */
static void test_own_rule(void)
{
	_cleanup_policy_ struct policy *p = help_load("{\"name\":\"own\",\"syscalls\":{\"deny\":[\"@time\"],\"rules\":[{\"name\":\"kill\",\"action\":"
						      "\"deny\",\"errno\":\"ESRCH\",\"reason\":\"no\\u001b[31m\\nrule: yes\"}]}}");
	_cleanup_free_ char *text = NULL, *denied = NULL, *json = NULL;
	char *args[] = { (char *)"1" };
	_cleanup_json_ json_t *doc = NULL;
	const json_t *rule;

	ok(p && workbench_explain(p, "kill", args, 1, false, &text, &help_err) == 0, "a rule of the policy's own");
	has_str("to allow: change or take out syscalls.rules[0]", text, "is what would have to change");
	ok(text && !strchr(text, '\033') && !strstr(text, "\nrule: yes"), "and its words stay on their line");
	ok(p && workbench_explain(p, "nanosleep", args, 1, false, &denied, &help_err) == 0, "a call in syscalls.deny");
	has_str("take it out of syscalls.deny", denied, "says so");
	ok(p && workbench_explain(p, "kill", NULL, 0, true, &json, &help_err) == 0 &&
	   base_json_parse(json, strlen(json), "json", &doc, NULL) == 0, "as JSON");
	rule = json_array_get(json_object_get(doc, "rules"), 0);
	is_str("deny", json_string_value(json_object_get(rule, "action")), "with the action");
	is_str("ESRCH", json_string_value(json_object_get(rule, "errno")), "the errno");
	is_str("syscalls.rules[0]", json_string_value(json_object_get(rule, "rule")), "and the rule");
}

static void test_kernel(void)
{
	if (kernel_has_call("read") == KERNEL_UNKNOWN) {
		skip("the kernel's calls are told apart", "no /proc/kallsyms with names of calls here");
		return;
	}
	is_int(KERNEL_HAS, kernel_has_call("read"), "the kernel has read");
	is_int(KERNEL_HAS, kernel_has_call("uname"), "and uname, whose function has another name");
	is_int(KERNEL_LACKS, kernel_has_call("tuxcall"), "and no tuxcall");
}

int main(void)
{
	help_begin();
	test_cases();
	test_refused();
	test_own_rule();
	test_kernel();
	return help_end();
}
