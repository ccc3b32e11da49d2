/*
 * disks.c - how full a jail's private folders are
 *
 * Runs as: the supervisor, the caller's user
 * Trusts: descriptors of the folders' file systems, which the child sent before the guest started
 * Never: opens a path of the jail
 */
#include <string.h>
#include <sys/statfs.h>

#include "jail/internal.h"

const char *const launch_disks[LAUNCH_DISKS] = { "/tmp", JAIL_WORK, "/dev/shm" };

static void light_disk(const struct jail *j, uint64_t *ret_used, bool *ret_full)
{
	uint64_t entries = 0;
	bool deep = false;

	light_home_usage(&j->launch.home, ret_used, &entries, &deep);
	*ret_full = deep || *ret_used > j->spec.work.size + j->spec.tmp.size ||
		    entries > j->spec.work.inodes + j->spec.tmp.inodes;
}

void jail_disk(struct jail *j, uint64_t *ret_used, bool *ret_full)
{
	struct statfs st;

	*ret_used = 0;
	*ret_full = false;
	if (j->spec.isolation == JAIL_LANDLOCK) {
		light_disk(j, ret_used, ret_full);
		return;
	}
	for (size_t i = 0; i < LAUNCH_DISKS; i++) {
		if (j->disks[i] < 0 || fstatfs(j->disks[i], &st) < 0)
			continue;
		*ret_used += (uint64_t)(st.f_blocks - st.f_bfree) * (uint64_t)st.f_bsize;
		if (st.f_bfree == 0 || st.f_ffree == 0)
			*ret_full = true;
	}
}

enum jail_full jail_folder_full(const struct jail *j, const char *folder)
{
	struct statfs st;

	for (size_t i = 0; i < LAUNCH_DISKS; i++) {
		if (strcmp(folder, launch_disks[i]) != 0 || j->disks[i] < 0 || fstatfs(j->disks[i], &st) < 0)
			continue;
		return st.f_ffree == 0 ? JAIL_FULL_INODES : st.f_bfree == 0 ? JAIL_FULL_SPACE : JAIL_FULL_NOT;
	}
	return JAIL_FULL_NOT;
}
