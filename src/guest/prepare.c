/*
 * prepare.c - what makes the interpreter's start cheaper and changes nothing else
 *
 * Runs as: the guest, before Python is initialised
 * Trusts: the linker's symbols and the build's copy of three modules
 * Never: reads a file
 */
#include <Python.h>
#include <sys/mman.h>

#include "guest/frozen_modules.h"
#include "guest/internal.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* The linker's. */
extern char __data_start[], _edata[];

/*
 * CPython writes to nearly every page of its static data: it keeps objects
 * there. One call for all pages costs less than a fault for each. An older
 * kernel refuses, and then they come one by one.
 */
static void touch_data(void)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t start = (uintptr_t)__data_start & ~(page - 1), end = (uintptr_t)_edata;

	madvise((void *)start, end - start, MADV_POPULATE_WRITE);
}

void guest_python_prepare(void)
{
	touch_data();
	/* `encodings` is the only package that every start reads from files: found in memory, no folder is searched. */
	PyImport_FrozenModules = frozen_modules;
}
