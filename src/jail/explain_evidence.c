/*
 * explain_evidence.c - signs that tell one cause of a failed set-up from another
 *
 * Runs as: parent, after a failure; nothing of the jail is left
 * Trusts: the kernel's /proc, and what a call in a child answers
 * Never: decides whether something works, changes anything
 */
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/capability.h>

#include "jail/probe.h"

#define TASK_COUNT_MAX 65535

bool evidence_chroot(const struct host *h, _unused_ const char *detail, char *ret, size_t len)
{
	if (!host_chrooted(h))
		return false;
	snprintf(ret, len, "\"/\" is not the root of the mount namespace");
	return true;
}

/* "Seccomp: 2, container mark /.dockerenv" after what `seen` says. */
static bool filter_seen(const struct host *h, const char *seen, char *ret, size_t len)
{
	unsigned long long mode = 0;
	char mark[96];

	host_status(h, "Seccomp", 10, &mode);
	if (host_container(h, mark, sizeof(mark)))
		snprintf(ret, len, "%sSeccomp: %llu in /proc/self/status, container mark %s", seen, mode, mark);
	else
		snprintf(ret, len, "%sSeccomp: %llu in /proc/self/status", seen, mode);
	return true;
}

/* Without a filter on the caller, another early answer than the kernel's usual one is the kernel's all the same. */
static bool filter_answers(const struct host *h, const char *call)
{
	unsigned long long mode;

	return (!host_status(h, "Seccomp", 10, &mode) || mode != 0) && h->filtered(call);
}

bool evidence_userns_filtered(const struct host *h, _unused_ const char *detail, char *ret, size_t len)
{
	if (!filter_answers(h, "unshare") && !filter_answers(h, "clone"))
		return false;
	return filter_seen(h, "the filter answers before the kernel does, ", ret, len);
}

bool evidence_clone3_filtered(const struct host *h, _unused_ const char *detail, char *ret, size_t len)
{
	if (host_older_than(h, 5, 3) || !filter_answers(h, "clone3"))
		return false;
	return filter_seen(h, "clone3 is hidden though this kernel has it, ", ret, len);
}

bool evidence_mount_filtered(const struct host *h, _unused_ const char *detail, char *ret, size_t len)
{
	if (!filter_answers(h, "mount"))
		return false;
	return filter_seen(h, "the filter answers mount before the kernel does, ", ret, len);
}

bool evidence_filter(const struct host *h, _unused_ const char *detail, char *ret, size_t len)
{
	unsigned long long mode;

	if (!host_status(h, "Seccomp", 10, &mode) || mode == 0)
		return false;
	return filter_seen(h, "", ret, len);
}

bool evidence_unmapped(const struct host *h, _unused_ const char *detail, char *ret, size_t len)
{
	unsigned long long uid, gid;

	if (!host_status(h, "Uid", 10, &uid) || !host_status(h, "Gid", 10, &gid))
		return false;
	if (host_maps_id(h, "/proc/self/uid_map", (unsigned long)uid) &&
	    host_maps_id(h, "/proc/self/gid_map", (unsigned long)gid))
		return false;
	snprintf(ret, len, "uid %llu and gid %llu are not both in /proc/self/uid_map and gid_map", uid, gid);
	return true;
}

bool evidence_userns_zero(const struct host *h, _unused_ const char *detail, char *ret, size_t len)
{
	long long n;

	if (!host_number(h, "/proc/sys/user/max_user_namespaces", &n) || n != 0)
		return false;
	snprintf(ret, len, "user.max_user_namespaces=0");
	return true;
}

/* A jail that ends nesting does it so. */
bool evidence_nested_limit(const struct host *h, const char *detail, char *ret, size_t len)
{
	return host_in_userns(h) && evidence_userns_zero(h, detail, ret, len);
}

static const char *const ns_limits[] = { "user", "mnt", "pid", "net", "ipc", "uts", "cgroup" };

/* The limit that is zero, else all that could be read of the one most used. */
bool evidence_ns_limit(const struct host *h, _unused_ const char *detail, char *ret, size_t len)
{
	char path[64];
	long long n;

	for (size_t i = 0; i < ARRAY_LEN(ns_limits); i++) {
		snprintf(path, sizeof(path), "/proc/sys/user/max_%s_namespaces", ns_limits[i]);
		if (!host_number(h, path, &n) || n != 0)
			continue;
		snprintf(ret, len, "user.max_%s_namespaces=0", ns_limits[i]);
		return true;
	}
	if (host_number(h, "/proc/sys/user/max_user_namespaces", &n))
		snprintf(ret, len, "none of user.max_*_namespaces is 0 here, user.max_user_namespaces=%lld", n);
	return true;
}

bool evidence_ns_missing(const struct host *h, _unused_ const char *detail, char *ret, size_t len)
{
	char path[64];

	if (!host_exists(h, "/proc/self/ns"))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(ns_limits); i++) {
		snprintf(path, sizeof(path), "/proc/self/ns/%s", ns_limits[i]);
		if (host_exists(h, path))
			continue;
		snprintf(ret, len, "no %s", path);
		return true;
	}
	return false;
}

bool evidence_userns_switch(const struct host *h, _unused_ const char *detail, char *ret, size_t len)
{
	long long n;

	if (!host_number(h, "/proc/sys/kernel/unprivileged_userns_clone", &n) || n != 0 || host_has_cap(h, CAP_SYS_ADMIN))
		return false;
	snprintf(ret, len, "kernel.unprivileged_userns_clone=0");
	return true;
}

#define LABEL_ENDS(label, end) (strlen(label) >= sizeof(end) - 1 && strcmp((label) + strlen(label) - (sizeof(end) - 1), end) == 0)

/* AppArmor's labels end in their mode, and only one mode refuses anything; SELinux' have none. */
bool evidence_lsm_label(const struct host *h, _unused_ const char *detail, char *ret, size_t len)
{
	char label[96];

	if (!host_line(h, "/proc/self/attr/current", label, sizeof(label)) || !label[0] || strcmp(label, "unconfined") == 0 ||
	    LABEL_ENDS(label, "(unconfined)") || LABEL_ENDS(label, "(complain)"))
		return false;
	snprintf(ret, len, "label \"%s\" in /proc/self/attr/current", label);
	return true;
}

bool evidence_apparmor_label(const struct host *h, const char *detail, char *ret, size_t len)
{
	char label[96];

	return host_line(h, "/proc/self/attr/current", label, sizeof(label)) && LABEL_ENDS(label, "(enforce)") &&
	       evidence_lsm_label(h, detail, ret, len);
}

/* Whose label it is: of what wraps the caller, not of this program or its service. */
bool evidence_container_label(const struct host *h, const char *detail, char *ret, size_t len)
{
	char mark[96];
	const char *kind = host_container(h, mark, sizeof(mark));

	return kind && strcmp(kind, "systemd") != 0 && evidence_lsm_label(h, detail, ret, len);
}

/* Where the kernel has no such switch, a profile of that name takes the rights away all the same. */
static bool in_userns_profile(const struct host *h)
{
	char label[96];

	return host_line(h, "/proc/self/attr/current", label, sizeof(label)) && LABEL_ENDS(label, "(enforce)") &&
	       (strstr(label, "unprivileged_userns") || strstr(label, "unpriv_"));
}

/* Ubuntu's rule spares whoever has CAP_SYS_ADMIN, and programs with a profile such as ours. */
bool evidence_apparmor_userns(const struct host *h, const char *detail, char *ret, size_t len)
{
	char label[128] = "label \"unconfined\"", own[96] = "";
	long long n = 0;

	if (host_has_cap(h, CAP_SYS_ADMIN) ||
	    (host_line(h, "/proc/self/attr/current", own, sizeof(own)) && strcmp(own, "smoljail (unconfined)") == 0))
		return false;
	(void)evidence_lsm_label(h, detail, label, sizeof(label));
	if (host_number(h, "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", &n) && n != 0)
		snprintf(ret, len, "kernel.apparmor_restrict_unprivileged_userns=%lld, %s", n, label);
	else if (in_userns_profile(h))
		snprintf(ret, len, "%s", label);
	else
		return false;
	return true;
}

bool evidence_no_proc(const struct host *h, _unused_ const char *detail, char *ret, size_t len)
{
	if (host_exists(h, "/proc/self"))
		return false;
	snprintf(ret, len, "no /proc/self");
	return true;
}

bool evidence_not_dumpable(const struct host *h, _unused_ const char *detail, _unused_ char *ret, _unused_ size_t len)
{
	return !h->dumpable();
}

bool evidence_processes(_unused_ const struct host *h, _unused_ const char *detail, char *ret, size_t len)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NPROC, &r) < 0 || r.rlim_cur > TASK_COUNT_MAX)
		return false;
	snprintf(ret, len, "ulimit -u is %llu", (unsigned long long)r.rlim_cur);
	return true;
}

bool evidence_release(const struct host *h, _unused_ const char *detail, char *ret, size_t len)
{
	char release[96];

	host_release(h, release, sizeof(release));
	snprintf(ret, len, "this is Linux %s", release);
	return true;
}

/* Linux 5.12 is the first with mount_setattr, the newest call that a jail cannot do without. */
bool evidence_before_5_12(const struct host *h, const char *detail, char *ret, size_t len)
{
	return host_older_than(h, 5, 12) && evidence_release(h, detail, ret, len);
}

bool evidence_proc_overmount(const struct host *h, _unused_ const char *detail, char *ret, size_t len)
{
	char over[160];

	if (!host_proc_overmount(h, over, sizeof(over)))
		return false;
	snprintf(ret, len, "%s in /proc/self/mountinfo", over);
	return true;
}

bool evidence_proc_sys_readonly(const struct host *h, _unused_ const char *detail, char *ret, size_t len)
{
	if (!host_proc_sys_readonly(h))
		return false;
	snprintf(ret, len, "\"ro\" in /proc/self/mountinfo");
	return true;
}

bool evidence_proc_hidden(const struct host *h, _unused_ const char *detail, char *ret, size_t len)
{
	char option[64];

	if (!host_proc_hidden(h, option, sizeof(option)))
		return false;
	snprintf(ret, len, "%s in /proc/self/mountinfo", option);
	return true;
}

bool evidence_initramfs(const struct host *h, _unused_ const char *detail, char *ret, size_t len)
{
	if (!host_on_initramfs(h))
		return false;
	snprintf(ret, len, "\"/\" is of type rootfs in /proc/self/mountinfo");
	return true;
}

bool evidence_privileged(const struct host *h, _unused_ const char *detail, char *ret, size_t len)
{
	if (!host_has_cap(h, CAP_SYS_ADMIN))
		return false;
	snprintf(ret, len, "smoljail was started with CAP_SYS_ADMIN");
	return true;
}

/* Root's jails run as an id that is nobody's: only the bits for others count. Else the caller's own rights do. */
static bool closed(const char *path, const struct stat *st, bool last)
{
	bool dir = S_ISDIR(st->st_mode);
	mode_t need = last ? S_IROTH | (dir ? S_IXOTH : 0) : S_IXOTH;

	if (geteuid() == 0)
		return (st->st_mode & need) != need;
	return faccessat(AT_FDCWD, path, (need & S_IROTH ? R_OK : 0) | (need & S_IXOTH ? X_OK : 0), AT_EACCESS) < 0;
}

/* The first part of the path that is closed to the jail's user. */
bool evidence_closed_path(_unused_ const struct host *h, const char *detail, char *ret, size_t len)
{
	size_t whole = strlen(detail);
	char path[PATH_MAX];
	struct stat st;

	if (detail[0] != '/' || whole >= sizeof(path))
		return false;
	for (size_t i = 1; i <= whole; i++) {
		if (detail[i] != '/' && detail[i] != '\0')
			continue;
		memcpy(path, detail, i);
		path[i] = '\0';
		if (stat(path, &st) < 0)
			return false;
		if (!closed(path, &st, i == whole))
			continue;
		snprintf(ret, len, "%.160s has mode %04o and belongs to uid %u", path, (unsigned int)(st.st_mode & 07777),
			 (unsigned int)st.st_uid);
		return true;
	}
	return false;
}
