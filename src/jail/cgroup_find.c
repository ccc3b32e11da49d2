/*
 * cgroup_find.c - where our own control groups are, from the kernel's tables
 *
 * Runs as: the supervisor
 * Trusts: nothing: pure functions on text, bounded by their output
 * Never: opens a file, allocates, or returns a path with ".." in it
 */
#include <limits.h>
#include <string.h>

#include "jail/cgroup_internal.h"

/* A part of a longer text. */
struct piece {
	const char *p;
	size_t len;
};

const char *cgroup_ctl_name(enum cgroup_ctl ctl)
{
	static const char *const names[CGROUP_CTLS] = { "memory", "pids", "cpu", "cpuacct" };

	return names[ctl];
}

/* Cuts the part up to sep off rest; false at the end of rest. */
static bool cut(struct piece *rest, char sep, struct piece *ret)
{
	const char *end;

	if (!rest->p)
		return false;
	end = memchr(rest->p, sep, rest->len);
	ret->p = rest->p;
	ret->len = end ? (size_t)(end - rest->p) : rest->len;
	rest->len -= ret->len + (end ? 1 : 0);
	rest->p = end ? end + 1 : NULL;
	return true;
}

static bool is_word(struct piece a, const char *word)
{
	return a.len == strlen(word) && memcmp(a.p, word, a.len) == 0;
}

static bool list_has(struct piece list, char sep, const char *word)
{
	struct piece item;

	while (cut(&list, sep, &item))
		if (is_word(item, word))
			return true;
	return false;
}

unsigned int cgroup_parse_list(const char *list)
{
	struct piece all = { list, strcspn(list, "\n") };
	unsigned int bits = 0;

	for (unsigned int c = 0; c < CGROUP_CTLS; c++)
		if (list_has(all, ' ', cgroup_ctl_name((enum cgroup_ctl)c)))
			bits |= CGROUP_BIT(c);
	return bits;
}

/* ---- /proc/<pid>/cgroup: "4:cpu,cpuacct:/path" -------------------------- */

static bool self_line(struct piece line, struct piece *ret_ctls, struct piece *ret_path)
{
	struct piece id;

	if (!cut(&line, ':', &id) || !cut(&line, ':', ret_ctls) || !line.p || line.len == 0 || line.p[0] != '/')
		return false;
	*ret_path = line;
	return true;
}

static bool in_tree(struct piece ctls, size_t tree)
{
	return tree == CGROUP_UNIFIED ? ctls.len == 0 : list_has(ctls, ',', cgroup_ctl_name((enum cgroup_ctl)tree));
}

/* The path of a process in one hierarchy. */
static bool self_path(const char *self, size_t tree, struct piece *ret)
{
	struct piece rest = { self, strlen(self) }, line, ctls, path;

	while (cut(&rest, '\n', &line))
		if (self_line(line, &ctls, &path) && in_tree(ctls, tree)) {
			*ret = path;
			return true;
		}
	return false;
}

bool cgroup_self_in(const char *self, size_t tree, const char *name)
{
	size_t len = strlen(name);
	struct piece path;

	return self_path(self, tree, &path) && path.len > len && path.p[path.len - len - 1] == '/' &&
	       memcmp(path.p + path.len - len, name, len) == 0;
}

/* ---- /proc/self/mountinfo ------------------------------------------------ */

static bool octal(const char *p, size_t len, char *ret)
{
	if (len < 4 || p[0] != '\\' || p[1] < '0' || p[1] > '3' || p[2] < '0' || p[2] > '7' || p[3] < '0' || p[3] > '7')
		return false;
	*ret = (char)((p[1] - '0') << 6 | (p[2] - '0') << 3 | (p[3] - '0'));
	return *ret != '\0';
}

/* Spaces and backslashes of paths stand as \040 and \134. Fails when it does not fit. */
static bool unescape(struct piece in, char *ret, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < in.len; i++) {
		if (n + 1 >= size)
			return false;
		if (octal(in.p + i, in.len - i, &ret[n]))
			i += 3;
		else
			ret[n] = in.p[i];
		n++;
	}
	ret[n] = '\0';
	return true;
}

struct mount_line {
	struct piece root, point, type, options;
};

/* id parent major:minor ROOT POINT options [optional ...] - TYPE source OPTIONS */
static bool mount_line(struct piece line, struct mount_line *ret)
{
	struct piece field;

	for (int i = 0; i < 3; i++)
		if (!cut(&line, ' ', &field))
			return false;
	if (!cut(&line, ' ', &ret->root) || !cut(&line, ' ', &ret->point))
		return false;
	do {
		if (!cut(&line, ' ', &field))
			return false;
	} while (!is_word(field, "-"));
	return cut(&line, ' ', &ret->type) && cut(&line, ' ', &field) && cut(&line, ' ', &ret->options);
}

/*
 * What remains of our path below the root of a mount. Both are relative to our
 * cgroup namespace; groups outside of it show as "/..", and of a path that
 * climbs further than the mount's root the names are not known.
 */
static bool below(const char *root, struct piece own, struct piece *ret)
{
	size_t len = strcmp(root, "/") == 0 ? 0 : strlen(root);
	struct piece rest, part;

	if (own.len < len || memcmp(own.p, root, len) != 0 || (own.len > len && own.p[len] != '/'))
		return false;
	rest = (struct piece){ own.p + len, own.len - len };
	*ret = rest;
	while (cut(&rest, '/', &part))
		if (is_word(part, ".."))
			return false;
	return true;
}

/* The first mount that shows our group wins, unless a later one hides it. */
static void consider(struct cgroup_map *map, size_t tree, struct piece own, const struct mount_line *m)
{
	char root[CGROUP_PATH_MAX], point[CGROUP_PATH_MAX];
	char *dir = map->dir[tree];
	struct piece rest;
	size_t len;

	if (!unescape(m->root, root, sizeof(root)) || !unescape(m->point, point, sizeof(point)) ||
	    point[0] != '/' || !below(root, own, &rest))
		return;
	len = strcmp(point, "/") == 0 ? 0 : strlen(point);
	if (dir[0] && (len != map->point[tree] || memcmp(dir, point, len) != 0))
		return;
	if (rest.len == 1)	/* our path is "/": the mount point itself */
		rest.len = 0;
	if (len + rest.len >= CGROUP_PATH_MAX)
		return;
	memcpy(dir, point, len);
	memcpy(dir + len, rest.p, rest.len);
	dir[len + rest.len] = '\0';
	if (len + rest.len == 0)
		memcpy(dir, "/", 2);
	map->point[tree] = len;
}

void cgroup_map_parse(const char *mountinfo, const char *self, struct cgroup_map *ret)
{
	struct piece rest = { mountinfo, strlen(mountinfo) }, line, own[CGROUP_TREES];
	struct mount_line m;

	for (size_t t = 0; t < CGROUP_TREES; t++) {
		ret->dir[t][0] = '\0';
		ret->point[t] = 0;
		if (!self_path(self, t, &own[t]))
			own[t].p = NULL;
	}
	while (cut(&rest, '\n', &line)) {
		if (!mount_line(line, &m))
			continue;
		if (is_word(m.type, "cgroup2") && own[CGROUP_UNIFIED].p)
			consider(ret, CGROUP_UNIFIED, own[CGROUP_UNIFIED], &m);
		if (!is_word(m.type, "cgroup"))
			continue;
		for (size_t c = 0; c < CGROUP_CTLS; c++)
			if (own[c].p && list_has(m.options, ',', cgroup_ctl_name((enum cgroup_ctl)c)))
				consider(ret, c, own[c], &m);
	}
}

/* ---- numbers and names ---------------------------------------------------- */

/* Digits only, no sign, no overflow; *p moves behind them. */
static bool digits(const char **p, uint64_t *ret)
{
	const char *s = *p;
	uint64_t v = 0;

	while (*s >= '0' && *s <= '9') {
		unsigned int d = (unsigned int)(*s++ - '0');

		if (v > (UINT64_MAX - d) / 10)
			return false;
		v = v * 10 + d;
	}
	if (s == *p)
		return false;
	*p = s;
	*ret = v;
	return true;
}

bool cgroup_parse_u64(const char *text, uint64_t *ret)
{
	if (strncmp(text, "max", 3) == 0 || strncmp(text, "-1", 2) == 0) {
		*ret = UINT64_MAX;
		return true;
	}
	return digits(&text, ret);
}

bool cgroup_parse_key(const char *text, const char *key, uint64_t *ret)
{
	struct piece rest = { text, strlen(text) }, line;
	size_t len = strlen(key);

	while (cut(&rest, '\n', &line))
		if (line.len > len + 1 && memcmp(line.p, key, len) == 0 && line.p[len] == ' ') {
			const char *p = line.p + len + 1;

			return digits(&p, ret);
		}
	return false;
}

void cgroup_quota(uint32_t cpu_milli, uint64_t *ret_quota_us, uint64_t *ret_period_us)
{
	uint64_t quota = (uint64_t)cpu_milli * CGROUP_PERIOD_US / 1000;

	*ret_period_us = quota < CGROUP_QUOTA_MIN_US ? CGROUP_LONG_PERIOD_US : CGROUP_PERIOD_US;
	*ret_quota_us = (uint64_t)cpu_milli * *ret_period_us / 1000;
}

bool cgroup_parse_name(const char *name, pid_t *ret_pid, uint64_t *ret_start)
{
	uint64_t pid, start, n;

	if (!str_prefix(name, CGROUP_PREFIX))
		return false;
	name += strlen(CGROUP_PREFIX);
	if (!digits(&name, &pid) || *name++ != '-' || !digits(&name, &start) || *name++ != '-' ||
	    !digits(&name, &n) || *name != '\0' || pid == 0 || pid > INT_MAX)
		return false;
	*ret_pid = (pid_t)pid;
	*ret_start = start;
	return true;
}
