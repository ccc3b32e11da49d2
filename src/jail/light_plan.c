/*
 * light_plan.c - what a jail without mounts may open, and how its interpreter is started
 *
 * Runs as: the supervisor, before the jail exists
 * Trusts: the spec (already checked); of the host's files only their kind
 * Never: opens what it lists; that is light.c's part, as the jail's user
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/base.h"
#include "jail/internal.h"

#if defined(__x86_64__)
#define LOADER "/usr/lib64/ld-linux-x86-64.so.2"
#define TRIPLET "x86_64-linux-gnu"
#elif defined(__aarch64__)
#define LOADER "/usr/lib/ld-linux-aarch64.so.1"
#define TRIPLET "aarch64-linux-gnu"
#else
#error "light_plan.c needs the name of this machine's dynamic loader"
#endif

#define BUSYBOX "/usr/bin/busybox"
#define WRAPPER_MAX (1u << 20)
#define SHEBANG_MAX 200		/* the kernel's own limit is 255 (execve(2)) */

static const struct {
	const char *path;
	unsigned int minor;
} devices[] = {
	{ "/dev/null", 3 }, { "/dev/zero", 5 }, { "/dev/full", 7 }, { "/dev/random", 8 }, { "/dev/urandom", 9 },
};

/*
 * os.system() and shell=True start /bin/sh by that path, and nothing can be put in
 * its place: the host's own is let in, with its loader and the libraries that a shell needs, file by file.
 */
static const char *const shell_files[] = {
	"/bin/sh", "/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1", "/lib/ld-musl-x86_64.so.1",
	"/lib/ld-musl-aarch64.so.1",
	"/lib/" TRIPLET "/libc.so.6", "/lib64/libc.so.6", "/usr/lib/libc.so.6",
	"/lib/" TRIPLET "/libtinfo.so.6", "/lib64/libtinfo.so.6",
	"/usr/lib/libncursesw.so.6", "/usr/lib/libreadline.so.8",
};

static const char *keep(struct light_plan *plan, const char *s)
{
	if (!s || strv_push(&plan->strings, s) < 0)
		return NULL;
	return plan->strings[strv_len(plan->strings) - 1];
}

static int add(struct light_plan *plan, const char *path, enum light_access access, bool is_dir)
{
	struct light_path *p = &plan->paths[plan->n];

	if (plan->n >= LIGHT_PATHS_MAX)
		return -E2BIG;
	*p = (struct light_path){ .path = keep(plan, path), .access = access, .is_dir = is_dir, .fd = -1 };
	if (!p->path)
		return -ENOMEM;
	plan->n++;
	return 0;
}

static int add_below(struct light_plan *plan, const char *dir, const char *name, enum light_access access)
{
	_cleanup_free_ char *path = str_printf("%s%s", dir, name);

	return path ? add(plan, path, access, true) : -ENOMEM;
}

static int add_own(struct light_plan *plan, const struct jail_spec *spec)
{
	enum light_access writable = spec->exec_from_writable ? LIGHT_WRITE_EXEC : LIGHT_WRITE;
	int r = add(plan, spec->root, LIGHT_EXEC, true);

	if (r == 0)
		r = add_below(plan, spec->home, "/bin", LIGHT_EXEC);
	if (r == 0)
		r = add_below(plan, spec->home, JAIL_HOME_WORK, writable);
	if (r == 0)
		r = add_below(plan, spec->home, JAIL_HOME_TMP, writable);
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(devices); i++) {
		r = add(plan, devices[i].path, LIGHT_DEVICE, false);
		if (r == 0)
			plan->paths[plan->n - 1].rdev = (unsigned int)makedev(1, devices[i].minor);
	}
	return r;
}

static int add_shell(struct light_plan *plan)
{
	char real[PATH_MAX];
	struct stat st;
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(shell_files); i++)
		if (realpath(shell_files[i], real) && stat(real, &st) == 0 && S_ISREG(st.st_mode))
			r = add(plan, real, LIGHT_EXEC, false);
	return r;
}

static int add_binds(struct light_plan *plan, const struct jail_spec *spec, struct sj_err *err)
{
	enum light_access writable = spec->exec_from_writable ? LIGHT_WRITE_EXEC : LIGHT_WRITE;
	struct stat st;
	int r;

	for (size_t i = 0; i < spec->n_binds; i++) {
		const struct jail_bind *b = &spec->binds[i];

		if (stat(b->src, &st) < 0)
			return explain_phase("sources", errno, b->src, err);
		if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
			return err_set(err, EINVAL, SJ_EXIT_USAGE, "E_MOUNTS",
				       "%s is neither a folder nor a regular file and cannot be shown", b->src);
		r = add(plan, b->src, b->writable ? writable : LIGHT_EXEC, S_ISDIR(st.st_mode));
		if (r == -E2BIG)
			return err_set(err, E2BIG, SJ_EXIT_USAGE, "E_MOUNTS", "%zu folders are too many", spec->n_binds);
		if (r < 0)
			return err_oom(err);
		plan->paths[plan->n - 1].user = true;
	}
	return 0;
}

/* ---- what Landlock cannot say ------------------------------------------------- */

static bool writes(enum light_access a)
{
	return a == LIGHT_WRITE || a == LIGHT_WRITE_EXEC;
}

static bool lies_in(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	if (strcmp(dir, "/") == 0)
		return true;
	return strncmp(path, dir, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* Rights reach downwards and add up: a part of a writable folder cannot be kept from being written. */
static int check_nesting(const struct light_plan *plan, const struct jail_spec *spec, struct sj_err *err)
{
	for (size_t i = 0; i < plan->n; i++)
		for (size_t k = 0; k < plan->n; k++) {
			const struct light_path *inner = &plan->paths[i], *outer = &plan->paths[k];
			bool ours = lies_in(inner->path, spec->home) || !inner->user;

			if (i == k || !writes(outer->access) || !outer->user || !lies_in(inner->path, outer->path))
				continue;
			if (writes(inner->access) && !ours)
				continue;
			err_set(err, EINVAL, SJ_EXIT_USAGE, "E_LIGHT_NESTED", "%s lies in the writable %s", inner->path,
				outer->path);
			err_why(err, "isolation landlock cannot keep a part of a writable folder read-only");
			err_fix(err, "make a smaller folder writable, or use full isolation");
			return -EINVAL;
		}
	return 0;
}

/* These stand in a script's first line and in a list separated by colons. */
static int check_words(const char *path, size_t max, struct sj_err *err)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._+,@=~-";

	if (strspn(path, plain) == strlen(path) && strlen(path) <= max)
		return 0;
	err_set(err, EINVAL, SJ_EXIT_SETUP, "E_LIGHT_PATH", "isolation landlock cannot use %s", path);
	err_why(err, "only letters, digits and /._+,@=~- may stand in that path, and %zu characters in all", max);
	err_fix(err, "install smoljail and its roots elsewhere, or use full isolation");
	return -EINVAL;
}

/* ---- the interpreter ------------------------------------------------------------ */

static char *library_path(const struct jail_spec *spec)
{
	return str_printf("%s/usr/lib/" TRIPLET ":%s/usr/lib64:%s/usr/lib", spec->root, spec->root, spec->root);
}

/* The root's own loader, since the program names one that the host may not have in this version. */
static int make_argv(struct light_plan *plan, const struct jail_spec *spec)
{
	_cleanup_free_ char *loader = str_printf("%s" LOADER, spec->root), *libraries = library_path(spec),
			    *guest = str_printf("%s%s", spec->root, spec->path);
	const char *words[] = {
		loader, "--inhibit-cache", "--library-path", libraries, "--argv0", spec->argv[0], guest,
	};
	int r = loader && libraries && guest ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(words); i++)
		r = strv_push(&plan->argv, words[i]);
	for (size_t i = 1; r == 0 && spec->argv[i]; i++)
		r = strv_push(&plan->argv, spec->argv[i]);
	return r;
}

/* In quotes of the shell. */
static int put_quoted(struct buf *b, const char *s)
{
	int r = buf_append(b, "'", 1);

	for (; r == 0 && *s; s++)
		r = *s == '\'' ? buf_append(b, "'\\''", 4) : buf_append(b, s, 1);
	return r == 0 ? buf_append(b, "'", 1) : r;
}

char *light_wrapper(const struct jail_spec *spec, const struct light_plan *plan)
{
	_cleanup_buf_ struct buf b = BUF_INIT(WRAPPER_MAX);
	int r = buf_printf(&b, "#!%s" BUSYBOX " sh\nexport SMOLJAIL_PATH=", spec->root);

	for (char *const *f = spec->folders; r == 0 && f && *f; f++) {
		r = f == spec->folders ? 0 : buf_append(&b, ":", 1);
		if (r == 0)
			r = put_quoted(&b, *f);
	}
	if (r == 0)
		r = buf_printf(&b, "\nexec %s --inhibit-cache --library-path %s --argv0 \"$0\" %s/usr/bin/python3 \"$@\"\n",
			       plan->argv[0], plan->argv[3], spec->root);
	if (r < 0 || buf_append(&b, "", 1) < 0)
		return NULL;
	return steal_ptr(b.data);
}

int light_plan_build(const struct jail_spec *spec, struct light_plan *ret, struct sj_err *err)
{
	struct light_plan plan = { 0 };
	int r = check_words(spec->root, SHEBANG_MAX, err);

	if (r == 0)
		r = check_words(spec->home, PATH_MAX, err);
	if (r < 0)
		return r;
	r = add_own(&plan, spec);
	if (r == 0)
		r = add_shell(&plan);
	if (r == 0)
		r = make_argv(&plan, spec);
	if (r < 0)
		(void)err_oom(err);
	if (r == 0)
		r = add_binds(&plan, spec, err);
	if (r == 0)
		r = check_nesting(&plan, spec, err);
	if (r < 0) {
		light_plan_clear(&plan);
		return r;
	}
	*ret = plan;
	return 0;
}

void light_plan_clear(struct light_plan *plan)
{
	base_strv_freep(&plan->strings);
	base_strv_freep(&plan->argv);
	*plan = (struct light_plan){ 0 };
}
