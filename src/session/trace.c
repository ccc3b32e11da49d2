/*
 * trace.c - what a program did, allowed or not: each kind of operation once, with a count
 *
 * Runs as: the supervisor, for each call of the program that is not quiet
 * Trusts: the number and the scalar arguments that the kernel copied; text from the program is only shown
 * Never: grows with the number of calls, or decides anything
 */
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "session/internal.h"

#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS /* Linux 6.6 */
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS _IOW('!', 4, __u64)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#endif

#define SLOTS 4096u		/* of the index, twice SESSION_TRACE_MAX or more */
#define NO_OP UINT16_MAX
#define CALLS_MAX 512u		/* numbers that `watched` knows */

/* What is worth a look at some calls, besides the call itself. */
enum {
	W_FILE = 1, W_PROGRAM = 2, W_HOST = 4,	/* shown as an operation with what its pointers lead to */
	W_OPENS = 8,				/* makes descriptors */
	W_FREES = 16,				/* may make the private folders smaller */
};

static const struct watched {
	const char *name;
	uint8_t what;
	uint8_t path, second, flags;	/* which arguments; of the last two 0 means none */
	const char *verb;
} watched_calls[] = {
	{ "open", W_FILE | W_OPENS, 0, 0, 1, "open" }, { "openat", W_FILE | W_OPENS, 1, 0, 2, "open" },
	{ "openat2", W_FILE | W_OPENS, 1, 0, 0, "open" }, { "creat", W_FILE | W_OPENS, 0, 0, 0, "create" },
	{ "truncate", W_FILE | W_FREES, 0, 0, 0, "truncate" }, { "ftruncate", W_FREES, 0, 0, 0, NULL },
	{ "unlink", W_FILE | W_FREES, 0, 0, 0, "remove" }, { "unlinkat", W_FILE | W_FREES, 1, 0, 0, "remove" },
	{ "rmdir", W_FILE | W_FREES, 0, 0, 0, "remove folder" },
	{ "rename", W_FILE | W_FREES, 0, 1, 0, "rename" }, { "renameat", W_FILE | W_FREES, 1, 3, 0, "rename" },
	{ "renameat2", W_FILE | W_FREES, 1, 3, 0, "rename" },
	{ "mkdir", W_FILE, 0, 0, 0, "make folder" }, { "mkdirat", W_FILE, 1, 0, 0, "make folder" },
	{ "link", W_FILE, 0, 1, 0, "link" }, { "linkat", W_FILE, 1, 3, 0, "link" },
	{ "symlink", W_FILE, 0, 1, 0, "symlink" }, { "symlinkat", W_FILE, 0, 2, 0, "symlink" },
	{ "chmod", W_FILE, 0, 0, 0, "change mode of" }, { "fchmodat", W_FILE, 1, 0, 0, "change mode of" },
	{ "execve", W_PROGRAM, 0, 0, 0, "run" }, { "execveat", W_PROGRAM, 1, 0, 0, "run" },
	{ "connect", W_HOST, 1, 0, 0, "connect to" }, { "bind", W_HOST, 1, 0, 0, "bind" },
	{ "sendto", W_HOST, 4, 0, 0, "send to" },
	{ "socket", W_OPENS, 0, 0, 0, NULL }, { "socketpair", W_OPENS, 0, 0, 0, NULL }, { "accept", W_OPENS, 0, 0, 0, NULL },
	{ "accept4", W_OPENS, 0, 0, 0, NULL }, { "pipe", W_OPENS, 0, 0, 0, NULL }, { "pipe2", W_OPENS, 0, 0, 0, NULL },
	{ "dup", W_OPENS, 0, 0, 0, NULL }, { "dup2", W_OPENS, 0, 0, 0, NULL }, { "dup3", W_OPENS, 0, 0, 0, NULL },
	{ "fcntl", W_OPENS, 0, 0, 0, NULL }, { "memfd_create", W_OPENS, 0, 0, 0, NULL },
	{ "epoll_create1", W_OPENS, 0, 0, 0, NULL }, { "eventfd2", W_OPENS, 0, 0, 0, NULL },
	{ "timerfd_create", W_OPENS, 0, 0, 0, NULL }, { "signalfd4", W_OPENS, 0, 0, 0, NULL },
	{ "inotify_init1", W_OPENS, 0, 0, 0, NULL }, { "pidfd_open", W_OPENS, 0, 0, 0, NULL },
};

struct session_trace {
	struct session_op ops[SESSION_TRACE_MAX];
	uint64_t hash[SESSION_TRACE_MAX];
	uint16_t slots[SLOTS];
	uint16_t alike[CALLS_MAX];	/* operations of kind OP_CALL kept, by number */
	const struct watched *watched[CALLS_MAX];
	size_t n, n_calls;
	struct session_traced sum;
};

struct session_trace *trace_new(void)
{
	struct session_trace *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	memset(t->slots, 0xff, sizeof(t->slots));
	for (size_t i = 0; i < ARRAY_LEN(watched_calls); i++) {
		int nr = filter_call_number(watched_calls[i].name);

		if (nr >= 0 && (unsigned int)nr < CALLS_MAX)
			t->watched[nr] = &watched_calls[i];
	}
	return t;
}

struct session_trace *trace_free(struct session_trace *t)
{
	free(t);
	return NULL;
}

const struct session_op *trace_op(const struct session_trace *t, size_t i)
{
	return i < t->n ? &t->ops[i] : NULL;
}

const struct session_traced *trace_sum(const struct session_trace *t)
{
	return &t->sum;
}

void trace_listen(int listener)
{
	/* A hint to the scheduler: the waiting thread and this one take turns on one CPU. Older kernels do without. */
	(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
}

/* ---- keeping ------------------------------------------------------------------ */

static uint64_t mix(uint64_t h, const void *data, size_t len)
{
	const unsigned char *p = data;

	while (len--)
		h = (h ^ *p++) * 1099511628211u;
	return h;
}

static uint64_t hash_op(const struct session_op *op)
{
	uint64_t h = mix(14695981039346656037u, &op->nr, sizeof(op->nr));

	h = mix(h, &op->kind, sizeof(op->kind));
	h = mix(h, &op->action, sizeof(op->action));
	h = mix(h, &op->error, sizeof(op->error));
	h = mix(h, op->args, sizeof(op->args));
	h = op->kind == OP_CALL ? h : mix(h, op->what, strlen(op->what));
	return h ^ h >> 29;
}

static bool same_op(const struct session_op *a, const struct session_op *b)
{
	return a->nr == b->nr && a->kind == b->kind && a->action == b->action && a->error == b->error &&
	       memcmp(a->args, b->args, sizeof(a->args)) == 0 && (a->kind == OP_CALL || strcmp(a->what, b->what) == 0);
}

static unsigned int row(int nr)
{
	return nr >= 0 && (unsigned int)nr < CALLS_MAX ? (unsigned int)nr : CALLS_MAX - 1;
}

/* Calls have their own share of the room, and each call a part of that: nothing crowds out everything else. */
static bool has_room(const struct session_trace *t, const struct session_op *op)
{
	if (op->kind != OP_CALL)
		return t->n - t->n_calls < SESSION_TRACE_MAX - SESSION_TRACE_CALLS;
	return t->n_calls < SESSION_TRACE_CALLS && t->alike[row(op->nr)] < SESSION_TRACE_PER_CALL;
}

/* The operation like this one, counted; NULL when it is new and there is no room. *ret_new: it was not there before. */
static struct session_op *keep(struct session_trace *t, const struct session_op *op, bool *ret_new)
{
	uint64_t hash = hash_op(op);
	size_t slot = hash % SLOTS;

	*ret_new = false;
	for (uint16_t at; (at = t->slots[slot]) != NO_OP; slot = (slot + 1) % SLOTS)
		if (t->hash[at] == hash && same_op(&t->ops[at], op)) {
			t->ops[at].count++;
			return &t->ops[at];
		}
	if (!has_room(t, op)) {
		t->sum.unkept++;
		return NULL;
	}
	if (op->kind == OP_CALL) {
		t->n_calls++;
		t->alike[row(op->nr)]++;
	}
	*ret_new = true;
	t->slots[slot] = (uint16_t)t->n;
	t->hash[t->n] = hash;
	t->ops[t->n] = *op;
	t->ops[t->n].count = 1;
	filter_call_name(op->nr, t->ops[t->n].call, sizeof(t->ops[t->n].call));
	return &t->ops[t->n++];
}

/* ---- looking ------------------------------------------------------------------- */

/* The descriptors that the process has; kernels before 6.2 do not say. */
static void look_at_files(struct session_trace *t, pid_t tid)
{
	char path[40];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)tid);
	if (stat(path, &st) == 0 && st.st_size > 0 && (uint64_t)st.st_size + 1 > t->sum.files_peak)
		t->sum.files_peak = (uint64_t)st.st_size + 1;
}

void trace_look_at_disk(struct session_trace *t, struct jail *jail)
{
	uint64_t used = 0;
	bool full = false;

	jail_disk(jail, &used, &full);
	if (used > t->sum.disk_peak)
		t->sum.disk_peak = used;
	t->sum.disk_full |= full;
}

/* ---- words --------------------------------------------------------------------- */

static void put(char *ret, size_t len, const char *word)
{
	size_t at = strlen(ret);

	snprintf(ret + at, len - at, "%s", word);
}

static void put_mode(char *ret, size_t len, uint64_t flags)
{
	static const char *const access[] = { " for reading", " for writing", " for reading and writing", "" };

	put(ret, len, flags & O_PATH ? "" : access[flags & O_ACCMODE]);
	if (flags & O_CREAT)
		put(ret, len, flags & O_EXCL ? ", new" : ", created if need be");
	if (flags & O_TRUNC)
		put(ret, len, ", emptied");
	if (flags & O_APPEND)
		put(ret, len, ", at its end");
}

/* What the program has there is only shown; it may have changed by the time of the call. */
static bool put_words(const struct trace_from *from, const struct watched *w, int nr, const uint64_t args[6], char *ret,
		      size_t len)
{
	char text[SESSION_OP_TEXT];

	if (!peek_argument(from->tid, nr, args, w->path, text, sizeof(text)))
		return false;
	snprintf(ret, len, "%s ", w->verb);
	put(ret, len, text);
	if (w->second && peek_argument(from->tid, nr, args, w->second, text, sizeof(text))) {
		put(ret, len, " to ");
		put(ret, len, text);
	}
	if (w->flags)
		put_mode(ret, len, args[w->flags]);
	return true;
}

/* Does the thread still wait? If not, its number may be a stranger's by now. */
static bool still_waits(const struct trace_from *from)
{
	uint64_t id = from->id;

	return ioctl(from->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

static void note_where(const struct trace_from *from, struct session_op *op)
{
	struct session_where where = { .line = 0 };

	if (peek_where(from->python, from->tid, &where) && still_waits(from))
		op->where = where;
}

/* The operation on a file, a program or a host, where the call names one that can be read. */
static void trace_object(struct session_trace *t, const struct trace_from *from, const struct watched *w,
			 const struct session_op *call, const uint64_t args[6])
{
	struct session_op op = { .nr = call->nr, .action = call->action, .error = call->error, .rule = call->rule };
	struct session_op *kept;
	bool new;

	op.kind = w->what & W_FILE ? OP_FILE : w->what & W_PROGRAM ? OP_PROGRAM : OP_HOST;
	if (!put_words(from, w, call->nr, args, op.what, sizeof(op.what)) || !still_waits(from))
		return;
	kept = keep(t, &op, &new);
	if (kept && new)
		note_where(from, kept);
}

void trace_call(struct session_trace *t, const struct trace_from *from, int nr, const uint64_t args[6],
		const struct filter_verdict *v)
{
	struct session_op op = { .nr = nr, .kind = OP_CALL, .action = v->action, .error = v->error, .rule = v->rule };
	const struct watched *w = nr >= 0 && (unsigned int)nr < CALLS_MAX ? t->watched[nr] : NULL;
	unsigned int what = w && v->action == POLICY_ALLOW ? w->what : 0;
	struct session_op *kept;
	unsigned int matter;
	bool new;

	t->sum.calls++;
	t->sum.refused += v->action != POLICY_ALLOW;
	if (what & W_OPENS)
		look_at_files(t, from->tid);
	if ((what & W_FREES) && from->jail)
		trace_look_at_disk(t, from->jail);
	memcpy(op.args, args, sizeof(op.args));
	matter = filter_normalize(from->policy, nr, op.args);
	kept = keep(t, &op, &new);
	if (kept && new) {
		/* Arguments that tell nothing apart differ from call to call. */
		if (matter)
			filter_describe(nr, args, kept->what, sizeof(kept->what));
		else
			snprintf(kept->what, sizeof(kept->what), "%s", kept->call);
		note_where(from, kept);
	}
	if (w && (w->what & (W_FILE | W_PROGRAM | W_HOST)))
		trace_object(t, from, w, &op, args);
}
