/*
 * cgroup_dir.c - files and directories of control groups, and what dead supervisors left
 *
 * Runs as: the supervisor
 * Trusts: the kernel's files; names of foreign directories only after they were parsed
 * Never: removes a directory whose supervisor may be alive, or anything that is not empty
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "jail/cgroup_internal.h"

#define SWEEP_BUFFER 8192
#define RMDIR_SLEEP_FIRST_US 200u
#define RMDIR_SLEEP_MAX_US 50000u
#define RMDIR_TRIES 3u		/* where it fails for another reason than that the group is not empty yet */

/* ---- files ---------------------------------------------------------------- */

int cgroup_dir_open(const struct cgroup_env *env, const char *path, long magic)
{
	_cleanup_close_ int fd = -1;
	struct statfs fs;

	while (*path == '/')
		path++;
	fd = openat(env->root, *path ? path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	/* Something else may be mounted over the place that the table names. */
	if (fstatfs(fd, &fs) < 0)
		return -errno;
	if ((long)fs.f_type != magic)
		return -ENODEV;
	return steal_fd(fd);
}

/* These files answer a read in one piece, unless it is longer than the buffer. */
static int get_fd(int fd, char *ret, size_t len)
{
	ssize_t n = pread(fd, ret, len, 0);

	if (n < 0)
		return -errno;
	if ((size_t)n == len)
		return -EFBIG;
	if (n > 0 && ret[n - 1] == '\n')
		n--;
	ret[n] = '\0';
	return 0;
}

int cgroup_get(int dir, const char *file, char *ret, size_t len)
{
	_cleanup_close_ int fd = openat(dir, file, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : get_fd(fd, ret, len);
}

bool cgroup_get_u64(int dir, const char *file, uint64_t *ret)
{
	char text[CGROUP_VALUE_MAX];

	return cgroup_get(dir, file, text, sizeof(text)) == 0 && cgroup_parse_u64(text, ret);
}

static int put_fd(int fd, const char *text)
{
	size_t len = strlen(text);
	ssize_t n = write(fd, text, len);

	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EIO;
}

int cgroup_put(int dir, const char *file, const char *text)
{
	_cleanup_close_ int fd = openat(dir, file, O_WRONLY | O_CLOEXEC);

	return fd < 0 ? -errno : put_fd(fd, text);
}

/* One descriptor for both directions: opening costs more than reading. */
static int put_and_get(int dir, const char *file, const char *text, char *ret, size_t len)
{
	_cleanup_close_ int fd = openat(dir, file, O_RDWR | O_CLOEXEC);
	int r;

	if (fd < 0)
		return -errno;
	r = put_fd(fd, text);
	return r < 0 ? r : get_fd(fd, ret, len);
}

int cgroup_set(int dir, const char *file, const char *text)
{
	char got[CGROUP_VALUE_MAX];
	int r = put_and_get(dir, file, text, got, sizeof(got));

	if (r < 0)
		return r;
	return strcmp(got, text) == 0 ? 0 : -ENODATA;
}

int cgroup_set_u64(int dir, const char *file, uint64_t value, uint64_t slack)
{
	char text[CGROUP_VALUE_MAX], got[CGROUP_VALUE_MAX];
	uint64_t have;
	int r;

	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	r = put_and_get(dir, file, text, got, sizeof(got));
	if (r < 0)
		return r;
	if (!cgroup_parse_u64(got, &have) || have > value || value - have > slack)
		return -ENODATA;
	return 0;
}

/* ---- names and removal ------------------------------------------------------ */

int cgroup_read_stat(int proc, const char *who, struct poll_stat *ret)
{
	char path[32], text[CGROUP_FILE_MAX];
	int r;

	(void)snprintf(path, sizeof(path), "%.20s/stat", who);
	r = cgroup_get(proc, path, text, sizeof(text));
	if (r < 0)
		return r;
	return poll_parse_stat(text, ret) ? 0 : -EBADMSG;
}

/* The pid is the one that this /proc shows, since sweepers will look there. */
int cgroup_name_prefix(const struct cgroup_env *env, char *ret, size_t len)
{
	struct poll_stat st;
	int r = cgroup_read_stat(env->proc, "self", &st);

	if (r < 0)
		return r;
	return snprintf(ret, len, CGROUP_PREFIX "%d-%llu-", (int)st.pid, (unsigned long long)st.start);
}

/*
 * Gone: no process of that id, or one that started at another time. In doubt it
 * lives. Start times cost the most, and an id is rarely given out again, so a
 * start looks at a few of them only: beside many live jails it stays fast.
 */
static bool is_gone(const struct cgroup_env *env, pid_t pid, uint64_t start, unsigned int *looks)
{
	struct poll_stat st;
	char who[16];
	int r;

	(void)snprintf(who, sizeof(who), "%d", (int)pid);
	if (faccessat(env->proc, who, F_OK, 0) < 0)
		return errno == ENOENT;
	if (*looks == 0)
		return false;
	--*looks;
	r = cgroup_read_stat(env->proc, who, &st);
	if (r == -ENOENT || r == -ESRCH)
		return true;
	return r == 0 && st.start != start;
}

/*
 * A live supervisor of another pid namespace looks gone, so its lock counts as
 * well. One that is gone but whose processes are still dying keeps its
 * directory: rmdir refuses, and the next start tries again.
 */
static void sweep_one(const struct cgroup_env *env, int parent, const char *name, unsigned int *looks)
{
	_cleanup_close_ int fd = -1;
	uint64_t start;
	pid_t pid;

	/* A server has hundreds of its own: a start of one more shall not ask for each whether we live. */
	if (!cgroup_parse_name(name, &pid, &start) || pid == env->pid || !is_gone(env, pid, start, looks))
		return;
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		(void)unlinkat(parent, name, AT_REMOVEDIR);
}

void cgroup_sweep(const struct cgroup_env *env, int parent)
{
	union {
		char bytes[SWEEP_BUFFER];
		struct dirent64 align;
	} buf;
	unsigned int seen = 0, looks = CGROUP_LOOKS_MAX;
	ssize_t n;

	while (seen < CGROUP_SWEEP_MAX && (n = getdents64(parent, buf.bytes, sizeof(buf.bytes))) > 0) {
		for (ssize_t at = 0; at < n && seen < CGROUP_SWEEP_MAX;) {
			const struct dirent64 *d = (const struct dirent64 *)(buf.bytes + at);

			at += d->d_reclen;
			if (d->d_type == DT_DIR && str_prefix(d->d_name, CGROUP_PREFIX)) {
				sweep_one(env, parent, d->d_name, &looks);
				seen++;
			}
		}
	}
}

/* The kernel empties a group a moment after the last process was reaped. */
int cgroup_rmdir(int fd, const char *name, uint64_t deadline_us)
{
	char path[CGROUP_NAME_MAX + 4];
	unsigned int pause = RMDIR_SLEEP_FIRST_US, odd = 0;

	(void)snprintf(path, sizeof(path), "../%s", name);
	while (unlinkat(fd, path, AT_REMOVEDIR) < 0) {
		struct timespec ts = { .tv_nsec = (long)pause * 1000 };

		if (errno == ENOENT)
			return 0;
		odd += errno != EBUSY;
		if (odd == RMDIR_TRIES || io_now_us() >= deadline_us)
			return -errno;
		(void)nanosleep(&ts, NULL);
		pause = pause * 2 < RMDIR_SLEEP_MAX_US ? pause * 2 : RMDIR_SLEEP_MAX_US;
	}
	return 0;
}
