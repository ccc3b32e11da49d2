/*
 * landlock.c - the kernel's Landlock: a second opinion on every path, or the only one
 *
 * Runs as: the guest's process, before it runs the guest (in a full jail: after pivot_root)
 * Trusts: the plan
 * Never: grants more than the mounts do, or, without mounts, than the list of paths
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/base.h"
#include "jail/internal.h"

/* From linux/landlock.h of Linux 6.18: Debian 12's headers end at ABI 2. */
#define LL_EXECUTE (1u << 0)
#define LL_WRITE_FILE (1u << 1)
#define LL_READ_FILE (1u << 2)
#define LL_READ_DIR (1u << 3)
#define LL_REMOVE_DIR (1u << 4)
#define LL_REMOVE_FILE (1u << 5)
#define LL_MAKE_CHAR (1u << 6)
#define LL_MAKE_DIR (1u << 7)
#define LL_MAKE_REG (1u << 8)
#define LL_MAKE_SOCK (1u << 9)
#define LL_MAKE_FIFO (1u << 10)
#define LL_MAKE_BLOCK (1u << 11)
#define LL_MAKE_SYM (1u << 12)
#define LL_REFER (1u << 13)	/* ABI 2 */
#define LL_TRUNCATE (1u << 14)	/* ABI 3 */
#define LL_IOCTL_DEV (1u << 15)	/* ABI 5 */
#define LL_BIND_TCP (1u << 0)	/* ABI 4 */
#define LL_CONNECT_TCP (1u << 1)
#define LL_SCOPE_ABSTRACT_UNIX (1u << 0)	/* ABI 6 */
#define LL_SCOPE_SIGNAL (1u << 1)
#define LL_CREATE_RULESET_VERSION 1u
#define LL_RULE_PATH_BENEATH 1

#define LL_READ (LL_READ_FILE | LL_READ_DIR)
#define LL_CHANGE (LL_WRITE_FILE | LL_REMOVE_DIR | LL_REMOVE_FILE | LL_MAKE_DIR | LL_MAKE_REG | LL_MAKE_SOCK | \
		   LL_MAKE_FIFO | LL_MAKE_SYM | LL_REFER | LL_TRUNCATE)
#define LL_ON_FILE (LL_EXECUTE | LL_WRITE_FILE | LL_READ_FILE | LL_TRUNCATE | LL_IOCTL_DEV)

struct ll_ruleset {
	uint64_t handled_fs, handled_net, scoped;
};

struct ll_path_beneath {
	uint64_t allowed;
	int32_t parent_fd;
} __attribute__((packed));

int landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LL_CREATE_RULESET_VERSION);

	return abi < 0 ? 0 : (int)abi;
}

static uint64_t handled(int abi)
{
	uint64_t all = LL_MAKE_SYM * 2 - 1;

	if (abi >= 2)
		all |= LL_REFER;
	if (abi >= 3)
		all |= LL_TRUNCATE;
	if (abi >= 5)
		all |= LL_IOCTL_DEV;
	return all;
}

static int allow(int ruleset, const char *path, uint64_t rights)
{
	struct ll_path_beneath rule = { .allowed = rights };
	_cleanup_close_ int fd = open(path, O_PATH | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return -errno;
	rule.parent_fd = fd;
	if (syscall(SYS_landlock_add_rule, ruleset, LL_RULE_PATH_BENEATH, &rule, 0) < 0)
		return -errno;
	return 0;
}

/* What the attributes of a mount leave, as Landlock's rights. */
static uint64_t rights_of(const struct mount_op *op)
{
	uint64_t rights = LL_READ;

	if (!(op->attrs & MOUNT_ATTR_NOEXEC))
		rights |= LL_EXECUTE;
	if (!(op->attrs & MOUNT_ATTR_RDONLY))
		rights |= LL_CHANGE;
	if (op->kind == MOUNT_DEVICE)
		rights = LL_READ_FILE | LL_WRITE_FILE | LL_TRUNCATE | LL_IOCTL_DEV;
	else if (op->kind == MOUNT_BIND && !op->is_dir)
		rights &= LL_ON_FILE;
	return rights;
}

/* Every folder may be listed (rights reach downwards); /proc is read, and written where a process may write its own. */
static int add_rules(int ruleset, const struct mount_plan *plan, uint64_t all)
{
	int r = allow(ruleset, "/", LL_READ_DIR & all);

	if (r == 0)
		r = allow(ruleset, "/proc", (LL_READ | LL_WRITE_FILE | LL_TRUNCATE) & all);
	for (size_t i = 0; r == 0 && i < plan->n; i++) {
		const struct mount_op *op = &plan->ops[i];

		if (op->kind == MOUNT_BIND || op->kind == MOUNT_DEVICE || (op->kind == MOUNT_TMPFS && !op->seal))
			r = allow(ruleset, op->dst, rights_of(op) & all);
	}
	return r;
}

/* The structure is as long as the kernel knows it. */
static int create(struct ll_ruleset *attr, int abi)
{
	size_t size = abi >= 6 ? sizeof(*attr) : abi >= 4 ? 16 : 8;
	int fd;

	attr->handled_fs = handled(abi);
	if (abi >= 6)
		attr->scoped = LL_SCOPE_ABSTRACT_UNIX | LL_SCOPE_SIGNAL;
	fd = (int)syscall(SYS_landlock_create_ruleset, attr, size, 0);
	return fd < 0 ? -errno : fd;
}

int landlock_restrict(const struct mount_plan *plan, int abi)
{
	struct ll_ruleset attr = { 0 };
	_cleanup_close_ int ruleset = create(&attr, abi);
	int r;

	if (ruleset < 0)
		return ruleset;
	r = add_rules(ruleset, plan, attr.handled_fs);
	if (r < 0)
		return r;
	return syscall(SYS_landlock_restrict_self, ruleset, 0) < 0 ? -errno : 0;
}

/* ---- without mounts ------------------------------------------------------ */

static uint64_t rights_for(const struct light_path *p)
{
	static const uint64_t rights[] = {
		[LIGHT_READ] = LL_READ,
		[LIGHT_EXEC] = LL_READ | LL_EXECUTE,
		[LIGHT_WRITE] = LL_READ | LL_CHANGE,
		[LIGHT_WRITE_EXEC] = LL_READ | LL_CHANGE | LL_EXECUTE,
		[LIGHT_DEVICE] = LL_READ_FILE | LL_WRITE_FILE | LL_TRUNCATE,
	};

	/* A socket with a path would be there for the host's programs. */
	return (p->is_dir ? rights[p->access] : rights[p->access] & LL_ON_FILE) & ~(uint64_t)LL_MAKE_SOCK;
}

int landlock_restrict_paths(const struct light_path *paths, size_t n, int abi)
{
	struct ll_ruleset attr = { .handled_net = LL_BIND_TCP | LL_CONNECT_TCP };
	_cleanup_close_ int ruleset = create(&attr, abi);

	if (ruleset < 0)
		return ruleset;
	for (size_t i = 0; i < n; i++) {
		struct ll_path_beneath rule = { .allowed = rights_for(&paths[i]) & attr.handled_fs, .parent_fd = paths[i].fd };

		if (syscall(SYS_landlock_add_rule, ruleset, LL_RULE_PATH_BENEATH, &rule, 0) < 0)
			return -errno;
	}
	return syscall(SYS_landlock_restrict_self, ruleset, 0) < 0 ? -errno : 0;
}

/* Moving files to another folder is denied by each ruleset that does not allow it, whatever it handles (landlock(7)). */
int landlock_restrict_scope(void)
{
	struct ll_ruleset attr = { .handled_fs = LL_REFER, .scoped = LL_SCOPE_ABSTRACT_UNIX | LL_SCOPE_SIGNAL };
	_cleanup_close_ int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	int r;

	if (ruleset < 0)
		return -errno;
	r = allow(ruleset, "/", LL_REFER);
	if (r < 0)
		return r;
	return syscall(SYS_landlock_restrict_self, ruleset, 0) < 0 ? -errno : 0;
}
