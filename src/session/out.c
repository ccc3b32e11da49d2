/*
 * out.c - frames of the session protocol, written straight into a queue
 *
 * Runs as: the supervisor
 * Trusts: JSON that msg_parse() let through; text of any other origin is made valid
 * Never: leaves half a frame in the queue
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "session/serve_internal.h"

#define LIT(s) s, sizeof(s) - 1

static void put(struct out *o, const char *data, size_t len)
{
	if (!o->failed && buf_append(o->b, data, len) < 0)
		o->failed = true;
}

/* ---- text ------------------------------------------------------------------- */

/*
 * Bytes at s that make one character; *ret_bad: how many make none and are
 * replaced together. 0 with *ret_bad 0: the end came too early to tell.
 */
static unsigned int utf8_take(const unsigned char *s, size_t left, unsigned int *ret_bad)
{
	unsigned int n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;

	*ret_bad = n ? 0 : 1;
	for (unsigned int i = 1; i < n; i++) {
		unsigned char low = 0x80, high = 0xbf;

		if (i == 1) {
			low = s[0] == 0xe0 ? 0xa0 : s[0] == 0xf0 ? 0x90 : 0x80;
			high = s[0] == 0xed ? 0x9f : s[0] == 0xf4 ? 0x8f : 0xbf;
		}
		if (i >= left)
			return 0;
		if (s[i] < low || s[i] > high) {
			*ret_bad = i;
			return 0;
		}
	}
	return n;
}

static void put_escape(struct out *o, unsigned char c)
{
	static const char named[] = "btnvfr"; /* 8 to 13; JSON has no \v */
	char text[8];

	if (c == '"' || c == '\\')
		snprintf(text, sizeof(text), "\\%c", c);
	else if (c >= 8 && c <= 13 && c != 11)
		snprintf(text, sizeof(text), "\\%c", named[c - 8]);
	else
		snprintf(text, sizeof(text), "\\u%04x", c);
	put(o, text, strlen(text));
}

static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* Returns how many bytes at the end are the beginning of a character. */
static size_t put_escaped(struct out *o, const unsigned char *s, size_t len, uint64_t *replaced)
{
	unsigned int n, bad;

	while (len > 0) {
		size_t run = 0;

		while (run < len && is_plain(s[run]))
			run++;
		put(o, (const char *)s, run);
		s += run;
		len -= run;
		if (len == 0)
			break;
		n = utf8_take(s, len, &bad);
		if (n == 0 && bad == 0)
			return len;
		if (n == 1)
			put_escape(o, s[0]);
		else if (n > 1)
			put(o, (const char *)s, n);
		else
			put(o, LIT("\xef\xbf\xbd"));
		*replaced += n == 0;
		s += n ? n : bad;
		len -= n ? n : bad;
	}
	return 0;
}

/* What was left over last time, completed by the first bytes of this time. */
static size_t put_rest(struct out *o, const unsigned char *s, size_t len, struct utf8_rest *rest, uint64_t *replaced)
{
	size_t used = 0;
	unsigned int bad;

	while (rest->n > 0 && rest->n < sizeof(rest->bytes) && used < len) {
		rest->bytes[rest->n++] = s[used++];
		if (utf8_take(rest->bytes, rest->n, &bad) == 0 && bad == 0)
			continue;
		if (bad > 0) {
			/* The byte that does not fit begins something of its own. */
			rest->n--;
			used--;
			(*replaced)++;
			put(o, LIT("\xef\xbf\xbd"));
		} else {
			put(o, (const char *)rest->bytes, rest->n);
		}
		rest->n = 0;
	}
	return used;
}

/* ---- frames ------------------------------------------------------------------- */

static void put_key(struct out *o, const char *key)
{
	if (!o->first)
		put(o, LIT(","));
	o->first = false;
	if (!key)
		return;
	put(o, LIT("\""));
	put(o, key, strlen(key));
	put(o, LIT("\":"));
}

void out_begin(struct out *o, struct buf *b, const char *type, const char *id)
{
	static const char room[WIRE_FRAME_HEAD];

	*o = (struct out){ .b = b, .start = b->len, .first = true };
	put(o, room, sizeof(room));
	put(o, LIT("{"));
	out_text(o, "type", type);
	if (id)
		out_raw(o, "id", &(struct wire_span){ id, strlen(id) });
}

int out_end(struct out *o)
{
	unsigned char head[WIRE_FRAME_HEAD];

	put(o, LIT("}"));
	if (o->failed) {
		o->b->len = o->start;
		return -ENOBUFS;
	}
	wire_frame_head(o->b->len - o->start - WIRE_FRAME_HEAD, head);
	memcpy(o->b->data + o->start, head, sizeof(head));
	return 0;
}

void out_bytes(struct out *o, const char *key, const char *text, size_t len, struct utf8_rest *rest, uint64_t *replaced)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t used, left;

	put_key(o, key);
	put(o, LIT("\""));
	used = put_rest(o, s, len, rest, replaced);
	left = rest->n ? 0 : put_escaped(o, s + used, len - used, replaced);
	if (left) {
		rest->n = (unsigned int)left;
		memcpy(rest->bytes, s + len - left, left);
	}
	put(o, LIT("\""));
}

void out_text(struct out *o, const char *key, const char *text)
{
	uint64_t replaced = 0;

	if (!text) {
		out_null(o, key);
		return;
	}
	put_key(o, key);
	put(o, LIT("\""));
	if (put_escaped(o, (const unsigned char *)text, strlen(text), &replaced))
		put(o, LIT("\xef\xbf\xbd"));
	put(o, LIT("\""));
}

void out_raw(struct out *o, const char *key, const struct wire_span *json)
{
	put_key(o, key);
	if (json)
		put(o, json->text, json->len);
	else
		put(o, LIT("null"));
}

void out_json(struct out *o, const char *key, const json_t *json)
{
	_cleanup_free_ char *text = json ? json_dumps(json, REPORT_FORMAT) : NULL;

	if (!text)
		o->failed = true;
	else
		out_raw(o, key, &(struct wire_span){ text, strlen(text) });
}

static void put_number(struct out *o, const char *key, const char *text)
{
	put_key(o, key);
	put(o, text, strlen(text));
}

void out_int(struct out *o, const char *key, uint64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, n);
	put_number(o, key, text);
}

void out_ms(struct out *o, const char *key, uint64_t us)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64 ".%03u", us / 1000, (unsigned int)(us % 1000));
	put_number(o, key, text);
}

void out_bool(struct out *o, const char *key, bool yes)
{
	put_number(o, key, yes ? "true" : "false");
}

void out_null(struct out *o, const char *key)
{
	put_number(o, key, "null");
}

void out_open(struct out *o, const char *key, char bracket)
{
	put_key(o, key);
	put(o, &bracket, 1);
	o->first = true;
}

void out_close(struct out *o, char bracket)
{
	put(o, &bracket, 1);
	o->first = false;
}
