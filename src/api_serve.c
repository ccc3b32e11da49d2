/*
 * api_serve.c - sj_server_*: the session server, for users of the library
 *
 * Runs as: the caller
 * Trusts: the caller's options
 * Never: prints, or does work of its own
 */
#include "session/session.h"

#define DEFAULT_POLICY "python"

static int refuse_sessions(struct sj_err *err)
{
	err_set(err, ERANGE, SJ_EXIT_USAGE, "E_SESSIONS", "--max-sessions: more than %u", SERVE_SESSIONS_MAX);
	err_fix(err, "give a number from 1 to %u", SERVE_SESSIONS_MAX);
	return -ERANGE;
}

int sj_server_new(const struct sj_serve *options, struct sj_server **ret, struct sj_err *err)
{
	struct serve_options o = {
		.policy = options->policy ? options->policy : DEFAULT_POLICY, .socket = options->socket,
		.in = options->in, .out = options->out, .max_sessions = options->max_sessions,
		.idle_ms = options->idle_ms, .allow_loosen = options->allow_loosen,
		.confine = options->confine,
		.uids = options->allow_uids, .n_uids = options->n_allow_uids, .packages = options->packages,
		.isolation = options->isolation,
	};
	struct server *server;
	int r;

	if (o.max_sessions > SERVE_SESSIONS_MAX)
		return refuse_sessions(err);
	r = server_new(&o, &server, err);
	if (r == 0)
		*ret = (struct sj_server *)server;
	return r;
}

int sj_server_run(struct sj_server *server, struct sj_err *err)
{
	return server_run((struct server *)server, err);
}

struct sj_server *sj_server_free(struct sj_server *server)
{
	return (struct sj_server *)server_free((struct server *)server);
}
