/*
 * tap.h - the few words that unit tests need; prints the Test Anything Protocol
 *
 *	int main(void)
 *	{
 *		ok(1 + 1 == 2, "one and one");
 *		is_int(-EINVAL, parse("x"), "refuses x");
 *		is_str("64M", text, "prints %s", what);
 *		if (!have_cgroup)
 *			skip("limits are written", "no writable cgroup here");
 *		return done();
 *	}
 *
 * skip_all("reason") ends a file that cannot run here (exit status 77).
 */
#ifndef SMOLJAIL_TESTS_TAP_H
#define SMOLJAIL_TESTS_TAP_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TAP_SKIP_STATUS 77

static int tap_count, tap_failed;

/* Reports one test and returns whether it passed, so that a caller can end early. */
__attribute__((format(printf, 4, 5), unused))
static bool tap_result(bool passed, const char *file, int line, const char *name, ...)
{
	va_list ap;

	tap_count++;
	if (!passed)
		tap_failed++;
	printf("%s %d - ", passed ? "ok" : "not ok", tap_count);
	va_start(ap, name);
	vprintf(name, ap);
	va_end(ap);
	putchar('\n');
	if (!passed)
		printf("# failed at %s:%d\n", file, line);
	/* A crash later on must not take this line with it. */
	fflush(stdout);
	return passed;
}

__attribute__((unused))
static void tap_say_str(const char *word, const char *s)
{
	if (s)
		printf("# %s \"%s\"\n", word, s);
	else
		printf("# %s NULL\n", word);
}

#define ok(cond, ...) tap_result(!!(cond), __FILE__, __LINE__, __VA_ARGS__)

#define is_int(want, got, ...) ({ \
	intmax_t _want = (intmax_t)(want), _got = (intmax_t)(got); \
	bool _same = tap_result(_want == _got, __FILE__, __LINE__, __VA_ARGS__); \
	if (!_same) \
		printf("# wanted %" PRIdMAX "\n# got %" PRIdMAX "\n", _want, _got); \
	_same; \
})

/* NULL equals only NULL. */
#define is_str(want, got, ...) ({ \
	const char *_want = (want), *_got = (got); \
	bool _same = tap_result(_want == _got || (_want && _got && strcmp(_want, _got) == 0), \
				__FILE__, __LINE__, __VA_ARGS__); \
	if (!_same) { \
		tap_say_str("wanted", _want); \
		tap_say_str("got", _got); \
	} \
	_same; \
})

/* got holds the words somewhere. */
#define has_str(words, got, ...) ({ \
	const char *_words = (words), *_text = (got); \
	bool _has = tap_result(_text && strstr(_text, _words), __FILE__, __LINE__, __VA_ARGS__); \
	if (!_has) { \
		tap_say_str("wanted within", _words); \
		tap_say_str("got", _text); \
	} \
	_has; \
})

__attribute__((unused))
static void skip(const char *name, const char *reason)
{
	printf("ok %d - %s # skip %s\n", ++tap_count, name, reason);
	fflush(stdout);
}

__attribute__((unused, noreturn))
static void skip_all(const char *reason)
{
	printf("1..0 # skip %s\n", reason);
	fflush(stdout);
	/* What the caller still holds is no leak: it had no chance to free it. */
	_exit(TAP_SKIP_STATUS);
}

/* The plan comes last; a file that dies before has no plan and counts as failed. */
__attribute__((unused))
static int done(void)
{
	printf("1..%d\n", tap_count);
	return tap_failed ? 1 : 0;
}

#endif
