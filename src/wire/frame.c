/*
 * frame.c - the session protocol's frames: lengths, and a first look at the JSON inside
 *
 * Runs as: the supervisor; also linked into the guest
 * Trusts: nothing; every byte may come from a hostile client or guest
 * Never: allocates, or looks past the bytes it was given
 */
#include <string.h>

#include "wire/wire.h"

void wire_frame_head(size_t len, unsigned char ret[WIRE_FRAME_HEAD])
{
	for (unsigned int i = 0; i < WIRE_FRAME_HEAD; i++)
		ret[i] = (unsigned char)(len >> (8 * (WIRE_FRAME_HEAD - 1 - i)));
}

int wire_frame_peek(const void *data, size_t len, size_t max, size_t *ret_len)
{
	const unsigned char *head = data;
	size_t n = 0;

	if (len < WIRE_FRAME_HEAD)
		return 0;
	for (unsigned int i = 0; i < WIRE_FRAME_HEAD; i++)
		n = n << 8 | head[i];
	if (n < 1 || n > max)
		return -EMSGSIZE;
	*ret_len = n;
	return len - WIRE_FRAME_HEAD >= n;
}

/* ---- the first look ----------------------------------------------------- */

/* What the walk below knows of where it is. */
struct look {
	const char *at, *end;
	unsigned int depth;
	size_t values;
	struct wire_members *members;
	struct wire_span last;		/* the last string at depth 1, quotes excluded */
	const char *value;		/* where the value of the current member began, NULL between members */
};

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* From the opening quote to behind the closing one. */
static int skip_string(struct look *l)
{
	const char *start = ++l->at;

	for (; l->at < l->end; l->at++) {
		if (*l->at == '\\')
			l->at++;
		else if (*l->at == '"')
			break;
	}
	if (l->at >= l->end)
		return -EBADMSG;
	if (l->depth == 1 && !l->value)
		l->last = (struct wire_span){ start, (size_t)(l->at - start) };
	l->at++;
	return 0;
}

static int begin_member(struct look *l)
{
	/* An escape could spell a known name in a way that a comparison of bytes does not see. */
	if (!l->last.text || memchr(l->last.text, '\\', l->last.len))
		return -EBADMSG;
	if (l->members->n == WIRE_MEMBERS_MAX)
		return -E2BIG;
	l->at++;
	while (l->at < l->end && is_space(*l->at))
		l->at++;
	l->value = l->at;
	return 0;
}

static void end_member(struct look *l)
{
	const char *end = l->at;

	if (!l->value)
		return;
	while (end > l->value && is_space(end[-1]))
		end--;
	l->members->list[l->members->n++] = (struct wire_member){
		.key = l->last, .value = { l->value, (size_t)(end - l->value) },
	};
	l->value = NULL;
	l->last = (struct wire_span){ 0 };
}

/* One character outside of strings. */
static int step(struct look *l)
{
	switch (*l->at) {
	case '"':
		return skip_string(l);
	case '{':
	case '[':
		l->values++;
		if (++l->depth > WIRE_DEPTH_MAX)
			return -E2BIG;
		break;
	case '}':
	case ']':
		if (l->depth == 0)
			return -EBADMSG;
		if (l->depth-- == 1)
			end_member(l);
		break;
	case ',':
		if (++l->values > WIRE_VALUES_MAX)
			return -E2BIG;
		if (l->depth == 1)
			end_member(l);
		break;
	case ':':
		if (l->depth == 1 && !l->value)
			return begin_member(l);
		break;
	default:
		break;
	}
	l->at++;
	return 0;
}

int wire_json_look(const char *json, size_t len, struct wire_members *ret)
{
	struct look l = { .at = json, .end = json + len, .members = ret };
	int r = 0;

	ret->n = 0;
	while (l.at < l.end && is_space(*l.at))
		l.at++;
	if (l.at == l.end || *l.at != '{')
		return -EBADMSG;
	while (r == 0 && l.at < l.end)
		r = step(&l);
	if (r == 0 && l.values > WIRE_VALUES_MAX)
		r = -E2BIG;
	return r < 0 ? r : l.depth ? -EBADMSG : 0;
}

const struct wire_span *wire_member(const struct wire_members *m, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < m->n; i++)
		if (m->list[i].key.len == len && memcmp(m->list[i].key.text, name, len) == 0)
			return &m->list[i].value;
	return NULL;
}
