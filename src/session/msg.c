/*
 * msg.c - the tables of messages, and the check of a frame against them
 *
 * Runs as: the supervisor
 * Trusts: nothing; frames come from clients and guests
 * Never: lets a message pass that its table does not hold, or one field of another type
 */
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "session/msg.h"

#define NEW MSG_WHILE_NEW
#define ANY_TIME (MSG_WHILE_NEW | MSG_WHILE_GREETED)
#define GREETED MSG_WHILE_GREETED
#define MUST(type) (MSG_REQUIRED | (type))
#define SESSION { "session", MUST(MSG_STRING) }

/* clang-format off */
static const struct msg_rule client_rules[] = {
	{ "hello", CLIENT_HELLO, ANY_TIME, { { "protocol", MUST(MSG_INT) }, { "client", MSG_STRING } } },
	{ "open", CLIENT_OPEN, GREETED, {
		{ "session", MSG_STRING }, { "policy", MSG_STRING | MSG_OBJECT }, { "limits", MSG_OBJECT },
		{ "env", MSG_OBJECT }, { "imports", MSG_LIST }, { "guard", MSG_STRING }, { "backend", MSG_STRING },
		{ "packages", MSG_LIST }, { "template", MSG_STRING }, { "checkpoint", MSG_STRING } } },
	{ "run", CLIENT_RUN, GREETED, { SESSION, { "code", MUST(MSG_STRING) }, { "timeout", MSG_NUMBER },
		{ "filename", MSG_STRING }, { "value", MSG_STRING } } },
	{ "tools", CLIENT_TOOLS, GREETED, { SESSION, { "tools", MUST(MSG_LIST) } } },
	{ "tool_result", CLIENT_TOOL_RESULT, GREETED, { SESSION, { "call", MUST(MSG_INT) }, { "value", MSG_ANY },
		{ "error", MSG_OBJECT } } },
	{ "set", CLIENT_SET, GREETED, { SESSION, { "variables", MUST(MSG_OBJECT) } } },
	{ "get", CLIENT_GET, GREETED, { SESSION, { "names", MUST(MSG_LIST) } } },
	{ "put", CLIENT_PUT, GREETED, { SESSION, { "path", MUST(MSG_STRING) }, { "data", MUST(MSG_STRING) },
		{ "offset", MSG_INT }, { "last", MSG_BOOL } } },
	{ "fetch", CLIENT_FETCH, GREETED, { SESSION, { "path", MUST(MSG_STRING) }, { "offset", MSG_INT },
		{ "length", MSG_INT } } },
	{ "list", CLIENT_LIST, GREETED, { SESSION, { "path", MSG_STRING } } },
	{ "interrupt", CLIENT_INTERRUPT, GREETED, { SESSION } },
	{ "close", CLIENT_CLOSE, GREETED, { SESSION } },
	{ "stats", CLIENT_STATS, GREETED, { { NULL, 0 } } },
	{ "ping", CLIENT_PING, GREETED, { { NULL, 0 } } },
	{ "shutdown", CLIENT_SHUTDOWN, GREETED, { { NULL, 0 } } },
	{ "install", CLIENT_UNSUPPORTED, GREETED, { SESSION, { "packages", MSG_LIST } } },
	{ "checkpoint", CLIENT_UNSUPPORTED, GREETED, { SESSION, { "label", MSG_STRING } } },
	{ "restore", CLIENT_UNSUPPORTED, GREETED, { SESSION, { "checkpoint", MSG_STRING } } },
	{ "fork", CLIENT_UNSUPPORTED, GREETED, { SESSION, { "count", MSG_INT } } },
};

static const struct msg_rule guest_rules[] = {
	{ "hello", GUEST_HELLO, MSG_WHILE_OPENING, { { "python", MUST(MSG_STRING) } } },
	{ "tool_call", GUEST_TOOL_CALL, MSG_WHILE_RUNNING, { { "call", MUST(MSG_INT) }, { "tool", MUST(MSG_STRING) },
		{ "args", MUST(MSG_LIST) }, { "kwargs", MUST(MSG_OBJECT) } } },
	{ "display", GUEST_DISPLAY, MSG_WHILE_RUNNING, { { "data", MUST(MSG_OBJECT) } } },
	{ "done", GUEST_DONE, MSG_WHILE_RUNNING, { { "status", MUST(MSG_STRING) }, { "value", MSG_ANY },
		{ "repr", MSG_STRING | MSG_NULL }, { "value_truncated", MSG_BOOL }, { "is_final_answer", MSG_BOOL },
		{ "error", MSG_OBJECT | MSG_NULL }, { "exit_code", MSG_INT | MSG_NULL }, { "files", MSG_OBJECT | MSG_NULL },
		{ "refused", MSG_LIST } } },
	{ "answer", GUEST_ANSWER, MSG_WHILE_ASKED, { { "ok", MSG_BOOL }, { "error", MSG_OBJECT }, { "variables", MSG_OBJECT },
		{ "missing", MSG_LIST }, { "path", MSG_STRING }, { "offset", MSG_INT }, { "data", MSG_STRING },
		{ "size", MSG_INT }, { "last", MSG_BOOL }, { "files", MSG_LIST }, { "truncated", MSG_BOOL } } },
};
/* clang-format on */

/* ---- refusing ---------------------------------------------------------------- */

_printf_(3, 4)
static int refuse(struct msg_fault *fault, const char *code, const char *fmt, ...)
{
	va_list ap;

	fault->code = code;
	va_start(ap, fmt);
	vsnprintf(fault->message, sizeof(fault->message), fmt, ap);
	va_end(ap);
	return -EBADMSG;
}

/* At most 40 bytes of a name that somebody chose, for a message. */
static const char *quoted(const struct wire_span *s, char buf[44])
{
	size_t n = s->len < 40 ? s->len : 40;

	for (size_t i = 0; i < n; i++)
		buf[i] = s->text[i] >= 0x20 && s->text[i] < 0x7f ? s->text[i] : '?';
	buf[n] = '\0';
	return buf;
}

/* ---- types -------------------------------------------------------------------- */

static bool is_integer(const struct wire_span *s)
{
	size_t i = s->text[0] == '-';

	for (; i < s->len; i++)
		if (s->text[i] < '0' || s->text[i] > '9')
			return false;
	return true;
}

static unsigned int type_of(const json_t *v, const struct wire_span *raw)
{
	switch (json_typeof(v)) {
	case JSON_STRING: return MSG_STRING;
	case JSON_INTEGER:
	case JSON_REAL: return is_integer(raw) ? MSG_INT : MSG_REAL;
	case JSON_TRUE:
	case JSON_FALSE: return MSG_BOOL;
	case JSON_ARRAY: return MSG_LIST;
	case JSON_OBJECT: return MSG_OBJECT;
	case JSON_NULL: break;
	}
	return MSG_NULL;
}

static bool fits_int(const json_t *v)
{
	double d = json_number_value(v);

	return d >= -(double)MSG_INT_MAX && d <= (double)MSG_INT_MAX;
}

/* An id is echoed as it was written, so it need not be understood beyond its kind and size. */
static int check_id(struct msg *m, struct msg_fault *fault)
{
	const json_t *v = json_object_get(m->json, "id");
	const struct wire_span *raw = wire_member(&m->raw, "id");
	unsigned int type = v && raw ? type_of(v, raw) : 0;

	if (!type)
		return refuse(fault, "bad_message", "\"id\" is missing");
	if (type == MSG_INT ? !fits_int(v) || json_number_value(v) < 0
			    : type != MSG_STRING || json_string_length(v) > MSG_ID_TEXT_MAX)
		return refuse(fault, "bad_message", "\"id\" is neither an integer from 0 to 2^53-1 nor a string of at most %d bytes",
			      MSG_ID_TEXT_MAX);
	if (raw->len >= sizeof(m->id))
		return refuse(fault, "bad_message", "\"id\" is too long");
	memcpy(m->id, raw->text, raw->len);
	m->id[raw->len] = '\0';
	memcpy(fault->id, m->id, sizeof(m->id));
	return 0;
}

/* ---- fields -------------------------------------------------------------------- */

static const struct msg_rule *find_rule(enum msg_side side, const char *type)
{
	const struct msg_rule *rules = side == MSG_FROM_CLIENT ? client_rules : guest_rules;
	size_t n = side == MSG_FROM_CLIENT ? ARRAY_LEN(client_rules) : ARRAY_LEN(guest_rules);

	for (size_t i = 0; i < n; i++)
		if (strcmp(rules[i].type, type) == 0)
			return &rules[i];
	return NULL;
}

static const struct msg_field *find_field(const struct msg_rule *rule, const struct wire_span *key)
{
	for (const struct msg_field *f = rule->fields; f->name; f++)
		if (strlen(f->name) == key->len && memcmp(f->name, key->text, key->len) == 0)
			return f;
	return NULL;
}

bool msg_is_key(const struct wire_span *key, const char *name)
{
	return key->len == strlen(name) && memcmp(key->text, name, key->len) == 0;
}

static int check_fields(const struct msg *m, bool has_id, struct msg_fault *fault)
{
	char word[44];

	for (size_t i = 0; i < m->raw.n; i++) {
		const struct wire_member *member = &m->raw.list[i];
		const struct msg_field *f = find_field(m->rule, &member->key);
		const json_t *v;

		if (msg_is_key(&member->key, "type") || (has_id && msg_is_key(&member->key, "id")))
			continue;
		if (!f)
			return refuse(fault, "bad_message", "\"%s\" has no field \"%s\"", m->rule->type, quoted(&member->key, word));
		v = json_object_get(m->json, f->name);
		if (!v || !(f->types & type_of(v, &member->value)))
			return refuse(fault, "bad_message", "%s: \"%s\" has the wrong type", m->rule->type, f->name);
		if ((f->types & MSG_ANY) == MSG_INT && !fits_int(v))
			return refuse(fault, "bad_message", "%s: \"%s\" is out of range", m->rule->type, f->name);
	}
	for (const struct msg_field *f = m->rule->fields; f->name; f++)
		if ((f->types & MSG_REQUIRED) && !wire_member(&m->raw, f->name))
			return refuse(fault, "bad_message", "%s: \"%s\" is missing", m->rule->type, f->name);
	return 0;
}

static int decode(const char *json, size_t len, struct msg *m, struct msg_fault *fault)
{
	int r = wire_json_look(json, len, &m->raw);
	json_error_t bad;

	if (r == -E2BIG)
		return refuse(fault, "bad_frame", "more than %u levels, or more than %u values", WIRE_DEPTH_MAX, WIRE_VALUES_MAX);
	if (r < 0)
		return refuse(fault, "bad_frame", "not one JSON object, or an escape in the name of a field");
	/* Strings may hold NULs as Python's do; names may not, jansson sees to that. */
	errno = 0;
	m->json = json_loadb(json, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, &bad);
	if (m->json)
		return 0;
	if (json_error_code(&bad) == json_error_out_of_memory || errno == ENOMEM) /* base/json.c says why */
		return -ENOMEM;
	return refuse(fault, "bad_frame", "at byte %d: %.120s", bad.position, bad.text);
}

static int understand(enum msg_side side, struct msg *m, struct msg_fault *fault)
{
	const json_t *type = json_object_get(m->json, "type");
	const char *word = json_string_value(type);
	char buf[44];
	int r = 0;

	if (side == MSG_FROM_CLIENT)
		r = check_id(m, fault);
	if (r < 0)
		return r;
	if (!word)
		return refuse(fault, "bad_message", "\"type\" is missing or no string");
	m->rule = strlen(word) == json_string_length(type) ? find_rule(side, word) : NULL;
	if (!m->rule)
		return refuse(fault, "bad_message", "unknown type \"%s\"",
			      quoted(&(struct wire_span){ word, json_string_length(type) }, buf));
	return check_fields(m, side == MSG_FROM_CLIENT, fault);
}

int msg_parse(enum msg_side side, const char *json, size_t len, struct msg *ret, struct msg_fault *fault)
{
	struct msg m = { .id = "null" };
	int r;

	*fault = (struct msg_fault){ .code = "bad_frame", .id = "null" };
	r = decode(json, len, &m, fault);
	if (r == 0)
		r = understand(side, &m, fault);
	if (r < 0)
		msg_clear(&m);
	else
		*ret = m;
	return r;
}

void msg_clear(struct msg *m)
{
	json_decref(m->json);
	m->json = NULL;
}

/* ---- reading -------------------------------------------------------------------- */

json_t *msg_json(const struct msg *m, const char *name)
{
	json_t *v = json_object_get(m->json, name);

	return json_is_null(v) ? NULL : v;
}

const char *msg_string(const struct msg *m, const char *name, size_t *ret_len)
{
	const json_t *v = json_object_get(m->json, name);

	if (ret_len)
		*ret_len = json_string_length(v);
	return json_string_value(v);
}

bool msg_number(const struct msg *m, const char *name, double *ret)
{
	const json_t *v = json_object_get(m->json, name);

	if (!json_is_number(v))
		return false;
	*ret = json_number_value(v);
	return true;
}

bool msg_int(const struct msg *m, const char *name, int64_t *ret)
{
	double d;

	if (!msg_number(m, name, &d))
		return false;
	*ret = (int64_t)d;
	return true;
}

bool msg_true(const struct msg *m, const char *name)
{
	return json_is_true(json_object_get(m->json, name));
}

const struct wire_span *msg_raw(const struct msg *m, const char *name)
{
	return wire_member(&m->raw, name);
}
