/*
 * session.h - what the session_*.c files share; the module _smoljail is made of them
 */
#ifndef SMOLJAIL_GUEST_SESSION_H
#define SMOLJAIL_GUEST_SESSION_H

#include <Python.h>

#include "guest/internal.h"

#define SESSION_PACKAGE "smoljail_guest"	/* src/guest/py, in the root's standard library */
#define SESSION_FRAME_MAX (16u << 20)		/* bytes; docs/protocol.md, "Frame" */

/* Py_RETURN_NONE as a function: tools that read C without Python's headers see that it returns. */
static inline PyObject *none(void)
{
	Py_INCREF(Py_None);
	return Py_None;
}

/* ---- frames on the channel (session_channel.c) ----------------------- */

int channel_init(void);
void channel_may_look(void);	/* for an answer, before it sleeps; else it sleeps at once */
/* One payload; EOFError when the host is gone, KeyboardInterrupt when a step is to stop. */
PyObject *channel_read(PyObject *self, PyObject *no_args);
/* One frame, whole, whichever thread calls; ValueError above the limit. */
PyObject *channel_write(PyObject *self, PyObject *payload);
PyObject *channel_limit(PyObject *self, PyObject *bytes);
/* True in a child that fork() made: it has no channel. */
PyObject *channel_lost(PyObject *self, PyObject *no_args);

/* ---- running, and SIGINT (session_run.c) ------------------------------ */

/* SIGINT stops a step and is ignored at any other time. */
int run_init(PyObject *module);
/* run(namespace, code...) -> (value of the last, None) or (None, exception): no exception leaves it. */
PyObject *run_codes(PyObject *self, PyObject *args);
/* call(function, argument...) -> the same for a function. */
PyObject *run_call(PyObject *self, PyObject *args);
/* mask(true): until mask(false), SIGINT is noted and not raised. */
PyObject *run_mask(PyObject *self, PyObject *on);
/* An interrupt came while masked, or between; it is taken by asking. Main thread only, true at most once. */
bool run_is_live(void);	/* a step runs */
bool run_take_interrupt(void);

/* ---- counting and checking in instrumented steps (session_guard.c) ---- */

extern PyMethodDef guard_methods[];

#endif
