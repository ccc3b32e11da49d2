/*
 * msg.h - the messages of docs/protocol.md: who may say what, when, with which fields
 *
 * Pure. Two tables, one for clients and one for guests; nothing that they do
 * not list gets past msg_parse().
 */
#ifndef SMOLJAIL_SESSION_MSG_H
#define SMOLJAIL_SESSION_MSG_H

#include "base/base.h"
#include "wire/wire.h"

#define MSG_FIELDS_MAX 13
#define MSG_ID_TEXT_MAX 64		/* bytes of a string that is an id */
#define MSG_ID_MAX (6 * MSG_ID_TEXT_MAX + 3)	/* as it is written, escapes and quotes included, and a NUL */
#define MSG_INT_MAX ((INT64_C(1) << 53) - 1)

enum client_msg {
	CLIENT_HELLO, CLIENT_OPEN, CLIENT_RUN, CLIENT_TOOLS, CLIENT_TOOL_RESULT, CLIENT_SET, CLIENT_GET, CLIENT_PUT,
	CLIENT_FETCH, CLIENT_LIST, CLIENT_INTERRUPT, CLIENT_CLOSE, CLIENT_STATS, CLIENT_PING, CLIENT_SHUTDOWN,
	CLIENT_UNSUPPORTED,
};

enum guest_msg { GUEST_HELLO, GUEST_TOOL_CALL, GUEST_DISPLAY, GUEST_DONE, GUEST_ANSWER };

/* The permission bits of a message: the states in which it may come. */
enum msg_state {
	MSG_WHILE_NEW = 1,		/* client: no hello yet */
	MSG_WHILE_GREETED = 2,
	MSG_WHILE_OPENING = 4,		/* guest: no hello yet */
	MSG_WHILE_IDLE = 8,
	MSG_WHILE_RUNNING = 16,
	MSG_WHILE_ASKED = 32,		/* a request other than run is pending */
};

enum msg_type {
	MSG_STRING = 1, MSG_INT = 2, MSG_REAL = 4, MSG_BOOL = 8, MSG_LIST = 16, MSG_OBJECT = 32, MSG_NULL = 64,
	MSG_NUMBER = MSG_INT | MSG_REAL,
	MSG_ANY = 127,
	MSG_REQUIRED = 128,
};

struct msg_field {
	const char *name;
	unsigned int types;		/* bits of enum msg_type */
};

struct msg_rule {
	const char *type;
	unsigned int kind;		/* enum client_msg or guest_msg */
	unsigned int states;		/* bits of enum msg_state */
	struct msg_field fields[MSG_FIELDS_MAX];	/* beside type and id; ends with a NULL name */
};

enum msg_side { MSG_FROM_CLIENT, MSG_FROM_GUEST };

/* A frame that passed. Spans lead into the frame; strings into json. */
struct msg {
	const struct msg_rule *rule;
	struct wire_members raw;
	struct json_t *json;		/* numbers are all reals here: an integer of any size may pass through */
	char id[MSG_ID_MAX];		/* as written; "null" where there is none */
};

struct msg_fault {
	const char *code;		/* of docs/protocol.md */
	char message[200];
	char id[MSG_ID_MAX];		/* of the refused message as far as it could be read, else "null" */
};

/* 0, -EBADMSG (fault is filled) or -ENOMEM. The state is the caller's to check: rule->states. */
int msg_parse(enum msg_side side, const char *json, size_t len, struct msg *ret, struct msg_fault *fault);
void msg_clear(struct msg *m);
#define _cleanup_msg_ _cleanup_(msg_clear)

/* NULL or false: the field is not there (or null). Types were checked by msg_parse(). */
const char *msg_string(const struct msg *m, const char *name, size_t *ret_len);
bool msg_number(const struct msg *m, const char *name, double *ret);
bool msg_int(const struct msg *m, const char *name, int64_t *ret);
bool msg_true(const struct msg *m, const char *name);
struct json_t *msg_json(const struct msg *m, const char *name);
/* The bytes as they came; NULL when it is not there. */
bool msg_is_key(const struct wire_span *key, const char *name);
const struct wire_span *msg_raw(const struct msg *m, const char *name);

#endif
