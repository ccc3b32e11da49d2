/*
 * plain.c - python3 as everybody knows it, for children of the jailed program
 *
 * Runs as: a child of the program, under the filter that it inherited
 * Trusts: nothing; it is the program's own interpreter
 * Never: differs from python3 but in where it looks for packages, and in writing no byte code
 */
#include <Python.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest/internal.h"

#define PACKAGES_MAX 64

static int append_if_there(PyObject *path, const char *folder)
{
	PyObject *name;
	int r;

	if (access(folder, F_OK) < 0)
		return 0;
	name = PyUnicode_FromString(folder);
	r = name ? PySequence_Contains(path, name) : -1;
	if (r == 0)
		r = PyList_Append(path, name);
	Py_XDECREF(name);
	return r < 0 ? -1 : 0;
}

/* Without mounts they are at the host's paths, which the script that started us has put there (jail/light_plan.c). */
static int append_told(PyObject *path)
{
	const char *list = getenv("SMOLJAIL_PATH");
	_cleanup_free_ char *copy = strdup(list ? list : "");
	char *rest = copy, *folder;
	int r = copy ? 0 : -1;

	while (r == 0 && (folder = strsep(&rest, ":")))
		if (*folder)
			r = append_if_there(path, folder);
	return r;
}

/* The folders that a jailed program's own sys.path has, so that its children find the same modules. */
static int append_folders(void)
{
	PyObject *path = PySys_GetObject("path");
	char folder[sizeof(GUEST_PACKAGES) + 16] = GUEST_PACKAGES;
	int r;

	if (!path || !PyList_Check(path))
		return 0;
	if (guest_root()[0])
		return append_told(path);
	r = append_if_there(path, GUEST_PROJECT);
	for (int i = 2; r == 0 && i < PACKAGES_MAX && access(folder, F_OK) == 0; i++) {
		r = append_if_there(path, folder);
		snprintf(folder, sizeof(folder), "%s-%d", GUEST_PACKAGES, i);
	}
	return r;
}

int guest_plain(int argc, char **argv)
{
	char home[PATH_MAX];
	PyConfig c;
	PyStatus status;

	guest_python_prepare();
	PyConfig_InitPythonConfig(&c);
	c.write_bytecode = 0;
	c.user_site_directory = 0;
	/* Without mounts the library is where nobody would look for it. */
	status = guest_root()[0] ? PyConfig_SetBytesString(&c, &c.home, guest_path(home, sizeof(home), "/usr")) : PyStatus_Ok();
	if (!PyStatus_Exception(status))
		status = PyConfig_SetBytesArgv(&c, argc, argv);
	if (!PyStatus_Exception(status))
		status = Py_InitializeFromConfig(&c);
	PyConfig_Clear(&c);
	if (PyStatus_IsExit(status))
		return status.exitcode;
	if (PyStatus_Exception(status))
		Py_ExitStatusException(status);
	if (append_folders() < 0)
		PyErr_Print();
	return Py_RunMain();
}
