/*
 * plan.c - the list of mounts, folders, links and files that make a jail's world
 *
 * Runs as: the supervisor, before clone3
 * Trusts: the spec (already checked) and the root's top level, read without following links
 * Never: mounts anything; that is mount.c's part, in the child
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/base.h"
#include "jail/internal.h"

#define ATTR_BASE (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define ATTR_RO (ATTR_BASE | MOUNT_ATTR_RDONLY)
#define ATTR_RW (ATTR_BASE | MOUNT_ATTR_NOEXEC)
#define ATTR_DEVICE (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC)

static const struct {
	const char *name;
	unsigned int minor;
} mem_devices[] = { { "null", 3 }, { "zero", 5 }, { "full", 7 }, { "random", 8 }, { "urandom", 9 } };

static const struct {
	const char *name, *target;
} dev_links[] = {
	{ "/dev/fd", "/proc/self/fd" },
	{ "/dev/stdin", "/proc/self/fd/0" },
	{ "/dev/stdout", "/proc/self/fd/1" },
	{ "/dev/stderr", "/proc/self/fd/2" },
};

static const char *keep(struct mount_plan *plan, const char *s)
{
	if (!s || strv_push(&plan->strings, s) < 0)
		return NULL;
	return plan->strings[strv_len(plan->strings) - 1];
}

/* The next operation, NULL when the plan is full or memory is out. */
static struct mount_op *add(struct mount_plan *plan, enum mount_kind kind, const char *dst, const char *src)
{
	struct mount_op *op;

	if (plan->n >= PLAN_OPS_MAX)
		return NULL;
	op = &plan->ops[plan->n];
	*op = (struct mount_op){ .kind = kind, .dst = keep(plan, dst), .mode = 0755, .tree = -1 };
	if (!op->dst)
		return NULL;
	if (src) {
		op->src = keep(plan, src);
		if (!op->src)
			return NULL;
	}
	plan->n++;
	return op;
}

static int add_tmpfs(struct mount_plan *plan, const char *dst, const struct jail_tmpfs *t, mode_t mode, bool exec)
{
	struct mount_op *op = add(plan, MOUNT_TMPFS, dst, NULL);

	if (!op)
		return -ENOMEM;
	op->size = t->size;
	op->inodes = t->inodes;
	op->mode = mode;
	op->attrs = exec ? ATTR_BASE : ATTR_RW;
	return 0;
}

static int add_bind(struct mount_plan *plan, const char *dst, const char *src, uint64_t attrs, bool is_dir, bool user)
{
	struct mount_op *op = add(plan, MOUNT_BIND, dst, src);

	if (!op)
		return -ENOMEM;
	op->attrs = attrs;
	op->is_dir = is_dir;
	op->user = user;
	return 0;
}

/* One entry of the root's top level: folders are bound read-only, links are made again, the rest is left out. */
static int add_root_entry(struct mount_plan *plan, int dir, const char *root, const char *name)
{
	static const char *const ours[] = { "dev", "proc", "sys", "tmp", "work", "project", "packages" };
	char dst[NAME_MAX + 2], src[PLAN_PATH_MAX], target[PLAN_PATH_MAX];
	struct stat st;
	ssize_t n;

	for (size_t i = 0; i < ARRAY_LEN(ours); i++)
		if (strcmp(name, ours[i]) == 0)
			return 0;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	(void)snprintf(dst, sizeof(dst), "/%s", name);
	if (S_ISLNK(st.st_mode)) {
		n = readlinkat(dir, name, target, sizeof(target) - 1);
		if (n < 0)
			return -errno;
		target[n] = '\0';
		return add(plan, MOUNT_SYMLINK, dst, target) ? 0 : -ENOMEM;
	}
	if (!S_ISDIR(st.st_mode))
		return 0;
	if (snprintf(src, sizeof(src), "%s/%s", root, name) >= (int)sizeof(src))
		return -ENAMETOOLONG;
	return add_bind(plan, dst, src, ATTR_RO, true, false);
}

static int add_root(struct mount_plan *plan, const char *root)
{
	struct dirent *e;
	DIR *d;
	int fd, r = 0;

	fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	d = fdopendir(fd);
	if (!d) {
		close(fd);
		return -ENOMEM;
	}
	while (r == 0 && (e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			r = add_root_entry(plan, dirfd(d), root, e->d_name);
	closedir(d);
	return r;
}

static int add_dev(struct mount_plan *plan, const struct jail_spec *spec)
{
	struct jail_tmpfs dev = { .size = PLAN_ROOT_SIZE, .inodes = PLAN_DEV_INODES };
	char dst[32], src[32];
	struct mount_op *op;
	int r;

	r = add_tmpfs(plan, "/dev", &dev, 0755, false);
	if (r < 0)
		return r;
	plan->ops[plan->n - 1].seal = true;
	for (size_t i = 0; i < ARRAY_LEN(mem_devices); i++) {
		(void)snprintf(dst, sizeof(dst), "/dev/%s", mem_devices[i].name);
		(void)snprintf(src, sizeof(src), "/dev/%s", mem_devices[i].name);
		op = add(plan, MOUNT_DEVICE, dst, src);
		if (!op)
			return -ENOMEM;
		op->attrs = ATTR_DEVICE;
		op->rdev = (unsigned int)makedev(1, mem_devices[i].minor);
	}
	for (size_t i = 0; i < ARRAY_LEN(dev_links); i++)
		if (!add(plan, MOUNT_SYMLINK, dev_links[i].name, dev_links[i].target))
			return -ENOMEM;
	return add_tmpfs(plan, "/dev/shm", &spec->shm, 01777, spec->exec_from_writable);
}

static int add_writable(struct mount_plan *plan, const struct jail_spec *spec)
{
	int r;

	r = add_tmpfs(plan, "/tmp", &spec->tmp, 01777, spec->exec_from_writable);
	if (r < 0)
		return r;
	return add_tmpfs(plan, JAIL_WORK, &spec->work, 0755, spec->exec_from_writable);
}

static int by_depth(const void *a, const void *b)
{
	const struct jail_bind *const *x = a, *const *y = b;

	return strcmp((*x)->dst, (*y)->dst);
}

/* The order in which the user named the binds never matters: a parent sorts before what lies below it. */
static int add_user_binds(struct mount_plan *plan, const struct jail_spec *spec, struct sj_err *err)
{
	const struct jail_bind *order[JAIL_MOUNTS_MAX];
	struct stat st;
	uint64_t attrs;

	if (spec->n_binds > JAIL_MOUNTS_MAX)
		return err_set(err, E2BIG, SJ_EXIT_USAGE, "E_MOUNTS", "%zu mounts are too many (at most %d)",
			       spec->n_binds, JAIL_MOUNTS_MAX);
	for (size_t i = 0; i < spec->n_binds; i++)
		order[i] = &spec->binds[i];
	qsort(order, spec->n_binds, sizeof(order[0]), by_depth);
	for (size_t i = 0; i < spec->n_binds; i++) {
		if (i > 0 && strcmp(order[i]->dst, order[i - 1]->dst) == 0)
			return err_set(err, EEXIST, SJ_EXIT_USAGE, "E_MOUNTS", "two mounts on %s: %s and %s",
				       order[i]->dst, order[i - 1]->src, order[i]->src);
		if (stat(order[i]->src, &st) < 0)
			return explain_phase("sources", errno, order[i]->src, err);
		if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
			return err_set(err, EINVAL, SJ_EXIT_USAGE, "E_MOUNTS",
				       "%s is neither a folder nor a regular file and cannot be mounted", order[i]->src);
		attrs = ATTR_BASE;
		if (!order[i]->writable)
			attrs = ATTR_RO;
		else if (!spec->exec_from_writable)
			attrs = ATTR_RW;
		if (add_bind(plan, order[i]->dst, order[i]->src, attrs, S_ISDIR(st.st_mode), true) < 0)
			return err_oom(err);
	}
	return 0;
}

/* A jail on the host's network resolves names as the host does. */
static int add_resolver(struct mount_plan *plan, const struct jail_spec *spec)
{
	char path[PATH_MAX];

	if (spec->net != JAIL_NET_HOST || !realpath("/etc/resolv.conf", path))
		return 0;
	return add_bind(plan, "/etc/resolv.conf", path, ATTR_RO | MOUNT_ATTR_NOEXEC, false, false);
}

static int add_files(struct mount_plan *plan, const struct jail_spec *spec)
{
	char dst[NAME_MAX + sizeof(JAIL_WORK) + 2];
	struct mount_op *op;

	for (size_t i = 0; i < spec->n_files; i++) {
		if (strchr(spec->files[i].name, '/') || strlen(spec->files[i].name) > NAME_MAX)
			return -EINVAL;
		(void)snprintf(dst, sizeof(dst), JAIL_WORK "/%s", spec->files[i].name);
		op = add(plan, MOUNT_FILE, dst, NULL);
		if (!op)
			return -ENOMEM;
		op->mode = 0644;
		op->data = spec->files[i].data;
		op->len = spec->files[i].len;
	}
	return 0;
}

int plan_build(const struct jail_spec *spec, struct mount_plan *ret, struct sj_err *err)
{
	struct mount_plan plan = { 0 };
	int r;

	plan.ops = calloc(PLAN_OPS_MAX, sizeof(plan.ops[0]));
	if (!plan.ops)
		return err_oom(err);
	r = add_root(&plan, spec->root);
	if (r < 0) {
		(void)explain_phase("sources", -r, spec->root, err);
		goto fail;
	}
	r = add(&plan, MOUNT_DIR, "/proc", NULL) ? 0 : -ENOMEM;
	if (r == 0)
		r = add_dev(&plan, spec);
	if (r == 0)
		r = add_writable(&plan, spec);
	if (r == 0)
		r = add_resolver(&plan, spec);
	if (r == 0)
		r = add_files(&plan, spec);
	if (r < 0) {
		(void)err_set(err, -r, SJ_EXIT_SETUP, "E_PLAN", "the jail's mount plan could not be made");
		err_why(err, "%s", strerror(-r));
		goto fail;
	}
	r = add_user_binds(&plan, spec, err);
	if (r < 0)
		goto fail;
	*ret = plan;
	return 0;
fail:
	plan_clear(&plan);
	return r;
}

void plan_clear(struct mount_plan *plan)
{
	if (!plan)
		return;
	for (size_t i = 0; i < plan->n; i++)
		if (plan->ops[i].tree >= 0)
			close(plan->ops[i].tree);
	free(plan->ops);
	base_strv_freep(&plan->strings);
	*plan = (struct mount_plan){ 0 };
}

char *plan_print(const struct mount_plan *plan)
{
	static const char *const names[] = { "dir", "link", "tmpfs", "bind", "device", "file" };
	_cleanup_buf_ struct buf b = BUF_INIT(1 << 20);
	int r = 0;

	for (size_t i = 0; r == 0 && i < plan->n; i++) {
		const struct mount_op *op = &plan->ops[i];

		r = buf_printf(&b, "%-6s %s%s%s", names[op->kind], op->dst, op->src ? " <- " : "", op->src ? op->src : "");
		if (r == 0 && op->kind == MOUNT_TMPFS)
			r = buf_printf(&b, " size=%llu inodes=%llu", (unsigned long long)op->size,
				       (unsigned long long)op->inodes);
		if (r == 0 && op->attrs)
			r = buf_printf(&b, "%s%s%s%s", op->attrs & MOUNT_ATTR_RDONLY ? " ro" : "",
				       op->attrs & MOUNT_ATTR_NOSUID ? " nosuid" : "",
				       op->attrs & MOUNT_ATTR_NODEV ? " nodev" : "",
				       op->attrs & MOUNT_ATTR_NOEXEC ? " noexec" : "");
		if (r == 0)
			r = buf_append(&b, "\n", 1);
	}
	if (r < 0 || buf_append(&b, "", 1) < 0)
		return NULL;
	return steal_ptr(b.data);
}
