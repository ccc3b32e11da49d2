/*
 * serve_socket.c - the server's door: a unix socket that only the right users can open
 *
 * Runs as: the server
 * Trusts: the kernel's word for who connects
 * Never: leaves the socket open to others for a moment, or takes away another server's
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "session/serve_internal.h"

static int refuse(const char *path, int error, const char *why, const char *fix, struct sj_err *err)
{
	err_set(err, error, SJ_EXIT_USAGE, "E_SOCKET", "--socket: cannot listen on \"%.300s\"", path);
	err_why(err, "%s", why ? why : strerror(error));
	if (fix)
		err_fix(err, "%s", fix);
	return -error;
}

static int new_socket(void)
{
	return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* Does somebody listen there? Only then the path is taken. */
static bool is_alive(const struct sockaddr_un *addr)
{
	_cleanup_close_ int fd = new_socket();

	return fd >= 0 && (connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) == 0 || errno == EAGAIN);
}

static int check_place(const struct sockaddr_un *addr, struct sj_err *err)
{
	struct stat st;

	if (lstat(addr->sun_path, &st) < 0)
		return errno == ENOENT ? 0 : refuse(addr->sun_path, errno, NULL, NULL, err);
	if (!S_ISSOCK(st.st_mode))
		return refuse(addr->sun_path, EEXIST, "something that is no socket has that name", "choose another path", err);
	if (is_alive(addr))
		return refuse(addr->sun_path, EADDRINUSE, "another server listens there", "choose another path, or end that server", err);
	return 0;
}

/*
 * Made under another name and renamed when it listens: at its path there is
 * never a socket that nobody serves, and what lay there goes in the same moment.
 */
static int listen_at(const struct sockaddr_un *addr, bool others, int *ret_fd, struct sj_err *err)
{
	_cleanup_close_ int fd = new_socket();
	struct sockaddr_un temp = { .sun_family = AF_UNIX };
	int r = 0, n = snprintf(temp.sun_path, sizeof(temp.sun_path), "%s.%d", addr->sun_path, (int)getpid());
	mode_t mask;

	if (n < 0 || (size_t)n >= sizeof(temp.sun_path))
		return refuse(addr->sun_path, ENAMETOOLONG, "the path is too long for a socket (about 100 bytes)", NULL, err);
	if (fd < 0)
		return refuse(addr->sun_path, errno, NULL, NULL, err);
	(void)unlink(temp.sun_path);
	/* The mode is right from the first moment on; who connects is checked all the same. */
	mask = umask(others ? 0111 : 0177);
	if (bind(fd, (struct sockaddr *)&temp, sizeof(temp)) < 0)
		r = -errno;
	umask(mask);
	if (r < 0)
		return refuse(addr->sun_path, -r, NULL, "the folder must exist and be yours to write in", err);
	if (listen(fd, SERVE_BACKLOG) < 0 || rename(temp.sun_path, addr->sun_path) < 0) {
		r = refuse(addr->sun_path, errno, NULL, NULL, err);
		(void)unlink(temp.sun_path);
		return r;
	}
	*ret_fd = steal_fd(fd);
	return 0;
}

int door_open(struct server *sv, struct sj_err *err)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	size_t len = strlen(sv->opt.socket);
	struct stat st;
	int fd = -1, r;

	if (len == 0 || len >= sizeof(addr.sun_path))
		return refuse(sv->opt.socket, ENAMETOOLONG, "a socket's path has 1 to 107 bytes", NULL, err);
	memcpy(addr.sun_path, sv->opt.socket, len + 1);
	r = check_place(&addr, err);
	if (r == 0)
		r = listen_at(&addr, sv->opt.n_uids > 0, &fd, err);
	if (r < 0)
		return r;
	if (lstat(addr.sun_path, &st) == 0) {
		sv->socket_dev = st.st_dev;
		sv->socket_ino = st.st_ino;
	}
	r = source_open(sv, &sv->door, SOURCE_DOOR, fd, true, sv, EPOLLIN);
	if (r < 0) {
		close(fd);
		return handover_fault("events", -r, err);
	}
	sv->socket_path = strdup(addr.sun_path);
	return sv->socket_path ? 0 : err_oom(err);
}

static bool welcome(const struct server *sv, int fd)
{
	struct ucred who;
	socklen_t len = sizeof(who);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) < 0 || len != sizeof(who))
		return false;
	if (who.uid == geteuid())
		return true;
	for (size_t i = 0; i < sv->opt.n_uids; i++)
		if (sv->opt.uids[i] == who.uid)
			return true;
	return false;
}

void door_knock(struct server *sv)
{
	struct client *c;
	int fd;

	while ((fd = accept4(sv->door.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0)
		if (!welcome(sv, fd) || sv->n_clients >= SERVE_CLIENTS_MAX || client_new(sv, fd, fd, true, &c, NULL) < 0)
			close(fd);
	/* No descriptor is free: asked again when somebody has gone. */
	if (errno == EMFILE || errno == ENFILE)
		source_want(sv, &sv->door, 0);
}

/* Only our own socket file is taken away. */
void door_close(struct server *sv)
{
	struct stat st;

	if (sv->door.fd < 0)
		return;
	source_close(sv, &sv->door);
	if (sv->socket_path && lstat(sv->socket_path, &st) == 0 && st.st_dev == sv->socket_dev && st.st_ino == sv->socket_ino)
		(void)unlink(sv->socket_path);
	free(sv->socket_path);
	sv->socket_path = NULL;
}
