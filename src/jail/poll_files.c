/*
 * poll_files.c - memory that a process holds by descriptors only: memory files
 *
 * Runs as: the supervisor, which sees the jail's processes under the host's ids
 * Trusts: the kernel's link texts and block counts
 * Never: looks at more than POLL_FDS_MAX descriptors, or counts one file twice
 */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jail/cgroup_internal.h"

#define POLL_BLOCK 512	/* st_blocks counts these, whatever the file system's own size (stat(2)) */

static bool is_memfd(int dir, const char *name)
{
	static const char prefix[] = "/memfd:";
	char target[sizeof(prefix)];
	ssize_t n = readlinkat(dir, name, target, sizeof(target));

	return n >= (ssize_t)sizeof(prefix) - 1 && memcmp(target, prefix, sizeof(prefix) - 1) == 0;
}

static bool seen_before(struct poll_files *f, ino_t ino)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->seen[i] == ino)
			return true;
	if (f->n < POLL_MEMFDS_MAX)
		f->seen[f->n++] = ino;
	return false;
}

void poll_files_add(struct poll_files *f, int proc, pid_t pid)
{
	char path[32];
	struct dirent *d;
	struct stat st;
	DIR *dir;
	int fd;

	(void)snprintf(path, sizeof(path), "%d/fd", (int)pid);
	fd = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		base_closep(&fd);
		return;
	}
	while (f->looked < POLL_FDS_MAX && (d = readdir(dir))) {
		f->looked++;
		if (is_memfd(dirfd(dir), d->d_name) && fstatat(dirfd(dir), d->d_name, &st, 0) == 0 &&
		    !seen_before(f, st.st_ino))
			f->bytes += (uint64_t)st.st_blocks * POLL_BLOCK;
	}
	closedir(dir);
}
