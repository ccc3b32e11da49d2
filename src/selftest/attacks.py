"""What `smoljail selftest` tries inside a jail: attacks by name, one line of answer each.

Called with the name of a group and NAME=VALUE words (numbers of system calls, names of canaries). Prints
"ID<tab>OUTCOME<tab>DETAIL": the outcome is the name of an errno, or a word; several outcomes are sorted and joined
by spaces. Nothing here would harm a host if the jail did not hold: signals are number 0, writes go to canaries.
"""
import ctypes
import errno
import mmap
import os
import platform
import resource
import signal
import socket
import struct
import sys
import time

GIVEN = dict(word.split("=", 1) for word in sys.argv[2:])
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.syscall.restype = ctypes.c_long
X86 = platform.machine() == "x86_64"
GROUPS = {}
AT_FDCWD = -100
ABSENT = "smoljail-selftest-none"    # instead of a canary that the host has no place for
FOLDERS = (os.getcwd(), os.environ.get("TMPDIR", "/tmp"), "/dev/shm")


def attack(name, group="main"):
    def keep(run):
        GROUPS.setdefault(group, []).append((name, run))
        return run
    return keep


def name_of(error):
    return errno.errorcode.get(error, f"errno-{error}")


def raw(call, *args):
    """Result of a system call, -errno on failure; call is a name or a number."""
    number = call if isinstance(call, int) else int(GIVEN["nr." + call])
    values = [a if isinstance(a, (bytes, ctypes.Array, ctypes.Structure)) else ctypes.c_long(a) for a in args]
    ctypes.set_errno(0)
    result = LIBC.syscall(ctypes.c_long(number), *values)
    return -ctypes.get_errno() if result == -1 else result


def answer(result):
    return name_of(-result) if result < 0 else "ok"


def call(name, *args):
    return answer(raw(name, *args))


def tried(run, *args, **named):
    """ok, or the name of the errno."""
    try:
        result = run(*args, **named)
    except OSError as e:
        return name_of(e.errno)
    if isinstance(result, int) and run is os.open:
        os.close(result)
    return "ok"


def opened(path, flags=os.O_RDONLY):
    return tried(os.open, path, flags | os.O_NONBLOCK | os.O_NOCTTY)


def each(**outcomes):
    """Several attempts that should end alike: the outcomes, and where they differ one example of each."""
    first = {v: k for k, v in reversed(outcomes.items())}
    return " ".join(sorted(first)), ", ".join(f"{k}: {v}" for v, k in sorted(first.items()) if len(first) > 1)


def mounts():
    """(mount point, options of the mount, file system, options of the file system) of each mount."""
    with open("/proc/self/mountinfo") as f:
        for line in f:
            left, right = line.split(" - ")
            yield left.split()[4], left.split()[5].split(","), right.split()[0], right.split()[2]


def in_child(run, *args):
    """The outcome of an attempt that would replace this process: told through a pipe that closes at exec."""
    try:
        reader, writer = os.pipe()
        pid = os.fork()
    except OSError as e:
        return name_of(e.errno)
    if pid == 0:
        os.write(writer, tried(run, *args).encode())
        os._exit(0)
    os.close(writer)
    said = os.read(reader, 64).decode()
    os.close(reader)
    os.waitpid(pid, 0)
    return said or "ran"


# ---- files ------------------------------------------------------------------

@attack("file.read")
def _():
    return opened(GIVEN["file"])


@attack("file.write")
def _():
    return opened(GIVEN["file"], os.O_WRONLY)


@attack("file.climb")
def _():
    up = "../" * 64 + GIVEN["file"][1:]
    return each(cwd=opened(up), root=opened("/proc/self/root/" + up), fd=opened("/proc/self/cwd/" + up))


@attack("file.secrets")
def _():
    return each(**{p: opened(p) for p in ("/etc/shadow", "/etc/sudoers", "/root", "/home", "/var/run/docker.sock",
                                          "/run", "/boot", "/var/lib", "/sys/kernel/security")})


@attack("file.readonly")
def _():
    return each(**{p: opened(p + "/selftest", os.O_WRONLY | os.O_CREAT) for p in ("/", "/usr", "/etc", "/dev", "/usr/bin")})


@attack("file.handle")
def _():
    buf = ctypes.create_string_buffer(struct.pack("Ii", 128, 0), 136)
    mount_id = ctypes.create_string_buffer(8)
    return each(name=call("name_to_handle_at", AT_FDCWD, b"/usr", buf, mount_id, 0),
                open=call("open_by_handle_at", AT_FDCWD, buf, 0))


@attack("file.cwd")
def _():
    return each(getcwd=os.getcwd(), link=os.readlink("/proc/self/cwd"))


@attack("file.chroot")
def _():
    return call("chroot", b"/usr")


@attack("file.sockets")
def _():
    found = []
    for top, folders, files in os.walk("/"):
        if top.startswith("/proc"):
            folders.clear()
            continue
        found += [os.path.join(top, f) for f in files if os.stat(os.path.join(top, f), follow_symlinks=False).st_mode & 0o170000 == 0o140000]
    return "none" if not found else "found", " ".join(found)


# ---- descriptors ----------------------------------------------------------------

@attack("fd.leak")
def _():
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    found = []
    for fd in range(min(limit, 1 << 16)):
        try:
            os.fstat(fd)
        except OSError:
            continue
        found.append(fd)
    return " ".join(map(str, found)), ", ".join(os.readlink(f"/proc/self/fd/{fd}") for fd in found)


@attack("fd.climb")
def _():
    got = {n: tried(os.open, "../../" + GIVEN["file"], os.O_RDONLY, dir_fd=n) for n in range(1024)}
    return each(**{f"fd {n}": e for n, e in got.items() if e != "EBADF"})


@attack("fd.streams")
def _():
    kinds = {0o010000: "pipe", 0o020000: "device", 0o100000: "file", 0o140000: "socket"}
    got = each(**{f"fd {n}": kinds.get(os.fstat(n).st_mode & 0o170000, "other") for n in (0, 1, 2)})
    tried(os.open, "/proc/self/fd/1", os.O_RDWR | os.O_TRUNC | os.O_NONBLOCK)
    return got


@attack("exe.self")
def _():
    return opened("/proc/self/exe", os.O_WRONLY)


@attack("exe.init")
def _():
    return opened("/proc/1/exe", os.O_WRONLY)


# ---- mounts and /dev ---------------------------------------------------------------

@attack("mount.flags")
def _():
    bad = []
    for where, flags, kind, _super in mounts():
        if "nosuid" not in flags:
            bad.append(f"{where} not nosuid")
        if "nodev" not in flags and not where.startswith("/dev/"):
            bad.append(f"{where} not nodev")
        if "ro" not in flags and kind != "tmpfs" and kind != "proc" and not where.startswith("/dev/"):
            bad.append(f"{where} writable")
    return "good" if not bad else "bad", ", ".join(bad)


@attack("mount.noexec")
def _():
    bad = [where for where, flags, _kind, _super in mounts() if "ro" not in flags and "noexec" not in flags]
    return "noexec" if not bad else "exec", ", ".join(bad)


@attack("mount.mount")
def _():
    return each(tmpfs=call("mount", b"none", b"/tmp", b"tmpfs", 0, 0), cgroup=call("mount", b"none", b"/tmp", b"cgroup", 0, 0),
                remount=call("mount", b"none", b"/usr", 0, 0x1020, 0), bind=call("mount", b"/usr", b"/tmp", 0, 0x1000, 0))


@attack("mount.umount")
def _():
    return each(umount=call("umount2", b"/proc", 2), pivot=call("pivot_root", b"/tmp", b"/tmp"))


@attack("mount.new_api")
def _():
    return each(fsopen=call("fsopen", b"tmpfs", 0), fsconfig=call("fsconfig", -1, 0, 0, 0, 0), fsmount=call("fsmount", -1, 0, 0),
                fspick=call("fspick", AT_FDCWD, b"/tmp", 0), open_tree=call("open_tree", AT_FDCWD, b"/", 1),
                move_mount=call("move_mount", AT_FDCWD, b"/usr", AT_FDCWD, b"/tmp", 0), open_tree_attr=call(467, AT_FDCWD, b"/", 1, 0, 0),
                mount_setattr=call("mount_setattr", AT_FDCWD, b"/usr", 0, 0, 0))


@attack("mount.list")
def _():
    return each(statmount=call(457, 0, 0, 0, 0), listmount=call(458, 0, 0, 0, 0))


@attack("mount.cgroup")
def _():
    found = [where for where, _f, kind, _s in mounts() if kind.startswith("cgroup")]
    return "none" if not found else "found", ", ".join(found)


@attack("dev.nodes")
def _():
    return " ".join(sorted(os.listdir("/dev")))


@attack("dev.change")
def _():
    return each(unlink=tried(os.unlink, "/dev/null"), rename=tried(os.rename, "/dev/null", "/dev/zero2"))


@attack("dev.mknod")
def _():
    return each(char=call("mknodat", AT_FDCWD, b"/tmp/selftest-null", 0o020666, 0x103),
                block=call("mknodat", AT_FDCWD, b"/tmp/selftest-disk", 0o060666, 0x800))


# ---- /proc and /sys -------------------------------------------------------------------

@attack("proc.others")
def _():
    pids = sorted(int(p) for p in os.listdir("/proc") if p.isdigit())
    return "own" if pids == [os.getpid()] else "others", " ".join(map(str, pids[:40]))


@attack("proc.init")
def _():
    return each(**{f: opened("/proc/1/" + f) for f in ("environ", "mem", "root", "cwd", "fd", "maps", "cmdline", "status")})


@attack("proc.canary")
def _():
    return each(**{f: opened(f"/proc/{GIVEN['pid']}/{f}") for f in ("environ", "root", "cwd", "status")})


@attack("proc.host_files")
def _():
    return each(**{f: opened("/proc/" + f) for f in ("kcore", "kallsyms", "sysrq-trigger", "keys", "timer_list", "sched_debug",
                                                   "config.gz", "kmsg", "interrupts", "acpi", "scsi", "bus", "driver")})


@attack("proc.sysctl")
def _():
    return each(**{f: opened(f, os.O_WRONLY) for f in (
        "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/fs/binfmt_misc/register",
        "/sys/kernel/uevent_helper", "/proc/sys/user/max_user_namespaces", "/proc/sys/vm/drop_caches")})


@attack("proc.sys_absent")
def _():
    return each(**{f: opened(f) for f in ("/sys", "/sys/kernel", "/sys/firmware", "/sys/class/powercap", "/proc/sys")})


# ---- control groups ---------------------------------------------------------------------

@attack("cgroup.path")
def _():
    with open("/proc/self/cgroup") as f:
        paths = {line.rstrip("\n").split(":", 2)[2] for line in f}
    return " ".join(sorted(paths))


@attack("cgroup.raise")
def _():
    return each(**{f: opened("/sys/fs/cgroup/" + f, os.O_WRONLY) for f in (
        "memory.max", "cgroup.procs", "pids.max", "memory/memory.limit_in_bytes", "release_agent", "memory/release_agent")})


# ---- namespaces ---------------------------------------------------------------------------

NAMESPACES = {"mnt": 0x20000, "cgroup": 0x2000000, "uts": 0x4000000, "ipc": 0x8000000, "user": 0x10000000,
              "pid": 0x20000000, "net": 0x40000000}


@attack("ns.unshare")
def _():
    return each(**{k: call("unshare", v) for k, v in NAMESPACES.items()}, time=call("unshare", 0x80))


@attack("ns.clone")
def _():
    def clone(flag):
        result = raw("clone", flag | signal.SIGCHLD, 0, 0, 0, 0)
        if result == 0:
            os._exit(0)
        if result > 0:
            os.waitpid(result, 0)
        return answer(result)
    return each(**{k: clone(v) for k, v in NAMESPACES.items()})


@attack("ns.clone3")
def _():
    return call("clone3", 0, 0)


@attack("ns.join")
def _():
    def join(kind):
        fd = os.open("/proc/self/ns/" + kind, os.O_RDONLY)
        try:
            return call("setns", fd, 0)
        finally:
            os.close(fd)
    return each(**{k: join(k) for k in ("mnt", "net", "user", "uts", "ipc", "pid", "cgroup")})


@attack("ns.parent")
def _():
    def ask(kind):
        fd = os.open("/proc/self/ns/" + kind, os.O_RDONLY)
        try:
            return call("ioctl", fd, 0xb702, 0)
        finally:
            os.close(fd)
    return each(user=ask("user"), pid=ask("pid"))


@attack("ns.hostname")
def _():
    return os.uname().nodename


@attack("ns.sethostname")
def _():
    return each(host=call("sethostname", b"selftest", 8), domain=call("setdomainname", b"selftest", 8))


# ---- rights -----------------------------------------------------------------------------------

@attack("caps.raise")
def _():
    head = ctypes.create_string_buffer(struct.pack("Ii", 0x20080522, 0), 8)
    data = ctypes.create_string_buffer(struct.pack("6I", 1 << 21, 1 << 21, 0, 0, 0, 0), 24)
    return call("capset", head, data)


@attack("caps.bounding")
def _():
    held = [c for c in range(64) if raw("prctl", 23, c, 0, 0, 0) == 1]
    return "none" if not held else "held", " ".join(map(str, held))


@attack("caps.securebits")
def _():
    result = raw("prctl", 27, 0, 0, 0, 0)
    return name_of(-result) if result < 0 else f"{result:#x}"


@attack("ids.root")
def _():
    return each(uid=call("setresuid", 0, 0, 0), gid=call("setresgid", 0, 0, 0))


@attack("ids.groups")
def _():
    groups = ctypes.create_string_buffer(struct.pack("I", 0), 4)
    return call("setgroups", 1, groups)


@attack("ids.inside")
def _():
    return " ".join(map(str, (os.getuid(), os.geteuid(), os.getgid(), os.getegid())))


@attack("privs.no_new_unset")
def _():
    return call("prctl", 38, 0, 0, 0, 0)


# ---- the kernel's odd corners ---------------------------------------------------------------

@attack("kernel.io_uring")
def _():
    return each(setup=call("io_uring_setup", 1, 0), enter=call("io_uring_enter", -1, 0, 0, 0, 0, 0),
                register=call("io_uring_register", -1, 0, 0, 0))


@attack("kernel.bpf")
def _():
    return each(bpf=call("bpf", 5, 0, 0), perf=call("perf_event_open", 0, 0, -1, -1, 0))


@attack("kernel.userfaultfd")
def _():
    return call("userfaultfd", 1)


@attack("kernel.modules")
def _():
    return each(init=call("init_module", 0, 0, b""), finit=call("finit_module", -1, b"", 0),
                delete=call("delete_module", b"selftest", 0o4000), kexec=call("kexec_load", 0, 0, 0, 0),
                kexec_file=call("kexec_file_load", -1, -1, 0, 0, 0))


@attack("kernel.admin")
def _():
    pairs = {"quotactl": (0, 0, 0, 0), "swapon": (b"/selftest", 0), "swapoff": (b"/selftest",), "reboot": (0xdead, 0, 0, 0),
             "acct": (b"/selftest",), "syslog": (3, 0, 0), "settimeofday": (0, 0), "clock_settime": (0, 0),
             "clock_adjtime": (0, 0), "adjtimex": (0,), "fanotify_init": (0, 0), "vhangup": ()}
    if X86:
        pairs.update(iopl=(3,), ioperm=(0x80, 1, 1))
    return each(**{k: call(k, *v) for k, v in pairs.items()})


@attack("kernel.ptrace")
def _():
    return each(attach=call("ptrace", 16, 1, 0, 0), seize=call("ptrace", 0x4206, 1, 0, 0))


@attack("kernel.other_memory")
def _():
    return each(readv=call("process_vm_readv", 1, 0, 0, 0, 0, 0), writev=call("process_vm_writev", 1, 0, 0, 0, 0, 0),
                getfd=call("pidfd_getfd", -1, 0, 0), kcmp=call("kcmp", 1, 1, 0, 0, 0), madvise=call("process_madvise", -1, 0, 0, 0, 0))


@attack("kernel.splice")
def _():
    return each(splice=call("splice", -1, 0, -1, 0, 1, 0), vmsplice=call("vmsplice", -1, 0, 0, 0), tee=call("tee", -1, -1, 1, 0))


@attack("kernel.personality")
def _():
    got = each(read_exec=call("personality", 0x400000), no_random=call("personality", 0x40000))
    raw("personality", 0)
    return got


@attack("kernel.listener")
def _():
    return call("seccomp", 1, 8, 0)


@attack("kernel.new_calls")
def _():
    known = (452, 467)      # fchmodat2 is an ordinary call, open_tree_attr is refused by name
    return each(**{str(nr): call(nr, -1, -1, -1, -1, -1, -1) for nr in range(451, 600) if nr not in known})


@attack("kernel.prctl")
def _():
    return each(set_mm=call("prctl", 35, 0, 0, 0, 0), tsc=call("prctl", 26, 99, 0, 0, 0), sched_core=call("prctl", 62, 1, 1, 3, 0))


@attack("kernel.x32", "x32")
def _():
    return call(0x40000000 | int(GIVEN["nr.getpid"]))


@attack("kernel.i386", "foreign")
def _():
    code = b"\x53\xb8\x14\x00\x00\x00\xcd\x80\x5b\xc3"    # getpid() by the 32-bit entry
    area = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    area.write(code)
    run = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(area)))
    return "reached" if run() > 0 else "refused"


@attack("kernel.ldt", "ldt")
def _():
    return call("modify_ldt", 0, 0, 0)


# ---- keys, locks, System V and POSIX objects ----------------------------------------------------

@attack("key.canary")
def _():
    buf = ctypes.create_string_buffer(64)
    return call("keyctl", 11, int(GIVEN["key"]), buf, 64, 0)


@attack("key.make")
def _():
    return each(add=call("add_key", b"user", b"smoljail-selftest", b"x", 1, -3), request=call("request_key", b"user", b"smoljail-selftest", 0, -3),
                join=call("keyctl", 1, 0, 0, 0, 0))


@attack("ipc.sysv")
def _():
    key = int(GIVEN["sysv"])
    return each(shm=call("shmget", key, 0, 0), msg=call("msgget", key, 0), sem=call("semget", key, 0, 0))


@attack("ipc.posix_queue")
def _():
    return call("mq_open", (GIVEN["queue"] or ABSENT).encode(), 0, 0, 0)


@attack("ipc.posix_shm")
def _():
    return opened("/dev/shm/" + (GIVEN["shm"] or ABSENT))


@attack("ipc.lease")
def _():
    fd = os.open(sys.executable or "/usr/bin/python3", os.O_RDONLY)
    try:
        return each(lease=call("fcntl", fd, 1024, 0), notify=call("fcntl", fd, 1026, 1))
    finally:
        os.close(fd)


# ---- signals ----------------------------------------------------------------------------------

@attack("signal.canary")
def _():
    return tried(os.kill, int(GIVEN["pid"]), 0)


@attack("signal.init")
def _():
    return tried(os.kill, 1, 0)


@attack("signal.all")
def _():
    return tried(os.kill, -1, 0)


# ---- terminal -----------------------------------------------------------------------------------

@attack("tty.type")
def _():
    x = ctypes.create_string_buffer(b"x", 1)
    return each(plain=call("ioctl", 0, 0x5412, x), high_bits=call("ioctl", 0, 0x5412 | 1 << 32, x))


@attack("tty.console")
def _():
    two = ctypes.create_string_buffer(b"\x02", 1)
    return each(paste=call("ioctl", 0, 0x541c, two), take=call("ioctl", 0, 0x541d, 0), discipline=call("ioctl", 0, 0x5423, two))


@attack("tty.open")
def _():
    return each(tty=opened("/dev/tty", os.O_RDWR), ptmx=opened("/dev/ptmx", os.O_RDWR), console=opened("/dev/console", os.O_RDWR))


@attack("tty.session")
def _():
    with open("/proc/self/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return f"session {fields[3]} terminal {fields[4]}"


# ---- programs -----------------------------------------------------------------------------------

def writable():
    return [d for d in FOLDERS if opened(d + "/selftest-can-write", os.O_WRONLY | os.O_CREAT) == "ok"]


def written_program(path):
    """A file that a program may run elsewhere: text for the shell."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o700)
    os.write(fd, b"#!/bin/sh\nexit 0\n".ljust(4096, b"\n"))
    os.close(fd)
    return path


@attack("exec.written")
def _():
    return each(**{d: in_child(os.execv, written_program(d + "/selftest"), ["selftest"]) for d in writable()})


@attack("exec.map")
def _():
    def map_it(folder):
        fd = os.open(written_program(folder + "/selftest"), os.O_RDWR)
        try:
            mmap.mmap(fd, 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC).close()
        finally:
            os.close(fd)
    return each(**{d: tried(map_it, d) for d in writable()})


@attack("exec.memory")
def _():
    fd = raw("memfd_create", b"selftest", 0)
    if fd < 0:
        return answer(fd)
    os.write(fd, b"#!/bin/sh\nexit 0\n")
    return in_child(os.execv, f"/proc/self/fd/{fd}", ["selftest"])


@attack("exec.at_empty_path")
def _():
    return call("execveat", 0, b"", 0, 0, 0x1000 | 0x100000)


# ---- network --------------------------------------------------------------------------------------

def make(family, kind, protocol=0):
    return tried(lambda: socket.socket(family, kind, protocol).close())


@attack("net.families")
def _():
    kinds = (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET)
    made = [f for f in range(47) if any(make(f, k) == "ok" for k in kinds)]
    return " ".join(map(str, made)) or "none"


@attack("net.kernel_crypto")
def _():
    return make(38, socket.SOCK_SEQPACKET)


@attack("net.vsock")
def _():
    return make(40, socket.SOCK_STREAM)


@attack("net.packet")
def _():
    return each(packet=make(17, socket.SOCK_RAW), raw=make(socket.AF_INET, socket.SOCK_RAW, 1))


@attack("net.netfilter")
def _():
    return make(16, socket.SOCK_RAW, 12)


def connected(family, address):
    def go():
        with socket.socket(family, socket.SOCK_STREAM) as s:
            s.settimeout(3)
            s.connect(address)
    return tried(go)


@attack("net.outside")
def _():
    def datagram():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.sendto(b"selftest", ("192.0.2.1", 53))
    return each(tcp=connected(socket.AF_INET, ("192.0.2.1", 53)), metadata=connected(socket.AF_INET, ("169.254.169.254", 80)),
                tcp6=connected(socket.AF_INET6, ("2001:db8::1", 53)), udp=tried(datagram))


@attack("net.host_port")
def _():
    port = int(GIVEN["port"])
    return each(v4=connected(socket.AF_INET, ("127.0.0.1", port)), v6=connected(socket.AF_INET6, ("::1", port)),
                mapped=connected(socket.AF_INET6, ("::ffff:127.0.0.1", port)))


@attack("net.abstract")
def _():
    return connected(socket.AF_UNIX, "\0" + GIVEN["abstract"])


@attack("net.socket_file")
def _():
    return connected(socket.AF_UNIX, GIVEN["socket"])


@attack("net.interfaces")
def _():
    with open("/proc/self/net/dev") as f:
        return " ".join(sorted(line.split(":")[0].strip() for line in f if ":" in line))


# ---- limits and scheduling ------------------------------------------------------------------------------

@attack("limit.raise")
def _():
    def up(kind):
        hard = resource.getrlimit(kind)[1]
        if hard == resource.RLIM_INFINITY:
            return "unlimited"
        pair = ctypes.create_string_buffer(struct.pack("QQ", hard + 1, hard + 1), 16)
        return call("prlimit64", 0, kind, pair, 0)
    return each(**{k: up(getattr(resource, "RLIMIT_" + k)) for k in ("CORE", "MEMLOCK", "NOFILE", "NICE", "RTPRIO", "STACK", "MSGQUEUE")})


@attack("limit.of_init")
def _():
    old = ctypes.create_string_buffer(16)
    return call("prlimit64", 1, 7, 0, old)


@attack("limit.core")
def _():
    return " ".join(map(str, resource.getrlimit(resource.RLIMIT_CORE)))


@attack("limit.locked")
def _():
    area = mmap.mmap(-1, 4 << 20)
    address = ctypes.addressof(ctypes.c_char.from_buffer(area))
    return call("mlock", address, 4 << 20)


@attack("sched.realtime")
def _():
    one = ctypes.create_string_buffer(struct.pack("i", 1), 4)
    deadline = ctypes.create_string_buffer(struct.pack("IIQiIQQQ", 48, 6, 0, 0, 0, 10 ** 6, 10 ** 7, 10 ** 7), 48)
    return each(fifo=call("sched_setscheduler", 0, 1, one), deadline=call("sched_setattr", 0, deadline, 0),
                ioprio=call("ioprio_set", 1, 0, 1 << 13))


@attack("sched.nice")
def _():
    return call("setpriority", 0, 0, -5)


# ---- what a process inherits ---------------------------------------------------------------------------

@attack("env.clean")
def _():
    known = {"PATH", "HOME", "USER", "LOGNAME", "LANG", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS",
             "NUMEXPR_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "SMOLJAIL_SELFTEST", "LC_CTYPE",
             "PYTHONTZPATH", "SSL_CERT_FILE", "TERMINFO", "TMPDIR", "TZDIR"}       # the last line: without mounts
    more = sorted(set(os.environ) - known)
    return "clean" if not more else "more", " ".join(more)


@attack("env.secret")
def _():
    secret = GIVEN["secret"][::-1]
    found = [name for name, value in os.environ.items() if secret in value]
    pids = os.listdir("/proc") if opened("/proc") == "ok" else []
    for pid in [p for p in pids if p.isdigit()] + ["1"]:
        for name in ("environ", "cmdline"):
            try:
                with open(f"/proc/{pid}/{name}", "rb") as f:
                    if secret.encode() in f.read():
                        found.append(f"/proc/{pid}/{name}")
            except OSError:
                pass
    return "absent" if not found else "found", " ".join(found)


@attack("python.path")
def _():
    found = [p for p in sys.path if p.startswith(os.path.dirname(GIVEN["file"]))]
    return "absent" if not found else "found", " ".join(found)


@attack("python.startup")
def _():
    seen = [m for m in ("sitecustomize", "usercustomize", "smoljail_selftest_planted") if m in sys.modules]
    return "none" if not seen else "loaded", " ".join(seen)


# ---- jails of their own: what ends or fills a jail -----------------------------------------------------------

@attack("limit.memory", "memory")
def _():
    kept = []
    for _ in range(512):
        area = mmap.mmap(-1, 1 << 20)
        for at in range(0, 1 << 20, 4096):
            area[at] = 1
        kept.append(area)
    return "survived", f"{len(kept)} MiB"


@attack("limit.processes", "processes")
def _():
    children = []
    outcome = "ok"
    while len(children) < 200 and outcome == "ok":
        try:
            pid = os.fork()
        except OSError as e:
            outcome = name_of(e.errno)
            break
        if pid == 0:
            time.sleep(20)
            os._exit(0)
        children.append(pid)
    for pid in children:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return outcome, f"{len(children)} processes"


def fill(folder, size, many):
    fd, outcome = -1, "ok"
    try:
        for n in range(many):
            fd = os.open(f"{folder}/fill-{n}", os.O_WRONLY | os.O_CREAT, 0o600)
            written = os.write(fd, b"\0" * size)
            os.close(fd)
            fd = -1
            if written < size:
                return "ENOSPC"
    except OSError as e:
        outcome = name_of(e.errno)
    if fd >= 0:
        os.close(fd)
    return outcome


@attack("limit.file_size", "small")
def _():
    fd = os.open("sparse", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        return tried(os.ftruncate, fd, 1 << 40)
    finally:
        os.close(fd)


@attack("limit.disk", "small")
def _():
    return each(**{d: fill(d, 1 << 20, 8) for d in ("/work", "/dev/shm")})


@attack("limit.inodes", "small")
def _():
    return fill("/tmp", 0, 300)


@attack("limit.open_files", "small")
def _():
    got = 0
    try:
        for _ in range(4096):
            os.open("/dev/null", os.O_RDONLY)
            got += 1
    except OSError as e:
        return name_of(e.errno), f"{got} descriptors"
    return "ok"


@attack("limit.output", "flood")
def _():
    for _ in range(64):
        os.write(2, b"\0" * 65536)
    return "survived"


def ignore_all():
    for number in range(1, 65):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass


@attack("limit.wall", "wall")
def _():
    ignore_all()
    end = time.monotonic() + 20
    while time.monotonic() < end:
        time.sleep(0.5)
    return "survived"


@attack("limit.cpu", "cpu")
def _():
    ignore_all()
    end = time.monotonic() + 20
    while time.monotonic() < end:
        pass
    return "survived"


@attack("limit.stopped", "stopped")
def _():
    os.kill(os.getpid(), signal.SIGSTOP)
    return "survived"


@attack("core.none", "crash")
def _():
    os.kill(os.getpid(), signal.SIGSEGV)
    time.sleep(5)
    return "survived"


@attack("process.orphan", "orphan")
def _():
    try:
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                ignore_all()
                time.sleep(20)
            os._exit(0)
    except OSError as e:
        return name_of(e.errno)
    time.sleep(0.1)
    return "left"


@attack("waiting", "wait")
def _():
    os.write(1, b"waiting\tready\t\n")
    os.read(0, 1)
    return "done"


def main():
    for name, run in GROUPS.get(sys.argv[1], ()):
        try:
            got = run()
        except Exception as e:                  # an attack that could not even be tried is an answer of its own
            got = "untried", f"{type(e).__name__}: {e}"
        outcome, detail = got if isinstance(got, tuple) else (got, "")
        os.write(1, f"{name}\t{outcome}\t{detail}\n".encode("utf-8", "replace"))


main()
