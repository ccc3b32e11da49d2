/*
 * oci_select.c - which entries of a profile count: by capabilities, architecture and kernel
 *
 * Runs as: the caller
 * Trusts: nothing of the profile
 * Never: counts an entry that Docker would leave out
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "workbench/oci.h"

#ifdef __x86_64__
#define NATIVE "amd64"
#else
#define NATIVE "arm64"
#endif

#define CAP_MAX 40	/* of a capability's name */

static int refuse(struct sj_err *err, const char *flag, const char *value, const char *fix)
{
	int r = err_set(err, EINVAL, SJ_EXIT_USAGE, "E_IMPORT", "%s: \"%.60s\" is not understood", flag, value);

	err_why(err, "it decides which entries of the profile count");
	err_fix(err, "%s", fix);
	return r;
}

/* "sys_admin", "CAP_SYS_ADMIN" -> "CAP_SYS_ADMIN". */
static int add_cap(struct oci_here *h, const char *name, size_t len, struct sj_err *err)
{
	static const char fix[] = "write capabilities as in CAP_SYS_CHROOT,CAP_SYSLOG";
	char cap[CAP_MAX + 1] = "CAP_", word[CAP_MAX + 1];
	size_t skip = len > 4 && strncasecmp(name, "CAP_", 4) == 0 ? 4 : 0;

	snprintf(word, sizeof(word), "%.*s", (int)len, name);
	if (len <= skip || len - skip > CAP_MAX - 4)
		return refuse(err, "--caps", word, fix);
	for (size_t i = skip; i < len; i++) {
		unsigned char c = (unsigned char)name[i];

		if (!isalnum(c) && c != '_')
			return refuse(err, "--caps", word, fix);
		cap[4 + i - skip] = (char)toupper(c);
	}
	return strv_push(&h->caps, cap) < 0 ? err_oom(err) : 0;
}

static int add_caps(struct oci_here *h, const char *list, struct sj_err *err)
{
	while (*list) {
		size_t len = strcspn(list, ",");
		int r = add_cap(h, list, len, err);

		if (r < 0)
			return r;
		list += len + (list[len] == ',');
	}
	return 0;
}

/* "6.1.0-13-amd64" -> 6.1 */
static int running_kernel(unsigned int ret[2], struct sj_err *err)
{
	struct utsname u;
	char text[16];
	size_t n;

	if (uname(&u) < 0)
		return refuse(err, "--kernel", "?", "say which kernel the profile is for, as in --kernel 5.10");
	n = strspn(u.release, "0123456789");
	n += u.release[n] == '.' ? 1 + strspn(u.release + n + 1, "0123456789") : 0;
	snprintf(text, sizeof(text), "%.*s", (int)n, u.release);
	return oci_kernel(text, ret) ? 0 : refuse(err, "--kernel", u.release, "give it as two numbers, as in --kernel 5.10");
}

int oci_here(const struct sj_policy_import *from, struct oci_here *ret, struct sj_err *err)
{
	struct oci_here h = { .arch = from->arch ? from->arch : NATIVE };
	int r = 0;

	if (h.arch[0] == '\0' || h.arch[strspn(h.arch, "abcdefghijklmnopqrstuvwxyz0123456789")] != '\0')
		return refuse(err, "--arch", h.arch, "write it as profiles do: amd64, arm64 ...");
	if (!from->kernel)
		r = running_kernel(h.kernel, err);
	else if (!oci_kernel(from->kernel, h.kernel))
		r = refuse(err, "--kernel", from->kernel, "give it as two numbers, as in --kernel 5.10");
	if (r == 0 && from->caps)
		r = add_caps(&h, from->caps, err);
	if (r < 0) {
		oci_here_free(&h);
		return r;
	}
	*ret = h;
	return 0;
}

void oci_here_free(struct oci_here *h)
{
	base_strv_freep(&h->caps);
}

static bool has_cap(const struct oci_here *here, const char *cap)
{
	for (char **c = here->caps; c && *c; c++)
		if (strcasecmp(*c, cap) == 0)
			return true;
	return false;
}

static bool lists(const json_t *list, const char *word)
{
	json_t *entry;
	size_t i;

	json_array_foreach(list, i, entry)
		if (strcmp(json_string_value(entry), word) == 0)
			return true;
	return false;
}

static bool is_from(const struct oci_here *here, const unsigned int kernel[2])
{
	return here->kernel[0] > kernel[0] || (here->kernel[0] == kernel[0] && here->kernel[1] >= kernel[1]);
}

static bool excluded(const struct oci_when *w, const struct oci_here *here)
{
	json_t *cap;
	size_t i;

	json_array_foreach(w->caps, i, cap)
		if (has_cap(here, json_string_value(cap)))
			return true;
	return lists(w->arches, here->arch) || (w->kernel[0] + w->kernel[1] > 0 && is_from(here, w->kernel));
}

static bool included(const struct oci_when *w, const struct oci_here *here)
{
	json_t *cap;
	size_t i;

	json_array_foreach(w->caps, i, cap)
		if (!has_cap(here, json_string_value(cap)))
			return false;
	if (json_array_size(w->arches) > 0 && !lists(w->arches, here->arch))
		return false;
	return is_from(here, w->kernel);
}

bool oci_applies(const struct oci_entry *e, const struct oci_here *here)
{
	return !excluded(&e->excludes, here) && included(&e->includes, here);
}
