/*
 * live.c - one system call made in a real jail, and what came of it
 *
 * Runs as: the caller, outside the jail
 * Trusts: the report of the supervisor; of what the jail prints only whether the call was reached and its errno
 * Never: makes the call outside of a jail
 *
 * The call is made from Python, which runs under every policy. That a call was
 * refused is known from the supervisor, which saw the refusal; a call that was
 * reached and not refused was allowed, whatever the kernel answered to it.
 */
#include <inttypes.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "session/session.h"
#include "workbench/internal.h"

#define LIVE_WALL "10s"		/* a call may wait for ever */
#define LIVE_OUTPUT "4K"	/* and print what it likes */
#define SAID_MAX 8192u

static const char program[] =
	"import ctypes, os\n"
	"call = ctypes.CDLL(None, use_errno=True).syscall\n"
	"call.restype = ctypes.c_long\n"
	"os.write(1, b'reached\\n')\n"
	"result = call(ctypes.c_long(%d), %s)\n"
	"os.write(1, b'errno %%d\\n' %% (ctypes.get_errno() if result == -1 else 0))\n";

int live_load(const char *policy, struct policy **ret, struct sj_err *err)
{
	static const struct policy_set sets[] = {
		{ .path = "limits.wall", .value = LIVE_WALL }, { .path = "limits.output", .value = LIVE_OUTPUT },
	};

	return policy_load(policy, sets, ARRAY_LEN(sets), ret, err);
}

static char *program_for(const struct workbench_case *c)
{
	char args[6 * 48] = "";

	for (size_t i = 0, used = 0; i < 6; i++, used = strlen(args))
		snprintf(args + used, sizeof(args) - used, "%sctypes.c_ulong(%" PRIu64 ")", i ? ", " : "", c->args[i]);
	return str_printf(program, c->nr, args);
}

static const struct session_denial *denial_of(const struct session_report *r, const struct workbench_case *c)
{
	for (size_t i = 0; i < r->n_denied; i++) {
		bool same = r->denied[i].nr == c->nr;

		for (unsigned int k = 0; k < 6 && same; k++)
			same = filter_arg_bits(c->nr, k) == 32 ? (uint32_t)r->denied[i].args[k] == (uint32_t)c->args[k]
							       : r->denied[i].args[k] == c->args[k];
		if (same)
			return &r->denied[i];
	}
	return NULL;
}

static int judge(const struct session_report *r, const struct workbench_case *c, const char *said, struct filter_verdict *ret,
		 struct sj_err *err)
{
	const struct session_denial *d = denial_of(r, c);
	const char *number = strstr(said, "errno ");
	int error = number ? atoi(number + strlen("errno ")) : 0;

	*ret = (struct filter_verdict){ .action = POLICY_ALLOW };
	if (d)
		*ret = (struct filter_verdict){ .action = POLICY_DENY, .error = d->error, .rule = d->rule };
	else if (r->status == STATUS_VIOLATION)
		ret->action = POLICY_KILL;
	else if (error == ENOSYS || (error && !r->denied_counted))
		*ret = (struct filter_verdict){ .action = error == ENOSYS ? POLICY_ENOSYS : POLICY_DENY, .error = error };
	else if (!strstr(said, "reached"))
		goto lost;
	return 0;
lost:
	err_set(err, EIO, SJ_EXIT_SETUP, "E_CASE_LIVE", "line %d: the call was not reached in the jail", c->line);
	err_why(err, "%.400s", r->reason);
	err_fix(err, "see that `smoljail run --policy P -c 'import ctypes'` works, or leave --live out");
	return -EIO;
}

int live_ask(const struct policy *p, const struct workbench_case *c, struct filter_verdict *ret, struct sj_err *err)
{
	_cleanup_free_ struct session_report *report = calloc(1, sizeof(*report));
	_cleanup_free_ char *code = program_for(c), *said = NULL;
	_cleanup_close_ int out = memfd_create("smoljail-live", MFD_CLOEXEC);
	const struct session_run run = { .policy = p, .mode = WIRE_MODE_CODE, .code = code, .code_len = code ? strlen(code) : 0,
					 .stdio = { -1, out, -1 } };
	size_t len;
	int r;

	if (!report || !code || out < 0)
		return err_oom(err);
	r = session_run(&run, report, err);
	if (r < 0)
		return r;
	if (lseek(out, 0, SEEK_SET) < 0 || io_read_all(out, SAID_MAX, &said, &len) < 0)
		return err_oom(err);
	return judge(report, c, said, ret, err);
}
