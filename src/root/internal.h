/*
 * internal.h - the manifest of a root, shared by the files of this folder
 */
#ifndef SMOLJAIL_ROOT_INTERNAL_H
#define SMOLJAIL_ROOT_INTERNAL_H

#include "root/root.h"

#define ROOT_PATH_MAX 1024u	/* bytes of one path or link target in a manifest */
#define ROOT_LIST_MAX 256u	/* roots that one listing shows */
#define MANIFEST_DIGEST_LEN 64u

enum manifest_type { MANIFEST_DIR = 'd', MANIFEST_FILE = 'f', MANIFEST_LINK = 'l' };

struct manifest_entry {
	enum manifest_type type;
	unsigned int mode;
	uint64_t size;
	const char *what;	/* SHA-256 of a file, target of a link, "-" */
	const char *path;	/* relative, "." is the root itself */
};

/* Sorted by path, no path twice, "." always there. Strings lead into text. */
struct manifest {
	char *text;
	struct manifest_entry *entries;
	size_t n;
};

/* Splits text in place and takes it over, also on failure. `name` is quoted in errors. */
int manifest_parse(char *text, size_t len, const char *name, struct manifest *ret, struct sj_err *err);
const struct manifest_entry *manifest_lookup(const struct manifest *m, const char *path);
void manifest_clear(struct manifest *m);
#define _cleanup_manifest_ _cleanup_(manifest_clear)

/* May the caller rely on what lies there? Owned by root or the caller, no others may write. */
struct stat;
int root_check_owner(const char *path, const struct stat *st, struct sj_err *err);

#endif
