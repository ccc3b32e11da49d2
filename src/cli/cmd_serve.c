/*
 * cmd_serve.c - smoljail serve: the session server on its standard streams, or on a socket
 *
 * Runs as: the caller
 * Trusts: nothing of its arguments
 * Never: prints to standard output, which belongs to the protocol
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/cli.h"

#define UIDS_MAX 64
#define PACKAGES_MAX 32
#define IDLE_MAX_MS (7.0 * 24 * 3600 * 1000)

enum option_kind { O_SOCKET, O_POLICY, O_SESSIONS, O_IDLE, O_LOOSEN, O_ISOLATION, O_UID, O_PACKAGES, O_QUIET, O_HELP };

static const struct option {
	const char *name, *value;	/* value NULL: takes none */
	enum option_kind kind;
	const char *help;
} options[] = {
	{ "socket", "PATH", O_SOCKET, "listen on a unix socket of mode 0600 instead of the standard streams" },
	{ "policy", "NAME|FILE", O_POLICY, "what sessions may do, and what clients may only tighten (default python)" },
	{ "packages", "DIR", O_PACKAGES, "folder made by pip install --target, for sessions; may be repeated" },
	{ "max-sessions", "N", O_SESSIONS, "sessions open at the same time (default 64)" },
	{ "idle-timeout", "TIME", O_IDLE, "close a session that nobody asks anything for so long, such as 30m" },
	{ "allow-uid", "UID", O_UID, "let this user connect too; may be repeated" },
	{ "allow-loosen", NULL, O_LOOSEN, "let clients ask for more than the policy grants" },
	{ "isolation", "full|landlock", O_ISOLATION, "landlock: weaker, for hosts without user namespaces" },
	{ "quiet", NULL, O_QUIET, "say nothing about where it listens" },
	{ "help", NULL, O_HELP, "this text" },
};

struct serve_args {
	struct sj_serve o;
	uint32_t uids[UIDS_MAX];
	char *packages[PACKAGES_MAX + 1];
	size_t n_packages;
	bool quiet, help;
};

static void print_help(void)
{
	char left[40];

	fputs("usage: smoljail serve [options]\n\n", stdout);
	for (size_t i = 0; i < ARRAY_LEN(options); i++) {
		snprintf(left, sizeof(left), "--%s %s", options[i].name, options[i].value ? options[i].value : "");
		printf("  %-26s  %s\n", left, options[i].help);
	}
	fputs("\nClients speak the protocol of docs/protocol.md: a length, then JSON. Without --socket the server ends with\n"
	      "its client; SIGTERM ends it at any time, and every session with it.\n", stdout);
}

/* ---- values ------------------------------------------------------------------------- */

static int take_number(const char *name, const char *text, unsigned long max, unsigned long *ret)
{
	char *end;

	errno = 0;
	*ret = strtoul(text, &end, 10);
	if (errno || end == text || *end || text[0] == '-' || *ret > max)
		return cli_refuse(NULL, "--%s: \"%.60s\" is no number from 0 to %lu", name, text, max);
	return 0;
}

/* "90", "90s", "5m", "1.5h", "200ms". */
static int take_time(const char *text, uint64_t *ret_ms)
{
	static const struct { const char *unit; double ms; } units[] = {
		{ "", 1000 }, { "s", 1000 }, { "ms", 1 }, { "m", 60000 }, { "h", 3600000 }, { "d", 86400000 },
	};
	char *end;
	double n = strtod(text, &end);

	for (size_t i = 0; end != text && i < ARRAY_LEN(units); i++)
		if (strcmp(end, units[i].unit) == 0 && n > 0 && n * units[i].ms <= IDLE_MAX_MS) {
			*ret_ms = (uint64_t)(n * units[i].ms);
			return 0;
		}
	return cli_refuse("write a time such as 30m or 90s, at most 7d", "--idle-timeout: \"%.60s\" is no time", text);
}

static int add_uid(struct serve_args *a, const char *text)
{
	unsigned long uid = 0;
	int r = take_number("allow-uid", text, UINT32_MAX - 1, &uid);

	if (r)
		return r;
	if (a->o.n_allow_uids == UIDS_MAX)
		return cli_refuse(NULL, "--allow-uid: more than %d users", UIDS_MAX);
	a->uids[a->o.n_allow_uids++] = (uint32_t)uid;
	return 0;
}

static int take_sessions(struct serve_args *a, const char *text)
{
	unsigned long n = 0;
	int r = take_number("max-sessions", text, UINT32_MAX, &n);

	if (r == 0 && n == 0)
		r = cli_refuse(NULL, "--max-sessions: at least 1");
	a->o.max_sessions = (unsigned int)n;
	return r;
}

static int add_packages(struct serve_args *a, char *dir)
{
	if (a->n_packages == PACKAGES_MAX)
		return cli_refuse(NULL, "--packages: more than %d folders", PACKAGES_MAX);
	a->packages[a->n_packages++] = dir;
	return 0;
}

static int apply(struct serve_args *a, enum option_kind kind, char *value)
{
	switch (kind) {
	case O_SOCKET: a->o.socket = value; break;
	case O_POLICY: a->o.policy = value; break;
	case O_SESSIONS: return take_sessions(a, value);
	case O_IDLE: return take_time(value, &a->o.idle_ms);
	case O_LOOSEN: a->o.allow_loosen = true; break;
	case O_ISOLATION: a->o.isolation = value; break;
	case O_UID: return add_uid(a, value);
	case O_PACKAGES: return add_packages(a, value);
	case O_QUIET: a->quiet = true; break;
	case O_HELP: a->help = true; break;
	}
	return 0;
}

/* ---- arguments ------------------------------------------------------------------------ */

static const struct option *find(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		if (strlen(options[i].name) == len && strncmp(options[i].name, name, len) == 0)
			return &options[i];
	return NULL;
}

static int unknown(const char *arg)
{
	const char *names[ARRAY_LEN(options)], *nearest;
	char fix[64];

	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		names[i] = options[i].name;
	nearest = str_nearest(arg + strspn(arg, "-"), names, ARRAY_LEN(names));
	snprintf(fix, sizeof(fix), nearest ? "did you mean --%s?" : "see smoljail serve --help", nearest);
	return cli_refuse(fix, "unknown argument \"%.60s\"", arg);
}

static const struct option *find_argument(const char *arg)
{
	if (strcmp(arg, "-h") == 0)
		return find("help", 4);
	if (strcmp(arg, "-q") == 0)
		return find("quiet", 5);
	return strncmp(arg, "--", 2) == 0 ? find(arg + 2, strcspn(arg, "=") - 2) : NULL;
}

static int parse(struct serve_args *a, char **arg)
{
	for (; *arg; arg++) {
		const struct option *opt = find_argument(*arg);
		char *value = strchr(*arg, '=');
		int r;

		if (!opt)
			return unknown(*arg);
		if (!opt->value && value)
			return cli_refuse(NULL, "--%s takes no value", opt->name);
		if (opt->value && !value && !arg[1])
			return cli_refuse(NULL, "--%s needs a value: --%s %s", opt->name, opt->name, opt->value);
		if (opt->value)
			value = value ? value + 1 : *++arg;
		r = apply(a, opt->kind, value);
		if (r)
			return r;
	}
	return 0;
}

int cmd_serve(int argc, char **argv)
{
	struct serve_args a = { .o = { .in = STDIN_FILENO, .out = STDOUT_FILENO, .confine = true } };
	struct sj_server *server = NULL;
	struct sj_err err = { 0 };
	int r = parse(&a, argv + 1);

	(void)argc;
	if (r)
		return r;
	if (a.help) {
		print_help();
		return cli_finish(0);
	}
	a.o.allow_uids = a.uids;
	a.o.packages = a.packages;
	if (sj_server_new(&a.o, &server, &err) < 0)
		return cli_fail(&err);
	if (a.o.socket && !a.quiet)
		fprintf(stderr, "smoljail: listening on %s\n", a.o.socket);
	r = sj_server_run(server, &err) < 0 ? cli_fail(&err) : 0;
	sj_server_free(server);
	return r;
}
