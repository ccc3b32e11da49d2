/* Failures of the set-up in words: each cause from made-up hosts, and the whole table's hygiene. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jail/internal.h"
#include "jail/probe.h"
#include "tap.h"

#define FULL_MAP "         0          0 4294967295\n"

static char tree[] = "/tmp/test_explain.XXXXXX";
static bool filter_userns, filter_clone3, filter_mount, hidden;
static const char *env_name;

static bool filtered(const char *call)
{
	if (strcmp(call, "clone3") == 0)
		return filter_clone3;
	return strcmp(call, "mount") == 0 ? filter_mount : filter_userns;
}

static bool dumpable(void)
{
	return !hidden;
}

static const char *env(const char *name)
{
	return env_name && strcmp(env_name, name) == 0 ? "1" : NULL;
}

static struct host host = { .root = tree, .filtered = filtered, .dumpable = dumpable, .env = env, .release = "6.1.0-test" };

/* ---- the made-up host ------------------------------------------------------ */

static const char *at(const char *path)
{
	static char full[256];

	snprintf(full, sizeof(full), "%s%s", tree, path);
	return full;
}

static void put(const char *path, const char *text)
{
	char dir[256];
	FILE *f;

	snprintf(dir, sizeof(dir), "%s", at(path));
	for (char *p = dir + strlen(tree) + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		mkdir(dir, 0755);
		*p = '/';
	}
	f = fopen(at(path), "we");
	if (!f || fputs(text, f) < 0 || fclose(f) != 0) {
		perror(path);
		exit(1);
	}
}

static void clear(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", tree);
	if (system(command) != 0 || mkdir(tree, 0755) < 0)
		exit(1);
}

/* A host on which nothing is wrong, seen by an ordinary user. */
static void fresh(void)
{
	static const char *const spaces[] = { "user", "mnt", "pid", "net", "ipc", "uts", "cgroup" };
	char path[128];

	clear();
	filter_userns = filter_clone3 = filter_mount = hidden = false;
	env_name = NULL;
	host.release = "6.1.0-test";
	put("/proc/self/status", "Name:\tx\nUid:\t1000\t1000\t1000\t1000\nGid:\t1000\t1000\t1000\t1000\n"
	    "CapEff:\t0000000000000000\nNoNewPrivs:\t0\nSeccomp:\t0\nSeccomp_filters:\t0\n");
	put("/proc/self/uid_map", FULL_MAP);
	put("/proc/self/gid_map", FULL_MAP);
	put("/proc/self/cgroup", "0::/user.slice\n");
	put("/proc/self/mountinfo", "24 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
	    "25 24 0:5 / /proc rw,nosuid shared:2 - proc proc rw\n"
	    "26 25 0:9 / /proc/sys/fs/binfmt_misc rw - binfmt_misc binfmt_misc rw\n");
	for (size_t i = 0; i < ARRAY_LEN(spaces); i++) {
		snprintf(path, sizeof(path), "/proc/self/ns/%s", spaces[i]);
		put(path, "");
		snprintf(path, sizeof(path), "/proc/sys/user/max_%s_namespaces", spaces[i]);
		put(path, "15000\n");
	}
}

static void filter_on(void)
{
	put("/proc/self/status", "Uid:\t1000\t1000\nGid:\t1000\t1000\nCapEff:\t0000000000000000\nSeccomp:\t2\n");
}

static void in_docker(void)
{
	put("/.dockerenv", "");
	put("/proc/self/status", "Uid:\t0\t0\nGid:\t0\t0\nCapEff:\t00000000a80425fb\nSeccomp:\t2\nSeccomp_filters:\t1\n");
}

/* What it must be called, and one piece each of why and fix. */
static void expect(const char *phase, int error, const char *detail, const char *id, const char *why, const char *fix)
{
	struct sj_err err = { 0 };
	int r = explain_on(&host, phase, error, detail, &err);

	is_int(-error, r, "%s: returns the errno", id);
	is_int(SJ_EXIT_SETUP, err.exit, "%s: exit status", id);
	is_str(id, err.id, "%s/%d is %s", phase, error, id);
	has_str(why, err.why, "%s: cause", id);
	has_str(fix, err.fix, "%s: fix", id);
	has_str(phase, err.what, "%s: names the step", id);
	if (detail[0])
		has_str(detail, err.what, "%s: names the path", id);
}

/* ---- causes ------------------------------------------------------------------ */

static void test_limits(void)
{
	fresh();
	put("/proc/sys/user/max_user_namespaces", "0\n");
	expect("clone", ENOSPC, "", "E_USERNS_LIMIT", "user.max_user_namespaces=0", "sysctl -w user.max_user_namespaces");
	put("/proc/self/uid_map", "1000 1000 1\n");
	expect("clone", ENOSPC, "", "E_USERNS_NESTED", "user.max_user_namespaces=0", "outside of that jail");
	fresh();
	put("/proc/sys/user/max_net_namespaces", "0\n");
	expect("clone", ENOSPC, "", "E_NS_LIMIT", "user.max_net_namespaces=0", "user.max_*_namespaces");
	fresh();
	expect("clone", ENOSPC, "", "E_NS_LIMIT", "user.max_user_namespaces=15000", "end programs");
	expect("clone", EAGAIN, "", "E_PROCESSES", "limit", "ulimit -u");
	expect("root_tmpfs", ENOSPC, "", "E_MOUNT_LIMIT", "limit on mounts", "fs.mount-max");
}

static void test_seccomp(void)
{
	fresh();
	in_docker();
	filter_userns = true;
	expect("clone", EPERM, "", "E_USERNS_SECCOMP", "/.dockerenv", "--security-opt seccomp=/");
	filter_clone3 = true;
	expect("clone", ENOSYS, "", "E_USERNS_SECCOMP", "Seccomp: 2", "--security-opt seccomp=/");
	host.release = "4.19.0";
	expect("clone", ENOSYS, "", "E_KERNEL_OLD", "Linux 4.19.0", "5.12");
	host.release = "6.1.0-test";
	env_name = "KUBERNETES_SERVICE_HOST";
	expect("clone", EPERM, "", "E_USERNS_SECCOMP", "KUBERNETES_SERVICE_HOST", "seccompProfile");
	fresh();
	filter_userns = true;
	expect("clone", EPERM, "", "E_USERNS_DENIED", "refuses", "administrator");
	filter_on();
	env_name = "INVOCATION_ID";
	expect("clone", EPERM, "", "E_USERNS_SECCOMP", "INVOCATION_ID", "RestrictNamespaces=no");
	env_name = NULL;
	expect("clone", EPERM, "", "E_USERNS_SECCOMP", "answers before the kernel", "outside of the program");
	fresh();
	filter_mount = true;
	expect("root_tmpfs", EPERM, "", "E_SETUP", "phase root_tmpfs failed", "smoljail doctor");
	filter_on();
	expect("root_tmpfs", EPERM, "", "E_MOUNT_SECCOMP", "answers mount", "start smoljail outside");
	fresh();
	in_docker();
	expect("read_only", ENOSYS, "/", "E_MOUNT_SECCOMP", "Seccomp: 2", "seccomp/smoljail-outer.json");
	expect("hostname", EPERM, "", "E_SECCOMP_OUTER", "Seccomp: 2", "seccomp/smoljail-outer.json");
}

static void test_switches(void)
{
	fresh();
	put("/proc/sys/kernel/unprivileged_userns_clone", "0\n");
	expect("clone", EPERM, "", "E_USERNS_SYSCTL", "kernel.unprivileged_userns_clone=0", "kernel.unprivileged_userns_clone=1");
	/* Debian's kernel answers so early that it looks like a filter; and beside a filter, the switch is a cause all the same. */
	filter_userns = true;
	expect("clone", EPERM, "", "E_USERNS_SYSCTL", "kernel.unprivileged_userns_clone=0", "kernel.unprivileged_userns_clone=1");
	filter_on();
	expect("clone", EPERM, "", "E_USERNS_SYSCTL", "kernel.unprivileged_userns_clone=0", "kernel.unprivileged_userns_clone=1");
	fresh();
	put("/proc/sys/kernel/unprivileged_userns_clone", "1\n");
	expect("clone", EPERM, "", "E_USERNS_DENIED", "refuses", "administrator");
	put("/proc/self/attr/current", "system_u:system_r:x_t:s0\n");
	expect("clone", EACCES, "", "E_USERNS_LSM", "system_u:system_r:x_t:s0", "policy");
}

static void test_apparmor(void)
{
	fresh();
	put("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n");
	put("/proc/self/attr/current", "unconfined\n");
	expect("clone", EACCES, "", "E_USERNS_APPARMOR", "apparmor_restrict_unprivileged_userns=1",
	       "/apparmor/smoljail /etc/apparmor.d/ && sudo apparmor_parser -r");
	expect("uid_map", EPERM, "", "E_USERNS_APPARMOR", "label \"unconfined\"", "docs/hosts.md");
	expect("hostname", EPERM, "", "E_USERNS_APPARMOR", "label \"unconfined\"", "docs/hosts.md");
	expect("root_tmpfs", EACCES, "", "E_USERNS_APPARMOR", "no rights", "docs/hosts.md");
	put("/proc/self/attr/current", "bwrap//&unpriv_bwrap (enforce)\n");
	expect("network", EPERM, "lo", "E_USERNS_APPARMOR", "bwrap//&unpriv_bwrap (enforce)", "docs/hosts.md");
	/* With our own profile the rule does not hold, so it is not the cause. */
	put("/proc/self/attr/current", "smoljail (unconfined)\n");
	expect("clone", EACCES, "", "E_USERNS_DENIED", "refuses", "administrator");
	expect("hostname", EPERM, "", "E_SETUP", "phase hostname failed", "smoljail doctor");
	expect("private_mounts", EACCES, "", "E_SETUP", "phase private_mounts failed", "smoljail doctor");
	/* The profile without the switch, and a profile without the permission. */
	fresh();
	put("/proc/self/attr/current", "unprivileged_userns (enforce)\n");
	expect("hostname", EPERM, "", "E_USERNS_APPARMOR", "unprivileged_userns (enforce)", "apparmor_parser");
	put("/proc/self/attr/current", "unprivileged_userns (complain)\n");
	expect("hostname", EPERM, "", "E_SETUP", "phase hostname failed", "smoljail doctor");
	put("/proc/self/attr/current", "shut (enforce)\n");
	expect("clone", EACCES, "", "E_USERNS_APPARMOR", "shut (enforce)", "apparmor_parser");
	expect("hostname", EPERM, "", "E_SETUP", "phase hostname failed", "smoljail doctor");
	/* Root is spared by the rule, so it is not the cause. */
	put("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n");
	put("/proc/self/status", "Uid:\t0\t0\nGid:\t0\t0\nCapEff:\t000001ffffffffff\nSeccomp:\t0\n");
	expect("clone", EPERM, "", "E_USERNS_DENIED", "refuses", "administrator");
}

static void test_places(void)
{
	fresh();
	put("/proc/self/mountinfo", "25 24 0:5 / /proc rw - proc proc rw\n");
	expect("clone", EPERM, "", "E_CHROOT", "not the root of the mount namespace", "outside of the chroot");
	fresh();
	put("/proc/self/uid_map", "");
	put("/proc/self/gid_map", "");
	expect("clone", EPERM, "", "E_USERNS_UNMAPPED", "uid 1000", "--map-current-user");
	expect("uid_map", EPERM, "", "E_USERNS_UNMAPPED", "uid 1000", "--map-current-user");
	clear();
	expect("uid_map", ENOENT, "", "E_PROC_MISSING", "/proc is not mounted", "mount -t proc");
	fresh();
	hidden = true;
	expect("uid_map", EACCES, "", "E_BINARY_UNREADABLE", "may not read the smoljail program", "chmod a+r");
	fresh();
	unlink(at("/proc/self/ns/user"));
	expect("clone", EINVAL, "", "E_NS_KERNEL", "/proc/self/ns/user", "CONFIG_USER_NS");
	fresh();
	put("/proc/self/mountinfo", "1 1 0:2 / / rw - rootfs rootfs rw\n");
	expect("pivot", EINVAL, "", "E_INITRAMFS", "rootfs", "switch_root");
}

static void test_mounts(void)
{
	fresh();
	expect("proc", EPERM, "", "E_SETUP", "phase proc failed", "smoljail doctor");
	put("/proc/self/mountinfo", "24 1 8:1 / / rw - ext4 /dev/sda1 rw\n25 24 0:5 / /proc rw - proc proc rw\n"
	    "26 25 0:9 /sys /proc/sys ro,nosuid - proc proc rw\n27 25 0:7 / /proc/acpi ro - tmpfs tmpfs ro\n");
	in_docker();
	expect("proc", EPERM, "", "E_PROC_MASKED", "Mount too revealing", "systempaths=unconfined");
	expect("proc", EPERM, "", "E_PROC_MASKED", "proc on /proc/sys", "systempaths=unconfined");
	expect("no_nested_userns", EROFS, "", "E_PROC_SYS_READONLY", "read-only", "systempaths=unconfined");
	put("/proc/self/attr/current", "docker-default (enforce)\n");
	expect("private_mounts", EACCES, "", "E_MOUNT_LSM", "docker-default", "apparmor=unconfined");
	expect("clone", EACCES, "", "E_USERNS_LSM", "docker-default (enforce)", "apparmor=unconfined");
	put("/proc/self/mountinfo", "25 24 0:5 / /proc rw - proc proc rw,hidepid=invisible,subset=pid\n");
	expect("watch", ESRCH, "", "E_PROC_HIDDEN", "hidepid=invisible in /proc", "ProtectProc=default");
	put("/proc/self/mountinfo", "25 24 0:5 / /proc rw - proc proc rw,hidepid=0\n");
	expect("watch", ESRCH, "", "E_CHILD_DIED", "killed during", "smoljail doctor");
	fresh();
	host.release = "5.10.0-21";
	expect("read_only", ENOSYS, "/", "E_KERNEL_OLD", "5.10.0-21", "5.12");
	expect("sources", ENOSYS, "/usr", "E_KERNEL_OLD", "5.10.0-21", "5.12");
}

static void test_paths(void)
{
	char path[300];

	fresh();
	expect("sources", ENOENT, "/no/such", "E_SOURCE_MISSING", "does not exist", "creates nothing");
	expect("sources", ELOOP, "/a/link", "E_SOURCE_SYMLINK", "symbolic link", "nobody else");
	expect("sources", ENOTDIR, "/a/file/x", "E_SOURCE_KIND", "not a folder", "as it is now");
	expect("sources", EINVAL, "/mnt", "E_SOURCE_MOUNT", "unbindable", "make-private");
	put("/shut/data", "");
	snprintf(path, sizeof(path), "%s/shut/data", tree);
	chmod(at("/shut"), 0);
	expect("sources", EACCES, path, "E_SOURCE_CLOSED", "/shut has mode 0000", "chmod o+rX");
	chmod(at("/shut"), 0755);
	chmod(path, geteuid() == 0 ? 0640 : 0);
	expect("sources", EACCES, path, "E_SOURCE_CLOSED", "/shut/data has mode", "chmod o+rX");
	put("/proc/self/status", "CapEff:\t000001ffffffffff\n");
	expect("sources", EINVAL, "/mnt", "E_SOURCE_IDMAP", "id-mapped", "ordinary user");
	expect("plan", ENOENT, "/data/x", "E_MOUNT_POINT", "does not exist there", "below /work");
	expect("guest", ENOENT, "/bin/x", "E_GUEST_MISSING", "not in the root", "rootfs verify");
	expect("guest", EACCES, "/bin/x", "E_GUEST_EXEC", "not an executable", "rootfs verify");
}

static void test_rest(void)
{
	fresh();
	expect("landlock", ENOSYS, "", "E_LANDLOCK_KERNEL", "no Landlock", "auto");
	expect("landlock", EOPNOTSUPP, "", "E_LANDLOCK_OFF", "switched on at boot", "lsm=");
	expect("seccomp", EBUSY, "", "E_SECCOMP_LISTENER", "listens", "outside of that supervisor");
	expect("seccomp", EINVAL, "", "E_SECCOMP_KERNEL", "6.1.0-test", "CONFIG_SECCOMP_FILTER");
	put("/proc/sys/user/max_cgroup_namespaces", "0\n");
	expect("cgroup", ENOSPC, "", "E_NS_LIMIT", "user.max_cgroup_namespaces=0", "user.max_*_namespaces");
	expect("rlimits", EPERM, "", "E_SETUP", "phase rlimits failed: Operation not permitted", "smoljail doctor");
	expect("clone", ECHILD, "", "E_CHILD_DIED", "killed", "--memory");
	expect("proc", ENOMEM, "", "E_MEMORY", "no memory left", "free memory");
	expect("whatever", E2BIG, "", "E_SETUP", "phase whatever failed", "smoljail doctor");
}

/* ---- the table ---------------------------------------------------------------- */

static bool is_id(const char *id)
{
	return strncmp(id, "E_", 2) == 0 && strspn(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == strlen(id) && strlen(id) < 40;
}

/* No row may stand where an earlier one always wins. */
static bool is_reachable(size_t i)
{
	const struct explain_row *row = explain_row(i), *before;

	for (size_t k = 0; k < i; k++) {
		before = explain_row(k);
		if (before->error == row->error && !before->evidence && before->phases && row->phases &&
		    strcmp(before->phases, row->phases) == 0)
			return false;
	}
	return true;
}

static void test_table(void)
{
	const struct explain_row *row;
	size_t n;

	for (n = 0; (row = explain_row(n)); n++) {
		const char *fix = row->fix ? row->fix : "";

		if (!is_id(row->id) || row->error <= 0 || !is_reachable(n) || !row->cause[0] || strlen(row->cause) > 200 ||
		    strlen(fix) > 250 || strchr(row->cause, '\n') || strchr(fix, '\n'))
			ok(false, "row %zu (%s) is well-formed", n, row->id);
	}
	ok(n > 50, "the table has %zu well-formed rows", n);
}

static void test_real_host(void)
{
	struct sj_err err = { 0 };

	is_int(-EPERM, explain_phase("clone", EPERM, "", &err), "on this host: returns the errno");
	ok(err.why[0] && err.fix[0], "on this host: %s: %s", err.id, err.why);
	err = (struct sj_err){ 0 };
	is_int(-ENOENT, explain_phase("sources", -ENOENT, NULL, &err), "a negative errno and no detail are taken");
	is_str("E_SOURCE_MISSING", err.id, "and understood");
	is_int(-EPERM, explain_phase("clone", EPERM, "", NULL), "nobody listens");
}

int main(void)
{
	if (!mkdtemp(tree))
		skip_all("no temporary folder");
	test_limits();
	test_seccomp();
	test_switches();
	test_apparmor();
	test_places();
	test_mounts();
	test_paths();
	test_rest();
	test_table();
	test_real_host();
	clear();
	rmdir(tree);
	return done();
}
