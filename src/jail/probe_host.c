/*
 * probe_host.c - what the host says of itself in /proc: evidence for explanations
 *
 * Runs as: parent, outside the jail
 * Trusts: the kernel's /proc; a missing file is no evidence, never an error
 * Never: decides whether something works (that is tried), changes anything
 */
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "jail/probe.h"

static bool self_dumpable(void)
{
	return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1;
}

static const char *process_env(const char *name)
{
	return getenv(name);
}

const struct host host_real = {
	.root = "",
	.filtered = probe_call_filtered,
	.dumpable = self_dumpable,
	.env = process_env,
};

static char *host_read(const struct host *h, const char *path)
{
	char full[PATH_MAX];
	char *text = NULL;

	if (snprintf(full, sizeof(full), "%s%s", h->root, path) >= (int)sizeof(full))
		return NULL;
	if (io_read_file(full, HOST_FILE_MAX, &text, NULL) < 0)
		return NULL;
	return text;
}

bool host_exists(const struct host *h, const char *path)
{
	char full[PATH_MAX];
	struct stat st;

	return snprintf(full, sizeof(full), "%s%s", h->root, path) < (int)sizeof(full) && lstat(full, &st) == 0;
}

bool host_line(const struct host *h, const char *path, char *ret, size_t len)
{
	_cleanup_free_ char *text = host_read(h, path);

	if (!text)
		return false;
	text[strcspn(text, "\n")] = '\0';
	snprintf(ret, len, "%s", text);
	return true;
}

bool host_number(const struct host *h, const char *path, long long *ret)
{
	char line[64], *end;
	long long n;

	if (!host_line(h, path, line, sizeof(line)))
		return false;
	errno = 0;
	n = strtoll(line, &end, 10);
	if (errno || end == line)
		return false;
	*ret = n;
	return true;
}

bool host_status(const struct host *h, const char *key, int base, unsigned long long *ret)
{
	_cleanup_free_ char *text = host_read(h, "/proc/self/status");
	size_t n = strlen(key);
	char *save = NULL;

	for (char *l = text ? strtok_r(text, "\n", &save) : NULL; l; l = strtok_r(NULL, "\n", &save)) {
		if (strncmp(l, key, n) != 0 || l[n] != ':')
			continue;
		*ret = strtoull(l + n + 1, NULL, base);
		return true;
	}
	return false;
}

bool host_has_cap(const struct host *h, int cap)
{
	unsigned long long caps;

	return host_status(h, "CapEff", 16, &caps) && (caps >> cap & 1);
}

void host_release(const struct host *h, char *ret, size_t len)
{
	struct utsname u;

	if (h->release)
		snprintf(ret, len, "%s", h->release);
	else if (uname(&u) == 0)
		snprintf(ret, len, "%s", u.release);
	else
		snprintf(ret, len, "?");
}

bool host_older_than(const struct host *h, int major, int minor)
{
	char release[128], *end;
	long a, b;

	host_release(h, release, sizeof(release));
	a = strtol(release, &end, 10);
	if (*end != '.')
		return false;
	b = strtol(end + 1, NULL, 10);
	return a < major || (a == major && b < minor);
}

/* ---- what wraps the caller ------------------------------------------- */

static const struct {
	const char *kind, *env, *file, *cgroup;
} marks[] = {
	{ "kubernetes", "KUBERNETES_SERVICE_HOST", NULL, "/kubepods" },
	{ "podman", NULL, "/run/.containerenv", "/libpod" },
	{ "docker", NULL, "/.dockerenv", "/docker" },
	{ "lxc", NULL, "/dev/.lxc", "/lxc" },
	{ "flatpak", NULL, "/.flatpak-info", NULL },
	{ "snap", "SNAP_INSTANCE_NAME", NULL, NULL },
	{ "systemd", "INVOCATION_ID", NULL, NULL },
};

const char *host_container(const struct host *h, char *ret_mark, size_t len)
{
	_cleanup_free_ char *cgroup = host_read(h, "/proc/self/cgroup");

	for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
		if (marks[i].env && h->env(marks[i].env))
			snprintf(ret_mark, len, "$%s", marks[i].env);
		else if (marks[i].file && host_exists(h, marks[i].file))
			snprintf(ret_mark, len, "%s", marks[i].file);
		else if (marks[i].cgroup && cgroup && strstr(cgroup, marks[i].cgroup))
			snprintf(ret_mark, len, "\"%s\" in /proc/self/cgroup", marks[i].cgroup);
		else
			continue;
		return marks[i].kind;
	}
	return NULL;
}

/* On the host: what starts the container reads it there. */
#define OUTER_PROFILE SMOLJAIL_SHAREDIR "/seccomp/smoljail-outer.json"

static const struct {
	const char *kind, *fix;
} container_fixes[] = {
	{ "kubernetes", "in the container's securityContext: seccompProfile {type: Localhost, localhostProfile: smoljail-outer.json}, "
			"which is " OUTER_PROFILE " put into /var/lib/kubelet/seccomp on each node, appArmorProfile.type "
			"Unconfined, procMount Unmasked (this one needs hostUsers: false in the pod)" },
	{ "podman", "start the container with: podman run --security-opt seccomp=" OUTER_PROFILE " --security-opt unmask=ALL "
		    "--security-opt label=disable" },
	{ "docker", "start the container with: docker run --security-opt seccomp=" OUTER_PROFILE " --security-opt "
		    "apparmor=unconfined --security-opt systempaths=unconfined --user 1000:1000 (root in such a container could "
		    "change the host's kernel settings; docs/hosts.md has an AppArmor profile against that)" },
	{ "lxc", "let the container nest others: lxc config set NAME security.nesting=true, then restart it" },
	{ "flatpak", "start smoljail outside of the Flatpak: flatpak-spawn --host smoljail ..." },
	{ "snap", "start smoljail outside of the snap" },
	{ "systemd", "in the unit that starts smoljail: RestrictNamespaces=no, ProtectProc=default, ProtectKernelTunables=no "
		     "and no SystemCallFilter; then restart it" },
};

const char *host_container_fix(const char *kind)
{
	for (size_t i = 0; kind && i < ARRAY_LEN(container_fixes); i++)
		if (strcmp(container_fixes[i].kind, kind) == 0)
			return container_fixes[i].fix;
	return "start smoljail outside of the program that put this restriction on it";
}

/* ---- mounts ----------------------------------------------------------- */

struct mount_line {
	const char *point, *options, *type, *super;
};

/* "36 35 98:0 /sub /point options optional... - type source super": cuts the line up in place. */
static bool mount_line_parse(char *line, struct mount_line *ret)
{
	char *save = NULL, *word = strtok_r(line, " ", &save);

	for (int field = 1; word; field++, word = strtok_r(NULL, " ", &save)) {
		if (field == 5)
			ret->point = word;
		else if (field == 6)
			ret->options = word;
		else if (field > 6 && strcmp(word, "-") == 0)
			break;
	}
	ret->type = word ? strtok_r(NULL, " ", &save) : NULL;
	ret->super = ret->type && strtok_r(NULL, " ", &save) ? strtok_r(NULL, " ", &save) : NULL;
	return ret->type != NULL;
}

typedef bool mount_line_fn(const struct mount_line *m, char *ret, size_t len);

/* The first line that fn accepts; *ret_readable: there was a table to read. */
static bool mount_find(const struct host *h, mount_line_fn *fn, char *ret, size_t len, bool *ret_readable)
{
	_cleanup_free_ char *text = host_read(h, "/proc/self/mountinfo");
	char *save = NULL;
	struct mount_line m;

	if (ret_readable)
		*ret_readable = text != NULL;
	for (char *l = text ? strtok_r(text, "\n", &save) : NULL; l; l = strtok_r(NULL, "\n", &save))
		if (mount_line_parse(l, &m) && fn(&m, ret, len))
			return true;
	return false;
}

/* Mounts on folders that procfs keeps empty for them hide nothing; the kernel does not count them either. */
static bool hides_proc(const struct mount_line *m, char *ret, size_t len)
{
	if (!str_prefix(m->point, "/proc/") || strcmp(m->point, "/proc/sys/fs/binfmt_misc") == 0 ||
	    strcmp(m->point, "/proc/fs/nfsd") == 0)
		return false;
	snprintf(ret, len, "%s on %s", m->type, m->point);
	return true;
}

bool host_proc_overmount(const struct host *h, char *ret, size_t len)
{
	return mount_find(h, hides_proc, ret, len, NULL);
}

static bool option_ro(const char *options)
{
	return strcmp(options, "ro") == 0 || str_prefix(options, "ro,");
}

static bool proc_sys_readonly(const struct mount_line *m, char *ret, size_t len)
{
	if (!option_ro(m->options) || (strcmp(m->point, "/proc/sys") != 0 && strcmp(m->point, "/proc") != 0))
		return false;
	snprintf(ret, len, "%s", m->point);
	return true;
}

bool host_proc_sys_readonly(const struct host *h)
{
	char point[32];

	return mount_find(h, proc_sys_readonly, point, sizeof(point), NULL);
}

/* hidepid=0 and off hide nothing; the rest of the option is a number or a word. */
static bool hides_processes(const struct mount_line *m, char *ret, size_t len)
{
	const char *option = strcmp(m->point, "/proc") == 0 && m->super ? strstr(m->super, "hidepid=") : NULL;

	if (!option || str_prefix(option, "hidepid=0") || str_prefix(option, "hidepid=off"))
		return false;
	snprintf(ret, len, "%.*s", (int)strcspn(option, ","), option);
	return true;
}

bool host_proc_hidden(const struct host *h, char *ret, size_t len)
{
	return mount_find(h, hides_processes, ret, len, NULL);
}

static bool is_root(const struct mount_line *m, char *ret, size_t len)
{
	if (strcmp(m->point, "/") != 0)
		return false;
	snprintf(ret, len, "%s", m->type);
	return true;
}

bool host_on_initramfs(const struct host *h)
{
	char type[32] = "";

	return mount_find(h, is_root, type, sizeof(type), NULL) && strcmp(type, "rootfs") == 0;
}

static bool same_file(const struct host *h, const char *a, const char *b)
{
	char pa[PATH_MAX], pb[PATH_MAX];
	struct stat sa, sb;

	if (snprintf(pa, sizeof(pa), "%s%s", h->root, a) >= (int)sizeof(pa) ||
	    snprintf(pb, sizeof(pb), "%s%s", h->root, b) >= (int)sizeof(pb))
		return false;
	return stat(pa, &sa) == 0 && stat(pb, &sb) == 0 && sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

/*
 * A chroot into a plain folder leaves no mount at "/" in the table. A chroot
 * onto a mount point does: there the first process of the same mount
 * namespace, where it may be looked at, stands on another root.
 */
bool host_chrooted(const struct host *h)
{
	struct statx st;
	char type[32];
	bool readable;

	if (!mount_find(h, is_root, type, sizeof(type), &readable)) {
		if (readable || h->root[0])
			return readable;
		return statx(AT_FDCWD, "/", 0, STATX_TYPE, &st) == 0 &&
		       (st.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) && !(st.stx_attributes & STATX_ATTR_MOUNT_ROOT);
	}
	return same_file(h, "/proc/1/ns/mnt", "/proc/self/ns/mnt") && host_exists(h, "/proc/1/root/.") &&
	       !same_file(h, "/proc/1/root", "/");
}

/* ---- user namespaces --------------------------------------------------- */

bool host_in_userns(const struct host *h)
{
	unsigned long inside, outside, count;
	char line[96];

	if (!host_line(h, "/proc/self/uid_map", line, sizeof(line)))
		return false;
	return sscanf(line, "%lu %lu %lu", &inside, &outside, &count) != 3 || outside != 0 || count < UINT32_MAX;
}

bool host_maps_id(const struct host *h, const char *file, unsigned long id)
{
	_cleanup_free_ char *text = host_read(h, file);
	unsigned long inside, outside, count;
	char *save = NULL;

	if (!text)
		return true; /* no evidence of the contrary */
	for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save))
		if (sscanf(l, "%lu %lu %lu", &inside, &outside, &count) == 3 && id >= inside && id - inside < count)
			return true;
	return false;
}
