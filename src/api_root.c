/*
 * api_root.c - sj_rootfs_*: the roots that jails stand on, for users of the library
 *
 * Runs as: the caller
 * Trusts: the caller's arguments
 * Never: changes a root
 */
#include "root/root.h"

struct list_call {
	sj_rootfs_list_fn *fn;
	void *arg;
};

static void pass_root(void *arg, const struct root *r)
{
	struct list_call *call = arg;

	call->fn(call->arg, r->name, r->path);
}

int sj_rootfs_list(sj_rootfs_list_fn *fn, void *arg, struct sj_err *err)
{
	struct list_call call = { fn, arg };

	return root_list(pass_root, &call, err);
}

int sj_rootfs_path(const char *name, char **ret_path, struct sj_err *err)
{
	_cleanup_root_ struct root r = { 0 };
	int e = root_find(name, &r, err);

	if (e < 0)
		return e;
	*ret_path = steal_ptr(r.path);
	return 0;
}

int sj_rootfs_verify(const char *name, sj_rootfs_diff_fn *fn, void *arg, size_t *ret_checked, struct sj_err *err)
{
	_cleanup_root_ struct root r = { 0 };
	int e = root_find(name, &r, err);

	if (e < 0)
		return e;
	return root_verify(&r, fn, arg, ret_checked, err);
}
