/*
 * ask.c - a system call and its arguments as people write them
 *
 * Runs as: the caller
 * Trusts: nothing of the words
 * Never: guesses: a word that it does not know is refused, with the nearest that it knows
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "filter/internal.h"

#define PART_MAX 32	/* of a number */
#define WORD_SHOWN 80	/* of a word, in an error */

/* One part of "A|B". Octal as C and chmod(1) have it, and numbers below zero; all else as in policies. */
static bool parse_part(const char *word, size_t len, uint64_t *ret)
{
	char text[PART_MAX], *end;

	if (len < 2 || !isdigit((unsigned char)word[1]) || (word[0] != '-' && word[0] != '0'))
		return policy_parse_const(word, len, ret);
	if (len >= sizeof(text))
		return false;
	memcpy(text, word, len);
	text[len] = '\0';
	errno = 0;
	*ret = word[0] == '-' ? (uint64_t)strtoll(text, &end, 0) : strtoull(text, &end, 0);
	return errno == 0 && *end == '\0';
}

bool filter_parse_arg(const char *word, uint64_t *ret)
{
	uint64_t value = 0, part;

	for (const char *at = word;; at++) {
		size_t len = strcspn(at, "|");

		if (!parse_part(at, len, &part))
			return false;
		value |= part;
		at += len;
		if (!*at)
			break;
	}
	*ret = value;
	return true;
}

/* "41" or "syscall_460": the number itself. */
static bool is_number(const char *name, int *ret)
{
	unsigned long n;
	char *end;

	if (str_prefix(name, "syscall_"))
		name += strlen("syscall_");
	if (!isdigit((unsigned char)name[0]))
		return false;
	errno = 0;
	n = strtoul(name, &end, 10);
	if (errno || *end || n > INT32_MAX)
		return false;
	*ret = (int)n;
	return true;
}

int filter_parse_call(const char *name, int *ret, struct sj_err *err)
{
	int nr = call_resolve(name), r;
	const char *near;

	if (nr >= 0 || is_number(name, &nr)) {
		*ret = nr;
		return 0;
	}
	r = err_set(err, EINVAL, SJ_EXIT_USAGE, "E_SYSCALL", "no system call is named \"%.*s\"", WORD_SHOWN, name);
	if (nr == CALL_ELSEWHERE) {
		err_why(err, "other architectures have it, this one has not");
		err_fix(err, "name the call that programs make here");
		return r;
	}
	near = call_nearest(name);
	err_why(err, "neither libseccomp nor smoljail has it in its table");
	if (near)
		err_fix(err, "did you mean \"%s\"?", near);
	else
		err_fix(err, "write the kernel's name as in syscalls(2), or the number");
	return r;
}

static const char *nearest_constant(const char *word)
{
	const struct policy_constant *c;
	const char **names;
	const char *near;
	size_t n;

	c = policy_constants(&n);
	names = calloc(n, sizeof(*names));
	for (size_t i = 0; names && i < n; i++)
		names[i] = c[i].name;
	near = names ? str_nearest(word, names, n) : NULL;
	free(names);
	return near;
}

static int refuse_arg(int nr, size_t index, const char *word, struct sj_err *err)
{
	char name[32];
	const char *bar = strrchr(word, '|'), *near = nearest_constant(bar ? bar + 1 : word);
	int r = err_set(err, EINVAL, SJ_EXIT_USAGE, "E_SYSCALL_ARG", "%s: argument %zu, \"%.*s\", is not understood",
			filter_call_name(nr, name, sizeof(name)), index, WORD_SHOWN, word);

	err_why(err, "an argument is a number such as 7, -1, 0x1f or 0644, or names of constants joined by |");
	if (near)
		err_fix(err, "did you mean %s?", near);
	else
		err_fix(err, "smoljail-policy(5) has all names under CONSTANTS; any number may stand for one");
	return r;
}

int filter_parse_args(int nr, char *const *words, size_t n, uint64_t ret[6], struct sj_err *err)
{
	const char *letters = call_args(nr);
	size_t most = letters ? strlen(letters) : 6;
	uint64_t args[6] = { 0 };
	char name[32];
	int r;

	if (n > most) {
		r = err_set(err, EINVAL, SJ_EXIT_USAGE, "E_SYSCALL_ARG", "%s: %zu arguments are too many",
			    filter_call_name(nr, name, sizeof(name)), n);
		err_why(err, "the call has %zu", most);
		err_fix(err, "leave out what does not belong to it; those that are left out at the end are 0");
		return r;
	}
	for (size_t i = 0; i < n; i++)
		if (!filter_parse_arg(words[i], &args[i]))
			return refuse_arg(nr, i, words[i], err);
	memcpy(ret, args, sizeof(args));
	return 0;
}
