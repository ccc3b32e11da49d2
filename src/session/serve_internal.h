/*
 * serve_internal.h - what the files of the server share
 *
 * serve.c has the loop, serve_wait.c its waiting, serve_socket.c the door, client.c a client's streams, client_msg.c
 * what clients ask, client_open.c one of these in full; live_start.c and live.c are a session's life,
 * live_guest.c what its guest says, live_step.c the step that runs in it, live_time.c its
 * deadlines; out.c writes frames.
 */
#ifndef SMOLJAIL_SESSION_SERVE_INTERNAL_H
#define SMOLJAIL_SESSION_SERVE_INTERNAL_H

#include <sys/epoll.h>

#include "session/internal.h"
#include "session/msg.h"

#define SERVE_EVENTS 64			/* taken from the kernel in one turn */
#define SERVE_CHUNK (64u << 10)		/* of one read */
#define SERVE_READS 4			/* of one descriptor in one turn */
#define SERVE_GUEST_FRAME_MAX (WIRE_FRAME_MAX - (64u << 10)) /* what it holds goes to the client with more around it */
#define SERVE_MIME_MAX 128
#define SERVE_LAST_READS 300		/* of a channel whose guest has ended: one frame and a bit */
#define SERVE_FRAMES 64			/* of one client in one turn */
#define SERVE_CLIENTS_MAX 256u
#define SERVE_BACKLOG 64
#define SERVE_QUEUE_FULL (32u << 20)	/* waiting for a client: its guests and its own requests are read no more */
#define SERVE_QUEUE_MAX (160u << 20)	/* what that may still grow by is bounded; above it the client is dropped */
#define SERVE_GUEST_QUEUE_FULL (32u << 20)
#define SERVE_GUEST_QUEUE_MAX (80u << 20)
#define SERVE_CALLS_MAX 1024u		/* open tool calls of one session */
#define SERVE_NAME_MAX 64
#define SERVE_DRAIN_READS 32		/* a pipe holds no more than 1 MiB unless root says so */
#define SERVE_IDLE_LOOK_MS 1000		/* memory held by polling, between steps */
#define SERVE_PAUSE_LOOK_MS 200		/* CPU used while a step waits for its client */
#define SERVE_USAGE_POLL_US 20000u	/* shorter steps are not worth a walk through /proc */
#define SERVE_HANGUP_MS 500		/* from the end of a guest's channel to its own */
#define SERVE_KILL_AGAIN_MS 1000		/* a jail that was killed and is still there */
#define SERVE_REQUEST_MS 60000		/* for requests other than run, where limits.wall is none */
#define SERVE_MEMORY_NEAR (2u << 20)	/* below the limit: the kernel counts in batches */
#define SERVE_STUCK_MS 10000		/* a client that asks nothing more and does not take what it asked for */
#define SERVE_END_MS 5000		/* for all jails to be gone at the end */
#define NEVER UINT64_MAX

struct server;
struct client;
struct live;

/* ---- descriptors in the epoll (serve.c) ------------------------------- */

enum source_kind {
	SOURCE_SIGNALS, SOURCE_DOOR,
	SOURCE_CLIENT_IN, SOURCE_CLIENT_OUT,
	SOURCE_SYNC,		/* a guest's ready message */
	SOURCE_CHANNEL,		/* a guest's frames */
	SOURCE_OUT, SOURCE_ERR,	/* what a guest's processes write */
	SOURCE_DENIED,
	SOURCE_JAIL,		/* messages of a jail's init */
	SOURCE_DEATH,		/* a killed jail has no process any more */
};

struct source {
	enum source_kind kind;
	int fd;			/* -1: closed */
	uint32_t events;	/* asked for */
	bool own;		/* ours to close */
	bool plain;		/* a file, which is always ready and cannot be polled */
	bool muted;		/* out of the epoll until something is wanted of it */
	void *owner;		/* struct server, client or live */
};
#define SOURCE_NONE ((struct source){ .fd = -1 })

int source_open(struct server *sv, struct source *src, enum source_kind kind, int fd, bool own, void *owner,
		uint32_t events);
void source_want(struct server *sv, struct source *src, uint32_t events);
/* Not even its end is told any more, until something is wanted of it. */
void source_mute(struct server *sv, struct source *src);
void source_close(struct server *sv, struct source *src);

/* ---- bytes that wait (serve.c) ------------------------------------------ */

/* Bytes before off are gone already. */
struct queue {
	struct buf b;
	size_t off;
};
static inline size_t queue_len(const struct queue *q)
{
	return q->b.len - q->off;
}
void queue_taken(struct queue *q, size_t n);
void queue_clear(struct queue *q);

/* ---- frames to write (out.c) --------------------------------------------- */

struct out {
	struct buf *b;
	size_t start;
	bool failed, first;
};

/* Bytes of a character that is not complete yet. */
struct utf8_rest {
	unsigned char bytes[4];
	unsigned int n;
};

/* {"type":type,"id":id ...; id is JSON as written, NULL leaves it out. */
void out_begin(struct out *o, struct buf *b, const char *type, const char *id);
void out_text(struct out *o, const char *key, const char *text);	/* NULL is null; bad bytes become U+FFFD */
void out_bytes(struct out *o, const char *key, const char *text, size_t len, struct utf8_rest *rest, uint64_t *replaced);
void out_raw(struct out *o, const char *key, const struct wire_span *json);	/* NULL is null */
void out_json(struct out *o, const char *key, const struct json_t *json);	/* NULL makes the frame fail */
void out_int(struct out *o, const char *key, uint64_t n);
void out_ms(struct out *o, const char *key, uint64_t us);
void out_bool(struct out *o, const char *key, bool yes);
void out_null(struct out *o, const char *key);
void out_open(struct out *o, const char *key, char bracket);	/* '{' or '[' */
void out_close(struct out *o, char bracket);
int out_end(struct out *o);	/* -ENOBUFS or -ENOMEM: nothing was added to the buffer */

/* ---- a client (client.c, client_msg.c, client_open.c) -------------------- */

struct client {
	struct client *next;
	struct server *server;
	struct source in, out;		/* a socket is only `in` */
	struct relay_end in_end, out_end;
	struct buf inbox;
	struct queue outbox;
	bool greeted;
	bool at_end;			/* its end was read, perhaps not all before it was served */
	bool ended;			/* nothing more comes from it */
	bool hung_up;			/* nobody is left who could ask */
	bool more;			/* frames wait for the next turn */
	bool held_back;			/* its queue is full: neither it nor its guests are read */
	unsigned int opens;		/* in this turn */
	uint64_t moved_at;		/* when it last took something, or asked its last */
	bool dropped;			/* to be freed at the end of this turn */
	bool last_words;		/* what is queued is sent, then it is dropped */
	unsigned int lives;
};

int client_new(struct server *sv, int in, int out, bool own, struct client **ret, struct sj_err *err);
void client_readable(struct client *c);
void client_hung_up(struct client *c);
void client_go_on(struct client *c);
void client_flush(struct client *c);
bool client_full(const struct client *c);
/* When one that is ending is given up, NEVER for any other. */
uint64_t client_deadline(const struct client *c);
/* Its sessions end; it is freed at the end of the turn. */
void client_drop(struct client *c);
void client_free(struct client *c);
void client_sent(struct client *c, struct out *o);	/* end a frame to it */

void client_message(struct client *c, const char *json, size_t len);
void client_open(struct client *c, const struct msg *m);

/* err may be NULL; session NULL leaves it out. */
void client_error(struct client *c, const char *id, const char *session, const char *code, const char *message,
		  const char *hint);
void client_refuse(struct client *c, const char *id, const char *session, const char *code, const struct sj_err *err);
void client_ok(struct client *c, const char *id);

/* ---- a session (live.c, live_guest.c, live_step.c, live_time.c) ----------- */

enum phase {
	PHASE_STARTING,	/* a jail is there, its guest has not said hello */
	PHASE_RETOOLING, /* a fresh interpreter gets the tools again */
	PHASE_READY,
	PHASE_DYING,	/* killed; not all of it is gone yet */
	PHASE_DOWN,	/* no jail; the next request starts one */
	PHASE_DEAD,	/* to be freed at the end of this turn */
};

/* What happens when the jail is gone. */
enum after { AFTER_RESTART, AFTER_DOWN, AFTER_END };

enum asked { ASKED_NOTHING, ASKED_RUN, ASKED_TOOLS, ASKED_SET, ASKED_GET, ASKED_PUT, ASKED_FETCH, ASKED_LIST };

/* A tool call that waits for the client. */
struct call {
	uint64_t number;		/* ours, the client's word for it; 0: closed */
	int64_t guest;			/* the guest's */
};

/* The step that runs, or ran last. */
struct step {
	uint64_t sent_at;		/* also of any other request */
	uint64_t wall_us;		/* its limit, UINT64_MAX none */
	uint64_t used_us;		/* of that, before resumed_at */
	uint64_t resumed_at;		/* 0: it waits for its client */
	uint64_t pause_cpu;		/* CPU time when the pause was last looked at; UINT64_MAX: not looked at yet */
	enum stop stop;
	struct grace grace;		/* once it was stopped */
	uint64_t budget;		/* output bytes still allowed */
	uint64_t out_bytes, err_bytes, replaced;
	bool truncated;
	struct utf8_rest out_rest, err_rest;
	struct jail_usage before;
	uint64_t denied_before[SESSION_DENIED_MAX], total_before;
};

struct live {
	struct server *server;
	struct client *client;		/* NULL: it went away */
	size_t slot;
	char name[SERVE_NAME_MAX + 1];
	const struct policy *policy;	/* the server's, or: */
	struct policy *own_policy;
	struct prep prep;
	struct handover handover;
	struct jail *jail;
	struct source sync, channel, out, err, denied_source, status, death;
	struct denied denied;
	struct session_report *rep;
	char *settings, *tools;		/* JSON text of the `limits` message's members; of the list of tools */
	size_t frame_max, guest_frame_max;	/* to the guest, and from it */

	enum phase phase;
	enum after after;
	bool opened;			/* the client was told */
	bool ready;			/* the filter is loaded */
	bool exited, gone, hung_up;
	bool fresh;			/* it was killed before it was ready */
	bool closing;			/* close_id waits for the report */
	bool violated;
	int wait_status;
	char open_id[MSG_ID_MAX], close_id[MSG_ID_MAX];
	char why[160];			/* of a violation */

	enum asked asked;
	bool sent;			/* the guest has it */
	char id[MSG_ID_MAX];		/* of what is asked */
	struct buf request;		/* while it is not sent */
	char *new_tools;		/* of a tools request */
	uint64_t timeout_us;		/* of a run request, 0: the policy's */

	struct step step;
	struct call *calls;
	size_t n_calls, calls_size, open_calls;
	uint64_t next_call;

	struct buf inbox;		/* of the channel */
	uint64_t heard;			/* bytes that came over it */
	struct queue outbox;
	unsigned int n_cpus;
	uint64_t started_at, opened_at, used_at;
	uint64_t kill_at;		/* 0: not due */
	uint64_t again_at;		/* of a second SIGINT before that; 0: not due */
	uint64_t sample_at;		/* NEVER: not due */
	uint64_t disk_at;		/* the next look at the private folders (isolation landlock) */
	uint64_t steps;
	struct jail_usage seen;		/* when the last step ended */
	struct jail_usage before;	/* of jails that are gone */
};

/* A new session: takes over policy (NULL: the server's) and settings (JSON members) in every case. */
int live_new(struct client *c, const char *name, struct policy *policy, char *settings, const char *id, struct sj_err *err);
/* A fresh jail. */
int live_start(struct live *l, struct sj_err *err);
struct live *live_find(const struct client *c, const char *name);
/* What the client asked is queued for the guest; the request frame is in l->request. */
void live_submit(struct live *l, enum asked asked, const char *id);
void live_close(struct live *l, const char *id);
void live_abandon(struct live *l);	/* its client is gone */
void live_kill(struct live *l, enum after after);
void live_kill_again(struct live *l);	/* while it is dying */
void live_violation(struct live *l, const char *fmt, ...) _printf_(2, 3);
void live_idle(struct live *l);		/* ready for the next request */
void live_flush(struct live *l);	/* to the guest */
void live_send(struct live *l, struct out *o);
void live_jail_event(struct live *l);
void live_dead(struct live *l);
void live_free(struct live *l);
void live_want(struct live *l);		/* which of its descriptors are read now */
void live_close_sources(struct live *l);

void live_sync(struct live *l);
void live_setup_failed(struct live *l, const struct sj_err *err);	/* the jail cannot be had; nothing ran in it */
void live_go_on(struct live *l);	/* its client is no longer held back: frames that had come before */
void live_channel(struct live *l, uint32_t events);
void live_denied(struct live *l, uint32_t events);
void live_tool_result(struct live *l, const struct msg *m);
bool live_guarded(struct live *l, const struct msg *m);	/* false: no guard refuses such things (live_guard.c) */

void step_begin(struct live *l);
void step_output(struct live *l, bool err);	/* a pipe is readable */
void step_drain(struct live *l);
void step_pause(struct live *l);
void step_resume(struct live *l);
void step_stop(struct live *l, enum stop why);	/* politely */
/* m: what the guest said at the end; NULL: it died. */
void step_end(struct live *l, const struct msg *m, const struct jail_usage *usage, bool disk_full);

void live_plan(struct live *l);			/* set the time of its next wake-up */
void live_tick(struct live *l);			/* that time has come */
bool live_polls_memory(const struct live *l);
void live_plan_sample(struct live *l, const struct jail_usage *u);

/* ---- the server (serve.c, serve_socket.c) ---------------------------------- */

struct slot {
	struct live *live;		/* NULL: free */
	uint64_t wake;
	uint32_t hash;			/* of the name */
};

struct server {
	struct serve_options opt;
	struct policy *policy;
	int epoll;
	struct source signals, door;
	char *socket_path;
	uint64_t socket_dev, socket_ino;
	struct client *clients;
	unsigned int n_clients;
	struct slot *slots;		/* max_sessions of them */
	size_t n_slots, n_lives;	/* used so far; in use */
	size_t n_dead;			/* of these in PHASE_DEAD */
	char *chunk;			/* SERVE_CHUNK bytes each: what clients, guests and pipes are read into */
	char *guest_chunk, *pipe_chunk;
	uint64_t now, started_at, ended_at;
	struct wire_wait waits[2];	/* for an answer of a client; of a guest */
	bool wrote_to_guest;		/* was the last one that was written to */
	uint64_t steps;
	uint64_t names;			/* numbers given to nameless sessions */
	unsigned int plain;		/* sources that cannot be polled and are wanted */
	struct session_report *verdict;	/* room for one; only what verdict() sets is used */
	char python[16];
	bool more;			/* of some client frames wait for the next turn */
	bool ending;
	sigset_t old_mask;
	bool mask_set;
};

#define SERVE_PACKAGES_MAX 32
/* --packages as settings of a policy; returns how many. */
size_t server_package_sets(const struct server *sv, struct policy_set sets[SERVE_PACKAGES_MAX]);
/* epoll_wait() that spares short waits the sleep; sets sv->now (serve_wait.c). */
int server_wait(struct server *sv, struct epoll_event events[SERVE_EVENTS], int timeout_ms);
/* --isolation as one more; false: it was not given. */
bool server_isolation_set(const struct server *sv, struct policy_set *ret);
/* For good, this process and its children (serve_confine.c). */
int serve_confine(const struct server *sv, struct sj_err *err);
void server_end(struct server *sv);	/* close every session and stop */
int door_open(struct server *sv, struct sj_err *err);
void door_knock(struct server *sv);
void door_close(struct server *sv);

#endif
