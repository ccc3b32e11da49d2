/*
 * explain.c - a phase that failed with an errno, as one sentence with one cause and one fix
 *
 * Runs as: parent, after the child has reported the failure
 * Trusts: the phase's name and errno; `detail` may be a path that a user wrote
 * Never: runs anything but harmless probes; leaves an error without words
 */
#include <string.h>

#include "jail/internal.h"
#include "jail/probe.h"

/* What a phase was about to do: "cannot create the jail: WORDS ..." */
static const struct {
	const char *phase, *words;
} phase_words[] = {
	{ "clone", "make its namespaces" },
	{ "uid_map", "map its user's ids" },
	{ "session", "start its own session" },
	{ "sources", "open a path of the host" },
	{ "identity", "become its user" },
	{ "hostname", "set its host name" },
	{ "network", "set up its loopback interface" },
	{ "no_nested_userns", "forbid more user namespaces inside" },
	{ "private_mounts", "separate its mounts from the host's" },
	{ "root_tmpfs", "mount its root" },
	{ "plan", "mount" },
	{ "proc", "mount its own /proc" },
	{ "pivot", "leave the host's root" },
	{ "read_only", "make its root read-only" },
	{ "rlimits", "set its resource limits" },
	{ "landlock", "apply the Landlock rules" },
	{ "privileges", "drop its privileges" },
	{ "guest", "start its program" },
	{ "seccomp", "load the system call filter" },
	{ "cgroup", "hide the host's cgroup tree" },
	{ "descriptors", "lay its descriptors" },
	{ "watch", "watch its processes, to hold its limits" },
	{ "calls", "use a system call" },
};

#define IN_USERNS "identity hostname network no_nested_userns private_mounts root_tmpfs plan proc pivot read_only " \
		  "cgroup"
#define MOUNTING "sources private_mounts root_tmpfs plan proc pivot read_only"
#define ANY_PHASE NULL

#define FIX_APPARMOR "sudo install -m 644 " SMOLJAIL_SHAREDIR "/apparmor/smoljail /etc/apparmor.d/ && sudo apparmor_parser -r " \
		     "/etc/apparmor.d/smoljail (it names the installed program; docs/hosts.md has more)"
#define FIX_KERNEL "boot Linux 5.12 or newer"
#define FIX_NAMESPACES "boot a kernel with CONFIG_USER_NS, CONFIG_PID_NS, CONFIG_NET_NS, CONFIG_IPC_NS, CONFIG_UTS_NS and " \
		       "CONFIG_CGROUPS"
#define FIX_CHMOD "open that path to the jail's user (chmod o+rX), or choose another one"
#define FIX_BUG "this is a fault of smoljail: please report it with the output of smoljail doctor --json"

/* The first row that fits decides. Rows with evidence come before the row of the bare errno. */
static const struct explain_row rows[] = {
	/* namespaces */
	{ "clone", ENOSPC, evidence_nested_limit, "E_USERNS_NESTED",
	  "smoljail runs inside a jail or container that forbids further user namespaces",
	  "start smoljail outside of that jail" },
	{ "clone", ENOSPC, evidence_userns_zero, "E_USERNS_LIMIT", "user namespaces are switched off by a limit",
	  "sudo sysctl -w user.max_user_namespaces=15000" },
	{ "clone cgroup", ENOSPC, evidence_ns_limit, "E_NS_LIMIT",
	  "a limit on namespaces is reached: here, in an outer container, or by nesting deeper than 32",
	  "raise the user.max_*_namespaces that is too low (sudo sysctl -w), or end programs that hold namespaces" },
	/* Before the filter: Debian's kernel looks at the switch before it looks whether the flags fit together. */
	{ "clone", EPERM, evidence_userns_switch, "E_USERNS_SYSCTL", "user namespaces are switched off for ordinary users",
	  "sudo sysctl -w kernel.unprivileged_userns_clone=1" },
	{ "clone", EPERM, evidence_userns_filtered, "E_USERNS_SECCOMP",
	  "an outer seccomp filter (of the container or service) forbids user namespaces", NULL },
	{ "clone", EPERM, evidence_chroot, "E_CHROOT", "the kernel gives no user namespace to a process in a chroot",
	  "start smoljail outside of the chroot, or enter that folder by pivot_root (bwrap, systemd-nspawn)" },
	{ "clone", EPERM, evidence_unmapped, "E_USERNS_UNMAPPED", "the caller has no valid id in its user namespace",
	  "map the caller's ids when that namespace is made (unshare --map-current-user, podman --userns=keep-id)" },
	{ "clone", EPERM, evidence_apparmor_userns, "E_USERNS_APPARMOR", "Ubuntu's AppArmor rule for user namespaces",
	  FIX_APPARMOR },
	{ "clone", EACCES, evidence_apparmor_userns, "E_USERNS_APPARMOR", "Ubuntu's AppArmor rule for user namespaces",
	  FIX_APPARMOR },
	{ "clone", EACCES, evidence_container_label, "E_USERNS_LSM",
	  "the container's security module (AppArmor, SELinux) forbids user namespaces", NULL },
	{ "clone", EACCES, evidence_apparmor_label, "E_USERNS_APPARMOR", "an AppArmor profile forbids user namespaces",
	  FIX_APPARMOR },
	{ "clone", EACCES, evidence_lsm_label, "E_USERNS_LSM", "a security module (AppArmor, SELinux) forbids user namespaces",
	  "allow user namespaces for that label in the module's policy" },
	{ "clone", EPERM, NULL, "E_USERNS_DENIED",
	  "the kernel refuses user namespaces, and no known switch says why (a security module or a chroot onto a mount does so)",
	  "ask the host's administrator which security module forbids them" },
	{ "clone", EACCES, NULL, "E_USERNS_DENIED", "a security module refuses user namespaces",
	  "ask the host's administrator which security module forbids them" },
	{ "clone cgroup", EINVAL, evidence_ns_missing, "E_NS_KERNEL", "this kernel was built without a namespace that jails need",
	  FIX_NAMESPACES },
	{ "clone", ENOSYS, evidence_clone3_filtered, "E_USERNS_SECCOMP",
	  "an outer seccomp filter (of the container or service) forbids user namespaces", NULL },
	{ "clone", ENOSYS, evidence_release, "E_KERNEL_OLD", "this kernel has no clone3", FIX_KERNEL },
	{ "clone", EAGAIN, evidence_processes, "E_PROCESSES", "the caller's limit on processes is reached",
	  "raise it (ulimit -u), or end programs that are not needed" },
	{ "clone", EAGAIN, NULL, "E_PROCESSES", "a limit on processes is reached (of the user, or the pids limit of the container)",
	  "end programs that are not needed, or raise the limit (ulimit -u, docker run --pids-limit)" },
	{ "clone", ENOMEM, NULL, "E_MEMORY", "the host, or the container around smoljail, has no memory left",
	  "free memory, or raise the container's limit" },
	{ "clone", ECHILD, evidence_filter, "E_SECCOMP_OUTER",
	  "the child was killed during the set-up, as an outer seccomp filter does it", NULL },
	{ "clone", ECHILD, NULL, "E_CHILD_DIED", "the child was killed during the set-up: the memory limit is too small for it, "
	  "or somebody killed it", "a larger --memory, then smoljail doctor" },
	{ "clone", EBUSY, NULL, "E_CGROUP_BUSY", "the jail's cgroup takes no process", "run smoljail again; if it stays, "
	  "use --policy with limits.enforcement best-effort" },

	/* ids */
	{ ANY_PHASE, ENOENT, evidence_no_proc, "E_PROC_MISSING", "/proc is not mounted here",
	  "sudo mount -t proc proc /proc, in the chroot or container that smoljail is started in" },
	{ "uid_map identity", EPERM, evidence_apparmor_userns, "E_USERNS_APPARMOR",
	  "Ubuntu's AppArmor rule gives user namespaces no rights", FIX_APPARMOR },
	{ "uid_map identity", EACCES, evidence_apparmor_userns, "E_USERNS_APPARMOR",
	  "Ubuntu's AppArmor rule gives user namespaces no rights", FIX_APPARMOR },
	{ "uid_map", EACCES, evidence_not_dumpable, "E_BINARY_UNREADABLE",
	  "the kernel hides smoljail's own /proc files, because the caller may not read the smoljail program",
	  "chmod a+r the smoljail program" },
	{ "uid_map", EPERM, evidence_unmapped, "E_USERNS_UNMAPPED", "the caller has no valid id in its user namespace",
	  "map the caller's ids when that namespace is made (unshare --map-current-user, podman --userns=keep-id)" },
	{ "uid_map", EPERM, evidence_filter, "E_SECCOMP_OUTER", "an outer filter or security module forbids id maps", NULL },
	{ "uid_map", EROFS, NULL, "E_PROC_READONLY", "/proc is mounted read-only here", NULL },

	/* rights inside the namespaces */
	{ IN_USERNS, EPERM, evidence_apparmor_userns, "E_USERNS_APPARMOR",
	  "Ubuntu's AppArmor rule gives user namespaces no rights", FIX_APPARMOR },
	{ IN_USERNS, EACCES, evidence_apparmor_userns, "E_USERNS_APPARMOR",
	  "Ubuntu's AppArmor rule gives user namespaces no rights", FIX_APPARMOR },
	{ MOUNTING, EPERM, evidence_mount_filtered, "E_MOUNT_SECCOMP", "an outer seccomp filter forbids mounts", NULL },
	{ "proc", EPERM, evidence_proc_overmount, "E_PROC_MASKED",
	  "parts of /proc are covered here, so the kernel refuses a new one (\"Mount too revealing\")", NULL },
	{ "no_nested_userns", EROFS, evidence_proc_sys_readonly, "E_PROC_SYS_READONLY",
	  "/proc/sys is mounted read-only by the container", NULL },
	{ "no_nested_userns", ENOENT, NULL, "E_PROC_MASKED", "/proc/sys/user is covered or missing here", NULL },
	{ "pivot", EINVAL, evidence_initramfs, "E_INITRAMFS", "the host runs from an initramfs, which pivot_root cannot leave",
	  "let the initramfs switch_root into a mounted root (a tmpfs will do) before it starts smoljail" },
	{ IN_USERNS, ENOSYS, evidence_before_5_12, "E_KERNEL_OLD", "this kernel lacks calls that jails need", FIX_KERNEL },
	{ "sources", ENOSYS, evidence_before_5_12, "E_KERNEL_OLD", "this kernel lacks calls that jails need", FIX_KERNEL },
	{ MOUNTING, ENOSYS, evidence_filter, "E_MOUNT_SECCOMP", "an outer seccomp filter hides the calls that mount", NULL },
	{ "root_tmpfs", EACCES, evidence_closed_path, "E_ROOT_CLOSED", "the jail's user may not enter the folder of the root",
	  "move smoljail and its roots below a folder that everybody may enter, or open that one (chmod o+x)" },
	{ MOUNTING, EACCES, evidence_lsm_label, "E_MOUNT_LSM", "the container's security module (AppArmor, SELinux) forbids mounts",
	  NULL },
	{ IN_USERNS, EPERM, evidence_filter, "E_SECCOMP_OUTER", "an outer seccomp filter forbids a call that the set-up needs",
	  NULL },
	{ MOUNTING, ENODEV, evidence_release, "E_FS_KERNEL", "this kernel lacks a file system that jails need (tmpfs, proc)",
	  "boot a kernel with CONFIG_TMPFS and CONFIG_PROC_FS" },
	{ "proc", EINVAL, evidence_release, "E_KERNEL_OLD", "this kernel's /proc knows no subset=pid or hidepid=invisible",
	  FIX_KERNEL },
	{ "private_mounts root_tmpfs pivot read_only proc", ENOSPC, NULL, "E_MOUNT_LIMIT", "the limit on mounts is reached",
	  "sudo sysctl -w fs.mount-max=100000" },

	/* host paths; detail is the path */
	{ "sources", ENOENT, NULL, "E_SOURCE_MISSING", "that path does not exist on the host (anymore)",
	  "create it or name another one; smoljail creates nothing on the host" },
	{ "sources", ENOTDIR, NULL, "E_SOURCE_KIND", "a part of that path is not a folder, or file and folder were exchanged",
	  "name the path as it is now" },
	{ "sources", ELOOP, NULL, "E_SOURCE_SYMLINK", "a part of that path has become a symbolic link since it was looked up",
	  "run again, and let nobody else write in the folders above that path" },
	{ "sources", EXDEV, NULL, "E_SOURCE_SYMLINK", "that path leads out of where it was looked up",
	  "run again, and let nobody else write in the folders above that path" },
	{ "sources", ENXIO, NULL, "E_SOURCE_DEVICE", "that path is not the device it should be",
	  "give the container or chroot a real /dev (docker does; for a chroot: sudo mount --rbind /dev DIR/dev)" },
	{ "sources", EACCES, evidence_closed_path, "E_SOURCE_CLOSED", "the jail's user may not read it", FIX_CHMOD },
	{ "sources", EACCES, NULL, "E_SOURCE_CLOSED", "the jail's user may not read it", FIX_CHMOD },
	{ "sources", EINVAL, evidence_privileged, "E_SOURCE_IDMAP",
	  "the file system of that path cannot show its files as the jail user's (no id-mapped mounts)",
	  "run smoljail as the ordinary user who owns the files, or copy them to a local file system" },
	{ "sources", EINVAL, NULL, "E_SOURCE_MOUNT", "that path is on a mount which cannot be copied (unbindable)",
	  "sudo mount --make-private on that mount, or choose a path elsewhere" },
	{ "sources", EPERM, NULL, "E_SOURCE_LOCKED", "the mount of that path refuses to be bound as asked",
	  "choose a path elsewhere, or mount it read-only (--ro) if it was to be writable" },

	/* the plan; detail is the mount point */
	{ "plan", ENOENT, NULL, "E_MOUNT_POINT", "that path lies inside another mount and does not exist there",
	  "create it in the folder that is mounted there, or choose a place below /work, /tmp or a new top-level folder" },
	{ "plan", ENOTDIR, NULL, "E_MOUNT_POINT", "a file stands where a folder is needed, or a folder where a file is",
	  "choose another place inside the jail for that mount" },
	{ "plan", EEXIST, NULL, "E_MOUNT_POINT", "something else is already there inside the jail",
	  "choose another place inside the jail for that mount" },
	{ "plan", ELOOP, NULL, "E_MOUNT_POINT", "a part of that path is a symbolic link inside the jail",
	  "name the place that the link leads to" },
	{ "plan", ENOSPC, NULL, "E_MOUNT_SPACE", "the folder it is made in has no space or no inode left",
	  "fewer mounts and files, or a larger --disk" },
	{ "plan", ENAMETOOLONG, NULL, "E_MOUNT_POINT", "that path is too long", "choose a shorter path inside the jail" },

	/* giving things up */
	{ "landlock", ENOSYS, evidence_release, "E_LANDLOCK_KERNEL", "this kernel has no Landlock, or an outer filter hides it",
	  "boot a kernel with CONFIG_SECURITY_LANDLOCK, or set \"landlock\": \"auto\" in the policy" },
	{ "landlock", EOPNOTSUPP, NULL, "E_LANDLOCK_OFF", "Landlock is in this kernel but was not switched on at boot",
	  "add landlock to the lsm= list of the kernel's command line, or set \"landlock\": \"auto\" in the policy" },
	{ "landlock", E2BIG, NULL, "E_LANDLOCK_LAYERS", "16 layers of Landlock are already on the caller",
	  "start smoljail outside of the programs that confine it" },
	{ "privileges", EPERM, evidence_filter, "E_SECCOMP_OUTER", "an outer seccomp filter forbids a call that the set-up needs",
	  NULL },
	{ "seccomp", ENOSYS, evidence_release, "E_SECCOMP_KERNEL", "this kernel has no seccomp filters, or an outer filter hides them",
	  "boot a kernel with CONFIG_SECCOMP_FILTER" },
	{ "seccomp", EINVAL, evidence_release, "E_SECCOMP_KERNEL", "this kernel does not take the filter",
	  "boot a kernel with CONFIG_SECCOMP_FILTER, 5.5 or newer" },
	{ "seccomp", EBUSY, NULL, "E_SECCOMP_LISTENER", "an outer supervisor already listens to this process's filters",
	  "start smoljail outside of that supervisor" },
	{ "seccomp", EPERM, evidence_filter, "E_SECCOMP_OUTER", "an outer seccomp filter forbids further filters", NULL },
	{ "seccomp", EACCES, NULL, "E_INTERNAL", "no_new_privs was not set before the filter", FIX_BUG },
	{ "seccomp", ENOMEM, NULL, "E_SECCOMP_SIZE", "the filters on this process would be too long together",
	  "a policy with fewer system call rules, or start smoljail outside of the programs that filter it" },

	/* the program; detail is its path inside */
	{ "guest", ENOENT, NULL, "E_GUEST_MISSING", "it is not in the root, or the loader or interpreter that it names is not",
	  "smoljail rootfs verify, and build the root again when it names differences" },
	{ "guest", EACCES, NULL, "E_GUEST_EXEC", "it is not an executable file, lies on a mount without execution, or is closed "
	  "to the jail's user", "smoljail rootfs verify; a root must be readable by everyone (chmod -R a+rX)" },
	{ "guest", ENOEXEC, NULL, "E_GUEST_FORMAT", "it is not a program for this machine",
	  "build the root on this kind of machine" },
	{ "guest", E2BIG, NULL, "E_GUEST_ARGS", "arguments and environment are too long together",
	  "pass long data by a file or by standard input" },
	{ "guest", ENOMEM, NULL, "E_GUEST_MEMORY", "the memory limit is too small to start it", "a larger --memory" },

	/* limits without a control group */
	{ "watch", ESRCH, evidence_proc_hidden, "E_PROC_HIDDEN", "/proc hides other processes, and no control group holds the limits",
	  "give smoljail a control group (docs/hosts.md), or show processes: sudo mount -o remount,hidepid=0 /proc, and "
	  "ProtectProc=default in a unit" },
	{ "watch", ESRCH, NULL, "E_CHILD_DIED", "the child was killed during the set-up", "run smoljail doctor" },

	/* calls that every launch needs (the doctor's question) */
	{ "calls", ENOSYS, evidence_before_5_12, "E_KERNEL_OLD", "this kernel lacks calls that jails need", FIX_KERNEL },
	{ "calls", ENOSYS, NULL, "E_SECCOMP_OUTER", "an outer seccomp filter hides that call", NULL },
	{ "calls", EPERM, NULL, "E_SECCOMP_OUTER", "an outer seccomp filter forbids that call", NULL },
	{ "descriptors", EMFILE, NULL, "E_OPEN_FILES", "the caller's limit on open files is too low to lay the jail's descriptors",
	  "ulimit -n 1024, or more" },
	{ "descriptors", EINVAL, NULL, "E_OPEN_FILES", "the caller's limit on open files is too low to lay the jail's descriptors",
	  "ulimit -n 1024, or more" },

	{ ANY_PHASE, ENOMEM, NULL, "E_MEMORY", "the host, or the container around smoljail, has no memory left",
	  "free memory, or raise the container's limit" },
};

const struct explain_row *explain_row(size_t i)
{
	return i < ARRAY_LEN(rows) ? &rows[i] : NULL;
}

/* Is `phase` one of the words? */
static bool names_phase(const char *words, const char *phase)
{
	size_t n = strlen(phase);

	if (!words)
		return true;
	for (const char *p = words; (p = strstr(p, phase)); p += n)
		if ((p == words || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\0'))
			return true;
	return false;
}

static const struct explain_row *choose(const struct host *h, const char *phase, int error, const char *detail,
					char *ret_seen, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		ret_seen[0] = '\0';
		if (rows[i].error == error && names_phase(rows[i].phases, phase) &&
		    (!rows[i].evidence || rows[i].evidence(h, detail, ret_seen, len)))
			return &rows[i];
	}
	return NULL;
}

static const char *words_of(const char *phase)
{
	for (size_t i = 0; i < ARRAY_LEN(phase_words); i++)
		if (strcmp(phase_words[i].phase, phase) == 0)
			return phase_words[i].words;
	return "go on";
}

static const char *errno_name(int error)
{
	const char *name = strerrorname_np(error);

	return name ? name : "unknown error";
}

int explain_on(const struct host *h, const char *phase, int error, const char *detail, struct sj_err *err)
{
	const struct explain_row *row;
	char seen[256], mark[96];
	int r;

	row = choose(h, phase, error, detail, seen, sizeof(seen));
	r = err_set(err, error, SJ_EXIT_SETUP, row ? row->id : "E_SETUP", "cannot create the jail: cannot %s%s%s (step %s, %s)",
		    words_of(phase), detail[0] ? ": " : "", detail, phase, errno_name(error));
	if (!row) {
		err_why(err, "phase %s failed: %s", phase, strerror(error));
		err_fix(err, "smoljail doctor shows which part of this host is missing");
		return r;
	}
	if (seen[0])
		err_why(err, "%s (%s)", row->cause, seen);
	else
		err_why(err, "%s", row->cause);
	err_fix(err, "%s", row->fix ? row->fix : host_container_fix(host_container(h, mark, sizeof(mark))));
	return r;
}

/* Whether what is missing is something that a jail without namespaces does without. */
static bool light_does_without(const char *id)
{
	static const char *const prefixes[] = {
		"USERNS_", "NS_", "CHROOT", "PROC_MASKED", "PROC_SYS_READONLY", "MOUNT_SECCOMP", "MOUNT_LSM", "MOUNT_LIMIT",
		"INITRAMFS", "FS_KERNEL",
	};

	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
		if (strlen(id) > 2 && str_prefix(id + 2, prefixes[i]))
			return true;
	return false;
}

int explain_phase(const char *phase, int error, const char *detail, struct sj_err *err)
{
	int r = explain_on(&host_real, phase, error < 0 ? -error : error, detail ? detail : "", err);
	size_t len = err ? strlen(err->fix) : 0;

	/* Offered, never chosen: it is weaker. */
	if (err && light_does_without(err->id) && jail_light_possible(NULL) == 0)
		snprintf(err->fix + len, sizeof(err->fix) - len, "%s--isolation landlock needs none of it, and is weaker: see smoljail(1)",
			 len ? "; or " : "");
	return r;
}
