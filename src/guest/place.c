/*
 * place.c - where the guest's own files and the program's folders are
 *
 * Runs as: the guest, before untrusted code, and plain Python in untrusted hands
 * Trusts: the loader for the path of this library; the host's variable SMOLJAIL_HOME
 * Never: looks for anything in the file system
 */
#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest/internal.h"

#define LIBRARIES "/usr/lib/"

/*
 * A jail without mounts uses the root where it lies on the host, and this library was loaded from
 * there. In a full jail the loader has it from a folder of the root, which is "/".
 */
const char *guest_root(void)
{
	static char root[PATH_MAX];
	const char *at = NULL;
	Dl_info info;

	if (root[0] || !dladdr((void *)(uintptr_t)guest_root, &info) || !info.dli_fname)
		return root;
	for (const char *p = info.dli_fname; (p = strstr(p, LIBRARIES)); p++)
		at = p;
	if (at && (size_t)(at - info.dli_fname) < sizeof(root)) {
		memcpy(root, info.dli_fname, (size_t)(at - info.dli_fname));
		root[at - info.dli_fname] = '\0';
	}
	return root;
}

const char *guest_inside(const char *path)
{
	const char *root = guest_root();

	return str_prefix(path, root) ? path + strlen(root) : path;
}

const char *guest_path(char *buf, size_t len, const char *path)
{
	snprintf(buf, len, "%s%s", guest_root(), path);
	return buf;
}

/* The program does not find the variable. */
void guest_find_home(struct guest *g)
{
	const char *home = getenv("SMOLJAIL_HOME");

	g->work = strdup(GUEST_WORK);
	g->executable = strdup(GUEST_EXECUTABLE);
	if (home) {
		free(g->work);
		free(g->executable);
		if (asprintf(&g->work, "%s/work", home) < 0)
			g->work = NULL;
		if (asprintf(&g->executable, "%s/bin/python3", home) < 0)
			g->executable = NULL;
		unsetenv("SMOLJAIL_HOME");
	}
	if (!g->work || !g->executable)
		guest_fail("folders", ENOMEM);
}
