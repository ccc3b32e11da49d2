/*
 * fuzz_frame.c - fuzz target: a stream of frames, as a client or a guest would send it
 *
 * Runs as: make fuzz
 * Trusts: nothing
 * Never: accepts a frame whose members, taken by the first look, are not what the parser finds there
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "session/msg.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The bytes that are passed on must mean what was checked. */
static void check_member(const struct msg *m, const struct wire_member *member)
{
	char key[64];
	json_t *a, *b;

	if (member->key.len >= sizeof(key))
		abort();
	memcpy(key, member->key.text, member->key.len);
	key[member->key.len] = '\0';
	a = json_object_get(m->json, key);
	b = json_loadb(member->value.text, member->value.len,
		       JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL | JSON_DECODE_ANY, NULL);
	if (!a || !b || !json_equal(a, b))
		abort();
	json_decref(b);
}

static void check(enum msg_side side, const char *json, size_t len)
{
	_cleanup_msg_ struct msg m = { 0 };
	struct msg_fault fault;

	if (msg_parse(side, json, len, &m, &fault) < 0) {
		if (!fault.code || !memchr(fault.message, '\0', sizeof(fault.message)) || !memchr(fault.id, '\0', sizeof(fault.id)))
			abort();
		return;
	}
	if (json_object_size(m.json) != m.raw.n)
		abort();
	for (size_t i = 0; i < m.raw.n; i++)
		check_member(&m, &m.raw.list[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum msg_side side = size && (data[0] & 1) ? MSG_FROM_GUEST : MSG_FROM_CLIENT;
	char *copy = malloc(size ? size : 1);
	size_t at = 1, len;

	if (copy && size)
		memcpy(copy, data, size);
	while (copy && at < size && wire_frame_peek(copy + at, size - at, 4096, &len) == 1) {
		check(side, copy + at + WIRE_FRAME_HEAD, len);
		at += WIRE_FRAME_HEAD + len;
	}
	free(copy);
	return 0;
}
