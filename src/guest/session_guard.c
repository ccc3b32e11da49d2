/*
 * session_guard.c - what instrumented steps call often: counting, and a look at values
 *
 * Runs as: the guest, in untrusted hands
 * Trusts: nothing; this is advice to whoever wrote the step, no boundary
 * Never: runs in a session whose guard is "native"
 */
#include "guest/session.h"

static struct {
	unsigned long long count, limit;
	PyObject *on_limit;	/* called when count passes limit; raises */
	PyObject *on_value;	/* called with a module or a function; raises where it may not be had */
} guard;

/* budget(limit, on_limit, on_value): counting starts anew. */
static PyObject *set_budget(PyObject *self, PyObject *args)
{
	PyObject *on_limit, *on_value;
	unsigned long long limit;

	(void)self;
	if (!PyArg_ParseTuple(args, "KOO", &limit, &on_limit, &on_value))
		return NULL;
	Py_INCREF(on_limit);
	Py_INCREF(on_value);
	Py_XSETREF(guard.on_limit, on_limit);
	Py_XSETREF(guard.on_value, on_value);
	guard.count = 0;
	guard.limit = limit;
	Py_RETURN_NONE;
}

/* tick(n): n operations are about to be done. */
static PyObject *tick(PyObject *self, PyObject *n)
{
	long add = PyLong_AsLong(n);

	(void)self;
	if (add < 0)
		return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "tick() counts upwards");
	guard.count += (unsigned long)add;
	if (guard.limit && guard.count > guard.limit && guard.on_limit)
		return PyObject_CallNoArgs(guard.on_limit);
	Py_RETURN_NONE;
}

static bool is_plain(PyObject *value)
{
	return !(PyModule_Check(value) || PyFunction_Check(value) || PyCFunction_Check(value) || PyDict_CheckExact(value));
}

/* seen(value) -> value: nearly always at once. */
static PyObject *seen(PyObject *self, PyObject *value)
{
	(void)self;
	if (!is_plain(value) && guard.on_value) {
		PyObject *r = PyObject_CallOneArg(guard.on_value, value);

		if (!r)
			return NULL;
		Py_DECREF(r);
	}
	Py_INCREF(value);
	return value;
}

PyMethodDef guard_methods[] = {
	{ "budget", set_budget, METH_VARARGS, NULL },
	{ "tick", tick, METH_O, NULL },
	{ "seen", seen, METH_O, NULL },
	{ NULL, NULL, 0, NULL },
};
