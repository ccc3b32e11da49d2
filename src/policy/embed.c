/*
 * embed.c - carry the files of policies/ inside the program
 *
 * Runs as: data only
 * Trusts: the files that stand beside the source when it is built
 * Never: reads a policy from a place that another user may write
 */
#include "policy/embed.h"

/* The assembler looks the file up from the -I folders, as for an #include: -Isrc is enough. */
#define EMBED(symbol, file)                                                     \
	extern const char symbol##_start[], symbol##_end[];                     \
	__asm__(".pushsection .rodata\n"                                        \
		".hidden " #symbol "_start\n.hidden " #symbol "_end\n"          \
		".globl " #symbol "_start\n.globl " #symbol "_end\n"            \
		".balign 16\n" #symbol "_start:\n"                              \
		".incbin \"../policies/" file "\"\n" #symbol "_end:\n.byte 0\n" \
		".popsection\n")

EMBED(policy_doc_python_strict, "python-strict.json");
EMBED(policy_doc_python, "python.json");
EMBED(policy_doc_python_data, "python-data.json");
EMBED(policy_doc_shell, "shell.json");
EMBED(policy_doc_open, "open.json");
EMBED(policy_doc_default, "default.json");
EMBED(policy_doc_learn, "learn.json");
EMBED(policy_doc_groups, "groups.json");
EMBED(policy_doc_never, "never.json");

const struct embed policy_embedded[] = {
	{ "python-strict", policy_doc_python_strict_start, policy_doc_python_strict_end },
	{ "python", policy_doc_python_start, policy_doc_python_end },
	{ "python-data", policy_doc_python_data_start, policy_doc_python_data_end },
	{ "shell", policy_doc_shell_start, policy_doc_shell_end },
	{ "open", policy_doc_open_start, policy_doc_open_end },
	{ "default", policy_doc_default_start, policy_doc_default_end },
	{ "learn", policy_doc_learn_start, policy_doc_learn_end },
	{ "groups", policy_doc_groups_start, policy_doc_groups_end },
	{ "never", policy_doc_never_start, policy_doc_never_end },
	{ 0 },
};
