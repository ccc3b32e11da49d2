/*
 * check.c - what must hold between the settings of a policy
 *
 * Runs as: supervisor, outside the jail
 * Trusts: single values, which the field table has checked
 * Never: changes a setting so that it fits
 */
#include <string.h>

#include "policy/internal.h"

/* Of policies/default.json. */
#define DEFAULT_HOSTNAME "jail"

/* 0, or the refusal in words: path of the setting, why, and the fix. */
static int refuse(struct walk *w, const char *id, const char *path, const char *why, const char *fix)
{
	int r = err_set(w->err, EINVAL, SJ_EXIT_USAGE, id, "%.160s: %s does not go with the rest of the policy", w->doc,
			path);

	err_why(w->err, "%s", why);
	err_fix(w->err, "%s", fix);
	return r;
}

static int check_swap(struct walk *w)
{
	const struct policy_limits *limits = &w->own->p.limits;

	if (limits->swap == 0 || limits->memory > 0)
		return 0;
	return refuse(w, "E_POLICY_SWAP", "limits.swap", "swap is counted on top of the memory limit, and there is none",
		      "set limits.memory, or limits.swap to 0");
}

static int check_enforcement(struct walk *w)
{
	const struct policy_limits *limits = &w->own->p.limits;

	if (limits->enforcement != POLICY_CGROUP || limits->memory || limits->pids || limits->cpu_milli)
		return 0;
	return refuse(w, "E_POLICY_ENFORCEMENT", "limits.enforcement",
		      "\"cgroup\" demands control groups for memory, pids and cpus, and none of them is limited",
		      "limit one of them, or write \"best-effort\"");
}

static int check_env(struct walk *w)
{
	const struct policy *p = &w->own->p;
	char path[POLICY_NAME_MAX + 16];

	for (char **name = p->env_pass; *name; name++) {
		size_t len = strlen(*name);

		for (char **pair = p->env_set; *pair; pair++) {
			if (strncmp(*pair, *name, len) != 0 || (*pair)[len] != '=')
				continue;
			snprintf(path, sizeof(path), "env.pass: \"%.60s\"", *name);
			return refuse(w, "E_POLICY_ENV", path, "the same variable has a value in env.set",
				      "keep it in one of them; null in env.set takes out a value of an extended policy");
		}
	}
	return 0;
}

static int check_mounts(struct walk *w)
{
	const struct policy_files *files = &w->own->p.files;
	char path[192], why[POLICY_WHY_MAX];

	if (files->n_mounts > POLICY_MOUNTS_MAX) {
		snprintf(why, sizeof(why), "together they have %zu entries, and at most %d are possible", files->n_mounts,
			 POLICY_MOUNTS_MAX);
		return refuse(w, "E_POLICY_MOUNTS", "files.read, files.write", why, "name a folder that holds several of them");
	}
	for (size_t i = 0; i < files->n_mounts; i++)
		for (size_t k = 0; k < i; k++) {
			const struct policy_mount *a = &files->mounts[i], *b = &files->mounts[k];

			if (strcmp(a->dst, b->dst) != 0)
				continue;
			snprintf(path, sizeof(path), "%s: \"%.150s\"", a->writable ? "files.write" : "files.read", a->dst);
			snprintf(why, sizeof(why), "both \"%.120s\" and \"%.120s\" would appear there", b->src, a->src);
			return refuse(w, "E_POLICY_MOUNTS", path, why, "give one of them another place inside, SRC:DST");
		}
	return 0;
}

/* Without namespaces there is no network, no name and no place of the jail's own. */
static int check_isolation(struct walk *w)
{
	static const char id[] = "E_POLICY_ISOLATION";
	const struct policy *p = &w->own->p;
	char path[192];

	if (p->isolation == POLICY_ISOLATION_FULL)
		return 0;
	if (p->net != POLICY_NET_NONE)
		return refuse(w, id, "network.mode", "isolation \"landlock\" makes no network for the jail, and the host's would not "
			      "be held back", "--net none, or isolation \"full\"");
	if (p->landlock == POLICY_LANDLOCK_OFF)
		return refuse(w, id, "landlock", "isolation \"landlock\" stands on Landlock alone", "\"auto\", or isolation \"full\"");
	if (strcmp(p->files.hostname, DEFAULT_HOSTNAME) != 0)
		return refuse(w, id, "files.hostname", "with isolation \"landlock\" the program sees the host's own name",
			      "leave it out, or isolation \"full\"");
	for (size_t i = 0; i < p->files.n_mounts; i++) {
		const struct policy_mount *m = &p->files.mounts[i];

		if (strcmp(m->src, m->dst) == 0)
			continue;
		snprintf(path, sizeof(path), "%s: \"%.150s\"", m->writable ? "files.write" : "files.read", m->dst);
		return refuse(w, id, path, "isolation \"landlock\" cannot show a folder under another path",
			      "name SRC alone, as an absolute path, or isolation \"full\"");
	}
	return 0;
}

int check_policy(struct walk *w)
{
	static int (*const checks[])(struct walk *) = {
		check_swap, check_enforcement, check_env, check_mounts, check_isolation,
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(checks) && r == 0; i++)
		r = checks[i](w);
	return r;
}
