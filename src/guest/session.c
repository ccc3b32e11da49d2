/*
 * session.c - a session: state that lives from step to step, served over the channel
 *
 * Runs as: the guest, before the filter (imports) and after it (steps)
 * Trusts: the root's own package smoljail_guest until the filter is loaded; nothing afterwards
 * Never: comes back; when the host closes the channel the process ends
 */
#include <stdlib.h>
#include <unistd.h>

#include "guest/session.h"

/* ---- the module _smoljail ------------------------------------------------ */

/* C's own buffers, of extension modules that print. */
static PyObject *flush_stdio(PyObject *self, PyObject *no_args)
{
	PyThreadState *state = PyEval_SaveThread();

	(void)self, (void)no_args;
	fflush(NULL);
	PyEval_RestoreThread(state);
	return none();
}

static PyMethodDef methods[] = {
	{ "read", channel_read, METH_NOARGS, NULL },
	{ "write", channel_write, METH_O, NULL },
	{ "limit", channel_limit, METH_O, NULL },
	{ "lost", channel_lost, METH_NOARGS, NULL },
	{ "run", run_codes, METH_VARARGS, NULL },
	{ "call", run_call, METH_VARARGS, NULL },
	{ "mask", run_mask, METH_O, NULL },
	{ "flush", flush_stdio, METH_NOARGS, NULL },
	{ NULL, NULL, 0, NULL },
};

static struct PyModuleDef definition = { PyModuleDef_HEAD_INIT, .m_name = "_smoljail", .m_size = -1, .m_methods = methods };

static PyObject *make_module(void)
{
	PyObject *m = PyModule_Create(&definition);

	if (m && (PyModule_AddFunctions(m, guard_methods) < 0 || channel_init() < 0 || run_init(m) < 0))
		Py_CLEAR(m);
	return m;
}

int guest_session_register(void)
{
	return PyImport_AppendInittab("_smoljail", make_module);
}

/* ---- the life of a session ----------------------------------------------- */

static _noreturn_ void fail_session(void)
{
	/* Only the root's own code has run so far; its traceback helps whoever built the root. */
	PyErr_Print();
	guest_fail("python: package " SESSION_PACKAGE, EIO);
}

/* As in an interactive interpreter, the current folder comes first. */
static int prepend_current_folder(void)
{
	PyObject *path = PySys_GetObject("path"), *empty = PyUnicode_FromString("");
	int r = path && empty ? PyList_Insert(path, 0, empty) : -1;

	Py_XDECREF(empty);
	return r;
}

static PyObject *prepare(void)
{
	PyObject *package = PyImport_ImportModule(SESSION_PACKAGE ".session");
	PyObject *serve = package ? PyObject_GetAttrString(package, "serve") : NULL;
	PyObject *gc = serve ? PyImport_ImportModule("gc") : NULL;
	PyObject *r = gc ? PyObject_CallMethod(gc, "freeze", NULL) : NULL;

	if (!r || prepend_current_folder() < 0)
		fail_session();
	Py_DECREF(r);
	Py_DECREF(gc);
	Py_DECREF(package);
	return serve;
}

void guest_session(const struct guest *g)
{
	PyObject *serve = prepare(), *r;
	struct guest held = *g;

	if (g->boot.head->flags & WIRE_MAY_LOOK)
		channel_may_look();
	guest_confine(g);
	guest_forget(&held);
	r = PyObject_CallNoArgs(serve);
	if (!r)
		PyErr_Print();
	/* Not Py_Finalize(): threads of the program may run on, and nobody is there to wait for them. */
	_exit(r ? 0 : 1);
}
