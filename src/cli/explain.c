/*
 * explain.c - smoljail run --explain: refusals on standard error as they happen
 *
 * Runs as: the caller, in the middle of a run whose program waits
 * Trusts: the library's text, which is one line of valid UTF-8 without control characters
 * Never: waits for the reader of standard error, or prints more than four lines for one refusal
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/cli.h"

/* A pipe that can be written at all takes this much at once. */
#define TEXT_MAX PIPE_BUF

struct page {
	char text[TEXT_MAX];
	size_t len;
};

static void put(struct page *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void put(struct page *p, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(p->text + p->len, sizeof(p->text) - p->len, fmt, ap);
	va_end(ap);
	p->len += n < 0 ? 0 : (size_t)n;
	if (p->len >= sizeof(p->text))
		p->len = sizeof(p->text) - 1;
}

static const char *words_of(int error)
{
	return error < 0 ? "the name cannot be looked up" : strerror(error);
}

static void put_where(struct page *p, const struct sj_denial *d)
{
	if (!d->file)
		return;
	put(p, "  at:    %s", d->file);
	if (d->line)
		put(p, ", line %d", d->line);
	if (d->function && strcmp(d->function, "<module>") != 0)
		put(p, ", in %s", d->function);
	put(p, "%s%s\n", d->text ? ": " : "", d->text ? d->text : "");
}

static void put_remedy(struct page *p, const struct sj_denial *d)
{
	if (d->allow_with)
		put(p, "  allow: %s\n", d->allow_with);
	else
		put(p, "  allow: not offered%s%s\n", d->never ? ": " : "", d->never ? d->never : "");
}

void explain_denial(void *arg, const struct sj_denial *d)
{
	struct pollfd out = { .fd = STDERR_FILENO, .events = POLLOUT };
	struct explain *e = arg;
	struct page p = { .len = 0 };

	put(&p, "smoljail: denied: %s%s%s\n", d->what, d->error ? ": " : "", d->error ? words_of(d->error) : "");
	put_where(&p, d);
	put(&p, "  by:    %s, rule %s%s%s%s\n", d->layer, d->rule, d->reason ? ": " : "", d->reason ? d->reason : "",
	    d->by_guest ? " (seen by the interpreter inside)" : "");
	put_remedy(&p, d);
	if (poll(&out, 1, 0) == 1 && (out.revents & POLLOUT) && write(STDERR_FILENO, p.text, p.len) == (ssize_t)p.len)
		e->told++;
	else
		e->untold++;
}

void explain_rest(const struct explain *e, unsigned long long calls)
{
	if (e->untold)
		fprintf(stderr, "smoljail: %lu more kinds of refusals could not be written here; --report FILE lists them\n", e->untold);
	if (calls > e->told)
		fprintf(stderr, "smoljail: the filter refused %llu calls in all\n", calls);
}
