/*
 * scope.c - ask systemd for a delegated group, since nobody else may hand one out
 *
 * Runs as: the supervisor
 * Trusts: the bus whose socket the environment names, as far as it serves this user
 * Never: hands a process id to a manager that would take it for another process
 */
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "jail/cgroup_internal.h"

#define SYSTEM_BUS "/run/dbus/system_bus_socket"
#define POLL_PAUSE_US 500u
#define POLL_PAUSE_MAX_US 10000u

extern char **environ;

/* ---- finding the bus ------------------------------------------------------------ */

/* The path is put into a D-Bus address, where other characters would need escapes. */
static int take_path(const char *path, size_t len, char *ret, size_t size)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/_-.";

	if (len == 0 || len >= size || path[0] != '/' || strspn(path, plain) < len)
		return -ENOENT;
	memcpy(ret, path, len);
	ret[len] = '\0';
	return 0;
}

/* The user's own manager listens in the runtime folder; the variable may name a bus without systemd. */
static int find_bus(const struct cgroup_env *env, char *ret, size_t size)
{
	const char *dir = getenv("XDG_RUNTIME_DIR"), *bus = getenv("DBUS_SESSION_BUS_ADDRESS");
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	int n;

	if (faccessat(env->root, CGROUP_SYSTEMD, F_OK, 0) < 0)
		return -ENOENT;
	if (geteuid() == 0)
		return faccessat(env->root, &SYSTEM_BUS[1], F_OK, 0) < 0 ? -ENOENT :
		       take_path(SYSTEM_BUS, strlen(SYSTEM_BUS), ret, size);
	if (dir) {
		n = snprintf(path, sizeof(path), "%s/bus", dir);
		if (n > 0 && (size_t)n < sizeof(path) && access(path, W_OK) == 0)
			return take_path(path, (size_t)n, ret, size);
	}
	if (!bus || !str_prefix(bus, "unix:path="))
		return -ENOENT;
	bus += strlen("unix:path=");
	return take_path(bus, strcspn(bus, ",;"), ret, size);
}

/*
 * A process id means another process in another pid namespace (a container with
 * the host's bus inside). The listener's credentials tell: a process outside of
 * our namespace has the id 0 here.
 */
static int check_listener(const char *path)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	struct ucred peer = { 0 };
	socklen_t len = sizeof(peer);

	if (fd < 0)
		return -errno;
	memcpy(sa.sun_path, path, strlen(path) + 1);
	if (connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0)
		return -errno;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return -errno;
	if (peer.uid != 0 && peer.uid != geteuid())
		return -EPERM;
	return peer.pid > 0 ? 0 : -EXDEV;
}

/* ---- asking ------------------------------------------------------------------------ */

static int spawn_quiet(char *const argv[], pid_t *ret)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t all, none;
	int r;

	if (posix_spawn_file_actions_init(&files) != 0)
		return -ENOMEM;
	if (posix_spawnattr_init(&attr) != 0) {
		(void)posix_spawn_file_actions_destroy(&files);
		return -ENOMEM;
	}
	(void)sigfillset(&all);
	(void)sigemptyset(&none);
	(void)posix_spawnattr_setsigdefault(&attr, &all);
	(void)posix_spawnattr_setsigmask(&attr, &none);
	(void)posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
	r = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDWR, 0);
	for (int fd = 1; r == 0 && fd <= 2; fd++)
		r = posix_spawn_file_actions_adddup2(&files, 0, fd);
	if (r == 0)
		r = posix_spawnp(ret, argv[0], &files, &attr, argv, environ);
	(void)posix_spawnattr_destroy(&attr);
	(void)posix_spawn_file_actions_destroy(&files);
	return -r;
}

static void pause_a_little(unsigned int *us)
{
	const struct timespec ts = { .tv_nsec = (long)*us * 1000 };

	(void)nanosleep(&ts, NULL);
	*us = *us * 2 < POLL_PAUSE_MAX_US ? *us * 2 : POLL_PAUSE_MAX_US;
}

/* 0 when it ended well in time; it is gone in every case. */
static int reap(pid_t pid, uint64_t deadline)
{
	unsigned int pause = POLL_PAUSE_US;
	int status;
	pid_t got;

	while ((got = waitpid(pid, &status, WNOHANG)) == 0 || (got < 0 && errno == EINTR)) {
		if (io_now_us() >= deadline) {
			(void)kill(pid, SIGKILL);
			(void)waitpid(pid, &status, 0);
			return -ETIMEDOUT;
		}
		pause_a_little(&pause);
	}
	if (got < 0)
		return -errno;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EACCES;
}

#define MANAGER "org.freedesktop.systemd1"
#define MANAGER_PATH "/org/freedesktop/systemd1"

/* Properties: our process, delegated controllers, and no trace of the unit when we are gone. */
static int ask(const char *bus, const char *unit, pid_t pid, uint64_t deadline)
{
	char address[sizeof(((struct sockaddr_un *)0)->sun_path) + 32], id[16];
	char *argv[] = {
		"busctl", address, "--timeout=5", "call", MANAGER, MANAGER_PATH, MANAGER ".Manager", "StartTransientUnit",
		"ssa(sv)a(sa(sv))", (char *)unit, "fail", "4",
		"PIDs", "au", "1", id,
		"Delegate", "b", "true",
		"CollectMode", "s", "inactive-or-failed",
		"Description", "s", "smoljail supervisor",
		"0", NULL,
	};
	pid_t child;
	int r;

	(void)snprintf(address, sizeof(address), "--address=unix:path=%s", bus);
	(void)snprintf(id, sizeof(id), "%d", (int)pid);
	r = spawn_quiet(argv, &child);
	return r < 0 ? r : reap(child, deadline);
}

/* The answer means "queued"; the move is what counts. */
static int wait_moved(const struct cgroup_env *env, const char *unit, uint64_t deadline)
{
	char self[CGROUP_FILE_MAX];
	unsigned int pause = POLL_PAUSE_US;

	for (;;) {
		int r = cgroup_get(env->proc, "self/cgroup", self, sizeof(self));

		if (r < 0)
			return r;
		if (cgroup_self_in(self, CGROUP_UNIFIED, unit))
			return 0;
		if (io_now_us() >= deadline)
			return -ETIMEDOUT;
		pause_a_little(&pause);
	}
}

int scope_enter(const struct cgroup_env *env, const char *name, const char **ret_step)
{
	uint64_t deadline = io_now_us() + SCOPE_DEADLINE_US;
	char bus[sizeof(((struct sockaddr_un *)0)->sun_path)], unit[CGROUP_NAME_MAX + 8];
	int r = find_bus(env, bus, sizeof(bus));

	if (r < 0)	/* no systemd to ask: the reason of the rung above stands */
		return r;
	*ret_step = "reach systemd's bus (for a delegated scope) from";
	r = check_listener(bus);
	if (r < 0)
		return r;
	(void)snprintf(unit, sizeof(unit), "%s.scope", name);
	*ret_step = "get a delegated scope from systemd (busctl) to replace";
	r = ask(bus, unit, env->pid, deadline);
	if (r < 0)
		return r;
	*ret_step = "be moved by systemd into a delegated scope from";
	return wait_moved(env, unit, deadline);
}
