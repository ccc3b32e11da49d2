/*
 * find.c - where roots lie, and whether one may stand on them
 *
 * Runs as: the caller, before each start: a handful of system calls
 * Trusts: the place of the running binary, folders that only root or the caller may write
 * Never: takes a path for a name, or falls back to another place past a root that it refuses
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "root/internal.h"

#define PLACES_MAX 3

/* Folders in which a root may lie, first come first. */
struct places {
	char *path[PLACES_MAX];
	size_t n;
};

static void places_clear(struct places *p)
{
	while (p->n > 0)
		free(p->path[--p->n]);
}
#define _cleanup_places_ _cleanup_(places_clear)

/* Takes path over; NULL means that memory ran out. */
static int add_place(struct places *p, char *path)
{
	if (!path)
		return -ENOMEM;
	for (size_t i = 0; i < p->n; i++) {
		if (strcmp(p->path[i], path) == 0) {
			free(path);
			return 0;
		}
	}
	p->path[p->n++] = path;
	return 0;
}

/* "/usr/bin/x" -> "/usr/bin" -> "/usr" -> "" */
static void cut_last(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash)
		*slash = '\0';
}

static int find_places(struct places *ret)
{
	_cleanup_places_ struct places p = { 0 };
	char exe[PATH_MAX];
	/* Without /proc only the installed place is left. */
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	int r = 0;

	if (len > 0 && exe[0] == '/') {
		exe[len] = '\0';
		cut_last(exe);
		r = add_place(&p, str_printf("%s/rootfs", exe));
		cut_last(exe);
		if (r == 0)
			r = add_place(&p, str_printf("%s/lib/smoljail/rootfs", exe));
	}
#ifdef SMOLJAIL_LIBDIR
	if (r == 0)
		r = add_place(&p, str_printf("%s/rootfs", SMOLJAIL_LIBDIR));
#endif
	if (r < 0)
		return r;
	*ret = p;
	p.n = 0;
	return 0;
}

/* [a-z0-9][a-z0-9._-]*: no path, no option, nothing hidden. */
static bool name_ok(const char *name)
{
	static const char first[] = "abcdefghijklmnopqrstuvwxyz0123456789";

	return name[0] && strchr(first, name[0]) && strlen(name) <= ROOT_NAME_MAX &&
	       name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789._-")] == '\0';
}

int root_check_owner(const char *path, const struct stat *st, struct sj_err *err)
{
	if (st->st_uid != 0 && st->st_uid != geteuid()) {
		err_set(err, EPERM, SJ_EXIT_SETUP, "E_ROOT_OWNER", "the root's \"%s\" cannot be trusted", path);
		err_why(err, "it belongs to user %u, who is neither root nor you (%u) and could change it",
			st->st_uid, geteuid());
		err_fix(err, "install as root, or build it as the user who runs it");
		return -EPERM;
	}
	if (st->st_mode & (S_IWGRP | S_IWOTH)) {
		err_set(err, EPERM, SJ_EXIT_SETUP, "E_ROOT_MODE", "the root's \"%s\" cannot be trusted", path);
		err_why(err, "its mode is %04o: others than its owner may write there", st->st_mode & 07777);
		err_fix(err, "chmod go-w \"%s\"", path);
		return -EPERM;
	}
	return 0;
}

static int cannot_look(const char *path, int error, struct sj_err *err)
{
	err_set(err, error, SJ_EXIT_SETUP, "E_ROOT", "cannot look at the root \"%s\"", path);
	err_why(err, "%s", strerror(error));
	err_fix(err, "see that its folder can be entered, and that its disk is well");
	return -error;
}

/* 0, -ENOENT without a message when there is nothing of that name, or an error. */
static int check_root(const char *place, const char *path, struct sj_err *err)
{
	struct stat st;
	int r;

	/* A link would be followed at each mount anew, and could change in between. */
	if (lstat(path, &st) < 0) {
		if (errno == ENOENT || errno == ENOTDIR)
			return -ENOENT;
		return cannot_look(path, errno, err);
	}
	if (!S_ISDIR(st.st_mode)) {
		err_set(err, ENOTDIR, SJ_EXIT_SETUP, "E_ROOT", "the root \"%s\" is not a folder", path);
		err_fix(err, "build the root again (make), or install it again");
		return -ENOTDIR;
	}
	r = root_check_owner(path, &st, err);
	if (r < 0)
		return r;
	if (stat(place, &st) < 0)
		return cannot_look(place, errno, err);
	return root_check_owner(place, &st, err);
}

static int not_found(const struct places *p, const char *name, struct sj_err *err)
{
	_cleanup_buf_ struct buf list = BUF_INIT(PLACES_MAX * (PATH_MAX + 2));

	for (size_t i = 0; i < p->n; i++)
		if (buf_printf(&list, "%s%s", i ? ", " : "", p->path[i]) < 0)
			return err_oom(err);
	err_set(err, ENOENT, SJ_EXIT_SETUP, "E_ROOT", "no root named \"%s\"", name);
	err_why(err, "looked in %s", list.data ? list.data : "no place: /proc is not there");
	err_fix(err, "`smoljail rootfs list` names the roots there are; `make` builds \"python\"");
	return -ENOENT;
}

static int find_in(const struct places *p, const char *name, struct root *ret, struct sj_err *err)
{
	for (size_t i = 0; i < p->n; i++) {
		_cleanup_root_ struct root r = {
			.name = strdup(name),
			.path = str_printf("%s/%s", p->path[i], name),
			.manifest = str_printf("%s/%s.manifest", p->path[i], name),
		};
		int e;

		if (!r.name || !r.path || !r.manifest)
			return err_oom(err);
		e = check_root(p->path[i], r.path, err);
		if (e == -ENOENT)
			continue;
		if (e < 0)
			return e;
		*ret = r;
		r = (struct root){ 0 };
		return 0;
	}
	return not_found(p, name, err);
}

int root_find(const char *name, struct root *ret, struct sj_err *err)
{
	_cleanup_places_ struct places p = { 0 };

	if (!name_ok(name)) {
		err_set(err, EINVAL, SJ_EXIT_SETUP, "E_ROOT_NAME", "\"%s\" is not the name of a root", name);
		err_why(err, "a name has 1 to %d lower-case letters, digits, '.', '_', '-', and starts with one of the former",
			ROOT_NAME_MAX);
		err_fix(err, "`smoljail rootfs list` names the roots there are");
		return -EINVAL;
	}
	if (find_places(&p) < 0)
		return err_oom(err);
	return find_in(&p, name, ret, err);
}

static bool holds(char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static int add_names(const char *place, char ***names, size_t *n)
{
	DIR *dir = opendir(place);
	struct dirent *d;
	int r = 0;

	if (!dir)
		return 0; /* not every place exists */
	while (r == 0 && *n < ROOT_LIST_MAX && (d = readdir(dir))) {
		struct stat st;

		if (!name_ok(d->d_name) || holds(*names, *n, d->d_name))
			continue;
		if (fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode))
			continue;
		r = strv_push(names, d->d_name);
		if (r == 0)
			(*n)++;
	}
	closedir(dir);
	return r;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int root_list(root_list_fn *fn, void *arg, struct sj_err *err)
{
	_cleanup_places_ struct places p = { 0 };
	_cleanup_strv_ char **names = NULL;
	size_t n = 0;
	int ret = 0;

	if (find_places(&p) < 0)
		return err_oom(err);
	for (size_t i = 0; i < p.n; i++)
		if (add_names(p.path[i], &names, &n) < 0)
			return err_oom(err);
	if (n > 0)
		qsort(names, n, sizeof(*names), compare_names);
	/* One that is refused hides no other: it becomes the error once all are named. */
	for (size_t i = 0; i < n; i++) {
		_cleanup_root_ struct root r = { 0 };
		int e = find_in(&p, names[i], &r, ret == 0 ? err : NULL);

		if (e == 0)
			fn(arg, &r);
		else if (ret == 0)
			ret = e;
	}
	return ret;
}

void root_clear(struct root *r)
{
	if (!r)
		return;
	free(r->name);
	free(r->path);
	free(r->manifest);
	*r = (struct root){ 0 };
}
