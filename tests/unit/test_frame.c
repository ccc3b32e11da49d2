/*
 * test_frame.c - frames and messages of the session protocol: lengths, the first look, the tables, what is written
 *
 * Runs as: any user
 * Trusts: nothing
 * Never: starts a jail
 */
#include <jansson.h>

#include "session/serve_internal.h"
#include "tap.h"

/* ---- lengths ------------------------------------------------------------ */

static void test_lengths(void)
{
	static const struct {
		const char *name;
		unsigned char data[8];
		size_t len, max;
		int want;
		size_t want_len;
	} rows[] = {
		{ "nothing", "", 0, 100, 0, 0 },
		{ "half a head", { 0, 0, 0 }, 3, 100, 0, 0 },
		{ "a head", { 0, 0, 0, 2 }, 4, 100, 0, 2 },
		{ "half a frame", { 0, 0, 0, 2, '{' }, 5, 100, 0, 2 },
		{ "a frame", { 0, 0, 0, 2, '{', '}' }, 6, 100, 1, 2 },
		{ "more than a frame", { 0, 0, 0, 2, '{', '}', 0 }, 7, 100, 1, 2 },
		{ "no length", { 0, 0, 0, 0 }, 4, 100, -EMSGSIZE, 0 },
		{ "above the maximum", { 0, 0, 0, 101 }, 4, 100, -EMSGSIZE, 0 },
		{ "all bits", { 255, 255, 255, 255 }, 4, WIRE_FRAME_MAX, -EMSGSIZE, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t len = 0;

		is_int(rows[i].want, wire_frame_peek(rows[i].data, rows[i].len, rows[i].max, &len), "%s", rows[i].name);
		is_int(rows[i].want_len, len, "%s: length", rows[i].name);
	}
}

static void test_head(void)
{
	unsigned char head[WIRE_FRAME_HEAD];
	size_t len = 0;

	wire_frame_head(0x123456, head);
	ok(head[0] == 0 && head[1] == 0x12 && head[2] == 0x34 && head[3] == 0x56, "the highest byte comes first");
	is_int(0, wire_frame_peek(head, sizeof(head), WIRE_FRAME_MAX, &len), "a head is read");
	is_int(0x123456, len, "as it was written");
}

/* ---- the first look ------------------------------------------------------- */

static void test_look(void)
{
	static const struct {
		const char *json;
		int want;
		size_t members;
	} rows[] = {
		{ "{}", 0, 0 }, { " \n{ } ", 0, 0 }, { "{\"a\":1}", 0, 1 }, { "{\"a\":{\"b\":[1,2]},\"c\":\"}\\\"\"}", 0, 2 },
		{ "", -EBADMSG, 0 }, { "[]", -EBADMSG, 0 }, { "{", -EBADMSG, 0 }, { "}", -EBADMSG, 0 }, { "{\"a", -EBADMSG, 0 },
		{ "{\"a\\\"", -EBADMSG, 0 }, { "{\"\\u0061\":1}", -EBADMSG, 0 }, { "{:1}", -EBADMSG, 0 }, { "{}}", -EBADMSG, 0 },
		{ "{\"a\":\"\\", -EBADMSG, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct wire_members m;
		int r = wire_json_look(rows[i].json, strlen(rows[i].json), &m);

		is_int(rows[i].want, r, "%s", rows[i].json);
		if (r == 0)
			is_int(rows[i].members, m.n, "%s: members", rows[i].json);
	}
}

static bool span_is(const struct wire_span *s, const char *text)
{
	return s && s->len == strlen(text) && memcmp(s->text, text, s->len) == 0;
}

static void test_spans(void)
{
	static const char json[] = "{ \"a\" : [1, {\"b\":2}] , \"c\":\"x,y\" ,\"d\": -1.5e3 }";
	struct wire_members m;

	is_int(0, wire_json_look(json, sizeof(json) - 1, &m), "members of every kind");
	ok(span_is(wire_member(&m, "a"), "[1, {\"b\":2}]"), "a list");
	ok(span_is(wire_member(&m, "c"), "\"x,y\""), "a string with its quotes");
	ok(span_is(wire_member(&m, "d"), "-1.5e3"), "a number");
	ok(!wire_member(&m, "b"), "what lies deeper is no member");
}

static int look_at(const char *open, size_t times, const char *close, size_t closes)
{
	_cleanup_buf_ struct buf b = BUF_INIT(64u << 20);
	struct wire_members m;
	int r = buf_append(&b, "{\"x\":", 5);

	for (size_t i = 0; r == 0 && i < times; i++)
		r = buf_append(&b, open, strlen(open));
	for (size_t i = 0; r == 0 && i < closes; i++)
		r = buf_append(&b, close, strlen(close));
	if (r == 0)
		r = buf_append(&b, "}", 1);
	return r < 0 ? r : wire_json_look(b.data, b.len, &m);
}

static void test_bounds(void)
{
	is_int(0, look_at("[", WIRE_DEPTH_MAX - 1, "]", WIRE_DEPTH_MAX - 1), "as deep as may be");
	is_int(-E2BIG, look_at("[", WIRE_DEPTH_MAX, "]", WIRE_DEPTH_MAX), "too deep");
	is_int(-E2BIG, look_at("[", 1000000, "]", 0), "far too deep");
	is_int(0, look_at("0,", WIRE_VALUES_MAX - 1, "0", 1), "as many values as may be");
	is_int(-E2BIG, look_at("0,", WIRE_VALUES_MAX, "0", 1), "too many values");
	is_int(-E2BIG, look_at("0,\"k\":", WIRE_MEMBERS_MAX + 1, "0", 1), "too many members");
}

/* ---- the tables --------------------------------------------------------------- */

static const char *parse(enum msg_side side, const char *json, struct msg_fault *fault)
{
	_cleanup_msg_ struct msg m = { 0 };

	return msg_parse(side, json, strlen(json), &m, fault) == 0 ? m.rule->type : fault->code;
}

static void test_messages(void)
{
	static const struct {
		enum msg_side side;
		const char *json, *want;
	} rows[] = {
		{ MSG_FROM_CLIENT, "{\"type\":\"ping\",\"id\":1}", "ping" },
		{ MSG_FROM_CLIENT, "{\"id\":\"\\u00e9\",\"type\":\"ping\"}", "ping" },
		{ MSG_FROM_CLIENT, "{\"type\":\"run\",\"id\":0,\"session\":\"s\",\"code\":\"\\u0000\",\"timeout\":1}", "run" },
		{ MSG_FROM_CLIENT, "{\"type\":\"set\",\"id\":0,\"session\":\"s\",\"variables\":{\"n\":123456789012345678901234567890}}", "set" },
		{ MSG_FROM_CLIENT, "{\"type\":\"ping\"}", "bad_message" },
		{ MSG_FROM_CLIENT, "{\"type\":\"ping\",\"id\":-1}", "bad_message" },
		{ MSG_FROM_CLIENT, "{\"type\":\"ping\",\"id\":1.0}", "bad_message" },
		{ MSG_FROM_CLIENT, "{\"type\":\"ping\",\"id\":9007199254740992}", "bad_message" },
		{ MSG_FROM_CLIENT, "{\"type\":\"ping\",\"id\":1,\"x\":1}", "bad_message" },
		{ MSG_FROM_CLIENT, "{\"type\":\"pin\",\"id\":1}", "bad_message" },
		{ MSG_FROM_CLIENT, "{\"type\":\"ping\\u0000\",\"id\":1}", "bad_message" },
		{ MSG_FROM_CLIENT, "{\"type\":\"done\",\"id\":1,\"status\":\"ok\"}", "bad_message" },
		{ MSG_FROM_CLIENT, "{\"type\":\"run\",\"id\":1,\"session\":\"s\"}", "bad_message" },
		{ MSG_FROM_CLIENT, "{\"type\":\"run\",\"id\":1,\"session\":\"s\",\"code\":null}", "bad_message" },
		{ MSG_FROM_CLIENT, "{\"type\":\"ping\",\"id\":1,\"id\":1}", "bad_frame" },
		{ MSG_FROM_CLIENT, "{\"type\":\"ping\",\"id\":01}", "bad_frame" },
		{ MSG_FROM_CLIENT, "{\"type\":\"ping\",\"id\":1}x", "bad_frame" },
		{ MSG_FROM_CLIENT, "{\"type\":\"ping\",\"id\":\"\\ud800\"}", "bad_frame" },
		{ MSG_FROM_CLIENT, "{\"type\":\"ping\",\"id\":\"\xc0\x80\"}", "bad_frame" },
		{ MSG_FROM_GUEST, "{\"type\":\"done\",\"status\":\"ok\",\"value\":[1e3]}", "done" },
		{ MSG_FROM_GUEST, "{\"type\":\"done\",\"status\":\"ok\",\"id\":1}", "bad_message" },
		{ MSG_FROM_GUEST, "{\"type\":\"ping\"}", "bad_message" },
		{ MSG_FROM_GUEST, "{\"type\":\"tool_call\",\"call\":1.5,\"tool\":\"t\",\"args\":[],\"kwargs\":{}}", "bad_message" },
		{ MSG_FROM_GUEST, "{\"type\":\"tool_call\",\"call\":9007199254740993,\"tool\":\"t\",\"args\":[],\"kwargs\":{}}", "bad_message" },
	};
	struct msg_fault fault;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		is_str(rows[i].want, parse(rows[i].side, rows[i].json, &fault), "%s", rows[i].json);
	(void)parse(MSG_FROM_CLIENT, "{\"type\":\"nothing\",\"id\":\"a\\\"\"}", &fault);
	is_str("\"a\\\"\"", fault.id, "a refusal carries the id as it was written");
	(void)parse(MSG_FROM_CLIENT, "{", &fault);
	is_str("null", fault.id, "or null");
}

/* ---- what is written ------------------------------------------------------------ */

/* The value of "data" when `len` bytes at s are written in chunks of `chunk`. */
static char *written(const char *s, size_t len, size_t chunk, uint64_t *replaced)
{
	_cleanup_buf_ struct buf all = BUF_INIT(1 << 20);
	struct utf8_rest rest = { 0 };

	for (size_t at = 0; at < len; at += chunk) {
		_cleanup_buf_ struct buf b = BUF_INIT(1 << 20);
		_cleanup_json_ json_t *j = NULL;
		struct out o;

		out_begin(&o, &b, "output", NULL);
		out_bytes(&o, "data", s + at, len - at < chunk ? len - at : chunk, &rest, replaced);
		if (out_end(&o) < 0)
			return NULL;
		j = json_loadb(b.data + WIRE_FRAME_HEAD, b.len - WIRE_FRAME_HEAD, JSON_ALLOW_NUL, NULL);
		if (!j || buf_append(&all, json_string_value(json_object_get(j, "data")),
				     json_string_length(json_object_get(j, "data"))) < 0)
			return NULL;
	}
	if (rest.n && buf_append(&all, "?", 1) < 0)
		return NULL;
	return strdup(all.data ? all.data : "");
}

#define BAD "\xef\xbf\xbd"

static void test_text(void)
{
	static const struct {
		const char *in, *want;
		uint64_t replaced;
	} rows[] = {
		{ "plain \"\\\b\f\n\r\t\v\x01\x7f", "plain \"\\\b\f\n\r\t\v\x01\x7f", 0 },
		{ "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80.", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80.", 0 },
		{ "a\xff" "b", "a" BAD "b", 1 },
		{ "\xe2\x82" "A", BAD "A", 1 },
		{ "\xe2\x82\xe2\x82\xac", BAD "\xe2\x82\xac", 1 },
		{ "\xed\xa0\x80", BAD BAD BAD, 3 },
		{ "\xc0\x80", BAD BAD, 2 },
		{ "\xf4\x90\x80\x80", BAD BAD BAD BAD, 4 },
		{ "\xf0\x9f\x98" "x", BAD "x", 1 },
		{ "end \xf0\x9f", "end ?", 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		for (size_t chunk = 1; chunk < 12; chunk++) {
			uint64_t replaced = 0;
			_cleanup_free_ char *got = written(rows[i].in, strlen(rows[i].in), chunk, &replaced);

			is_str(rows[i].want, got, "text %zu in chunks of %zu", i, chunk);
			is_int(rows[i].replaced, replaced, "text %zu in chunks of %zu: replaced", i, chunk);
		}
}

static void test_full(void)
{
	_cleanup_buf_ struct buf b = BUF_INIT(100);
	struct out o;

	out_begin(&o, &b, "pong", "7");
	is_int(0, out_end(&o), "a frame");
	is_int(WIRE_FRAME_HEAD + 22, b.len, "of the right length");
	ok(memcmp(b.data + WIRE_FRAME_HEAD, "{\"type\":\"pong\",\"id\":7}", 22) == 0, "and text");
	out_begin(&o, &b, "output", "8");
	out_text(&o, "data", "0123456789012345678901234567890123456789012345678901234567890123456789");
	is_int(-ENOBUFS, out_end(&o), "one that does not fit");
	is_int(WIRE_FRAME_HEAD + 22, b.len, "leaves nothing behind");
}

int main(void)
{
	test_lengths();
	test_head();
	test_look();
	test_spans();
	test_bounds();
	test_messages();
	test_text();
	test_full();
	return done();
}
