/*
 * internal.h - what the files of selftest/ share
 */
#ifndef SMOLJAIL_SELFTEST_INTERNAL_H
#define SMOLJAIL_SELFTEST_INTERNAL_H

#include "base/base.h"
#include "selftest/selftest.h"

/* ---- the table of checks (checks.c) ----------------------------------- */

/* What a check needs of the jail. An isolation that does not provide it declares so, and the check is skipped. */
enum provides {
	P_FILTER = 1 << 0,	/* refused system calls */
	P_LANDLOCK = 1 << 1,	/* signals and abstract sockets stay inside, by Landlock */
	P_FILES = 1 << 2,	/* a root of its own: what is not granted does not exist */
	P_PIDS = 1 << 3,	/* a process tree of its own */
	P_NET = 1 << 4,		/* a network of its own */
	P_IPC = 1 << 5,
	P_NAMES = 1 << 6,	/* host name, users, control groups of its own */
	P_DISK = 1 << 7,	/* folders of limited size */
	P_SHIPPED = 1 << 8,	/* no layer: what a policy that is not shipped may grant for good reasons */
	P_ALWAYS = 0,
};

enum jail_kind {
	JAIL_MAIN,	/* most attacks, one after the other */
	JAIL_SMALL,	/* little disk, few files and descriptors */
	JAIL_PROCESSES,
	JAIL_MEMORY,
	JAIL_FLOOD,
	JAIL_WALL,
	JAIL_CPU,
	JAIL_STOPPED,
	JAIL_CRASH,
	JAIL_ORPHAN,
	JAIL_FOREIGN,
	JAIL_X32,
	JAIL_LDT,
	JAIL_WAIT,	/* waits to be looked at from outside, and dies with its supervisor */
	JAIL_SWEEP,	/* nothing is tried: a launch removes what killed supervisors have left of control groups */
	JAIL_KINDS,
	JAIL_CANARIES,	/* no jail: what the host looks like afterwards */
	JAIL_NOWHERE,	/* nothing is tried: want says why */
};

#define ALLOWED "+"	/* the policy grants it: nothing to refuse */

/*
 * Outcomes that pass, separated by "|". The isolation's column counts where it is set, else the policy's, else `want`.
 */
struct check {
	const char *id;
	enum jail_kind jail;
	unsigned int needs;	/* enum provides */
	const char *what;
	const char *want, *strict, *data, *shell, *open;
	const char *landlock;	/* under that isolation, whatever it lacks */
};

extern const struct check checks[];
extern const size_t n_checks;

/* What passes for this check. *ret_why is set instead when the check is to be skipped. */
const char *check_wanted(const struct check *c, const char *policy, const char *isolation, const char **ret_why);
bool check_passes(const char *want, const char *got);
bool check_chosen(const struct check *c, const char *only);
/* Bits of enum provides, 0 when the word is unknown. */
unsigned int isolation_provides(const char *word);

/* ---- canaries (canary.c, canary_ipc.c) ---------------------------------- */

#define CANARY_NAME 40
#define CANARY_PATH 256

/* What this command puts on the host. Shared with the keeper, which takes it away whatever becomes of us. */
struct canaries {
	char dir[CANARY_PATH], file[CANARY_PATH], socket[CANARY_PATH];
	char abstract[CANARY_NAME], queue[CANARY_NAME], shm[CANARY_NAME], secret[CANARY_NAME];
	int listener, abstract_fd, tcp, tcp6, lock, pty, tty;
	unsigned int port;
	pid_t pid;
	int32_t key, sysv_shm, sysv_msg, sysv_sem;
	int sysv_key;
	int queue_fd;
	uint64_t ctime_ns;
	char launcher[65];
	int keeper_fd;
	pid_t keeper;
};

int canary_make(struct canaries **ret, struct sj_err *err);
/* "untouched", what happened, or NULL with *ret_why: it could not be made here. */
const char *canary_state(struct canaries *c, const char *id, const char **ret_why);
struct canaries *canary_remove(struct canaries *c);
void canary_ipc_make(struct canaries *c);
void canary_ipc_remove(struct canaries *c);
const char *canary_ipc_state(const struct canaries *c);
int32_t canary_key_make(const char *secret);
const char *canary_key_state(const struct canaries *c);
void canary_key_remove(struct canaries *c);

/* ---- one jail (run.c) ------------------------------------------------------ */

#define OUTPUT_MAX (1u << 20)
#define TOKEN_LEN 24

/* What the launching child tells. */
struct ending {
	bool told, ran;
	char status[24], isolation[256], reason[200];
	struct sj_err err;
};

struct jail_run {
	enum jail_kind kind;
	const char *policy;
	char token[TOKEN_LEN];	/* in the jail's environment: whoever has it belongs to the jail */
	pid_t launcher;
	int out, result, in;
	struct ending end;
	char *text;		/* what the attacks said */
	size_t len;
};

int run_start(struct jail_run *r, const struct canaries *c, const char *isolation, struct sj_err *err);
/* Until the attacks have said `word`; false: they did not. */
bool run_wait_for(const struct jail_run *r, const char *word);
void run_collect(struct jail_run *r);
void run_clear(struct jail_run *r);
/* The outcome of one attack; *ret_detail may be "". False: it said nothing. */
bool run_answer(const struct jail_run *r, const char *id, char *ret, size_t size, char *ret_detail, size_t detail_size);

/* ---- looking from outside (outside.c) ---------------------------------------- */

#define OUTSIDE_MAX 160

struct outside {
	pid_t init, guest;
	char word[OUTSIDE_MAX];
};

bool outside_find(struct outside *o, pid_t launcher);
/* The answer to a check of JAIL_WAIT, "" when there is none. */
void outside_look(const struct outside *o, const char *id, char *ret, size_t size);
/* Processes whose environment holds the token, waiting up to `ms` for there to be none. */
unsigned int outside_left(const char *token, unsigned int ms);
/* Kills them: a jail that did not hold must not go on after the test. */
void outside_end(const char *token);

#endif
