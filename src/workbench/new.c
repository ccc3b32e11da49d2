/*
 * new.c - a policy from four answers: what runs, which folders, which network, how much
 *
 * Runs as: the caller
 * Trusts: nothing of the answers
 * Never: hands out a policy that `check` refuses
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "workbench/internal.h"

/* What a policy of each kind stands on, and what its author should know. */
static const struct kind {
	const char *word, *extends, *comment;
} kinds[] = {
	{ "snippets", "python-strict", "For snippets of Python that only compute: no processes, no threads, no sockets." },
	{ "scripts", "python", "For Python scripts: threads, processes, asyncio; nothing of the host but what is listed here." },
	{ "packages", "python-data", "For Python scripts with packages such as numpy and pandas, which start threads of their own." },
	{ "shell", "shell", "For shell commands and any program of the root." },
};

const char *workbench_kind(size_t i)
{
	return i < ARRAY_LEN(kinds) ? kinds[i].word : NULL;
}

static const struct kind *find_kind(const char *word, struct sj_err *err)
{
	const char *names[ARRAY_LEN(kinds)], *near;

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		names[i] = kinds[i].word;
		if (strcmp(word, kinds[i].word) == 0)
			return &kinds[i];
	}
	near = str_nearest(word, names, ARRAY_LEN(names));
	err_set(err, EINVAL, SJ_EXIT_USAGE, "E_ANSWER", "what runs: \"%.80s\" is none of the kinds of programs", word);
	err_why(err, "a policy starts from snippets, scripts, packages or shell");
	err_fix(err, near ? "did you mean \"%s\"?" : "choose one of them", near);
	return NULL;
}

static json_t *list_of(char *const *entries)
{
	json_t *list = json_array();

	for (; entries && *entries; entries++)
		if (json_array_append_new(list, json_string(*entries)) < 0) {
			json_decref(list);
			return NULL;
		}
	return list;
}

static bool has(char *const *entries)
{
	return entries && *entries;
}

static json_t *files_of(const struct sj_policy_answers *a)
{
	json_t *files = json_pack("{s:s}", "comment",
				  has(a->write) ? "SRC:DST, a folder of the host and where it appears. No limit bounds what is written there."
				  : has(a->read) ? "SRC:DST, a folder of the host and where it appears, read-only."
						 : "Nothing of the host is visible but the root; /work and /tmp are private and empty.");

	if (has(a->read))
		json_object_set_new(files, "read", list_of(a->read));
	if (has(a->write))
		json_object_set_new(files, "write", list_of(a->write));
	return files;
}

static json_t *network_of(const struct sj_policy_answers *a)
{
	const char *mode = a->network ? a->network : "none";

	return json_pack("{s:s, s:s}", "comment",
			 strcmp(mode, "none") == 0 ? "Internet sockets answer that the network is unreachable."
			 : strcmp(mode, "host") == 0 ? "Not isolated: everything that the host reaches, its local services too."
						     : "A private 127.0.0.1 and ::1, for programs that talk among themselves.",
			 "mode", mode);
}

static json_t *limits_of(const struct sj_policy_answers *a)
{
	json_t *limits = json_pack("{s:s}", "comment", "`smoljail run --report r.json` says what a run really used.");

	if (a->memory)
		json_object_set_new(limits, "memory", json_string(a->memory));
	if (a->time)
		json_object_set_new(limits, "wall", json_string(a->time));
	return limits;
}

static json_t *document(const struct kind *kind, const struct sj_policy_answers *a)
{
	json_t *doc = json_pack("{s:[s, s, s]}", "comment", kind->comment,
				"`smoljail policy check` says whether it is right, `smoljail policy show --expand` which system calls it allows.",
				"`smoljail policy trace` says what a program really does, to make it tighter.");

	if (!doc)
		return NULL;
	json_object_set_new(doc, "extends", json_string(kind->extends));
	json_object_set_new(doc, "description", json_string(a->description ? a->description : "made by smoljail policy new"));
	json_object_set_new(doc, "limits", limits_of(a));
	json_object_set_new(doc, "files", files_of(a));
	json_object_set_new(doc, "network", network_of(a));
	return doc;
}

/* Folders whose private parts are larger than a smaller memory: they are cut to fit. */
static void fit_folders(json_t *doc, const struct sj_policy_answers *a)
{
	static const char *const folders[] = { "tmp", "work", "shm" };
	uint64_t memory;
	char size[32];

	if (!a->memory || policy_parse_size(a->memory, &memory) < 0 || memory == 0 || memory >= 4ull << 30)
		return;
	snprintf(size, sizeof(size), "%lluK", (unsigned long long)(memory / 4 / 1024));
	for (size_t i = 0; i < ARRAY_LEN(folders); i++)
		json_object_set_new(json_object_get(doc, "files"), folders[i], json_pack("{s:s}", "size", size));
}

static int check(const char *text, struct sj_err *err)
{
	_cleanup_policy_ struct policy *p = NULL;
	_cleanup_json_ json_t *doc = NULL;
	int r = base_json_parse(text, strlen(text), "the new policy", &doc, err);

	return r < 0 ? r : policy_load_doc(doc, NULL, "the new policy", NULL, 0, &p, err);
}

/* Does the policy with its standing folders say that they hold more than its memory? */
static bool folders_too_large(const json_t *doc)
{
	_cleanup_json_ json_t *copy = json_deep_copy(doc);
	_cleanup_policy_ struct policy *p = NULL;

	if (policy_load_doc(copy, NULL, "the new policy", NULL, 0, &p, NULL) < 0)
		return false;
	return p->limits.memory && p->files.tmp.size + p->files.work.size + p->files.shm.size > p->limits.memory;
}

static int refuse_text(const char *what, struct sj_err *err)
{
	err_set(err, EINVAL, SJ_EXIT_USAGE, "E_ANSWER", "%s: the answer is no text", what);
	err_why(err, "a policy is UTF-8, and this is not");
	err_fix(err, "give the folder a name in UTF-8, or write the policy by hand");
	return -EINVAL;
}

/* What JSON cannot hold must not be left out without a word. */
static int check_text(const char *what, const char *text, struct sj_err *err)
{
	_cleanup_json_ json_t *value = text ? json_string(text) : NULL;

	return text && !value ? refuse_text(what, err) : 0;
}

static int check_answers(const struct sj_policy_answers *a, struct sj_err *err)
{
	int r = check_text("description", a->description, err);

	for (char *const *s = a->read; s && *s && r == 0; s++)
		r = check_text("folders to read", *s, err);
	for (char *const *s = a->write; s && *s && r == 0; s++)
		r = check_text("folders to write", *s, err);
	if (r == 0)
		r = check_text("network", a->network, err);
	if (r == 0)
		r = check_text("memory", a->memory, err);
	return r < 0 ? r : check_text("time", a->time, err);
}

int workbench_new(const struct sj_policy_answers *answers, char **ret, struct sj_err *err)
{
	_cleanup_json_ json_t *doc = NULL;
	_cleanup_free_ char *text = NULL;
	const struct kind *kind = find_kind(answers->kind ? answers->kind : "scripts", err);
	int r = kind ? check_answers(answers, err) : -EINVAL;

	if (r < 0)
		return r;
	doc = document(kind, answers);
	if (doc && folders_too_large(doc))
		fit_folders(doc, answers);
	text = words_json(doc);
	if (!text)
		return err_oom(err);
	r = check(text, err);
	if (r == 0)
		*ret = steal_ptr(text);
	return r;
}
