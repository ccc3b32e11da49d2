/*
 * live_guard.c - what the guards inside a session say that they refused, among its denials
 *
 * Runs as: the server
 * Trusts: nothing; these are words of the interpreter inside, and marked as such
 * Never: offers more than to open the session with another guard, which is no part of the boundary
 */
#include <jansson.h>
#include <string.h>

#include "session/serve_internal.h"

#define REFUSED_MAX 16		/* of one step */

/* Rules that a guest may name, and what would change them. */
static const struct {
	const char *rule, *allow_with;
} guards[] = {
	{ "imports", "that module in the list \"imports\" of open" },
	{ "guard", "\"guard\": \"native\" of open" },
};

static void copy(char *to, size_t len, const json_t *text)
{
	to[0] = '\0';
	if (json_is_string(text))
		text_clean(json_string_value(text), json_string_length(text), to, len, true);
}

static uint64_t number(const json_t *o, const char *name)
{
	double n = json_number_value(json_object_get(o, name));

	return n >= 0 && n <= INT32_MAX ? (uint64_t)n : 0;
}

static bool understand(const json_t *o, struct session_denial *ret)
{
	const char *rule = json_string_value(json_object_get(o, "rule"));
	size_t i = 0;

	while (rule && i < ARRAY_LEN(guards) && strcmp(rule, guards[i].rule) != 0)
		i++;
	*ret = (struct session_denial){ .nr = -1, .layer = "guard", .by_guest = true, .count = number(o, "count") };
	copy(ret->what, sizeof(ret->what), json_object_get(o, "what"));
	if (!rule || i == ARRAY_LEN(guards) || !ret->what[0] || !ret->count)
		return false;
	snprintf(ret->rule_text, sizeof(ret->rule_text), "%s", rule);
	snprintf(ret->allow_with, sizeof(ret->allow_with), "%s", guards[i].allow_with);
	copy(ret->where.file, sizeof(ret->where.file), json_object_get(o, "file"));
	copy(ret->where.function, sizeof(ret->where.function), json_object_get(o, "function"));
	ret->where.line = (int)number(o, "line");
	return true;
}

static void add(struct session_report *rep, const struct session_denial *d)
{
	for (size_t i = 0; i < rep->n_denied; i++) {
		struct session_denial *known = &rep->denied[i];

		if (strcmp(known->rule_text, d->rule_text) == 0 && strcmp(known->what, d->what) == 0) {
			known->count += d->count;
			return;
		}
	}
	if (rep->n_denied < SESSION_DENIED_MAX)
		rep->denied[rep->n_denied++] = *d;
}

bool live_guarded(struct live *l, const struct msg *m)
{
	json_t *list = msg_json(m, "refused"), *entry;
	struct session_denial d;
	size_t i;

	if (json_array_size(list) > REFUSED_MAX)
		return false;
	json_array_foreach(list, i, entry) {
		if (!understand(entry, &d))
			return false;
		add(l->rep, &d);
	}
	return true;
}
