/*
 * mount.c - apply a mount plan with descriptors: open sources, build the root, pivot
 *
 * Runs as: the child before it gives its capabilities up (root's own binds: the supervisor)
 * Trusts: the plan; not the host paths in it, which are opened without following any link
 * Never: creates anything outside the jail's own tmpfs folders, allocates memory
 */
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/base.h"
#include "jail/internal.h"

/* What a mount forbids. */
static uint64_t forbidden(uint64_t attrs)
{
	if (teeth_out("nosuid"))
		attrs &= ~(uint64_t)MOUNT_ATTR_NOSUID;
	if (teeth_out("nodev"))
		attrs &= ~(uint64_t)MOUNT_ATTR_NODEV;
	if (teeth_out("noexec"))
		attrs &= ~(uint64_t)MOUNT_ATTR_NOEXEC;
	if (teeth_out("readonly"))
		attrs &= ~(uint64_t)MOUNT_ATTR_RDONLY;
	return attrs;
}

static int open_how(int dir, const char *path, uint64_t flags, uint64_t mode, uint64_t resolve)
{
	struct open_how how = { .flags = flags | O_CLOEXEC, .mode = mode, .resolve = resolve };
	int fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

/* Inside the new root: "/" is the root's descriptor, and no link is followed. */
static int open_inside(int root, const char *path, uint64_t flags)
{
	const char *rel = path + 1;

	if (*rel == '\0')
		rel = ".";
	return open_how(root, rel, flags, 0, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
}

/*
 * Detach a copy of the host path. A symlink anywhere in it means that the path
 * changed after it was resolved: refused (ELOOP). Kernel: open_tree(2) needs
 * the source in the caller's own mount namespace, hence in the child.
 */
int mount_open_source(struct mount_op *op, int idmap_userns)
{
	struct mount_attr attr = { .attr_set = forbidden(op->attrs) };
	unsigned int flags = AT_EMPTY_PATH;
	_cleanup_close_ int path = -1, tree = -1;
	struct stat st;

	path = open_how(AT_FDCWD, op->src, O_PATH, 0, RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
	if (path < 0)
		return path;
	if (fstat(path, &st) < 0)
		return -errno;
	if (op->kind == MOUNT_DEVICE && (!S_ISCHR(st.st_mode) || st.st_rdev != op->rdev))
		return -ENXIO;
	if (op->kind == MOUNT_BIND && S_ISDIR(st.st_mode) != op->is_dir)
		return -ENOTDIR;
	if (op->is_dir)
		flags |= AT_RECURSIVE;
	tree = (int)syscall(SYS_open_tree, path, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | flags);
	if (tree < 0)
		return -errno;
	if (idmap_userns >= 0 && op->user) {
		attr.attr_set |= MOUNT_ATTR_IDMAP;
		attr.userns_fd = (uint64_t)idmap_userns;
	}
	if (syscall(SYS_mount_setattr, tree, "", flags, &attr, sizeof(attr)) < 0)
		return -errno;
	op->tree = steal_fd(tree);
	return 0;
}

static int attach(int tree, int root, const char *dst)
{
	_cleanup_close_ int target = open_inside(root, dst, O_PATH);

	if (target < 0)
		return target;
	if (syscall(SYS_move_mount, tree, "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return -errno;
	return 0;
}

/* Digits of n, without stdio: this runs after the clone. */
static const char *digits(uint64_t n, unsigned int base, char buf[24])
{
	char *p = buf + 23;

	*p = '\0';
	do {
		*--p = (char)('0' + n % base);
		n /= base;
	} while (n);
	return p;
}

static int new_tmpfs(uint64_t size, uint64_t inodes, mode_t mode, uint64_t attrs)
{
	char size_text[24], inodes_text[24], mode_text[24];
	_cleanup_close_ int fs = (int)syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC);
	int mnt;

	if (fs < 0)
		return -errno;
	if (teeth_out("sizes"))
		size = inodes = 0;
	if (syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, "size", digits(size, 10, size_text), 0) < 0 ||
	    syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, "nr_inodes", digits(inodes, 10, inodes_text), 0) < 0 ||
	    syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, "mode", digits(mode, 8, mode_text), 0) < 0 ||
	    syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	mnt = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, (unsigned int)forbidden(attrs));
	return mnt < 0 ? -errno : mnt;
}

/* The tmpfs that becomes "/", for now on top of a folder that the jail's user can reach. */
int mount_root(const char *over)
{
	_cleanup_close_ int mnt = new_tmpfs(PLAN_ROOT_SIZE, PLAN_ROOT_INODES, 0755, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	_cleanup_close_ int target = -1;

	if (mnt < 0)
		return mnt;
	target = open_how(AT_FDCWD, over, O_PATH | O_DIRECTORY, 0, RESOLVE_NO_SYMLINKS);
	if (target < 0)
		return target;
	if (syscall(SYS_move_mount, mnt, "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return -errno;
	return steal_fd(mnt);
}

/* Only the jail's own tmpfs folders may get new entries, never what is bound from the host. */
static bool is_own_tmpfs(const struct mount_plan *plan, const char *dst)
{
	const struct mount_op *best = NULL;
	size_t best_len = 0;

	for (size_t i = 0; i < plan->n; i++) {
		const struct mount_op *op = &plan->ops[i];
		size_t len = strlen(op->dst);

		if (op->kind != MOUNT_TMPFS && op->kind != MOUNT_BIND)
			continue;
		if (strncmp(dst, op->dst, len) == 0 && dst[len] == '/' && len > best_len) {
			best = op;
			best_len = len;
		}
	}
	return !best || best->kind == MOUNT_TMPFS;
}

/* mkdir -p below the root, one component after the other. */
static int make_dirs(int root, const char *dst, bool last_too)
{
	char path[PLAN_PATH_MAX];
	size_t len = strlen(dst);

	if (len >= sizeof(path) || dst[0] != '/')
		return -ENAMETOOLONG;
	memcpy(path, dst, len + 1);
	for (size_t i = 1; i <= len; i++) {
		if (path[i] != '/' && !(path[i] == '\0' && last_too))
			continue;
		path[i] = '\0';
		if (mkdirat(root, path + 1, 0755) < 0 && errno != EEXIST)
			return -errno;
		if (i < len)
			path[i] = '/';
	}
	return 0;
}

static int make_target(const struct mount_plan *plan, int root, const struct mount_op *op, bool dir)
{
	_cleanup_close_ int fd = -1;
	int r;

	if (!is_own_tmpfs(plan, op->dst)) {
		fd = open_inside(root, op->dst, O_PATH);
		return fd < 0 ? fd : 0;
	}
	r = make_dirs(root, op->dst, dir);
	if (r < 0 || dir)
		return r;
	fd = open_how(root, op->dst + 1, O_CREAT | O_EXCL | O_WRONLY, 0644, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
	return fd < 0 && fd != -EEXIST ? fd : 0;
}

static int write_file(int root, const struct mount_op *op)
{
	_cleanup_close_ int fd = open_how(root, op->dst + 1, O_CREAT | O_EXCL | O_WRONLY, op->mode,
					  RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);

	if (fd < 0)
		return fd;
	return io_write_full(fd, op->data, op->len);
}

static int apply_tmpfs(struct mount_op *op, int root)
{
	_cleanup_close_ int mnt = new_tmpfs(op->size, op->inodes, op->mode, op->attrs);
	int r;

	if (mnt < 0)
		return mnt;
	r = attach(mnt, root, op->dst);
	if (r == 0)
		op->tree = steal_fd(mnt);
	return r;
}

static int apply_bind(struct mount_op *op, int root)
{
	int r = attach(op->tree, root, op->dst);

	close(op->tree);
	op->tree = -1;
	return r;
}

static int apply_one(struct mount_plan *plan, struct mount_op *op, int root)
{
	bool dir = op->kind == MOUNT_DIR || op->kind == MOUNT_TMPFS || (op->kind == MOUNT_BIND && op->is_dir);
	int r;

	if (op->kind == MOUNT_SYMLINK)
		return symlinkat(op->src, root, op->dst + 1) < 0 ? -errno : 0;
	if (op->kind == MOUNT_FILE)
		return write_file(root, op);
	r = make_target(plan, root, op, dir);
	if (r < 0 || op->kind == MOUNT_DIR)
		return r;
	return op->kind == MOUNT_TMPFS ? apply_tmpfs(op, root) : apply_bind(op, root);
}

int mount_apply(struct mount_plan *plan, int root, struct mount_fail *fail)
{
	for (size_t i = 0; i < plan->n; i++) {
		int r = apply_one(plan, &plan->ops[i], root);

		if (r < 0) {
			fail->detail = plan->ops[i].dst;
			return r;
		}
	}
	return 0;
}

/* In builds for tests: the /proc that the supervisor sees. */
static int host_proc(int root)
{
	_cleanup_close_ int tree = (int)syscall(SYS_open_tree, AT_FDCWD, "/proc", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);

	return tree < 0 ? -errno : attach(tree, root, "/proc");
}

/* A new procfs of the new pid namespace: processes only, and only those one may look into. */
int mount_proc(int root)
{
	_cleanup_close_ int fs = (int)syscall(SYS_fsopen, "proc", FSOPEN_CLOEXEC);
	_cleanup_close_ int mnt = -1;

	if (teeth_out("proc") || teeth_out("pidns"))
		return host_proc(root);
	if (fs < 0)
		return -errno;
	if ((!teeth_out("subset") && syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, "subset", "pid", 0) < 0) ||
	    (!teeth_out("hidepid") && syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, "hidepid", "invisible", 0) < 0) ||
	    syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	mnt = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC,
			    (unsigned int)forbidden(MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC));
	if (mnt < 0)
		return -errno;
	return attach(mnt, root, "/proc");
}

/* The old root is stacked below the new one and detached at once: no path leads back. */
int mount_pivot(int root)
{
	if (fchdir(root) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
		return -errno;
	if ((!teeth_out("detach") && umount2(".", MNT_DETACH) < 0) || chdir("/") < 0)
		return -errno;
	return 0;
}

/* Mount points and links are in place: the root and /dev take no further change. */
int mount_seal(const struct mount_plan *plan, struct mount_fail *fail)
{
	struct mount_attr attr = { .attr_set = forbidden(MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC) };

	fail->detail = "/";
	if (syscall(SYS_mount_setattr, AT_FDCWD, "/", 0, &attr, sizeof(attr)) < 0)
		return -errno;
	for (size_t i = 0; i < plan->n; i++) {
		if (!plan->ops[i].seal)
			continue;
		fail->detail = plan->ops[i].dst;
		if (syscall(SYS_mount_setattr, AT_FDCWD, plan->ops[i].dst, 0, &attr, sizeof(attr)) < 0)
			return -errno;
	}
	return 0;
}
