"""What programs try, and what becomes of it under each shipped policy: the table of suites/explain-matrix.

A cell is WORKS, or what the report has to say. Cells stand in the order python-strict, python, python-data, shell,
open; one cell is for all of them, two are for python-strict and for the others, three for python-strict, the next
three, and open. Numbers of system calls are those of x86-64.
"""
import collections

Refused = collections.namedtuple("Refused", "error layer rule allow never", defaults=(None, None))
Operation = collections.namedtuple("Operation", "part name cells code")

WORKS = "works"
ENOSYS = "ENOSYS"     # answered as by an older kernel: no refusal, nothing in the report
ABSENT = "ENOENT"     # the host has it not either


def default(call, error="EPERM"):
    """No rule of the policy names the call; its name, or that of its group, is what to add."""
    return Refused(error, "filter", "default", f'"syscalls": {{"allow": ["{call}"]}}')


def never(reason, rule="@never", error="EPERM"):
    return Refused(error, "filter", rule, None, reason)


NONE = "network.mode=none"
LOOPBACK = "network.mode=loopback"
NO_NET = Refused("ENETUNREACH", "filter", NONE, "--net loopback or --net host")
LOST_NET = Refused("ENETUNREACH", "network", "network.mode = loopback", "--net host")
ROUTES = NO_NET._replace(error="EAFNOSUPPORT")
ONLY_TCP = never("the network of a jail has TCP and UDP only", NONE, "ENETUNREACH")
ONLY_UNIX = never("only unix sockets exist in this jail", NONE, "EAFNOSUPPORT")
ONLY_INET = never("only unix and internet sockets exist in a jail", LOOPBACK, "EAFNOSUPPORT")


def privilege(why, rule="default", error="EPERM"):
    """The filter refuses it, and without the filter the kernel would."""
    return Refused(error, "filter", rule, None, "no program in a jail has the privilege: " + why)


LACKING = Refused("EPERM|EACCES", "capability", "no capabilities", None, "a privilege that no program in a jail has")
NO_USER = "a jail has no user but its own"
RAW = "raw sockets need CAP_NET_RAW"
SPACES = "new namespaces open the kernel to attack"
TREE = "changes the file tree"
MACHINE = "administration of the machine"
CLOCK = "the machine's clock"
ROOT = Refused("EROFS|EACCES", "mount", "files.root = python, read-only", None, "the root is never writable")



def show(path):
    """The host has it, the jail does not."""
    return Refused("ENOENT", "mount", "files.read", f"--ro {path}")


def show_writable(path):
    return Refused("ENOENT", "mount", "files.write", f"--rw {path}")


def secret(reason, rule="files.read"):
    """Where the host has it; where it has not, the file is just not there."""
    return Refused("ENOENT", "mount", rule, None, reason)


KERNEL = secret("the kernel's view of the host")
SET_KERNEL = secret("the kernel's view of the host", "files.write")
TABLE = []
OUTSIDE = ("name",)     # what needs a name server outside besides
STEPS = ("a script of its own", "outside")      # what two layers refuse, one behind the other
# What a part needs beforehand.
HEADS = {"network": "import socket\n"}


def spread(cells):
    if len(cells) == 1:
        return cells * 5
    if len(cells) == 2:
        return (cells[0],) + (cells[1],) * 4
    if len(cells) == 3:
        return (cells[0],) + (cells[1],) * 3 + (cells[2],)
    return cells


def op(part, name, code, *cells):
    TABLE.append(Operation(part, name, spread(cells), code))


# ---- system calls that no policy allows ----------------------------------------

op("never", "ptrace", "return call(101, 0, 0, 0, 0)", never("controls another process"))
op("never", "process_vm_readv", "return call(310, os.getpid(), 0, 0, 0, 0, 0)", never("reads another process's memory"))
op("never", "process_vm_writev", "return call(311, os.getpid(), 0, 0, 0, 0, 0)", never("writes another process's memory"))
op("never", "pidfd_getfd", "return call(438, 0, 0, 0)", never("takes descriptors of another process"))
op("never", "kcmp", "return call(312, 1, 1, 0, 0, 0)", never("tells kernel addresses apart"))
op("never", "mount", "return call(165, b'none', b'/tmp', b'tmpfs', 0, 0)", never(TREE))
op("never", "umount2", "return call(166, b'/tmp', 0)", never(TREE))
op("never", "pivot_root", "return call(155, b'/tmp', b'/tmp')", never(TREE))
op("never", "chroot", "return os.chroot('/tmp')", never(TREE))
op("never", "fsopen", "return call(430, b'tmpfs', 0)", never(TREE))
op("never", "open_tree", "return call(428, -100, b'/tmp', 1)", never(TREE))
op("never", "name_to_handle_at", "return call(303, -100, b'/tmp', 0, 0, 0)", never("file handles reach outside the root"))
op("never", "fanotify_init", "return call(300, 0, 0)", never("watches whole file systems"))
op("never", "unshare of users", "return call(272, 0x10000000)", never(SPACES))
op("never", "setns", "return call(308, 0, 0)", never("entering a namespace leaves the jail"))
op("never", "clone of a namespace", "return call(56, 0x10000011, 0, 0, 0, 0)", never(SPACES))
op("never", "bpf", "return call(321, 0, 0, 0)", never("runs code in the kernel"))
op("never", "perf_event_open", "return call(298, 0, 0, -1, -1, 0)", never("a side channel"))
op("never", "userfaultfd", "return call(323, 0)", never("lets a program stop the kernel half-way"))
op("never", "add_key", "return call(248, b'user', b'a', b'b', 1, -2)", never("kernel keys are shared"))
op("never", "keyctl", "return call(250, 0, -3, 0)", never("kernel keys are shared"))
op("never", "init_module", "return call(175, 0, 0, b'')", never("loads code into the kernel"))
op("never", "reboot", "return call(169, 0, 0, 0, 0)", never(MACHINE))
op("never", "swapon", "return call(167, b'/tmp/x', 0)", never(MACHINE))
op("never", "quotactl", "return call(179, 0, 0, 0, 0)", never("administration of file systems"))
op("never", "syslog", "return call(103, 3, 0, 0)", never("the kernel's log holds addresses"))
op("never", "sethostname", "return call(170, b'host', 4)", never("the name of the jail is fixed"))
op("never", "settimeofday", "return call(164, 0, 0)", never(CLOCK))
op("never", "clock_settime", "return time.clock_settime(time.CLOCK_REALTIME, 0)", never(CLOCK))
op("never", "iopl", "return call(172, 3)", never("direct access to hardware"))
op("never", "TIOCSTI", "return fcntl.ioctl(0, termios.TIOCSTI, b'x')", never("types into the terminal of the caller"))
op("never", "another listener", "return call(317, 1, 8, 0)", never("a second listener would hide denials"))
op("never", "core dumps", "return call(302, 0, 4, room, 0)", never("a core handler on the host"))
op("never", "io_uring", "return call(425, 8, 0)", ENOSYS)
op("never", "clone3", "return call(435, 0, 0)", ENOSYS)
op("never", "a newer call", "return call(457, 0, 0, 0, 0)", ENOSYS)

# ---- system calls that a policy may allow ----------------------------------------

op("calls", "memfd_create", "return os.memfd_create('m')", *[default("memfd_create")] * 4, WORKS)
op("calls", "own personality", "return call(135, 0xffffffff)", *[default("personality")] * 3, WORKS, WORKS)
op("calls", "no address randomization", "return call(135, 0x40000)", default("personality"))
op("calls", "symlink", "os.symlink('a', 'symlink')", default("symlink"), WORKS)
op("calls", "link", "os.link('file', 'link')", default("link"), WORKS)
op("calls", "mkfifo", "os.mkfifo('fifo')", default("mknodat"), WORKS)
op("calls", "chown to oneself", "os.chown('file', os.getuid(), os.getgid())", default("chown"), WORKS)
op("calls", "truncate", "os.truncate('file', 4096)", default("truncate"), WORKS)
op("calls", "fallocate", "with open('file', 'r+') as f:\n    os.posix_fallocate(f.fileno(), 0, 4096)", default("fallocate"), WORKS)
op("calls", "flock", "with open('file') as f: fcntl.flock(f, fcntl.LOCK_SH)", default("flock"), WORKS)
op("calls", "statvfs", "os.statvfs('.')", default("statfs"), WORKS)
op("calls", "pipe", "os.pipe()", default("pipe2"), WORKS)
op("calls", "eventfd", "return call(290, 0, 0)", default("eventfd2"), WORKS)
op("calls", "epoll", "return call(291, 0)", default("epoll_create1"), WORKS)
op("calls", "poll", "return call(7, 0, 0, 0)", default("poll"), WORKS)
op("calls", "timerfd", "return call(283, 1, 0)", default("timerfd_create"), WORKS)
op("calls", "timer_create", "return call(222, 1, None, room)", *[default("timer_create")] * 3, WORKS, WORKS)
op("calls", "inotify", "return call(294, 0)", *[default("inotify_init1")] * 3, WORKS, WORKS)
op("calls", "msync", "mmap.mmap(-1, 4096).flush()", default("msync"), WORKS)
op("calls", "mlock", "return call(149, room, 1)", default("mlock"), WORKS)
op("calls", "munlockall", "return call(152)", *[default("munlockall")] * 4, WORKS)
op("calls", "clock_getres", "return call(229, 1, room)", default("clock_getres"), WORKS)
op("calls", "times", "return call(100, room)", default("times"), WORKS)
op("calls", "wait for a signal", "signal.sigtimedwait([signal.SIGUSR1], 0)", default("rt_sigtimedwait"), WORKS)
op("calls", "fork", "pid = os.fork() or os._exit(0); os.waitpid(pid, 0)", default("@process"), WORKS)
op("calls", "a thread", "import threading\nt = threading.Thread(target=int); t.start(); t.join()",
   default("@threads")._replace(error="RuntimeError"), WORKS)
op("calls", "a program", "os.waitpid(os.posix_spawn(sys.executable, [sys.executable, '-c', ''], {}), 0)", default("@process"), WORKS)
op("calls", "setsid in a child", "pid = os.fork() or os._exit(os.setsid() * 0)\nos.waitpid(pid, 0)", default("@process"), WORKS)
op("calls", "nicer", "return call(141, 0, 0, 1)", default("setpriority"), WORKS)
op("calls", "getpriority", "os.getpriority(0, 0)", default("getpriority"), WORKS)
op("calls", "affinity", "os.sched_setaffinity(0, os.sched_getaffinity(0))",
   default("sched_setaffinity"), default("sched_setaffinity"), WORKS, default("sched_setaffinity"), WORKS)
op("calls", "ordinary scheduling", "os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))",
   *[default("sched_setscheduler")] * 4, WORKS)
op("calls", "getcpu", "return call(309, room, 0, 0)", default("getcpu"), default("getcpu"), WORKS, WORKS, WORKS)
op("calls", "membarrier", "return call(324, 0, 0, 0)", default("membarrier"), default("membarrier"), WORKS, WORKS, WORKS)
op("calls", "shared memory", "return call(29, 0, 4096, 0o600)", *[default("shmget")] * 4, WORKS)
op("calls", "message queue", "return call(68, 0, 0o600)", *[default("msgget")] * 4, WORKS)
op("calls", "unusual ioctl", "with open('file') as f: fcntl.ioctl(f, 2, b'    ')", *[default("ioctl")] * 4, WORKS)
op("calls", "unusual fcntl", "with open('file') as f: fcntl.fcntl(f, fcntl.F_GETLEASE)", *[default("fcntl")] * 4, WORKS)
op("calls", "unusual prctl", "return call(157, 30, 0, 0, 0, 0)", *[default("prctl")] * 4, WORKS)
op("calls", "landlock", "return call(444, 0, 0, 1)", *[default("landlock_create_ruleset")] * 4, WORKS)
op("calls", "aio", "return call(206, 1, ctypes.byref(ctypes.c_ulong(0)))", *[default("io_setup")] * 4, WORKS)
op("calls", "ioprio_get", "return call(252, 1, 0)", *[default("ioprio_get")] * 4, WORKS)
op("calls", "lower limit", "resource.setrlimit(resource.RLIMIT_STACK, resource.getrlimit(resource.RLIMIT_STACK))", WORKS)
op("calls", "anonymous memory", "mmap.mmap(-1, 1 << 20)", WORKS)
op("calls", "alarm", "signal.setitimer(signal.ITIMER_REAL, 0)", WORKS)
op("calls", "NUMA placement", "return call(237, 0, 0, 0, 0, 0, 0)", default("mbind"), ENOSYS)

# ---- what needs a privilege -------------------------------------------------------

op("privilege", "less nice", "os.setpriority(0, 0, -5)", privilege("a better priority needs CAP_SYS_NICE"), LACKING)
op("privilege", "real-time", "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))",
   privilege("real-time scheduling needs CAP_SYS_NICE"))
op("privilege", "setuid", "os.setuid(0)", *[privilege(NO_USER)] * 4, "EINVAL")
op("privilege", "setresgid", "os.setresgid(-1, 0, -1)", *[privilege("a jail has no group but its own")] * 4, "EINVAL")
op("privilege", "setgroups", "return call(116, 0, 0)", *[privilege("other groups need CAP_SETGID")] * 4, "EPERM")
op("privilege", "device node", "os.mknod('device', 0o20600, os.makedev(1, 3))", privilege("device nodes need CAP_MKNOD"))
op("privilege", "chown to root", "os.chown('file', 0, 0)", privilege(NO_USER), "EINVAL")

# ---- sockets --------------------------------------------------------------------------

op("network", "tcp", "socket.socket()", *[NO_NET] * 4, WORKS)
op("network", "udp", "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)", *[NO_NET] * 4, WORKS)
op("network", "tcp over ipv6", "socket.socket(socket.AF_INET6)", *[NO_NET] * 4, WORKS)
op("network", "a server of its own", "s = socket.create_server(('127.0.0.1', 0))\nsocket.create_connection(s.getsockname())",
   *[NO_NET] * 4, WORKS)
op("network", "unix socket", "socket.socket(socket.AF_UNIX)", default("@sockets"), WORKS)
op("network", "unix pair", "socket.socketpair()", default("@sockets"), WORKS)
op("network", "unix server", "s = socket.socket(socket.AF_UNIX); s.bind('socket'); s.listen()\n"
   "socket.socket(socket.AF_UNIX).connect('socket')",
   default("@sockets"), WORKS)
op("network", "addresses of interfaces", "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)", *[ROUTES] * 4, WORKS)
op("network", "netlink audit", "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 9)", *[ONLY_UNIX] * 4, default("socket"))
op("network", "packets", "socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 3)",
   *[privilege(RAW, NONE, "EAFNOSUPPORT")] * 4, privilege(RAW, LOOPBACK, "EAFNOSUPPORT"))
op("network", "kernel crypto", "socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET)", *[ONLY_UNIX] * 4, ONLY_INET)
op("network", "virtual machine socket", "socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)", *[ONLY_UNIX] * 4, ONLY_INET)
op("network", "MPTCP", "socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)", *[ONLY_TCP] * 4, default("socket"))
op("network", "name", "socket.getaddrinfo('smoljail.invalid', 80)",
   *[NO_NET._replace(error="gaierror")] * 4, LOST_NET._replace(error="gaierror"))
op("network", "outside", "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect(('192.0.2.1', 9))", *[NO_NET] * 4, LOST_NET)

# ---- files ------------------------------------------------------------------------------

op("files", "a file of the host", "open('{host}/data.csv')", show("{host}/data.csv"))
op("files", "size of a file of the host", "os.stat('{host}/other.csv')", show("{host}/other.csv"))
op("files", "a folder of the host", "os.listdir('{host}/sub')", show("{host}/sub"))
op("files", "write beside it", "open('{host}/rw/new', 'w')", show_writable("{host}/rw"))
op("files", "make a folder there", "os.mkdir('{host}/rw2/' + os.urandom(4).hex())", show_writable("{host}/rw2"))
op("files", "a file beside the caller", "open('here.csv')", show("{host}/here.csv:/work/here.csv"))
op("files", "passwords", "open('/etc/shadow')", secret("passwords or accounts of the host"))
op("files", "a user's key", "open('{host}/home/.ssh/config')", secret("a user's keys or passwords"))
op("files", "a private key", "open('{host}/server.key')", secret("looks like a private key"))
op("files", "all homes", "os.listdir('/home')", secret("a whole part of the host"))
op("files", "write to the root", "open('/usr/new', 'w')", ROOT)
op("files", "change the root", "open('/etc/passwd', 'a')", ROOT)
op("files", "remove from the root", "os.unlink('/etc/passwd')", ROOT)
op("kernel", "sysfs", "open('/sys/kernel/notes')", KERNEL)
op("kernel", "kernel memory", "open('/proc/kcore', 'rb')", KERNEL)
op("kernel", "where cores go", "open('/proc/sys/kernel/core_pattern', 'w')", SET_KERNEL)
op("kernel", "kernel settings", "open('/proc/sys/kernel/hostname', 'w')", SET_KERNEL)
op("kernel", "first process", "open('/proc/1/environ')", KERNEL)
op("kernel", "memory device", "open('/dev/mem', 'rb')", KERNEL)
op("kernel", "kernel log", "open('/dev/kmsg')", KERNEL)
op("kernel", "null device", "open('/dev/null', 'w')", WORKS)
op("kernel", "make a device file", "open('/dev/new', 'w')", ROOT)
op("kernel", "own folder", "open('/work/new', 'w')", WORKS)
op("kernel", "temporary folder", "open('/tmp/new', 'w')", WORKS)
op("kernel", "a missing file", "try: open('/tmp/missing')\nexcept FileNotFoundError: pass", WORKS)

# Nothing that is written may be executed.
NO_EXEC = Refused("EACCES|EPERM", "mount", "files.exec_from_writable = false", "files.exec_from_writable true")
op("exec", "a script of its own",
   "with open('tool', 'w') as f:\n    f.write('#!/bin/sh\\n')\nos.chmod('tool', 0o755)\n"
   "os.waitpid(os.posix_spawn('/work/tool', ['tool'], {}), 0)", default("@process"), NO_EXEC, WORKS)
op("exec", "code of its own", "with open('file', 'rb') as f:\n"
   "    mmap.mmap(f.fileno(), 4096, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC)", NO_EXEC, NO_EXEC, WORKS)

# ---- limits -------------------------------------------------------------------------------

# One limit in a jail of its own: a policy over the shipped one, a program that needs a little more than that lets it
# have, and what the report says. Layers: any of them, as a control group or something else holds the limit here.
Limit = collections.namedtuple("Limit", "name base code status error layers rule flag policy")
LIMITS = []


def limit(name, base, code, status, error, layers, rule, flag, policy):
    LIMITS.append(Limit(name, base, code, status, error, layers, rule, flag, policy))


CHILDREN = """
import os, signal, time
pids = []
try:
    for i in range(9):
        pid = os.fork()
        if pid == 0:
            time.sleep(600)
        pids.append(pid)
finally:
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
"""

limit("memory", {"limits": {"memory": "64M"}}, "import time\nx = b'x' * (80 << 20)\ntime.sleep(1)", "oom", "ENOMEM",
      ("cgroup", "supervisor"), "limits.memory = 64M", ["--memory", "128M"], {"limits": {"memory": "128M"}})
limit("processes", {"limits": {"pids": 8}, "syscalls": {"allow": ["@process"]}}, CHILDREN, "pids_limit|error", "EAGAIN",
      ("cgroup", "rlimit"), "limits.pids = 8", ["--pids", "16"], {"limits": {"pids": 16}})
limit("open files", {"limits": {"open_files": 40}}, "import os\nl = [os.open('/dev/null', 0) for i in range(50)]", "error", "EMFILE",
      ("rlimit",), "limits.open_files = 40", ["--open-files", "80"], {"limits": {"open_files": 80}})
limit("file size", {"limits": {"file_size": "128K"}}, "f = open('f', 'wb', 0)\nf.write(bytes(1 << 17))\nf.write(b'x')", "disk_limit", "EFBIG",
      ("rlimit",), "limits.file_size = 128K", ["--file-size", "256K"], {"limits": {"file_size": "256K"}})
SMALL = {"files": {"work": {"size": "1M", "inodes": 32}, "tmp": {"size": "1M", "inodes": 32}, "shm": {"size": "1M", "inodes": 32}}}
for place, setting, option in (("/work", "work", ["--disk", "2M"]), ("/tmp", "tmp", ["--disk", "2M"]), ("/dev/shm", "shm", None)):
    limit("space in " + place, SMALL, f"f = open('{place}/f', 'wb', 0)\nfor i in range(6):\n    f.write(bytes(1 << 18))", "disk_limit",
          "ENOSPC", ("mount",), f"files.{setting}.size = 1M", option, {"files": {setting: {"size": "2M"}}})
    limit("files in " + place, SMALL, f"for i in range(40):\n    open(f'{place}/{{i}}', 'w').close()", "disk_limit",
          "ENOSPC", ("mount",), f"files.{setting}.inodes = 32", None, {"files": {setting: {"inodes": 64}}})
limit("output", {"limits": {"output": "1K"}}, "print('x' * 1500)", "output_limit", None,
      ("supervisor",), "limits.output = 1K", ["--output", "2K"], {"limits": {"output": "2K"}})
limit("time", {"limits": {"wall": "2s"}}, "import time\ntime.sleep(2.5)", "timeout", None,
      ("supervisor",), "limits.wall = 2s", ["--timeout", "4s"], {"limits": {"wall": "4s"}})
limit("CPU time", {"limits": {"cpu_time": "500ms"}}, "import time\nwhile time.process_time() < 0.6:\n    pass", "cpu_limit", None,
      ("supervisor",), "limits.cpu_time = 500ms", ["--cpu-time", "1s"], {"limits": {"cpu_time": "1s"}})
