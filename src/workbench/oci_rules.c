/*
 * oci_rules.c - entries of a profile as rules: one call, one answer, strictest first
 *
 * Runs as: the caller
 * Trusts: nothing
 * Never: lets the order of entries make a rule weaker
 */
#include <stdlib.h>
#include <string.h>

#include "workbench/oci.h"

struct build {
	const struct oci_profile *profile;
	const struct oci_notes *notes;
	struct sj_err *err;
	struct oci_set *set;
	bool noted[OCI_KILL_PROCESS + 1];
	struct oci_names unknown, elsewhere, mixed;
};

/* ---- notes about many names ------------------------------------------------ */

void oci_names_add(struct oci_names *names, const char *name)
{
	for (size_t i = 0; i < names->n_listed; i++)
		if (strncmp(names->listed[i], name, OCI_NAME_MAX) == 0)
			return;
	if (names->n_listed < OCI_LISTED_MAX)
		snprintf(names->listed[names->n_listed++], sizeof(names->listed[0]), "%.*s%s", OCI_NAME_MAX, name,
			 strlen(name) > OCI_NAME_MAX ? "..." : "");
	names->n++;
}

void oci_names_note(const struct oci_notes *notes, const struct oci_names *names, const char *id, const char *what)
{
	char list[OCI_LISTED_MAX * (OCI_NAME_MAX + 6) + 32];
	size_t at = 0;

	if (names->n == 0)
		return;
	for (size_t i = 0; i < names->n_listed; i++)
		at += (size_t)snprintf(list + at, sizeof(list) - at, "%s%s", i ? ", " : "", names->listed[i]);
	if (names->n > names->n_listed)
		snprintf(list + at, sizeof(list) - at, " and %zu more", names->n - names->n_listed);
	oci_note(notes, id, notes->wrapped ? "linux.seccomp.syscalls" : "syscalls", "%s: %s", what, list);
}

/* ---- answers ------------------------------------------------------------------ */

bool oci_same(const struct oci_answer *a, const struct oci_answer *b)
{
	return a->action == b->action && a->error == b->error;
}

int oci_strictness(const struct oci_answer *a)
{
	return a->action == POLICY_ALLOW ? 0 : a->action == POLICY_KILL ? 2 : 1;
}

/* What has no equal here becomes something at least as strict, and is told once. */
static void note_action(struct build *b, enum oci_action action, const char *path)
{
	static const char *const words[] = {
		[OCI_LOG] = "SCMP_ACT_LOG lets the call pass and writes to the system log; here it passes without",
		[OCI_TRACE] = "SCMP_ACT_TRACE asks a tracer, and there is none: the call answers ENOSYS, as the kernel has it",
		[OCI_NOTIFY] = "SCMP_ACT_NOTIFY asks an agent, and there is none: the call is refused with EPERM",
		[OCI_TRAP] = "SCMP_ACT_TRAP sends a signal that a program can catch; here the call ends the jail",
		[OCI_KILL_THREAD] = "SCMP_ACT_KILL ends one thread; here the call ends the jail",
		[OCI_KILL_PROCESS] = "SCMP_ACT_KILL_PROCESS ends one process; here the call ends the jail",
	};

	if (b->noted[action] || !words[action])
		return;
	b->noted[action] = true;
	oci_note(b->notes, "oci-action", path, "%s", words[action]);
}

static int known_errno(const struct build *b, int error, const char *path)
{
	if (error < 0)
		return EPERM;
	if (error > 0 && policy_errno_name(error))
		return error;
	if (error == 0)
		oci_note(b->notes, "oci-errno", path,
			 "the call would do nothing and say that it had, or its error has no name here; it is refused with EPERM");
	else
		oci_note(b->notes, "oci-errno", path, "no policy has a name for error %d; it becomes EPERM", error);
	return EPERM;
}

static struct oci_answer answer_of(struct build *b, enum oci_action action, int error, const char *path)
{
	note_action(b, action, path);
	switch (action) {
	case OCI_ALLOW:
	case OCI_LOG:
		return (struct oci_answer){ POLICY_ALLOW, 0 };
	case OCI_ERRNO:
		return (struct oci_answer){ POLICY_DENY, known_errno(b, error, path) };
	case OCI_TRACE:
		return (struct oci_answer){ POLICY_DENY, ENOSYS };
	case OCI_NOTIFY:
		return (struct oci_answer){ POLICY_DENY, EPERM };
	case OCI_TRAP:
	case OCI_KILL_THREAD:
	case OCI_KILL_PROCESS:
		break;
	}
	return (struct oci_answer){ POLICY_KILL, 0 };
}

/* Runtimes leave out rules that answer as the default does; unconditional ones would else hide others. */
static bool is_default(const struct oci_profile *p, const struct oci_entry *e)
{
	int error = e->error < 0 ? EPERM : e->error, base = p->error < 0 ? EPERM : p->error;

	return e->action == p->action && ((e->action != OCI_ERRNO && e->action != OCI_TRACE) || error == base);
}

/* ---- rules ----------------------------------------------------------------------- */

static void add_plain(struct build *b, int nr, const struct oci_answer *answer)
{
	struct oci_answer *there = &b->set->plain[nr];

	if (!b->set->has_plain[nr]) {
		b->set->has_plain[nr] = true;
		*there = *answer;
		return;
	}
	if (oci_same(there, answer))
		return;
	oci_names_add(&b->mixed, filter_call_at(nr));
	if (oci_strictness(answer) > oci_strictness(there))
		*there = *answer;
}

static bool same_rule(const struct oci_rule *a, const struct oci_rule *b)
{
	return a->nr == b->nr && oci_same(&a->answer, &b->answer) && policy_same_args(a->args, a->n_args, b->args, b->n_args);
}

static int add_rule(struct build *b, const struct oci_rule *rule)
{
	int r;

	if (rule->n_args == 0) {
		add_plain(b, rule->nr, &rule->answer);
		return 0;
	}
	for (size_t i = 0; i < b->set->n_rules; i++)
		if (same_rule(&b->set->rules[i], rule))
			return 0;
	if (b->set->n_rules < OCI_RULES_MAX) {
		b->set->rules[b->set->n_rules++] = *rule;
		return 0;
	}
	r = err_set(b->err, E2BIG, SJ_EXIT_USAGE, "E_OCI_SIZE", "the profile has too many rules with conditions");
	err_why(b->err, "more than %d rules for calls of this machine look at arguments", OCI_RULES_MAX);
	err_fix(b->err, "import only the part that your program needs");
	return r;
}

/* Conditions that must hold together. */
static int add_all(struct build *b, int nr, const struct oci_entry *e, size_t from, size_t n,
		   const struct oci_answer *answer)
{
	struct oci_rule rule = { .nr = nr, .answer = *answer };
	bool allows = answer->action == POLICY_ALLOW;

	for (size_t i = from; i < from + n; i++) {
		const char *why = NULL;
		enum oci_fate fate = oci_condition(nr, &e->args[i], allows, &rule.args[rule.n_args], &why);
		char path[OCI_PATH_MAX];

		oci_path(b->notes, e->index, (long)i, path);
		if (why)
			oci_note(b->notes, "oci-condition", path, "%s: %s; %s", filter_call_at(nr), why,
				 fate == OCI_DROP ? "the rule is left out" : fate == OCI_ALWAYS ? "it is taken as met"
				 : "only what the kernel reads is compared");
		if (fate == OCI_DROP)
			return 0;
		rule.n_args += fate == OCI_KEEP;
	}
	return add_rule(b, &rule);
}

static bool has_repeated(const struct oci_entry *e)
{
	unsigned int seen = 0;

	for (size_t i = 0; i < e->n_args; i++) {
		if (seen & (1u << e->args[i].index))
			return true;
		seen |= 1u << e->args[i].index;
	}
	return false;
}

/* Two conditions on one argument turn all of an entry's conditions into alternatives: so do runc and crun. */
static int add_call(struct build *b, const struct oci_entry *e, const char *name, const struct oci_answer *answer)
{
	int nr = strlen(name) > OCI_NAME_MAX ? -1 : filter_call_find(name), r = 0;

	if (nr < 0 || nr >= FILTER_CALLS) {
		oci_names_add(nr == FILTER_ELSEWHERE ? &b->elsewhere : &b->unknown, name);
		return 0;
	}
	if (!has_repeated(e))
		return add_all(b, nr, e, 0, e->n_args, answer);
	for (size_t i = 0; i < e->n_args && r == 0; i++)
		r = add_all(b, nr, e, i, 1, answer);
	return r;
}

static int add_entry(struct build *b, const struct oci_entry *e)
{
	struct oci_answer answer;
	char path[OCI_PATH_MAX];
	json_t *name;
	size_t i;
	int r = 0;

	if (is_default(b->profile, e))
		return 0;
	oci_path(b->notes, e->index, -1, path);
	answer = answer_of(b, e->action, e->error, path);
	if (has_repeated(e))
		oci_note(b->notes, "oci-alternatives", path,
			 "two conditions look at the same argument; runtimes take all conditions of such an entry as "
			 "alternatives, and so does this");
	if (e->name)
		return add_call(b, e, e->name, &answer);
	json_array_foreach(e->names, i, name) {
		r = add_call(b, e, json_string_value(name), &answer);
		if (r < 0)
			return r;
	}
	return 0;
}

static void strictest_first(struct oci_set *set)
{
	/* Stable, and short enough for it. */
	for (size_t i = 1; i < set->n_rules; i++) {
		struct oci_rule rule = set->rules[i];
		size_t at = i;

		for (; at > 0 && oci_strictness(&set->rules[at - 1].answer) < oci_strictness(&rule.answer); at--)
			set->rules[at] = set->rules[at - 1];
		set->rules[at] = rule;
	}
}

int oci_rules(const struct oci_profile *p, const struct oci_here *here, const struct oci_notes *notes,
	      struct oci_set *ret, struct sj_err *err)
{
	struct build b = { .profile = p, .notes = notes, .err = err, .set = ret };
	size_t left_out = 0;
	int r = 0;

	*ret = (struct oci_set){ .rules = calloc(OCI_RULES_MAX, sizeof(*ret->rules)) };
	if (!ret->rules)
		return err_oom(err);
	ret->base = answer_of(&b, p->action, p->error, notes->wrapped ? "linux.seccomp.defaultAction" : "defaultAction");
	for (size_t i = 0; i < p->n && r == 0; i++) {
		if (oci_applies(&p->entries[i], here))
			r = add_entry(&b, &p->entries[i]);
		else
			left_out++;
	}
	if (r < 0) {
		oci_set_free(ret);
		return r;
	}
	strictest_first(ret);
	if (left_out > 0)
		oci_note(notes, "oci-left-out", notes->wrapped ? "linux.seccomp.syscalls" : "syscalls",
			 "%zu of %zu entries do not count: they are for other capabilities, architectures or kernels", left_out, p->n);
	oci_names_note(notes, &b.elsewhere, "oci-elsewhere", "calls of other architectures, left out");
	oci_names_note(notes, &b.unknown, "oci-unknown", "calls that this smoljail does not know, left out; they answer ENOSYS");
	oci_names_note(notes, &b.mixed, "oci-mixed", "entries disagree, and the strictest is taken");
	return 0;
}

void oci_set_free(struct oci_set *set)
{
	free(set->rules);
	*set = (struct oci_set){ 0 };
}
