/*
 * exposed.c - a policy that its own program could rewrite is refused
 *
 * Runs as: the supervisor, before the jail exists
 * Trusts: the policy's list of the files that it was read from
 * Never: looks at what stands in them
 */
#include <stdlib.h>
#include <string.h>

#include "session/internal.h"

/* Is `path` the folder or file `top`, or below it? Both are resolved. */
static bool is_below(const char *path, const char *top)
{
	size_t len = strlen(top);

	return strncmp(path, top, len) == 0 && (path[len] == '\0' || path[len] == '/' || strcmp(top, "/") == 0);
}

static int refuse(const char *policy, const char *folder, struct sj_err *err)
{
	err_set(err, EPERM, SJ_EXIT_USAGE, "E_POLICY_EXPOSED", "the program could rewrite its policy, %.300s", policy);
	err_why(err, "it lies in %.300s, which files.write (--rw) lets the program change", folder);
	err_fix(err, "keep policies outside of folders that jails write, or mount a folder further down");
	return -EPERM;
}

int prep_refuse_exposed(const struct prep *p, const struct policy *policy, struct sj_err *err)
{
	for (char **source = policy->sources; source && *source; source++) {
		_cleanup_free_ char *real = realpath(*source, NULL);

		for (size_t i = 0; real && i < p->n_binds; i++)
			if (p->binds[i].writable && is_below(real, p->binds[i].src))
				return refuse(*source, p->binds[i].src, err);
	}
	return 0;
}
