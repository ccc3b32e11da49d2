/*
 * python.c - the interpreter of a jailed program, configured to behave as `python3 script.py`
 *
 * Runs as: the guest, before the filter
 * Trusts: the boot record
 * Never: runs a line of the program, imports from its folders
 */
#include <Python.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <structmember.h>
#include <sys/mman.h>
#include <unistd.h>

#include "guest/internal.h"

#define PREFIX GUEST_PREFIX
#define STDLIB GUEST_LIBRARY

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

static _noreturn_ void fail_python(const char *what)
{
	char step[sizeof(((struct wire_ready *)NULL)->step)];

	snprintf(step, sizeof(step), "python: %s", what);
	guest_fail(step, EIO);
}

static void must(PyStatus status)
{
	if (PyStatus_Exception(status))
		fail_python(status.err_msg ? status.err_msg : "cannot start");
}

/* ---- configuration ----------------------------------------------------- */

static void append(PyWideStringList *list, const char *s)
{
	wchar_t *wide = Py_DecodeLocale(s, NULL);

	if (!wide)
		fail_python("cannot decode an argument");
	must(PyWideStringList_Append(list, wide));
	PyMem_RawFree(wide);
}

/* The search path is set here, so the interpreter does not look at PYTHONPATH by itself. */
static void append_pythonpath(PyWideStringList *list)
{
	_cleanup_free_ char *copy = strdup(getenv("PYTHONPATH") ?: "");
	char *rest = copy, *folder;

	if (!copy)
		fail_python("out of memory");
	while ((folder = strsep(&rest, ":")))
		if (*folder)
			append(list, folder);
}

/* sys.argv as the host made it, and sys.orig_argv as if typed. */
static void set_argv(PyConfig *c, const struct guest *g)
{
	const struct wire_boot_view *boot = &g->boot;
	const char **rest = boot->args;
	char *code = NULL;

	append(&c->orig_argv, g->executable);
	switch ((enum wire_mode)boot->head->mode) {
	case WIRE_MODE_CODE:
		append(&c->orig_argv, "-c");
		append(&c->orig_argv, boot->code);
		/* As the command line's own parser does. */
		if (asprintf(&code, "%s\n", boot->code) < 0)
			fail_python("out of memory");
		must(PyConfig_SetBytesString(c, &c->run_command, code));
		free(code);
		break;
	case WIRE_MODE_MODULE:
		append(&c->orig_argv, "-m");
		append(&c->orig_argv, boot->code);
		must(PyConfig_SetBytesString(c, &c->run_module, boot->code));
		break;
	case WIRE_MODE_FILE:
		append(&c->orig_argv, boot->code);
		must(PyConfig_SetBytesString(c, &c->run_filename, boot->code));
		break;
	case WIRE_MODE_STDIN:
		append(&c->orig_argv, "-");
		break;
	case WIRE_MODE_EXEC:
	case WIRE_MODE_SESSION:
		break;
	}
	for (; *rest; rest++) {
		append(&c->argv, *rest);
		if (rest > boot->args)
			append(&c->orig_argv, *rest);
	}
}

static void set_paths(PyConfig *c, const struct guest *g)
{
	char prefix[PATH_MAX], library[PATH_MAX], dynload[PATH_MAX];

	guest_path(prefix, sizeof(prefix), PREFIX);
	guest_path(library, sizeof(library), STDLIB);
	guest_path(dynload, sizeof(dynload), STDLIB "/lib-dynload");
	must(PyConfig_SetBytesString(c, &c->program_name, g->executable));
	must(PyConfig_SetBytesString(c, &c->executable, g->executable));
	must(PyConfig_SetBytesString(c, &c->base_executable, g->executable));
	/* With each of these set the interpreter does not search for them, which takes it twenty calls and a script. */
	must(PyConfig_SetBytesString(c, &c->prefix, prefix));
	must(PyConfig_SetBytesString(c, &c->exec_prefix, prefix));
	must(PyConfig_SetBytesString(c, &c->base_prefix, prefix));
	must(PyConfig_SetBytesString(c, &c->base_exec_prefix, prefix));
	c->module_search_paths_set = 1;
	append_pythonpath(&c->module_search_paths);
	append(&c->module_search_paths, library);
	append(&c->module_search_paths, dynload);
	for (const char **path = g->boot.paths; *path; path++)
		append(&c->module_search_paths, *path);
}

static void preinitialize(void)
{
	PyPreConfig pre;

	/* Locale and encodings as for python3. The environment is the policy's: nothing of the caller's slips in. */
	PyPreConfig_InitPythonConfig(&pre);
	pre.parse_argv = 0;
	must(Py_PreInitialize(&pre));
}

/*
 * What the search that was saved would have left behind: where frozen modules have
 * their sources. Those that start-up has imported already are told one by one.
 */
static int name_library(void)
{
	static const struct {
		const char *module, *file;
	} early[] = {
		{ "abc", "abc.py" },
		{ "codecs", "codecs.py" },
		{ "io", "io.py" },
		{ "encodings", "encodings/__init__.py" },
		{ "encodings.aliases", "encodings/aliases.py" },
		{ "encodings.utf_8", "encodings/utf_8.py" },
	};
	char library[PATH_MAX], path[PATH_MAX + 32];
	PyObject *dir, *folder, *module = NULL;
	int r;

	guest_path(library, sizeof(library), STDLIB);
	snprintf(path, sizeof(path), "%s/encodings", library);
	dir = PyUnicode_DecodeFSDefault(library);
	folder = Py_BuildValue("[N]", PyUnicode_DecodeFSDefault(path));
	r = dir && folder ? PySys_SetObject("_stdlib_dir", dir) : -1;

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(early); i++) {
		module = PyImport_AddModule(early[i].module);
		snprintf(path, sizeof(path), "%s/%s", library, early[i].file);
		r = module ? PyModule_AddStringConstant(module, "__file__", path) : -1;
	}
	/* A package finds its other modules there. */
	module = r == 0 ? PyImport_AddModule("encodings") : NULL;
	r = module ? PyObject_SetAttrString(module, "__path__", folder) : -1;
	Py_XDECREF(dir);
	Py_XDECREF(folder);
	return r;
}

static void initialize(const struct guest *g)
{
	PyConfig c;

	preinitialize();
	PyConfig_InitIsolatedConfig(&c);
	c.isolated = 0;			/* sys.flags as without -I; what -I means is set one by one */
	c.use_environment = 1;		/* PYTHON* variables come from the policy or from --env ... */
	c.use_hash_seed = -1;		/* ... and decide these three, -1 being "as the environment says" */
	c.faulthandler = -1;
	c.tracemalloc = -1;
	c.safe_path = 0;		/* sys.path[0] is the script's folder */
	c.user_site_directory = 0;
	c.site_import = 0;		/* a fifth of the start; see builtins.c */
	c.write_bytecode = 0;
	c.configure_c_stdio = 1;
	c.install_signal_handlers = 1;
	set_paths(&c, g);
	set_argv(&c, g);
	must(Py_InitializeFromConfig(&c));
	PyConfig_Clear(&c);
	if (name_library() < 0)
		fail_python("cannot name its library");
}

/* ---- after initialisation ------------------------------------------------ */

/*
 * The text becomes standard input, as in `python3 - < script`: the interpreter
 * reads it by itself, and the program finds its input at the end of file.
 */
static void text_to_stdin(const char *text, size_t len)
{
	int fd = memfd_create("stdin", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
	int r;

	if (fd < 0)
		fd = memfd_create("stdin", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		guest_fail("script on standard input", errno);
	r = io_write_full(fd, text, len);
	if (r < 0)
		guest_fail("script on standard input", -r);
	if (fcntl(fd, F_ADD_SEALS, WIRE_BOOT_SEALS) < 0 || lseek(fd, 0, SEEK_SET) < 0 || dup2(fd, STDIN_FILENO) < 0)
		guest_fail("script on standard input", errno);
	close(fd);
}

/* The caller looks at a terminal, of which the jail sees only a pipe. */
static int line_buffer_stdout(void)
{
	PyObject *out = PySys_GetObject("stdout"), *method = NULL, *args = NULL, *kwargs = NULL, *r = NULL;

	if (!out || out == Py_None)
		return 0;
	method = PyObject_GetAttrString(out, "reconfigure");
	args = PyTuple_New(0);
	kwargs = Py_BuildValue("{s:O}", "line_buffering", Py_True);
	if (method && args && kwargs)
		r = PyObject_Call(method, args, kwargs);
	Py_XDECREF(method);
	Py_XDECREF(args);
	Py_XDECREF(kwargs);
	Py_XDECREF(r);
	return r ? 0 : -1;
}

/*
 * sys.flags.no_site says what children should be told (multiprocessing passes
 * it on as -S), and they may well import site.
 */
static int clear_no_site(void)
{
	PyObject *flags = PySys_GetObject("flags"), *old, *zero;
	const PyMemberDef *m = flags ? Py_TYPE(flags)->tp_members : NULL;

	for (Py_ssize_t i = 0; m && m[i].name; i++) {
		if (strcmp(m[i].name, "no_site") != 0)
			continue;
		zero = PyLong_FromLong(0);
		if (!zero)
			return -1;
		old = PyStructSequence_GetItem(flags, i);
		PyStructSequence_SetItem(flags, i, zero);
		Py_XDECREF(old);
	}
	return 0;
}

/* What lives now lives to the end: no collection need look at it, least of all the last one. */
static int freeze_heap(void)
{
	PyObject *gc = PyImport_ImportModule("gc");
	PyObject *r = gc ? PyObject_CallMethod(gc, "freeze", NULL) : NULL;

	Py_XDECREF(gc);
	Py_XDECREF(r);
	return r ? 0 : -1;
}

static const char *main_file(const struct wire_boot_view *boot)
{
	switch ((enum wire_mode)boot->head->mode) {
	case WIRE_MODE_FILE: return boot->code;
	case WIRE_MODE_CODE: return "<string>";
	case WIRE_MODE_STDIN: return "<stdin>";
	case WIRE_MODE_MODULE:
	case WIRE_MODE_EXEC:
	case WIRE_MODE_SESSION: break;
	}
	return "";
}

void guest_python(const struct guest *g)
{
	const struct wire_boot *head = g->boot.head;

	if (head->mode == WIRE_MODE_STDIN)
		text_to_stdin(g->boot.code, head->code);
	guest_python_prepare();
	if (head->mode == WIRE_MODE_SESSION && guest_session_register() < 0)
		fail_python("module _smoljail");
	initialize(g);
	if ((head->flags & WIRE_LINE_BUFFERED) && line_buffer_stdout() < 0)
		fail_python("standard output");
	if (clear_no_site() < 0 || guest_add_builtins() < 0)
		fail_python("builtins");
	if (guest_watch_end(g, main_file(&g->boot)) < 0)
		fail_python("atexit");
	if (head->flags & WIRE_WATCH)
		guest_watch_refusals((struct wire_notes *)((char *)g->claim + WIRE_NOTES_AT));
	if (freeze_heap() < 0)
		fail_python("gc.freeze");
}
