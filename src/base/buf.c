/*
 * buf.c - bounded byte buffers, strings and string lists
 *
 * Runs as: anyone
 * Trusts: sizes of its callers' objects; contents are hostile
 * Never: grows a buffer past the maximum it was given
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

#define BUF_FIRST_SIZE 256
#define NEAREST_WORD_MAX 64	/* longer words get no suggestion */

/* Room for len more bytes and the NUL that always follows the data. */
static int buf_reserve(struct buf *b, size_t len)
{
	size_t need, size;
	char *data;

	if (b->len > b->max || len > b->max - b->len)
		return -ENOBUFS;
	if (__builtin_add_overflow(b->len, len, &need) || __builtin_add_overflow(need, 1, &need))
		return -ENOBUFS;
	if (need <= b->size)
		return 0;
	size = b->size > SIZE_MAX / 2 ? need : b->size * 2;
	if (size < BUF_FIRST_SIZE)
		size = BUF_FIRST_SIZE;
	if (b->max < SIZE_MAX && size > b->max + 1)
		size = b->max + 1;
	if (size < need)
		size = need;
	data = realloc(b->data, size);
	if (!data)
		return -ENOMEM;
	b->data = data;
	b->size = size;
	return 0;
}

int buf_append(struct buf *b, const void *data, size_t len)
{
	int r = buf_reserve(b, len);

	if (r < 0)
		return r;
	if (len > 0)
		memcpy(b->data + b->len, data, len);
	b->len += len;
	b->data[b->len] = '\0';
	return 0;
}

int buf_vprintf(struct buf *b, const char *fmt, va_list ap)
{
	_cleanup_free_ char *text = NULL;
	int n = vasprintf(&text, fmt, ap);

	if (n < 0) {
		text = NULL; /* undefined after a failure */
		return -ENOMEM;
	}
	return buf_append(b, text, (size_t)n);
}

int buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = buf_vprintf(b, fmt, ap);
	va_end(ap);
	return r;
}

void buf_free(struct buf *b)
{
	if (!b)
		return;
	free(b->data);
	*b = BUF_INIT(b->max);
}

char *str_printf(const char *fmt, ...)
{
	va_list ap;
	char *s;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&s, fmt, ap);
	va_end(ap);
	return n < 0 ? NULL : s;
}

bool str_prefix(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

size_t strv_len(char *const *v)
{
	size_t n = 0;

	while (v && v[n])
		n++;
	return n;
}

int strv_push(char ***v, const char *s)
{
	_cleanup_free_ char *copy = strdup(s);
	size_t n = strv_len(*v);
	char **grown;

	if (!copy)
		return -ENOMEM;
	grown = reallocarray(*v, n + 2, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	grown[n] = steal_ptr(copy);
	grown[n + 1] = NULL;
	*v = grown;
	return 0;
}

void base_strv_freep(char ***v)
{
	for (size_t i = 0; *v && (*v)[i]; i++)
		free((*v)[i]);
	free(*v);
	*v = NULL;
}

static size_t min_of(size_t a, size_t b)
{
	return a < b ? a : b;
}

static bool same_letter(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Edits to turn a into b, two swapped neighbours counted as one; case is ignored. */
static size_t distance(const char *a, const char *b)
{
	size_t rows[3][NEAREST_WORD_MAX + 1];
	size_t la = strlen(a), lb = strlen(b);
	size_t *before = rows[0], *prev = rows[1], *cur = rows[2];

	for (size_t j = 0; j <= lb; j++)
		prev[j] = before[j] = j;
	for (size_t i = 1; i <= la; i++) {
		size_t *oldest = before;

		cur[0] = i;
		for (size_t j = 1; j <= lb; j++) {
			size_t change = prev[j - 1] + (same_letter(a[i - 1], b[j - 1]) ? 0 : 1);

			cur[j] = min_of(min_of(prev[j], cur[j - 1]) + 1, change);
			if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) && same_letter(a[i - 2], b[j - 1]))
				cur[j] = min_of(cur[j], before[j - 2] + 1);
		}
		before = prev;
		prev = cur;
		cur = oldest;
	}
	return prev[lb];
}

const char *str_nearest(const char *word, const char *const *names, size_t n)
{
	size_t len = strlen(word), best = SIZE_MAX;
	const char *ret = NULL;

	if (len == 0 || len > NEAREST_WORD_MAX)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		size_t d;

		if (strlen(names[i]) > NEAREST_WORD_MAX)
			continue;
		d = distance(word, names[i]);
		if (d < best) {
			best = d;
			ret = names[i];
		}
	}
	/* One slip in a short word, one in every three letters of a longer one. */
	return best <= (len < 3 ? 1 : len / 3) ? ret : NULL;
}
