/*
 * import.c - policies from what other sandboxes go by: which reader, and the file that it reads
 *
 * Runs as: the caller
 * Trusts: nothing of the file
 * Never: reads anything but a regular file of bounded size
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "workbench/oci.h"

static int refuse_file(const char *path, int error, const char *why, struct sj_err *err)
{
	int r = err_set(err, error, SJ_EXIT_USAGE, "E_IMPORT_FILE", "cannot read \"%.200s\"", path);

	err_why(err, "%s", why);
	err_fix(err, "name a readable file of at most %u bytes", POLICY_FILE_MAX);
	return r;
}

static int read_file(const char *path, char **ret, size_t *ret_len, struct sj_err *err)
{
	/* O_NONBLOCK: a FIFO must not make the open wait. */
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return refuse_file(path, errno, strerror(errno), err);
	if (!S_ISREG(st.st_mode))
		return refuse_file(path, EINVAL, S_ISDIR(st.st_mode) ? "it is a folder" : "it is not a regular file", err);
	r = io_read_all(fd, POLICY_FILE_MAX, ret, ret_len);
	if (r < 0)
		return refuse_file(path, -r, r == -EFBIG ? "it is too large" : strerror(-r), err);
	return 0;
}

static int import_oci(const struct sj_policy_import *from, sj_policy_note_fn *fn, void *arg, char **ret,
		      struct sj_err *err)
{
	_cleanup_free_ char *text = NULL;
	size_t len;
	int r;

	if (!from->file)
		return refuse_file("", ENOENT, "no file was named", err);
	r = read_file(from->file, &text, &len, err);
	return r < 0 ? r : workbench_import_oci(text, len, from->file, from, fn, arg, ret, err);
}

int workbench_import(const struct sj_policy_import *from, sj_policy_note_fn *fn, void *arg, char **ret,
		     struct sj_err *err)
{
	const char *kind = from->from ? from->from : "oci";
	int r;

	if (strcmp(kind, "oci") == 0)
		return import_oci(from, fn, arg, ret, err);
	if (strcmp(kind, "bwrap-args") == 0)
		return workbench_import_bwrap(from, fn, arg, ret, err);
	r = err_set(err, EINVAL, SJ_EXIT_USAGE, "E_IMPORT", "--from: \"%.60s\" is not understood", kind);
	err_why(err, "a policy can be made from a container's profile or from the options of bubblewrap");
	err_fix(err, "write --from oci or --from bwrap-args");
	return r;
}
