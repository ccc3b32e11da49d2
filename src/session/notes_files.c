/*
 * notes_files.c - why a path failed inside: is it the host's and not shown, or shown and read-only?
 *
 * Runs as: the supervisor, as the caller's user
 * Trusts: the policy; a path from inside only names what is looked for, and is never opened
 * Never: offers what policies/never.json lists, or what the caller could not use itself
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "session/internal.h"

static bool inside(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return strncmp(path, dir, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* Absolute and without ".", ".." or "//": only then is the text the place. */
static bool is_plain(const char *path)
{
	return path[0] == '/' && path[1] && !strstr(path, "//") && !strstr(path, "/./") && !strstr(path, "/../") &&
	       path[strlen(path) - 1] != '/' && !strchr(path, ':');
}

/* The mount whose folder inside holds the path; the longest of them. */
static const struct policy_mount *mount_of(const struct policy *p, const char *path)
{
	const struct policy_mount *found = NULL;

	for (size_t i = 0; i < p->files.n_mounts; i++)
		if (inside(path, p->files.mounts[i].dst) &&
		    (!found || strlen(p->files.mounts[i].dst) > strlen(found->dst)))
			found = &p->files.mounts[i];
	return found;
}

/* ---- absent ------------------------------------------------------------------- */

static bool is_secret(const char *path, struct session_denial *d)
{
	_cleanup_free_ char *real = realpath(path, NULL);

	return policy_never_offered(path, d->never, sizeof(d->never)) ||
	       (real && policy_never_offered(real, d->never, sizeof(d->never)));
}

/* src is there on the host, and dst is where the program looked. */
static void offer(const char *src, const char *dst, bool writable, struct session_denial *d)
{
	const char *name = strrchr(src, '/');
	char mount[PATH_MAX];

	if (is_secret(src, d))
		return;
	if (access(src, writable ? W_OK : R_OK) < 0) {
		snprintf(d->never, sizeof(d->never), "you may not %s it yourself", writable ? "write to" : "read");
		return;
	}
	snprintf(mount, sizeof(mount), strcmp(src, dst) == 0 ? "%s" : "%s:%s", src, dst);
	if (is_plain(src) && is_plain(dst) && policy_mount_possible(mount))
		remedy_mount(d, mount, writable);
	else
		snprintf(d->allow_with, sizeof(d->allow_with), "%s %.200s:/data/%.80s, and open it there",
			 writable ? "--rw" : "--ro", src, name ? name + 1 : src);
}

/* A relative path is meant below the work folder inside; outside, beside the caller or the script. */
static bool absent_relative(const struct session_run *run, const char *path, struct session_denial *d)
{
	const char *slash = run->mode == WIRE_MODE_FILE && run->target ? strrchr(run->target, '/') : NULL;
	_cleanup_free_ char *beside = slash ? str_printf("%.*s", (int)(slash - run->target) + 1, run->target) : NULL;
	const char *folders[] = { ".", beside };
	char dst[PATH_MAX];

	if (strstr(path, "..") || snprintf(dst, sizeof(dst), "%s/%s", JAIL_WORK, path) >= (int)sizeof(dst))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(folders) && folders[i]; i++) {
		_cleanup_free_ char *folder = realpath(folders[i], NULL);
		_cleanup_free_ char *src = folder ? str_printf("%s/%s", strcmp(folder, "/") == 0 ? "" : folder, path) : NULL;
		struct stat st;

		if (!src || stat(src, &st) < 0)
			continue;
		offer(src, dst, false, d);
		return true;
	}
	return false;
}

/* To be created, in a folder that is the host's and not shown. */
static bool absent_parent(const char *path, struct session_denial *d)
{
	_cleanup_free_ char *parent = strdup(path);
	char *slash = parent ? strrchr(parent, '/') : NULL;
	struct stat st;

	if (!slash || slash == parent)
		return false;
	*slash = '\0';
	if (stat(parent, &st) < 0 || !S_ISDIR(st.st_mode))
		return false;
	offer(parent, parent, true, d);
	return true;
}

static bool creates(const struct wire_note *note)
{
	static const char *const calls[] = { "mkdir", "makedirs", "mkfifo", "mknod", "touch", "write_text", "write_bytes" };

	for (size_t i = 0; i < ARRAY_LEN(calls); i++)
		if (strcmp(note->call, calls[i]) == 0)
			return true;
	return note->writes;
}

static bool absent(const struct session_run *run, const struct wire_note *note, struct session_denial *d)
{
	const char *path = note->path;
	struct stat st;

	d->layer = "mount";
	snprintf(d->rule_text, sizeof(d->rule_text), "%s", creates(note) ? "files.write" : "files.read");
	/* What a mount shows is what the host has there. */
	if (!path[0] || mount_of(run->policy, path))
		return false;
	if (path[0] != '/')
		return absent_relative(run, path, d);
	if (stat(path, &st) < 0)
		return creates(note) && absent_parent(path, d);
	offer(path, path, creates(note), d);
	return true;
}

/* ---- there, but not for that ---------------------------------------------------- */

static void in_place_of_read(const struct policy_mount *m, struct session_denial *d)
{
	_cleanup_free_ char *mount = strcmp(m->src, m->dst) == 0 ? strdup(m->src) : str_printf("%s:%s", m->src, m->dst);

	if (!mount)
		return;
	remedy_mount(d, mount, true);
	snprintf(d->allow_with, sizeof(d->allow_with), "--rw %.280s, in place of --ro", mount);
	snprintf(d->allow_policy, sizeof(d->allow_policy), "{\"files\": {\"read\": [\"!%.150s\"], \"write\": [\"%.150s\"]}}", mount,
		 mount);
	if (strlen(mount) > 150 || strpbrk(mount, "\"\\"))
		d->allow_policy[0] = '\0';
}

static bool read_only(const struct session_run *run, const struct wire_note *note, struct session_denial *d)
{
	const struct policy_mount *m = mount_of(run->policy, note->path);

	d->layer = "mount";
	if (m && !m->writable) {
		snprintf(d->rule_text, sizeof(d->rule_text), "files.read: %.120s", m->dst);
		if (!is_secret(m->src, d))
			in_place_of_read(m, d);
		return true;
	}
	snprintf(d->rule_text, sizeof(d->rule_text), "files.root = %.40s, read-only", run->policy->files.root);
	snprintf(d->never, sizeof(d->never), "the root is never writable; /work and /tmp are, and folders given with --rw");
	return true;
}

static bool is_exec(const struct wire_note *note)
{
	return str_prefix(note->call, "exec") || str_prefix(note->call, "posix_spawn") ||
	       strcmp(note->call, "_execute_child") == 0;
}

static bool in_writable(const struct policy *p, const char *path)
{
	const struct policy_mount *m = mount_of(p, path);

	return path[0] != '/' || (m && m->writable) || inside(path, JAIL_WORK) || inside(path, "/tmp") || inside(path, "/dev/shm");
}

static bool forbidden(const struct session_run *run, const struct wire_note *note, struct session_denial *d)
{
	const struct policy_mount *m = mount_of(run->policy, note->path);

	if (is_exec(note) && in_writable(run->policy, note->path) && !run->policy->files.exec_from_writable) {
		remedy_exec(d);
		return true;
	}
	if (m) {
		d->layer = "permissions";
		snprintf(d->rule_text, sizeof(d->rule_text), "owner and mode on the host: %.100s", m->src);
		snprintf(d->never, sizeof(d->never), "the file's own permissions refuse it to the jail's user");
		return true;
	}
	if (!note->path[0] || in_writable(run->policy, note->path))
		return false;
	/* Without mounts of its own the program sees the host's paths, and Landlock opens those of the policy. */
	if (run->policy->isolation == POLICY_ISOLATION_LANDLOCK) {
		d->layer = "landlock";
		snprintf(d->rule_text, sizeof(d->rule_text), "%s", creates(note) ? "files.write" : "files.read");
		offer(note->path, note->path, creates(note), d);
		return true;
	}
	return read_only(run, note, d);
}

bool notes_path(const struct session_run *run, const struct wire_note *note, struct session_denial *d)
{
	switch (note->error) {
	case ENOENT: return absent(run, note, d);
	case EROFS: return read_only(run, note, d);
	default: return forbidden(run, note, d);
	}
}
