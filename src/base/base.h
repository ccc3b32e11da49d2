/*
 * base.h - errors, cleanup attributes, bounded buffers, descriptors, JSON getters
 *
 * Knows nothing of jails. Every function returns 0 or -errno unless it says
 * otherwise; the message travels in a struct sj_err, always the last parameter.
 * Outputs are named ret_... and stay untouched on failure.
 */
#ifndef SMOLJAIL_BASE_H
#define SMOLJAIL_BASE_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "smoljail.h"

struct json_t;

/* ---- attributes ---------------------------------------------------- */

#define _printf_(a, b) __attribute__((format(printf, a, b)))
#define _noreturn_ __attribute__((noreturn))
#define _unused_ __attribute__((unused))
#define _cleanup_(f) __attribute__((cleanup(f)))
#define _cleanup_free_ _cleanup_(base_freep)
#define _cleanup_close_ _cleanup_(base_closep)
#define _cleanup_file_ _cleanup_(base_fclosep)
#define _cleanup_json_ _cleanup_(base_json_unrefp)
#define _cleanup_strv_ _cleanup_(base_strv_freep)

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

void base_freep(void *p);
void base_closep(int *fd);
void base_fclosep(FILE **f);
void base_json_unrefp(struct json_t **j);
void base_strv_freep(char ***v);

/* Hand a pointer or a descriptor over: the old name no longer owns it. */
#define steal_ptr(p) ({ __typeof__(p) _s = (p); (p) = NULL; _s; })
#define steal_fd(fd) ({ int _s = (fd); (fd) = -1; _s; })

/* ---- errors (err.c) ------------------------------------------------ */

/*
 * struct sj_err is public (smoljail.h): exit, id, what, why, fix. err_set() fills the
 * first three, err_why() and err_fix() add the rest. err_set() returns -error
 * so that a failing function ends in one statement:
 *
 *	return err_set(err, ENOENT, SJ_EXIT_SETUP, "E_ROOT", "no root named \"%s\"", name);
 *
 * A NULL err is legal everywhere. An err that already holds a message is
 * replaced.
 */
int err_set(struct sj_err *err, int error, int exit, const char *id, const char *fmt, ...) _printf_(5, 6);
void err_why(struct sj_err *err, const char *fmt, ...) _printf_(2, 3);
void err_fix(struct sj_err *err, const char *fmt, ...) _printf_(2, 3);
/* Out of memory, always the same words; returns -ENOMEM. */
int err_oom(struct sj_err *err);

/* ---- defences that a test build can run without (teeth.c) ----------- */

/*
 * Is this one of those that SMOLJAIL_TEETH_OUT names? Only builds with TEETH=1 ask, to show
 * that the checks of `smoljail selftest` fail then. Everywhere else the answer is compiled in.
 */
#ifdef SMOLJAIL_TEETH
bool teeth_out(const char *defence);
#else
#define teeth_out(defence) false
#endif

/* ---- memory and strings (buf.c) ------------------------------------ */

/* A byte buffer that never grows past max; fails with -ENOBUFS instead. */
struct buf {
	char *data;
	size_t len, size, max;
};
#define BUF_INIT(limit) ((struct buf){ .max = (limit) })
#define _cleanup_buf_ _cleanup_(buf_free)

int buf_append(struct buf *b, const void *data, size_t len);
int buf_printf(struct buf *b, const char *fmt, ...) _printf_(2, 3);
int buf_vprintf(struct buf *b, const char *fmt, va_list ap) _printf_(2, 0);
void buf_free(struct buf *b);

char *str_printf(const char *fmt, ...) _printf_(1, 2); /* NULL when out of memory */
bool str_prefix(const char *s, const char *prefix);
size_t strv_len(char *const *v);
int strv_push(char ***v, const char *s); /* copies s; v may point to NULL */
/* The nearest of n names to word by edit distance, NULL if none is close. */
const char *str_nearest(const char *word, const char *const *names, size_t n);

/* ---- files and descriptors (io.c) ---------------------------------- */

int io_read_full(int fd, void *data, size_t len);  /* -EPIPE at early end of file */
int io_write_full(int fd, const void *data, size_t len);
/* Whole file or stream into *ret_data (NUL added, not counted); -EFBIG past max. */
int io_read_all(int fd, size_t max, char **ret_data, size_t *ret_len);
int io_read_file(const char *path, size_t max, char **ret_data, size_t *ret_len);
int io_memfd(const char *name, const void *data, size_t len); /* descriptor at offset 0, or -errno */
int io_send_fds(int sock, const void *data, size_t len, const int *fds, size_t n_fds);
/* One SEQPACKET message; returns its length. Descriptors past max_fds are closed. */
ssize_t io_recv_fds(int sock, void *data, size_t len, int *fds, size_t max_fds, size_t *ret_n);
int io_nonblock(int fd);
uint64_t io_now_us(void); /* CLOCK_MONOTONIC, microseconds */
int io_sha256_file(int fd, char ret_hex[65]);
void io_sha256(const void *data, size_t len, char ret_hex[65]);

/* ---- JSON (json.c) ------------------------------------------------- */

#define JSON_MAX_DEPTH 64

/* Parse text with duplicate keys refused and depth bounded; `name` is quoted in errors. */
int base_json_parse(const char *text, size_t len, const char *name, struct json_t **ret, struct sj_err *err);
/* Depth check for a parsed value. */
bool base_json_too_deep(const struct json_t *j);

#endif
