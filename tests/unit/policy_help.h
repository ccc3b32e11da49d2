/*
 * policy_help.h - what the tests of policies share
 */
#ifndef SMOLJAIL_TESTS_POLICY_HELP_H
#define SMOLJAIL_TESTS_POLICY_HELP_H

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/internal.h"
#include "tap.h"

static char help_dir[] = "/tmp/smoljail-policy-XXXXXX";
static struct sj_err help_err;

__attribute__((unused))
static void help_begin(void)
{
	if (!mkdtemp(help_dir))
		skip_all("no folder for temporary files");
}

__attribute__((unused))
static const char *help_path(const char *name)
{
	static char path[2][256];
	static int turn;

	turn = !turn;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", help_dir, name);
	return path[turn];
}

__attribute__((unused))
static const char *help_write(const char *name, const char *text)
{
	const char *path = help_path(name);
	FILE *f = fopen(path, "we");

	if (!f || fputs(text, f) < 0)
		abort();
	fclose(f);
	return path;
}

__attribute__((unused))
static int help_end(void)
{
	char command[300];

	snprintf(command, sizeof(command), "rm -rf '%s'", help_dir);
	if (system(command) != 0)
		abort();
	return done();
}

/* NULL and help_err filled where it is refused. */
__attribute__((unused))
static struct policy *help_load_sets(const char *which, const struct policy_set *sets, size_t n)
{
	struct policy *p = NULL;
	int r;

	memset(&help_err, 0, sizeof(help_err));
	r = policy_load(which, sets, n, &p, &help_err);
	if ((r < 0) != (p == NULL) || (r < 0 && help_err.error != -r))
		abort();
	return p;
}

__attribute__((unused))
static struct policy *help_load(const char *text)
{
	return help_load_sets(help_write("p.json", text), NULL, 0);
}

__attribute__((unused))
static struct policy *help_set(const char *which, const char *path, const char *value)
{
	struct policy_set set = { .path = path, .value = value };

	return help_load_sets(which, &set, 1);
}

/* The document is refused with this id, and the message holds the words. */
#define refused(text, id_, words) do { \
	const char *_doc = (text); \
	struct policy *_p = help_load(_doc); \
	bool _right = !_p && strcmp(help_err.id, id_) == 0 && help_err.exit == SJ_EXIT_USAGE && \
		(strstr(help_err.what, words) || strstr(help_err.why, words) || strstr(help_err.fix, words)); \
	if (!ok(_right, "refused with %s: %.60s", id_, _doc)) \
		printf("# %s\n# what %s\n# why %s\n# fix %s\n", help_err.id, help_err.what, help_err.why, help_err.fix); \
	policy_free(_p); \
} while (0)

#define set_refused(path_, value_, id_, words) do { \
	struct policy *_p = help_set("python", path_, value_); \
	bool _right = !_p && strcmp(help_err.id, id_) == 0 && help_err.exit == SJ_EXIT_USAGE && \
		(strstr(help_err.what, words) || strstr(help_err.why, words) || strstr(help_err.fix, words)); \
	if (!ok(_right, "%s refuses %.40s with %s", path_, value_, id_)) \
		printf("# %s\n# what %s\n# why %s\n# fix %s\n", help_err.id, help_err.what, help_err.why, help_err.fix); \
	policy_free(_p); \
} while (0)

#define accepted(text) do { \
	const char *_doc = (text); \
	struct policy *_p = help_load(_doc); \
	if (!ok(_p, "accepted: %.60s", _doc)) \
		printf("# %s\n# what %s\n# why %s\n", help_err.id, help_err.what, help_err.why); \
	policy_free(_p); \
} while (0)

#endif
