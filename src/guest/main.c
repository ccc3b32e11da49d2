/*
 * main.c - one program, two roles: a jailed program's start, or plain Python
 *
 * Runs as: the jail's user, inside the jail; started by init or by the program itself
 * Trusts: argv[0] only to choose the role; neither role has more rights than the other
 * Never: comes back to set-up once the program runs
 */
#include <Python.h>
#include <string.h>

#include "guest/internal.h"

static bool is_jailed_start(const char *argv0)
{
	const char *slash = strrchr(argv0, '/');

	return strcmp(slash ? slash + 1 : argv0, GUEST_NAME) == 0;
}

int guest_main(int argc, char **argv)
{
	struct guest g = { 0 };

	if (argc < 1 || !is_jailed_start(argv[0]))
		return guest_plain(argc, argv);
	guest_receive(&g);
	guest_find_home(&g);
	if (g.boot.head->mode == WIRE_MODE_EXEC)
		guest_exec(&g);
	guest_python(&g);
	if (g.boot.head->mode == WIRE_MODE_SESSION)
		guest_session(&g);
	guest_confine(&g);
	guest_forget(&g);
	return Py_RunMain();
}
