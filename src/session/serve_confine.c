/*
 * serve_confine.c - the server's own filter: what neither it nor a launch needs, it gives up
 *
 * Runs as: the server, after set-up, before the first byte of a client is read
 * Trusts: the policy's group "@never"
 * Never: changes how a jail's own filter answers
 */
/*
 * A filter is inherited, so every jail runs under this one too, and a launch
 * happens under it. Hence the list: all that no policy can allow ("@never"), less
 * the calls that build a jail. A server that was taken over through a fault in its
 * parsers still can start programs, as it must; it can no longer trace other
 * processes, load code into the kernel, use io_uring, kernel keys or file handles.
 *
 * The answer is SECCOMP_RET_TRACE, which without a tracer is ENOSYS: among the
 * answers of several filters it is the weakest but for "allow", so that a jail's own refusals
 * come out, and are reported, as if this filter were not there. No argument is
 * looked at: the kernel then keeps its list of allowed calls, and nothing gets slower.
 */
#include <linux/seccomp.h>
#include <string.h>

#include "session/serve_internal.h"

#define CALLS_MAX 200
#define INSN(code_, jt_, jf_, k_) ((struct sock_filter){ .code = (code_), .jt = (jt_), .jf = (jf_), .k = (k_) })

/* What jail/ does between clone and exec, and filter/ and guest/ after it. */
static bool launch_needs(const char *name)
{
	static const char *const names[] = {
		"clone3", "unshare", "mount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree",
		"open_tree_attr", "mount_setattr", "fsopen", "fsconfig", "fsmount", "fspick", "sethostname", "setns",
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static bool is_refused(const struct policy_rule *rule)
{
	return rule->action != POLICY_ALLOW && rule->n_args == 0 && rule->origin && strcmp(rule->origin, "@never") == 0 &&
	       !launch_needs(rule->name);
}

static unsigned short build(const struct policy_syscalls *calls, struct sock_filter *insns)
{
	unsigned short n = confine_head(insns);

	for (size_t i = 0; i < calls->n_rules && n < 2 * CALLS_MAX; i++) {
		int nr = is_refused(&calls->rules[i]) ? filter_call_number(calls->rules[i].name) : -1;

		if (nr < 0)
			continue;
		insns[n++] = INSN(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (uint32_t)nr);
		insns[n++] = INSN(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_TRACE);
	}
	insns[n++] = INSN(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
	return n;
}

int serve_confine(const struct server *sv, struct sj_err *err)
{
	struct sock_filter insns[2 * CALLS_MAX + 8];

	return confine_load(insns, build(&sv->policy->syscalls, insns), "the server's own filter", err);
}
