/*
 * source.c - read the documents of a policy, from the one asked for to the defaults
 *
 * Runs as: supervisor, outside the jail
 * Trusts: the shipped documents; files are hostile
 * Never: reads anything but a regular file of bounded size
 */
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/embed.h"
#include "policy/internal.h"

const char *policy_shipped_name(size_t i)
{
	return i < EMBED_POLICIES ? policy_embedded[i].name : NULL;
}

const char *policy_shipped_text(const char *name, size_t *ret_len)
{
	for (const struct embed *e = policy_embedded; e->name; e++)
		if (strcmp(e->name, name) == 0) {
			*ret_len = (size_t)(e->end - e->start);
			return e->start;
		}
	return NULL;
}

static bool is_path(const char *which)
{
	size_t len = strlen(which);

	return strchr(which, '/') || (len > 5 && strcmp(which + len - 5, ".json") == 0);
}

static int refuse_name(const char *which, struct sj_err *err)
{
	const char *names[EMBED_POLICIES], *near;
	int r = err_set(err, ENOENT, SJ_EXIT_USAGE, "E_POLICY_NAME", "there is no policy named \"%.80s\"", which);

	for (size_t i = 0; i < EMBED_POLICIES; i++)
		names[i] = policy_embedded[i].name;
	near = str_nearest(which, names, EMBED_POLICIES);
	err_why(err, "a policy is a shipped one (smoljail policy list), or a file: then write its path with a / or .json");
	if (near)
		err_fix(err, "did you mean \"%s\"?", near);
	else
		err_fix(err, "for a file in this folder write \"./%.80s\"", which);
	return r;
}

static int refuse_file(const char *path, int error, const char *why, struct sj_err *err)
{
	int r = err_set(err, error, SJ_EXIT_USAGE, "E_POLICY_FILE", "cannot read the policy \"%.200s\"", path);

	err_why(err, "%s", why);
	err_fix(err, "name a readable JSON file of at most %u bytes, or a shipped policy (smoljail policy list)",
		POLICY_FILE_MAX);
	return r;
}

static int read_file(const char *path, struct source *ret, char **ret_text, size_t *ret_len, struct sj_err *err)
{
	_cleanup_close_ int fd = -1;
	struct stat st;
	int r;

	/* O_NONBLOCK: a FIFO must not make the open wait. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return refuse_file(path, errno, strerror(errno), err);
	if (fstat(fd, &st) < 0)
		return refuse_file(path, errno, strerror(errno), err);
	if (!S_ISREG(st.st_mode))
		return refuse_file(path, EINVAL, S_ISDIR(st.st_mode) ? "it is a folder" : "it is not a regular file", err);
	r = io_read_all(fd, POLICY_FILE_MAX, ret_text, ret_len);
	if (r == -EFBIG)
		return refuse_file(path, EFBIG, "it is too large", err);
	if (r < 0)
		return refuse_file(path, -r, strerror(-r), err);
	ret->dev = st.st_dev;
	ret->ino = st.st_ino;
	return 0;
}

/* Shipped documents of another kind. */
static bool is_no_policy(const char *name)
{
	return strcmp(name, "groups") == 0 || strcmp(name, "never") == 0;
}

static int source_read(const char *which, bool path, struct source *ret, struct sj_err *err)
{
	_cleanup_free_ char *text = NULL;
	const char *shipped;
	size_t len;
	int r = 0;

	ret->name = path ? strdup(which) : str_printf("policy %s", which);
	ret->path = path ? strdup(which) : NULL;
	if (!ret->name || (path && !ret->path))
		return err_oom(err);
	if (path) {
		r = read_file(which, ret, &text, &len, err);
		shipped = text;
	} else {
		shipped = is_no_policy(which) ? NULL : policy_shipped_text(which, &len);
		if (!shipped)
			return refuse_name(which, err);
	}
	if (r < 0)
		return r;
	r = base_json_parse(shipped, len, ret->name, &ret->doc, err);
	if (r < 0)
		return r;
	if (json_is_object(ret->doc))
		return 0;
	r = err_set(err, EINVAL, SJ_EXIT_USAGE, "E_POLICY_TYPE", "%.200s: a policy is a JSON object", ret->name);
	err_fix(err, "begin with { and see smoljail policy show python for an example");
	return r;
}

/* "extends" of a document as source_read() takes it; the caller frees. NULL with 0: the defaults come next. */
static int next_source(struct source *s, char **ret, bool *ret_path, struct sj_err *err)
{
	static const struct at at = { NULL, "extends", 0 };
	struct walk w = { .doc = s->name, .err = err };
	json_t *value = json_object_get(s->doc, "extends");
	const char *text = json_string_value(value);
	_cleanup_free_ char *copy = NULL;

	*ret = NULL;
	*ret_path = false;
	if (!value)
		return 0;
	if (!text)
		return refuse_type(&w, &at, field_by_path("extends"), value);
	*ret_path = is_path(text);
	if (*ret_path && !s->path)
		return refuse_value(&w, &at, NULL, text, "a shipped policy extends only shipped ones");
	if (*ret_path && text[0] != '/') {
		copy = strdup(s->path);
		*ret = copy ? str_printf("%s/%s", dirname(copy), text) : NULL;
	} else {
		*ret = strdup(text);
	}
	return *ret ? 0 : err_oom(err);
}

static bool same_source(const struct source *a, const struct source *b)
{
	if (!a->path || !b->path)
		return !a->path && !b->path && strcmp(a->name, b->name) == 0;
	return a->dev == b->dev && a->ino == b->ino;
}

static int check_loop(const struct chain *c, struct sj_err *err)
{
	const struct source *last = &c->docs[c->n - 1];
	int r;

	for (size_t i = 0; i + 1 < c->n; i++) {
		if (!same_source(&c->docs[i], last))
			continue;
		r = err_set(err, ELOOP, SJ_EXIT_USAGE, "E_POLICY_LOOP", "%.160s: extends: comes back to %.160s",
			    c->docs[c->n - 2].name, last->name);
		err_why(err, "a policy cannot extend itself, directly or through others");
		err_fix(err, "let one of them extend a shipped policy, or leave \"extends\" out");
		return r;
	}
	return 0;
}

static int refuse_long(const struct chain *c, struct sj_err *err)
{
	int r = err_set(err, ELOOP, SJ_EXIT_USAGE, "E_POLICY_CHAIN", "%.200s: extends: the chain of policies is too long",
			c->docs[c->n - 1].name);

	err_why(err, "at most %d policies may stand on each other", POLICY_EXTENDS_MAX);
	err_fix(err, "put some of them together in one file");
	return r;
}

int chain_read(const char *which, struct chain *ret, struct sj_err *err)
{
	_cleanup_free_ char *name = strdup(which);
	bool path = is_path(which), last = false;
	int r;

	if (!name)
		return err_oom(err);
	while (!last) {
		struct source *s = &ret->docs[ret->n];
		char *next = NULL;

		if (ret->n > POLICY_EXTENDS_MAX)
			return refuse_long(&(struct chain){ .docs = { ret->docs[ret->n - 1] }, .n = 1 }, err);
		ret->n++;
		last = !path && strcmp(name, POLICY_DEFAULT) == 0;
		r = source_read(name, path, s, err);
		if (r < 0 && ret->n > 1 && err)
			err_why(err, "%.160s extends it; %.300s", s[-1].name, err->why);
		if (r == 0)
			r = check_loop(ret, err);
		if (r == 0)
			r = next_source(s, &next, &path, err);
		if (r < 0)
			return r;
		free(name);
		name = next ? next : strdup(POLICY_DEFAULT);
		if (!name)
			return err_oom(err);
	}
	return 0;
}

void chain_free(struct chain *c)
{
	for (size_t i = 0; i < c->n; i++) {
		free(c->docs[i].name);
		free(c->docs[i].path);
		json_decref(c->docs[i].doc);
	}
	c->n = 0;
}
