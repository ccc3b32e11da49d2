/*
 * root.h - the small read-only roots that jails stand on
 *
 * A root is a folder `rootfs/NAME` with a file `rootfs/NAME.manifest` beside
 * it (one line an entry, sorted: type, mode, size, SHA-256 or link target, path).
 */
#ifndef SMOLJAIL_ROOT_H
#define SMOLJAIL_ROOT_H

#include "base/base.h"

#define ROOT_NAME_MAX 64
#define ROOT_MANIFEST_MAX (16u << 20)
#define ROOT_ENTRIES_MAX 100000u

struct root {
	char *name, *path, *manifest;	/* absolute paths */
};

/*
 * Find by name: beside the running binary (`rootfs/NAME`), then
 * `../lib/smoljail/rootfs/NAME` from it, then the installed place.
 * Refuses a folder that its group or others may write. Exit 125.
 */
int root_find(const char *name, struct root *ret, struct sj_err *err);
void root_clear(struct root *r);
#define _cleanup_root_ _cleanup_(root_clear)

/* Calls back for every root found. */
typedef void root_list_fn(void *arg, const struct root *r);
int root_list(root_list_fn *fn, void *arg, struct sj_err *err);

/* Compare each entry with the manifest; calls back a line a difference. Returns the number of differences or -errno. */
typedef void root_diff_fn(void *arg, const char *path, const char *what);
int root_verify(const struct root *r, root_diff_fn *fn, void *arg, size_t *ret_checked, struct sj_err *err);

#endif
