/*
 * risk_tests.c - how much of a risk the settings of a policy take
 *
 * Runs as: the caller
 * Trusts: a policy that policy_load() returned; paths and names are judged by their text alone
 * Never: looks at the host
 *
 * Each answers for the `at`-th place of its kind, with the path or name in detail; 0: there is no such place.
 */
#include <string.h>

#include "workbench/internal.h"

#define CALLS_LEAST 52u		/* the runtime floor */
#define CALLS_MOST 330u		/* of an ordinary program without privileges */

static unsigned int once(bool there, size_t at)
{
	return there && at == 0 ? RISK_WHOLE : 0;
}

/* ---- the host --------------------------------------------------------------- */

static bool is_service_socket(const struct policy_mount *m)
{
	/* The folders that hold them count as well. */
	static const char *const whole[] = { "/", "/run", "/var/run", "/run/dbus", "/var/run/dbus", "/run/systemd", "/run/containerd" };
	size_t len = strlen(m->src);

	for (size_t i = 0; i < ARRAY_LEN(whole); i++)
		if (strcmp(m->src, whole[i]) == 0)
			return true;
	return (len > 5 && strcmp(m->src + len - 5, ".sock") == 0) || strstr(m->src, "_bus_socket") || str_prefix(m->src, "/run/user");
}

static bool is_secret_path(const struct policy_mount *m)
{
	static const char *const names[] = { "/.ssh", "/.aws", "/.gnupg", "/.kube", "/.docker", "/.netrc", "/.config/gcloud", "/.azure",
					     "/.password-store", "/.git-credentials", "/etc/shadow", "/etc/ssl/private", "/etc/ssh", ".pem",
					     "id_rsa", "id_ed25519", "credentials" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strstr(m->src, names[i]))
			return true;
	return false;
}

/* Host folders that hold far more than a program needs. */
static bool is_wide_folder(const struct policy_mount *m)
{
	static const char *const wide[] = { "/", "/etc", "/home", "/root", "/var", "/run", "/var/run", "/usr", "/opt", "/boot", "/mnt",
					    "/media", "/srv", "/tmp" };

	for (size_t i = 0; i < ARRAY_LEN(wide); i++)
		if (strcmp(m->src, wide[i]) == 0)
			return true;
	return false;
}

static bool is_writable(const struct policy_mount *m)
{
	return m->writable;
}

static bool is_readable(const struct policy_mount *m)
{
	return !m->writable;
}

static unsigned int mount_like(const struct policy *p, bool (*like)(const struct policy_mount *), size_t at, char detail[WORDS_MAX])
{
	for (size_t i = 0; i < p->files.n_mounts; i++) {
		if (!like(&p->files.mounts[i]) || at-- > 0)
			continue;
		snprintf(detail, WORDS_MAX, "%.300s", p->files.mounts[i].src);
		return RISK_WHOLE;
	}
	return 0;
}

unsigned int risk_service_socket(const struct policy *p, size_t at, char detail[WORDS_MAX])
{
	return mount_like(p, is_service_socket, at, detail);
}

unsigned int risk_secret_path(const struct policy *p, size_t at, char detail[WORDS_MAX])
{
	return mount_like(p, is_secret_path, at, detail);
}

unsigned int risk_wide_folder(const struct policy *p, size_t at, char detail[WORDS_MAX])
{
	return mount_like(p, is_wide_folder, at, detail);
}

unsigned int risk_host_write(const struct policy *p, size_t at, char detail[WORDS_MAX])
{
	return mount_like(p, is_writable, at, detail);
}

unsigned int risk_host_read(const struct policy *p, size_t at, char detail[WORDS_MAX])
{
	return mount_like(p, is_readable, at, detail);
}

unsigned int risk_host_network(const struct policy *p, size_t at, char detail[WORDS_MAX])
{
	(void)detail;
	return once(p->net == POLICY_NET_HOST, at);
}

unsigned int risk_secret_env(const struct policy *p, size_t at, char detail[WORDS_MAX])
{
	static const char *const words[] = { "KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "AUTH", "COOKIE", "SESSION" };

	for (char **name = p->env_pass; *name; name++)
		for (size_t i = 0; i < ARRAY_LEN(words); i++) {
			if (!strcasestr(*name, words[i]))
				continue;
			if (at-- > 0)
				break;
			snprintf(detail, WORDS_MAX, "%.300s", *name);
			return RISK_WHOLE;
		}
	return 0;
}

/* ---- limits and layers --------------------------------------------------------- */

#define ABSENT(name, condition) \
	unsigned int name(const struct policy *p, size_t at, char detail[WORDS_MAX]) \
	{ \
		(void)detail; \
		return once(condition, at); \
	}

ABSENT(risk_no_memory, p->limits.memory == 0)
ABSENT(risk_no_pids, p->limits.pids == 0)
ABSENT(risk_no_wall, p->limits.wall_ms == 0)
ABSENT(risk_no_cpus, p->limits.cpu_milli == 0)
ABSENT(risk_no_output, p->limits.output == 0)
ABSENT(risk_best_effort, p->limits.enforcement != POLICY_CGROUP)
ABSENT(risk_exec_writable, p->files.exec_from_writable)
ABSENT(risk_weak_isolation, p->isolation == POLICY_ISOLATION_LANDLOCK)
ABSENT(risk_no_landlock, p->landlock == POLICY_LANDLOCK_OFF)

unsigned int risk_call_surface(const struct policy *p, size_t at, char detail[WORDS_MAX])
{
	size_t n = policy_count_allowed(p), above = n > CALLS_LEAST ? n - CALLS_LEAST : 0;

	if (at > 0)
		return 0;
	snprintf(detail, WORDS_MAX, "%zu, and %u are the least", n, CALLS_LEAST);
	above = above * RISK_WHOLE / (CALLS_MOST - CALLS_LEAST);
	return above > RISK_WHOLE ? RISK_WHOLE : (unsigned int)above;
}
