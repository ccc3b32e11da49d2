/*
 * internal.h - what the files of guest/ share
 */
#ifndef SMOLJAIL_GUEST_INTERNAL_H
#define SMOLJAIL_GUEST_INTERNAL_H

#include <linux/filter.h>

#include "base/base.h"
#include "wire/wire.h"

#define GUEST_NAME "smoljail-guest"	/* argv[0] that asks for a jailed program; any other is plain Python */
#define GUEST_EXECUTABLE "/usr/bin/python3"	/* sys.executable: this very program under its other name */
#define GUEST_WORK "/work"		/* folders inside the jail that can hold a program's own files */
#define GUEST_PROJECT "/project"
#define GUEST_STRING(x) #x
#define GUEST_NUMBER(x) GUEST_STRING(x)
#define GUEST_PREFIX "/usr"		/* where the interpreter is; the second one needs its headers' version */
#define GUEST_LIBRARY GUEST_PREFIX "/lib/python" GUEST_NUMBER(PY_MAJOR_VERSION) "." GUEST_NUMBER(PY_MINOR_VERSION)
#define GUEST_PACKAGES "/packages"	/* then /packages-2, /packages-3, ... */

struct guest {
	struct wire_boot_view boot;
	void *map;			/* the boot record */
	size_t map_len;
	struct wire_claim *claim;	/* shared with the host */
	char *work, *executable;	/* the work folder; sys.executable */
};

/* ---- where things are (place.c) ------------------------------------- */

void guest_find_home(struct guest *g);
const char *guest_root(void);	/* the folder that "/" of the root is; "" but in a jail without mounts */
const char *guest_inside(const char *path);	/* what follows guest_root() in it; the whole of it where it does not begin so */
const char *guest_path(char *buf, size_t len, const char *path);	/* a path of the root, as it is called here */

/* ---- before untrusted code (receive.c) ------------------------------ */

/* Take the boot record and the claim page, close their descriptors. */
void guest_receive(struct guest *g);
/* Unmap the boot record. */
void guest_forget(struct guest *g);
/* Tell the host which step failed, and exit 125. */
_noreturn_ void guest_fail(const char *step, int error);

/* Where the host finds what a waiting thread was doing (layout.c). */
void guest_layout(struct wire_python *ret);

/* ---- the filter (confine.c, courier.c) ------------------------------ */

/* The last step before untrusted code: filter, ready message, nothing open but 0, 1 and 2. */
void guest_confine(const struct guest *g);

/*
 * A thread that was there before the filter and carries the listener out: the
 * filter is the calling thread's alone, and may forbid sendmsg.
 */
#define COURIER_STACK 16384
struct courier {
	char stack[COURIER_STACK] __attribute__((aligned(64)));
	uint32_t order;			/* futex; see courier.c */
	uint32_t alive;			/* futex: the kernel clears it when the thread has ended */
	int fd;				/* the listener */
	bool sent;
	struct wire_python python;	/* goes into the message */
};
int courier_start(struct courier *c);
/* Send "ready" with the listener, or nothing when fd is -1. Returns when the thread is gone: was it sent? */
bool courier_finish(struct courier *c, int fd);

/* ---- what runs (main.c, exec.c, python.c, plain.c) ------------------ */

int guest_main(int argc, char **argv);

/* PATH lookup and execve; exits 126 or 127. */
_noreturn_ void guest_exec(const struct guest *g);
/* An initialised interpreter, ready for Py_RunMain(). */
void guest_python(const struct guest *g);
/* python3 as everybody knows it, for children of the jailed program. */
int guest_plain(int argc, char **argv);

/* ---- sessions (session.c; its parts share guest/session.h) ---------- */

/* Before Py_InitializeFromConfig(): the module _smoljail. */
int guest_session_register(void);
/* Serves steps that come over WIRE_CHANNEL_FD until the host closes it. Confines the guest before the first. */
_noreturn_ void guest_session(const struct guest *g);

/* ---- parts of the interpreter's start (Python errors: -1, set) ------ */

/* Before Py_InitializeFromConfig(): what makes the start cheaper and changes nothing else. */
void guest_python_prepare(void);
/* exit, quit, help, copyright, credits, license, without the cost of site. */
int guest_add_builtins(void);
/* Note how the program ends in the claim page; main_file: of the program, as tracebacks name it. */
int guest_watch_end(const struct guest *g, const char *main_file);
/* Note failed operations there from now on. */
void guest_watch_refusals(struct wire_notes *notes);
struct _object;			/* PyObject */
/* The exception that ends the program, which has a place there whatever came before. */
void guest_note_last(struct _object *exception);
/* str as UTF-8, cut between characters to at most size - 1 bytes; anything else leaves `to` alone. */
void guest_copy_text(char *to, size_t size, struct _object *text);

#endif
