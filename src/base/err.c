/*
 * err.c - fill struct sj_err, and what the cleanup attributes call
 *
 * Runs as: anyone
 * Trusts: format strings; their arguments may be hostile text
 * Never: prints, exits, or lets a control character into a message
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"

void base_freep(void *p)
{
	void **pp = p;

	free(*pp);
	*pp = NULL;
}

void base_closep(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	errno = saved;
}

void base_fclosep(FILE **f)
{
	int saved = errno;

	if (*f)
		fclose(*f);
	*f = NULL;
	errno = saved;
}

/* Length of the well-formed UTF-8 character at s, 0 if there is none. */
static size_t char_len(const unsigned char *s)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t len = s[0] < 0x80 ? 1 : s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
	uint32_t c;

	if (len == 1)
		return 1;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	c = s[0] & (0xffu >> (len + 1));
	for (size_t i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	return c < least[len] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff) ? 0 : len;
}

/*
 * Messages quote paths and names that somebody else chose, and go to terminals
 * and into JSON: no control characters, nothing that is not UTF-8.
 */
static void make_plain(char *text)
{
	unsigned char *s = (unsigned char *)text;

	while (*s) {
		size_t len = char_len(s);
		bool control = s[0] < 0x20 || s[0] == 0x7f || (s[0] == 0xc2 && s[1] < 0xa0);

		if (len == 0 || control)
			*s = '?';
		s += len == 0 || control ? 1 : len;
	}
}

_printf_(3, 0)
static void format(char *ret, size_t size, const char *fmt, va_list ap)
{
	if (vsnprintf(ret, size, fmt, ap) < 0)
		ret[0] = '\0';
	make_plain(ret);
}

int err_set(struct sj_err *err, int error, int exit, const char *id, const char *fmt, ...)
{
	struct sj_err fresh = { 0 };
	va_list ap;

	/* Some callers hold -errno. Zero would read as success, so it may not leave this function. */
	fresh.error = error < 0 ? -error : error;
	if (fresh.error == 0)
		fresh.error = EIO;
	if (!err)
		return -fresh.error;

	/* Arguments may point into *err, so it is overwritten last. */
	fresh.exit = exit;
	snprintf(fresh.id, sizeof(fresh.id), "%s", id);
	va_start(ap, fmt);
	format(fresh.what, sizeof(fresh.what), fmt, ap);
	va_end(ap);
	*err = fresh;
	return -fresh.error;
}

_printf_(3, 0)
static void set_field(char *field, size_t size, const char *fmt, va_list ap)
{
	char text[sizeof(((struct sj_err *)0)->what)];

	format(text, sizeof(text) < size ? sizeof(text) : size, fmt, ap);
	memcpy(field, text, strlen(text) + 1);
}

void err_why(struct sj_err *err, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return;
	va_start(ap, fmt);
	set_field(err->why, sizeof(err->why), fmt, ap);
	va_end(ap);
}

void err_fix(struct sj_err *err, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return;
	va_start(ap, fmt);
	set_field(err->fix, sizeof(err->fix), fmt, ap);
	va_end(ap);
}

int err_oom(struct sj_err *err)
{
	err_set(err, ENOMEM, SJ_EXIT_SETUP, "E_NOMEM", "out of memory");
	err_why(err, "smoljail itself could not allocate memory on the host");
	err_fix(err, "free memory, or raise the limit that smoljail was started under (ulimit -v, cgroup)");
	return -ENOMEM;
}
