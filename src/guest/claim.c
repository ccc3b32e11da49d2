/*
 * claim.c - how the program ended, as far as the interpreter knows
 *
 * Runs as: the guest, in untrusted hands; called by atexit when all else has been
 * Trusts: nothing; the host takes what is noted here for a claim
 * Never: writes past a field, raises, changes how the program ends
 */
#include <Python.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest/internal.h"

#define FRAMES_MAX 1000000	/* of a traceback; deeper ones are cut */

struct watch {
	struct wire_claim *claim;
	pid_t pid;		/* a forked child ends too, but its end is not the program's */
	char *main_file;
	char *folders[2];	/* that hold the program's own files, each with a slash at its end */
};

/* ---- bounded copies ------------------------------------------------------ */

void guest_copy_text(char *to, size_t size, PyObject *text)
{
	PyObject *cut, *bytes = NULL;
	size_t len;

	if (!text || !PyUnicode_Check(text))
		return;
	cut = PyUnicode_Substring(text, 0, (Py_ssize_t)size);
	if (cut)
		bytes = PyUnicode_AsEncodedString(cut, "utf-8", "backslashreplace");
	if (bytes) {
		const char *data = PyBytes_AS_STRING(bytes);

		len = (size_t)PyBytes_GET_SIZE(bytes);
		if (len >= size)
			for (len = size - 1; len > 0 && ((unsigned char)data[len] & 0xc0) == 0x80; len--)
				;
		memcpy(to, data, len);
		to[len] = '\0';
	}
	Py_XDECREF(cut);
	Py_XDECREF(bytes);
	PyErr_Clear();
}

static PyObject *get(PyObject *o, const char *name)
{
	PyObject *value = o ? PyObject_GetAttrString(o, name) : NULL;

	PyErr_Clear();
	return value;
}

static int get_int(PyObject *o, const char *name)
{
	PyObject *value = get(o, name);
	long n = value && PyLong_Check(value) ? PyLong_AsLong(value) : 0;

	Py_XDECREF(value);
	PyErr_Clear();
	return n > 0 && n <= INT32_MAX ? (int)n : 0;
}

/* ---- where --------------------------------------------------------------- */

static bool is_own_file(const struct watch *w, PyObject *file)
{
	const char *name = file && PyUnicode_Check(file) ? PyUnicode_AsUTF8(file) : NULL;

	PyErr_Clear();
	return name && (strcmp(name, w->main_file) == 0 || str_prefix(name, w->folders[0]) ||
			str_prefix(name, w->folders[1]));
}

static void note_place(const struct watch *w, PyObject *file, int line)
{
	if (!is_own_file(w, file))
		return;
	guest_copy_text(w->claim->file, sizeof(w->claim->file), file);
	w->claim->line = line;
}

static PyObject *file_of_frame(PyObject *tb)
{
	PyObject *frame = get(tb, "tb_frame"), *code = get(frame, "f_code"), *file = get(code, "co_filename");

	Py_XDECREF(frame);
	Py_XDECREF(code);
	return file;
}

/* The innermost frame in a file of the program; each deeper one replaces the last. */
static void note_frames(const struct watch *w, PyObject *tb)
{
	Py_XINCREF(tb);
	for (int i = 0; tb && PyTraceBack_Check(tb) && i < FRAMES_MAX; i++) {
		PyObject *file = file_of_frame(tb), *next;

		note_place(w, file, get_int(tb, "tb_lineno"));
		Py_XDECREF(file);
		next = get(tb, "tb_next");
		Py_DECREF(tb);
		tb = next;
	}
	Py_XDECREF(tb);
}

/* ---- what ---------------------------------------------------------------- */

static void note_type(const struct watch *w, PyObject *type)
{
	const char *name, *dot;

	if (!PyType_Check(type))
		return;
	name = ((PyTypeObject *)type)->tp_name;
	dot = strrchr(name, '.');
	snprintf(w->claim->type, sizeof(w->claim->type), "%s", dot ? dot + 1 : name);
}

static void note_value(const struct watch *w, PyObject *type, PyObject *value)
{
	PyObject *text = PyObject_Str(value), *o;

	PyErr_Clear();
	guest_copy_text(w->claim->message, sizeof(w->claim->message), text);
	Py_XDECREF(text);
	if (PyErr_GivenExceptionMatches(type, PyExc_ModuleNotFoundError)) {
		o = get(value, "name");
		guest_copy_text(w->claim->name, sizeof(w->claim->name), o);
		Py_XDECREF(o);
	}
	/* What does not parse never had a frame. */
	if (PyErr_GivenExceptionMatches(type, PyExc_SyntaxError)) {
		o = get(value, "filename");
		note_place(w, o, get_int(value, "lineno"));
		Py_XDECREF(o);
	}
}

/* sys.last_* hold what the interpreter printed as uncaught; sys.exit leaves them alone. */
static PyObject *note_end(PyObject *self, PyObject *Py_UNUSED(args))
{
	const struct watch *w = PyCapsule_GetPointer(self, NULL);
	PyObject *type = PySys_GetObject("last_type"), *value = PySys_GetObject("last_value");
	PyObject *tb = PySys_GetObject("last_traceback");

	PyErr_Clear();
	if (!w || getpid() != w->pid)
		Py_RETURN_NONE;
	if (!type || type == Py_None) {
		w->claim->outcome = WIRE_OUTCOME_CLEAN;
		Py_RETURN_NONE;
	}
	/* str() of the value is the program's code, which may do away with them. */
	Py_INCREF(type);
	Py_XINCREF(value);
	Py_XINCREF(tb);
	note_type(w, type);
	note_frames(w, tb);
	if (value) {
		note_value(w, type, value);
		guest_note_last(value);
	}
	w->claim->outcome = WIRE_OUTCOME_EXCEPTION;
	Py_DECREF(type);
	Py_XDECREF(value);
	Py_XDECREF(tb);
	Py_RETURN_NONE;
}

/* ---- registration -------------------------------------------------------- */

static PyMethodDef note_end_def = { "note_end", note_end, METH_NOARGS, NULL };

/* Lives as long as the process. */
static struct watch *new_watch(const struct guest *g, const char *main_file)
{
	struct watch *w = calloc(1, sizeof(*w));
	const char *slash = strrchr(main_file, '/');
	int r;

	if (!w)
		return NULL;
	*w = (struct watch){ .claim = g->claim, .pid = getpid(), .main_file = strdup(main_file) };
	r = asprintf(&w->folders[0], "%s/", g->work);
	/* Without mounts the project has no name of its own: the script's folder stands for it. */
	if (r >= 0 && guest_root()[0] && slash)
		r = asprintf(&w->folders[1], "%.*s/", (int)(slash - main_file), main_file);
	else if (r >= 0)
		r = asprintf(&w->folders[1], "%s/", GUEST_PROJECT);
	return r >= 0 && w->main_file ? w : NULL;
}

int guest_watch_end(const struct guest *g, const char *main_file)
{
	struct watch *w = new_watch(g, main_file);
	PyObject *capsule = NULL, *function = NULL, *module = NULL, *r = NULL;

	if (w)
		capsule = PyCapsule_New(w, NULL, NULL);
	if (capsule)
		function = PyCFunction_New(&note_end_def, capsule);
	if (function)
		module = PyImport_ImportModule("atexit");
	/* Before the program's own: atexit calls the last one first. */
	if (module)
		r = PyObject_CallMethod(module, "register", "O", function);
	Py_XDECREF(capsule);
	Py_XDECREF(function);
	Py_XDECREF(module);
	Py_XDECREF(r);
	return r ? 0 : -1;
}
