/*
 * progress.c - whether the main program, or init on its way to it, gets the CPU that it wants
 *
 * Runs as: the supervisor, which sees the jail's processes under the host's ids
 * Trusts: the kernel's numbers; never the names that processes gave themselves
 * Never: takes a program that merely goes on for one that has to wait
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "jail/cgroup_internal.h"

/* Init has made no child before; those that it inherits come behind. */
static int first_child(int proc, pid_t init, pid_t *ret)
{
	char path[64], text[CGROUP_FILE_MAX];
	_cleanup_close_ int fd = -1;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "%d/task/%d/children", (int)init, (int)init);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return -errno;
	text[n] = '\0';
	*ret = (pid_t)strtol(text, NULL, 10);
	return *ret > 0 ? 0 : -ESRCH;
}

int jail_progress(const struct jail *j, struct jail_progress *ret)
{
	_cleanup_close_ int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct poll_stat st = { 0 };
	char who[16];
	pid_t guest = 0;
	int r = proc < 0 ? -errno : first_child(proc, j->pid, &guest);

	if (r < 0)
		return r;
	/* proc_pid_stat(5): the ticks are those of the whole thread group, the state its leader's. */
	(void)snprintf(who, sizeof(who), "%d", (int)guest);
	r = cgroup_read_stat(proc, who, &st);
	if (r < 0)
		return r;
	*ret = (struct jail_progress){
		.ready = st.state == 'R', .cpu_us = st.ticks * (1000000u / (uint64_t)sysconf(_SC_CLK_TCK)),
	};
	return 0;
}
