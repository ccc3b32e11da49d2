/*
 * exec.c - a program that is not Python: found in PATH, executed under the filter
 *
 * Runs as: the guest, before and after the filter
 * Trusts: the boot record's arguments
 * Never: starts an interpreter of its own, the shell included
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest/internal.h"

#define DEFAULT_PATH "/usr/bin:/bin"

/*
 * As execvp looks: a file that is there but may not be executed is remembered,
 * so that the answer is not "not found"; any other failure is the answer. Returns the errno.
 */
static int exec_in_path(const char *path, char *const argv[])
{
	char file[PATH_MAX];
	int error = ENOENT;

	while (*path) {
		size_t n = strcspn(path, ":");
		int len = snprintf(file, sizeof(file), "%.*s%s%s", (int)n, path, n ? "/" : "./", argv[0]);

		if (len > 0 && len < (int)sizeof(file)) {
			execve(file, argv, environ);
			if (errno != ENOENT && errno != ENOTDIR && errno != EACCES)
				return errno;
			if (errno == EACCES)
				error = EACCES;
		}
		path += n;
		path += *path == ':';
	}
	return error;
}

static int exec_program(char *const argv[])
{
	const char *path = getenv("PATH");

	if (!argv[0][0])
		return ENOENT;
	if (strchr(argv[0], '/')) {
		execve(argv[0], argv, environ);
		return errno;
	}
	return exec_in_path(path && *path ? path : DEFAULT_PATH, argv);
}

void guest_exec(const struct guest *g)
{
	/* execve takes char *const[] for historical reasons; it writes nothing. */
	char *const *argv = (char *const *)(uintptr_t)g->boot.args;
	int error;

	guest_confine(g);
	error = exec_program(argv);
	g->claim->line = error;
	g->claim->outcome = WIRE_OUTCOME_EXEC_FAILED;
	_exit(error == ENOENT ? SJ_EXIT_NOTFOUND : SJ_EXIT_NOEXEC);
}
