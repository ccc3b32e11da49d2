/*
 * prepare_light.c - what a program without mounts is told of its folders: they lie at the host's paths
 *
 * Runs as: the supervisor, before the jail exists
 * Trusts: XDG_RUNTIME_DIR only where it is a folder of the caller's own
 * Never: makes the folder that it names; the jail does, and removes it
 */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "session/internal.h"

/* Private to the caller, or like /tmp: nobody else can put something in the place of what lies in it. */
static bool is_safe_base(const char *path)
{
	struct statvfs fs;
	struct stat st;

	if (!path || path[0] != '/' || stat(path, &st) < 0 || !S_ISDIR(st.st_mode) || statvfs(path, &fs) < 0)
		return false;
	if ((st.st_mode & 022) && !(st.st_mode & S_ISVTX))
		return false;
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return false;
	/* bin/python3 lies there. */
	return !(fs.f_flag & ST_NOEXEC) && access(path, W_OK | X_OK) == 0;
}

int light_choose_home(struct prep *p, struct sj_err *err)
{
	/* Root's jail runs as a stranger, who cannot enter root's own runtime folder. */
	const char *bases[] = { geteuid() == 0 ? NULL : getenv("XDG_RUNTIME_DIR"), "/tmp", "/var/tmp" };
	_cleanup_free_ char *real = NULL;
	uint64_t number[2];

	for (size_t i = 0; !real && i < ARRAY_LEN(bases); i++)
		if (is_safe_base(bases[i]))
			real = realpath(bases[i], NULL);
	if (!real) {
		err_set(err, EACCES, SJ_EXIT_SETUP, "E_LIGHT_HOME", "there is no place for the private folder");
		err_why(err, "neither XDG_RUNTIME_DIR nor /tmp nor /var/tmp is a folder that can be written and executed from");
		err_fix(err, "set XDG_RUNTIME_DIR to a folder of your own with mode 0700");
		return -EACCES;
	}
	if (getrandom(number, sizeof(number), 0) != (ssize_t)sizeof(number))
		return handover_fault("a name for the private folder", EIO, err);
	p->home = str_printf("%s/smoljail-%016llx%016llx", strcmp(real, "/") == 0 ? "" : real, (unsigned long long)number[0],
			     (unsigned long long)number[1]);
	return p->home ? 0 : err_oom(err);
}

/* Colons separate them in the list that child interpreters get. */
int light_check_paths(const struct prep *p, struct sj_err *err)
{
	for (char *const *path = p->paths; path && *path; path++) {
		if (!strchr(*path, ':'))
			continue;
		err_set(err, EINVAL, SJ_EXIT_USAGE, "E_LIGHT_PATH", "isolation landlock cannot use %s", *path);
		err_why(err, "a folder for Python's search path has a colon in its name");
		err_fix(err, "give it another name, or use full isolation");
		return -EINVAL;
	}
	return 0;
}

/* What stands at fixed paths in a full jail is looked for by these. */
int light_env(struct prep *p)
{
	static const struct {
		const char *name, *below;
		bool of_root;
	} rows[] = {
		{ "HOME", JAIL_HOME_WORK, false },
		{ "TMPDIR", JAIL_HOME_TMP, false },
		{ "SMOLJAIL_HOME", "", false },
		{ "PYTHONTZPATH", "/usr/share/zoneinfo", true },
		{ "TZDIR", "/usr/share/zoneinfo", true },
		{ "TERMINFO", "/usr/share/terminfo", true },
		{ "SSL_CERT_FILE", "/etc/ssl/certs/ca-certificates.crt", true },
	};
	_cleanup_free_ char *path = str_printf("PATH=%s/bin:%s/usr/bin", p->home, p->root.path);
	int r = path ? prep_env_put(p, path) : -ENOMEM;

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(rows); i++) {
		_cleanup_free_ char *assign = str_printf("%s=%s%s", rows[i].name, rows[i].of_root ? p->root.path : p->home,
							 rows[i].below);

		r = assign ? prep_env_put(p, assign) : -ENOMEM;
	}
	return r;
}
