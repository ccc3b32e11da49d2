/*
 * client_open.c - the message `open`: which policy a session gets, and whether a client may have it
 *
 * Runs as: the server
 * Trusts: nothing that the client wrote
 * Never: opens a session that is looser than the server's policy, unless it was told to
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "session/serve_internal.h"

#define CLIENT_POLICY "the session's policy"
#define IMPORTS_MAX 512
#define IMPORT_NAME_MAX 256

/* ---- small words ------------------------------------------------------------------- */

static bool name_ok(const char *s, size_t len)
{
	if (len < 1 || len > SERVE_NAME_MAX || strlen(s) != len)
		return false;
	return strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == len;
}

static bool word_is(const struct msg *m, const char *field, const char *legal)
{
	const char *word = msg_string(m, field, NULL);

	return !word || strcmp(word, legal) == 0;
}

static int bad_message(struct client *c, const struct msg *m, const char *what)
{
	client_error(c, m->id, NULL, "bad_message", what, NULL);
	return -EINVAL;
}

/* The name that the client chose, or one that is free. */
static int choose_name(struct client *c, const struct msg *m, char ret[SERVE_NAME_MAX + 1])
{
	size_t len;
	const char *name = msg_string(m, "session", &len);

	if (!name) {
		do
			snprintf(ret, SERVE_NAME_MAX + 1, "s%llu", (unsigned long long)++c->server->names);
		while (live_find(c, ret));
		return 0;
	}
	if (!name_ok(name, len))
		return bad_message(c, m, "open: \"session\" is 1 to 64 letters, digits, dots, underscores and hyphens");
	if (live_find(c, name)) {
		client_error(c, m->id, name, "exists", "there is a session of that name already", NULL);
		return -EEXIST;
	}
	snprintf(ret, SERVE_NAME_MAX + 1, "%s", name);
	return 0;
}

static int check_words(struct client *c, const struct msg *m)
{
	if (!word_is(m, "backend", "local") || !word_is(m, "checkpoint", "none") || msg_string(m, "template", NULL)) {
		client_error(c, m->id, NULL, "unsupported", "only backend \"local\", no template, checkpoint \"none\" in this version", NULL);
		return -ENOTSUP;
	}
	if (!word_is(m, "guard", "native") && !word_is(m, "guard", "compat"))
		return bad_message(c, m, "open: \"guard\" is \"native\" or \"compat\"");
	return 0;
}

static int check_imports(struct client *c, const struct msg *m)
{
	const json_t *list = msg_json(m, "imports"), *entry;
	size_t i;

	if (json_array_size(list) > IMPORTS_MAX)
		return bad_message(c, m, "open: more than 512 imports");
	json_array_foreach(list, i, entry)
		if (!json_is_string(entry) || json_string_length(entry) > IMPORT_NAME_MAX)
			return bad_message(c, m, "open: an entry of \"imports\" is no name of a module");
	return 0;
}

/* ---- the policy ------------------------------------------------------------------------ */

static json_t *parse_part(const struct msg *m, const char *name, struct sj_err *err)
{
	const struct wire_span *raw = msg_raw(m, name);
	json_t *j = NULL;

	/* Again, since the message's own tree has reals in place of integers. */
	if (base_json_parse(raw->text, raw->len, CLIENT_POLICY, &j, err) < 0)
		return NULL;
	return j;
}

/* Members of `part` go over those of doc[key]. */
static int lay_over(json_t *doc, const char *key, json_t *part)
{
	json_t *into = json_object_get(doc, key);

	if (json_is_object(into))
		return json_object_update(into, part);
	return json_object_set(doc, key, part);
}

static int lay_part(json_t *doc, const struct msg *m, const char *name, const char *key, struct sj_err *err)
{
	_cleanup_json_ json_t *part = NULL, *wrapped = NULL;

	if (!msg_json(m, name))
		return 0;
	part = parse_part(m, name, err);
	if (!part)
		return err && err->error ? -err->error : -EINVAL;
	if (strcmp(name, "env") != 0)
		return lay_over(doc, key, part) < 0 ? err_oom(err) : 0;
	wrapped = json_pack("{s:O}", "set", part);
	return !wrapped || lay_over(doc, key, wrapped) < 0 ? err_oom(err) : 0;
}

/* What is left of the client's wishes when they are written as one policy document. */
static int build_doc(const struct msg *m, const char *name, json_t **ret, struct sj_err *err)
{
	_cleanup_json_ json_t *doc = NULL, *packages = NULL;
	int r;

	if (json_is_object(msg_json(m, "policy")))
		doc = parse_part(m, "policy", err);
	else
		doc = name ? json_pack("{s:s}", "extends", name) : json_object();
	if (!doc)
		return err->error ? -err->error : err_oom(err);
	r = lay_part(doc, m, "limits", "limits", err);
	if (r == 0)
		r = lay_part(doc, m, "env", "env", err);
	if (r == 0 && msg_json(m, "packages")) {
		packages = json_pack("{s:O}", "packages", msg_json(m, "packages"));
		r = !packages || lay_over(doc, "python", packages) < 0 ? err_oom(err) : 0;
	}
	if (r == 0)
		*ret = steal_ptr(doc);
	return r;
}

static bool changes_nothing(const struct msg *m)
{
	return !msg_json(m, "limits") && !msg_json(m, "env") && !msg_json(m, "packages");
}

/* *ret stays NULL where nothing differs from the server's own policy. */
static int make_policy(struct client *c, const struct msg *m, struct policy **ret, struct sj_err *err)
{
	const char *name = msg_string(m, "policy", NULL), *base = NULL;
	struct policy_set sets[SERVE_PACKAGES_MAX + 1];
	size_t n = msg_json(m, "packages") ? 0 : server_package_sets(c->server, sets);
	_cleanup_json_ json_t *doc = NULL;
	int r;

	/* The server's policy may be a file, which no client can name. */
	if (!msg_json(m, "policy") || (name && strcmp(name, c->server->opt.policy) == 0)) {
		base = c->server->opt.policy;
		name = NULL;
		if (changes_nothing(m))
			return 0;
	}
	r = build_doc(m, name, &doc, err);
	if (r < 0)
		return r;
	/* A client that asks for full isolation gets it, or an error. */
	if (!json_object_get(doc, "isolation"))
		n += server_isolation_set(c->server, &sets[n]);
	return policy_load_doc(doc, base, CLIENT_POLICY, sets, n, ret, err);
}

static int check_policy(struct client *c, const struct msg *m, const struct policy *p)
{
	char why[POLICY_LOOSER_MAX];

	if (!p || c->server->opt.allow_loosen || policy_is_within(p, c->server->policy, why))
		return 0;
	client_error(c, m->id, NULL, "not_allowed", why, "start the server with that policy, or with --allow-loosen");
	return -EPERM;
}

/* Members of the `limits` message to the guest. */
static char *make_settings(const struct msg *m)
{
	const struct wire_span *imports = msg_raw(m, "imports");
	const char *guard = msg_string(m, "guard", NULL);

	return str_printf("\"guard\":\"%s\",\"imports\":%.*s", guard ? guard : "native", imports ? (int)imports->len : 4,
			  imports ? imports->text : "null");
}

/* ---- the message ------------------------------------------------------------------------- */

static int too_many(struct client *c, const struct msg *m)
{
	char text[64];

	if (c->server->ending) {
		client_error(c, m->id, NULL, "shutting_down", "the server is ending", NULL);
		return -ESHUTDOWN;
	}
	if (c->server->n_lives < c->server->opt.max_sessions)
		return 0;
	snprintf(text, sizeof(text), "%u sessions are open", c->server->opt.max_sessions);
	client_error(c, m->id, NULL, "too_many", text, "close one, or start the server with a higher --max-sessions");
	return -EAGAIN;
}

void client_open(struct client *c, const struct msg *m)
{
	_cleanup_policy_ struct policy *p = NULL;
	char name[SERVE_NAME_MAX + 1];
	struct sj_err err = { 0 };
	char *settings;
	int r;

	if (too_many(c, m) < 0 || check_words(c, m) < 0 || check_imports(c, m) < 0 || choose_name(c, m, name) < 0)
		return;
	c->opens++;
	r = make_policy(c, m, &p, &err);
	if (r < 0) {
		client_refuse(c, m->id, NULL, "bad_policy", &err);
		return;
	}
	if (check_policy(c, m, p) < 0)
		return;
	settings = make_settings(m);
	r = settings ? live_new(c, name, steal_ptr(p), settings, m->id, &err) : err_oom(&err);
	if (r < 0)
		client_refuse(c, m->id, NULL, err.exit == SJ_EXIT_USAGE ? "bad_policy" : "setup", &err);
}
