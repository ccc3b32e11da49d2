/*
 * never.c - what no suggestion offers to a program, from policies/never.json
 *
 * Runs as: supervisor, outside the jail
 * Trusts: the shipped document; a path is whatever a jailed program asked for
 * Never: looks at a file
 */
#include <fnmatch.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "policy/internal.h"

/* One pattern against a path, or against a folder above it. */
static bool covers(const char *pattern, const char *path)
{
	return fnmatch(pattern, path, FNM_PATHNAME | FNM_LEADING_DIR) == 0;
}

/* "~/.ssh": of root, of anybody below /home, and of the caller. */
static bool covers_home(const char *rest, const char *path, bool below)
{
	const char *homes[] = { "/root", "/home/*", getenv("HOME") };

	for (size_t i = 0; i < ARRAY_LEN(homes); i++) {
		_cleanup_free_ char *pattern = homes[i] && homes[i][0] == '/' ? str_printf("%s%s", homes[i], rest) : NULL;

		if (pattern && (below ? covers(pattern, path) : fnmatch(pattern, path, FNM_PATHNAME) == 0))
			return true;
	}
	return false;
}

static bool matches(const char *kind, const char *pattern, const char *path)
{
	const char *name = strrchr(path, '/');

	if (strcmp(kind, "names") == 0)
		return fnmatch(pattern, name ? name + 1 : path, 0) == 0;
	if (pattern[0] == '~')
		return covers_home(pattern + 1, path, strcmp(kind, "paths") == 0);
	return strcmp(kind, "paths") == 0 ? covers(pattern, path) : fnmatch(pattern, path, FNM_PATHNAME) == 0;
}

static bool any_matches(const char *kind, json_t *patterns, const char *path)
{
	json_t *pattern;
	size_t i;

	json_array_foreach(patterns, i, pattern)
		if (json_is_string(pattern) && matches(kind, json_string_value(pattern), path))
			return true;
	return false;
}

bool policy_never_offered(const char *path, char *ret_reason, size_t len)
{
	static const char *const kinds[] = { "paths", "names", "whole" };
	size_t size = 0, i;
	const char *text = policy_shipped_text("never", &size);
	_cleanup_json_ json_t *doc = text ? json_loadb(text, size, 0, NULL) : NULL;
	json_t *entry;

	for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
		json_array_foreach(json_object_get(doc, kinds[k]), i, entry) {
			if (!any_matches(kinds[k], json_object_get(entry, "match"), path))
				continue;
			snprintf(ret_reason, len, "%s", json_string_value(json_object_get(entry, "reason")));
			return true;
		}
	if (doc)
		return false;
	/* Without the list nothing is offered. */
	snprintf(ret_reason, len, "the list of what is never offered cannot be read");
	return true;
}

bool policy_mount_possible(const char *text)
{
	char why[POLICY_WHY_MAX];

	return text_mount(text, why);
}
