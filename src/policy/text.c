/*
 * text.c - what names, paths and entries of lists may look like
 *
 * Runs as: supervisor, outside the jail
 * Trusts: nothing
 * Never: looks at the host: paths are judged by their text alone
 */
#include <stdarg.h>
#include <string.h>

#include "policy/internal.h"

#define LABEL_MAX 63	/* of a host name, RFC 1123 */
#define CALL_NAME_MAX 40

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGIT "0123456789"

static bool no(char why[POLICY_WHY_MAX], const char *fmt, ...) _printf_(2, 3);
static bool no(char why[POLICY_WHY_MAX], const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, POLICY_WHY_MAX, fmt, ap);
	va_end(ap);
	return false;
}

/* Only characters of `set`, and the first one of `first`. */
static bool made_of(const char *text, const char *first, const char *set)
{
	return *text && strchr(first, *text) && text[strspn(text, set)] == '\0';
}

static bool has_control(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return true;
	return false;
}

bool text_name(const char *text, char why[POLICY_WHY_MAX])
{
	if (made_of(text, LOWER DIGIT, LOWER DIGIT "._-") && strlen(text) <= POLICY_NAME_MAX)
		return true;
	return no(why, "a name begins with a lower-case letter or a digit, goes on with these or . _ -, "
		  "and has at most %d characters", POLICY_NAME_MAX);
}

bool text_hostname(const char *text, char why[POLICY_WHY_MAX])
{
	const char *label = text;

	while (true) {
		size_t len = strcspn(label, ".");

		if (len == 0 || len > LABEL_MAX || strspn(label, LOWER UPPER DIGIT "-") < len || label[0] == '-' ||
		    label[len - 1] == '-')
			return no(why, "a host name is made of labels joined by dots; a label has 1 to %d letters, "
				  "digits or inner hyphens", LABEL_MAX);
		if (label[len] == '\0')
			return true;
		label += len + 1;
	}
}

/* Absolute, without //, /./, /../ or a slash at the end. */
static bool is_normal(const char *path)
{
	if (path[0] != '/')
		return false;
	if (path[1] == '\0')
		return true;
	while (*path) {
		size_t len = strcspn(path + 1, "/");

		if (len == 0 || (len == 1 && path[1] == '.') || (len == 2 && path[1] == '.' && path[2] == '.'))
			return false;
		path += 1 + len;
	}
	return true;
}

/* path is dir, or lies in it. */
static bool is_inside(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	return strncmp(path, dir, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

static bool check_dst(const char *dst, char why[POLICY_WHY_MAX])
{
	/* What the root is made of, and what smoljail mounts itself: nothing may hide or replace it. */
	static const char *const whole[] = { "/usr", "/etc", "/proc", "/dev", "/sys", "/bin", "/sbin", "/lib",
		"/lib32", "/lib64", "/libx32", "/project", "/packages" };
	static const char *const begin[] = { "/packages-" };
	static const char *const alone[] = { "/", "/tmp", "/work" };

	if (!is_normal(dst) || has_control(dst))
		return no(why, "the place inside, \"%.120s\", must be an absolute path without . .. // or a slash at its end",
			  dst);
	for (size_t i = 0; i < ARRAY_LEN(whole); i++)
		if (is_inside(dst, whole[i]))
			return no(why, "the place inside, \"%.120s\", is in %s, which belongs to the jail itself; write SRC:DST "
				  "with another DST, such as /data", dst, whole[i]);
	for (size_t i = 0; i < ARRAY_LEN(begin); i++)
		if (str_prefix(dst, begin[i]))
			return no(why, "the place inside, \"%.120s\", begins with %s, which belongs to the jail itself; write "
				  "SRC:DST with another DST, such as /data", dst, begin[i]);
	for (size_t i = 0; i < ARRAY_LEN(alone); i++)
		if (strcmp(dst, alone[i]) == 0)
			return no(why, "the place inside may not be %s itself; write SRC:DST with a DST of its own, such as "
				  "/data", dst);
	return true;
}

bool text_dir(const char *text, char why[POLICY_WHY_MAX])
{
	static const char *const kernel[] = { "/proc", "/sys", "/dev" };

	if (text[0] == '\0' || has_control(text))
		return no(why, "a host path has at least one character and no control character");
	if (text[0] == '~')
		return no(why, "~ is not expanded here; write the whole path");
	for (size_t i = 0; i < ARRAY_LEN(kernel); i++)
		if (is_inside(text, kernel[i]))
			return no(why, "nothing of the host's %s may appear in a jail", kernel[i]);
	return true;
}

void text_split_mount(const char *text, size_t *ret_src_len, const char **ret_dst)
{
	const char *colon = strrchr(text, ':');

	*ret_src_len = colon ? (size_t)(colon - text) : strlen(text);
	*ret_dst = colon ? colon + 1 : text;
}

bool text_mount(const char *text, char why[POLICY_WHY_MAX])
{
	char src[POLICY_TEXT_MAX + 1];
	const char *dst, *last;
	size_t len;

	text_split_mount(text, &len, &dst);
	if (len >= sizeof(src))
		return no(why, "a host path has at most %d bytes", POLICY_TEXT_MAX);
	memcpy(src, text, len);
	src[len] = '\0';
	if (!text_dir(src, why))
		return false;
	if (dst == text && src[0] != '/') {
		last = strrchr(src, '/');
		return no(why, "a relative path needs its place inside as well, such as \"%.80s:/%.80s\"", src,
			  last && last[1] ? last + 1 : "data");
	}
	return check_dst(dst, why);
}

/*
 * The dynamic loader and iconv() obey these while the guest starts, which is
 * before the system call filter is in place. No policy may set them.
 */
static bool is_loader_name(const char *name)
{
	return str_prefix(name, "LD_") || strcmp(name, "GLIBC_TUNABLES") == 0 || strcmp(name, "GCONV_PATH") == 0;
}

bool text_env_name(const char *text, char why[POLICY_WHY_MAX])
{
	if (!made_of(text, LOWER UPPER "_", LOWER UPPER DIGIT "_"))
		return no(why, "the name of a variable is made of letters, digits and _, and does not begin with a digit");
	if (strlen(text) > 255)
		return no(why, "the name of a variable has at most 255 characters");
	if (is_loader_name(text))
		return no(why, "the loader would obey it while the jail starts, before the system call filter is in place");
	return true;
}

bool text_call(const char *text, char why[POLICY_WHY_MAX])
{
	if (made_of(text, LOWER "_", LOWER DIGIT "_") && strlen(text) <= CALL_NAME_MAX)
		return true;
	return no(why, "the name of a system call is made of lower-case letters, digits and _, as the kernel writes it");
}

bool text_call_entry(const char *text, char why[POLICY_WHY_MAX])
{
	const char *name = text + (text[0] == '!');

	if (name[0] != '@')
		return text_call(name, why);
	if (made_of(name + 1, LOWER, LOWER DIGIT "-") && strlen(name) <= POLICY_NAME_MAX)
		return true;
	return no(why, "the name of a group is @ and lower-case letters, digits and hyphens");
}

bool text_extends(const char *text, char why[POLICY_WHY_MAX])
{
	if (text[0] && !has_control(text))
		return true;
	return no(why, "it names a shipped policy, or the path of a file");
}
