/*
 * builtins.c - exit, quit, help, copyright, credits and license without importing site
 *
 * Runs as: the guest; the objects are used by untrusted code
 * Trusts: nothing
 * Never: imports site before one of them is used
 */
#include <Python.h>
#include <stddef.h>
#include <structmember.h>

#include "guest/internal.h"

/* Which function of site defines it. */
static const struct {
	const char *name, *maker;
} lazy_builtins[] = {
	{ "exit", "setquit" }, { "quit", "setquit" }, { "help", "sethelper" },
	{ "copyright", "setcopyright" }, { "credits", "setcopyright" }, { "license", "setcopyright" },
};

/* Stands in for a builtin until it is used for the first time. */
struct lazy {
	PyObject_HEAD
	unsigned int which;
	PyObject *real;
};

/* Borrowed reference to what site makes of that name. */
static PyObject *lazy_real(struct lazy *self)
{
	PyObject *site, *r = NULL, *builtins = NULL;

	if (self->real)
		return self->real;
	site = PyImport_ImportModule("site");
	if (site)
		r = PyObject_CallMethod(site, lazy_builtins[self->which].maker, NULL);
	if (r)
		builtins = PyImport_ImportModule("builtins");
	if (builtins)
		self->real = PyObject_GetAttrString(builtins, lazy_builtins[self->which].name);
	Py_XDECREF(site);
	Py_XDECREF(r);
	Py_XDECREF(builtins);
	return self->real;
}

static PyObject *lazy_repr(PyObject *self)
{
	PyObject *real = lazy_real((struct lazy *)self);

	return real ? PyObject_Repr(real) : NULL;
}

static PyObject *lazy_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
	PyObject *real = lazy_real((struct lazy *)self);

	return real ? PyObject_Call(real, args, kwargs) : NULL;
}

static PyObject *lazy_getattro(PyObject *self, PyObject *name)
{
	PyObject *real = lazy_real((struct lazy *)self);

	return real ? PyObject_GetAttr(real, name) : NULL;
}

static void lazy_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);

	Py_XDECREF(((struct lazy *)self)->real);
	type->tp_free(self);
	Py_DECREF(type);
}

static PyType_Slot lazy_slots[] = {
	{ Py_tp_repr, lazy_repr },
	{ Py_tp_call, lazy_call },
	{ Py_tp_getattro, lazy_getattro },
	{ Py_tp_dealloc, lazy_dealloc },
	{ 0, NULL },
};

static PyType_Spec lazy_spec = {
	.name = "builtins.lazy_builtin",
	.basicsize = sizeof(struct lazy),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
	.slots = lazy_slots,
};

static int add_one(PyObject *builtins, PyTypeObject *type, unsigned int which)
{
	struct lazy *o = (struct lazy *)type->tp_alloc(type, 0);
	int r;

	if (!o)
		return -1;
	o->which = which;
	r = PyObject_SetAttrString(builtins, lazy_builtins[which].name, (PyObject *)o);
	Py_DECREF(o);
	return r;
}

int guest_add_builtins(void)
{
	PyObject *builtins = PyImport_ImportModule("builtins");
	PyObject *type = PyType_FromSpec(&lazy_spec);
	int r = builtins && type ? 0 : -1;

	for (unsigned int i = 0; r == 0 && i < ARRAY_LEN(lazy_builtins); i++)
		r = add_one(builtins, (PyTypeObject *)type, i);
	Py_XDECREF(builtins);
	Py_XDECREF(type);
	return r;
}
