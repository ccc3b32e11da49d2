/*
 * manifest.c - the list of what a root holds, parsed as if an enemy had written it
 *
 * Runs as: anyone, outside the jail
 * Trusts: nothing; text is bounded by ROOT_MANIFEST_MAX before it comes here
 * Never: performs a system call, or lets a path leave the root
 */
#include <stdlib.h>
#include <string.h>

#include "root/internal.h"

#define ENTRIES_FIRST 256u
#define SIZE_DIGITS_MAX 18u
#define MODE_DIGITS 4u

/* Cut the field off that ends at the next space; NULL if none does. */
static char *next_field(char **cursor)
{
	char *start = *cursor, *space = strchr(start, ' ');

	if (!space || space == start)
		return NULL;
	*space = '\0';
	*cursor = space + 1;
	return start;
}

static const char *parse_mode(const char *s, unsigned int *ret)
{
	unsigned int mode = 0;

	if (strlen(s) != MODE_DIGITS || s[0] != '0')
		return "the mode is not four octal digits below 1000";
	for (; *s; s++) {
		if (*s < '0' || *s > '7')
			return "the mode is not four octal digits below 1000";
		mode = mode << 3 | (unsigned int)(*s - '0');
	}
	*ret = mode;
	return NULL;
}

static const char *parse_size(const char *s, uint64_t *ret)
{
	uint64_t size = 0;

	if (strlen(s) > SIZE_DIGITS_MAX || (s[0] == '0' && s[1]))
		return "the size is not a plain number";
	for (; *s; s++) {
		if (*s < '0' || *s > '9')
			return "the size is not a plain number";
		size = size * 10 + (uint64_t)(*s - '0');
	}
	*ret = size;
	return NULL;
}

/* Relative, in its shortest form, without a way up. */
static bool path_ok(const char *path)
{
	const char *part = path;

	if (strlen(path) > ROOT_PATH_MAX)
		return false;
	for (const unsigned char *p = (const unsigned char *)path; *p; p++)
		if (*p <= ' ' || *p == 0x7f)
			return false;
	if (strcmp(path, ".") == 0)
		return true;
	for (;;) {
		size_t len = strcspn(part, "/");

		if (len == 0 || (len == 1 && part[0] == '.') || (len == 2 && part[0] == '.' && part[1] == '.'))
			return false;
		if (!part[len])
			return true;
		part += len + 1;
	}
}

static const char *check_what(const struct manifest_entry *e)
{
	size_t len = strlen(e->what);

	switch (e->type) {
	case MANIFEST_DIR:
		return e->size == 0 && strcmp(e->what, "-") == 0 ? NULL : "a folder has size 0 and no digest";
	case MANIFEST_FILE:
		if (len != MANIFEST_DIGEST_LEN || strspn(e->what, "0123456789abcdef") != len)
			return "the digest is not 64 hexadecimal digits";
		return NULL;
	case MANIFEST_LINK:
		return len == e->size && len <= ROOT_PATH_MAX ? NULL : "the size of a link is not that of its target";
	}
	return "the type is none of d, f, l";
}

/* Returns what is wrong with the line, or NULL. */
static const char *parse_line(char *line, struct manifest_entry *ret)
{
	struct manifest_entry e = { 0 };
	char *type = next_field(&line), *mode, *size;
	const char *wrong;

	mode = type ? next_field(&line) : NULL;
	size = mode ? next_field(&line) : NULL;
	e.what = size ? next_field(&line) : NULL;
	e.path = line;
	if (!e.what)
		return "it does not hold five fields";
	if (type[1] || !strchr("dfl", type[0]))
		return "the type is none of d, f, l";
	e.type = (enum manifest_type)type[0];
	wrong = parse_mode(mode, &e.mode);
	if (!wrong)
		wrong = parse_size(size, &e.size);
	if (!wrong)
		wrong = check_what(&e);
	if (!wrong && !path_ok(e.path))
		wrong = "the path is not a plain relative one";
	if (!wrong && strcmp(e.path, ".") == 0 && e.type != MANIFEST_DIR)
		wrong = "the root itself is not a folder";
	if (!wrong)
		*ret = e;
	return wrong;
}

static int add_entry(struct manifest *m, size_t *size, const struct manifest_entry *e)
{
	if (m->n == *size) {
		size_t want = *size ? *size * 2 : ENTRIES_FIRST;
		struct manifest_entry *grown = realloc(m->entries, want * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		m->entries = grown;
		*size = want;
	}
	m->entries[m->n++] = *e;
	return 0;
}

static int refuse(struct sj_err *err, const char *name, size_t line, const char *wrong)
{
	err_set(err, EBADMSG, SJ_EXIT_SETUP, "E_ROOT_MANIFEST", "the manifest \"%s\" is damaged", name);
	if (line)
		err_why(err, "line %zu: %s", line, wrong);
	else
		err_why(err, "%s", wrong);
	err_fix(err, "build the root again (make), or install it again");
	return -EBADMSG;
}

static int parse_lines(struct manifest *m, size_t len, const char *name, struct sj_err *err)
{
	char *line = m->text, *end = m->text + len;
	size_t size = 0;

	if (len == 0 || end[-1] != '\n' || memchr(line, '\0', len))
		return refuse(err, name, 0, "it is empty, cut off, or not text");
	while (line < end) {
		char *newline = strchr(line, '\n');
		struct manifest_entry e;
		const char *wrong;

		*newline = '\0';
		wrong = parse_line(line, &e);
		if (!wrong && m->n > 0 && strcmp(m->entries[m->n - 1].path, e.path) >= 0)
			wrong = "the paths are not sorted, or one stands there twice";
		if (!wrong && m->n == ROOT_ENTRIES_MAX)
			wrong = "it has too many lines";
		if (wrong)
			return refuse(err, name, m->n + 1, wrong);
		if (add_entry(m, &size, &e) < 0)
			return err_oom(err);
		line = newline + 1;
	}
	if (!manifest_lookup(m, "."))
		return refuse(err, name, 0, "the root itself, \".\", is not in it");
	return 0;
}

int manifest_parse(char *text, size_t len, const char *name, struct manifest *ret, struct sj_err *err)
{
	_cleanup_manifest_ struct manifest m = { .text = text };
	int r = parse_lines(&m, len, name, err);

	if (r < 0)
		return r;
	*ret = m;
	m = (struct manifest){ 0 };
	return 0;
}

static int compare_path(const void *key, const void *entry)
{
	return strcmp(key, ((const struct manifest_entry *)entry)->path);
}

const struct manifest_entry *manifest_lookup(const struct manifest *m, const char *path)
{
	return bsearch(path, m->entries, m->n, sizeof(*m->entries), compare_path);
}

void manifest_clear(struct manifest *m)
{
	if (!m)
		return;
	free(m->text);
	free(m->entries);
	*m = (struct manifest){ 0 };
}
