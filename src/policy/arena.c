/*
 * arena.c - memory that lives as long as its policy
 *
 * Runs as: supervisor, outside the jail
 * Trusts: sizes, which are bounded by POLICY_FILE_MAX
 * Never: frees a part
 */
#include <stdlib.h>
#include <string.h>

#include "policy/internal.h"

#define CHUNK_SIZE (32u << 10)
#define CHUNK_ALIGN 16u

struct chunk {
	struct chunk *next;
	size_t used, size;
	_Alignas(CHUNK_ALIGN) char data[];
};

void *arena_alloc(struct policy_own *own, size_t size)
{
	struct chunk *c = own->chunks;
	size_t need, room;
	void *ret;

	if (__builtin_add_overflow(size, CHUNK_ALIGN - 1, &need))
		return NULL;
	need &= ~(size_t)(CHUNK_ALIGN - 1);
	if (!c || c->size - c->used < need) {
		room = need > CHUNK_SIZE ? need : CHUNK_SIZE;
		if (room > SIZE_MAX - sizeof(*c))
			return NULL;
		c = malloc(sizeof(*c) + room);
		if (!c)
			return NULL;
		c->used = 0;
		c->size = room;
		c->next = own->chunks;
		own->chunks = c;
	}
	ret = c->data + c->used;
	c->used += need;
	return memset(ret, 0, size);
}

char *arena_strndup(struct policy_own *own, const char *s, size_t len)
{
	char *ret = len < SIZE_MAX ? arena_alloc(own, len + 1) : NULL;

	if (ret)
		memcpy(ret, s, len);
	return ret;
}

void arena_free(struct policy_own *own)
{
	struct chunk *next;

	for (struct chunk *c = own->chunks; c; c = next) {
		next = c->next;
		free(c);
	}
	own->chunks = NULL;
}
