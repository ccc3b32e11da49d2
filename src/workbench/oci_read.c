/*
 * oci_read.c - a container's system call profile: its entries, checked
 *
 * Runs as: the caller
 * Trusts: nothing
 * Never: reads an entry otherwise than the runtimes that the profile was written for
 */
#include <stdlib.h>
#include <string.h>

#include "workbench/oci.h"

#define NO_LISTENER "there is no agent here that could be asked; calls with SCMP_ACT_NOTIFY are refused"
#define NO_FLAGS "the flags of the filter are smoljail's own"

/* Read by people only: "" means, not worth a note. */
static const struct oci_key profile_keys[] = {
	{ "defaultAction", OCI_STRING, NULL }, { "defaultErrnoRet", OCI_NUMBER, NULL },
	{ "defaultErrno", OCI_STRING, NULL }, { "archMap", OCI_LIST, NULL }, { "architectures", OCI_STRINGS, NULL },
	{ "syscalls", OCI_LIST, NULL }, { "flags", OCI_STRINGS, NO_FLAGS }, { "listenerPath", OCI_STRING, NO_LISTENER },
	{ "listenerMetadata", OCI_STRING, "" }, { "comment", OCI_STRING, "" }, { "description", OCI_STRING, "" }, { 0 },
};
static const struct oci_key entry_keys[] = {
	{ "name", OCI_STRING, NULL }, { "names", OCI_STRINGS, NULL }, { "action", OCI_STRING, NULL },
	{ "errnoRet", OCI_NUMBER, NULL }, { "errno", OCI_STRING, NULL }, { "args", OCI_LIST, NULL },
	{ "comment", OCI_STRING, "" }, { "includes", OCI_OBJECT, NULL }, { "excludes", OCI_OBJECT, NULL },
	{ "priority", OCI_NUMBER, "" }, { 0 },
};
static const struct oci_key arg_keys[] = {
	{ "index", OCI_NUMBER, NULL }, { "value", OCI_NUMBER, NULL }, { "valueTwo", OCI_NUMBER, NULL },
	{ "op", OCI_STRING, NULL }, { 0 },
};
static const struct oci_key when_keys[] = {
	{ "caps", OCI_STRINGS, NULL }, { "arches", OCI_STRINGS, NULL }, { "minKernel", OCI_STRING, NULL }, { 0 },
};
static const struct oci_key arch_keys[] = {
	{ "architecture", OCI_STRING, NULL }, { "subArchitectures", OCI_STRINGS, NULL }, { 0 },
};

struct name {
	const char *name;
	int value;
};

static const struct name actions[] = {
	{ "SCMP_ACT_ALLOW", OCI_ALLOW }, { "SCMP_ACT_LOG", OCI_LOG }, { "SCMP_ACT_ERRNO", OCI_ERRNO },
	{ "SCMP_ACT_TRACE", OCI_TRACE }, { "SCMP_ACT_NOTIFY", OCI_NOTIFY }, { "SCMP_ACT_TRAP", OCI_TRAP },
	{ "SCMP_ACT_KILL", OCI_KILL_THREAD }, { "SCMP_ACT_KILL_THREAD", OCI_KILL_THREAD },
	{ "SCMP_ACT_KILL_PROCESS", OCI_KILL_PROCESS }, { 0 },
};
static const struct name operators[] = {
	{ "SCMP_CMP_EQ", POLICY_EQ }, { "SCMP_CMP_NE", POLICY_NE }, { "SCMP_CMP_LT", POLICY_LT },
	{ "SCMP_CMP_LE", POLICY_LE }, { "SCMP_CMP_GT", POLICY_GT }, { "SCMP_CMP_GE", POLICY_GE },
	{ "SCMP_CMP_MASKED_EQ", POLICY_MASKED_EQ }, { 0 },
};

/* The word under a key that must be there. */
static int read_word(const struct oci_form *f, const struct oci_at *at, json_t *obj, const char *key,
		     const struct name *names, int *ret)
{
	const struct oci_at here = { at, key, 0 };
	const char *word = json_string_value(oci_get(obj, key));

	if (!word)
		return oci_refuse(f, &here, "it is missing");
	for (; names->name; names++)
		if (strcmp(names->name, word) == 0) {
			*ret = names->value;
			return 0;
		}
	return oci_refuse(f, &here, "\"%.60s\" is not known; it is one such as \"%s\"", word, names[-1].name);
}

/* Podman writes the error's name as well, and goes by it. */
static int read_errno(const struct oci_form *f, const struct oci_at *at, json_t *obj, const char *number_key,
		      const char *name_key, int *ret)
{
	const struct oci_at here = { at, number_key, 0 };
	const char *name = json_string_value(oci_get(obj, name_key));
	json_t *number = oci_get(obj, number_key);
	uint64_t value = 0;
	int r = 0;

	*ret = -1;
	if (number)
		r = oci_number(f, &here, number, FILTER_ERRNO_MAX, &value);
	if (r < 0)
		return r;
	if (number)
		*ret = (int)value;
	if (name && name[0])
		*ret = policy_errno(name);	/* 0: rule_answer() says what becomes of it */
	return 0;
}

/* ---- entries ---------------------------------------------------------------- */

static int read_arg(const struct oci_form *f, const struct oci_at *at, json_t *in, struct oci_arg *ret)
{
	const struct oci_at at_index = { at, "index", 0 }, at_value = { at, "value", 0 }, at_two = { at, "valueTwo", 0 };
	json_t *index = oci_get(in, "index"), *value = oci_get(in, "value"), *two = oci_get(in, "valueTwo");
	uint64_t n = 0;
	int op = 0, r;

	if (!json_is_object(in))
		return oci_refuse(f, at, "it must be an object");
	r = oci_check(f, at, in, arg_keys);
	if (r == 0 && !index)
		r = oci_refuse(f, &at_index, "it is missing");
	if (r == 0)
		r = oci_number(f, &at_index, index, POLICY_RULE_ARGS_MAX - 1, &n);
	ret->index = (unsigned int)n;
	if (r == 0 && value)
		r = oci_number(f, &at_value, value, UINT64_MAX, &ret->value);
	if (r == 0 && two)
		r = oci_number(f, &at_two, two, UINT64_MAX, &ret->value_two);
	if (r == 0)
		r = read_word(f, at, in, "op", operators, &op);
	ret->op = (enum policy_cmp)op;
	return r;
}

static int read_args(const struct oci_form *f, const struct oci_at *entry, json_t *list, struct oci_entry *ret)
{
	const struct oci_at at = { entry, "args", 0 };
	json_t *in;
	size_t i;

	if (json_array_size(list) > OCI_ARGS_MAX)
		return oci_refuse(f, &at, "it has %zu conditions, and at most %d are read", json_array_size(list), OCI_ARGS_MAX);
	json_array_foreach(list, i, in) {
		const struct oci_at here = { &at, NULL, i };
		int r = read_arg(f, &here, in, &ret->args[i]);

		if (r < 0)
			return r;
		ret->n_args = i + 1;
	}
	return 0;
}

static int read_when(const struct oci_form *f, const struct oci_at *entry, const char *key, json_t *in,
		     struct oci_when *ret)
{
	const struct oci_at at = { entry, key, 0 }, at_kernel = { &at, "minKernel", 0 };
	const char *kernel;
	int r;

	if (!in)
		return 0;
	r = oci_check(f, &at, in, when_keys);
	if (r < 0)
		return r;
	ret->caps = oci_get(in, "caps");
	ret->arches = oci_get(in, "arches");
	kernel = json_string_value(oci_get(in, "minKernel"));
	if (kernel && kernel[0] && !oci_kernel(kernel, ret->kernel))
		return oci_refuse(f, &at_kernel, "a kernel is written as two numbers, such as \"4.8\"");
	return 0;
}

static int read_names(const struct oci_form *f, const struct oci_at *at, json_t *in, struct oci_entry *ret)
{
	ret->name = json_string_value(oci_get(in, "name"));
	ret->names = oci_get(in, "names");
	if (ret->name && !ret->name[0])
		ret->name = NULL;
	if (ret->name && json_array_size(ret->names) > 0)
		return oci_refuse(f, at, "it has both \"name\" and \"names\"; runtimes refuse that");
	if (!ret->name && !ret->names)
		return oci_refuse(f, at, "it has neither \"name\" nor \"names\"");
	return 0;
}

static int read_entry(const struct oci_form *f, const struct oci_at *at, json_t *in, struct oci_entry *ret)
{
	int r, action = 0;

	if (!json_is_object(in))
		return oci_refuse(f, at, "it must be an object");
	r = oci_check(f, at, in, entry_keys);
	if (r == 0)
		r = read_names(f, at, in, ret);
	if (r == 0)
		r = read_word(f, at, in, "action", actions, &action);
	ret->action = (enum oci_action)action;
	if (r == 0)
		r = read_errno(f, at, in, "errnoRet", "errno", &ret->error);
	if (r == 0)
		r = read_args(f, at, oci_get(in, "args"), ret);
	if (r == 0)
		r = read_when(f, at, "includes", oci_get(in, "includes"), &ret->includes);
	if (r == 0)
		r = read_when(f, at, "excludes", oci_get(in, "excludes"), &ret->excludes);
	return r;
}

static int read_entries(const struct oci_form *f, const struct oci_at *up, json_t *list, struct oci_profile *ret)
{
	const struct oci_at at = { up, "syscalls", 0 };
	size_t i, names = 0;
	json_t *in;

	if (json_array_size(list) > OCI_ENTRIES_MAX)
		return oci_refuse(f, &at, "it has more than %d entries", OCI_ENTRIES_MAX);
	ret->entries = calloc(json_array_size(list) + 1, sizeof(*ret->entries));
	if (!ret->entries)
		return err_oom(f->err);
	json_array_foreach(list, i, in) {
		const struct oci_at here = { &at, NULL, i };
		int r = read_entry(f, &here, in, &ret->entries[i]);

		if (r < 0)
			return r;
		ret->entries[i].index = i;
		names += json_array_size(ret->entries[i].names) + 1;
		if (names > OCI_NAMES_MAX)
			return oci_refuse(f, &here, "there are more than %d names in all", OCI_NAMES_MAX);
		ret->n = i + 1;
	}
	return 0;
}

/* ---- the whole ----------------------------------------------------------------- */

/* Only checked: one native architecture is what a jail has, and foreign calls end it. */
static int check_arches(const struct oci_form *f, const struct oci_at *up, json_t *profile)
{
	const struct oci_at at = { up, "archMap", 0 };
	json_t *map = oci_get(profile, "archMap"), *in;
	bool several = json_array_size(oci_get(profile, "architectures")) > 1;
	size_t i;

	if (json_array_size(map) > 0 && json_array_size(oci_get(profile, "architectures")) > 0)
		return oci_refuse(f, &at, "there are both \"archMap\" and \"architectures\"; runtimes refuse that");
	json_array_foreach(map, i, in) {
		const struct oci_at here = { &at, NULL, i };
		int r = json_is_object(in) ? oci_check(f, &here, in, arch_keys) : oci_refuse(f, &here, "it must be an object");

		if (r < 0)
			return r;
		several |= json_array_size(oci_get(in, "subArchitectures")) > 0;
	}
	if (several)
		oci_note(f->notes, "oci-arch", f->notes->wrapped ? "linux.seccomp" : "archMap",
			 "calls of other architectures end the jail, so 32-bit programs do not run");
	return 0;
}

static int read_profile(const struct oci_form *f, const struct oci_at *at, json_t *in, struct oci_profile *ret)
{
	int r, action = 0;

	if (!json_is_object(in))
		return oci_refuse(f, at, "it must be an object");
	r = oci_check(f, at, in, profile_keys);
	if (r == 0)
		r = read_word(f, at, in, "defaultAction", actions, &action);
	ret->action = (enum oci_action)action;
	if (r == 0)
		r = read_errno(f, at, in, "defaultErrnoRet", "defaultErrno", &ret->error);
	if (r == 0)
		r = check_arches(f, at, in);
	return r < 0 ? r : read_entries(f, at, oci_get(in, "syscalls"), ret);
}

int oci_parse(const char *text, size_t len, const char *name, struct oci_notes *notes, struct oci_profile *ret,
	      struct sj_err *err)
{
	static const struct oci_at at_linux = { NULL, "linux", 0 }, at_seccomp = { &at_linux, "seccomp", 0 };
	const struct oci_form f = { .file = name, .notes = notes, .err = err };
	_cleanup_profile_ struct oci_profile p = { 0 };
	_cleanup_free_ char *quoted = oci_quote_numbers(text, len, &len);
	json_t *host;
	int r;

	if (!quoted)
		return err_oom(err);
	r = base_json_parse(quoted, len, name, &p.doc, err);
	if (r < 0)
		return r;
	host = oci_get(p.doc, "linux");
	p.wrapped = notes->wrapped = host && !json_object_get(p.doc, "defaultAction");
	if (p.wrapped && !json_is_object(host))
		return oci_refuse(&f, &at_linux, "it must be an object");
	r = p.wrapped ? read_profile(&f, &at_seccomp, oci_get(host, "seccomp"), &p) : read_profile(&f, NULL, p.doc, &p);
	if (r < 0)
		return r;
	*ret = p;
	p = (struct oci_profile){ 0 };
	return 0;
}

void oci_profile_free(struct oci_profile *p)
{
	json_decref(p->doc);
	free(p->entries);
	*p = (struct oci_profile){ 0 };
}
