/*
 * io.c - whole reads and writes, memory files, descriptors over sockets, digests
 *
 * Runs as: anyone
 * Trusts: nothing that arrives through a descriptor
 * Never: leaves a descriptor open across exec, or allocates more than the caller's maximum
 */
#include <fcntl.h>
#include <sha2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"

#define READ_FIRST_SIZE 4096
#define DIGEST_CHUNK 16384
#define FDS_MAX 253		/* the kernel's SCM_MAX_FD: a message can never carry more */

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U	/* Linux 6.3 */
#endif

int io_read_full(int fd, void *data, size_t len)
{
	char *p = data;

	while (len > 0) {
		ssize_t n = read(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -EPIPE;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int io_write_full(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len > 0) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -EIO;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

/* A good first guess saves copies: the size of a regular file, else a page. */
static size_t first_size(int fd, size_t limit)
{
	struct stat st;
	size_t size = READ_FIRST_SIZE;

	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
		size = (uint64_t)st.st_size < limit ? (size_t)st.st_size + 1 : limit;
	return size < limit ? size : limit;
}

int io_read_all(int fd, size_t max, char **ret_data, size_t *ret_len)
{
	_cleanup_free_ char *data = NULL;
	size_t limit = max < SIZE_MAX - 1 ? max + 1 : max; /* one byte more tells "too big" */
	size_t size = 0, len = 0;

	for (;;) {
		ssize_t n;

		if (len == size) {
			size_t want = size == 0 ? first_size(fd, limit) : size > limit / 2 ? limit : size * 2;
			char *grown = realloc(data, want + 1);

			if (!grown)
				return -ENOMEM;
			data = grown;
			size = want;
		}
		n = read(fd, data + len, size - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		len += (size_t)n;
		if (len > max)
			return -EFBIG;
	}
	data[len] = '\0';
	*ret_data = steal_ptr(data);
	if (ret_len)
		*ret_len = len;
	return 0;
}

int io_read_file(const char *path, size_t max, char **ret_data, size_t *ret_len)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return -errno;
	return io_read_all(fd, max, ret_data, ret_len);
}

int io_memfd(const char *name, const void *data, size_t len)
{
	/* Hosts may refuse memory files that could be executed (vm.memfd_noexec); old kernels lack the flag. */
	_cleanup_close_ int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
	int r;

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	r = io_write_full(fd, data, len);
	if (r < 0)
		return r;
	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	return steal_fd(fd);
}

union control {
	char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
	struct cmsghdr align;
};

int io_send_fds(int sock, const void *data, size_t len, const int *fds, size_t n_fds)
{
	struct iovec iov = { .iov_base = (void *)data, .iov_len = len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	union control control = { 0 };
	ssize_t n;

	/* An empty message cannot be told from the end of the stream. */
	if (len == 0 || n_fds > FDS_MAX)
		return -EINVAL;
	if (n_fds > 0) {
		struct cmsghdr *c;

		msg.msg_control = control.bytes;
		msg.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, n_fds * sizeof(int));
	}
	do
		n = sendmsg(sock, &msg, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EMSGSIZE;
}

/* Descriptors of one control header: the first max are kept, the rest closed. */
static size_t take_fds(struct cmsghdr *c, int *fds, size_t max)
{
	size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int), kept = 0;

	for (size_t i = 0; i < n; i++) {
		int fd;

		memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
		if (kept < max)
			fds[kept++] = fd;
		else
			close(fd);
	}
	return kept;
}

ssize_t io_recv_fds(int sock, void *data, size_t len, int *fds, size_t max_fds, size_t *ret_n)
{
	struct iovec iov = { .iov_base = data, .iov_len = len };
	union control control;
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control.bytes, .msg_controllen = sizeof(control.bytes),
	};
	size_t n_fds = 0;
	ssize_t n;

	do
		n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
			n_fds += take_fds(c, fds + n_fds, max_fds - n_fds);
	if (msg.msg_flags & MSG_TRUNC) {
		while (n_fds > 0)
			close(fds[--n_fds]);
		return -EMSGSIZE;
	}
	if (ret_n)
		*ret_n = n_fds;
	return n;
}

int io_nonblock(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -errno;
	return 0;
}

uint64_t io_now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000u + (uint64_t)ts.tv_nsec / 1000u;
}

static void to_hex(const uint8_t *digest, char ret_hex[65])
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < SHA256_DIGEST_LENGTH; i++) {
		ret_hex[2 * i] = digits[digest[i] >> 4];
		ret_hex[2 * i + 1] = digits[digest[i] & 15];
	}
	ret_hex[2 * SHA256_DIGEST_LENGTH] = '\0';
}

int io_sha256_file(int fd, char ret_hex[65])
{
	uint8_t chunk[DIGEST_CHUNK], digest[SHA256_DIGEST_LENGTH];
	SHA2_CTX ctx;

	SHA256Init(&ctx);
	for (;;) {
		ssize_t n = read(fd, chunk, sizeof(chunk));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		SHA256Update(&ctx, chunk, (size_t)n);
	}
	SHA256Final(digest, &ctx);
	to_hex(digest, ret_hex);
	return 0;
}

void io_sha256(const void *data, size_t len, char ret_hex[65])
{
	uint8_t digest[SHA256_DIGEST_LENGTH];
	SHA2_CTX ctx;

	SHA256Init(&ctx);
	SHA256Update(&ctx, data, len);
	SHA256Final(digest, &ctx);
	to_hex(digest, ret_hex);
}
