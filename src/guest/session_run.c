/*
 * session_run.c - a step's code is run, and SIGINT reaches it and nothing else
 *
 * Runs as: the guest, in untrusted hands
 * Trusts: nothing
 * Never: lets an exception or an interrupt out of run() and call(), whenever it comes
 */
#include <pthread.h>

#include "guest/session.h"

/*
 * The interpreter calls signal handlers in the main thread, between two
 * instructions or where C asks for it. A step runs between begin() and end(),
 * in one call from Python's point of view, so there is no instruction of the
 * session's own loop at which an interrupt could strike.
 */
static struct {
	unsigned long main_thread;
	bool live;		/* a step runs */
	bool masked;		/* but is in the middle of something that has to be finished */
	bool pending;
} interrupt;

/* Takes the place of signal.default_int_handler, under that name: asyncio looks for it. */
static PyObject *on_sigint(PyObject *self, PyObject *args)
{
	(void)self, (void)args;
	if (interrupt.live && !interrupt.masked) {
		PyErr_SetNone(PyExc_KeyboardInterrupt);
		return NULL;
	}
	interrupt.pending = interrupt.live;
	return none();
}

static PyMethodDef on_sigint_def = {
	"default_int_handler", on_sigint, METH_VARARGS,
	"default_int_handler($module, signalnum, frame, /)\n--\n\n"
	"The default handler for SIGINT: it raises KeyboardInterrupt, while a step runs.",
};

bool run_is_live(void)
{
	return interrupt.live;
}

bool run_take_interrupt(void)
{
	if (!interrupt.pending || PyThread_get_thread_ident() != interrupt.main_thread)
		return false;
	interrupt.pending = false;
	return interrupt.live;
}

PyObject *run_mask(PyObject *self, PyObject *on)
{
	(void)self;
	if (PyThread_get_thread_ident() != interrupt.main_thread)
		return none();
	interrupt.masked = PyObject_IsTrue(on) == 1;
	if (!interrupt.masked && run_take_interrupt()) {
		PyErr_SetNone(PyExc_KeyboardInterrupt);
		return NULL;
	}
	return none();
}

/* ---- between the borders ------------------------------------------------- */

/* Handlers of signals that came before are called now; nothing is running that they could stop. */
static void settle(void)
{
	interrupt.live = interrupt.masked = interrupt.pending = false;
	while (PyErr_CheckSignals() < 0)
		PyErr_Clear();
}

/* The exception that is set, with its traceback; a new reference. */
static PyObject *take_exception(void)
{
	PyObject *type, *value, *tb;

	PyErr_Fetch(&type, &value, &tb);
	PyErr_NormalizeException(&type, &value, &tb);
	if (tb && value && PyExceptionInstance_Check(value))
		PyException_SetTraceback(value, tb);
	Py_XDECREF(type);
	Py_XDECREF(tb);
	return value;
}

/* Steals value; NULL stands for the exception that is set. */
static PyObject *outcome(PyObject *value)
{
	PyObject *pair, *exception = NULL;

	/* At once: what follows is the session's own. */
	interrupt.live = false;
	if (!value)
		exception = take_exception();
	settle();
	pair = PyTuple_Pack(2, value ? value : Py_None, exception ? exception : Py_None);
	Py_XDECREF(value);
	Py_XDECREF(exception);
	return pair;
}

PyObject *run_codes(PyObject *self, PyObject *args)
{
	Py_ssize_t n = PyTuple_GET_SIZE(args);
	PyObject *namespace = n ? PyTuple_GET_ITEM(args, 0) : NULL, *value = Py_None;

	(void)self;
	if (!namespace || !PyDict_Check(namespace))
		return PyErr_Format(PyExc_TypeError, "run() wants a namespace and code objects");
	for (Py_ssize_t i = 1; i < n; i++)
		if (!PyCode_Check(PyTuple_GET_ITEM(args, i)))
			return PyErr_Format(PyExc_TypeError, "run() wants code objects");
	Py_INCREF(value);
	settle();
	interrupt.live = true;
	for (Py_ssize_t i = 1; value && i < n; i++) {
		Py_DECREF(value);
		value = PyEval_EvalCode(PyTuple_GET_ITEM(args, i), namespace, namespace);
	}
	return outcome(value);
}

PyObject *run_call(PyObject *self, PyObject *args)
{
	PyObject *rest, *value;

	(void)self;
	if (PyTuple_GET_SIZE(args) < 1)
		return PyErr_Format(PyExc_TypeError, "call() wants a function");
	rest = PyTuple_GetSlice(args, 1, PyTuple_GET_SIZE(args));
	if (!rest)
		return NULL;
	settle();
	interrupt.live = true;
	value = PyObject_Call(PyTuple_GET_ITEM(args, 0), rest, NULL);
	Py_DECREF(rest);
	return outcome(value);
}

/* ---- registration -------------------------------------------------------- */

int run_init(PyObject *module)
{
	PyObject *signals = PyImport_ImportModule("_signal"), *handler = NULL, *number = NULL, *r = NULL;

	interrupt.main_thread = PyThread_get_thread_ident();
	if (signals)
		handler = PyCFunction_NewEx(&on_sigint_def, NULL, NULL);
	if (handler && PyObject_SetAttrString(signals, "default_int_handler", handler) == 0)
		number = PyObject_GetAttrString(signals, "SIGINT");
	if (number)
		r = PyObject_CallMethod(signals, "signal", "OO", number, handler);
	(void)module;
	Py_XDECREF(signals);
	Py_XDECREF(handler);
	Py_XDECREF(number);
	Py_XDECREF(r);
	return r ? 0 : -1;
}
