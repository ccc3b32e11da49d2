/*
 * start.c - takes the place of the interpreter's own main()
 *
 * Runs as: the guest, before its first instruction
 * Trusts: the C library
 * Never: runs in a program that was not made for it
 */
/*
 * The guest is the system's python3 with this library added to what it needs.
 * That interpreter is the best build there is: optimised as a whole and by
 * profile, which the archives for embedding are not, and a third quicker on plain
 * loops. It exports the whole C API, so it is embedded by the program that it is
 * itself: the loader finds __libc_start_main here first, and main() is ours.
 */
#include <dlfcn.h>
#include <unistd.h>

#include "guest/internal.h"

typedef int main_fn(int argc, char **argv, char **envp);
typedef int start_fn(main_fn *entry, int argc, char **argv, void (*init)(void), void (*fini)(void),
		     void (*loader_fini)(void), void *stack_end);

static int enter(int argc, char **argv, char **envp)
{
	(void)envp;
	return guest_main(argc, argv);
}

__attribute__((visibility("default"))) start_fn __libc_start_main;

int __libc_start_main(main_fn *entry, int argc, char **argv, void (*init)(void), void (*fini)(void),
		      void (*loader_fini)(void), void *stack_end)
{
	start_fn *start;

	(void)entry;
	*(void **)&start = dlsym(RTLD_NEXT, "__libc_start_main");
	if (!start)
		_exit(SJ_EXIT_SETUP);
	return start(enter, argc, argv, init, fini, loader_fini, stack_end);
}
