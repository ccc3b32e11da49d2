/*
 * probe.c - everything this host offers or lacks, as facts with stable names
 *
 * Runs as: anyone, outside of jails
 * Trusts: the kernel's answers to operations that were tried
 * Never: concludes from a version or a switch that something works; leaves anything behind
 */
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "jail/internal.h"
#include "jail/probe.h"

void probe_say(struct probe_walk *w, const char *id, enum probe_state state, const char *why, const char *fix,
	       const char *value_fmt, ...)
{
	struct probe_fact f = { .id = id, .state = state };
	va_list ap;

	va_start(ap, value_fmt);
	vsnprintf(f.value, sizeof(f.value), value_fmt, ap);
	va_end(ap);
	snprintf(f.why, sizeof(f.why), "%s", why ? why : "");
	snprintf(f.fix, sizeof(f.fix), "%s", fix ? fix : "");
	if (state > w->worst)
		w->worst = state;
	w->fn(w->arg, &f);
}

void probe_say_failure(struct probe_walk *w, const char *id, enum probe_state state, const struct probe_result *r)
{
	const char *name = strerrorname_np(r->error);
	struct sj_err err = { 0 };

	if (r->timed_out) {
		probe_say(w, id, state, "no answer came in time",
			  "look at the host's load and at dmesg, then try again", "no answer");
		return;
	}
	if (r->died)
		(void)explain_phase("clone", ECHILD, "", &err);
	else
		(void)explain_phase(r->step, r->error, "", &err);
	if (r->died)
		probe_say(w, id, state, err.why, err.fix, "no: ended by signal %d (%s)", r->died, err.id);
	else if (r->text[0][0])
		probe_say(w, id, state, err.why, err.fix, "no: %s from %.40s (%s)", name ? name : "error", r->text[0], err.id);
	else
		probe_say(w, id, state, err.why, err.fix, "no: %s in step %s (%s)", name ? name : "error", r->step, err.id);
}

static void about_kernel(struct probe_walk *w)
{
	char release[96], machine[32] = "?";

	host_release(&host_real, release, sizeof(release));
#if defined(__x86_64__)
	snprintf(machine, sizeof(machine), "x86_64");
#elif defined(__aarch64__)
	snprintf(machine, sizeof(machine), "aarch64");
#endif
	probe_say(w, "kernel", PROBE_OK, NULL, NULL, "Linux %s, %s", release, machine);
}

/* Nothing here is good or bad by itself; it is what one asks first when something below is bad. */
static void about_caller(struct probe_walk *w)
{
	unsigned long long nnp = 0, seccomp = 0;
	char mark[96];
	const char *kind;

	host_status(&host_real, "NoNewPrivs", 10, &nnp);
	host_status(&host_real, "Seccomp", 10, &seccomp);
	kind = host_container(&host_real, mark, sizeof(mark));
	probe_say(w, "caller", PROBE_OK, NULL, NULL, "uid %u, NoNewPrivs %llu, Seccomp %llu%s%s%s%s%s", (unsigned int)geteuid(),
		  nnp, seccomp, host_in_userns(&host_real) ? ", in a user namespace" : "", kind ? ", marks of " : "",
		  kind ? kind : "", kind ? ": " : "", kind ? mark : "");
}

enum probe_state jail_probe(probe_fn *fn, void *arg)
{
	struct probe_walk w = { .fn = fn, .arg = arg, .worst = PROBE_OK };

	about_kernel(&w);
	about_caller(&w);
	probe_namespaces(&w);
	probe_limits(&w);
	probe_calls(&w);
	return w.worst;
}
