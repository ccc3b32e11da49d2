/*
 * attacks.c - carry attacks.py inside the program
 *
 * Runs as: data only
 * Trusts: the file that stands beside this one when it is built
 * Never: runs outside a jail
 */
#include "selftest/selftest.h"

/* The assembler looks the file up from the -I folders: -Isrc is enough. */
__asm__(".pushsection .rodata\n"
	".hidden selftest_attacks\n.globl selftest_attacks\n"
	"selftest_attacks:\n"
	".incbin \"selftest/attacks.py\"\n.byte 0\n"
	".popsection\n");
