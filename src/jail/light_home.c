/*
 * light_home.c - the private folders of a jail without mounts: made, measured, removed
 *
 * Runs as: the supervisor (make, measure), the jail's init (remove); the supervisor where init is dead
 * Trusts: nothing below work and tmp, which the program fills
 * Never: follows a link, goes deeper or on for longer than its constants say; allocates when it removes
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/base.h"
#include "jail/internal.h"

#define REMOVE_STEPS_MAX (8u << 20)	/* entries, counted again when they are looked at again */
#define USAGE_ENTRIES_MAX (1u << 20)
#define USAGE_DEPTH_MAX 64
#define BLOCK 512			/* of st_blocks (stat(2)) */
#define CHUNK 4096

#define OPEN_DIR (O_RDONLY | O_DIRECTORY | O_NOFOLLOW)

/* ---- making ---------------------------------------------------------------- */

static int make_folder(int dir, const char *name, uid_t uid, gid_t gid)
{
	int fd;

	if (mkdirat(dir, name, 0700) < 0)
		return -errno;
	fd = openat(dir, name, OPEN_DIR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	/* The umask may have taken rights away. */
	if (fchmod(fd, 0700) < 0 || (uid != geteuid() && fchown(fd, uid, gid) < 0)) {
		int r = -errno;

		close(fd);
		return r;
	}
	return fd;
}

static int write_file(int dir, const char *name, const void *data, size_t len, mode_t mode, uid_t uid, gid_t gid)
{
	_cleanup_close_ int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int r;

	if (fd < 0)
		return -errno;
	r = io_write_full(fd, data, len);
	if (r == 0 && (fchmod(fd, mode) < 0 || (uid != geteuid() && fchown(fd, uid, gid) < 0)))
		r = -errno;
	return r;
}

static int fill(const struct jail_spec *spec, const char *wrapper, uid_t uid, gid_t gid, struct light_home *h)
{
	_cleanup_close_ int bin = make_folder(h->top, "bin", uid, gid);
	int r;

	if (bin < 0)
		return bin;
	r = write_file(bin, "python3", wrapper, strlen(wrapper), 0755, uid, gid);
	if (r == 0 && symlinkat("python3", bin, "python") < 0)
		r = -errno;
	if (r < 0)
		return r;
	h->work = make_folder(h->top, "work", uid, gid);
	if (h->work < 0)
		return h->work;
	h->tmp = make_folder(h->top, "tmp", uid, gid);
	if (h->tmp < 0)
		return h->tmp;
	for (size_t i = 0; r == 0 && i < spec->n_files; i++)
		r = strchr(spec->files[i].name, '/') ? -EINVAL
		    : write_file(h->work, spec->files[i].name, spec->files[i].data, spec->files[i].len, 0644, uid, gid);
	return r;
}

int light_home_make(const struct jail_spec *spec, const char *wrapper, uid_t uid, gid_t gid, struct light_home *ret)
{
	struct light_home h = LIGHT_HOME_NONE;
	const char *slash = strrchr(spec->home, '/');
	char parent[PATH_MAX];
	int r;

	if (!slash || slash == spec->home || slash[1] == '\0' || (size_t)(slash - spec->home) >= sizeof(parent))
		return -EINVAL;
	memcpy(parent, spec->home, (size_t)(slash - spec->home));
	parent[slash - spec->home] = '\0';
	h.name = slash + 1;
	h.parent = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (h.parent < 0)
		return -errno;
	h.top = make_folder(h.parent, h.name, uid, gid);
	r = h.top < 0 ? h.top : fill(spec, wrapper, uid, gid, &h);
	if (r < 0) {
		light_home_remove(&h);
		light_home_close(&h);
		return r;
	}
	*ret = h;
	return 0;
}

void light_home_close(struct light_home *home)
{
	base_closep(&home->parent);
	base_closep(&home->top);
	base_closep(&home->work);
	base_closep(&home->tmp);
	*home = LIGHT_HOME_NONE;
}

/* ---- removing ---------------------------------------------------------------- */

struct entry64 {
	uint64_t ino, off;
	unsigned short reclen;
	unsigned char type;
	char name[];
};

struct removal {
	int top;
	unsigned int steps, number;
	bool progress;
};

/* A folder that was not empty becomes a neighbour of its parent: no depth makes this deep. */
static void hoist(struct removal *r, int from, const char *name)
{
	char to[24];

	if (fchmodat(from, name, 0700, 0) < 0)
		return;
	for (int tries = 0; tries < 16; tries++) {
		unsigned int n = r->number++, at = sizeof(to) - 1;

		to[at] = '\0';
		do
			to[--at] = (char)('0' + n % 10);
		while ((n /= 10) && at > 1);
		to[--at] = '~';
		if (renameat(from, name, r->top, to + at) == 0) {
			r->progress = true;
			return;
		}
	}
}

typedef void entry_fn(struct removal *r, int dir, const char *name);

static void each(struct removal *r, int dir, entry_fn *fn)
{
	char chunk[CHUNK] __attribute__((aligned(8)));
	long n;

	if (lseek(dir, 0, SEEK_SET) < 0)
		return;
	while ((n = syscall(SYS_getdents64, dir, chunk, sizeof(chunk))) > 0)
		for (long at = 0; at < n;) {
			struct entry64 *e = (struct entry64 *)(void *)(chunk + at);

			at += e->reclen;
			if (strcmp(e->name, ".") == 0 || strcmp(e->name, "..") == 0)
				continue;
			if (r->steps++ >= REMOVE_STEPS_MAX)
				return;
			fn(r, dir, e->name);
		}
}

/* False: it is a folder, and not empty. */
static bool unlink_it(struct removal *r, int dir, const char *name)
{
	if (unlinkat(dir, name, 0) < 0 && unlinkat(dir, name, AT_REMOVEDIR) < 0)
		return false;
	r->progress = true;
	return true;
}

static void remove_inner(struct removal *r, int dir, const char *name)
{
	if (!unlink_it(r, dir, name))
		hoist(r, dir, name);
}

/* Nobody is left who could put a link in the place of the folder. */
static void remove_outer(struct removal *r, int dir, const char *name)
{
	int sub;

	if (unlink_it(r, dir, name))
		return;
	sub = fchmodat(dir, name, 0700, 0) == 0 ? openat(dir, name, OPEN_DIR | O_CLOEXEC) : -1;
	if (sub < 0)
		return;
	each(r, sub, remove_inner);
	(void)close(sub);
	(void)unlink_it(r, dir, name);
}

void light_home_remove(const struct light_home *home)
{
	struct removal r = { .top = home->top, .progress = true };

	if (home->top < 0)
		return;
	while (r.progress && r.steps < REMOVE_STEPS_MAX) {
		r.progress = false;
		each(&r, home->top, remove_outer);
	}
	(void)unlinkat(home->parent, home->name, AT_REMOVEDIR);
}

/* ---- measuring ---------------------------------------------------------------- */

struct usage {
	uint64_t bytes, entries;
	bool deep;
};

/* The program goes on changing it meanwhile: what is gone is left out. */
static void add_folder(struct usage *u, int parent, const char *name, int depth)
{
	int fd = openat(parent, name, OPEN_DIR | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	struct stat st;

	if (!dir) {
		base_closep(&fd);
		return;
	}
	while (!u->deep && (e = readdir(dir))) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		u->bytes += (uint64_t)st.st_blocks * BLOCK;
		if (++u->entries > USAGE_ENTRIES_MAX || (S_ISDIR(st.st_mode) && depth >= USAGE_DEPTH_MAX))
			u->deep = true;
		else if (S_ISDIR(st.st_mode))
			add_folder(u, fd, e->d_name, depth + 1);
	}
	closedir(dir);
}

void light_home_usage(const struct light_home *home, uint64_t *ret_bytes, uint64_t *ret_entries, bool *ret_deep)
{
	struct usage u = { 0 };

	if (home->top >= 0) {
		add_folder(&u, home->top, "work", 0);
		add_folder(&u, home->top, "tmp", 0);
	}
	*ret_bytes = u.bytes;
	*ret_entries = u.entries;
	*ret_deep = u.deep;
}
