/*
 * outside.c - a running jail as the host sees it: namespaces, ids, filters, and whether anything is left
 *
 * Runs as: the caller
 * Trusts: /proc of the host
 * Never: waits longer than it was told
 */
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "selftest/internal.h"

#define ENVIRON_MAX (256u << 10)
#define STATUS_MAX (64u << 10)
#define STEP_US 10000

static const char *const namespaces[] = { "user", "mnt", "pid", "net", "ipc", "uts", "cgroup" };

/* Value of a field of /proc/PID/status, without leading blanks. */
static bool field(pid_t pid, const char *name, char *ret, size_t size)
{
	_cleanup_free_ char *text = NULL;
	char path[40], key[24];
	const char *at;
	size_t len;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	snprintf(key, sizeof(key), "\n%s:", name);
	if (io_read_file(path, STATUS_MAX, &text, &len) < 0)
		return false;
	at = strstr(text, key);
	if (!at)
		return false;
	at += strlen(key);
	at += strspn(at, " \t");
	snprintf(ret, size, "%.*s", (int)strcspn(at, "\n"), at);
	return true;
}

typedef bool each_fn(void *arg, pid_t pid);

/* Until fn says true. */
static bool each_process(each_fn *fn, void *arg)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	bool found = false;

	while (d && !found && (e = readdir(d)))
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9')
			found = fn(arg, (pid_t)strtol(e->d_name, NULL, 10));
	if (d)
		closedir(d);
	return found;
}

struct child_of {
	pid_t parent, found;
};

static bool is_child(void *arg, pid_t pid)
{
	struct child_of *c = arg;
	char value[24];

	if (!field(pid, "PPid", value, sizeof(value)) || strtol(value, NULL, 10) != (long)c->parent)
		return false;
	c->found = pid;
	return true;
}

bool outside_find(struct outside *o, pid_t launcher)
{
	struct child_of c = { .parent = launcher };

	if (!each_process(is_child, &c))
		return false;
	o->init = c.parent = c.found;
	if (!each_process(is_child, &c))
		return false;
	o->guest = c.found;
	return true;
}

/* Those that are the same inside and outside; "" when a link cannot be read. */
static void shared_namespaces(const struct outside *o, char *ret, size_t size)
{
	char path[48], ours[64], theirs[64];

	ret[0] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(namespaces); i++) {
		ssize_t n, m;
		size_t len = strlen(ret);

		snprintf(path, sizeof(path), "/proc/self/ns/%s", namespaces[i]);
		n = readlink(path, ours, sizeof(ours));
		snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)o->guest, namespaces[i]);
		m = readlink(path, theirs, sizeof(theirs));
		if (n < 0 || m < 0)
			snprintf(ret + len, size - len, "%s%s unreadable", len ? " " : "", namespaces[i]);
		else if (n == m && memcmp(ours, theirs, (size_t)n) == 0)
			snprintf(ret + len, size - len, "%s%s", len ? " " : "", namespaces[i]);
	}
	if (!ret[0])
		snprintf(ret, size, "none");
}

/* The file shows the limit of the reader's own namespace, so a child goes there to read it. */
static void nested_limit(const struct outside *o, char *ret, size_t size)
{
	char path[48], text[24] = "";
	int p[2], fd;
	pid_t pid;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)o->guest);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || pipe2(p, O_CLOEXEC) < 0) {
		snprintf(ret, size, "unreadable (%s)", strerrorname_np(errno));
		base_closep(&fd);
		return;
	}
	pid = fork();
	if (pid == 0) {
		int sys = setns(fd, CLONE_NEWUSER) < 0 ? -1 : open("/proc/sys/user/max_user_namespaces", O_RDONLY | O_CLOEXEC);

		n = sys < 0 ? -1 : read(sys, text, sizeof(text) - 1);
		if (n > 0)
			(void)io_write_full(p[1], text, (size_t)n);
		_exit(0);
	}
	close(fd);
	close(p[1]);
	n = read(p[0], text, sizeof(text) - 1);
	close(p[0]);
	if (pid > 0)
		(void)waitpid(pid, NULL, 0);
	snprintf(ret, size, "%.*s", (int)strcspn(text, "\n"), n > 0 ? text : "unreadable");
}

static void host_ids(const struct outside *o, char *ret, size_t size)
{
	char uid[64] = "", groups[512] = "";

	(void)field(o->guest, "Uid", uid, sizeof(uid));
	(void)field(o->guest, "Groups", groups, sizeof(groups));
	if (strtol(uid, NULL, 10) == 0)
		snprintf(ret, size, "uid 0");
	else if (geteuid() == 0 && groups[0])
		snprintf(ret, size, "groups %.100s", groups);
	else
		snprintf(ret, size, "not root");
}

static void command_line(const struct outside *o, char *ret, size_t size)
{
	_cleanup_free_ char *text = NULL;
	char path[40];
	size_t len;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)o->init);
	if (io_read_file(path, STATUS_MAX, &text, &len) < 0)
		snprintf(ret, size, "unreadable");
	else
		snprintf(ret, size, "%s", text);
}

/* Before Linux 5.9 only whether there are any. */
static long count_filters(pid_t pid)
{
	char value[24] = "";

	if (field(pid, "Seccomp_filters", value, sizeof(value)))
		return strtol(value, NULL, 10);
	return field(pid, "Seccomp", value, sizeof(value)) && value[0] == '2';
}

/* A hexadecimal or octal field without its leading zeros. */
static void number(const struct outside *o, const char *name, char *ret, size_t size)
{
	char value[40] = "unreadable";
	size_t zeros;

	(void)field(o->guest, name, value, sizeof(value));
	zeros = strspn(value, "0");
	snprintf(ret, size, "%s", value[zeros] ? value + zeros : "0");
}

static void capabilities(const struct outside *o, char *ret, size_t size)
{
	static const char *const sets[] = { "CapInh", "CapPrm", "CapEff", "CapAmb" };
	char value[40];

	snprintf(ret, size, "0");
	for (size_t i = 0; i < ARRAY_LEN(sets); i++) {
		number(o, sets[i], value, sizeof(value));
		if (strcmp(value, "0") != 0)
			snprintf(ret, size, "%s %s", sets[i], value);
	}
}

/* Python itself ignores two. */
static void signals(const struct outside *o, char *ret, size_t size)
{
	const unsigned long python = 1ul << (SIGPIPE - 1) | 1ul << (SIGXFSZ - 1);
	char ignored[40], blocked[40];

	number(o, "SigIgn", ignored, sizeof(ignored));
	number(o, "SigBlk", blocked, sizeof(blocked));
	snprintf(ret, size, "ignored %lx blocked %s", strtoul(ignored, NULL, 16) & ~python, blocked);
}

static void filters(pid_t pid, char *ret, size_t size)
{
	snprintf(ret, size, "%s", count_filters(pid) > count_filters(getpid()) ? "its own" : "none of its own");
}

static void init_filter(const struct outside *o, char *ret, size_t size)
{
	filters(o->init, ret, size);
}

static void guest_filter(const struct outside *o, char *ret, size_t size)
{
	filters(o->guest, ret, size);
}

static void no_new_privs(const struct outside *o, char *ret, size_t size)
{
	number(o, "NoNewPrivs", ret, size);
}

static void file_mask(const struct outside *o, char *ret, size_t size)
{
	number(o, "Umask", ret, size);
}

static const struct {
	const char *id;
	void (*look)(const struct outside *o, char *ret, size_t size);
} looks[] = {
	{ "ns.separate", shared_namespaces }, { "ns.nested_limit", nested_limit }, { "ids.outside", host_ids },
	{ "caps.sets", capabilities }, { "privs.no_new", no_new_privs }, { "kernel.filter", guest_filter },
	{ "kernel.init_filter", init_filter }, { "env.init", command_line }, { "state.signals", signals }, { "state.umask", file_mask },
};

void outside_look(const struct outside *o, const char *id, char *ret, size_t size)
{
	ret[0] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(looks); i++)
		if (strcmp(looks[i].id, id) == 0)
			looks[i].look(o, ret, size);
}

/* ---- what is left ------------------------------------------------------------------ */

struct holders {
	const char *token;
	unsigned int n;
	bool kill;
};

static bool holds_token(void *arg, pid_t pid)
{
	_cleanup_free_ char *text = NULL;
	struct holders *h = arg;
	char path[40];
	size_t len;

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	if (io_read_file(path, ENVIRON_MAX, &text, &len) == 0 && memmem(text, len, h->token, strlen(h->token)))
		h->n++;
	else
		return false;
	if (h->kill)
		(void)kill(pid, SIGKILL);
	return false;
}

unsigned int outside_left(const char *token, unsigned int ms)
{
	struct holders h = { .token = token };

	for (unsigned int waited = 0;; waited += STEP_US / 1000) {
		h.n = 0;
		(void)each_process(holds_token, &h);
		if (h.n == 0 || waited >= ms)
			return h.n;
		(void)usleep(STEP_US);
	}
}

void outside_end(const char *token)
{
	struct holders h = { .token = token, .kill = true };

	(void)each_process(holds_token, &h);
}
