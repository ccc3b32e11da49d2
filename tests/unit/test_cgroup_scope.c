/*
 * test_cgroup_scope.c - asking systemd for a scope, with a busctl of our own
 *
 * Runs as: any user; root becomes nobody first
 * Trusts: nothing
 * Never: talks to a bus of this machine
 */
#include "fake_cgroup.h"

#define NOBODY 65534
#define M2 "40 20 0:38 / /cg2 rw - cgroup2 cgroup2 rw\n"
#define OFFER "cpuset cpu io memory pids\n"

static const struct jail_limits limits = { .memory = 1 << 20, .pids = 8, .cpu_milli = 1000 };
static const struct jail_limits strict = { .memory = 1 << 20, .pids = 8, .cpu_milli = 1000, .require_cgroup = true };

static struct cgroup *cg;
static struct sj_err err;

/* What systemd would do: make the group, put the process in. $9 is the unit. */
#define GRANT \
	"g=/user/$9; d=$T/root/cg2$g; mkdir -p $d; echo '" OFFER "' > $d/cgroup.controllers; : > $d/cgroup.subtree_control\n" \
	"echo 4242 > $d/cgroup.procs; echo 0::$g > $T/proc/self/cgroup\n"

static int listen_at(const char *path)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(sa.sun_path, sizeof(sa.sun_path), "%.100s", path);
	if (bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 || listen(fd, 4) < 0)
		printf("Bail out! no socket\n");
	return fd;
}

/* A session of somebody who shares it with others, and a user bus. Returns the listening socket. */
static int begin(const char *script)
{
	char path[128], text[1024];

	fake_begin(M2, "0::/session\n");
	fake_v2("", OFFER, OFFER, "");
	fake_v2("/session", OFFER, "", "17\n4242\n");
	make_dirs("%s/root/run/systemd/system", fake.top);
	make_dirs("%s/run", fake.top);
	make_dirs("%s/bin", fake.top);
	if (script) {
		(void)snprintf(text, sizeof(text), "#!/bin/sh\nPATH=/usr/bin:/bin\nT=%s\necho \"$@\" > $T/args\n%s", fake.top,
			       script);
		put_file(text, "%s/bin/busctl", fake.top);
		(void)snprintf(path, sizeof(path), "%s/bin/busctl", fake.top);
		(void)chmod(path, 0755);
	}
	(void)snprintf(path, sizeof(path), "%s/bin", fake.top);
	(void)setenv("PATH", path, 1);
	(void)snprintf(path, sizeof(path), "%s/run", fake.top);
	(void)setenv("XDG_RUNTIME_DIR", path, 1);
	(void)unsetenv("DBUS_SESSION_BUS_ADDRESS");
	(void)snprintf(path, sizeof(path), "%s/run/bus", fake.top);
	return listen_at(path);
}

static void end(int sock)
{
	close(sock);
	cg = cgroup_close(cg);
	fake_end();
}

static int open_world(const struct jail_limits *l)
{
	cg = NULL;
	memset(&err, 0, sizeof(err));
	return fake_open(l, &cg, &err);
}

static void test_granted(void)
{
	struct jail_enforced by;
	char want[512];
	int sock = begin(GRANT);

	is_int(0, open_world(&strict), "a scope was granted: opens");
	cgroup_enforced(cg, &by);
	is_str("cgroup2", by.memory, "memory is held");
	is_str("cgroup2", by.cpu, "cpu is held");
	(void)snprintf(want, sizeof(want), "--address=unix:path=%s/run/bus --timeout=5 call org.freedesktop.systemd1 "
		       "/org/freedesktop/systemd1 org.freedesktop.systemd1.Manager StartTransientUnit ssa(sv)a(sa(sv)) "
		       "smoljail-4242-777-", fake.top);
	has_str(want, get_file("%s/args", fake.top), "the call");
	has_str(".scope fail 4 PIDs au 1 4242 Delegate b true CollectMode s inactive-or-failed ",
		get_file("%s/args", fake.top), "its properties");
	has_str("/supervisor", get_file("%s/proc/self/cgroup", fake.top), "inside we step aside");
	cg = cgroup_close(cg);
	has_str("/supervisor", get_file("%s/proc/self/cgroup", fake.top), "and stay: systemd removes the scope");
	end(sock);
}

static void test_second_jail(void)
{
	int sock = begin(GRANT);
	struct cgroup *first;

	(void)open_world(&strict);
	first = cg;
	put_file("none", "%s/args", fake.top);
	is_int(0, open_world(&strict), "a second jail of the same supervisor");
	is_str("none", get_file("%s/args", fake.top), "needs no second scope");
	(void)cgroup_close(first);
	end(sock);
}

static void refused(const char *script, int error, const char *words, const char *name)
{
	struct jail_enforced by;
	int sock = begin(script);

	is_int(0, open_world(&limits), "%s: no error", name);
	cgroup_enforced(cg, &by);
	is_str(NULL, by.memory, "and nothing held");
	cg = cgroup_close(cg);
	is_int(-error, open_world(&strict), "an error where the policy insists");
	has_str(words, err.why, "which says why");
	end(sock);
}

static void test_bus(void)
{
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)], text[256], want[128];
	struct cgroup_env env;
	int sock = begin(NULL);

	(void)snprintf(text, sizeof(text), "%s/root", fake.top);
	env.root = open(text, O_PATH | O_DIRECTORY | O_CLOEXEC);
	(void)snprintf(want, sizeof(want), "%s/run/bus", fake.top);
	ok(find_bus(&env, path, sizeof(path)) == 0 && strcmp(path, want) == 0, "the bus of the runtime folder");
	(void)unsetenv("XDG_RUNTIME_DIR");
	is_int(-ENOENT, find_bus(&env, path, sizeof(path)), "no variables: no bus");
	(void)setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/user/7/bus,guid=12;tcp:host=x", 1);
	ok(find_bus(&env, path, sizeof(path)) == 0 && strcmp(path, "/run/user/7/bus") == 0, "the bus of the variable");
	(void)setenv("DBUS_SESSION_BUS_ADDRESS", "unix:abstract=/tmp/x", 1);
	is_int(-ENOENT, find_bus(&env, path, sizeof(path)), "an abstract socket is not used");
	(void)setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/a%2cb", 1);
	is_int(-ENOENT, find_bus(&env, path, sizeof(path)), "nor one with escapes");
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	memcpy(text, "unix:path=/", 11);
	(void)setenv("DBUS_SESSION_BUS_ADDRESS", text, 1);
	is_int(-ENOENT, find_bus(&env, path, sizeof(path)), "nor one that is too long");
	(void)snprintf(path, sizeof(path), "%s/root/run/systemd/system", fake.top);
	(void)rmdir(path);
	(void)setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/user/7/bus", 1);
	is_int(-ENOENT, find_bus(&env, path, sizeof(path)), "no systemd: nobody to ask");
	close(env.root);
	end(sock);
}

/* In a new pid namespace the listener outside has no id. */
static int look_from_inside(const char *path)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		pid_t inner = unshare(CLONE_NEWUSER | CLONE_NEWPID) < 0 ? -1 : fork();

		if (inner == 0)
			_exit(check_listener(path) == -EXDEV ? 0 : 1);
		if (inner < 0 || waitpid(inner, &status, 0) < 0)
			_exit(77);
		_exit(WEXITSTATUS(status));
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return 77;
	return WEXITSTATUS(status);
}

static void test_listener(void)
{
	char path[128];
	int sock = begin(NULL), r;

	(void)snprintf(path, sizeof(path), "%s/run/bus", fake.top);
	is_int(0, check_listener(path), "a listener of our own");
	r = look_from_inside(path);
	if (r == 77)
		skip("a listener of another pid namespace", "no user namespaces here");
	else
		is_int(0, r, "a listener of another pid namespace is refused");
	end(sock);
}

int main(void)
{
	if (geteuid() == 0 && (setresgid(NOBODY, NOBODY, NOBODY) < 0 || setresuid(NOBODY, NOBODY, NOBODY) < 0))
		skip_all("cannot become another user");
	test_granted();
	test_second_jail();
	refused("exit 1\n", EACCES, "get a delegated scope from systemd", "systemd refuses");
	refused(NULL, ENOENT, "get a delegated scope from systemd", "there is no busctl");
	refused("exit 0\n", ETIMEDOUT, "be moved by systemd", "systemd promises and does nothing");
	refused("exec sleep 60\n", ETIMEDOUT, "get a delegated scope", "systemd does not answer");
	test_bus();
	test_listener();
	return done();
}
