/*
 * workbench.h - tools for authors of policies: what a policy means, where it is loose, what a program needs
 *
 * A policy file is read here as everywhere: by policy/, with nothing of it
 * trusted. What a system call does under a policy is never guessed from the
 * policy's text: filter/ decides, the same code that writes the program that
 * the kernel runs. The functions return text and structs; the command line
 * prints them.
 */
#ifndef SMOLJAIL_WORKBENCH_H
#define SMOLJAIL_WORKBENCH_H

#include "base/base.h"
#include "policy/policy.h"

/*
 * Load a policy by name or file, with the checks of its system calls too, which
 * policy_load() leaves to whoever makes the filter. Errors: as of policy_load()
 * and filter_compile().
 */
int workbench_load(const char *policy, struct policy **ret, struct sj_err *err);

#endif
