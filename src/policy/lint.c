/*
 * lint.c - what a legal policy grants that its author should know about
 *
 * Runs as: supervisor, outside the jail
 * Trusts: a policy that policy_load() returned
 * Never: refuses; whoever writes a policy decides
 */
#include <stdarg.h>
#include <string.h>

#include "policy/internal.h"

struct lint {
	policy_lint_fn *fn;
	void *arg;
	size_t n;
};

static void tell(struct lint *l, const char *id, const char *path, const char *fmt, ...) _printf_(4, 5);
static void tell(struct lint *l, const char *id, const char *path, const char *fmt, ...)
{
	char sentence[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(sentence, sizeof(sentence), fmt, ap);
	va_end(ap);
	if (l->fn)
		l->fn(l->arg, id, path, sentence);
	l->n++;
}

static void lint_limits(struct lint *l, const struct policy *p)
{
	const struct policy_limits *limits = &p->limits;
	const struct policy_files *files = &p->files;
	uint64_t folders = files->tmp.size + files->work.size + files->shm.size;

	if (limits->memory == 0)
		tell(l, "no-memory-limit", "limits.memory", "the program may use all memory of the host");
	else if (folders > limits->memory)
		tell(l, "folders-over-memory", "files",
		     "the private folders may hold more than limits.memory: a program that fills them is stopped as out of "
		     "memory before it is told that a folder is full");
	if (limits->pids == 0)
		tell(l, "no-pids-limit", "limits.pids", "a fork bomb is stopped only by the host");
	if (limits->wall_ms == 0)
		tell(l, "no-wall-limit", "limits.wall", "a program that waits for ever runs for ever");
	if (limits->cpu_milli == 0)
		tell(l, "no-cpu-limit", "limits.cpus", "the program may keep every CPU busy");
	if (limits->output == 0)
		tell(l, "no-output-limit", "limits.output", "output goes on without end into whatever receives it");
	if (limits->wall_ms > 0 && limits->cpu_milli > 0 && limits->cpu_ms > limits->wall_ms * limits->cpu_milli / 1000)
		tell(l, "cpu-time-unreachable", "limits.cpu_time",
		     "limits.wall and limits.cpus together allow less CPU time than this, so it never decides");
}

/* Host folders that hold far more than a program needs. */
static const char *wide_folder(const char *src)
{
	static const char *const wide[] = { "/", "/etc", "/home", "/root", "/var", "/run", "/var/run", "/usr", "/opt", "/boot",
					    "/mnt", "/media", "/srv", "/tmp" };

	for (size_t i = 0; i < ARRAY_LEN(wide); i++)
		if (strcmp(src, wide[i]) == 0)
			return wide[i];
	return NULL;
}

static void lint_files(struct lint *l, const struct policy *p)
{
	for (size_t i = 0; i < p->files.n_mounts; i++) {
		const struct policy_mount *m = &p->files.mounts[i];
		const char *path = m->writable ? "files.write" : "files.read";

		if (m->writable)
			tell(l, "host-write", path, "the program may change, fill and delete the host's \"%.200s\"", m->src);
		if (wide_folder(m->src))
			tell(l, "wide-folder", path, "\"%.200s\" shows the program a whole part of the host", m->src);
		if (strstr(m->src, "/.ssh") || strstr(m->src, "/.aws") || strstr(m->src, "/.gnupg") || strstr(m->src, ".sock"))
			tell(l, "secret-path", path, "\"%.200s\" looks like a place of secrets or a way to a service of the host",
			     m->src);
	}
	if (p->files.exec_from_writable)
		tell(l, "exec-from-writable", "files.exec_from_writable", "the program may execute files that it has written");
}

static void lint_env(struct lint *l, const struct policy *p)
{
	static const char *const words[] = { "KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "AUTH" };

	for (char **name = p->env_pass; *name; name++)
		for (size_t i = 0; i < ARRAY_LEN(words); i++)
			if (strcasestr(*name, words[i])) {
				tell(l, "secret-env", "env.pass", "\"%.200s\" looks like a secret, and the program can read it", *name);
				break;
			}
}

static void lint_layers(struct lint *l, const struct policy *p)
{
	if (p->net == POLICY_NET_HOST)
		tell(l, "host-network", "network.mode",
		     "the program reaches everything that the host reaches, its own local services included");
	if (p->landlock == POLICY_LANDLOCK_OFF)
		tell(l, "no-landlock", "landlock", "the second layer over files is switched off");
	if (p->isolation == POLICY_ISOLATION_LANDLOCK)
		tell(l, "weak-isolation", "isolation",
		     "the program runs without namespaces, among the caller's own processes; see --isolation in smoljail(1)");
}

/* Worth a word when no condition narrows them. What is worse than these is in "@never". */
static const struct {
	const char *name, *why;
} call_notes[] = {
	{ "personality", "it switches off address randomisation" },
	{ "ioctl", "without a condition it reaches every driver behind an open descriptor" },
	{ "prctl", "without a condition it changes how the kernel protects the process" },
	{ "socket", "without a condition it reaches every protocol that the kernel has" },
	{ "vmsplice", "it maps pages into pipes, a favourite help of kernel exploits" },
	{ "io_setup", "the kernel's old asynchronous files are rarely used and often attacked" },
	{ "mknod", "it makes special files" },
	{ "mknodat", "it makes special files" },
};

static void lint_calls(struct lint *l, const struct policy *p)
{
	for (size_t i = 0; i < p->syscalls.n_rules; i++) {
		const struct policy_rule *rule = &p->syscalls.rules[i];

		if (rule->action != POLICY_ALLOW || strcmp(rule->origin, "@floor") == 0)
			continue;
		for (size_t k = 0; k < ARRAY_LEN(call_notes); k++)
			if (rule->n_args == 0 && strcmp(call_notes[k].name, rule->name) == 0)
				tell(l, "risky-call", rule->origin, "%s is allowed: %s", rule->name, call_notes[k].why);
	}
}

/* fork(3) is the call clone everywhere, so a policy that denies only fork denies nothing. */
static void lint_fork(struct lint *l, const struct policy *p)
{
	bool denied = false, clone = false;

	for (size_t i = 0; i < p->syscalls.n_rules; i++) {
		const struct policy_rule *rule = &p->syscalls.rules[i];

		if (rule->action != POLICY_ALLOW && (strcmp(rule->name, "fork") == 0 || strcmp(rule->name, "vfork") == 0))
			denied = true;
		if (rule->action == POLICY_ALLOW && rule->n_args == 0 && strcmp(rule->name, "clone") == 0)
			clone = true;
	}
	if (denied && clone)
		tell(l, "fork-by-clone", "syscalls",
		     "fork is denied, but programs fork by the call clone, which is allowed; "
		     "\"allow\": [\"!@process\", \"@threads\"] leaves threads only");
}

size_t policy_lint(const struct policy *p, policy_lint_fn *fn, void *arg)
{
	struct lint l = { .fn = fn, .arg = arg };

	lint_limits(&l, p);
	lint_files(&l, p);
	lint_env(&l, p);
	lint_layers(&l, p);
	lint_calls(&l, p);
	lint_fork(&l, p);
	return l.n;
}
