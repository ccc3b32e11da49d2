/*
 * cgroup_internal.h - what the files of the control group part share
 *
 * cgroup.c chooses and owns, cgroup_find.c parses the kernel's tables (pure),
 * cgroup_dir.c handles files and directories, cgroup_v1.c and cgroup_v2.c know
 * the names of the files, scope.c asks systemd for a delegated group.
 */
#ifndef SMOLJAIL_JAIL_CGROUP_INTERNAL_H
#define SMOLJAIL_JAIL_CGROUP_INTERNAL_H

#include "base/base.h"
#include "jail/internal.h"

#define CGROUP_PATH_MAX 4096			/* path of a group, mount point included */
#define CGROUP_MOUNTINFO_MAX (4u << 20)		/* bytes of /proc/self/mountinfo */
#define CGROUP_SELF_MAX (64u << 10)		/* bytes of /proc/<pid>/cgroup */
#define CGROUP_NAME_MAX 64
#define CGROUP_VALUE_MAX 64			/* longest text of one limit */
#define CGROUP_FILE_MAX 4096			/* longest file of counters that is read */
#define CGROUP_NAMES_MAX 8			/* attempts to find a free name */
#define CGROUP_SWEEP_MAX 256			/* foreign directories looked at in one start, a hierarchy */
#define CGROUP_LOOKS_MAX 8			/* of these, live ones whose start time is looked at */
#define CGROUP_ENABLE_TRIES 3
#define CGROUP_LOCK_TRIES 50			/* a millisecond each */
#define CGROUP_JOIN_US 50000u			/* how long a child may take for its first act */
#define CGROUP_CLOSE_US 3000000u		/* how long rmdir may be refused after the last process died: a busy machine takes its time */
#define CGROUP_PERIOD_US 100000u		/* of the CPU quota */
#define CGROUP_QUOTA_MIN_US 1000u		/* the kernel refuses less; small shares take the long period */
#define CGROUP_LONG_PERIOD_US 1000000u

#define CGROUP_PREFIX "smoljail-"
#define CGROUP_ASIDE "supervisor"		/* v2: where the supervisor sits, beside its jails */
#define CGROUP_SYSTEMD "run/systemd/system"	/* exists where systemd is pid 1 */

enum cgroup_ctl { CGROUP_MEMORY, CGROUP_PIDS, CGROUP_CPU, CGROUP_CPUACCT, CGROUP_CTLS };
#define CGROUP_UNIFIED CGROUP_CTLS		/* the v2 hierarchy, after the v1 controllers */
#define CGROUP_TREES (CGROUP_CTLS + 1)
#define CGROUP_BIT(ctl) (1u << (ctl))
#define CGROUP_LIMITS (CGROUP_BIT(CGROUP_MEMORY) | CGROUP_BIT(CGROUP_PIDS) | CGROUP_BIT(CGROUP_CPU))

/* Where the host's files are; tests give folders of their own. */
struct cgroup_env {
	int root;	/* mount points are looked up from here */
	int proc;
	pid_t pid;	/* the supervisor, as its cgroup.procs shows it */
};

/* ---- the kernel's tables (cgroup_find.c; pure) ------------------------ */

/* Our own group in each hierarchy: a path of the host, "" where it cannot be seen. */
struct cgroup_map {
	char dir[CGROUP_TREES][CGROUP_PATH_MAX];
	size_t point[CGROUP_TREES];	/* length of the mount point within dir */
};

const char *cgroup_ctl_name(enum cgroup_ctl ctl);
/* From the text of /proc/self/mountinfo and /proc/self/cgroup. */
void cgroup_map_parse(const char *mountinfo, const char *self, struct cgroup_map *ret);
/* Does /proc/<pid>/cgroup say that the process is in a group of that name? tree: CGROUP_MEMORY .. CGROUP_UNIFIED. */
bool cgroup_self_in(const char *self, size_t tree, const char *name);
/* Controllers in a list as "cpuset cpu io memory": bits of enum cgroup_ctl. */
unsigned int cgroup_parse_list(const char *list);
/* The number behind "key " at the start of a line. */
bool cgroup_parse_key(const char *text, const char *key, uint64_t *ret);
/* "max" and "-1" are UINT64_MAX. */
bool cgroup_parse_u64(const char *text, uint64_t *ret);
/* A quota that the kernel accepts; thousandths of a CPU, not 0. */
void cgroup_quota(uint32_t cpu_milli, uint64_t *ret_quota_us, uint64_t *ret_period_us);
/* "smoljail-<pid>-<start>-<n>", nothing else. */
bool cgroup_parse_name(const char *name, pid_t *ret_pid, uint64_t *ret_start);

/* ---- one process as /proc shows it (poll.c; pure) ---------------------- */

/* Memory files of a jail, each counted once (poll_files.c). */
#define POLL_FDS_MAX 16384u
#define POLL_MEMFDS_MAX 1024u
struct poll_files {
	uint64_t bytes;
	ino_t seen[POLL_MEMFDS_MAX];
	size_t n, looked;
};
void poll_files_add(struct poll_files *f, int proc, pid_t pid);

struct poll_stat {
	pid_t pid, ppid;
	char state;		/* 'R': it has a CPU, or waits for one */
	uint32_t threads;
	uint64_t ticks;		/* own CPU time and that of reaped children */
	uint64_t start;		/* clock ticks after boot */
};
/* The text of /proc/<pid>/stat; the name in it is chosen by the process. */
bool poll_parse_stat(const char *text, struct poll_stat *ret);

/* ---- files and directories (cgroup_dir.c) ------------------------------ */

/* Of a process, "self" or a number, in that /proc. 0 or -errno. */
int cgroup_read_stat(int proc, const char *who, struct poll_stat *ret);
int cgroup_dir_open(const struct cgroup_env *env, const char *path, long magic);
/* The whole file without its last newline; -EFBIG when it is longer. */
int cgroup_get(int dir, const char *file, char *ret, size_t len);
bool cgroup_get_u64(int dir, const char *file, uint64_t *ret);
int cgroup_put(int dir, const char *file, const char *text);
/* Write and read back: -ENODATA when the kernel took another text, or a number outside value - slack .. value. */
int cgroup_set(int dir, const char *file, const char *text);
int cgroup_set_u64(int dir, const char *file, uint64_t value, uint64_t slack);
/* This supervisor's part of a directory name: "smoljail-<pid>-<start>-". */
int cgroup_name_prefix(const struct cgroup_env *env, char *ret, size_t len);
/* Remove what supervisors that are gone have left below parent. */
void cgroup_sweep(const struct cgroup_env *env, int parent);
/* rmdir of the directory behind fd, by its name in its parent; -EBUSY until deadline_us is retried. */
int cgroup_rmdir(int fd, const char *name, uint64_t deadline_us);

/* ---- one run's groups (cgroup.c) ---------------------------------------- */

struct cgroup_dir;

struct cgroup_ops {
	const char *word;	/* in the report */
	/* Write one limit that is not 0; ret_file: the file that failed. */
	int (*limit)(int dir, enum cgroup_ctl ctl, const struct jail_limits *limits, const char **ret_file);
	void (*sample)(struct cgroup *cg, const struct cgroup_dir *d, struct jail_usage *ret);
	/* CPU time and memory peak only; returns which of the two it knows, as bits of CPUACCT and MEMORY. */
	unsigned int (*glance)(struct cgroup *cg, const struct cgroup_dir *d, struct jail_usage *ret);
};
extern const struct cgroup_ops cgroup_v1_ops, cgroup_v2_ops;

struct cgroup_dir {
	const struct cgroup_ops *ops;
	int fd;			/* locked as long as the supervisor lives */
	int join;		/* v1: its tasks file, until the child is in */
	unsigned int ctls;	/* controllers it serves */
	unsigned int held;	/* limits that were written and read back */
};

/* Why a limit is not held: for the message, should the policy insist. */
struct cgroup_miss {
	const struct cgroup_ops *ops;	/* the rung */
	int error;
	const char *step;		/* NULL: no such controller */
	char path[512];
};

struct cgroup {
	struct cgroup_env env;
	struct jail_limits limits;
	char name[CGROUP_NAME_MAX];	/* the same in every hierarchy */
	size_t prefix;			/* length of its fixed part */
	bool named;
	bool joining;			/* the child moves itself */
	struct cgroup_dir dirs[CGROUP_CTLS];
	size_t n_dirs;
	struct cgroup_miss miss[CGROUP_CTLS];
	int base;			/* v2: parent of our group, locked shared; -1 */
	unsigned int enabled;		/* v2: controllers that we switched on there */
	bool aside;			/* v2: we moved ourselves out of base */
	bool no_bus;			/* v2: systemd is there, but the caller has no way to ask it */
	bool scoped;			/* v2: base is a scope that systemd removes */
	uint64_t memory_seen, pids_seen; /* own peaks for kernels that keep none */
};

/* As cgroup_open(), in a world of the caller's choosing. Takes over env's descriptors, also on failure. */
int cgroup_open_at(const struct cgroup_env *env, const struct jail_limits *limits, struct cgroup **ret,
		   struct sj_err *err);
/* mkdir, open, lock. Index of the new entry in dirs, or -errno with *ret_step. */
int cgroup_add_dir(struct cgroup *cg, int parent, const struct cgroup_ops *ops, const char **ret_step);
/* Write the limits of these controllers into it; what fails is noted under the path. */
void cgroup_limit_dir(struct cgroup *cg, struct cgroup_dir *d, unsigned int ctls, const char *path);
void cgroup_note_miss(struct cgroup *cg, const struct cgroup_ops *ops, unsigned int ctls, int error, const char *step,
		      const char *path);
unsigned int cgroup_served(const struct cgroup *cg);	/* controllers with a directory */
unsigned int cgroup_held(const struct cgroup *cg);
unsigned int cgroup_wanted(const struct jail_limits *limits);	/* limits that are not 0 */

void cgroup_v1_open(struct cgroup *cg, const struct cgroup_map *map);
void cgroup_v2_open(struct cgroup *cg, const struct cgroup_map *map);
/* Does the v2 hierarchy as a whole carry these controllers? */
bool cgroup_v2_carries(const struct cgroup *cg, const struct cgroup_map *map, unsigned int ctls);
/* Go back where we were before cgroup_v2_open(), unless another jail still needs it. */
void cgroup_v2_leave(struct cgroup *cg);

/* ---- systemd (scope.c) --------------------------------------------------- */

#define SCOPE_DEADLINE_US 5000000u	/* the first unit of a session that is still starting takes a while */
/* Be moved into a new scope "<name>.scope" with delegated controllers. ret_step: what failed. */
int scope_enter(const struct cgroup_env *env, const char *name, const char **ret_step);

#endif
