/*
 * script.c - the program's file: found, checked and read on the host
 *
 * Runs as: the supervisor, before the jail exists
 * Trusts: the caller's right to read the file (it is opened with the caller's ids)
 * Never: waits on a FIFO or a device, reads past SESSION_SCRIPT_MAX, creates anything
 */
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "session/internal.h"

static const char *kind_of_file(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR: return "a folder";
	case S_IFIFO: return "a pipe";
	case S_IFCHR:
	case S_IFBLK: return "a device";
	case S_IFSOCK: return "a socket";
	default: return "not a regular file";
	}
}

static int refuse_kind(const char *path, mode_t mode, struct sj_err *err)
{
	err_set(err, EINVAL, SJ_EXIT_USAGE, "E_SCRIPT_KIND", "cannot run \"%s\"", path);
	err_why(err, "it is %s, not a regular file", kind_of_file(mode));
	if (S_ISDIR(mode))
		err_fix(err, "smoljail run --dir %s %s   (runs its __main__.py, as python3 does)", path, path);
	else if (S_ISFIFO(mode) || S_ISCHR(mode))
		err_fix(err, "smoljail run - < %s   (the script on standard input)", path);
	return -EINVAL;
}

static int refuse_open(const struct session_run *run, int error, struct sj_err *err)
{
	struct stat st;
	char *below;

	err_set(err, error, SJ_EXIT_USAGE, "E_SCRIPT", "cannot open the script \"%s\"", run->target);
	err_why(err, "%s", strerror(error));
	if (error != ENOENT || !run->dir || run->target[0] == '/')
		return -error;
	below = str_printf("%s/%s", run->dir, run->target);
	if (below && stat(below, &st) == 0)
		err_fix(err, "the script is named as seen from here: %s", below);
	free(below);
	return -error;
}

/* O_NONBLOCK so that a FIFO without a writer or a serial line cannot hold us; fstat then says what it is. */
static int open_script(const struct session_run *run, int *ret_fd, struct stat *ret_st, struct sj_err *err)
{
	_cleanup_close_ int fd = open(run->target, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		return refuse_open(run, errno, err);
	if (fstat(fd, ret_st) < 0)
		return refuse_open(run, errno, err);
	/* CPython runs the __main__.py of a folder; it has to be visible for that. */
	if (S_ISDIR(ret_st->st_mode) && run->dir) {
		*ret_fd = steal_fd(fd);
		return 0;
	}
	if (!S_ISREG(ret_st->st_mode))
		return refuse_kind(run->target, ret_st->st_mode, err);
	if ((uint64_t)ret_st->st_size > SESSION_SCRIPT_MAX) {
		err_set(err, EFBIG, SJ_EXIT_USAGE, "E_SCRIPT_SIZE", "the script \"%s\" is too long", run->target);
		err_why(err, "it has %lld bytes; at most %u are allowed", (long long)ret_st->st_size, SESSION_SCRIPT_MAX);
		return -EFBIG;
	}
	*ret_fd = steal_fd(fd);
	return 0;
}

static int place_in_work(struct prep *p, const struct session_run *run, int fd, struct sj_err *err)
{
	const char *slash = strrchr(run->target, '/');
	size_t len;
	int r;

	r = io_read_all(fd, SESSION_SCRIPT_MAX, &p->script_data, &len);
	if (r < 0)
		return refuse_open(run, -r, err);
	p->script_name = strdup(slash ? slash + 1 : run->target);
	p->target = !p->script_name ? NULL
		    : p->home ? str_printf("%s" JAIL_HOME_WORK "/%s", p->home, p->script_name)
			      : str_printf("%s/%s", JAIL_WORK, p->script_name);
	if (!p->target)
		return err_oom(err);
	p->script = (struct jail_file){ .name = p->script_name, .data = p->script_data, .len = len };
	return 0;
}

static int refuse_outside(const struct session_run *run, const char *dir, const char *script, struct sj_err *err)
{
	err_set(err, EINVAL, SJ_EXIT_USAGE, "E_SCRIPT_OUTSIDE", "the script \"%s\" is not inside --dir %s", run->target, run->dir);
	err_why(err, "%s is not below %s", script, dir);
	err_fix(err, "name a folder that holds the script, or leave --dir out");
	return -EINVAL;
}

/* The script as the jail sees it: below SESSION_PROJECT, with every symlink resolved. */
static int find_in_project(struct prep *p, const struct session_run *run, struct sj_err *err)
{
	_cleanup_free_ char *script = realpath(run->target, NULL);
	const char *dir = p->n_binds ? p->binds[p->n_binds - 1].src : "/";
	size_t n = strcmp(dir, "/") == 0 ? 0 : strlen(dir);

	if (!script)
		return refuse_open(run, errno, err);
	if (strncmp(script, dir, n) != 0 || (script[n] != '/' && script[n] != '\0'))
		return refuse_outside(run, dir, script, err);
	p->target = p->home ? strdup(script) : str_printf("%s%s", SESSION_PROJECT, script + n);
	return p->target ? 0 : err_oom(err);
}

int script_prepare(struct prep *p, const struct session_run *run, struct sj_err *err)
{
	_cleanup_close_ int fd = -1;
	struct stat st;
	int r;

	r = open_script(run, &fd, &st, err);
	if (r < 0)
		return r;
	return run->dir ? find_in_project(p, run, err) : place_in_work(p, run, fd, err);
}
