/*
 * light_prepare.c - what a jail without namespaces needs before its child exists
 *
 * Runs as: the supervisor, the caller's user
 * Trusts: the spec
 * Never: lets a jail start that would run as root, or on a kernel that cannot hold it
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/base.h"
#include "jail/internal.h"

#define STATUS_MAX 4096
#define UID_STRIDE 257u		/* between jails of one process that root started */

int jail_light_possible(struct sj_err *err)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, 1);

	int error = errno;

	if (abi < 0) {
		(void)explain_phase("landlock", error, "", err);
		err_fix(err, "%s", error == EOPNOTSUPP ? "add landlock to the lsm= list of the kernel's command line, or use full isolation"
						      : "boot Linux 6.12 or newer, or use full isolation");
		return -error;
	}
	if (abi >= LIGHT_ABI_MIN)
		return 0;
	err_set(err, EOPNOTSUPP, SJ_EXIT_SETUP, "E_LANDLOCK_ABI", "isolation landlock needs version %d of Landlock", LIGHT_ABI_MIN);
	err_why(err, "this kernel has version %ld: before %d the program could signal the caller's processes, and it would not be "
		"certain that all of its own are ended", abi, LIGHT_ABI_MIN);
	err_fix(err, "boot Linux 6.12 or newer, or use full isolation");
	return -EOPNOTSUPP;
}

/* The jails of one server are strangers to each other too, as far as owners count. */
void light_own_ids(struct ids *ids)
{
	static unsigned int number;
	unsigned int n = __atomic_fetch_add(&number, 1, __ATOMIC_RELAXED);

	if (!ids->mapped_away || ids->outer_uid < JAIL_ROOT_UID_BASE)
		return;
	ids->outer_uid = JAIL_ROOT_UID_BASE + (ids->outer_uid - JAIL_ROOT_UID_BASE + n * UID_STRIDE) % JAIL_ROOT_UID_COUNT;
}

static int refuse_root(struct sj_err *err)
{
	err_set(err, EPERM, SJ_EXIT_SETUP, "E_LIGHT_ROOT", "isolation landlock does not run anything as root");
	err_why(err, "no other user id is to be had here, and a root's files are open to whoever has its id");
	err_fix(err, "start smoljail as an ordinary user");
	return -EPERM;
}

static int refuse_writable(const char *path, struct sj_err *err)
{
	err_set(err, EPERM, SJ_EXIT_SETUP, "E_LIGHT_RW", "%s cannot be made writable", path);
	err_why(err, "root's jail runs as a stranger, and isolation landlock cannot map owners");
	err_fix(err, "start smoljail as the folder's owner, or use full isolation");
	return -EPERM;
}

static int check_caller(const struct jail *j, struct sj_err *err)
{
	if (j->launch.ids.outer_uid == 0)
		return refuse_root(err);
	for (size_t i = 0; j->launch.ids.mapped_away && i < j->spec.n_binds; i++)
		if (j->spec.binds[i].writable)
			return refuse_writable(j->spec.binds[i].src, err);
	return 0;
}

static int make_home(struct jail *j, struct sj_err *err)
{
	_cleanup_free_ char *wrapper = light_wrapper(&j->spec, &j->launch.light);
	int r;

	if (!wrapper)
		return err_oom(err);
	r = light_home_make(&j->spec, wrapper, j->launch.ids.outer_uid, j->launch.ids.outer_gid, &j->launch.home);
	if (r == 0)
		return 0;
	err_set(err, -r, SJ_EXIT_SETUP, "E_LIGHT_HOME", "cannot make the private folder %s", j->spec.home);
	err_why(err, "%s", strerror(-r));
	err_fix(err, "see that there is space, and that the folder above it may be written");
	return r;
}

int light_prepare(struct jail *j, struct sj_err *err)
{
	int r = check_caller(j, err);

	if (r == 0)
		r = light_plan_build(&j->spec, &j->launch.light, err);
	if (r < 0)
		return r;
	j->spec.argv = j->launch.light.argv;
	j->spec.path = j->launch.light.argv[0];
	return make_home(j, err);
}

/* ---- the user's processes ------------------------------------------------------ */

static bool field(const char *text, const char *name, unsigned long *ret)
{
	const char *line = strstr(text, name);

	return line && sscanf(line + strlen(name), " %lu", ret) == 1;
}

uint32_t light_count_tasks(uid_t uid)
{
	_cleanup_free_ char *text = NULL;
	unsigned long owner, threads;
	uint32_t n = 0;
	struct dirent *e;
	char path[300];
	size_t len;
	DIR *dir = opendir("/proc");

	while (dir && (e = readdir(dir))) {
		if (e->d_name[0] < '1' || e->d_name[0] > '9')
			continue;
		(void)snprintf(path, sizeof(path), "/proc/%s/status", e->d_name);
		if (io_read_file(path, STATUS_MAX, &text, &len) < 0)
			continue;
		if (field(text, "\nUid:", &owner) && owner == uid && field(text, "\nThreads:", &threads))
			n += (uint32_t)threads;
		free(steal_ptr(text));
	}
	if (dir)
		closedir(dir);
	return n;
}
