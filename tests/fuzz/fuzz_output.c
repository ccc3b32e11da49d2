/*
 * fuzz_output.c - fuzz target: a guest's output on its way into frames, in pieces as pipes cut it
 *
 * Runs as: make fuzz
 * Trusts: nothing
 * Never: makes a frame that is no JSON, or a text that depends on where the pieces were cut
 *
 * The first eight bytes are where the cuts are, the rest is the output.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "session/serve_internal.h"

#define CUTS 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* One frame with one piece; its text is added to ret. */
static void piece(const char *s, size_t len, struct utf8_rest *rest, uint64_t *replaced, struct buf *ret)
{
	_cleanup_buf_ struct buf b = BUF_INIT(1u << 20);
	_cleanup_json_ json_t *j = NULL;
	char *copy = malloc(len ? len : 1);
	struct wire_members members;
	struct out o;
	size_t n;
	json_t *text;

	if (!copy)
		abort();
	memcpy(copy, s, len);
	out_begin(&o, &b, "output", "\"1\"");
	out_bytes(&o, "data", copy, len, rest, replaced);
	free(copy);
	if (out_end(&o) < 0 || wire_frame_peek(b.data, b.len, WIRE_FRAME_MAX, &n) != 1 || n + WIRE_FRAME_HEAD != b.len)
		abort();
	if (wire_json_look(b.data + WIRE_FRAME_HEAD, n, &members) < 0 || members.n != 3)
		abort();
	j = json_loadb(b.data + WIRE_FRAME_HEAD, n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	text = json_object_get(j, "data");
	if (!text || buf_append(ret, json_string_value(text), json_string_length(text)) < 0)
		abort();
}

static void in_pieces(const char *s, size_t len, const uint8_t cuts[CUTS], uint64_t *replaced, struct buf *ret)
{
	struct utf8_rest rest = { .n = 0 };

	for (size_t i = 0; i < CUTS; i++) {
		size_t n = cuts[i] < len ? cuts[i] : len;

		piece(s, n, &rest, replaced, ret);
		s += n;
		len -= n;
	}
	piece(s, len, &rest, replaced, ret);
	/* The end of the stream, as a step's end tells it. */
	if (rest.n > 0 && buf_append(ret, rest.bytes, rest.n) < 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t none[CUTS];
	_cleanup_buf_ struct buf a = BUF_INIT(1u << 20), b = BUF_INIT(1u << 20);
	uint64_t replaced_a = 0, replaced_b = 0;

	if (size < CUTS || size > 1u << 16)
		return 0;
	in_pieces((const char *)data + CUTS, size - CUTS, none, &replaced_a, &a);
	in_pieces((const char *)data + CUTS, size - CUTS, data, &replaced_b, &b);
	if (a.len != b.len || (a.len && memcmp(a.data, b.data, a.len) != 0) || replaced_a != replaced_b)
		abort();
	return 0;
}
