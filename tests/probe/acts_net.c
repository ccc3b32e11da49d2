/*
 * acts_net.c - sockets and connections from inside
 *
 * Runs as: an untrusted program inside a jail
 * Trusts: nothing
 * Never: sends more than one datagram
 */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "probe.h"

static int act_socket(char **args)
{
	int fd = socket(atoi(args[0]), args[1] ? atoi(args[1]) : SOCK_STREAM, 0);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

/* Every family of the kernel: prints the numbers of those that can be made. */
static int act_families(char **args)
{
	static const int types[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET };

	(void)args;
	for (int family = 0; family <= 46; family++)
		for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
			int fd = socket(family, types[t], 0);

			if (fd >= 0) {
				printf("%d ", family);
				close(fd);
				break;
			}
		}
	putchar('\n');
	return PROBE_PRINTED;
}

static int act_connect(char **args)
{
	struct sockaddr_in sa = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	inet_pton(AF_INET, args[0], &sa.sin_addr);
	sa.sin_port = htons((uint16_t)atoi(args[1]));
	return connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 ? -errno : 0;
}

static int act_abstract(char **args)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	if (fd < 0)
		return -errno;
	strncpy(sa.sun_path + 1, args[0], sizeof(sa.sun_path) - 2);
	return connect(fd, (struct sockaddr *)&sa, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(args[0]))) < 0
		       ? -errno : 0;
}

static int act_lo(char **args)
{
	struct ifreq ifr = { 0 };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	(void)args;
	if (fd < 0)
		return -errno;
	strcpy(ifr.ifr_name, "lo");
	if (ioctl(fd, SIOCGIFFLAGS, &ifr) < 0)
		return -errno;
	puts(ifr.ifr_flags & IFF_UP ? "up" : "down");
	return PROBE_PRINTED;
}

static int act_hostname(char **args)
{
	char name[256];

	(void)args;
	gethostname(name, sizeof(name));
	puts(name);
	return PROBE_PRINTED;
}

const struct act acts_net[] = {
	{ "socket", act_socket, "socket(FAMILY, TYPE)" },
	{ "families", act_families, "all socket families that can be made" },
	{ "connect", act_connect, "connect to ADDRESS PORT" },
	{ "abstract", act_abstract, "connect to an abstract socket NAME" },
	{ "lo", act_lo, "state of the loopback interface" },
	{ "hostname", act_hostname, "host name" },
	{ NULL, NULL, NULL },
};
