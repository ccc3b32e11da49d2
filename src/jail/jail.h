/*
 * jail.h - one isolated process tree, from clone3 to the last rmdir
 *
 * Mechanism only: what to isolate comes ready in a struct jail_spec. Life cycle:
 *
 *	jail_start()	parent prepares, clone3, id maps, cgroup; the child builds
 *			its world and stops before it starts the guest
 *	jail_go()	starts the guest, now or as soon as the world is built; never waits
 *	jail_event()	when status_fd is readable: progress, exit, failure
 *	jail_signal(), jail_kill()
 *	jail_finish()	reap, read the counters, remove the cgroup
 *
 * The caller's thread must be the one that called jail_start() for as long as
 * the jail lives (the kernel ties the parent-death signal to the thread).
 */
#ifndef SMOLJAIL_JAIL_H
#define SMOLJAIL_JAIL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/base.h"

#define JAIL_UID 1000			/* inside, always */
#define JAIL_GID 1000
#define JAIL_ROOT_UID_BASE 0x70000000u	/* outside ids of jails that root starts: never a real user's */
#define JAIL_ROOT_UID_COUNT 0x10000u
#define JAIL_MOUNTS_MAX 80
#define JAIL_HOME_WORK "/work"		/* below jail_spec.home: what stands for JAIL_WORK, /tmp and python3 there */
#define JAIL_HOME_TMP "/tmp"
#define JAIL_HOME_PYTHON "/bin/python3"
#define JAIL_WORK "/work"		/* the private writable folder: working directory and HOME */

enum jail_net { JAIL_NET_NONE, JAIL_NET_LOOPBACK, JAIL_NET_HOST };
enum jail_isolation { JAIL_FULL, JAIL_LANDLOCK };	/* with namespaces; without (light*.c) */
enum jail_landlock { JAIL_LANDLOCK_AUTO, JAIL_LANDLOCK_REQUIRE, JAIL_LANDLOCK_OFF };

struct jail_tmpfs {
	uint64_t size, inodes;
};

struct jail_bind {
	const char *src;	/* host path, absolute and free of symlinks */
	const char *dst;	/* absolute path inside */
	bool writable;
};

/* A file written into the work folder before the guest starts. */
struct jail_file {
	const char *name;	/* one path component */
	const void *data;
	size_t len;
};

struct jail_limits {
	uint64_t memory, swap;	/* bytes; memory 0 = none */
	uint32_t cpu_milli;	/* 0 = none */
	uint32_t pids;		/* 0 = none */
	uint64_t cpu_ms;	/* backstop as RLIMIT_CPU a process, 0 = none */
	uint32_t open_files;
	uint64_t file_size;
	bool require_cgroup;	/* fail closed when memory, pids or cpu has no cgroup */
};

struct jail_spec {
	const char *root;		/* host path of the root folder */
	const char *hostname;
	enum jail_net net;
	enum jail_isolation isolation;
	enum jail_landlock landlock;
	struct jail_tmpfs tmp, work, shm;
	bool exec_from_writable;
	const struct jail_bind *binds;
	size_t n_binds;
	const struct jail_file *files;
	size_t n_files;
	struct jail_limits limits;
	const char *path;		/* the guest: a path inside the root */
	char *const *argv;		/* argv[0] may differ from path */
	char *const *envp;
	/*
	 * JAIL_LANDLOCK only: a path that does not exist yet. jail_start() makes the folder with
	 * work, tmp and bin in it; it is removed at the end. argv[0] and path are the root's, as ever.
	 */
	const char *home;
	char *const *folders;		/* what bin/python3 tells child interpreters to search; NULL-terminated, or NULL */
	int stdio[3];			/* become 0, 1, 2; pipes are given to the jail's user */
	const int *extra;		/* become 3, 4, ... */
	size_t n_extra;
};

/* How each limit is held, in words of the report: "cgroup2", "cgroup1", "rlimit", "polling", "none". */
struct jail_enforced {
	const char *memory, *pids, *cpu, *cpu_time;
};

struct jail_usage {
	uint64_t cpu_us, user_us, sys_us;
	uint64_t memory_peak;	/* bytes, 0 = unknown */
	uint32_t pids_peak;	/* 0 = unknown */
	uint64_t oom_kills;	/* processes the kernel ended for this jail's limit */
	uint64_t memory_hits;	/* times the memory limit was reached */
	uint64_t pids_hits;	/* forks refused by the pids limit */
};

enum jail_event_kind {
	JAIL_EVENT_NONE,	/* a message that concerns only jail/ was handled */
	JAIL_EVENT_STARTED,	/* the world is built and verified: nothing of it remains to be done from outside */
	JAIL_EVENT_FAILED,	/* a set-up phase failed; err is filled, nothing ran */
	JAIL_EVENT_EXITED,	/* the main program ended: wait_status is valid */
	JAIL_EVENT_GONE,	/* end of the channel: init is dead */
};

struct jail;

/* Errors: exit 125 with the cause and the fix; nothing has run and nothing is left. */
int jail_start(const struct jail_spec *spec, struct jail **ret, struct sj_err *err);
int jail_go(struct jail *j, struct sj_err *err);
int jail_status_fd(const struct jail *j);
int jail_event(struct jail *j, enum jail_event_kind *ret, int *ret_wait_status, struct sj_err *err);
void jail_signal(struct jail *j, int sig);	/* to the main program, through init */
bool jail_signal_pending(const struct jail *j);	/* one is still on its way; jail_event() tells when it is not */
void jail_kill(struct jail *j);			/* everything in the jail, now */
int jail_death_fd(const struct jail *j);	/* readable when every process is dead: jail_finish() will not wait */
/* Live counters for deadlines; a limit held by "polling" is checked here. Returns 0 or -errno. */
int jail_sample(struct jail *j, struct jail_usage *ret);
/* The same for cpu_us and memory_peak alone, at a fraction of the cost; -ENOTSUP where no control group has both. */
int jail_glance(struct jail *j, struct jail_usage *ret);
/* How the main program stands with the CPU. */
struct jail_progress {
	bool ready;		/* it has a CPU, or waits for one */
	uint64_t cpu_us;	/* that it has had so far, in ticks of the clock (mostly 10 ms); reaped children included */
};
/* 0 or -errno: -ENOENT where /proc has no lists of children, -ESRCH when the program is gone. */
int jail_progress(const struct jail *j, struct jail_progress *ret);
/* Bytes used of the private folders; full: a folder has no space or no inode left (JAIL_LANDLOCK: or is past its size). */
void jail_disk(struct jail *j, uint64_t *ret_used, bool *ret_full);
enum jail_full { JAIL_FULL_NOT, JAIL_FULL_SPACE, JAIL_FULL_INODES };
/* Of the private folder at this place inside; JAIL_LANDLOCK: not known, so not. */
enum jail_full jail_folder_full(const struct jail *j, const char *folder);
const struct jail_enforced *jail_enforced(const struct jail *j);
/* JAIL_LANDLOCK: whether this kernel can; else exit 125 with the reason. Starts nothing. */
int jail_light_possible(struct sj_err *err);
/* "userns", "mntns", ... NULL-terminated. */
const char *const *jail_isolation(const struct jail *j);
/* Kill what is left, reap, read the last counters, remove the cgroup. Frees j; returns NULL. */
struct jail *jail_finish(struct jail *j, struct jail_usage *ret);

/* The printed table of phases (smoljail doctor --phases): index 0.. until NULL. */
struct jail_phase_text {
	const char *name, *runs_as, *takes_away;
};
const struct jail_phase_text *jail_phase_text(size_t i, struct jail_phase_text *ret);

/* ---- what this host offers (probe.c) -------------------------------- */

enum probe_state { PROBE_OK, PROBE_WARN, PROBE_FAIL };

struct probe_fact {
	const char *id;		/* stable: "userns.create" */
	enum probe_state state;
	char value[160];	/* "yes", "cgroup1: memory cpu pids" */
	char why[512];		/* empty when ok */
	char fix[512];
};

typedef void probe_fn(void *arg, const struct probe_fact *fact);
/* Tries each thing in a child with a deadline of one second, explains by sysctls. Returns the worst state. */
enum probe_state jail_probe(probe_fn *fn, void *arg);

#endif
