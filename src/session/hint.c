/*
 * hint.c - one line for people: what would have made this run work
 *
 * Runs as: the supervisor, after the jail is gone
 * Trusts: nothing; names from inside are checked before they become part of a host path
 * Never: looks further than beside the caller's own script
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "session/internal.h"

#define HINT_NAME_MAX 100

/* ---- text from inside ---------------------------------------------------------- */

/* Length of one well-formed UTF-8 character at s (at most `left` bytes), 0 if it is none. */
static size_t utf8_len(const unsigned char *s, size_t left)
{
	static const unsigned int lowest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;
	unsigned int c = n == 1 ? s[0] : s[0] & (0x7fu >> n);

	if (n == 0 || n > left)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	return n == 1 || (c >= lowest[n] && c <= 0x10ffff && (c < 0xd800 || c > 0xdfff)) ? n : 0;
}

void text_clean(const char *from, size_t max, char *ret, size_t len, bool one_line)
{
	const unsigned char *s = (const unsigned char *)from;
	size_t left = strnlen(from, max), at = 0;

	while (left > 0) {
		size_t n = utf8_len(s, left);
		const char *put = n ? (const char *)s : "\xef\xbf\xbd";
		size_t put_len = n ? n : 3;

		if (one_line && n && (s[0] < 0x20 || s[0] == 0x7f || (n == 2 && s[0] == 0xc2 && s[1] < 0xa0))) {
			put = " ";
			put_len = 1;
		}
		if (at + put_len >= len)
			break;
		memcpy(ret + at, put, put_len);
		at += put_len;
		s += n ? n : 1;
		left -= n ? n : 1;
	}
	ret[at] = '\0';
}

void claim_copy(const volatile struct wire_claim *from, struct wire_claim *ret)
{
	struct wire_claim raw;

	/* Once: what the guest still changes afterwards is not looked at. */
	memcpy(&raw, (const void *)(uintptr_t)from, sizeof(raw));
	*ret = (struct wire_claim){ .outcome = raw.outcome, .line = raw.line };
	text_clean(raw.type, sizeof(raw.type), ret->type, sizeof(ret->type), true);
	text_clean(raw.name, sizeof(raw.name), ret->name, sizeof(ret->name), true);
	text_clean(raw.file, sizeof(raw.file), ret->file, sizeof(ret->file), true);
	text_clean(raw.message, sizeof(raw.message), ret->message, sizeof(ret->message), true);
}

/* ---- a module that was not found -------------------------------------------------- */

/* First part of "package.module", if it is a plain identifier. */
static bool first_name(const char *dotted, char ret[HINT_NAME_MAX + 1])
{
	size_t n = strcspn(dotted, ".");

	if (n == 0 || n > HINT_NAME_MAX || isdigit((unsigned char)dotted[0]))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isascii((unsigned char)dotted[i]) || (!isalnum((unsigned char)dotted[i]) && dotted[i] != '_'))
			return false;
	memcpy(ret, dotted, n);
	ret[n] = '\0';
	return true;
}

static bool exists(const char *dir, int dir_len, const char *name, const char *tail)
{
	_cleanup_free_ char *path = str_printf("%.*s/%s%s", dir_len, dir, name, tail);
	struct stat st;

	return path && stat(path, &st) == 0 && (tail[0] ? S_ISREG(st.st_mode) : S_ISDIR(st.st_mode));
}

static bool hint_neighbour(const struct session_run *run, const char *name, struct session_report *r)
{
	const char *slash = run->target ? strrchr(run->target, '/') : NULL;
	const char *dir = slash ? run->target : ".";
	int len = !slash ? 1 : slash == run->target ? 0 : (int)(slash - run->target);

	if (run->mode != WIRE_MODE_FILE || run->dir)
		return false;
	if (!exists(dir, len, name, ".py") && !exists(dir, len, name, ""))
		return false;
	snprintf(r->hint, sizeof(r->hint),
		 "\"%s\" is beside the script, but only the script itself is in the jail; make its folder visible with --dir %.*s",
		 name, len ? len : 1, len ? dir : "/");
	return true;
}

/* Parts of the standard library that roots leave out: no package on earth brings them back. */
static bool left_out_of_stdlib(const char *name)
{
	static const char *const names[] = {
		"tkinter", "turtle", "turtledemo", "idlelib", "ensurepip", "venv", "test", "lib2to3", "pydoc_data",
		"curses", "readline", "distutils", "msilib", "winreg", "winsound", "msvcrt",
	};

	if (name[0] == '_')
		return true;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/* Packages whose name is not that of their module. */
static const char *package_of(const char *module)
{
	static const struct { const char *module, *package; } known[] = {
		{ "PIL", "pillow" }, { "cv2", "opencv-python-headless" }, { "sklearn", "scikit-learn" },
		{ "skimage", "scikit-image" }, { "yaml", "pyyaml" }, { "bs4", "beautifulsoup4" },
		{ "dateutil", "python-dateutil" }, { "dotenv", "python-dotenv" }, { "Crypto", "pycryptodome" },
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (strcmp(module, known[i].module) == 0)
			return known[i].package;
	return module;
}

static void hint_package(const struct session_run *run, const char *name, struct session_report *r)
{
	char *const *given = run->policy->python.packages;

	if (left_out_of_stdlib(name))
		snprintf(r->hint, sizeof(r->hint), "the root \"%s\" has no module \"%s\"", run->policy->files.root, name);
	else if (given && given[0])
		snprintf(r->hint, sizeof(r->hint), "no \"%s\" in the folder given with --packages; pip install --target %s %s",
			 name, given[0], package_of(name));
	else
		snprintf(r->hint, sizeof(r->hint),
			 "no \"%s\" in the jail: pip install --target DIR %s, then smoljail run --packages DIR",
			 name, package_of(name));
}

/* ---- an operation that the policy refused -------------------------------------------- */

/*
 * Did the exception come of this refusal? By errno, where the message has one: a failed look-up of a name
 * comes of a refused socket, a thread that does not start of a refused clone.
 */
static bool explains(const struct session_denial *d, const char *message)
{
	char number[24];

	snprintf(number, sizeof(number), "[Errno %d]", d->error);
	if (strstr(message, number))
		return true;
	if (str_prefix(d->what, "loading \""))
		return strstr(message, NOTES_NOT_MAPPED);
	if (str_prefix(d->what, "clone("))
		return strstr(message, "start new thread");
	return str_prefix(d->what, "socket(") && (strstr(message, "name resolution") || strstr(message, "[Errno -"));
}

/* Is the path that a note of the guest names also the one that the exception complains of? */
static bool same_path(const struct session_denial *d, const char *message)
{
	const char *from = strchr(d->what, '"'), *to = strrchr(d->what, '"');
	_cleanup_free_ char *path = from && to > from + 1 ? strndup(from + 1, (size_t)(to - from) - 1) : NULL;

	return !from || (path && strstr(message, path));
}

static void say_denied(const struct session_denial *d, const char *before, struct session_report *r)
{
	char where[64] = "";

	if (d->where.line && d->where.file[0])
		snprintf(where, sizeof(where), " in line %d", d->where.line);
	if (d->nr < 0 && d->error == ENOENT && d->allow_with[0])
		snprintf(r->hint, sizeof(r->hint), "%s%s: the host has %s, the jail does not; to show it: %.120s", d->what, where,
			 str_prefix(d->allow_with, "--rw") ? "that folder" : "it", d->allow_with);
	else
		snprintf(r->hint, sizeof(r->hint), "%s%s%s (%s)%s%.160s", before, d->what, where, session_denial_rule(d),
			 d->allow_with[0] ? "; to allow it: " : d->never[0] ? "; not offered: " : "",
			 d->allow_with[0] ? d->allow_with : d->never);
}

static void hint_denied(struct session_report *r)
{
	for (size_t i = r->n_denied; i > 0; i--) {
		const struct session_denial *d = &r->denied[i - 1];

		if (!explains(d, r->claim.message) || (d->nr < 0 && !same_path(d, r->claim.message)))
			continue;
		say_denied(d, "the policy denied ", r);
		return;
	}
}

/* Some libraries do not notice a refusal and wait for what can no longer come, as asyncio does for a datagram not sent. */
static void hint_timeout(struct session_report *r)
{
	for (size_t i = r->n_denied; i > 0; i--)
		if (r->denied[i - 1].nr >= 0) {
			say_denied(&r->denied[i - 1], "it may have waited for something that the policy denied: ", r);
			return;
		}
}

static void hint_command(const struct session_run *run, struct session_report *r)
{
	if (r->claim.line == ENOENT)
		snprintf(r->hint, sizeof(r->hint), "commands come from the root, not from the host; see what it has: "
			 "smoljail run --policy shell -- ls /usr/bin");
	else if (r->n_denied)
		snprintf(r->hint, sizeof(r->hint), "the policy \"%s\" lets no program be executed; --policy shell does",
			 run->policy->name ? run->policy->name : "?");
}

void hint_make(const struct session_run *run, struct session_report *r)
{
	char name[HINT_NAME_MAX + 1];

	r->hint[0] = '\0';
	if (run->mode == WIRE_MODE_EXEC && r->claim.outcome == WIRE_OUTCOME_EXEC_FAILED && !r->ran)
		hint_command(run, r);
	if (r->status == STATUS_TIMEOUT)
		hint_timeout(r);
	if (r->status != STATUS_ERROR)
		return;
	if (strcmp(r->claim.type, "ModuleNotFoundError") != 0)
		hint_denied(r);
	else if (first_name(r->claim.name, name) && !hint_neighbour(run, name, r))
		hint_package(run, name, r);
}
