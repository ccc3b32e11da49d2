/*
 * peek_call.c - a refused call in words, with what its pointers point to
 *
 * Runs as: the supervisor, while the kernel holds the thread in the call
 * Trusts: nothing; what is shown may be changed by another thread before anybody could use it
 * Never: decides anything by what it read
 */
#include <arpa/inet.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <netinet/in.h>
#include <linux/netlink.h>
#include <unistd.h>

#include "session/internal.h"

#define PATH_SHOWN 100		/* bytes of a path; longer ones end in dots */
#define PAGE 4096u

#define BIT(n) (1u << (n))

/* Which arguments lead to a path or a name, and which to the address of a socket. */
static const struct pointees {
	const char *name;
	unsigned int texts, address;	/* by bit */
} pointees[] = {
	{ "open", BIT(0), 0 }, { "openat", BIT(1), 0 }, { "openat2", BIT(1), 0 }, { "creat", BIT(0), 0 },
	{ "execve", BIT(0), 0 }, { "execveat", BIT(1), 0 }, { "uselib", BIT(0), 0 },
	{ "stat", BIT(0), 0 }, { "lstat", BIT(0), 0 }, { "newfstatat", BIT(1), 0 }, { "statx", BIT(1), 0 },
	{ "statfs", BIT(0), 0 }, { "access", BIT(0), 0 }, { "faccessat", BIT(1), 0 }, { "faccessat2", BIT(1), 0 },
	{ "readlink", BIT(0), 0 }, { "readlinkat", BIT(1), 0 }, { "chdir", BIT(0), 0 }, { "chroot", BIT(0), 0 },
	{ "mkdir", BIT(0), 0 }, { "mkdirat", BIT(1), 0 }, { "rmdir", BIT(0), 0 }, { "unlink", BIT(0), 0 },
	{ "unlinkat", BIT(1), 0 }, { "mknod", BIT(0), 0 }, { "mknodat", BIT(1), 0 }, { "truncate", BIT(0), 0 },
	{ "rename", BIT(0) | BIT(1), 0 }, { "renameat", BIT(1) | BIT(3), 0 }, { "renameat2", BIT(1) | BIT(3), 0 },
	{ "link", BIT(0) | BIT(1), 0 }, { "linkat", BIT(1) | BIT(3), 0 }, { "symlink", BIT(0) | BIT(1), 0 },
	{ "symlinkat", BIT(0) | BIT(2), 0 }, { "chmod", BIT(0), 0 }, { "fchmodat", BIT(1), 0 }, { "fchmodat2", BIT(1), 0 },
	{ "chown", BIT(0), 0 }, { "lchown", BIT(0), 0 }, { "fchownat", BIT(1), 0 }, { "utimensat", BIT(1), 0 },
	{ "utime", BIT(0), 0 }, { "utimes", BIT(0), 0 }, { "futimesat", BIT(1), 0 },
	{ "setxattr", BIT(0) | BIT(1), 0 }, { "lsetxattr", BIT(0) | BIT(1), 0 }, { "fsetxattr", BIT(1), 0 },
	{ "getxattr", BIT(0) | BIT(1), 0 }, { "lgetxattr", BIT(0) | BIT(1), 0 }, { "fgetxattr", BIT(1), 0 },
	{ "listxattr", BIT(0), 0 }, { "llistxattr", BIT(0), 0 }, { "removexattr", BIT(0) | BIT(1), 0 },
	{ "lremovexattr", BIT(0) | BIT(1), 0 }, { "fremovexattr", BIT(1), 0 },
	{ "mount", BIT(0) | BIT(1) | BIT(2), 0 }, { "umount2", BIT(0), 0 }, { "pivot_root", BIT(0) | BIT(1), 0 },
	{ "open_tree", BIT(1), 0 }, { "move_mount", BIT(1) | BIT(3), 0 }, { "fsopen", BIT(0), 0 }, { "fspick", BIT(1), 0 },
	{ "mount_setattr", BIT(1), 0 }, { "swapon", BIT(0), 0 }, { "swapoff", BIT(0), 0 }, { "acct", BIT(0), 0 },
	{ "inotify_add_watch", BIT(1), 0 }, { "fanotify_mark", BIT(4), 0 }, { "name_to_handle_at", BIT(1), 0 },
	{ "mq_open", BIT(0), 0 }, { "mq_unlink", BIT(0), 0 }, { "memfd_create", BIT(0), 0 },
	{ "add_key", BIT(0) | BIT(1), 0 }, { "request_key", BIT(0) | BIT(1), 0 }, { "delete_module", BIT(0), 0 },
	{ "connect", 0, BIT(1) }, { "bind", 0, BIT(1) }, { "sendto", 0, BIT(4) }, { "sendmsg", 0, BIT(1) },
};

struct call {
	int mem;
	const uint64_t *args;
	const struct pointees *p;
};

/* Text up to its NUL: page by page, since the next page may not be there. */
static bool read_string(int mem, uint64_t at, char *ret, size_t len)
{
	size_t got = 0;

	while (got < len - 1) {
		size_t n = PAGE - (at + got) % PAGE;

		n = n < len - 1 - got ? n : len - 1 - got;
		if (!peek_read(mem, at + got, ret + got, n))
			return false;
		if (memchr(ret + got, '\0', n))
			return true;
		got += n;
	}
	ret[got] = '\0';
	return true;
}

static int put_text(const struct call *c, uint64_t at, char *ret, size_t len)
{
	char raw[PATH_SHOWN + 2], clean[PATH_SHOWN * 3 + 1];
	bool cut;

	if (!read_string(c->mem, at, raw, sizeof(raw)))
		return 0;
	cut = strlen(raw) > PATH_SHOWN;
	text_clean(raw, PATH_SHOWN, clean, sizeof(clean), true);
	snprintf(ret, len, "\"%.*s%s\"", (int)(len - 8), clean, cut ? "..." : "");
	return 1;
}

/* ---- addresses of sockets ------------------------------------------------------ */

union address {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct sockaddr_un un;
	struct sockaddr_nl nl;
};

static int put_unix(const union address *a, size_t size, char *ret, size_t len)
{
	size_t head = offsetof(struct sockaddr_un, sun_path), n = size > head ? size - head : 0;
	char clean[sizeof(a->un.sun_path) * 3 + 1] = "";
	bool abstract = n && !a->un.sun_path[0];

	text_clean(a->un.sun_path + abstract, n - abstract, clean, sizeof(clean), true);
	snprintf(ret, len, "\"%s%.*s\"", abstract ? "@" : "", (int)(len - 8), clean);
	return 2;
}

static int put_address(const struct call *c, uint64_t at, uint64_t size, char *ret, size_t len)
{
	union address a;
	char host[INET6_ADDRSTRLEN] = "?";

	memset(&a, 0, sizeof(a));
	size = size < sizeof(a) ? size : sizeof(a);
	if (size < sizeof(a.sa.sa_family) || !peek_read(c->mem, at, &a, size))
		return 0;
	switch (a.sa.sa_family) {
	case AF_INET:
		inet_ntop(AF_INET, &a.in.sin_addr, host, sizeof(host));
		snprintf(ret, len, "%s:%u", host, ntohs(a.in.sin_port));
		return 2;
	case AF_INET6:
		inet_ntop(AF_INET6, &a.in6.sin6_addr, host, sizeof(host));
		snprintf(ret, len, "[%s]:%u", host, ntohs(a.in6.sin6_port));
		return 2;
	case AF_UNIX:
		return put_unix(&a, size, ret, len);
	case AF_NETLINK:
		snprintf(ret, len, "netlink");
		return 2;
	default:
		snprintf(ret, len, "address family %u", a.sa.sa_family);
		return 2;
	}
}

/* struct msghdr begins with the address and its length. */
static int put_message(const struct call *c, uint64_t at, char *ret, size_t len)
{
	struct msghdr m;

	if (!peek_read(c->mem, at, &m, sizeof(m)) || !m.msg_name)
		return 0;
	return put_address(c, (uint64_t)(uintptr_t)m.msg_name, m.msg_namelen, ret, len) ? 1 : 0;
}

/* ---- the call --------------------------------------------------------------------- */

static int pointee(void *arg, unsigned int i, char *ret, size_t len)
{
	const struct call *c = arg;

	if (c->p->texts & BIT(i))
		return put_text(c, c->args[i], ret, len);
	if (!(c->p->address & BIT(i)))
		return 0;
	return strcmp(c->p->name, "sendmsg") == 0 ? put_message(c, c->args[i], ret, len)
		: put_address(c, c->args[i], (uint32_t)c->args[i + 1], ret, len);
}

static const struct pointees *find_pointees(int nr)
{
	char buf[40];
	const char *name = filter_call_name(nr, buf, sizeof(buf));

	for (size_t i = 0; i < ARRAY_LEN(pointees); i++)
		if (strcmp(pointees[i].name, name) == 0)
			return &pointees[i];
	return NULL;
}

void peek_describe(pid_t tid, int nr, const uint64_t args[6], char *ret, size_t len)
{
	struct call c = { .args = args, .p = find_pointees(nr) };
	_cleanup_close_ int mem = c.p ? peek_open(tid) : -1;

	c.mem = mem;
	filter_describe_with(nr, args, mem >= 0 ? pointee : NULL, &c, ret, len);
}

bool peek_argument(pid_t tid, int nr, const uint64_t args[6], unsigned int index, char *ret, size_t len)
{
	struct call c = { .args = args, .p = find_pointees(nr) };
	_cleanup_close_ int mem = c.p ? peek_open(tid) : -1;

	c.mem = mem;
	return mem >= 0 && pointee(&c, index, ret, len) > 0;
}
