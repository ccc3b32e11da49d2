/*
 * net.c - the loopback interface of a jail's own network
 *
 * Runs as: the child opens the socket inside; the supervisor, who owns the namespace, uses it
 * Trusts: the kernel's answers, which are read back
 * Never: touches an interface other than lo
 */
#include <net/if.h>
#include <netlink/netlink.h>
#include <netlink/route/link.h>
#include <sys/socket.h>

#include "base/base.h"
#include "jail/internal.h"

/* The namespace of a netlink socket is its maker's, so the child makes it and the parent may use libnl. */
int net_open_route(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	return fd < 0 ? -errno : fd;
}

static void link_putp(struct rtnl_link **l)
{
	if (*l)
		rtnl_link_put(*l);
}

static void sock_freep(struct nl_sock **sk)
{
	if (*sk)
		nl_socket_free(*sk);
}

static int lo_get(struct nl_sock *sk, struct rtnl_link **ret)
{
	/* libnl may find nothing and call it success. */
	return rtnl_link_get_kernel(sk, 0, "lo", ret) < 0 || !*ret ? -ENODEV : 0;
}

static int lo_raise(struct nl_sock *sk)
{
	_cleanup_(link_putp) struct rtnl_link *lo = NULL, *change = rtnl_link_alloc();
	int r;

	if (!change)
		return -ENOMEM;
	r = lo_get(sk, &lo);
	if (r < 0)
		return r;
	rtnl_link_set_flags(change, IFF_UP);
	r = rtnl_link_change(sk, lo, change, 0);
	if (r < 0)
		return r == -NLE_PERM ? -EPERM : -EIO;
	return 0;
}

int net_loopback_up(int route_fd)
{
	_cleanup_(link_putp) struct rtnl_link *lo = NULL;
	_cleanup_(sock_freep) struct nl_sock *sk = nl_socket_alloc();
	int r;

	if (!sk || nl_socket_set_fd(sk, NETLINK_ROUTE, route_fd) < 0) {
		base_closep(&route_fd);
		return -ENOMEM;
	}
	r = lo_raise(sk);
	if (r == 0)
		r = lo_get(sk, &lo);
	if (r < 0)
		return r;
	return rtnl_link_get_flags(lo) & IFF_UP ? 0 : -ENETDOWN;
}
