/*
 * acts_files.c - files, descriptors and /proc as seen from inside
 *
 * Runs as: an untrusted program inside a jail
 * Trusts: nothing
 * Never: writes to a path it was not told
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "probe.h"

static int try_open(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK, 0600);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static int act_read(char **args)
{
	char c;
	int fd = open(args[0], O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return -errno;
	return read(fd, &c, 1) < 0 ? -errno : 0;
}

static int act_write(char **args)
{
	return try_open(args[0], O_WRONLY);
}

static int act_create(char **args)
{
	return try_open(args[0], O_WRONLY | O_CREAT | O_EXCL);
}

static int act_list(char **args)
{
	DIR *d = opendir(args[0]);
	struct dirent *e;

	if (!d)
		return -errno;
	while ((e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			printf("%s\n", e->d_name);
	closedir(d);
	return PROBE_PRINTED;
}

static int act_fds(char **args)
{
	struct stat st;

	(void)args;
	for (int fd = 0; fd < 65536; fd++)
		if (fstat(fd, &st) == 0)
			printf("%d ", fd);
	putchar('\n');
	return PROBE_PRINTED;
}

/* A path that climbs out of the working directory or through one's own root. */
static int act_climb(char **args)
{
	(void)args;
	for (int i = 0; i < 64; i++)
		if (chdir("..") < 0)
			return -errno;
	return try_open("etc/shadow", O_RDONLY);
}

static int act_reopen_stdout(char **args)
{
	(void)args;
	return try_open("/proc/self/fd/1", O_RDWR | O_TRUNC);
}

static int act_exe_write(char **args)
{
	(void)args;
	return try_open("/proc/self/exe", O_WRONLY);
}

static int act_tty(char **args)
{
	(void)args;
	return try_open("/dev/tty", O_RDWR);
}

static int act_unlink(char **args)
{
	return unlink(args[0]) < 0 ? -errno : 0;
}

static int act_mkdir(char **args)
{
	return mkdir(args[0], 0755) < 0 ? -errno : 0;
}

static int act_chmod_suid(char **args)
{
	int fd = open(args[0], O_WRONLY | O_CREAT | O_CLOEXEC, 0700);

	if (fd < 0)
		return -errno;
	return fchmod(fd, 04755) < 0 ? -errno : 0;
}

static int act_xattr(char **args)
{
	return setxattr(args[0], "user.x", "y", 1, 0) < 0 ? -errno : 0;
}

static int act_getcwd(char **args)
{
	char buf[4096];

	(void)args;
	if (!getcwd(buf, sizeof(buf)))
		return -errno;
	puts(buf);
	return PROBE_PRINTED;
}

static int act_ids(char **args)
{
	(void)args;
	printf("%d %d %d %d\n", (int)getuid(), (int)geteuid(), (int)getgid(), (int)getegid());
	return PROBE_PRINTED;
}

static int act_sid(char **args)
{
	(void)args;
	printf("%d\n", (int)getsid(0));
	return PROBE_PRINTED;
}

static int act_umask(char **args)
{
	(void)args;
	printf("%03o\n", (unsigned int)umask(0));
	return PROBE_PRINTED;
}

const struct act acts_files[] = {
	{ "read", act_read, "open PATH and read a byte" },
	{ "write", act_write, "open PATH for writing" },
	{ "create", act_create, "create PATH" },
	{ "list", act_list, "entries of folder PATH" },
	{ "fds", act_fds, "open descriptors" },
	{ "climb", act_climb, "../../.. and etc/shadow" },
	{ "reopen-stdout", act_reopen_stdout, "/proc/self/fd/1 for writing" },
	{ "exe-write", act_exe_write, "/proc/self/exe for writing" },
	{ "tty", act_tty, "open /dev/tty" },
	{ "unlink", act_unlink, "unlink PATH" },
	{ "mkdir", act_mkdir, "mkdir PATH" },
	{ "suid", act_chmod_suid, "set-uid bit on PATH" },
	{ "xattr", act_xattr, "user attribute on PATH" },
	{ "getcwd", act_getcwd, "working directory" },
	{ "ids", act_ids, "uid euid gid egid" },
	{ "sid", act_sid, "session" },
	{ "umask", act_umask, "umask" },
	{ NULL, NULL, NULL },
};
