/*
 * refusals.c - which operations failed, and in which line, noted for the report
 *
 * Runs as: the guest, in untrusted hands, whenever an OSError is let go
 * Trusts: nothing; the host takes what is noted here for claims
 * Never: costs anything while nothing fails; raises; changes what the program sees
 */
/*
 * The interpreter turns a failed call into an OSError, whether it comes from C or from Python and
 * whether or not anybody looks at it. The moment at which the last reference to one is dropped is seen by
 * the type's tp_dealloc alone, which no program can tell from the original, and the object then
 * holds all there is to know: errno, path, and the traceback of how far it went.
 */
#include <Python.h>
#include <opcode.h>
#include <string.h>

#include "guest/internal.h"

#define FRAMES_MAX 200		/* looked at, of a traceback or of a stack */
#define CALL_BACK_MAX 400	/* bytes of code looked at before a call, for what it calls */
#define SAME_LOOKED_AT 4	/* errors of one path whose calls are told apart */
#define TYPES_MAX 4		/* of types below OSError, one below the other */

static struct {
	struct wire_notes *notes;
	destructor original;
	const PyObject *last;	/* the error that ended the program: noted already */
	bool busy;		/* noting runs Python's own code, which may drop OSErrors too */
} watch;

/* ---- frames --------------------------------------------------------------- */

struct place {
	PyCodeObject *code;	/* borrowed from a frame that lives */
	int at;			/* byte of its instruction */
};

static const char *text_of(PyObject *str)
{
	const char *s = str && PyUnicode_Check(str) ? PyUnicode_AsUTF8(str) : NULL;

	if (!s)
		PyErr_Clear();
	return s ? s : "";
}

static bool is_own(PyCodeObject *code)
{
	const char *file = guest_inside(text_of(code->co_filename));

	return !str_prefix(file, "<frozen ") && !str_prefix(file, GUEST_LIBRARY "/") && !str_prefix(file, GUEST_PACKAGES);
}

/* The frame keeps it alive. */
static PyCodeObject *code_of(PyFrameObject *frame)
{
	PyCodeObject *code = PyFrame_GetCode(frame);

	Py_DECREF(code);
	return code;
}

struct path_of_error {
	struct place own;	/* innermost of the program's own code; code NULL: none */
	struct place last;	/* innermost of all */
	bool by_caller;		/* own code called the function that dealt with the error */
};

static void walk_traceback(PyTracebackObject *tb, struct path_of_error *ret)
{
	/* The garbage collector may have emptied a traceback already. */
	for (int i = 0; tb && tb->tb_frame && i < FRAMES_MAX; i++, tb = tb->tb_next) {
		ret->last = (struct place){ code_of(tb->tb_frame), tb->tb_lasti };
		if (is_own(ret->last.code))
			ret->own = ret->last;
	}
}

/* From whoever caught it outwards. */
static void walk_callers(PyFrameObject *frame, struct path_of_error *ret)
{
	Py_XINCREF(frame);
	for (int i = 0; frame && i < FRAMES_MAX; i++) {
		PyFrameObject *back;

		if (is_own(code_of(frame))) {
			ret->own = (struct place){ code_of(frame), PyFrame_GetLasti(frame) };
			ret->by_caller = i == 1;
			/* It runs, so its code outlives this frame object. */
			Py_DECREF(frame);
			return;
		}
		back = PyFrame_GetBack(frame);
		Py_DECREF(frame);
		frame = back;
	}
	Py_XDECREF(frame);
}

/* ---- what was called -------------------------------------------------------- */

#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030C0000

struct span {
	int line, column, end_line, end_column;
};

static bool span_of(PyCodeObject *code, int at, struct span *ret)
{
	return PyCode_Addr2Location(code, at, &ret->line, &ret->column, &ret->end_line, &ret->end_column) && ret->column >= 0;
}

/* "w", "xb+": a mode of open() that writes. */
static bool is_write_mode(PyObject *o)
{
	const char *s = text_of(o);
	size_t n = strlen(s);

	return n > 0 && n <= 4 && strspn(s, "rwaxbt+U") == n && strpbrk(s, "wax+");
}

static PyObject *name_at(PyCodeObject *code, int op, int arg)
{
	PyObject *names = op == LOAD_FAST || op == LOAD_DEREF ? NULL : code->co_names;
	int index = op == LOAD_GLOBAL ? arg >> 1 : arg;

	return names && index < PyTuple_GET_SIZE(names) ? PyTuple_GET_ITEM(names, index) : NULL;
}

/*
 * A call's source text begins with what it calls: among the loads before it that begin at the same column, the
 * nearest. Constants in between are its arguments.
 */
static void note_call(struct wire_note *note, struct place where)
{
	PyObject *bytes = PyCode_GetCode(where.code);
	const unsigned char *ops = bytes ? (const unsigned char *)PyBytes_AS_STRING(bytes) : NULL;
	struct span call, s;

	PyErr_Clear();
	if (!ops || where.at < 0 || where.at >= PyBytes_GET_SIZE(bytes) || !span_of(where.code, where.at, &call)) {
		Py_XDECREF(bytes);
		return;
	}
	for (int at = where.at - 2; at >= 0 && at >= where.at - CALL_BACK_MAX; at -= 2) {
		int op = ops[at], arg = ops[at + 1];

		if (op == LOAD_CONST && arg < PyTuple_GET_SIZE(where.code->co_consts) &&
		    is_write_mode(PyTuple_GET_ITEM(where.code->co_consts, arg)))
			note->writes = 1;
		if (op != LOAD_NAME && op != LOAD_GLOBAL && op != LOAD_ATTR && op != LOAD_METHOD)
			continue;
		if (!span_of(where.code, at, &s) || s.line != call.line || s.column != call.column)
			continue;
		guest_copy_text(note->call, sizeof(note->call), name_at(where.code, op, arg));
		break;
	}
	Py_DECREF(bytes);
}

#else

static void note_call(struct wire_note *note, struct place where)
{
	(void)note, (void)where;
}

#endif

/* ---- which errors ------------------------------------------------------------ */

/* Folders that are the jail's own: what is not there is not there for nobody's policy. */
static bool is_of_the_jail(const char *path)
{
	static const char *const own[] = { GUEST_WORK "/", "/dev/shm/", GUEST_PACKAGES, GUEST_PROJECT "/", GUEST_LIBRARY };

	path = guest_inside(path);
	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		if (str_prefix(path, own[i]))
			return true;
	return false;
}

static bool is_telling(long error, const char *path)
{
	switch (error) {
	case ENOENT:
		return path[0] && !is_of_the_jail(path);
	case EPERM: case EACCES: case EROFS: case EMFILE: case EFBIG: case EAGAIN: case ENOSPC: case EDQUOT: case ENOMEM:
	case ENOSYS: case ENETUNREACH: case EHOSTUNREACH: case ENETDOWN: case EADDRNOTAVAIL:
		return true;
	default:
		return error < 0 && error > -20; /* of getaddrinfo() */
	}
}

/* Bytes or text of a path; a descriptor's number says nothing. Returns what keeps the text alive, or NULL. */
static PyObject *path_of(PyObject *name, const char **ret)
{
	PyObject *bytes = NULL;

	*ret = "";
	if (name && PyUnicode_Check(name))
		bytes = PyUnicode_EncodeFSDefault(name);
	else if (name && PyBytes_Check(name))
		bytes = Py_NewRef(name);
	PyErr_Clear();
	if (bytes)
		*ret = PyBytes_AS_STRING(bytes);
	return bytes;
}

/* ---- noting ------------------------------------------------------------------ */

static uint32_t noted(void)
{
	uint32_t n = __atomic_load_n(&watch.notes->n, __ATOMIC_ACQUIRE);

	return n < WIRE_NOTES_MAX ? n : WIRE_NOTES_MAX;
}

static bool is_same(const struct wire_note *note, long error, const char *path)
{
	/* A longer path was cut to one byte less than the field. */
	return note->error == error && strncmp(note->path, path, sizeof(note->path) - 1) == 0;
}

/* True: it is there, and has been often enough for every call that may be made with this path to be there too. */
static bool is_known(long error, const char *path)
{
	for (uint32_t i = 0, n = noted(); i < n; i++) {
		struct wire_note *note = &watch.notes->list[i];

		if (is_same(note, error, path) && note->count >= SAME_LOOKED_AT) {
			__atomic_fetch_add(&note->count, 1, __ATOMIC_RELAXED);
			return true;
		}
	}
	return false;
}

/* One place is kept for the error that ends the program. */
static bool has_room(long error, bool ends)
{
	uint32_t n = noted(), alike = 0;

	for (uint32_t i = 0; i < n; i++)
		alike += watch.notes->list[i].error == error;
	return ends || (n < WIRE_NOTES_MAX - 1 && alike < WIRE_NOTES_PER_ERROR);
}

/* Other processes of the program write here too. */
static void publish(const struct wire_note *note)
{
	struct wire_note *list = watch.notes->list;
	uint32_t slot;

	for (uint32_t i = 0, n = noted(); i < n; i++)
		if (is_same(&list[i], note->error, note->path) && list[i].writes == note->writes &&
		    strcmp(list[i].call, note->call) == 0) {
			__atomic_fetch_add(&list[i].count, 1, __ATOMIC_RELAXED);
			return;
		}
	slot = __atomic_fetch_add(&watch.notes->n, 1, __ATOMIC_ACQ_REL);
	if (slot >= WIRE_NOTES_MAX)
		return;
	list[slot] = *note;
	__atomic_store_n(&list[slot].whole, 1, __ATOMIC_RELEASE);
}

static void write_note(long error, const char *path, const struct path_of_error *p)
{
	struct place where = p->own.code ? p->own : p->last;
	struct wire_note note = { .error = (int32_t)error, .count = 1 };

	snprintf(note.path, sizeof(note.path), "%s", path);
	if (where.code) {
		note.line = PyCode_Addr2Line(where.code, where.at);
		guest_copy_text(note.file, sizeof(note.file), where.code->co_filename);
		guest_copy_text(note.function, sizeof(note.function), where.code->co_qualname);
	}
	if (p->last.code)
		note_call(&note, p->last);
	/* Raised rather than called there: by a function of a library, whose name says as much. */
	if (p->last.code && !note.call[0] && !is_own(p->last.code))
		guest_copy_text(note.call, sizeof(note.call), p->last.code->co_name);
	publish(&note);
}

/* Descriptors that do not wait say EAGAIN all day long; it tells something where a process was to be started. */
static bool starts_processes(PyCodeObject *code)
{
	static const char *const words[] = { "fork", "forkpty", "fork_exec", "_fork_exec", "posix_spawn", "posix_spawnp" };

	for (Py_ssize_t i = 0; code && i < PyTuple_GET_SIZE(code->co_names); i++)
		for (size_t k = 0; k < ARRAY_LEN(words); k++)
			if (strcmp(text_of(PyTuple_GET_ITEM(code->co_names, i)), words[k]) == 0)
				return true;
	return false;
}

/* A library that looks whether something is there fails as often; that tells something where the program itself asked. */
static bool is_routine(long error, const struct path_of_error *p, bool own_in_traceback)
{
	return error == EAGAIN ? !starts_processes(p->last.code) : error == ENOENT && !own_in_traceback && !p->by_caller;
}

static void note_error(const PyOSErrorObject *e, long error, bool ends)
{
	PyTracebackObject *tb = (PyTracebackObject *)e->traceback;
	struct path_of_error p = { .by_caller = false };
	const char *path;
	PyObject *kept = path_of(e->filename, &path);
	bool own;

	if (is_telling(error, path) && !is_known(error, path) && has_room(error, ends)) {
		walk_traceback(tb, &p);
		own = p.own.code;
		if (!own && tb && tb->tb_frame)
			walk_callers(tb->tb_frame, &p);
		if (!is_routine(error, &p, own))
			write_note(error, path, &p);
	}
	Py_XDECREF(kept);
}

static long errno_of(const PyOSErrorObject *e)
{
	long error = 0;

	if (e->myerrno && PyLong_CheckExact(e->myerrno)) {
		error = PyLong_AsLong(e->myerrno);
		PyErr_Clear();
	}
	return error;
}

/* The object has no references left: only its fields may be touched. */
static void let_go(PyObject *self)
{
	const PyOSErrorObject *e = (const PyOSErrorObject *)self;
	PyObject *type, *value, *tb;

	if (!watch.busy && e->myerrno && self != watch.last) {
		watch.busy = true;
		/* A collection meanwhile must not find an object without references; the original expects to be tracked. */
		PyObject_GC_UnTrack(self);
		PyErr_Fetch(&type, &value, &tb);
		note_error(e, errno_of(e), false);
		PyErr_Restore(type, value, tb);
		PyObject_GC_Track(self);
		watch.busy = false;
	}
	watch.original(self);
}

void guest_note_last(PyObject *exception)
{
	const PyOSErrorObject *e = (const PyOSErrorObject *)exception;

	if (!watch.notes || watch.busy || !PyObject_TypeCheck(exception, (PyTypeObject *)PyExc_OSError))
		return;
	watch.last = exception;
	watch.busy = true;
	note_error(e, errno_of(e), true);
	watch.busy = false;
}

/* ---- registration ---------------------------------------------------------------- */

/* The types that have the original took it over from their base when they were made; later ones take ours. */
static void replace(PyTypeObject *type, int depth)
{
	PyObject *below;

	if (type->tp_dealloc != watch.original || depth > TYPES_MAX)
		return;
	type->tp_dealloc = let_go;
	below = PyObject_CallMethod((PyObject *)type, "__subclasses__", NULL);
	for (Py_ssize_t i = 0; below && i < PyList_GET_SIZE(below); i++)
		replace((PyTypeObject *)PyList_GET_ITEM(below, i), depth + 1);
	Py_XDECREF(below);
	PyErr_Clear();
}

void guest_watch_refusals(struct wire_notes *notes)
{
	watch.notes = notes;
	watch.original = ((PyTypeObject *)PyExc_OSError)->tp_dealloc;
	replace((PyTypeObject *)PyExc_OSError, 0);
}
