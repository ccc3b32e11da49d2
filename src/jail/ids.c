/*
 * ids.c - which user the jail's one user is outside, and the maps that say so
 *
 * Runs as: the supervisor
 * Trusts: its own /proc/self/uid_map
 * Never: maps root's own id when it may map another; maps more than one id
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "jail/internal.h"

#define ID_MAP_TEXT_MAX 8192

/* Is `id` mapped in our own user namespace? `last` gets the highest mapped id below 2^31. */
static bool id_is_mapped(const char *map, uint64_t id, uint64_t *ret_last)
{
	unsigned long long inside, outside, count;
	bool found = false;
	int used;

	for (const char *p = map; sscanf(p, "%llu %llu %llu%n", &inside, &outside, &count, &used) == 3; p += used) {
		if (count == 0)
			continue;
		if (id >= inside && id - inside < count)
			found = true;
		if (inside + count - 1 > *ret_last && inside + count - 1 < 0x80000000u)
			*ret_last = inside + count - 1;
	}
	return found;
}

/*
 * An ordinary user can only map its own id. Root's jail gets an id that is
 * nobody's: as uid 0 a process owns most of the host's files, capabilities or
 * not. In a container that maps few ids the highest one serves.
 */
static int choose_one(const char *map_path, uint32_t *ret)
{
	uint64_t want = JAIL_ROOT_UID_BASE + ((uint64_t)getpid() % JAIL_ROOT_UID_COUNT), last = 0;
	_cleanup_free_ char *text = NULL;
	size_t len;
	int r;

	r = io_read_file(map_path, ID_MAP_TEXT_MAX, &text, &len);
	if (r < 0)
		return r;
	*ret = (uint32_t)(id_is_mapped(text, want, &last) ? want : last);
	return 0;
}

int ids_choose(struct ids *ret)
{
	struct ids ids = { .outer_uid = geteuid(), .outer_gid = getegid() };
	int r;

	if (ids.outer_uid == 0 && !teeth_out("root_ids")) {
		r = choose_one("/proc/self/uid_map", &ids.outer_uid);
		if (r == 0)
			r = choose_one("/proc/self/gid_map", &ids.outer_gid);
		if (r < 0)
			return r;
		ids.mapped_away = ids.outer_uid != 0;
	}
	*ret = ids;
	return 0;
}

static int write_proc(pid_t pid, const char *name, const char *text)
{
	char path[64];
	_cleanup_close_ int fd = -1;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		return -errno;
	return 0;
}

static int write_map(pid_t pid, const char *name, uint32_t inside, uint32_t outside)
{
	char text[64];

	(void)snprintf(text, sizeof(text), "%u %u 1", inside, outside);
	return write_proc(pid, name, text);
}

/* setgroups is denied before the gid map is written: user_namespaces(7) wants that order. */
int ids_write_maps(pid_t pid, const struct ids *ids)
{
	int r = write_proc(pid, "setgroups", "deny");

	if (r == 0)
		r = write_map(pid, "uid_map", JAIL_UID, ids->outer_uid);
	if (r == 0)
		r = write_map(pid, "gid_map", JAIL_GID, ids->outer_gid);
	return r;
}

/* The process that carries a namespace until its descriptor is open. */
static pid_t clone_carrier(void)
{
	struct {
		uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
	} args = { .flags = CLONE_NEWUSER };
	pid_t parent = getpid(), pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));

	if (pid != 0)
		return pid < 0 ? -errno : pid;
	/* Whoever kills the supervisor now must not leave a process that holds copies of all its descriptors. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != parent)
		_exit(1);
	for (;;)
		(void)syscall(SYS_pause);
}

/*
 * Files of the caller on an id-mapped mount belong to the jail's user
 * (mount_setattr(2): "inside" is the id on disk, "outside" the id that is seen).
 */
int ids_mount_userns(const struct ids *ids)
{
	char path[64];
	pid_t pid = clone_carrier();
	int r, fd = -1;

	if (pid < 0)
		return pid;
	r = write_map(pid, "uid_map", geteuid(), ids->outer_uid);
	if (r == 0)
		r = write_map(pid, "gid_map", getegid(), ids->outer_gid);
	if (r == 0) {
		(void)snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		r = fd < 0 ? -errno : fd;
	}
	if (kill(pid, SIGKILL) < 0) {
		r = -errno;
		base_closep(&fd);
		return r;
	}
	while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		;
	return r;
}
