/*
 * cases.c - a file of questions to a policy: a system call with arguments, and the answer that is expected
 *
 * Runs as: the caller
 * Trusts: nothing in the file
 * Never: passes over a line that it does not understand
 */
#include <stdlib.h>
#include <string.h>

#include "workbench/internal.h"

#define LINE_MAX_BYTES 512
#define BLANK " \t\r"

static int no(struct sj_err *err, const char *why)
{
	int r = err_set(err, EINVAL, SJ_EXIT_USAGE, "E_CASES", "a case that is not understood");

	err_why(err, "%s", why);
	err_fix(err, "write CALL [ARGUMENT...] = ANSWER, such as: socket AF_INET SOCK_STREAM = ENETUNREACH");
	return r;
}

static int parse_answer(const char *word, struct workbench_case *c, struct sj_err *err)
{
	c->error = policy_errno(word);
	if (strcmp(word, "allow") == 0)
		c->action = POLICY_ALLOW;
	else if (strcmp(word, "kill") == 0)
		c->action = POLICY_KILL;
	else if (c->error == 0)
		return no(err, "an answer is allow, kill, or the name of an error such as EPERM");
	else
		c->action = c->error == ENOSYS ? POLICY_ENOSYS : POLICY_DENY;
	return 0;
}

int workbench_case_parse(char *line, struct workbench_case *ret, struct sj_err *err)
{
	char *words[7], *save = NULL, *equals, *word, *answer;
	struct workbench_case c = { 0 };
	size_t n = 0;
	int r;

	line[strcspn(line, "#")] = '\0';
	equals = strrchr(line, '=');
	if (!equals)
		return no(err, "it has no \"= ANSWER\"");
	*equals = '\0';
	answer = strtok_r(equals + 1, BLANK, &save);
	if (!answer || strtok_r(NULL, BLANK, &save))
		return no(err, "behind the \"=\" stands one word");
	for (word = strtok_r(line, BLANK, &save); word; word = strtok_r(NULL, BLANK, &save)) {
		if (n == ARRAY_LEN(words))
			return no(err, "no call has more than six arguments");
		words[n++] = word;
	}
	if (n == 0)
		return no(err, "it names no system call");
	r = filter_parse_call(words[0], &c.nr, err);
	if (r == 0)
		r = filter_parse_args(c.nr, words + 1, n - 1, c.args, err);
	if (r == 0)
		r = parse_answer(answer, &c, err);
	if (r == 0)
		*ret = c;
	return r;
}

/* The same error, with the place in front. */
static int at_line(int r, const char *file, int line, struct sj_err *err)
{
	char what[sizeof(err->what)];

	if (err) {
		snprintf(what, sizeof(what), "%.200s:%d: %.250s", file, line, err->what);
		memcpy(err->what, what, sizeof(what));
	}
	return r;
}

static int too_much(const char *file, const char *why, struct sj_err *err)
{
	int r = err_set(err, EFBIG, SJ_EXIT_USAGE, "E_CASES", "%.200s: too much for one file of cases", file);

	err_why(err, "%s", why);
	err_fix(err, "at most %d cases a file, and %d bytes a line", WORKBENCH_CASES_MAX, LINE_MAX_BYTES);
	return r;
}

int workbench_cases_parse(char *text, size_t len, const char *file, struct workbench_case *ret, size_t *ret_n, struct sj_err *err)
{
	char *at = text, *end;
	size_t n = 0;
	int r;

	if (memchr(text, '\0', len))
		return too_much(file, "it holds a byte 0, so it is no text", err);
	for (int line = 1; at; line++, at = end ? end + 1 : NULL) {
		end = strchr(at, '\n');
		if (end)
			*end = '\0';
		if (strlen(at) > LINE_MAX_BYTES)
			return too_much(file, "a line is too long", err);
		if (at[strspn(at, BLANK)] == '\0' || at[strspn(at, BLANK)] == '#')
			continue;
		if (n == WORKBENCH_CASES_MAX)
			return too_much(file, "it has too many cases", err);
		r = workbench_case_parse(at, &ret[n], err);
		if (r < 0)
			return at_line(r, file, line, err);
		ret[n++].line = line;
	}
	*ret_n = n;
	return 0;
}

int workbench_cases_read(const char *file, struct workbench_case **ret, size_t *ret_n, struct sj_err *err)
{
	_cleanup_free_ struct workbench_case *cases = calloc(WORKBENCH_CASES_MAX, sizeof(*cases));
	_cleanup_free_ char *text = NULL;
	size_t len;
	int r;

	if (!cases)
		return err_oom(err);
	r = io_read_file(file, POLICY_FILE_MAX, &text, &len);
	if (r < 0) {
		err_set(err, -r, SJ_EXIT_USAGE, "E_CASES", "cannot read the cases \"%.200s\": %s", file, strerror(-r));
		err_why(err, "cases are a readable file of at most %u bytes", POLICY_FILE_MAX);
		err_fix(err, "name such a file");
		return r;
	}
	r = workbench_cases_parse(text, len, file, cases, ret_n, err);
	if (r == 0)
		*ret = steal_ptr(cases);
	return r;
}
