/*
 * bwrap.c - the options of bubblewrap as a policy
 *
 * Runs as: the caller
 * Trusts: nothing of its arguments
 * Never: grants what an option that it does not know might have meant
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "workbench/oci.h"

#define ARGS_MAX 4096

/* What becomes of an option. */
enum fate {
	F_ALWAYS,	/* so it is in every jail */
	F_READ, F_WRITE, F_SETENV, F_HOSTNAME, F_NET,
	F_SAME,		/* its one argument is a place that a jail has by itself, or has not */
	F_IGNORED,	/* a jail does without, and that is no less strict */
	F_REFUSED,	/* a jail cannot, and does not try */
};

static const struct option {
	const char *name;
	int args;
	enum fate fate;
	const char *why;	/* of F_IGNORED and F_REFUSED */
} options[] = {
	{ "--unshare-all", 0, F_ALWAYS, NULL }, { "--unshare-user", 0, F_ALWAYS, NULL },
	{ "--unshare-user-try", 0, F_ALWAYS, NULL }, { "--unshare-ipc", 0, F_ALWAYS, NULL },
	{ "--unshare-pid", 0, F_ALWAYS, NULL }, { "--unshare-net", 0, F_ALWAYS, NULL },
	{ "--unshare-uts", 0, F_ALWAYS, NULL }, { "--unshare-cgroup", 0, F_ALWAYS, NULL },
	{ "--unshare-cgroup-try", 0, F_ALWAYS, NULL }, { "--disable-userns", 0, F_ALWAYS, NULL },
	{ "--assert-userns-disabled", 0, F_ALWAYS, NULL }, { "--die-with-parent", 0, F_ALWAYS, NULL },
	{ "--new-session", 0, F_ALWAYS, NULL }, { "--as-pid-1", 0, F_IGNORED, "a jail has an init of its own" },
	{ "--clearenv", 0, F_ALWAYS, NULL }, { "--cap-drop", 1, F_ALWAYS, NULL }, { "--unsetenv", 1, F_ALWAYS, NULL },
	{ "--ro-bind", 2, F_READ, NULL }, { "--ro-bind-try", 2, F_READ, NULL },
	{ "--bind", 2, F_WRITE, NULL }, { "--bind-try", 2, F_WRITE, NULL },
	{ "--setenv", 2, F_SETENV, NULL }, { "--hostname", 1, F_HOSTNAME, NULL }, { "--share-net", 0, F_NET, NULL },
	{ "--proc", 1, F_SAME, "/proc" }, { "--dev", 1, F_SAME, "/dev" }, { "--tmpfs", 1, F_SAME, "/tmp" },
	{ "--mqueue", 1, F_IGNORED, "a jail has no file system of message queues" },
	{ "--dir", 1, F_IGNORED, "folders of a jail are /tmp, /work and what is bound into it" },
	{ "--symlink", 2, F_IGNORED, "the root's own links are there, and no others" },
	{ "--chmod", 2, F_IGNORED, "the root's own modes hold" },
	{ "--perms", 1, F_IGNORED, "the root's own modes hold" },
	{ "--size", 1, F_IGNORED, "see files.tmp.size" },
	{ "--chdir", 1, F_IGNORED, "a jail begins in /work, or in /project with --dir" },
	{ "--uid", 1, F_IGNORED, "the user inside is always the same" },
	{ "--gid", 1, F_IGNORED, "the user inside is always the same" },
	{ "--remount-ro", 1, F_IGNORED, "what is not writable by files.write or private is read-only" },
	{ "--argv0", 1, F_IGNORED, "a program is told its own name" },
	{ "--lock-file", 1, F_IGNORED, "lock it outside" }, { "--sync-fd", 1, F_IGNORED, "no descriptor goes into a jail" },
	{ "--info-fd", 1, F_IGNORED, "see run --report" }, { "--json-status-fd", 1, F_IGNORED, "see run --report" },
	{ "--block-fd", 1, F_IGNORED, "a jail is set up as a whole" },
	{ "--seccomp", 1, F_IGNORED, "a compiled filter cannot be read; import its profile with --from oci" },
	{ "--add-seccomp-fd", 1, F_IGNORED, "a compiled filter cannot be read; import its profile with --from oci" },
	{ "--exec-label", 1, F_IGNORED, "labels of SELinux are the host's" },
	{ "--file-label", 1, F_IGNORED, "labels of SELinux are the host's" },
	{ "--cap-add", 1, F_REFUSED, "no program of a jail has a capability" },
	{ "--dev-bind", 2, F_REFUSED, "no device of the host comes into a jail" },
	{ "--dev-bind-try", 2, F_REFUSED, "no device of the host comes into a jail" },
	{ "--userns", 1, F_REFUSED, "a jail makes its own namespaces" },
	{ "--userns2", 1, F_REFUSED, "a jail makes its own namespaces" },
	{ "--pidns", 1, F_REFUSED, "a jail makes its own namespaces" },
	{ "--args", 1, F_REFUSED, "give the options themselves" },
	{ 0 },
};

struct bwrap {
	const struct oci_notes notes;
	struct sj_err *err;
	json_t *doc, *env, *read, *write, *files;
	bool net_unshared;
};

static int refuse(struct bwrap *b, const char *option, const char *why)
{
	int r = err_set(b->err, EINVAL, SJ_EXIT_USAGE, "E_IMPORT_BWRAP", "%.100s: not possible in a policy", option);

	err_why(b->err, "%s", why);
	err_fix(b->err, "leave it out, or find in docs/policy-guide.md what takes its place");
	return r;
}

static const struct option *find(const char *name)
{
	const struct option *o = options;

	while (o->name && strcmp(o->name, name) != 0)
		o++;
	return o->name ? o : NULL;
}

/* A mount that a policy may have, or a note why not: the root's own parts are where bwrap binds the host's. */
static int add_mount(struct bwrap *b, const char *option, const char *key, json_t *list, char *const *args)
{
	_cleanup_json_ json_t *doc = NULL;
	_cleanup_policy_ struct policy *p = NULL;
	_cleanup_free_ char *entry = str_printf("%s:%s", args[0], args[1]);
	struct sj_err err = { 0 };

	if (!entry)
		return err_oom(b->err);
	if (strcmp(option + strlen(option) - 4, "-try") == 0 && access(args[0], F_OK) < 0) {
		oci_note(&b->notes, "bwrap-mount", option, "%s is left out: it is not there", args[0]);
		return 0;
	}
	if (strchr(args[1], ':'))
		return refuse(b, option, "a place inside cannot hold a colon");
	doc = json_pack("{s:{s:[s]}}", "files", key, entry);
	if (!doc)
		return refuse(b, option, "a path must be UTF-8");
	if (policy_load_doc(doc, NULL, "bwrap", NULL, 0, &p, &err) < 0) {
		oci_note(&b->notes, "bwrap-mount", option, "%s is left out: %s", entry, err.why);
		return 0;
	}
	return json_array_append_new(list, json_string(entry)) < 0 ? err_oom(b->err) : 0;
}

static int set_string(struct bwrap *b, const char *option, json_t *in, const char *key, const char *value)
{
	json_t *text = json_string(value);

	if (!text)
		return refuse(b, option, "its value must be UTF-8");
	return json_object_set_new(in, key, text) < 0 ? err_oom(b->err) : 0;
}

static int take(struct bwrap *b, const struct option *o, char *const *args)
{
	switch (o->fate) {
	case F_ALWAYS:
		b->net_unshared |= strcmp(o->name, "--unshare-all") == 0 || strcmp(o->name, "--unshare-net") == 0;
		return 0;
	case F_READ:
		return add_mount(b, o->name, "read", b->read, args);
	case F_WRITE:
		return add_mount(b, o->name, "write", b->write, args);
	case F_SETENV:
		return set_string(b, o->name, b->env, args[0], args[1]);
	case F_HOSTNAME:
		return set_string(b, o->name, b->files, "hostname", args[0]);
	case F_NET:
		b->net_unshared = false;
		return 0;
	case F_SAME:
		if (strcmp(args[0], o->why) != 0)
			oci_note(&b->notes, "bwrap-place", o->name, "%.200s is left out: a jail has its own %s and no other", args[0],
				 o->why);
		return 0;
	case F_IGNORED:
		oci_note(&b->notes, "bwrap-ignored", o->name, "it is left out: %s", o->why);
		return 0;
	case F_REFUSED:
		break;
	}
	return refuse(b, o->name, o->why);
}

/* Up to the program, which is no option. */
static int take_all(struct bwrap *b, char *const *args)
{
	size_t n = 0;

	while (args && args[n] && n < ARGS_MAX) {
		const struct option *o = find(args[n]);
		int r;

		if (args[n][0] != '-' || strcmp(args[n], "--") == 0)
			return 0;
		if (!o)
			return refuse(b, args[n], "no option of bwrap that is known here has this name");
		for (int i = 1; i <= o->args; i++)
			if (!args[n + (size_t)i])
				return refuse(b, args[n], "an argument of it is missing");
		r = take(b, o, args + n + 1);
		if (r < 0)
			return r;
		n += 1 + (size_t)o->args;
	}
	return 0;
}

static int make_doc(struct bwrap *b, const struct sj_policy_import *from)
{
	b->doc = json_pack("{s:[s,s], s:s, s:s, s:{s:[], s:[]}, s:{s:{}}}", "comment",
			   "Made from options of bubblewrap by smoljail policy import.",
			   "It stands on \"shell\", since bubblewrap filters no system calls by itself; see policy learn for fewer.",
			   "extends", "shell", "description", "a command line of bubblewrap", "files", "read", "write", "env",
			   "set");
	if (!b->doc || (from->name && json_object_set_new(b->doc, "name", json_string(from->name)) < 0))
		return err_oom(b->err);
	b->files = json_object_get(b->doc, "files");
	b->read = json_object_get(b->files, "read");
	b->write = json_object_get(b->files, "write");
	b->env = json_object_get(json_object_get(b->doc, "env"), "set");
	return 0;
}

static char *with_newline(char *text)
{
	char *line = str_printf("%s\n", text);

	free(text);
	return line;
}

int workbench_import_bwrap(const struct sj_policy_import *from, sj_policy_note_fn *fn, void *arg, char **ret,
			   struct sj_err *err)
{
	struct bwrap b = { .notes = { .fn = fn, .arg = arg }, .err = err };
	_cleanup_policy_ struct policy *p = NULL;
	_cleanup_json_ json_t *doc = NULL;
	_cleanup_free_ char *text = NULL;
	int r = make_doc(&b, from);

	doc = b.doc;
	if (r == 0)
		r = take_all(&b, from->args);
	if (r == 0)
		r = policy_load_doc(doc, NULL, "the options of bwrap", NULL, 0, &p, err);
	if (r < 0)
		return r;
	if (!b.net_unshared)
		oci_note(&b.notes, "bwrap-network", "--unshare-net",
			 "it is not there, so bwrap would share the host's network; this policy has none, and run --net host shares it");
	text = json_dumps(doc, JSON_INDENT(2));
	text = text ? with_newline(text) : NULL;
	if (!text)
		return err_oom(err);
	*ret = steal_ptr(text);
	return 0;
}
