/*
 * notes.c - what other layers than the filter refused: the guest's notes, held against what the host knows
 *
 * Runs as: the supervisor, while the program runs and when it has ended
 * Trusts: the policy, and the kernel's counters; a note is a claim, and says so in the report
 * Never: takes a note for more than a reason to look
 */
#include <ctype.h>
#include <netdb.h>
#include <string.h>

#include "session/internal.h"

#define MORE 2			/* times the limit that was reached is what is offered */

/* What a note of one errno is about, where the policy has a limit for it. */
struct about {
	struct session *s;
	const struct wire_note *note;
	bool last;
};

/* ---- limits ---------------------------------------------------------------- */

static void say_rule(struct session_denial *d, const char *setting, const char *value)
{
	snprintf(d->rule_text, sizeof(d->rule_text), "%s = %s", setting, value);
}

static void limit_number(struct session_denial *d, const char *layer, const char *flag, const char *setting, uint32_t now)
{
	char value[24];

	d->layer = layer;
	snprintf(value, sizeof(value), "%u", now);
	say_rule(d, setting, value);
	snprintf(value, sizeof(value), "%u", now * MORE);
	remedy_set(d, flag, setting, value, true);
}

static void limit_size(struct session_denial *d, const char *layer, const char *flag, const char *setting, uint64_t now)
{
	char value[24];
	uint64_t exact = 0;

	d->layer = layer;
	policy_format_size(now, value, sizeof(value));
	say_rule(d, setting, value);
	policy_format_size(now * MORE, value, sizeof(value));
	/* Some sizes are only nearly what their text says. */
	if (policy_parse_size(value, &exact) < 0 || exact != now * MORE)
		snprintf(value, sizeof(value), "%llu", (unsigned long long)now * MORE);
	remedy_set(d, flag, setting, value, false);
}

static void limit_time(struct session_denial *d, const char *flag, const char *setting, uint64_t now)
{
	char value[24];

	d->layer = "supervisor";
	policy_format_time(now, value, sizeof(value));
	say_rule(d, setting, value);
	policy_format_time(now * MORE, value, sizeof(value));
	remedy_set(d, flag, setting, value, false);
}

static bool note_files(const struct about *a, struct session_denial *d)
{
	limit_number(d, "rlimit", "--open-files", "limits.open_files", a->s->policy->limits.open_files);
	return true;
}

static bool note_file_size(const struct about *a, struct session_denial *d)
{
	if (!a->s->policy->limits.file_size)
		return false;
	limit_size(d, "rlimit", "--file-size", "limits.file_size", a->s->policy->limits.file_size);
	return true;
}

static const char *held_pids(const struct session *s)
{
	const char *word = s->rep->enforced.pids;

	return word ? word : "none";
}

/* A fork that failed: only at the end is it known whether the kernel counted a refusal, where it counts. */
static bool note_process(const struct about *a, struct session_denial *d)
{
	const struct session *s = a->s;

	if (!a->last || !s->policy->limits.pids || (!s->rep->usage.pids_hits && strcmp(held_pids(s), "rlimit") != 0))
		return false;
	d->by_guest = !s->rep->usage.pids_hits;
	limit_number(d, d->by_guest ? "rlimit" : "cgroup", "--pids", "limits.pids", s->policy->limits.pids);
	return true;
}

static bool in_folder(const char *path, const char *dir)
{
	return str_prefix(path, dir) && (path[strlen(dir)] == '/' || !path[strlen(dir)]);
}

struct folder {
	const char *inside, *size_setting, *inodes_setting;
	const struct policy_tmpfs *is;
	bool by_flag;		/* --disk does it */
};

/*
 * The one that holds the path of the failed call; a call that only writes has none: the first that is full.
 * Where none is full any more: what has a path is made, and takes an inode; what has none takes space.
 */
static const struct folder *full_folder(const struct about *a, const struct folder *list, size_t n, enum jail_full *ret)
{
	const char *path = a->note->path;
	const struct folder *found = NULL;

	*ret = path[0] ? JAIL_FULL_INODES : JAIL_FULL_SPACE;
	for (size_t i = 0; i < n; i++) {
		enum jail_full full = a->s->jail ? jail_folder_full(a->s->jail, list[i].inside) : JAIL_FULL_NOT;

		if (path[0] ? !in_folder(path, list[i].inside) : full == JAIL_FULL_NOT)
			continue;
		found = found ? found : &list[i];
		*ret = found == &list[i] && full != JAIL_FULL_NOT ? full : *ret;
	}
	return found ? found : &list[0];
}

static bool note_disk(const struct about *a, struct session_denial *d)
{
	const struct policy_files *f = &a->s->policy->files;
	const struct folder list[] = {
		/* The option is for both folders, and shall not make one of them smaller. */
		{ JAIL_WORK, "files.work.size", "files.work.inodes", &f->work, f->work.size * MORE >= f->tmp.size },
		{ "/tmp", "files.tmp.size", "files.tmp.inodes", &f->tmp, f->tmp.size * MORE >= f->work.size },
		{ "/dev/shm", "files.shm.size", "files.shm.inodes", &f->shm, false },
	};
	enum jail_full full;
	const struct folder *in = full_folder(a, list, ARRAY_LEN(list), &full);

	if (full == JAIL_FULL_INODES)
		limit_number(d, "mount", NULL, in->inodes_setting, (uint32_t)in->is->inodes);
	else
		limit_size(d, "mount", in->by_flag ? "--disk" : NULL, in->size_setting, in->is->size);
	return true;
}

static bool note_memory(const struct about *a, struct session_denial *d)
{
	if (!a->last || !a->s->policy->limits.memory || !a->s->rep->usage.memory_hits)
		return false;
	limit_size(d, "cgroup", "--memory", "limits.memory", a->s->policy->limits.memory);
	return true;
}

/* ---- other reasons ----------------------------------------------------------- */

static bool same_place(const struct session_where *a, const struct session_where *b)
{
	return !a->file[0] || !b->file[0] || (a->line == b->line && strcmp(a->file, b->file) == 0);
}

/* Most errors of these kinds are the filter's answers, and its listener has told them already. */
static bool told_by_filter(const struct session_report *rep, int error, const struct session_where *where)
{
	for (size_t i = 0; i < rep->n_denied; i++)
		if (rep->denied[i].nr >= 0 && rep->denied[i].error == error && same_place(&rep->denied[i].where, where))
			return true;
	return false;
}

static bool note_network(const struct about *a, struct session_denial *d)
{
	static const struct session_where anywhere;
	enum policy_net net = a->s->policy->net;

	/* Without a network it is the socket that the filter refuses, and a look-up of a name fails for want of one. */
	if (net == POLICY_NET_HOST || told_by_filter(a->s->rep, ENETUNREACH, &anywhere))
		return false;
	d->layer = "network";
	say_rule(d, "network.mode", net == POLICY_NET_LOOPBACK ? "loopback" : net == POLICY_NET_PROXY ? "proxy" : "none");
	remedy_set(d, "--net", "network.mode", "host", false);
	return true;
}

static bool note_permission(const struct about *a, struct session_denial *d)
{
	if (told_by_filter(a->s->rep, a->note->error, &d->where))
		return false;
	/* Python names no file here; the kernel says so of files where none may be executed. */
	if (a->note->error == EPERM && strcmp(a->note->call, "mmap") == 0 && !a->s->policy->files.exec_from_writable) {
		remedy_exec(d);
		return true;
	}
	d->layer = "capability";
	snprintf(d->rule_text, sizeof(d->rule_text), "no capabilities");
	snprintf(d->never, sizeof(d->never), "it needs a privilege that no program in a jail has");
	return true;
}

/* The filter answers ENOSYS without telling anybody: as an old kernel would. */
static bool note_unknown_call(const struct about *a, struct session_denial *d)
{
	(void)a;
	d->layer = "filter";
	snprintf(d->rule_text, sizeof(d->rule_text), "answered as by an older kernel");
	snprintf(d->never, sizeof(d->never), "programs have another way where a kernel lacks this call");
	return true;
}

static bool note_path(const struct about *a, struct session_denial *d)
{
	if (a->note->error == EACCES && told_by_filter(a->s->rep, EACCES, &d->where))
		return false;
	return notes_path(a->s->run, a->note, d) ||
	       (a->note->error == EACCES && !a->note->path[0] && note_permission(a, d));
}

static const struct kind {
	int error;
	bool (*explain)(const struct about *a, struct session_denial *d);
	const char *words;	/* where the note names no call and no path */
} kinds[] = {
	{ ENOENT, note_path, "a path" },
	{ EROFS, note_path, "writing" },
	{ EACCES, note_path, "an access" },
	{ EPERM, note_permission, "an operation" },
	{ ENOSYS, note_unknown_call, "a system call" },
	{ EMFILE, note_files, "opening one more file" },
	{ EFBIG, note_file_size, "writing to a file" },
	{ EAGAIN, note_process, "starting a process" },
	{ ENOSPC, note_disk, "writing to a file" },
	{ EDQUOT, note_disk, "writing to a file" },
	{ ENOMEM, note_memory, "getting memory" },
	{ ENETUNREACH, note_network, "using the network" },
	{ EHOSTUNREACH, note_network, "using the network" },
	{ ENETDOWN, note_network, "using the network" },
	{ EADDRNOTAVAIL, note_network, "using the network" },
	{ EAI_AGAIN, note_network, "looking up a name" },
	{ EAI_NONAME, note_network, "looking up a name" },
	{ EAI_FAIL, note_network, "looking up a name" },
	{ EAI_NODATA, note_network, "looking up a name" },
	{ EAI_SYSTEM, note_network, "looking up a name" },
};

static const struct kind *kind_of(int error)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (kinds[i].error == error)
			return &kinds[i];
	return NULL;
}

/* ---- from a note to an entry --------------------------------------------------- */

/* A name as the interpreter would write it there; anything else is nobody's call. */
static void copy_name(const char *from, char *ret, size_t len)
{
	size_t n = strnlen(from, len);

	ret[0] = '\0';
	for (size_t i = 0; i < n; i++)
		if (!isascii((unsigned char)from[i]) || (!isalnum((unsigned char)from[i]) && from[i] != '_'))
			return;
	if (n < len) {
		memcpy(ret, from, n);
		ret[n] = '\0';
	}
}

/* Once: what is written to it afterwards is not looked at. */
static void copy_note(const struct wire_note *from, struct wire_note *ret)
{
	struct wire_note raw;

	memcpy(&raw, from, sizeof(raw));
	*ret = (struct wire_note){ .error = raw.error, .count = raw.count ? raw.count : 1, .line = raw.line, .writes = raw.writes };
	text_clean(raw.path, sizeof(raw.path), ret->path, sizeof(ret->path), true);
	copy_name(raw.call, ret->call, sizeof(ret->call));
	text_clean(raw.file, sizeof(raw.file), ret->file, sizeof(ret->file), true);
	text_clean(raw.function, sizeof(raw.function), ret->function, sizeof(ret->function), true);
}

static void fill(const struct session *s, const struct wire_note *note, const struct kind *kind, struct session_denial *ret)
{
	/* How subprocess tells of a program that could not be started. */
	const char *call = strcmp(note->call, "_execute_child") == 0 ? "execve" : note->call;

	*ret = (struct session_denial){ .nr = -1, .count = note->count, .error = note->error, .by_guest = true };
	if (note->path[0])
		snprintf(ret->what, sizeof(ret->what), call[0] ? "%s(\"%.200s\")" : "%s\"%.200s\"", call, note->path);
	else
		snprintf(ret->what, sizeof(ret->what), call[0] ? "%s()" : "%s", call[0] ? call : kind->words);
	snprintf(ret->where.file, sizeof(ret->where.file), "%s", note->file);
	snprintf(ret->where.function, sizeof(ret->where.function), "%s", note->function);
	ret->where.line = note->line > 0 ? note->line : 0;
	where_text(s, &ret->where);
}

static void add(struct session *s, uint32_t slot, const struct session_denial *d)
{
	struct session_report *rep = s->rep;

	if (rep->n_denied == SESSION_DENIED_MAX)
		return;
	s->notes.denial[slot] = (uint8_t)rep->n_denied;
	rep->denied[rep->n_denied++] = *d;
	if (s->run->on_denied)
		s->run->on_denied(s->run->on_denied_arg, d);
}

static void take(struct session *s, uint32_t slot, bool last)
{
	struct session_denial d;
	struct wire_note note;
	const struct kind *kind;
	const struct about a = { s, &note, last };

	copy_note(&s->notes.shared->list[slot], &note);
	kind = kind_of(note.error);
	if (!kind || s->notes.denial[slot] != NOTES_NONE)
		return;
	fill(s, &note, kind, &d);
	if (kind->explain(&a, &d))
		add(s, slot, &d);
}

static uint32_t load(const uint32_t *shared)
{
	return __atomic_load_n(shared, __ATOMIC_ACQUIRE);
}

/* How often it came to in the end. */
static void count_again(struct session *s)
{
	for (uint32_t i = 0; i < s->notes.seen; i++) {
		uint32_t count = load(&s->notes.shared->list[i].count);

		if (s->notes.denial[i] != NOTES_NONE && count)
			s->rep->denied[s->notes.denial[i]].count = count;
	}
}

static void add_counted(struct session *s, struct session_denial *d)
{
	struct session_report *rep = s->rep;

	if (rep->n_denied == SESSION_DENIED_MAX)
		return;
	rep->denied[rep->n_denied++] = *d;
	if (s->run->on_denied)
		s->run->on_denied(s->run->on_denied_arg, d);
}

static bool is_noted(const struct session_report *rep, int error)
{
	for (size_t i = 0; i < rep->n_denied; i++)
		if (rep->denied[i].nr < 0 && rep->denied[i].error == error)
			return true;
	return false;
}

/* Where the exception that ended the program came from. */
static void claim_where(const struct session *s, struct session_where *ret)
{
	const struct wire_claim *c = &s->rep->claim;

	snprintf(ret->file, sizeof(ret->file), "%.*s", (int)sizeof(ret->file) - 1, c->file);
	ret->line = c->line > 0 ? c->line : 0;
	where_text(s, ret);
}

/* Threads are refused without an OSError: the kernel's counter and the uncaught exception have to do. */
static void take_pids(struct session *s)
{
	struct session_report *rep = s->rep;
	struct session_denial d = { .nr = -1, .count = rep->usage.pids_hits, .error = EAGAIN };

	if (!rep->usage.pids_hits || !s->policy->limits.pids || is_noted(rep, EAGAIN))
		return;
	snprintf(d.what, sizeof(d.what), "starting a thread or a process");
	limit_number(&d, "cgroup", "--pids", "limits.pids", s->policy->limits.pids);
	if (strstr(rep->claim.message, "start new thread"))
		claim_where(s, &d.where);
	add_counted(s, &d);
}

/* The kernel ended a process, or the supervisor did: nobody inside was told. */
static void take_memory(struct session *s)
{
	const struct session_report *rep = s->rep;
	const char *rung = rep->enforced.memory ? rep->enforced.memory : "none";
	struct session_denial d = { .nr = -1, .count = rep->usage.oom_kills ? rep->usage.oom_kills : 1, .error = ENOMEM };

	if (!s->policy->limits.memory || is_noted(rep, ENOMEM) || (!rep->usage.oom_kills && s->stop != STOP_MEMORY))
		return;
	snprintf(d.what, sizeof(d.what), "using more memory");
	limit_size(&d, str_prefix(rung, "cgroup") ? "cgroup" : "supervisor", "--memory", "limits.memory",
		   s->policy->limits.memory);
	add_counted(s, &d);
}

/* The dynamic linker has words of its own for it, and no errno: "FILE: failed to map segment from shared object". */
static void take_library(struct session *s)
{
	const struct wire_claim *c = &s->rep->claim;
	const char *words = strstr(c->message, NOTES_NOT_MAPPED);
	struct session_denial d = { .nr = -1, .count = 1, .error = EPERM, .by_guest = true };

	if (!words || s->policy->files.exec_from_writable)
		return;
	snprintf(d.what, sizeof(d.what), "loading \"%.*s\"", (int)(words - c->message < 200 ? words - c->message : 200), c->message);
	claim_where(s, &d.where);
	remedy_exec(&d);
	add_counted(s, &d);
}

/* The supervisor ended it: what was going on inside is not known, and there was no error. */
static void take_stop(struct session *s)
{
	const struct policy_limits *l = &s->policy->limits;
	struct session_denial d = { .nr = -1, .count = 1 };

	if (s->stop == STOP_WALL) {
		snprintf(d.what, sizeof(d.what), "running for longer");
		limit_time(&d, "--timeout", "limits.wall", l->wall_ms);
	} else if (s->stop == STOP_CPU) {
		snprintf(d.what, sizeof(d.what), "using more CPU time");
		limit_time(&d, "--cpu-time", "limits.cpu_time", l->cpu_ms);
	} else if (s->stop == STOP_OUTPUT && l->output) {
		snprintf(d.what, sizeof(d.what), "writing more output");
		limit_size(&d, "supervisor", "--output", "limits.output", l->output);
	} else {
		return;
	}
	add_counted(s, &d);
}

void notes_take(struct session *s, bool last)
{
	struct notes *n = &s->notes;
	uint32_t there = n->shared ? load(&n->shared->n) : 0;

	there = there < WIRE_NOTES_MAX ? there : WIRE_NOTES_MAX;
	while (n->seen < there && (last || load(&n->shared->list[n->seen].whole) == 1)) {
		n->denial[n->seen] = NOTES_NONE;
		take(s, n->seen++, false);
	}
	if (!last)
		return;
	for (uint32_t i = 0; i < n->seen; i++)
		take(s, i, true);
	count_again(s);
	take_pids(s);
	take_memory(s);
	take_library(s);
	take_stop(s);
}

/* ---- source lines ---------------------------------------------------------------- */

static void copy_line(const char *text, size_t len, int line, char *ret, size_t size)
{
	const char *end = text + len, *nl;

	while (--line > 0) {
		text = memchr(text, '\n', (size_t)(end - text));
		if (!text)
			return;
		text++;
	}
	while (text < end && (*text == ' ' || *text == '\t'))
		text++;
	nl = memchr(text, '\n', (size_t)(end - text));
	text_clean(text, (size_t)((nl ? nl : end) - text), ret, size, true);
}

void where_text(const struct session *s, struct session_where *w)
{
	const struct session_run *run = s->run;
	const struct jail_file *script = &s->prep.script;

	if (w->line < 1)
		return;
	if ((run->mode == WIRE_MODE_CODE && strcmp(w->file, "<string>") == 0) ||
	    (run->mode == WIRE_MODE_STDIN && strcmp(w->file, "<stdin>") == 0))
		copy_line(run->code, run->code_len, w->line, w->text, sizeof(w->text));
	else if (run->mode == WIRE_MODE_FILE && script->name && strcmp(w->file, s->prep.target) == 0)
		copy_line(script->data, script->len, w->line, w->text, sizeof(w->text));
}
