/*
 * stdio.c - the three streams of a jail: pipes, never the caller's own descriptors
 *
 * Runs as: the supervisor, before and after the jail
 * Trusts: the caller's descriptors are whatever they are: closed, a file, a terminal
 * Never: lets a descriptor of the caller into the jail, where it could be opened anew for writing
 */
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "session/internal.h"

static int no_pipe(int error, struct sj_err *err)
{
	err_set(err, error, SJ_EXIT_SETUP, "E_STDIO", "cannot make a pipe for the program's streams");
	err_why(err, "%s", strerror(error));
	if (error == EMFILE || error == ENFILE)
		err_fix(err, "raise the limit of open files (ulimit -n)");
	return -error;
}

static bool is_null_device(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && st->st_rdev == makedev(1, 3);
}

/* Open for this direction (1), or as good as closed (0)? -errno where that cannot be found out. */
static int usable(int fd, bool writing)
{
	int flags = fd < 0 ? -1 : fcntl(fd, F_GETFL);

	if (fd >= 0 && flags < 0 && errno != EBADF)
		return -errno;
	if (flags < 0 || (flags & O_PATH))
		return 0;
	return (flags & O_ACCMODE) == O_RDWR || (flags & O_ACCMODE) == (writing ? O_WRONLY : O_RDONLY);
}

/* Something to read from; sets st. As usable(). */
static int readable(int fd, struct stat *st)
{
	int r = usable(fd, false);

	if (r <= 0)
		return r;
	if (fstat(fd, st) < 0)
		return -errno;
	return !S_ISDIR(st->st_mode) && !is_null_device(st);
}

static bool same_file(int a, int b)
{
	struct stat x, y;

	if (fstat(a, &x) < 0 || fstat(b, &y) < 0)
		return false;
	if (S_ISCHR(x.st_mode) && S_ISCHR(y.st_mode) && x.st_rdev == y.st_rdev)
		return true;
	return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static int open_null(int *ret, int flags, struct sj_err *err)
{
	int fd = open("/dev/null", flags | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return no_pipe(errno, err);
	*ret = fd;
	return 0;
}

/* In builds for tests: the caller's own. */
static int lend(int *ret, int caller, struct sj_err *err)
{
	int fd = fcntl(caller, F_DUPFD_CLOEXEC, 3);

	if (fd < 0)
		return no_pipe(errno, err);
	*ret = fd;
	return 0;
}

static int open_in(struct session_stdio *io, int caller, struct sj_err *err)
{
	struct stat st;
	int p[2], r = readable(caller, &st);

	if (teeth_out("pipes"))
		return lend(&io->inside[0], caller, err);
	if (r < 0)
		return no_pipe(-r, err);
	if (r == 0)
		return open_null(&io->inside[0], O_RDONLY, err);
	if (pipe2(p, O_CLOEXEC) < 0)
		return no_pipe(errno, err);
	io->inside[0] = p[0];
	r = relay_end_own(&io->in.dst, p[1]);
	if (r < 0)
		return no_pipe(-r, err);
	relay_end_caller(&io->in.src, caller, false);
	if (io->in.src.regular) {
		io->in_peek = fcntl(p[0], F_DUPFD_CLOEXEC, 3);
		if (io->in_peek < 0)
			return no_pipe(errno, err);
		io->in_seek = caller;
	}
	return 0;
}

static int open_out(struct relay *r, int *ret_inside, int caller, struct sj_err *err)
{
	int p[2], can = usable(caller, true), e;

	if (teeth_out("pipes"))
		return lend(ret_inside, caller, err);
	if (can < 0)
		return no_pipe(-can, err);
	if (can == 0)
		return open_null(ret_inside, O_WRONLY, err);
	if (pipe2(p, O_CLOEXEC) < 0)
		return no_pipe(errno, err);
	*ret_inside = p[1];
	e = relay_end_own(&r->src, p[0]);
	if (e < 0)
		return no_pipe(-e, err);
	relay_end_caller(&r->dst, caller, true);
	return 0;
}

int stdio_open(struct session_stdio *io, const int caller[3], struct sj_err *err)
{
	int r;

	*io = SESSION_STDIO_INIT;
	r = open_in(io, caller[0], err);
	if (r == 0)
		r = open_out(&io->out, &io->inside[1], caller[1], err);
	if (r < 0)
		return r;
	io->line_buffered = io->out.dst.tty;
	io->merged = io->out.dst.fd >= 0 && usable(caller[2], true) > 0 && same_file(caller[1], caller[2]);
	if (!io->merged)
		return open_out(&io->err, &io->inside[2], caller[2], err);
	io->inside[2] = fcntl(io->inside[1], F_DUPFD_CLOEXEC, 3);
	return io->inside[2] < 0 ? no_pipe(errno, err) : 0;
}

void stdio_close_inside(struct session_stdio *io)
{
	for (int i = 0; i < 3; i++)
		base_closep(&io->inside[i]);
}

void stdio_rewind_unread(struct session_stdio *io)
{
	int unread = 0;

	if (io->in_peek < 0 || ioctl(io->in_peek, FIONREAD, &unread) < 0)
		return;
	(void)lseek(io->in_seek, -((off_t)unread + (off_t)io->in.len), SEEK_CUR);
}

void stdio_close(struct session_stdio *io)
{
	stdio_close_inside(io);
	base_closep(&io->in_peek);
	relay_close(&io->in);
	relay_close(&io->out);
	relay_close(&io->err);
}
