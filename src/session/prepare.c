/*
 * prepare.c - from a policy and a command line to what the jail and the guest are told
 *
 * Runs as: the supervisor, before the jail exists
 * Trusts: the policy (checked by policy/); host paths only after realpath()
 * Never: creates a file or a folder on the host
 */
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "session/internal.h"

/* What every jailed program finds in its environment; the policy may replace each. */
static const char *const base_env[] = {
	"PATH=/usr/bin:/bin", ("HOME=" JAIL_WORK), "USER=user", "LOGNAME=user", "LANG=C.UTF-8",
};

/* Numerical libraries start one thread a CPU of the machine, whatever the limits are, unless told. */
static const char *const thread_env[] = {
	"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "VECLIB_MAXIMUM_THREADS",
};

const char *prep_keep(struct prep *p, const char *s)
{
	return strv_push(&p->keep, s) < 0 ? NULL : p->keep[strv_len(p->keep) - 1];
}

/* ---- binds ----------------------------------------------------------- */

static int refuse_source(const char *src, const char *option, int error, struct sj_err *err)
{
	err_set(err, error, SJ_EXIT_USAGE, "E_MOUNT_SOURCE", "%s: cannot use \"%s\"", option, src);
	err_why(err, "%s", strerror(error));
	if (error == ENOENT)
		err_fix(err, "correct the path or create it; nothing is created for you");
	return -error;
}

int prep_bind(struct prep *p, const char *src, const char *dst, bool writable, const char *option, struct sj_err *err)
{
	_cleanup_free_ char *real = realpath(src, NULL);
	const char *s, *d;

	if (!real)
		return refuse_source(src, option, errno, err);
	if (p->n_binds == ARRAY_LEN(p->binds)) {
		err_set(err, E2BIG, SJ_EXIT_USAGE, "E_MOUNT_COUNT", "%s: too many folders for one jail", option);
		err_why(err, "at most %d can be mounted", JAIL_MOUNTS_MAX);
		return -E2BIG;
	}
	s = prep_keep(p, real);
	d = dst ? prep_keep(p, dst) : s;
	if (!s || !d)
		return err_oom(err);
	p->binds[p->n_binds++] = (struct jail_bind){ .src = s, .dst = d, .writable = writable };
	return 0;
}

static int need_folder(const char *path, const char *option, struct sj_err *err)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return refuse_source(path, option, errno, err);
	return S_ISDIR(st.st_mode) ? 0 : refuse_source(path, option, ENOTDIR, err);
}

static int bind_mounts(struct prep *p, const struct policy_files *f, struct sj_err *err)
{
	for (size_t i = 0; i < f->n_mounts; i++) {
		const struct policy_mount *m = &f->mounts[i];
		int r = prep_bind(p, m->src, m->dst, m->writable, m->writable ? "files.write (--rw)" : "files.read (--ro)", err);

		if (r < 0)
			return r;
	}
	return 0;
}

static int bind_packages(struct prep *p, char *const *packages, struct sj_err *err)
{
	char dst[64] = SESSION_PACKAGES;
	int r;

	for (size_t i = 0; packages && packages[i]; i++) {
		if (i > 0)
			snprintf(dst, sizeof(dst), "%s-%zu", SESSION_PACKAGES, i + 1);
		r = need_folder(packages[i], "python.packages (--packages)", err);
		if (r == 0)
			r = prep_bind(p, packages[i], p->home ? NULL : dst, false, "python.packages (--packages)", err);
		if (r < 0)
			return r;
		if (strv_push(&p->paths, p->binds[p->n_binds - 1].dst) < 0)
			return err_oom(err);
	}
	return 0;
}

/* Bound last of all, so that script_prepare() finds the resolved folder in the last bind. */
static int bind_project(struct prep *p, const char *dir, struct sj_err *err)
{
	int r = need_folder(dir, "--dir", err);

	return r < 0 ? r : prep_bind(p, dir, p->home ? NULL : SESSION_PROJECT, false, "--dir", err);
}

/* First on the search path, whatever is bound before it. */
static int name_project(struct prep *p, const char *dir, struct sj_err *err)
{
	_cleanup_free_ char *real = p->home ? realpath(dir, NULL) : strdup(SESSION_PROJECT);

	if (!real)
		return p->home ? refuse_source(dir, "--dir", errno, err) : err_oom(err);
	return strv_push(&p->paths, real) < 0 ? err_oom(err) : 0;
}

/* ---- environment ------------------------------------------------------ */

/* "NAME=value", replacing an earlier one of that name. */
int prep_env_put(struct prep *p, const char *assign)
{
	size_t n = strcspn(assign, "=") + 1;
	char *copy;

	for (size_t i = 0; p->env && p->env[i]; i++) {
		if (strncmp(p->env[i], assign, n) != 0)
			continue;
		copy = strdup(assign);
		if (!copy)
			return -ENOMEM;
		free(p->env[i]);
		p->env[i] = copy;
		return 0;
	}
	return strv_push(&p->env, assign);
}

static int env_pass(struct prep *p, const char *name)
{
	const char *value = getenv(name);
	_cleanup_free_ char *assign = value ? str_printf("%s=%s", name, value) : NULL;

	if (!value)
		return 0;
	return assign ? prep_env_put(p, assign) : -ENOMEM;
}

unsigned int prep_online_cpus(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) < 0 || CPU_COUNT(&set) < 1)
		return 1;
	return (unsigned int)CPU_COUNT(&set);
}

unsigned int prep_threads(const struct policy_limits *l, unsigned int online)
{
	unsigned int n = l->cpu_milli ? (l->cpu_milli + 999) / 1000 : online;

	if (n > online)
		n = online;
	/* A quarter of the processes: the rest is for the program's own. */
	if (l->pids && n > l->pids / 4)
		n = l->pids / 4;
	return n ? n : 1;
}

static int env_build(struct prep *p, const struct policy *policy)
{
	unsigned int threads = prep_threads(&policy->limits, prep_online_cpus());
	char assign[64];
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(base_env); i++)
		r = prep_env_put(p, base_env[i]);
	for (char **e = environ; r == 0 && teeth_out("environment") && *e; e++)
		r = prep_env_put(p, *e);
	/* The guest, too, is asked to do without these two. */
	if (r == 0 && (teeth_out("descriptors") || teeth_out("no_new_privs")))
		r = env_pass(p, "SMOLJAIL_TEETH_OUT");
	if (r == 0 && p->home)
		r = light_env(p);
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(thread_env); i++) {
		snprintf(assign, sizeof(assign), "%s=%u", thread_env[i], threads);
		r = prep_env_put(p, assign);
	}
	for (char **e = policy->env_pass; r == 0 && e && *e; e++)
		r = env_pass(p, *e);
	for (char **e = policy->env_set; r == 0 && e && *e; e++)
		r = prep_env_put(p, *e);
	return r;
}

/* ---- arguments -------------------------------------------------------- */

static const char *argv0(const struct prep *p, enum wire_mode mode)
{
	switch (mode) {
	case WIRE_MODE_FILE: return p->target;
	case WIRE_MODE_CODE: return "-c";
	case WIRE_MODE_MODULE: return "-m";
	case WIRE_MODE_STDIN: return "-";
	case WIRE_MODE_SESSION: return "";
	case WIRE_MODE_EXEC: break;
	}
	return NULL;
}

static int args_build(struct prep *p, const struct session_run *run)
{
	const char *first = argv0(p, run->mode);
	int r = first ? strv_push(&p->args, first) : 0;

	for (size_t i = 0; r == 0 && run->args && run->args[i]; i++)
		r = strv_push(&p->args, run->args[i]);
	return r;
}

static int refuse_proxy(struct sj_err *err)
{
	err_set(err, ENOTSUP, SJ_EXIT_USAGE, "E_NET_PROXY", "network.mode \"proxy\" cannot be used with run");
	err_why(err, "no egress proxy is part of this program, and a network without one would not be filtered");
	err_fix(err, "use --net none, loopback or host");
	return -ENOTSUP;
}

int prep_build(struct prep *p, const struct session_run *run, struct sj_err *err)
{
	const struct policy *policy = run->policy;
	int r;

	if (policy->net == POLICY_NET_PROXY)
		return refuse_proxy(err);
	r = root_find(policy->files.root, &p->root, err);
	if (r == 0)
		r = bind_mounts(p, &policy->files, err);
	if (r == 0)
		r = prep_refuse_exposed(p, policy, err);
	if (r == 0 && policy->isolation == POLICY_ISOLATION_LANDLOCK)
		r = light_choose_home(p, err);
	if (r == 0 && run->dir)
		r = name_project(p, run->dir, err);
	if (r == 0)
		r = bind_packages(p, policy->python.packages, err);
	if (r == 0 && run->dir)
		r = bind_project(p, run->dir, err);
	if (r == 0 && run->mode == WIRE_MODE_FILE)
		r = script_prepare(p, run, err);
	if (r == 0 && p->home)
		r = light_check_paths(p, err);
	if (r < 0)
		return r;
	return env_build(p, policy) < 0 || args_build(p, run) < 0 ? err_oom(err) : 0;
}

void prep_clear(struct prep *p)
{
	root_clear(&p->root);
	free(p->script_name);
	free(p->script_data);
	free(p->target);
	free(p->home);
	base_strv_freep(&p->env);
	base_strv_freep(&p->args);
	base_strv_freep(&p->paths);
	base_strv_freep(&p->keep);
	*p = (struct prep){ 0 };
}
