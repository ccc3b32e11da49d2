/*
 * embed.h - the shipped documents, as they stand in policies/
 */
#ifndef SMOLJAIL_POLICY_EMBED_H
#define SMOLJAIL_POLICY_EMBED_H

#include <stddef.h>

struct embed {
	const char *name;		/* "python"; "groups" for policies/groups.json */
	const char *start, *end;	/* end[0] is a NUL */
};

/* The policies in the order of `policy list`, then "default", "learn", "groups" and "never"; ends with a NULL name. */
extern const struct embed policy_embedded[];
#define EMBED_POLICIES 5	/* how many of them are offered by name */

#endif
