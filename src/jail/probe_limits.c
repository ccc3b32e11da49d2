/*
 * probe_limits.c - facts on how the limits of a jail would be held
 *
 * Runs as: a forked child, which makes and removes one cgroup
 * Trusts: cgroup.c, the same code that a launch uses
 * Never: leaves a cgroup behind
 */
#include <string.h>

#include "jail/internal.h"
#include "jail/probe.h"

enum { TEXT_MEMORY, TEXT_PIDS, TEXT_CPU, TEXT_CPU_TIME, TEXT_WHY, TEXT_FIX };

static void put(struct probe_result *r, int i, const char *text)
{
	snprintf(r->text[i], sizeof(r->text[i]), "%s", text ? text : "");
}

static void act_cgroup(struct probe_result *r)
{
	struct jail_limits l = { .memory = 64u << 20, .cpu_milli = 1000, .pids = 32, .cpu_ms = 1000 };
	struct jail_enforced e = { 0 };
	struct sj_err err = { 0 };
	struct cgroup *cg = NULL;

	if (cgroup_open(&l, &cg, &err) == 0 && cg)
		cgroup_enforced(cg, &e);
	cg = cgroup_close(cg);
	put(r, TEXT_MEMORY, e.memory);
	put(r, TEXT_PIDS, e.pids);
	put(r, TEXT_CPU, e.cpu);
	put(r, TEXT_CPU_TIME, e.cpu_time);
	if (e.memory && e.pids && e.cpu)
		return;
	/* Asked to insist on a cgroup, it says what is missing. */
	l.require_cgroup = true;
	err = (struct sj_err){ 0 };
	if (cgroup_open(&l, &cg, &err) == 0)
		cgroup_close(cg);
	put(r, TEXT_WHY, err.why[0] ? err.why : err.what);
	put(r, TEXT_FIX, err.fix);
}

static void say_cgroup(struct probe_walk *w, const struct probe_result *r)
{
	static const char *const names[] = { "memory", "pids", "cpu" };
	char held[96] = "";
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (!r->text[i][0])
			continue;
		snprintf(held + strlen(held), sizeof(held) - strlen(held), "%s%s by %.20s", n ? ", " : "", names[i], r->text[i]);
		n++;
	}
	if (n == ARRAY_LEN(names))
		probe_say(w, "cgroup", PROBE_OK, NULL, NULL, "%s", held);
	else
		probe_say(w, "cgroup", PROBE_WARN, r->text[TEXT_WHY][0] ? r->text[TEXT_WHY] : "a controller is missing",
			  r->text[TEXT_FIX][0] ? r->text[TEXT_FIX] : "docs/hosts.md, \"Control groups\"", "%s",
			  n ? held : "none that the caller may use");
}

/* What a launch falls back to; the words are those of the report's "enforced_by". */
static const struct {
	const char *id;
	int text;
	const char *fallback, *why;
	enum probe_state state;
} rungs[] = {
	{ "limit.memory", TEXT_MEMORY, "polling",
	  "without a cgroup the supervisor adds up the processes' memory many times a second; a fast one can pass the limit "
	  "for a moment", PROBE_WARN },
	{ "limit.pids", TEXT_PIDS, "rlimit",
	  "without a cgroup RLIMIT_NPROC counts the processes; it holds, but none of them is reported", PROBE_WARN },
	{ "limit.cpu", TEXT_CPU, "none",
	  "without a cgroup a jail may use every CPU; the limits on CPU time and wall time hold", PROBE_WARN },
	{ "limit.cpu_time", TEXT_CPU_TIME, "polling", NULL, PROBE_OK },
};

static void say_rungs(struct probe_walk *w, const struct probe_result *r)
{
	for (size_t i = 0; i < ARRAY_LEN(rungs); i++) {
		const char *held = r->text[rungs[i].text];

		if (held[0])
			probe_say(w, rungs[i].id, PROBE_OK, NULL, NULL, "%s", held);
		else
			probe_say(w, rungs[i].id, rungs[i].state, rungs[i].why, rungs[i].why ? "see cgroup" : NULL, "%s",
				  rungs[i].fallback);
	}
}

/* Is there swap at all? The first line of the file is a heading. */
static bool host_swaps(void)
{
	_cleanup_free_ char *text = NULL;
	char *line;

	if (io_read_file("/proc/swaps", HOST_FILE_MAX, &text, NULL) < 0)
		return true;
	line = strchr(text, '\n');
	return line && line[1];
}

static void say_swap(struct probe_walk *w, const struct probe_result *r)
{
	char own[192] = "", path[256];
	bool v1 = strcmp(r->text[TEXT_MEMORY], "cgroup1") == 0;

	if (!host_swaps()) {
		probe_say(w, "swap", PROBE_OK, NULL, NULL, "none on this host");
		return;
	}
	if (!r->text[TEXT_MEMORY][0]) {
		probe_say(w, "swap", PROBE_WARN, "without a cgroup, what a jail has in swap is not counted", "see cgroup",
			  "not limited");
		return;
	}
	(void)host_line(&host_real, "/proc/self/cgroup", own, sizeof(own));
	snprintf(path, sizeof(path), "/sys/fs/cgroup%s/memory.swap.max", str_prefix(own, "0::") ? own + 3 : "");
	if (host_exists(&host_real, v1 ? "/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes" : path))
		probe_say(w, "swap", PROBE_OK, NULL, NULL, "limited by %s", r->text[TEXT_MEMORY]);
	else
		probe_say(w, "swap", PROBE_WARN, "the kernel does not account swap, so a jail may use swap beyond its memory limit",
			  "boot with swapaccount=1, or sudo swapoff -a", "not limited");
}

void probe_limits(struct probe_walk *w)
{
	const struct probe_task task = { .act = act_cgroup, .deadline_us = PROBE_CGROUP_DEADLINE_US };
	struct probe_result r;

	probe_try(&task, &r);
	if (r.error)
		probe_say_failure(w, "cgroup", PROBE_WARN, &r);
	else
		say_cgroup(w, &r);
	say_rungs(w, &r);
	say_swap(w, &r);
}
