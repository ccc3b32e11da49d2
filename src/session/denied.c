/*
 * denied.c - system calls that the filter refused, seen through the listener
 *
 * Runs as: the supervisor
 * Trusts: the number and the scalar arguments that the kernel copied; memory they point to only explains
 * Never: answers CONTINUE to a call that the policy refuses; to others only for a trace (filter/filter.h says why)
 */
#include <linux/seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "session/internal.h"

#define KNOWN 0x8000u		/* bit of a decisive[] entry that has been looked up */

/* Larger than today's structures: the kernel writes as much as it has. */
union notif {
	struct seccomp_notif n;
	char room[256];
};
union notif_resp {
	struct seccomp_notif_resp n;
	char room[256];
};

static bool sizes_fit(void)
{
	struct seccomp_notif_sizes sizes = { 0 };

	return syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) == 0 &&
	       sizes.seccomp_notif <= sizeof(union notif) && sizes.seccomp_notif_resp <= sizeof(union notif_resp);
}

/* Which arguments does any rule for this call look at? Only they tell two denials apart. */
static uint16_t decisive_args(struct denied *d, int nr)
{
	const struct policy_syscalls *sys = &d->policy->syscalls;
	char buf[40];
	const char *name;
	uint16_t mask = KNOWN;

	if (nr < 0 || (size_t)nr >= ARRAY_LEN(d->decisive))
		return 0;
	if (d->decisive[nr])
		return d->decisive[nr];
	name = filter_call_name(nr, buf, sizeof(buf));
	for (size_t i = 0; i < sys->n_rules; i++) {
		if (strcmp(sys->rules[i].name, name) != 0)
			continue;
		for (size_t a = 0; a < sys->rules[i].n_args; a++)
			mask |= (uint16_t)(1u << sys->rules[i].args[a].index);
	}
	d->decisive[nr] = mask;
	return mask;
}

static bool same_args(const uint64_t a[6], const uint64_t b[6], uint16_t mask)
{
	for (unsigned int i = 0; i < 6; i++)
		if ((mask & (1u << i)) && a[i] != b[i])
			return false;
	return true;
}

const char *session_denial_rule(const struct session_denial *d)
{
	if (d->rule_text[0])
		return d->rule_text;
	return d->rule && d->rule->origin ? d->rule->origin : "default";
}

const char *session_denial_layer(const struct session_denial *d)
{
	return d->layer ? d->layer : "filter";
}

/*
 * What the call was about, and where it was made. Read while the thread waits; if it does no longer, its
 * number may have been given to a stranger, and what was read is forgotten. No program can make this
 * read wait for itself: it would take userfaultfd, which no policy can allow.
 */
static void explain(const struct denied *den, const struct seccomp_notif *req, struct session_denial *d)
{
	pid_t tid = (pid_t)req->pid;
	uint64_t id = req->id;

	peek_describe(tid, d->nr, d->args, d->what, sizeof(d->what));
	(void)peek_where(&den->python, tid, &d->where);
	if (ioctl(den->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0)
		return;
	d->where = (struct session_where){ .line = 0 };
	filter_describe(d->nr, d->args, d->what, sizeof(d->what));
}

static void record(struct denied *den, const struct seccomp_notif *req, const struct policy_rule *rule, int error)
{
	struct session_report *rep = den->rep;
	uint64_t args[6];
	int nr = req->data.nr;
	uint16_t mask = decisive_args(den, nr);
	struct session_denial *d;
	size_t alike = 0;

	memcpy(args, req->data.args, sizeof(args));
	rep->denied_total++;
	for (size_t i = 0; i < rep->n_denied; i++) {
		d = &rep->denied[i];
		if (d->nr != nr || d->rule != rule)
			continue;
		if (same_args(d->args, args, mask)) {
			d->count++;
			return;
		}
		alike++;
	}
	/* One call with ever new arguments shall not crowd out the others. */
	if (rep->n_denied == SESSION_DENIED_MAX || alike >= SESSION_DENIED_PER_CALL)
		return;
	d = &rep->denied[rep->n_denied++];
	*d = (struct session_denial){ .nr = nr, .count = 1, .rule = rule, .error = error };
	memcpy(d->args, args, sizeof(d->args));
	explain(den, req, d);
	remedy_call(d);
	if (den->on_new)
		den->on_new(den->arg, d);
}

static void refuse(struct denied *d, const struct seccomp_notif *req, const struct filter_verdict *v,
		   struct seccomp_notif_resp *resp)
{
	/* The kernel's program refused it; were the two ever to differ, the refusal stands. */
	resp->error = -(v->error > 0 ? v->error : EPERM);
	/* As in a run without a trace: where the kernel's program answers ENOSYS, nothing is said. */
	if (v->action != POLICY_ENOSYS)
		record(d, req, v->rule, -resp->error);
}

static void decide(struct denied *d, const struct seccomp_notif *req, struct seccomp_notif_resp *resp)
{
	const struct trace_from from = {
		.policy = d->policy, .jail = d->jail, .python = &d->python, .listener = d->listener, .id = req->id,
		.tid = (pid_t)req->pid,
	};
	struct filter_verdict v = { 0 };
	uint64_t args[6];

	memcpy(args, req->data.args, sizeof(args));
	filter_decide(d->policy, req->data.nr, args, &v);
	if (d->trace)
		trace_call(d->trace, &from, req->data.nr, args, &v);
	if (d->trace && v.action == POLICY_ALLOW)
		resp->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	else
		refuse(d, req, &v, resp);
}

static short events_now(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) > 0 ? p.revents : 0;
}

/* False: nothing more to do now. The receive waits where nothing is there, hence the poll before each. */
static bool answer_one(struct denied *d)
{
	union notif req;
	union notif_resp resp;

	if (!(events_now(d->listener) & POLLIN))
		return false;
	memset(&req, 0, sizeof(req));
	memset(&resp, 0, sizeof(resp));
	if (ioctl(d->listener, SECCOMP_IOCTL_NOTIF_RECV, &req) < 0)
		return errno == ENOENT || errno == EINTR; /* its thread died meanwhile */
	resp.n.id = req.n.id;
	decide(d, &req.n, &resp.n);
	(void)ioctl(d->listener, SECCOMP_IOCTL_NOTIF_SEND, &resp); /* ENOENT: it died; nobody waits */
	return true;
}

bool denied_batch(struct denied *d, short revents)
{
	int n = 0;

	/* Nobody is left under the filter. */
	if (!(revents & POLLIN))
		return false;
	/* Without a listener the kernel answers ENOSYS: still a refusal. */
	if (!d->rep->denied_total && !sizes_fit()) {
		d->rep->denied_counted = false;
		return false;
	}
	while (n < SESSION_DENIED_BATCH && answer_one(d))
		n++;
	return true;
}
