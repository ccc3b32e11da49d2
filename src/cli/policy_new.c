/*
 * policy_new.c - smoljail policy new: a commented policy from four answers
 *
 * Runs as: the caller
 * Trusts: its arguments and answers, as far as the library lets them
 * Never: overwrites a file unless it is told to
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/cli.h"

#define ANSWER_MAX 4096	/* bytes of one answer */

const char policy_new_details[] =
	"  --kind KIND        what runs: snippets, scripts (unless it is given), packages or shell\n"
	"  --read SRC[:DST]   a folder of the host that it may read; may be repeated\n"
	"  --write SRC[:DST]  one that it may change; may be repeated\n"
	"  --net MODE         none (unless it is given), loopback or host\n"
	"  --memory SIZE      memory of all processes together, such as 512M\n"
	"  --time TIME        time by the clock, such as 30s\n"
	"  --force            overwrite FILE\n"
	"\n"
	"Without any of these but --force the answers are read from standard input, a line each, in this order: kind;\n"
	"folders to read; folders to write; network; memory and time. An empty line takes the default. On a terminal\n"
	"each is asked for. Without FILE the policy is printed.\n";

struct answers {
	struct sj_policy_answers a;
	char **read, **write;
	char kind[ANSWER_MAX], network[ANSWER_MAX], usage[ANSWER_MAX];
};

static void free_answers(struct answers *answers)
{
	base_strv_freep(&answers->read);
	base_strv_freep(&answers->write);
}

/* ---- folders ------------------------------------------------------------------- */

/* A relative SRC means the folder here and now, wherever the policy is used later. */
static char *whole_path(const char *entry)
{
	_cleanup_free_ char *here = NULL;
	const char *colon = strrchr(entry, ':'), *base;
	int len = colon ? (int)(colon - entry) : (int)strlen(entry);

	if (entry[0] == '/' || entry[0] == '~' || len == 0)
		return strdup(entry);
	here = getcwd(NULL, 0);
	if (!here)
		return NULL;
	base = memrchr(entry, '/', (size_t)len);
	base = base ? base + 1 : entry;
	if (colon)
		return str_printf("%s/%s", here, entry);
	return str_printf("%s/%s:/%.*s", here, entry, (int)(entry + len - base), base);
}

static int make_whole(char **list)
{
	for (; list && *list; list++) {
		char *whole = whole_path(*list);

		if (!whole)
			return -ENOMEM;
		free(*list);
		*list = whole;
	}
	return 0;
}

/* ---- questions ------------------------------------------------------------------- */

/* One line into answer, without its end; empty at the end of the input. */
static void ask(const char *question, const char *usual, char answer[ANSWER_MAX])
{
	if (isatty(STDIN_FILENO)) {
		fprintf(stderr, "%s [%s]: ", question, usual);
		fflush(stderr);
	}
	if (!fgets(answer, ANSWER_MAX, stdin))
		answer[0] = '\0';
	answer[strcspn(answer, "\r\n")] = '\0';
}

static int ask_folders(const char *question, char ***ret)
{
	char answer[ANSWER_MAX], *save = NULL;
	int r = 0;

	ask(question, "none", answer);
	for (char *word = strtok_r(answer, " \t,", &save); word && r == 0; word = strtok_r(NULL, " \t,", &save))
		if (strcmp(word, "none") != 0)
			r = strv_push(ret, word);
	return r;
}

static const char *or_null(const char *s)
{
	return s && s[0] ? s : NULL;
}

static int ask_all(struct answers *n)
{
	char *save = NULL;
	int r;

	ask("What runs? snippets, scripts, packages or shell", "scripts", n->kind);
	r = ask_folders("Which folders may it read? SRC[:DST] ...", &n->read);
	if (r == 0)
		r = ask_folders("Which folders may it change? SRC[:DST] ...", &n->write);
	ask("Which network? none, loopback or host", "none", n->network);
	ask("How much memory and time? such as 512M 60s", "as others of its kind", n->usage);
	n->a.kind = or_null(n->kind);
	n->a.network = or_null(n->network);
	n->a.memory = strtok_r(n->usage, " \t,", &save);
	n->a.time = n->a.memory ? strtok_r(NULL, " \t,", &save) : NULL;
	return r;
}

/* ---- the file ---------------------------------------------------------------------- */

static int write_file(const char *file, const char *text, bool force)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | (force ? O_TRUNC : O_EXCL), 0644);
	int r;

	if (fd < 0 && errno == EEXIST)
		return cli_refuse("give it another name, or say --force", "policy new: \"%s\" is there already", file);
	if (fd < 0)
		return cli_refuse("name a file in a folder that you may write", "policy new: cannot write \"%s\": %s", file, strerror(errno));
	r = io_write_full(fd, text, strlen(text));
	if (close(fd) < 0 && r == 0)
		r = -errno;
	return r < 0 ? cli_refuse(NULL, "policy new: cannot write \"%s\": %s", file, strerror(-r)) : 0;
}

static void print_note(void *arg, const char *id, const char *path, const char *sentence)
{
	(void)arg;
	fprintf(stderr, "note: %s: %s  [%s]\n", path, sentence, id);
}

static int finish(const char *file, const char *text, bool force)
{
	_cleanup_free_ char *path = NULL;
	struct sj_err err = { 0 };
	size_t notes = 0;
	int r;

	if (!file) {
		policy_print_text(text);
		return cli_finish(0);
	}
	r = write_file(file, text, force);
	if (r)
		return r;
	path = strchr(file, '/') ? strdup(file) : str_printf("./%s", file);
	if (!path || sj_policy_check(path, print_note, NULL, &notes, &err) < 0)
		return path ? cli_fail(&err) : cli_refuse(NULL, "out of memory");
	fprintf(stderr, "smoljail: wrote %s; use it by smoljail run --policy %s\n", file, path);
	return cli_finish(0);
}

int policy_new(int argc, char **argv)
{
	_cleanup_(free_answers) struct answers n = { 0 };
	bool force = false;
	const struct cli_option options[] = {
		{ "--kind", NULL, &n.a.kind }, { "--read", CLI_LIST, &n.read }, { "--write", CLI_LIST, &n.write },
		{ "--net", NULL, &n.a.network }, { "--memory", NULL, &n.a.memory }, { "--time", NULL, &n.a.time },
		{ "--force", &force, NULL }, { 0 },
	};
	const char *file = NULL;
	_cleanup_free_ char *text = NULL;
	struct sj_err err = { 0 };
	int r = cli_options(argc, argv, options, &file, 1, NULL);

	if (r < 0)
		return -r;
	r = 0;
	if (!n.a.kind && !n.read && !n.write && !n.a.network && !n.a.memory && !n.a.time)
		r = ask_all(&n);
	if (r < 0 || make_whole(n.read) < 0 || make_whole(n.write) < 0)
		return cli_refuse(NULL, "policy new: out of memory");
	n.a.read = n.read;
	n.a.write = n.write;
	if (sj_policy_new(&n.a, &text, &err) < 0)
		return cli_fail(&err);
	return finish(file, text, force);
}
