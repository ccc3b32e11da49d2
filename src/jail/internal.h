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
/* Directory for CLONE_INTO_CGROUP (v2), or -1: then the child joins by cgroup_join_fds(). */
int cgroup_clone_fd(const struct cgroup *cg);
/*
 * v1: descriptors to which the child writes "0" as its first act, which moves it
 * in. A thread that moves itself costs 20 microseconds a group; moved by somebody
 * else it waits for an RCU grace period, 5 to 20 ms on an idle machine. They
 * belong to cg and are close-on-exec. v2: none, the child is born inside.
 */
#define CGROUP_JOIN_MAX 4
size_t cgroup_join_fds(struct cgroup *cg, int ret_fds[CGROUP_JOIN_MAX]);
/*
 * Read back that a process is inside. Where it was to join by itself it is given a
 * moment to do so; one that is still not inside is moved (the slow way).
 */
int cgroup_attach(struct cgroup *cg, pid_t pid, struct sj_err *err);
/*
 * Which rung holds each limit: static strings, NULL where no cgroup does (or where there is no
 * limit). cpu_time: a group counts it for all processes together; the supervisor ends the jail.
 */
void cgroup_enforced(const struct cgroup *cg, struct jail_enforced *ret);
/* cpu, memory peak, pids peak, oom and pids events; fields it cannot read stay as they are. */
void cgroup_sample(struct cgroup *cg, struct jail_usage *ret);
bool cgroup_glance(struct cgroup *cg, struct jail_usage *ret);	/* false: CPU time or memory peak are not counted */
void cgroup_kill(struct cgroup *cg);	/* cgroup.kill where there is one, else nothing */
struct cgroup *cgroup_close(struct cgroup *cg);	/* rmdir with retries; accepts and returns NULL */

/* ---- where no cgroup holds memory or CPU time (poll.c) -------------- */

/*
 * Sum over init's descendants as the host sees them. Memory: what is resident,
 * memory files, and in_folders (bytes in the jail's tmpfs folders); when that is
 * over `limit`, shared pages are told apart first.
 */
int poll_sample(pid_t init, uint64_t limit, uint64_t in_folders, uint64_t *ret_memory, uint64_t *ret_cpu_us,
		uint32_t *ret_tasks);

/* ---- set-up failures in words (explain.c) --------------------------- */

/* One sentence with cause and fix for a phase that failed with an errno; exit 125. detail may be "". */
int explain_phase(const char *phase, int error, const char *detail, struct sj_err *err);

/* ---- the mount plan (plan.c: built in the parent; mount.c: applied by the child) ---- */

#define PLAN_OPS_MAX 256
#define PLAN_PATH_MAX 4096
#define PLAN_ROOT_SIZE (1u << 20)	/* the tmpfs that is "/": only mount points and links live there */
#define PLAN_ROOT_INODES 2048
#define PLAN_DEV_INODES 64

enum mount_kind {
	MOUNT_DIR,		/* an empty folder, parents included */
	MOUNT_SYMLINK,		/* dst -> src */
	MOUNT_TMPFS,
	MOUNT_BIND,		/* host src on dst, a folder or a file */
	MOUNT_DEVICE,		/* host device node src on dst, its number checked */
	MOUNT_FILE,		/* data written to dst */
};

struct mount_op {
	enum mount_kind kind;
	const char *dst;	/* absolute, inside; owned by the plan */
	const char *src;	/* host path or link target; owned by the plan, NULL where unused */
	uint64_t size, inodes;	/* MOUNT_TMPFS */
	mode_t mode;
	uint64_t attrs;		/* MOUNT_ATTR_* to set */
	unsigned int rdev;	/* MOUNT_DEVICE: makedev(major, minor) */
	const void *data;	/* MOUNT_FILE; borrowed from the spec */
	size_t len;
	bool is_dir;		/* MOUNT_BIND */
	bool user;		/* a path that the user named: may need an id-mapped mount */
	bool seal;		/* MOUNT_TMPFS: made read-only after the plan is applied */
	int tree;		/* detached mount of a source, once it is open, else -1 */
};

struct mount_plan {
	struct mount_op *ops;
	size_t n;
	char **strings;		/* owns every path above */
};

int plan_build(const struct jail_spec *spec, struct mount_plan *ret, struct sj_err *err);
void plan_clear(struct mount_plan *plan);
/* One line an operation, for people and tests; the caller frees. */
char *plan_print(const struct mount_plan *plan);

/* A step that failed: what the child reports. detail leads into static or plan memory. */
struct mount_fail {
	const char *detail;
};

/* Async-signal-safe, no allocation: 0 or -errno. */
int mount_open_source(struct mount_op *op, int idmap_userns);
int mount_root(const char *over);	/* the new root's descriptor, or -errno */
int mount_apply(struct mount_plan *plan, int root, struct mount_fail *fail);
int mount_proc(int root);
int mount_pivot(int root);
int mount_seal(const struct mount_plan *plan, struct mount_fail *fail);

/* ---- ids (ids.c) ----------------------------------------------------- */

struct ids {
	uid_t outer_uid;	/* what JAIL_UID is outside */
	gid_t outer_gid;
	bool mapped_away;	/* root's jail: outer ids are not the caller's own */
};
int ids_choose(struct ids *ret);
int ids_write_maps(pid_t pid, const struct ids *ids);
/* A user namespace that maps the caller's files to the jail's user, for id-mapped mounts: descriptor or -errno. */
int ids_mount_userns(const struct ids *ids);

/* ---- giving things up (privs.c, landlock.c, net.c) ------------------- */

struct privs_rlimit {
	int resource;
	uint64_t soft, hard;
};
#define PRIVS_RLIMITS_MAX 16
/* The table of limits for a spec; nproc and data only where no cgroup holds them. */
size_t privs_rlimits(const struct jail_limits *l, const struct jail_enforced *held,
		     struct privs_rlimit out[PRIVS_RLIMITS_MAX]);
int privs_apply_rlimits(const struct privs_rlimit *r, size_t n);	/* clamps to the caller's own hard limits */
int privs_drop_all(void);		/* capabilities, securebits, no_new_privs; verifies */
/* The same outside of a user namespace of its own: ids become uid and gid, the bounding set goes where it can. */
int privs_drop_outside(uid_t uid, gid_t gid, bool change);
int privs_normalise_signals(void);	/* default dispositions, empty mask */

int landlock_abi(void);			/* 0: the kernel has none */
/* Restrict the calling process to what the plan gave it. 0 or -errno. */
int landlock_restrict(const struct mount_plan *plan, int abi);

/* ---- without namespaces (light.c, light_plan.c, light_home.c) -------- */

/*
 * Linux 6.12: the first whose Landlock keeps signals inside. Before it the jail's processes
 * could end the caller's, and init could not be sure to end them all.
 */
#define LIGHT_ABI_MIN 6
#define LIGHT_PATHS_MAX 160

enum light_access { LIGHT_READ, LIGHT_EXEC, LIGHT_WRITE, LIGHT_WRITE_EXEC, LIGHT_DEVICE };

/* One path that the program may use; all others are closed. */
struct light_path {
	const char *path;		/* owned by the plan */
	enum light_access access;
	bool is_dir;
	unsigned int rdev;		/* LIGHT_DEVICE */
	bool user;			/* named by the user: must be readable to the jail's user */
	int fd;				/* child: opened as the jail's user */
};

struct light_plan {
	struct light_path paths[LIGHT_PATHS_MAX];
	size_t n;
	char **strings;			/* owns the paths */
	char **argv;			/* the loader with the guest behind it */
};
int light_plan_build(const struct jail_spec *spec, struct light_plan *ret, struct sj_err *err);
void light_plan_clear(struct light_plan *plan);
/* bin/python3: starts the root's interpreter by the root's loader. The caller frees; NULL when out of memory. */
char *light_wrapper(const struct jail_spec *spec, const struct light_plan *plan);

/* The private folders. */
struct light_home {
	int parent, top, work, tmp;	/* descriptors; -1: not made */
	const char *name;		/* of top in parent; leads into spec->home */
};
#define LIGHT_HOME_NONE ((struct light_home){ -1, -1, -1, -1, NULL })
int light_home_make(const struct jail_spec *spec, const char *wrapper, uid_t uid, gid_t gid, struct light_home *ret);
/* Async-signal-safe; follows no link, allocates nothing, and gives up after a fixed number of steps. */
void light_home_remove(const struct light_home *home);
void light_home_close(struct light_home *home);
/* Bytes and entries of both folders together, up to a fixed number of entries and a fixed depth: past these *ret_deep. */
void light_home_usage(const struct light_home *home, uint64_t *ret_bytes, uint64_t *ret_entries, bool *ret_deep);

int light_prepare(struct jail *j, struct sj_err *err);
void light_own_ids(struct ids *ids);	/* of a jail that root starts: no other jail of this process has them */
/* Tasks of this user on the whole host, which is what RLIMIT_NPROC counts. */
uint32_t light_count_tasks(uid_t uid);

int landlock_restrict_paths(const struct light_path *paths, size_t n, int abi);
/* Nothing but signals and abstract sockets: they stay among the caller and what it starts from now on. */
int landlock_restrict_scope(void);

int net_open_route(void);		/* child: a NETLINK_ROUTE socket of its namespace */
int net_loopback_up(int route_fd);	/* parent: brings lo up and reads it back; consumes the descriptor */

/* ---- the launch (launch.c, child.c, init.c) -------------------------- */

/* Parent to child, one byte each. */
enum sync_byte { SYNC_MAPS = 'M', SYNC_NET = 'N', SYNC_GO = 'G' };

/* Child to parent, one SEQPACKET message each. */
enum msg_kind { MSG_FAILED = 1, MSG_ROUTE, MSG_BUILT, MSG_EXITED, MSG_SIGNALLED };
struct jail_msg {
	uint32_t kind;
	int32_t phase;		/* index into the table of phases */
	int32_t error;		/* positive errno */
	int32_t value;		/* wait status */
	char detail[240];
};

#define LAUNCH_DISKS 3		/* tmp, work, shm: descriptors that the parent keeps for statfs */
extern const char *const launch_disks[LAUNCH_DISKS];

/* Everything the child needs, prepared before clone3 and only read after it, but for the marked fields. */
struct launch {
	const struct jail_spec *spec;
	struct mount_plan plan;	/* child sets op->tree */
	struct light_plan light;	/* JAIL_LANDLOCK, in place of plan; child sets fd */
	struct light_home home;
	struct ids ids;
	struct privs_rlimit rlimits[PRIVS_RLIMITS_MAX];
	size_t n_rlimits;
	int landlock;		/* ABI to use, 0 = none */
	int join[CGROUP_JOIN_MAX]; /* cgroup files that the child writes itself into */
	size_t n_join;
	int sock;		/* child's end of the control socket */
	int root;		/* child: descriptor of the new root */
	int phase;		/* child: index of the running phase */
	unsigned int seen;	/* child: sync bytes that came before they were asked for */
	const char *detail;	/* child: path concerned, or NULL */
	char *scrub;		/* the process's argument and environment area, to be wiped in init */
	size_t scrub_len;
};

#define JAIL_ISOLATION_MAX 12	/* words and the NULL after them */

struct jail {
	struct launch launch;
	struct jail_spec spec;
	struct cgroup *cgroup;
	struct jail_enforced enforced;
	struct jail_usage seen;		/* highest values sampled */
	const char *isolation[JAIL_ISOLATION_MAX];
	char landlock[24];
	int sock, pidfd;
	pid_t pid;
	unsigned int signals;		/* sent, and not yet confirmed by init */
	bool built;			/* the child's world stands; disks are valid */
	bool go;			/* the caller wants the guest */
	int disks[LAUNCH_DISKS];
};

/* prepare.c: fills launch, cgroup, enforced and isolation from spec */
int prepare_jail(struct jail *j, struct sj_err *err);

/* Who runs a phase; SUPERVISOR's are listed for people only. */
enum phase_by { BY_SUPERVISOR, BY_CHILD, BY_GUEST };

struct phase {
	const char *name;		/* NULL ends a table */
	enum phase_by by;
	int (*run)(struct launch *l);	/* 0 or -errno; may set l->detail */
	const char *runs_as, *takes_away;
};
extern const struct phase full_phases[], light_phases[];	/* child.c, light.c: in the order in which they run */

_noreturn_ void child_main(struct launch *l);
_noreturn_ void init_main(const struct launch *l, pid_t guest);
const char *child_phase_name(enum jail_isolation isolation, int phase);

/* For phases (child.c). */
int child_send(const struct launch *l, enum msg_kind kind, int error, const int *fds, size_t n_fds);
void child_wait_for(struct launch *l, enum sync_byte want);

/* Phases that both tables have. */
int child_descriptors(struct launch *l);
int child_rlimits(struct launch *l);
int child_guest(struct launch *l);

#endif
