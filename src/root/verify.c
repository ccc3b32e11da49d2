/*
 * verify.c - compare a root with its manifest
 *
 * Runs as: anyone, outside the jail
 * Trusts: the manifest, once it is parsed and its owner is right
 * Never: follows a link, leaves the root, or opens anything but folders and regular files
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "root/internal.h"

#define DIFF_TEXT_MAX (2 * ROOT_PATH_MAX + 64)
#define MODE_BITS 07777u

struct check {
	int top;			/* the root's folder */
	const struct manifest *manifest;
	root_diff_fn *fn;
	void *arg;
	size_t n_diffs;
};

static void differ(struct check *c, const char *path, const char *fmt, ...) _printf_(3, 4);

static void differ(struct check *c, const char *path, const char *fmt, ...)
{
	char text[DIFF_TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	c->n_diffs++;
	c->fn(c->arg, path, text);
}

static int open_beneath(int top, const char *path, uint64_t flags)
{
	struct open_how how = {
		.flags = flags | O_CLOEXEC | O_NOFOLLOW,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	int fd = (int)syscall(SYS_openat2, top, path, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

static const char *type_word(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG: return "a file";
	case S_IFDIR: return "a folder";
	case S_IFLNK: return "a link";
	case S_IFIFO: return "a pipe";
	case S_IFSOCK: return "a socket";
	case S_IFCHR: case S_IFBLK: return "a device";
	default: return "of an unknown kind";
	}
}

static mode_t type_bits(enum manifest_type type)
{
	return type == MANIFEST_DIR ? S_IFDIR : type == MANIFEST_FILE ? S_IFREG : S_IFLNK;
}

static void check_link(struct check *c, const struct manifest_entry *e, int fd)
{
	char target[ROOT_PATH_MAX + 1];
	ssize_t len = readlinkat(fd, "", target, sizeof(target) - 1);

	if (len < 0) {
		differ(c, e->path, "cannot be read: %m");
		return;
	}
	target[len] = '\0';
	if (strcmp(target, e->what) != 0)
		differ(c, e->path, "leads to \"%s\" instead of \"%s\"", target, e->what);
}

static void check_content(struct check *c, const struct manifest_entry *e, int fd, const struct stat *st)
{
	char hex[MANIFEST_DIGEST_LEN + 1];
	int r;

	if (fgetxattr(fd, "security.capability", NULL, 0) >= 0)
		differ(c, e->path, "carries file capabilities");
	if ((uint64_t)st->st_size != e->size) {
		differ(c, e->path, "has %lld bytes instead of %llu", (long long)st->st_size,
		       (unsigned long long)e->size);
		return;
	}
	r = io_sha256_file(fd, hex);
	if (r < 0)
		differ(c, e->path, "cannot be read: %s", strerror(-r));
	else if (strcmp(hex, e->what) != 0)
		differ(c, e->path, "has other contents");
}

/* Whatever lies in a folder and not in the manifest. What it holds itself is not looked at. */
static void check_extra(struct check *c, const struct manifest_entry *e, int fd)
{
	DIR *dir = fdopendir(fd);
	struct dirent *d;

	if (!dir) {
		differ(c, e->path, "cannot be read: %m");
		close(fd);
		return;
	}
	while ((d = readdir(dir))) {
		char path[ROOT_PATH_MAX + NAME_MAX + 2];
		const char *below = strcmp(e->path, ".") == 0 ? "" : e->path;

		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		snprintf(path, sizeof(path), "%s%s%s", below, below[0] ? "/" : "", d->d_name);
		if (!manifest_lookup(c->manifest, path))
			differ(c, path, "is not in the manifest");
	}
	closedir(dir);
}

/* The type is known, so opening it for reading has no effect of its own. */
static void check_inside(struct check *c, const struct manifest_entry *e, const struct stat *seen)
{
	_cleanup_close_ int fd = open_beneath(c->top, e->path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0) {
		differ(c, e->path, "cannot be read: %s", strerror(fd < 0 ? -fd : errno));
		return;
	}
	if (st.st_ino != seen->st_ino || st.st_dev != seen->st_dev)
		differ(c, e->path, "changes while it is looked at");
	else if (e->type == MANIFEST_FILE)
		check_content(c, e, fd, &st);
	else
		check_extra(c, e, steal_fd(fd));
}

static void check_entry(struct check *c, const struct manifest_entry *e)
{
	_cleanup_close_ int fd = open_beneath(c->top, e->path, O_PATH);
	struct stat st;

	if (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP) {
		differ(c, e->path, "is missing");
		return;
	}
	if (fd < 0 || fstat(fd, &st) < 0) {
		differ(c, e->path, "cannot be looked at: %s", strerror(fd < 0 ? -fd : errno));
		return;
	}
	if ((st.st_mode & S_IFMT) != type_bits(e->type)) {
		differ(c, e->path, "is %s instead of %s", type_word(st.st_mode), type_word(type_bits(e->type)));
		return;
	}
	if (st.st_uid != 0 && st.st_uid != geteuid())
		differ(c, e->path, "belongs to user %u", st.st_uid);
	if (e->type == MANIFEST_LINK) {
		check_link(c, e, fd);
		return;
	}
	if ((st.st_mode & MODE_BITS) != e->mode)
		differ(c, e->path, "has mode %04o instead of %04o", st.st_mode & MODE_BITS, e->mode);
	check_inside(c, e, &st);
}

static int read_manifest(const char *path, struct manifest *ret, struct sj_err *err)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	char *text;
	size_t len;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0) {
		r = err_set(err, errno, SJ_EXIT_SETUP, "E_ROOT_MANIFEST", "cannot open the manifest \"%s\": %m", path);
		err_fix(err, "build the root again (make), or install it again");
		return r;
	}
	r = root_check_owner(path, &st, err);
	if (r < 0)
		return r;
	r = S_ISREG(st.st_mode) ? io_read_all(fd, ROOT_MANIFEST_MAX, &text, &len) : -EINVAL;
	if (r < 0) {
		err_set(err, -r, SJ_EXIT_SETUP, "E_ROOT_MANIFEST", "cannot read the manifest \"%s\"", path);
		err_why(err, "%s", r == -EINVAL ? "it is not a regular file" : strerror(-r));
		err_fix(err, "build the root again (make), or install it again");
		return r;
	}
	return manifest_parse(text, len, path, ret, err);
}

int root_verify(const struct root *r, root_diff_fn *fn, void *arg, size_t *ret_checked, struct sj_err *err)
{
	_cleanup_manifest_ struct manifest m = { 0 };
	_cleanup_close_ int top = -1;
	struct check c = { .manifest = &m, .fn = fn, .arg = arg };
	int e = read_manifest(r->manifest, &m, err);

	if (e < 0)
		return e;
	top = open(r->path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (top < 0)
		return err_set(err, errno, SJ_EXIT_SETUP, "E_ROOT", "cannot open the root \"%s\": %m", r->path);
	c.top = top;
	for (size_t i = 0; i < m.n; i++)
		check_entry(&c, &m.entries[i]);
	if (ret_checked)
		*ret_checked = m.n;
	return c.n_diffs > INT_MAX ? INT_MAX : (int)c.n_diffs;
}
