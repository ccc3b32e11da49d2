/*
 * fuzz_mountinfo.c - the kernel's tables of mounts, groups and processes as hostile text
 *
 * Runs as: any user
 * Trusts: nothing
 * Never: opens a file
 */
#include <stdlib.h>
#include <string.h>

#include "jail/cgroup_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_map(const struct cgroup_map *map)
{
	for (size_t t = 0; t < CGROUP_TREES; t++) {
		const char *dir = map->dir[t];
		size_t len = strnlen(dir, CGROUP_PATH_MAX);
		const char *own = dir + map->point[t];

		if (len == CGROUP_PATH_MAX || (len > 0 && dir[0] != '/') || map->point[t] > len)
			abort();
		/* What comes from our own path never climbs. */
		if (strstr(own, "/../") || (strlen(own) >= 3 && strcmp(own + strlen(own) - 3, "/..") == 0))
			abort();
	}
}

static void check_numbers(const char *text)
{
	struct poll_stat st;
	uint64_t v;
	pid_t pid;

	(void)cgroup_parse_list(text);
	(void)cgroup_parse_u64(text, &v);
	(void)cgroup_parse_key(text, "oom_kill", &v);
	(void)cgroup_self_in(text, CGROUP_CPU, "smoljail-1-2-3");
	if (poll_parse_stat(text, &st) && st.pid <= 0)
		abort();
	if (cgroup_parse_name(text, &pid, &v) && (pid <= 0 || !str_prefix(text, CGROUP_PREFIX)))
		abort();
}

/* mountinfo, a NUL, /proc/self/cgroup. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct cgroup_map map;
	char *text = malloc(size + 1), *second;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	second = memchr(text, '\0', size);
	cgroup_map_parse(text, second ? second + 1 : "8:pids:/a/b\n4:cpu,cpuacct:/\n0::/c\n", &map);
	check_map(&map);
	check_numbers(text);
	if (second)
		check_numbers(second + 1);
	free(text);
	return 0;
}
