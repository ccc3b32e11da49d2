/*
 * teeth.c - test builds only: which defence this process runs without
 *
 * Runs as: anyone, in a build made with TEETH=1; in every other build this file is empty
 * Trusts: the environment, which is why no installed program may contain it (tools/check-symbols)
 * Never: allocates; the jail's child asks too
 */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

#ifdef SMOLJAIL_TEETH
#define LIST_MAX 512

static char list[LIST_MAX];

/* Once, before main(): the jail's init wipes the environment that it has from its supervisor. */
__attribute__((constructor)) static void read_list(void)
{
	const char *given = getenv("SMOLJAIL_TEETH_OUT");

	snprintf(list, sizeof(list), "%s", given ? given : "");
}

bool teeth_out(const char *defence)
{
	size_t len = strlen(defence);

	for (const char *p = list; *p; p += strcspn(p, ","), p += *p == ',')
		if (strcspn(p, ",") == len && strncmp(p, defence, len) == 0)
			return true;
	return false;
}
#endif
