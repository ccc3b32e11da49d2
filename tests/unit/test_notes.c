/* What the guest notes of failed operations, held against a policy; and notes that lie. */
#include <netdb.h>

#include "session/internal.h"
#include "tap.h"

static struct policy *policy;
static struct session_report report;
static struct wire_notes shared;
static struct session_run run;
static unsigned int told;

static void tell(void *arg, const struct session_denial *d)
{
	(void)arg, (void)d;
	told++;
}

static void start(struct session *s)
{
	told = 0;
	report = (struct session_report){ .exit_code = -1, .enforced = { .pids = "cgroup2", .memory = "cgroup2" } };
	run = (struct session_run){ .policy = policy, .mode = WIRE_MODE_CODE, .code = "a\n  b(1)\nc", .code_len = 10, .on_denied = tell };
	*s = (struct session){ .run = &run, .policy = policy, .rep = &report, .notes = { .shared = &shared } };
	memset(&shared, 0, sizeof(shared));
}

static struct wire_note *note(int error, const char *call, const char *path)
{
	struct wire_note *n = &shared.list[shared.n++];

	*n = (struct wire_note){ .whole = 1, .error = error, .count = 1, .line = 2 };
	snprintf(n->call, sizeof(n->call), "%s", call);
	snprintf(n->path, sizeof(n->path), "%s", path);
	snprintf(n->file, sizeof(n->file), "<string>");
	return n;
}

/* One note, its entry. */
static const struct session_denial *entry(struct session *s, int error, const char *call, const char *path)
{
	start(s);
	note(error, call, path);
	notes_take(s, false);
	return report.n_denied == 1 ? &report.denied[0] : NULL;
}

static void becomes(int error, const char *call, const char *path, const char *layer, const char *rule, const char *flag)
{
	struct session s;
	const struct session_denial *d = entry(&s, error, call, path);

	ok(d && strcmp(d->layer, layer) == 0, "%s %s: %s refused it", call, path, layer);
	is_str(rule, d ? d->rule_text : "", "%s: the rule", call);
	is_str(flag, d ? d->allow_flag : "", "%s: the flag", call);
	ok(d && d->by_guest && d->nr < 0 && (d->allow_with[0] || d->never[0]), "%s: the guest's word, and a way or a reason", call);
}

static void test_kinds(void)
{
	struct session s;

	becomes(EMFILE, "open", "/x", "rlimit", "limits.open_files = 1024", "--open-files");
	becomes(EFBIG, "write", "", "rlimit", "limits.file_size = 256M", "--file-size");
	becomes(ENOSPC, "write", "", "mount", "files.work.size = 256M", "--disk");
	becomes(ENOSPC, "open", "/tmp/x", "mount", "files.tmp.inodes = 4096", "");
	becomes(ENOSPC, "mkdir", "/dev/shm/x", "mount", "files.shm.inodes = 1024", "");
	becomes(EPERM, "mmap", "", "mount", "files.exec_from_writable = false", "");
	becomes(EROFS, "open", "/usr/x", "mount", "files.root = python, read-only", "");
	becomes(EACCES, "execv", "/work/x", "mount", "files.exec_from_writable = false", "");
	becomes(EPERM, "setuid", "", "capability", "no capabilities", "");
	becomes(ENETUNREACH, "connect", "", "network", "network.mode = none", "--net");
	becomes(EAI_AGAIN, "getaddrinfo", "", "network", "network.mode = none", "--net");
	becomes(ENOENT, "open", "/etc/passwd", "mount", "files.read", "");
	becomes(ENOENT, "open", "/proc/1/stat", "mount", "files.read", "");
	ok(!entry(&s, ENOENT, "open", "/no/such/file"), "what the host has not either is no refusal");
	ok(!entry(&s, EAGAIN, "fork", ""), "a fork that failed waits for the kernel's count");
	ok(!entry(&s, ENOMEM, "mmap", ""), "so does memory");
	ok(!entry(&s, ENOTTY, "open", "/x"), "an error of no interest");
	is_str("b(1)", entry(&s, EMFILE, "open", "/x")->where.text, "the line's text, without its indentation");
	is_int(1, told, "told as it happens");
}

static void test_counters(void)
{
	struct session s;

	start(&s);
	note(EAGAIN, "fork", "");
	notes_take(&s, false);
	report.usage.pids_hits = 5;
	notes_take(&s, true);
	is_int(1, report.n_denied, "a refused fork, once the kernel has counted it");
	is_str("limits.pids = 64", report.denied[0].rule_text, "its rule");
	ok(!report.denied[0].by_guest && report.denied[0].where.line == 2, "the kernel's word on what, the guest's on where");

	start(&s);
	report.usage.pids_hits = 3;
	notes_take(&s, true);
	ok(report.n_denied == 1 && report.denied[0].count == 3, "threads raise no OSError");
	start(&s);
	report.usage.oom_kills = 1;
	notes_take(&s, true);
	is_str("--memory", report.denied[0].allow_flag, "nor does the end of memory");

	start(&s);
	note(EMFILE, "open", "/x");
	notes_take(&s, false);
	shared.list[0].count = 7;
	notes_take(&s, true);
	is_int(7, report.denied[0].count, "counted in the end");
}

static void test_filter_first(void)
{
	struct session s;

	start(&s);
	report.denied[0] = (struct session_denial){ .nr = 161, .error = EPERM, .count = 1, .where = { .file = "<string>", .line = 2 } };
	report.n_denied = 1;
	note(EPERM, "chroot", "/x");
	notes_take(&s, true);
	is_int(1, report.n_denied, "what the filter refused is not told twice");
	start(&s);
	note(EPERM, "setuid", "")->whole = 0;
	notes_take(&s, false);
	is_int(0, report.n_denied, "a note that is being written waits");
	notes_take(&s, true);
	is_int(1, report.n_denied, "but not for ever");
}

static bool is_text(const char *s, size_t size)
{
	if (!memchr(s, '\0', size))
		return false;
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return false;
	return true;
}

static bool entry_sound(const struct session_denial *d)
{
	return d->layer && is_text(d->what, sizeof(d->what)) && is_text(d->rule_text, sizeof(d->rule_text)) &&
	       is_text(d->where.file, sizeof(d->where.file)) && is_text(d->where.function, sizeof(d->where.function)) &&
	       is_text(d->where.text, sizeof(d->where.text)) && is_text(d->allow_with, sizeof(d->allow_with)) &&
	       is_text(d->allow_value, sizeof(d->allow_value)) && is_text(d->never, sizeof(d->never)) && d->where.line >= 0;
}

static void test_lies(void)
{
	static const int errors[] = { ENOENT, EROFS, EACCES, EPERM, EMFILE, EFBIG, ENOSPC, ENETUNREACH, EAI_AGAIN, ENOSYS, 0, -1 };
	uint32_t seed = 7;
	bool sound = true;
	struct session s;

	for (int round = 0; round < 300 && sound; round++) {
		unsigned char *raw = (unsigned char *)&shared;

		start(&s);
		for (size_t i = 0; i < sizeof(shared); i++)
			raw[i] = (unsigned char)((seed = seed * 1103515245 + 12345) >> 16);
		for (size_t i = 0; i < WIRE_NOTES_MAX; i++) {
			shared.list[i].error = errors[(seed >> 3) % ARRAY_LEN(errors)];
			shared.list[i].path[0] = round % 2 ? '/' : shared.list[i].path[0];
			seed = seed * 1103515245 + 12345;
		}
		notes_take(&s, false);
		notes_take(&s, true);
		sound = report.n_denied <= SESSION_DENIED_MAX && told <= WIRE_NOTES_MAX;
		for (size_t i = 0; i < report.n_denied; i++)
			sound = sound && entry_sound(&report.denied[i]);
	}
	ok(sound, "noise becomes bounded, clean text");
}

static void test_never(void)
{
	static const char *const secret[] = {
		"/etc/shadow", "/etc/shadow-", "/etc/ssh/ssh_host_rsa_key", "/proc", "/proc/1/mem", "/sys/kernel", "/dev/mem",
		"/root/.ssh/id_ed25519", "/home/anna/.ssh", "/home/anna/.aws/credentials", "/var/run/docker.sock", "/run/docker.sock",
		"/srv/app/server.key", "/srv/app/.env", "/", "/etc", "/home", "/home/anna", "/root",
	};
	static const char *const open[] = { "/srv/data/x.csv", "/home/anna/data", "/opt/model", "/etc/hosts", "/procedure/x", "/tmp/x" };
	char why[200];

	for (size_t i = 0; i < ARRAY_LEN(secret); i++)
		ok(policy_never_offered(secret[i], why, sizeof(why)) && why[0], "%s is never offered: %s", secret[i], why);
	for (size_t i = 0; i < ARRAY_LEN(open); i++)
		ok(!policy_never_offered(open[i], why, sizeof(why)), "%s may be", open[i]);
}

int main(void)
{
	struct sj_err err = { 0 };

	if (policy_load("python", NULL, 0, &policy, &err) < 0) {
		printf("# %s\n", err.what);
		return 1;
	}
	test_kinds();
	test_counters();
	test_filter_first();
	test_lies();
	test_never();
	policy_free(policy);
	return done();
}
