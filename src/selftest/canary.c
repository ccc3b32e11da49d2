/*
 * canary.c - things on the host that nobody in a jail may touch, made, watched and taken away
 *
 * Runs as: the caller; a second process, the keeper, takes everything away when the caller is gone, however it went
 * Trusts: the folder that it made
 * Never: leaves a thing behind, or touches one that it has not made
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "selftest/internal.h"

#define PIDS_TRIED 400
#define PID_MIN 100	/* above every process number inside a jail */
#define FOLDER_ENTRIES 2	/* the file and the socket */

static int fault(const char *what, int error, struct sj_err *err)
{
	err_set(err, error, SJ_EXIT_SETUP, "E_SELFTEST", "selftest: cannot make %s: %s", what, strerror(error));
	err_fix(err, "TMPDIR may name a folder with room");
	return -error;
}

/* ---- files and sockets --------------------------------------------------------- */

static uint64_t change_time(const char *path)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return 0;
	return (uint64_t)st.st_ctim.tv_sec * 1000000000u + (uint64_t)st.st_ctim.tv_nsec;
}

static int make_names(struct canaries *c)
{
	const char *base = getenv("TMPDIR");
	unsigned char r[8];
	char hex[17];

	if (syscall(SYS_getrandom, r, sizeof(r), 0) != (long)sizeof(r))
		return -errno;
	for (size_t i = 0; i < sizeof(r); i++)
		snprintf(hex + 2 * i, 3, "%02x", r[i]);
	snprintf(c->secret, sizeof(c->secret), "canary-%s", hex);
	snprintf(c->abstract, sizeof(c->abstract), "smoljail-selftest-%s", hex);
	snprintf(c->queue, sizeof(c->queue), "/smoljail-selftest-%s", hex);
	snprintf(c->shm, sizeof(c->shm), "/smoljail-selftest-%s", hex);
	c->sysv_key = (int)((unsigned int)r[0] << 16 | (unsigned int)r[1] << 8 | r[2]) | 0x53000000;
	if (!base || base[0] != '/' || strlen(base) > CANARY_PATH - 64)
		base = "/tmp";
	snprintf(c->dir, sizeof(c->dir), "%s/smoljail-selftest-XXXXXX", base);
	if (!mkdtemp(c->dir)) {
		c->dir[0] = '\0';
		return -errno;
	}
	if (snprintf(c->file, sizeof(c->file), "%s/sitecustomize.py", c->dir) >= (int)sizeof(c->file) ||
	    snprintf(c->socket, sizeof(c->socket), "%s/socket", c->dir) >= (int)sizeof(c->socket))
		return -ENAMETOOLONG;
	return 0;
}

/* Also a trap: a Python that honoured the caller's PYTHONPATH or PYTHONSTARTUP would run it. */
static int make_file(struct canaries *c)
{
	char text[96];
	int len = snprintf(text, sizeof(text), "import sys\nsys.modules['smoljail_selftest_planted'] = sys  # %s\n", c->secret);
	_cleanup_close_ int fd = open(c->file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);

	if (fd < 0 || chmod(c->dir, 0755) < 0 || io_write_full(fd, text, (size_t)len) < 0)
		return -errno;
	c->ctime_ns = change_time(c->file);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return -errno;
	c->lock = steal_fd(fd);
	return 0;
}

static int listening(int family, const void *address, socklen_t len)
{
	_cleanup_close_ int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int one = 1;

	if (fd < 0)
		return -errno;
	if (family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	if (bind(fd, address, len) < 0 || listen(fd, 4) < 0)
		return -errno;
	return steal_fd(fd);
}

static int make_sockets(struct canaries *c)
{
	struct sockaddr_un file = { .sun_family = AF_UNIX }, hidden = { .sun_family = AF_UNIX };
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	socklen_t len = sizeof(v4);

	if (snprintf(file.sun_path, sizeof(file.sun_path), "%s", c->socket) >= (int)sizeof(file.sun_path))
		return -ENAMETOOLONG;
	c->listener = listening(AF_UNIX, &file, sizeof(file));
	memcpy(hidden.sun_path + 1, c->abstract, strlen(c->abstract));
	c->abstract_fd = listening(AF_UNIX, &hidden, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(c->abstract)));
	if (c->listener < 0 || c->abstract_fd < 0)
		return c->listener < 0 ? c->listener : c->abstract_fd;
	/* A host may be without a network of its own; then there is nothing to reach. */
	c->tcp = listening(AF_INET, &v4, sizeof(v4));
	if (c->tcp >= 0 && getsockname(c->tcp, (struct sockaddr *)&v4, &len) == 0)
		c->port = ntohs(v4.sin_port);
	v6.sin6_port = v4.sin_port;
	if (c->tcp >= 0)
		c->tcp6 = listening(AF_INET6, &v6, sizeof(v6));
	return 0;
}

static const char *sockets_state(const struct canaries *c)
{
	const int all[] = { c->listener, c->abstract_fd, c->tcp, c->tcp6 };

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		_cleanup_close_ int fd = all[i] < 0 ? -1 : accept4(all[i], NULL, NULL, SOCK_CLOEXEC);

		if (fd >= 0)
			return "somebody connected";
	}
	return "untouched";
}

static const char *file_state(const struct canaries *c)
{
	struct dirent *e;
	DIR *d = opendir(c->dir);
	int n = 0;

	if (!d)
		return "the folder is gone";
	while ((e = readdir(d)))
		n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
	closedir(d);
	if (change_time(c->file) != c->ctime_ns)
		return "the file was changed";
	return n == FOLDER_ENTRIES ? "untouched" : "something was made in the folder, or removed";
}

static const char *lock_state(const struct canaries *c)
{
	_cleanup_close_ int fd = open(c->file, O_RDONLY | O_CLOEXEC);

	return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK ? "untouched" : "the lock is gone";
}

/* ---- a terminal, a process, our own program ------------------------------------------ */

static void make_terminal(struct canaries *c)
{
	char name[64];

	c->pty = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	if (c->pty < 0)
		return;
	if (grantpt(c->pty) == 0 && unlockpt(c->pty) == 0 && ptsname_r(c->pty, name, sizeof(name)) == 0)
		c->tty = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
}

/* What is typed into a terminal is echoed to its other side. */
static const char *terminal_state(const struct canaries *c)
{
	char byte;

	return read(c->pty, &byte, 1) > 0 ? "something was typed or printed" : "untouched";
}

static pid_t sleeper(const char *secret)
{
	pid_t parent = getpid(), pid = fork();

	if (pid != 0)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	(void)prctl(PR_SET_NAME, secret, 0, 0, 0);
	if (getppid() != parent)
		_exit(0);
	for (;;)
		(void)pause();
}

/* Its number must not be one that also exists inside; on a host that has just started, numbers are small. */
static int make_process(struct canaries *c)
{
	for (int i = 0; i < PIDS_TRIED; i++) {
		c->pid = sleeper(c->secret);
		if (c->pid < 0)
			return -errno;
		if (c->pid >= PID_MIN)
			return 0;
		(void)kill(c->pid, SIGKILL);
		(void)waitpid(c->pid, NULL, 0);
	}
	c->pid = 0;
	return -EAGAIN;
}

static const char *process_state(struct canaries *c)
{
	if (c->pid > 0 && waitpid(c->pid, NULL, WNOHANG) == 0)
		return "untouched";
	c->pid = 0;
	return "it was killed";
}

static int hash_launcher(char ret[65])
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : io_sha256_file(fd, ret);
}

static const char *launcher_state(const struct canaries *c)
{
	char now[65];

	return hash_launcher(now) == 0 && strcmp(now, c->launcher) == 0 ? "untouched" : "it was changed";
}

/* ---- the keeper ---------------------------------------------------------------------- */

static void take_away(struct canaries *c)
{
	canary_ipc_remove(c);
	canary_key_remove(c);
	if (c->socket[0])
		(void)unlink(c->socket);
	if (c->file[0])
		(void)unlink(c->file);
	if (c->dir[0])
		(void)rmdir(c->dir);
	c->socket[0] = c->file[0] = c->dir[0] = '\0';
}

/* Waits for the end of file that every end of the caller brings, then takes away what the shared record names. */
static void keep(struct canaries *c, int fd)
{
	sigset_t all;
	char byte;

	sigfillset(&all);
	(void)sigprocmask(SIG_BLOCK, &all, NULL);
	(void)setsid();
	for (int i = 0; i < 3; i++)
		close(i);
	while (read(fd, &byte, 1) < 0 && errno == EINTR)
		;
	take_away(c);
	_exit(0);
}

static int start_keeper(struct canaries *c)
{
	int p[2];

	if (pipe2(p, O_CLOEXEC) < 0)
		return -errno;
	c->keeper = fork();
	if (c->keeper == 0) {
		close(p[1]);
		keep(c, p[0]);
	}
	close(p[0]);
	c->keeper_fd = p[1];
	return c->keeper < 0 ? -errno : 0;
}

int canary_make(struct canaries **ret, struct sj_err *err)
{
	/* cppcheck-suppress invalidFunctionArg ; mmap(2): the descriptor of an anonymous mapping is -1 */
	struct canaries *c = mmap(NULL, sizeof(*c), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int r;

	if (c == MAP_FAILED)
		return err_oom(err);
	*c = (struct canaries){ .listener = -1, .abstract_fd = -1, .tcp = -1, .tcp6 = -1, .lock = -1, .pty = -1, .tty = -1,
				.sysv_shm = -1, .sysv_msg = -1, .sysv_sem = -1, .queue_fd = -1, .keeper_fd = -1 };
	r = start_keeper(c);
	if (r == 0)
		r = make_names(c);
	if (r == 0)
		r = make_file(c);
	if (r == 0)
		r = make_sockets(c);
	if (r == 0)
		r = make_process(c);
	if (r == 0)
		r = hash_launcher(c->launcher);
	if (r < 0) {
		(void)canary_remove(c);
		return fault("its canaries", -r, err);
	}
	make_terminal(c);
	canary_ipc_make(c);
	c->key = canary_key_make(c->secret);
	*ret = c;
	return 0;
}

const char *canary_state(struct canaries *c, const char *id, const char **ret_why)
{
	if (strcmp(id, "canary.file") == 0)
		return file_state(c);
	if (strcmp(id, "canary.sockets") == 0)
		return sockets_state(c);
	if (strcmp(id, "canary.process") == 0)
		return process_state(c);
	if (strcmp(id, "canary.lock") == 0)
		return lock_state(c);
	if (strcmp(id, "canary.launcher") == 0)
		return launcher_state(c);
	if (strcmp(id, "canary.ipc") == 0)
		return canary_ipc_state(c);
	if (strcmp(id, "canary.key") == 0 && c->key > 0)
		return canary_key_state(c);
	if (strcmp(id, "canary.terminal") == 0 && c->tty >= 0)
		return terminal_state(c);
	*ret_why = strcmp(id, "canary.key") == 0 ? "no kernel keys here" : "no terminal can be made here (devpts)";
	return NULL;
}

struct canaries *canary_remove(struct canaries *c)
{
	if (!c)
		return NULL;
	if (c->pid > 0) {
		(void)kill(c->pid, SIGKILL);
		(void)waitpid(c->pid, NULL, 0);
	}
	base_closep(&c->listener);
	base_closep(&c->abstract_fd);
	base_closep(&c->tcp);
	base_closep(&c->tcp6);
	base_closep(&c->lock);
	base_closep(&c->pty);
	base_closep(&c->tty);
	base_closep(&c->queue_fd);
	base_closep(&c->keeper_fd);
	if (c->keeper > 0)
		while (waitpid(c->keeper, NULL, 0) < 0 && errno == EINTR)
			;
	else
		take_away(c);
	(void)munmap(c, sizeof(*c));
	return NULL;
}
