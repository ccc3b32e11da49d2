/*
 * layout.c - where this interpreter keeps its threads, frames and code, for a host that explains a refusal
 *
 * Runs as: the guest, before untrusted code
 * Trusts: the headers it was built with, which are the interpreter's own
 * Never: looks at a running frame itself
 */
#define Py_BUILD_CORE 1
#include <Python.h>

#include "guest/internal.h"

#define LAYOUT_KNOWN (PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030C0000)
#if LAYOUT_KNOWN
#include <internal/pycore_frame.h>
#include <internal/pycore_interp.h>
#include <internal/pycore_runtime.h>
#endif

/*
 * The layout is that of one minor version. Of another one the host learns nothing, and its reports
 * name no lines for refused system calls; all else works alike.
 */
void guest_layout(struct wire_python *ret)
{
	*ret = (struct wire_python){ 0 };
#if LAYOUT_KNOWN
	*ret = (struct wire_python){
		.runtime = (uint64_t)(uintptr_t)&_PyRuntime,
		.runtime_interpreters = offsetof(_PyRuntimeState, interpreters.head),
		.runtime_current = offsetof(_PyRuntimeState, gilstate.tstate_current),
		.interp_next = offsetof(PyInterpreterState, next),
		.interp_threads = offsetof(PyInterpreterState, threads.head),
		.thread_next = offsetof(PyThreadState, next),
		.thread_id = offsetof(PyThreadState, native_thread_id),
		.thread_cframe = offsetof(PyThreadState, cframe),
		.cframe_frame = offsetof(_PyCFrame, current_frame),
		.frame_code = offsetof(_PyInterpreterFrame, f_code),
		.frame_previous = offsetof(_PyInterpreterFrame, previous),
		.frame_instr = offsetof(_PyInterpreterFrame, prev_instr),
		.frame_owner = offsetof(_PyInterpreterFrame, owner),
		.code_file = offsetof(PyCodeObject, co_filename),
		.code_function = offsetof(PyCodeObject, co_qualname),
		.code_lines = offsetof(PyCodeObject, co_linetable),
		.code_first_line = offsetof(PyCodeObject, co_firstlineno),
		.code_first_traceable = offsetof(PyCodeObject, _co_firsttraceable),
		.code_start = offsetof(PyCodeObject, co_code_adaptive),
		.bytes_size = offsetof(PyVarObject, ob_size),
		.bytes_data = offsetof(PyBytesObject, ob_sval),
		.str_length = offsetof(PyASCIIObject, length),
		.str_state = offsetof(PyASCIIObject, state),
		.str_ascii = sizeof(PyASCIIObject),
		.str_compact = sizeof(PyCompactUnicodeObject),
		.library = GUEST_LIBRARY "/",
	};
#endif
}
