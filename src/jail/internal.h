/*
 * internal.h - what the files of jail/ share
 */
#ifndef SMOLJAIL_JAIL_INTERNAL_H
#define SMOLJAIL_JAIL_INTERNAL_H

#include "jail/jail.h"

/* ---- control groups (cgroup.c, cgroup_v1.c, cgroup_v2.c, scope.c) ---- */

struct cgroup;

/*
 * Choose a hierarchy (ladder: own v2 subtree, a scope of the user's systemd, v1
 * directories, nothing), remove what dead supervisors left, make this run's
 * group and write its limits. Lack of permission is no error unless
 * limits->require_cgroup: then the limits are simply not held by a cgroup.
 */
int cgroup_open(const struct jail_limits *limits, struct cgroup **ret, struct sj_err *err);
/* Directory for CLONE_INTO_CGROUP (v2), or -1: then cgroup_attach() moves the child. */
int cgroup_clone_fd(const struct cgroup *cg);
/* Move a process in, and read back that it is there. No-op where the child was born inside. */
int cgroup_attach(struct cgroup *cg, pid_t pid, struct sj_err *err);
/* Which rung holds each limit: static strings, NULL where no cgroup does. */
void cgroup_enforced(const struct cgroup *cg, struct jail_enforced *ret);
/* cpu, memory peak, pids peak, oom and pids events; fields it cannot read stay as they are. */
void cgroup_sample(struct cgroup *cg, struct jail_usage *ret);
void cgroup_kill(struct cgroup *cg);	/* cgroup.kill where there is one, else nothing */
struct cgroup *cgroup_close(struct cgroup *cg);	/* rmdir with retries; accepts and returns NULL */

/* ---- where no cgroup holds memory or CPU time (poll.c) -------------- */

/* Sum over init's descendants as the host sees them. Memory: sum of RSS; when that is over `limit`, of PSS. */
int poll_sample(pid_t init, uint64_t limit, uint64_t *ret_memory, uint64_t *ret_cpu_us, uint32_t *ret_tasks);

/* ---- set-up failures in words (explain.c) --------------------------- */

/* One sentence with cause and fix for a phase that failed with an errno; exit 125. detail may be "". */
int explain_phase(const char *phase, int error, const char *detail, struct sj_err *err);

#endif
