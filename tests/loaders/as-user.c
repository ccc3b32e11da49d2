/*
 * as-user.c - run a program as another user, where there is no setpriv
 *
 * Runs as: root, in a test's virtual machine
 * Trusts: its arguments: UID PROGRAM ARGS...
 * Never: keeps a group of root's
 */
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	unsigned int id = argc > 2 ? (unsigned int)strtoul(argv[1], NULL, 10) : 0;

	if (argc < 3)
		return 2;
	if (setgroups(0, NULL) < 0 || setgid(id) < 0 || setuid(id) < 0) {
		perror("as-user");
		return 3;
	}
	execv(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
