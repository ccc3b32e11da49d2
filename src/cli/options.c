/*
 * options.c - the options of `smoljail run`: one table for parsing and help
 *
 * Runs as: the caller
 * Trusts: nothing; values are checked by the policy's field table
 * Never: looks at what stands behind FILE, CODE or MODULE: that belongs to the program
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cli/cli.h"

enum option_kind { O_SET, O_POLICY, O_DIR, O_REPORT, O_EXPLAIN, O_QUIET, O_VERBOSE, O_HELP };

static const struct option {
	const char *name, *value;	/* value NULL: takes none */
	enum option_kind kind;
	const char *paths[2];		/* O_SET: fields of the policy */
	const char *help;
} options[] = {
	{ "policy", "NAME|FILE", O_POLICY, { NULL }, "what the program may do (smoljail policy list)" },
	{ "memory", "SIZE", O_SET, { "limits.memory" }, "memory, such as 256M" },
	{ "cpus", "NUMBER", O_SET, { "limits.cpus" }, "share of the machine's CPUs, such as 0.5 or 2" },
	{ "pids", "NUMBER", O_SET, { "limits.pids" }, "processes and threads together" },
	{ "timeout", "TIME", O_SET, { "limits.wall" }, "wall-clock time, such as 10s or 2m; exit status 124" },
	{ "cpu-time", "TIME", O_SET, { "limits.cpu_time" }, "CPU time of all processes together; exit status 124" },
	{ "disk", "SIZE", O_SET, { "files.work.size", "files.tmp.size" }, "size of the work folder, and of /tmp" },
	{ "output", "SIZE", O_SET, { "limits.output" }, "bytes of output and error output together" },
	{ "file-size", "SIZE", O_SET, { "limits.file_size" }, "size of one file that is written" },
	{ "open-files", "NUMBER", O_SET, { "limits.open_files" }, "files open at a time, in each process" },
	{ "env", "NAME[=VALUE]", O_SET, { "env.set" }, "set a variable, or pass the caller's on" },
	{ "packages", "DIR", O_SET, { "python.packages" }, "folder made by pip install --target, read-only on sys.path" },
	{ "dir", "DIR", O_DIR, { NULL }, "the script's project folder, read-only and importable" },
	{ "ro", "SRC[:DST]", O_SET, { "files.read" }, "show a file or folder of the host, read-only" },
	{ "rw", "SRC[:DST]", O_SET, { "files.write" }, "the same, writable" },
	{ "net", "MODE", O_SET, { "network.mode" }, "none, loopback or host (not isolated)" },
	{ "root", "NAME", O_SET, { "files.root" }, "which small root to stand on (smoljail rootfs list)" },
	{ "report", "FILE|-", O_REPORT, { NULL }, "write what happened as JSON; - is standard output" },
	{ "isolation", "full|landlock", O_SET, { "isolation" }, "landlock: weaker, for hosts without user namespaces" },
	{ "explain", NULL, O_EXPLAIN, { NULL }, "tell each refusal as it happens, and what would allow it" },
	{ "quiet", NULL, O_QUIET, { NULL }, "say nothing when the program is stopped" },
	{ "verbose", NULL, O_VERBOSE, { NULL }, "tell isolation, limits, times and denials afterwards" },
	{ "help", NULL, O_HELP, { NULL }, "this text" },
};

void run_options_help(void)
{
	char left[40];

	fputs("usage: smoljail run [options] FILE [args]\n"
	      "       smoljail run [options] -c CODE [args]\n"
	      "       smoljail run [options] -m MODULE [args]\n"
	      "       smoljail run [options] - [args]          the script on standard input\n"
	      "       smoljail run [options] -- COMMAND [args] any program of the root\n\n", stdout);
	for (size_t i = 0; i < ARRAY_LEN(options); i++) {
		snprintf(left, sizeof(left), "--%s %s", options[i].name, options[i].value ? options[i].value : "");
		printf("  %-26s  %s\n", left, options[i].help);
	}
	fputs("\n-q, -v and -h are short for --quiet, --verbose and --help.\n"
	      "Options override the policy. Exit status: the program's own; 124 time limit; 137 out of memory or\n"
	      "too much output; 128+n signal n; 125 the jail could not be set up and nothing ran; 2 wrong use.\n", stdout);
}

static const struct option *find(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		if (strlen(options[i].name) == len && strncmp(options[i].name, name, len) == 0)
			return &options[i];
	return NULL;
}

static const char *command(const struct run_options *o)
{
	return o->command ? o->command : "run";
}

static int unknown(const struct run_options *o, const char *arg, size_t len)
{
	const char *names[ARRAY_LEN(options)], *nearest;
	char word[64], fix[64];

	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		names[i] = options[i].name;
	snprintf(word, sizeof(word), "%.*s", (int)(len < 60 ? len : 60), arg);
	nearest = arg[1] == '-' ? str_nearest(word + 2, names, ARRAY_LEN(names)) : NULL;
	snprintf(fix, sizeof(fix), nearest ? "did you mean --%s?" : "see smoljail %s --help", nearest ? nearest : command(o));
	return cli_refuse(fix, "unknown option \"%s\"", word);
}

static void add_sets(struct run_options *o, const struct option *opt, const char *flag, const char *value)
{
	for (size_t i = 0; i < ARRAY_LEN(opt->paths) && opt->paths[i]; i++)
		o->sets[o->n_sets++] = (struct run_set){ .flag = flag, .path = opt->paths[i], .value = value };
}

/* flag: "--memory", for errors about the value. */
static void apply(struct run_options *o, const struct option *opt, const char *flag, const char *value)
{
	switch (opt->kind) {
	case O_SET: add_sets(o, opt, flag, value); break;
	case O_POLICY: o->policy = value; break;
	case O_DIR: o->dir = value; break;
	case O_REPORT: o->report = value; break;
	case O_EXPLAIN: o->explain = true; break;
	case O_QUIET: o->quiet = true; break;
	case O_VERBOSE: o->verbose = true; break;
	case O_HELP: o->help = true; break;
	}
}

/* "--name=value" or "--name value". Returns how many arguments it took, or -exit status. */
static int long_option(struct run_options *o, char **argv)
{
	char *equals = strchr(argv[0], '=');
	size_t len = equals ? (size_t)(equals - argv[0]) : strlen(argv[0]);
	const struct option *opt = find(argv[0] + 2, len - 2);

	if (!opt)
		return -unknown(o, argv[0], len);
	if (!opt->value && equals)
		return -cli_refuse(NULL, "--%s takes no value", opt->name);
	if (equals)
		*equals = '\0'; /* argv[0] is now the flag alone */
	if (!opt->value || equals) {
		apply(o, opt, argv[0], equals ? equals + 1 : NULL);
		return 1;
	}
	if (!argv[1])
		return -cli_refuse(NULL, "--%s needs a value: --%s %s", opt->name, opt->name, opt->value);
	apply(o, opt, argv[0], argv[1]);
	return 2;
}

/* "--allow net=loopback". */
static int allow(struct run_options *o, char *what)
{
	char *equals = strchr(what, '=');
	const struct option *opt = equals ? find(what, (size_t)(equals - what)) : NULL;

	if (!opt || opt->kind != O_SET)
		return cli_refuse("write it as an option of run: --allow net=loopback, --allow ro=/data",
				  "--allow: \"%s\" is nothing that can be allowed", what);
	*equals = '\0';
	add_sets(o, opt, what, equals + 1);
	return 0;
}

/* An option that only this command has. Returns how many arguments it took, or -exit status. */
static int extra_option(struct run_options *o, char **argv)
{
	int r;

	for (const struct cli_option *opt = o->extra; opt && opt->name; opt++) {
		size_t len = strlen(opt->name);
		bool attached = strncmp(argv[0], opt->name, len) == 0 && argv[0][len] == '=';

		if (opt->flag && strcmp(argv[0], opt->name) == 0) {
			*opt->flag = true;
			return 1;
		}
		if (!opt->value || (!attached && strcmp(argv[0], opt->name) != 0))
			continue;
		if (!attached && !argv[1])
			return -cli_refuse(NULL, "%s needs a value", opt->name);
		*(const char **)opt->value = attached ? argv[0] + len + 1 : argv[1];
		return attached ? 1 : 2;
	}
	if (!o->takes_allow || strcmp(argv[0], "--allow") != 0)
		return 0;
	r = argv[1] ? allow(o, argv[1]) : cli_refuse(NULL, "--allow needs a value: --allow NAME=VALUE");
	return r ? -r : 2;
}

/* -c CODE and -m MODULE, attached or not, as python3 takes them. */
static int code_or_module(struct run_options *o, char **argv)
{
	bool code = argv[0][1] == 'c';
	char **text = argv[0][2] ? argv : argv + 1;

	if (!*text)
		return cli_refuse(NULL, code ? "-c needs the code" : "-m needs a module's name");
	o->what = code ? RUN_CODE : RUN_MODULE;
	o->text = text == argv ? argv[0] + 2 : argv[1];
	o->args = text + 1;
	return 0;
}

static void take_program(struct run_options *o, enum run_what what, char *text, char **args)
{
	o->what = what;
	o->text = text;
	o->args = args;
}

static int short_option(struct run_options *o, const char *arg)
{
	if (strcmp(arg, "-q") == 0)
		o->quiet = true;
	else if (strcmp(arg, "-v") == 0)
		o->verbose = true;
	else if (strcmp(arg, "-h") == 0)
		o->help = true;
	else
		return unknown(o, arg, strlen(arg));
	return 0;
}

static int parse(struct run_options *o, char **arg)
{
	int r;

	while (*arg && o->what == RUN_NOTHING && !o->help) {
		if (strcmp(*arg, "--") == 0) {
			take_program(o, arg[1] ? RUN_COMMAND : RUN_NOTHING, NULL, arg + 1);
			return arg[1] ? 0 : cli_refuse(NULL, "%s: no command behind --", command(o));
		}
		r = extra_option(o, arg);
		if (r < 0)
			return -r;
		if (r > 0) {
			arg += r;
			continue;
		}
		if (strncmp(*arg, "--", 2) == 0) {
			r = long_option(o, arg);
			if (r < 0)
				return -r;
			arg += r;
		} else if ((*arg)[0] != '-') {
			take_program(o, RUN_FILE, *arg, arg + 1);
		} else if ((*arg)[1] == '\0') {
			take_program(o, RUN_STDIN, NULL, arg + 1);
		} else if ((*arg)[1] == 'c' || (*arg)[1] == 'm') {
			return code_or_module(o, arg);
		} else {
			r = short_option(o, *arg++);
			if (r)
				return r;
		}
	}
	return 0;
}

int run_options_parse(int argc, char **argv, struct run_options *o)
{
	const char *name = command(o);
	char fix[120];
	int r;

	/* Each argument sets two fields at most. */
	o->sets = calloc((size_t)argc * 2, sizeof(*o->sets));
	if (!o->sets)
		return cli_refuse(NULL, "out of memory");
	r = parse(o, argv + 1);
	snprintf(fix, sizeof(fix), "smoljail %s FILE, or -c CODE, -m MODULE, - or -- COMMAND in place of FILE", name);
	if (r == 0 && o->what == RUN_NOTHING && !o->help && !o->optional)
		r = cli_refuse(fix, "nothing to run");
	if (r)
		run_options_clear(o);
	return r;
}

void run_options_clear(struct run_options *o)
{
	free(o->sets);
	o->sets = NULL;
}
