/*
 * schema.c - the field table: every setting of a policy, once
 *
 * Runs as: supervisor, outside the jail
 * Trusts: itself
 * Never: holds a default; those are policies/default.json, which takes the same path
 */
#include <string.h>

#include "policy/internal.h"

/* clang-format off */
#define PATH(parent, key) .path = parent key, .key_at = sizeof(parent) - 1
#define IN(type_, member) .offset = offsetof(type_, member), .size = sizeof(((type_ *)NULL)->member)
#define P(member) IN(struct policy, member)
#define RULE(member) IN(struct policy_rule, member)
#define ARG(member) IN(struct policy_arg, member)
#define RANGE(lo, hi) .min = (lo), .max = (hi)
#define KIB (1ull << 10)
#define MIB (1ull << 20)
#define GIB (1ull << 30)
#define TIB (1ull << 40)
#define WEEK_MS (7ull * 24 * 3600 * 1000)

static const struct word enforcement_words[] = {
	{ "best-effort", POLICY_BEST_EFFORT, false }, { "cgroup", POLICY_CGROUP, false }, { 0 },
};
static const struct word net_words[] = {
	{ "none", POLICY_NET_NONE, false }, { "loopback", POLICY_NET_LOOPBACK, false },
	{ "host", POLICY_NET_HOST, false }, { "proxy", POLICY_NET_PROXY, true }, { 0 },
};
static const struct word landlock_words[] = {
	{ "auto", POLICY_LANDLOCK_AUTO, false }, { "require", POLICY_LANDLOCK_REQUIRE, false },
	{ "off", POLICY_LANDLOCK_OFF, false }, { 0 },
};
static const struct word isolation_words[] = {
	{ "full", POLICY_ISOLATION_FULL, false }, { "landlock", POLICY_ISOLATION_LANDLOCK, false }, { 0 },
};
static const struct word guard_words[] = {
	{ "native", POLICY_GUARD_NATIVE, false }, { "compat", POLICY_GUARD_COMPAT, false }, { 0 },
};
const struct word policy_action_words[] = {
	{ "allow", POLICY_ALLOW, false }, { "deny", POLICY_DENY, false },
	{ "enosys", POLICY_ENOSYS, false }, { "kill", POLICY_KILL, false }, { 0 },
};
const struct word policy_cmp_words[] = {
	{ "==", POLICY_EQ, false }, { "!=", POLICY_NE, false }, { "<", POLICY_LT, false }, { "<=", POLICY_LE, false },
	{ ">", POLICY_GT, false }, { ">=", POLICY_GE, false }, { "&==", POLICY_MASKED_EQ, false }, { 0 },
};

const struct field policy_fields[] = {
	{ PATH("", "$schema"), T_STRING, F_OWN, 0, 0, RANGE(0, POLICY_TEXT_MAX), NULL, NULL,
	  "For editors: where the JSON schema of policies is (smoljail policy schema prints it)." },
	{ PATH("", "name"), T_STRING, F_OWN, P(name), RANGE(1, POLICY_NAME_MAX), NULL, text_name,
	  "Name of the policy as the report gives it. A file without one is named by its file name." },
	{ PATH("", "extends"), T_STRING, F_OWN, 0, 0, RANGE(1, POLICY_TEXT_MAX), NULL, text_extends,
	  "The policy that this one starts from: a shipped name, or the path of a file, relative to this file. "
	  "Without it a policy starts from the defaults." },
	{ PATH("", "description"), T_STRING, F_OWN, P(description), RANGE(0, POLICY_TEXT_MAX), NULL, NULL,
	  "One line that smoljail policy list prints." },

	{ PATH("", "limits"), T_SECTION, 0, 0, 0, RANGE(0, 0), NULL, NULL,
	  "What the program may use up. Each limit counts all processes of the jail together, unless it says otherwise." },
	{ PATH("limits.", "memory"), T_SIZE, F_NONE, P(limits.memory), RANGE(8 * MIB, TIB), NULL, NULL,
	  "Memory of all processes together, with what they write to the private folders and what the kernel "
	  "keeps for them." },
	{ PATH("limits.", "swap"), T_SIZE, 0, P(limits.swap), RANGE(0, TIB), NULL, NULL,
	  "Swap on top of the memory limit." },
	{ PATH("limits.", "cpus"), T_CPUS, F_NONE, P(limits.cpu_milli), RANGE(10, 1024000), NULL, NULL,
	  "CPUs that may be kept busy at the same time, as a decimal number. Numerical libraries start no more "
	  "threads than this, rounded up." },
	{ PATH("limits.", "pids"), T_INT, F_NONE, P(limits.pids), RANGE(2, 32768), NULL, NULL,
	  "Processes and threads, the jail's own init included." },
	{ PATH("limits.", "wall"), T_TIME, F_NONE, P(limits.wall_ms), RANGE(1, WEEK_MS), NULL, NULL,
	  "Time by the clock, from the start of the program." },
	{ PATH("limits.", "cpu_time"), T_TIME, F_NONE, P(limits.cpu_ms), RANGE(10, WEEK_MS), NULL, NULL,
	  "CPU time of all processes together." },
	{ PATH("limits.", "open_files"), T_INT, 0, P(limits.open_files), RANGE(16, 1048576), NULL, NULL,
	  "Open descriptors of one process." },
	{ PATH("limits.", "file_size"), T_SIZE, 0, P(limits.file_size), RANGE(4 * KIB, TIB), NULL, NULL,
	  "Size of one file." },
	{ PATH("limits.", "output"), T_SIZE, F_NONE, P(limits.output), RANGE(1, TIB), NULL, NULL,
	  "Bytes on standard output and standard error together; one more stops the program." },
	{ PATH("limits.", "frame"), T_SIZE, F_LATER, P(limits.frame), RANGE(4 * KIB, 16 * MIB), NULL, NULL,
	  "Bytes of one frame of the session protocol." },
	{ PATH("limits.", "enforcement"), T_ENUM, 0, P(limits.enforcement), RANGE(0, 0), enforcement_words, NULL,
	  "\"cgroup\" runs nothing unless a control group holds memory, pids and cpus. \"best-effort\" takes the "
	  "next best mechanism, and the report says which one held each limit." },

	{ PATH("", "files"), T_SECTION, 0, 0, 0, RANGE(0, 0), NULL, NULL,
	  "What the program sees of files. Nothing of the host is visible but the root and what is listed here." },
	{ PATH("files.", "root"), T_STRING, 0, P(files.root), RANGE(1, POLICY_NAME_MAX), NULL, text_name,
	  "Name of the read-only root (smoljail rootfs list)." },
	{ PATH("files.", "tmp"), T_SECTION, 0, 0, 0, RANGE(0, 0), NULL, NULL, "The private folder /tmp, in memory." },
	{ PATH("files.tmp.", "size"), T_SIZE, 0, P(files.tmp.size), RANGE(64 * KIB, TIB), NULL, NULL,
	  "Bytes in /tmp." },
	{ PATH("files.tmp.", "inodes"), T_INT, 0, P(files.tmp.inodes), RANGE(16, 16777216), NULL, NULL,
	  "Files and folders in /tmp." },
	{ PATH("files.", "work"), T_SECTION, 0, 0, 0, RANGE(0, 0), NULL, NULL,
	  "The private folder /work, in memory: the working directory and HOME." },
	{ PATH("files.work.", "size"), T_SIZE, 0, P(files.work.size), RANGE(64 * KIB, TIB), NULL, NULL,
	  "Bytes in /work." },
	{ PATH("files.work.", "inodes"), T_INT, 0, P(files.work.inodes), RANGE(16, 16777216), NULL, NULL,
	  "Files and folders in /work." },
	{ PATH("files.", "shm"), T_SECTION, 0, 0, 0, RANGE(0, 0), NULL, NULL,
	  "The private folder /dev/shm, in memory: shared memory and semaphores." },
	{ PATH("files.shm.", "size"), T_SIZE, 0, P(files.shm.size), RANGE(64 * KIB, TIB), NULL, NULL,
	  "Bytes in /dev/shm." },
	{ PATH("files.shm.", "inodes"), T_INT, 0, P(files.shm.inodes), RANGE(16, 16777216), NULL, NULL,
	  "Files in /dev/shm." },
	{ PATH("files.", "read"), T_LIST, 0, 0, 0, RANGE(0, POLICY_MOUNTS_MAX), NULL, text_mount,
	  "Host files and folders that the program may read, each as \"SRC:DST\": DST is where it appears inside. "
	  "A SRC that begins with / may stand alone and appears under the same path. A relative SRC is "
	  "looked up from the caller's working directory." },
	{ PATH("files.", "write"), T_LIST, 0, 0, 0, RANGE(0, POLICY_MOUNTS_MAX), NULL, text_mount,
	  "The same, and the program may change them. No limit here bounds what it writes there." },
	{ PATH("files.", "exec_from_writable"), T_BOOL, 0, P(files.exec_from_writable), RANGE(0, 0), NULL, NULL,
	  "Whether files in writable folders may be executed or mapped as code." },
	{ PATH("files.", "hostname"), T_STRING, 0, P(files.hostname), RANGE(1, 64), NULL, text_hostname,
	  "Host name inside." },

	{ PATH("", "network"), T_SECTION, 0, 0, 0, RANGE(0, 0), NULL, NULL, "What the program reaches of networks." },
	{ PATH("network.", "mode"), T_ENUM, 0, P(net), RANGE(0, 0), net_words, NULL,
	  "\"none\": no network at all. \"loopback\": a private 127.0.0.1 and ::1 that only the jail sees. "
	  "\"host\": the host's own network, not isolated." },
	{ PATH("network.", "allow"), T_LIST, F_LATER, P(net_allow), RANGE(0, POLICY_LIST_MAX), NULL, NULL,
	  "Hosts that mode \"proxy\" lets through." },

	{ PATH("", "env"), T_SECTION, 0, 0, 0, RANGE(0, 0), NULL, NULL,
	  "The environment. It is empty but for what stands here and what smoljail sets itself: PATH, HOME, "
	  "USER, LOGNAME, LANG and the thread counts of numerical libraries." },
	{ PATH("env.", "set"), T_MAP, 0, P(env_set), RANGE(0, POLICY_ENV_MAX), NULL, text_env_name,
	  "Variables and their values. null takes out one that an extended policy sets." },
	{ PATH("env.", "pass"), T_LIST, 0, P(env_pass), RANGE(0, POLICY_ENV_MAX), NULL, text_env_name,
	  "Names of variables that are handed through from the caller, where the caller has them. The program "
	  "can read what is in them." },

	{ PATH("", "syscalls"), T_SECTION, 0, 0, 0, RANGE(0, 0), NULL, NULL,
	  "The system calls. What is not allowed is refused; what the kernel has and smoljail does not know is "
	  "answered with ENOSYS." },
	{ PATH("syscalls.", "default"), T_ERRNO, 0, P(syscalls.default_error), RANGE(0, 0), NULL, NULL,
	  "Name of the error that a call gets which no rule names." },
	{ PATH("syscalls.", "allow"), T_CALLS, 0, 0, 0, RANGE(0, POLICY_LIST_MAX), NULL, text_call_entry,
	  "Calls and @groups of calls. \"!name\" and \"!@group\" take out what stands before them." },
	{ PATH("syscalls.", "deny"), T_CALLS, 0, 0, 0, RANGE(0, POLICY_LIST_MAX), NULL, text_call_entry,
	  "Calls and @groups that get EPERM although \"allow\" or the network group names them." },
	{ PATH("syscalls.", "rules"), T_OBJECTS, 0, 0, 0, RANGE(0, POLICY_RULES_MAX), NULL, NULL,
	  "Rules that look at arguments. They decide before \"deny\" and \"allow\", the first that matches wins, and "
	  "those of a policy come before those of the policy it extends." },
	{ PATH("syscalls.rules[].", "name"), T_STRING, F_REQUIRED, RULE(name), RANGE(1, POLICY_NAME_MAX), NULL, text_call,
	  "The system call." },
	{ PATH("syscalls.rules[].", "args"), T_OBJECTS, 0, 0, 0, RANGE(0, POLICY_RULE_ARGS_MAX), NULL, NULL,
	  "Conditions that must all hold. Without one the rule covers every use of the call." },
	{ PATH("syscalls.rules[].args[].", "index"), T_INT, F_REQUIRED, ARG(index), RANGE(0, 5), NULL, NULL,
	  "Which argument, from 0." },
	{ PATH("syscalls.rules[].args[].", "op"), T_ENUM, F_REQUIRED, ARG(op), RANGE(0, 0), policy_cmp_words, NULL,
	  "How it is compared, unsigned. \"&==\": the bits of \"mask\" are those of \"value\"." },
	{ PATH("syscalls.rules[].args[].", "value"), T_CONST, F_REQUIRED, ARG(value), RANGE(0, 0), NULL, NULL,
	  "What it is compared with." },
	{ PATH("syscalls.rules[].args[].", "mask"), T_CONST, 0, ARG(mask), RANGE(0, 0), NULL, NULL,
	  "Only with \"&==\": which bits are looked at." },
	{ PATH("syscalls.rules[].", "action"), T_ENUM, F_REQUIRED, RULE(action), RANGE(0, 0), policy_action_words, NULL,
	  "\"allow\"; \"deny\" with an error; \"enosys\", as if the kernel did not have the call; \"kill\" ends the jail." },
	{ PATH("syscalls.rules[].", "errno"), T_ERRNO, 0, RULE(error), RANGE(0, 0), NULL, NULL,
	  "Only with \"deny\": name of the error, EPERM if it is left out." },
	{ PATH("syscalls.rules[].", "reason"), T_STRING, 0, RULE(reason), RANGE(1, POLICY_TEXT_MAX), NULL, NULL,
	  "A sentence for the report and for smoljail policy show --expand." },

	{ PATH("", "python"), T_SECTION, 0, 0, 0, RANGE(0, 0), NULL, NULL, "What the interpreter is given." },
	{ PATH("python.", "imports"), T_LIST, F_LATER, P(python.imports), RANGE(0, POLICY_LIST_MAX), NULL, NULL,
	  "Modules that may be imported." },
	{ PATH("python.", "guard"), T_ENUM, F_LATER, P(python.guard), RANGE(0, 0), guard_words, NULL,
	  "How imports and operations are checked inside the interpreter." },
	{ PATH("python.", "preload"), T_LIST, F_LATER, P(python.preload), RANGE(0, POLICY_LIST_MAX), NULL, NULL,
	  "Modules that a template loads before the program." },
	{ PATH("python.", "operations"), T_INT, F_LATER, P(python.operations), RANGE(0, UINT64_MAX), NULL, NULL,
	  "Operations that the interpreter may carry out." },
	{ PATH("python.", "packages"), T_LIST, 0, P(python.packages), RANGE(0, 32), NULL, text_dir,
	  "Host folders made by pip install --target, read-only and on sys.path." },

	{ PATH("", "landlock"), T_ENUM, 0, P(landlock), RANGE(0, 0), landlock_words, NULL,
	  "The kernel's Landlock as a second layer over files: \"auto\" where the kernel has it, \"require\" runs "
	  "nothing without it, \"off\"." },
	{ PATH("", "isolation"), T_ENUM, 0, P(isolation), RANGE(0, 0), isolation_words, NULL,
	  "\"full\": namespaces and everything else. \"landlock\": no namespaces, for hosts that refuse them; weaker, "
	  "and told so in the report. Never chosen unless it is asked for." },
};
/* clang-format on */

const size_t policy_n_fields = ARRAY_LEN(policy_fields);

const char *field_key(const struct field *f)
{
	return f->path + f->key_at;
}

bool field_is_child(const struct field *parent, const struct field *f)
{
	size_t len;

	if (!parent)
		return f->key_at == 0;
	len = strlen(parent->path);
	return f->key_at == len + (parent->type == T_OBJECTS ? 3 : 1) && memcmp(f->path, parent->path, len) == 0;
}

const struct field *field_child(const struct field *parent, const char *key)
{
	for (size_t i = 0; i < policy_n_fields; i++)
		if (strcmp(field_key(&policy_fields[i]), key) == 0 && field_is_child(parent, &policy_fields[i]))
			return &policy_fields[i];
	return NULL;
}

const struct field *field_by_path(const char *path)
{
	for (size_t i = 0; i < policy_n_fields; i++)
		if (strcmp(policy_fields[i].path, path) == 0)
			return &policy_fields[i];
	return NULL;
}
