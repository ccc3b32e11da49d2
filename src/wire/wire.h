/*
 * wire.h - what host and guest say to each other
 *
 * The boot record: one sealed memory file that the guest finds as descriptor
 * WIRE_BOOT_FD. It holds everything the guest needs, and it is closed before
 * the first untrusted line. The claim page: a small shared mapping in which the
 * guest notes how the program ended. Whatever stands in it is a claim.
 */
#ifndef SMOLJAIL_WIRE_H
#define SMOLJAIL_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

#define WIRE_BOOT_FD 3		/* boot record, read only */
#define WIRE_SYNC_FD 4		/* SEQPACKET socket: WIRE_GO to the guest; then its ready message, with the listener */
#define WIRE_CLAIM_FD 5		/* claim page, WIRE_CLAIM_SIZE bytes */
#define WIRE_CHANNEL_FD 6	/* MODE_SESSION: stream socket, frames of docs/protocol.md ("Guest leg") */

#define WIRE_BOOT_MAGIC 0x736a4231u	/* "sjB1" */
#define WIRE_BOOT_MAX (64u << 20)
#define WIRE_BOOT_SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)	/* <fcntl.h> */
#define WIRE_ARGS_MAX 4096		/* arguments, and folders for sys.path */
#define WIRE_CLAIM_SIZE 20480	/* struct wire_claim, and struct wire_notes at WIRE_NOTES_AT */
#define WIRE_NOTES_AT 4096
#define WIRE_NOTES_MAX 32		/* failed operations noted, no two alike */
#define WIRE_NOTES_PER_ERROR 16		/* of one errno */

enum wire_mode {
	WIRE_MODE_FILE = 1,	/* run a script that is in the jail's file system */
	WIRE_MODE_CODE,		/* -c */
	WIRE_MODE_MODULE,	/* -m */
	WIRE_MODE_STDIN,	/* script text came on standard input */
	WIRE_MODE_EXEC,		/* -- CMD */
	WIRE_MODE_SESSION,	/* steps that come over WIRE_CHANNEL_FD; the code is empty */
};

enum wire_flag {
	WIRE_LINE_BUFFERED = 1,	/* the caller's standard output is a terminal */
	WIRE_NOTIFY = 2,	/* load the filter with a listener and send it over WIRE_SYNC_FD */
	WIRE_MUST_NOTIFY = 4,	/* and where there is none, run nothing: step WIRE_STEP_LISTENER failed */
	WIRE_WATCH = 8,		/* note in the claim page which operations failed, and where */
	WIRE_MAY_LOOK = 16,	/* the filter allows sched_yield(), without which looking before sleeping (wait.c) is rude */
};

/* Followed by: insns, then n_args + n_paths NUL-terminated strings, then `code` bytes and a NUL. */
struct wire_boot {
	uint32_t magic, mode, flags;
	uint32_t n_insns;	/* struct sock_filter, 8 bytes each; 0 = no filter */
	uint32_t n_args;	/* sys.argv, or the command */
	uint32_t n_paths;	/* folders for sys.path, before the work folder */
	uint32_t strings;	/* bytes of all strings, NULs included */
	uint32_t code;		/* bytes of the program text (MODE_CODE, MODE_STDIN) or file/module name */
};

#define WIRE_STEP_LISTENER "listener"

/*
 * Where the interpreter keeps what its threads are doing: an address, the same in every process of
 * this program, and byte offsets of CPython's own structures. All zero: an interpreter whose layout
 * is not known. The host reads along it only to explain, in memory that may hold anything by then.
 */
struct wire_python {
	uint64_t runtime;
	uint16_t runtime_interpreters, runtime_current;	/* newest interpreter; the thread that holds the lock */
	uint16_t interp_next;
	uint16_t interp_threads;
	uint16_t thread_next, thread_id, thread_cframe;
	uint16_t cframe_frame;
	uint16_t frame_code, frame_previous, frame_instr, frame_owner;
	uint16_t code_file, code_function, code_lines, code_first_line, code_first_traceable, code_start;
	uint16_t bytes_size, bytes_data;
	uint16_t str_length, str_state, str_ascii, str_compact;
	char library[48];	/* folder of the standard library */
};

/*
 * One byte, sent to the guest once all that is promised outside of it stands, the supervisor's own filter
 * included. The guest gets ready without it, and then waits: it is mostly there by then.
 */
#define WIRE_GO 0x67

/* What the guest sends on WIRE_SYNC_FD, once, just before the untrusted part starts. */
struct wire_ready {
	uint32_t magic;
	uint32_t notify;	/* 1: one descriptor rides along, the listener */
	int32_t error;		/* errno of a step that failed, 0 = ready */
	char step[60];		/* which one; without an error the interpreter's version, such as "3.11.2" */
	uint64_t at_us;		/* CLOCK_MONOTONIC when it was sent: the host may look later */
	struct wire_python python;
};

enum wire_outcome {
	WIRE_OUTCOME_NONE = 0,	/* nothing noted: exec'ed, killed, os._exit */
	WIRE_OUTCOME_CLEAN,	/* the interpreter finished; sys.exit or end of the program */
	WIRE_OUTCOME_EXCEPTION,	/* uncaught exception */
	WIRE_OUTCOME_EXEC_FAILED, /* -- CMD: execve failed, line = errno */
};

/* Strings are UTF-8, cut to size, and may lack their NUL when forged. */
struct wire_claim {
	uint32_t outcome;
	int32_t line;		/* of the innermost frame of the program's own file; 0 = unknown */
	char type[64];		/* "ZeroDivisionError" */
	char name[128];		/* ModuleNotFoundError.name */
	char file[256];
	char message[1024];
};

/*
 * An operation that the kernel refused for another reason than the filter, or that failed for want of
 * something: OSErrors as the interpreter saw them. Claims as well; strings may lack their NUL.
 */
struct wire_note {
	uint32_t whole;			/* 1 when all else is written */
	int32_t error;			/* errno; negative: what getaddrinfo() returned */
	uint32_t count;
	int32_t line;
	uint32_t writes;		/* the call asked to write or to create */
	char path[256];			/* may be empty */
	char call[32];			/* name of what was called, "open", may be empty */
	char file[128], function[64];	/* where, in the program's own code if it was there */
};

struct wire_notes {
	uint32_t n;			/* entries begun */
	struct wire_note list[WIRE_NOTES_MAX];
};

struct wire_boot_spec {
	enum wire_mode mode;
	uint32_t flags;
	const void *insns;
	size_t n_insns;
	char *const *args;
	char *const *paths;
	const char *code;
	size_t code_len;
};

/*
 * Write the record into an empty memory file (MFD_ALLOW_SEALING) and seal it. 0 or -errno: -E2BIG past a
 * maximum; -EINVAL for an unknown mode or flag, no command, no name, or a NUL in the code of any mode but STDIN.
 */
int wire_boot_fill(int memfd, const struct wire_boot_spec *spec);

/* A checked view of a boot record; pointers lead into `map` (aligned as mmap gives it). 0, -EBADMSG or -ENOMEM. */
struct wire_boot_view {
	const struct wire_boot *head;
	const void *insns;
	const char **args, **paths;	/* NULL-terminated, malloc'ed arrays */
	const char *code;
};
int wire_boot_parse(const void *map, size_t len, struct wire_boot_view *ret);
void wire_boot_view_clear(struct wire_boot_view *v);

/* ---- frames of the session protocol (frame.c) ------------------------ */

#define WIRE_FRAME_HEAD 4u
#define WIRE_FRAME_MAX (16u << 20)
#define WIRE_DEPTH_MAX 64u		/* arrays and objects within each other */
#define WIRE_VALUES_MAX 1500000u	/* arrays, objects and elements in one frame */
#define WIRE_MEMBERS_MAX 24u		/* of a frame's own object */

void wire_frame_head(size_t len, unsigned char ret[WIRE_FRAME_HEAD]);
/* Does data begin with a whole frame? 1 yes, 0 more is needed, -EMSGSIZE illegal length. *ret_len: of its JSON. */
int wire_frame_peek(const void *data, size_t len, size_t max, size_t *ret_len);

/* Bytes of a frame as they came. */
struct wire_span {
	const char *text;
	size_t len;
};

struct wire_member {
	struct wire_span key, value;	/* the key without its quotes; the value with them */
};

struct wire_members {
	struct wire_member list[WIRE_MEMBERS_MAX];
	size_t n;
};

/*
 * A first look at a frame's JSON, before anything is allocated for it: depth, number of
 * values, and where the members of the outermost object are. It does not prove that the
 * text is JSON; a parser has to. Members are right where that parser agrees. 0, -E2BIG or -EBADMSG.
 */
int wire_json_look(const char *json, size_t len, struct wire_members *ret);
const struct wire_span *wire_member(const struct wire_members *m, const char *name);	/* NULL: none */

/* ---- waiting for the other side (wait.c) ------------------------------ */

/* Zeroes to begin with; what was learnt of one kind of waits is kept for the next one. */
struct wire_wait {
	uint32_t us;		/* for how long it is looked */
	uint32_t shy;		/* waits to come in which it is not looked at all */
	uint32_t shyness;	/* how many the next ones will be */
	uint64_t start, last;
	bool looks;
};

/* A wait begins. True: it is worth looking more than once. */
bool wire_wait_begin(struct wire_wait *w);
/* Nothing was there. Gives way to others; true: look once more, false: sleep until something comes. */
bool wire_wait_more(struct wire_wait *w);
/* It has come. Returns the time, CLOCK_MONOTONIC in microseconds. */
uint64_t wire_wait_end(struct wire_wait *w);

#endif
