/*
 * receive.c - what the host handed over: boot record, claim page, and the way to say "failed"
 *
 * Runs as: the guest, before untrusted code
 * Trusts: the host, through sealed memory; the record is checked all the same
 * Never: leaves descriptor 3 or 5 open
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest/internal.h"

void guest_fail(const char *step, int error)
{
	struct wire_ready ready = { .magic = WIRE_BOOT_MAGIC, .error = error ? error : EIO };

	snprintf(ready.step, sizeof(ready.step), "%s", step);
	/* write, because a filter that is already loaded may forbid every other way. */
	if (write(WIRE_SYNC_FD, &ready, sizeof(ready)) != (ssize_t)sizeof(ready))
		dprintf(STDERR_FILENO, "smoljail-guest: %s: %s; only smoljail can start this program\n", step, strerror(error));
	_exit(SJ_EXIT_SETUP);
}

static void *map_file(int fd, size_t len, int prot, int flags, const char *step)
{
	void *map = mmap(NULL, len, prot, flags, fd, 0);

	if (map == MAP_FAILED)
		guest_fail(step, errno);
	close(fd);
	return map;
}

static size_t boot_size(void)
{
	/* Sealed: it can neither change nor shrink under the eyes that read it. */
	int seals = fcntl(WIRE_BOOT_FD, F_GET_SEALS);
	struct stat st;

	if (seals < 0 || fstat(WIRE_BOOT_FD, &st) < 0)
		guest_fail("boot record", errno);
	if ((seals & WIRE_BOOT_SEALS) != WIRE_BOOT_SEALS)
		guest_fail("boot record: not sealed", EPERM);
	if (st.st_size <= 0 || st.st_size > (off_t)WIRE_BOOT_MAX)
		guest_fail("boot record: length", EBADMSG);
	return (size_t)st.st_size;
}

void guest_receive(struct guest *g)
{
	struct stat st;
	int r;

	g->map_len = boot_size();
	g->map = map_file(WIRE_BOOT_FD, g->map_len, PROT_READ, MAP_PRIVATE, "boot record");
	r = wire_boot_parse(g->map, g->map_len, &g->boot);
	if (r < 0)
		guest_fail("boot record: contents", -r);
	if (fstat(WIRE_CLAIM_FD, &st) < 0)
		guest_fail("claim page", errno);
	if (st.st_size < WIRE_CLAIM_SIZE)
		guest_fail("claim page: length", EBADMSG);
	g->claim = map_file(WIRE_CLAIM_FD, WIRE_CLAIM_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, "claim page");
}

void guest_forget(struct guest *g)
{
	wire_boot_view_clear(&g->boot);
	munmap(g->map, g->map_len);
	g->map = NULL;
}
