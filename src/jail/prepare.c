/*
 * prepare.c - everything about a launch that is decided before clone3
 *
 * Runs as: the supervisor, the caller's user
 * Trusts: the spec
 * Never: starts a process that outlives the call
 */
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "jail/internal.h"

#define SCRUB_MAX (4u << 20)

/*
 * Where the kernel laid this program's arguments and environment: between
 * argv[0] and the file name that follows the last variable (getauxval(3)).
 * Left out when it does not look like that, as in a program that moved them.
 */
static void find_scrub_area(struct launch *l)
{
	char *start = program_invocation_name, *end = (char *)getauxval(AT_EXECFN);

	if (start && end && start < end && (size_t)(end - start) < SCRUB_MAX) {
		l->scrub = start;
		l->scrub_len = (size_t)(end - start);
	}
}

static void note_isolation(struct jail *j)
{
	static const char *const namespaces[] = {
		"userns", "mntns", "pidns", "netns", "ipcns", "utsns", "cgroupns", "pivot_root",
	};
	size_t n = 0;

	for (size_t i = 0; j->spec.isolation == JAIL_FULL && i < ARRAY_LEN(namespaces); i++)
		if (j->spec.net != JAIL_NET_HOST || strcmp(namespaces[i], "netns") != 0)
			j->isolation[n++] = namespaces[i];
	if (j->launch.landlock) {
		(void)snprintf(j->landlock, sizeof(j->landlock), "landlock:%d", j->launch.landlock);
		j->isolation[n++] = j->landlock;
	}
}

static int choose_landlock(struct jail *j, struct sj_err *err)
{
	int abi = j->spec.landlock == JAIL_LANDLOCK_OFF ? 0 : landlock_abi();

	if (abi == 0 && j->spec.landlock == JAIL_LANDLOCK_REQUIRE)
		return explain_phase("landlock", EOPNOTSUPP, "", err);
	j->launch.landlock = abi;
	return j->spec.isolation == JAIL_LANDLOCK ? jail_light_possible(err) : 0;
}

/* What no cgroup holds is held by the next rung of the ladder. */
static void note_enforced(struct jail *j)
{
	const struct jail_limits *l = &j->spec.limits;
	struct jail_limits counted = *l;

	/* Without a user namespace the kernel counts the user's other processes too: as many are let in as there are now. */
	if (j->spec.isolation == JAIL_LANDLOCK && l->pids)
		counted.pids += light_count_tasks(j->launch.ids.outer_uid);
	if (j->cgroup)
		cgroup_enforced(j->cgroup, &j->enforced);
	j->launch.n_rlimits = privs_rlimits(&counted, &j->enforced, j->launch.rlimits);
	if (!j->enforced.memory)
		j->enforced.memory = l->memory ? "polling" : "none";
	if (!j->enforced.pids)
		j->enforced.pids = l->pids ? "rlimit" : "none";
	if (!j->enforced.cpu)
		j->enforced.cpu = "none";
	if (!j->enforced.cpu_time)
		j->enforced.cpu_time = l->cpu_ms ? "polling" : "none";
}

/*
 * Root's jail has another user's id, so folders that root names are mounted with
 * their owner mapped to that id. A file system that cannot do so still serves
 * for reading.
 */
static int open_mapped_sources(struct launch *l, struct sj_err *err)
{
	_cleanup_close_ int userns = -1;

	for (size_t i = 0; i < l->plan.n; i++) {
		struct mount_op *op = &l->plan.ops[i];
		int r;

		if (!op->user)
			continue;
		if (userns < 0)
			userns = ids_mount_userns(&l->ids);
		if (userns < 0)
			return explain_phase("sources", -userns, op->src, err);
		r = mount_open_source(op, userns);
		if (r == -EINVAL && (op->attrs & MOUNT_ATTR_RDONLY))
			r = mount_open_source(op, -1);
		if (r == -EINVAL) {
			(void)err_set(err, EINVAL, SJ_EXIT_SETUP, "E_IDMAP", "%s cannot be made writable in a jail that root starts",
				      op->src);
			err_why(err, "its file system has no id-mapped mounts, and the jail does not run as root");
			err_fix(err, "use a folder on ext4, xfs, btrfs or tmpfs, or start smoljail as the folder's owner");
			return -EINVAL;
		}
		if (r < 0)
			return explain_phase("sources", -r, op->src, err);
	}
	return 0;
}

/* The owner of a pipe may open it again as /dev/stdout; root's jail is not run by root, who made the pipe. */
static int hand_over_pipes(const struct jail *j)
{
	const struct ids *ids = &j->launch.ids;
	struct stat st;

	for (size_t i = 0; ids->mapped_away && i < ARRAY_LEN(j->spec.stdio); i++)
		if (fstat(j->spec.stdio[i], &st) == 0 && S_ISFIFO(st.st_mode) &&
		    fchown(j->spec.stdio[i], ids->outer_uid, ids->outer_gid) < 0)
			return -errno;
	return 0;
}

int prepare_jail(struct jail *j, struct sj_err *err)
{
	struct launch *l = &j->launch;
	int r;

	l->spec = &j->spec;
	l->root = -1;
	if (teeth_out("limits"))
		j->spec.limits.memory = j->spec.limits.pids = 0;
	find_scrub_area(l);
	r = choose_landlock(j, err);
	if (r < 0)
		return r;
	r = ids_choose(&l->ids);
	if (j->spec.isolation == JAIL_LANDLOCK)
		light_own_ids(&l->ids);
	if (r == 0)
		r = hand_over_pipes(j);
	if (r < 0)
		return explain_phase("uid_map", -r, "", err);
	r = j->spec.isolation == JAIL_LANDLOCK ? light_prepare(j, err) : plan_build(&j->spec, &l->plan, err);
	if (r < 0)
		return r;
	r = cgroup_open(&j->spec.limits, &j->cgroup, err);
	if (r < 0)
		return r;
	if (j->cgroup)
		l->n_join = cgroup_join_fds(j->cgroup, l->join);
	note_enforced(j);
	note_isolation(j);
	return l->ids.mapped_away && j->spec.isolation == JAIL_FULL ? open_mapped_sources(l, err) : 0;
}
