/*
 * noresolve.c - stand-ins for the name look-ups that libnl mentions and smoljail never makes
 *
 * Runs as: nobody; no path of this program calls them
 * Trusts: nothing
 * Never: resolves a name
 *
 * In a static program the C library's own versions would load modules of the
 * host at run time (the linker warns of it), and they would be the only reason
 * for that code to be inside.
 */
#include <netdb.h>
#include <stddef.h>

#include "base/base.h"

int getaddrinfo(const char *restrict name _unused_, const char *restrict service _unused_,
		const struct addrinfo *restrict hints _unused_, struct addrinfo **restrict ret _unused_)
{
	return EAI_FAIL;
}

void freeaddrinfo(struct addrinfo *list _unused_)
{
}

const char *gai_strerror(int code _unused_)
{
	return "smoljail resolves no names";
}

struct protoent *getprotobynumber(int number _unused_)
{
	return NULL;
}

struct protoent *getprotobyname(const char *name _unused_)
{
	return NULL;
}
