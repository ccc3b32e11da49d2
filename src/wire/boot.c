/*
 * boot.c - the boot record: written and sealed by the host, read by the guest
 *
 * Runs as: the supervisor (fill), the guest before untrusted code (parse)
 * Trusts: the spec's pointers; of a record nothing, each count is checked against its length
 * Never: reads past the record's end, accepts a byte that no field accounts for
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <linux/bpf_common.h>
#include <linux/filter.h>
#include <sys/mman.h>

#include "wire/wire.h"

#define BOOT_FLAGS (WIRE_LINE_BUFFERED | WIRE_NOTIFY | WIRE_MUST_NOTIFY | WIRE_WATCH | WIRE_MAY_LOOK)
#define INSN_SIZE sizeof(struct sock_filter)

/* ---- rules that both directions share --------------------------------- */

static bool mode_known(uint32_t mode)
{
	return mode >= WIRE_MODE_FILE && mode <= WIRE_MODE_SESSION;
}

/* A command needs a name and has no text; a script may hold NULs, where a name or an argument of -c cannot. */
static bool code_fits_mode(uint32_t mode, const char *code, size_t len, size_t n_args)
{
	switch ((enum wire_mode)mode) {
	case WIRE_MODE_FILE:
	case WIRE_MODE_MODULE:
		return len > 0 && !memchr(code, '\0', len);
	case WIRE_MODE_CODE:
		return len == 0 || !memchr(code, '\0', len);
	case WIRE_MODE_STDIN:
		return true;
	case WIRE_MODE_EXEC:
		return len == 0 && n_args > 0;
	case WIRE_MODE_SESSION:
		return len == 0;
	}
	return false;
}

/* ---- host: fill -------------------------------------------------------- */

/* Adds to *len as long as the sum stays a legal length. */
static bool add_len(size_t *len, size_t more)
{
	if (more > WIRE_BOOT_MAX - *len)
		return false;
	*len += more;
	return true;
}

static bool add_strings(size_t *len, char *const *strings)
{
	for (; strings && *strings; strings++)
		if (!add_len(len, strlen(*strings) + 1))
			return false;
	return true;
}

static int measure(const struct wire_boot_spec *s, struct wire_boot *ret, size_t *ret_len)
{
	size_t n_args = s->args ? strv_len(s->args) : 0, n_paths = s->paths ? strv_len(s->paths) : 0;
	size_t strings = 0, len = sizeof(*ret);

	if (!mode_known(s->mode) || (s->flags & ~(uint32_t)BOOT_FLAGS))
		return -EINVAL;
	if (!code_fits_mode(s->mode, s->code, s->code_len, n_args))
		return -EINVAL;
	if (s->n_insns > BPF_MAXINSNS || n_args > WIRE_ARGS_MAX || n_paths > WIRE_ARGS_MAX)
		return -E2BIG;
	if (!add_strings(&strings, s->args) || !add_strings(&strings, s->paths))
		return -E2BIG;
	if (!add_len(&len, s->n_insns * INSN_SIZE) || !add_len(&len, strings) ||
	    !add_len(&len, s->code_len) || !add_len(&len, 1))
		return -E2BIG;
	*ret = (struct wire_boot){
		.magic = WIRE_BOOT_MAGIC, .mode = s->mode, .flags = s->flags,
		.n_insns = (uint32_t)s->n_insns, .n_args = (uint32_t)n_args, .n_paths = (uint32_t)n_paths,
		.strings = (uint32_t)strings, .code = (uint32_t)s->code_len,
	};
	*ret_len = len;
	return 0;
}

static char *put(char *at, const void *data, size_t len)
{
	if (len)
		memcpy(at, data, len);
	return at + len;
}

static char *put_strings(char *at, char *const *strings)
{
	for (; strings && *strings; strings++)
		at = put(at, *strings, strlen(*strings) + 1);
	return at;
}

int wire_boot_fill(int memfd, const struct wire_boot_spec *spec)
{
	_cleanup_free_ char *data = NULL;
	struct wire_boot head;
	size_t len;
	char *at;
	int r;

	r = measure(spec, &head, &len);
	if (r < 0)
		return r;
	data = malloc(len);
	if (!data)
		return -ENOMEM;
	at = put(data, &head, sizeof(head));
	at = put(at, spec->insns, spec->n_insns * INSN_SIZE);
	at = put_strings(at, spec->args);
	at = put_strings(at, spec->paths);
	at = put(at, spec->code, spec->code_len);
	*at = '\0';
	r = io_write_full(memfd, data, len);
	if (r < 0)
		return r;
	return fcntl(memfd, F_ADD_SEALS, WIRE_BOOT_SEALS) < 0 ? -errno : 0;
}

/* ---- guest: parse ------------------------------------------------------ */

static bool head_sound(const struct wire_boot *h, size_t len)
{
	/* Every summand is below 2^32, so that 64 bits cannot overflow. */
	uint64_t want = sizeof(*h) + (uint64_t)h->n_insns * INSN_SIZE + h->strings + (uint64_t)h->code + 1;

	return h->magic == WIRE_BOOT_MAGIC && mode_known(h->mode) && !(h->flags & ~(uint32_t)BOOT_FLAGS) &&
	       h->n_insns <= BPF_MAXINSNS && h->n_args <= WIRE_ARGS_MAX && h->n_paths <= WIRE_ARGS_MAX &&
	       want == len;
}

/* Points n entries of `list` at the strings from *at on. */
static bool take_strings(const char **list, size_t n, const char **at, const char *end)
{
	for (size_t i = 0; i < n; i++) {
		const char *nul = memchr(*at, '\0', (size_t)(end - *at));

		if (!nul)
			return false;
		list[i] = *at;
		*at = nul + 1;
	}
	return true;
}

int wire_boot_parse(const void *map, size_t len, struct wire_boot_view *ret)
{
	const struct wire_boot *h = map;
	struct wire_boot_view v = { .head = h };
	const char *at, *end;
	int r;

	if (len < sizeof(*h) || len > WIRE_BOOT_MAX || (uintptr_t)map % _Alignof(struct wire_boot) || !head_sound(h, len))
		return -EBADMSG;
	v.insns = (const char *)map + sizeof(*h);
	at = (const char *)v.insns + h->n_insns * INSN_SIZE;
	end = at + h->strings;
	v.code = end;
	if (v.code[h->code] != '\0' || !code_fits_mode(h->mode, v.code, h->code, h->n_args))
		return -EBADMSG;
	v.args = calloc(h->n_args + 1, sizeof(*v.args));
	v.paths = calloc(h->n_paths + 1, sizeof(*v.paths));
	if (v.args && v.paths && take_strings(v.args, h->n_args, &at, end) &&
	    take_strings(v.paths, h->n_paths, &at, end) && at == end) {
		*ret = v;
		return 0;
	}
	r = v.args && v.paths ? -EBADMSG : -ENOMEM;
	wire_boot_view_clear(&v);
	return r;
}

void wire_boot_view_clear(struct wire_boot_view *v)
{
	free(v->args);
	free(v->paths);
	*v = (struct wire_boot_view){ 0 };
}
