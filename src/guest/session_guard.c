/*
 * session_guard.c - what instrumented steps call often: counting, and a look at values
 *
 * Runs as: the guest, in untrusted hands
 * Trusts: nothing; this is advice to whoever wrote the step, no boundary
 * Never: is called by a session whose guard is "native"
 */
#include "guest/session.h"

static struct {
	unsigned long long count, limit;	/* operations; 0 = no limit */
	long turns;				/* of one while loop */
	PyObject *on_limit;	/* called with the name of what is used up; raises */
	PyObject *on_value;	/* called with a module or a function; raises where it may not be had */
	PyObject *on_index;	/* called with value, index and exception; adds what it knows to the exception */
	PyObject *builtins;	/* the module, whose functions are looked at before they are called */
} guard;

/* budget(limit, turns, on_limit, on_value, on_index, builtins): counting starts anew. */
static PyObject *set_budget(PyObject *self, PyObject *args)
{
	PyObject *on_limit, *on_value, *on_index, *builtins;
	unsigned long long limit;
	long turns;

	(void)self;
	if (!PyArg_ParseTuple(args, "KlOOOO", &limit, &turns, &on_limit, &on_value, &on_index, &builtins))
		return NULL;
	Py_INCREF(on_limit);
	Py_INCREF(on_value);
	Py_INCREF(on_index);
	Py_INCREF(builtins);
	Py_XSETREF(guard.on_limit, on_limit);
	Py_XSETREF(guard.on_value, on_value);
	Py_XSETREF(guard.on_index, on_index);
	Py_XSETREF(guard.builtins, builtins);
	guard.count = 0;
	guard.limit = limit;
	guard.turns = turns;
	return none();
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
		return PyObject_CallFunction(guard.on_limit, "s", "operations");
	return none();
}

/* turn(n) -> n + 1: one more turn of a while loop. */
static PyObject *turn(PyObject *self, PyObject *n)
{
	long turns = PyLong_AsLong(n);

	(void)self;
	if (turns == -1 && PyErr_Occurred())
		return NULL;
	if (guard.turns && turns > guard.turns && guard.on_limit)
		return PyObject_CallFunction(guard.on_limit, "s", "turns");
	return PyLong_FromLong(turns + 1);
}

/* A value that on_value lets pass; a new reference. */
static PyObject *ask(PyObject *value)
{
	PyObject *r = guard.on_value ? PyObject_CallOneArg(guard.on_value, value) : NULL;

	if (guard.on_value && !r)
		return NULL;
	Py_XDECREF(r);
	Py_INCREF(value);
	return value;
}

/* seen(value) -> value: nearly always at once. */
static PyObject *seen(PyObject *self, PyObject *value)
{
	(void)self;
	if (PyModule_Check(value) || PyFunction_Check(value) || PyCFunction_Check(value) ||
	    (PyDict_CheckExact(value) && PyDict_GetItemString(value, "__spec__")))
		return ask(value);
	Py_INCREF(value);
	return value;
}

/* called(function) -> function: the same for what is about to be called. */
static PyObject *called(PyObject *self, PyObject *function)
{
	(void)self;
	if (PyCFunction_Check(function) && PyCFunction_GET_SELF(function) == guard.builtins && guard.builtins)
		return PyObject_CallFunction(guard.on_value, "Oi", function, 1);
	Py_INCREF(function);
	return function;
}

/* item(value, index) -> value[index] */
static PyObject *item(PyObject *self, PyObject *args)
{
	PyObject *value, *index, *found, *type, *error, *tb, *r;

	(void)self;
	if (!PyArg_ParseTuple(args, "OO", &value, &index))
		return NULL;
	found = PyObject_GetItem(value, index);
	if (found || !guard.on_index)
		return found;
	if (!PyErr_ExceptionMatches(PyExc_LookupError) && !PyErr_ExceptionMatches(PyExc_TypeError))
		return NULL;
	PyErr_Fetch(&type, &error, &tb);
	PyErr_NormalizeException(&type, &error, &tb);
	r = PyObject_CallFunctionObjArgs(guard.on_index, value, index, error, NULL);
	if (!r)
		PyErr_Clear();
	Py_XDECREF(r);
	PyErr_Restore(type, error, tb);
	return NULL;
}

PyMethodDef guard_methods[] = {
	{ "budget", set_budget, METH_VARARGS, NULL },
	{ "tick", tick, METH_O, NULL },
	{ "turn", turn, METH_O, NULL },
	{ "seen", seen, METH_O, NULL },
	{ "called", called, METH_O, NULL },
	{ "item", item, METH_VARARGS, NULL },
	{ NULL, NULL, 0, NULL },
};
