"""Build the Python root out of this system's own packages. Started by rootfs/build.

Runs as: whoever builds; needs no privilege
Trusts: the system's packages and the files beside this one
Never: downloads, writes outside --out, or copies a set-user-id bit
"""
import argparse
import ctypes
import fcntl
import fnmatch
import hashlib
import os
import py_compile
import re
import shutil
import signal
import ssl
import struct
import subprocess
import sys
import sysconfig
import tempfile
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
NAME = "python"
VERSION = "python%d.%d" % sys.version_info[:2]
STDLIB = "usr/%s/%s" % (sys.platlibdir, VERSION)
SESSION_PACKAGE = "smoljail_guest"
TOP_LINKS = {"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib64"}
MOUNT_POINTS = ("dev", "packages", "proc", "project", "tmp", "work")
COMPILE_PROCESSES = 2           # fixed: what one process compiles decides the bytes it writes
AT_FDCWD, RENAME_EXCHANGE, PT_INTERP = -100, 2, 3

# Not needed by anything in the root itself: binary wheels expect them of the system.
WHEEL_LIBRARIES = ("libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libutil.so.1",
                   "libresolv.so.2", "libgcc_s.so.1", "libstdc++.so.6")
WHEEL_LIBRARIES_IF_THERE = ("libz.so.1", "libexpat.so.1", "libgomp.so.1", "libatomic.so.1")
ZONEINFO_DROP = ("right", "posix", "localtime", "posixrules")
TERMINALS = ("ansi", "dumb", "linux", "rxvt", "rxvt-unicode-256color", "screen", "screen-256color", "tmux",
             "tmux-256color", "vt100", "vt220", "xterm", "xterm-256color", "xterm-color")


class Trouble(Exception):
    """What failed, and how to mend it."""


class Tree:
    """A folder under construction. Paths are relative to it."""

    def __init__(self, top):
        self.top = top

    def path(self, dest):
        return os.path.join(self.top, dest)

    def folder(self, dest):
        os.makedirs(self.path(dest), exist_ok=True)

    def link(self, target, dest):
        self.folder(os.path.dirname(dest))
        os.symlink(target, self.path(dest))

    def file(self, source, dest, mode=0o644):
        self.folder(os.path.dirname(dest))
        shutil.copyfile(source, self.path(dest))
        os.chmod(self.path(dest), mode)

    def text(self, dest, text):
        self.folder(os.path.dirname(dest))
        with open(self.path(dest), "w", encoding="utf-8") as f:
            f.write(text)

    def copy(self, source, dest, drop=(), below=""):
        """Copy a folder. A link that stays within its folder is kept, any other becomes what it leads to."""
        for entry in sorted(os.scandir(source), key=lambda e: e.name):
            name = below + entry.name
            if any(fnmatch.fnmatchcase(name, pattern) for pattern in drop):
                continue
            if entry.is_symlink() and "/" not in os.readlink(entry.path):
                self.link(os.readlink(entry.path), dest + "/" + entry.name)
            elif entry.is_dir():
                self.copy(entry.path, dest + "/" + entry.name, drop, name + "/")
            elif entry.is_file():
                self.file(entry.path, dest + "/" + entry.name)

    def walk(self):
        """Every path in it, "." included, in the order of their bytes."""
        found = ["."]
        for base, dirs, files in os.walk(self.top):
            found += [os.path.relpath(os.path.join(base, name), self.top) for name in dirs + files]
        return sorted(found, key=os.fsencode)


def read_words(name):
    """Words of a data file beside this one; '#' starts a comment."""
    with open(os.path.join(HERE, name), encoding="utf-8") as f:
        return [word for line in f for word in line.partition("#")[0].split()]


def elf_interpreter(path):
    """The dynamic loader that a 64-bit ELF file names, or None."""
    with open(path, "rb") as f:
        head = f.read(64)
        if head[:5] != b"\x7fELF\x02":
            raise Trouble("\"%s\" is not a 64-bit ELF program" % path)
        table, = struct.unpack_from("<Q", head, 32)
        size, count = struct.unpack_from("<HH", head, 54)
        for i in range(count):
            f.seek(table + i * size)
            part = struct.unpack("<IIQQQQQQ", f.read(56))
            if part[0] == PT_INTERP:
                f.seek(part[2])
                return os.fsdecode(f.read(part[5]).rstrip(b"\0"))
    return None


def find_program(name, package):
    path = shutil.which(name)
    if not path:
        raise Trouble("no %s on this system: install the package %s" % (name, package))
    return path


def needed_libraries(binaries, beside):
    """Name -> path of every shared library that the files need, their libraries included; `beside` is looked at first."""
    found = {}
    env = {**os.environ, "LD_LIBRARY_PATH": beside}
    for line in subprocess.run(["ldd", *binaries], capture_output=True, text=True, env=env).stdout.splitlines():
        name, arrow, where = line.strip().partition(" => ")
        if arrow and where.startswith("not found"):
            raise Trouble("the shared library %s is missing on this system: install its package" % name)
        if arrow and where.startswith("/"):
            found[name] = where.rpartition(" (")[0]
    return found


def system_library(name, folder):
    """Where the system keeps a library: beside libc, or where the C compiler looks."""
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        answer = subprocess.run(["gcc", "-print-file-name=" + name], capture_output=True, text=True).stdout.strip()
        path = answer if os.path.isabs(answer) else path
    return path if os.path.exists(path) else None


def add_libraries(tree, guest):
    dynload = tree.path(STDLIB + "/lib-dynload")
    modules = sorted(os.path.join(dynload, name) for name in os.listdir(dynload))
    libraries = needed_libraries([guest] + modules, os.path.dirname(os.path.abspath(guest)))
    folder = os.path.dirname(os.path.realpath(libraries["libc.so.6"]))
    for name in WHEEL_LIBRARIES + WHEEL_LIBRARIES_IF_THERE:
        path = libraries.get(name) or system_library(name, folder)
        if not path and name in WHEEL_LIBRARIES:
            raise Trouble("the shared library %s, which binary wheels need, is missing on this system" % name)
        if path:
            libraries[name] = path
    for name, path in sorted(libraries.items()):
        tree.file(os.path.realpath(path), os.path.join(folder.lstrip("/"), name))
    return folder


def add_loader(tree, guest, folder):
    """The loader under the very name that the guest has been linked with."""
    name = elf_interpreter(guest)
    if not name:
        raise Trouble("the guest \"%s\" is statically linked and could not load extension modules" % guest)
    inside = os.path.join(folder.lstrip("/"), os.path.basename(name))
    tree.file(os.path.realpath(name), inside, 0o755)
    named = name.lstrip("/") if name.startswith("/usr/") else "usr" + name
    tree.folder("usr/lib64")
    if named != inside:
        tree.link(os.path.relpath(inside, os.path.dirname(named)), named)


def add_programs(tree, guest, busybox):
    tree.file(guest, "usr/bin/python3", 0o755)
    for name in ("python", VERSION):
        tree.link("python3", "usr/bin/" + name)
    if elf_interpreter(busybox):
        raise Trouble("\"%s\" is dynamically linked: install the package busybox-static" % busybox)
    offered = subprocess.run([busybox, "--list"], capture_output=True, text=True, check=True).stdout.split()
    tree.file(busybox, "usr/bin/busybox", 0o755)
    for name in sorted(set(read_words("applets")) & set(offered)):
        tree.link("busybox", "usr/bin/" + name)
    # ctypes.util.find_library() asks it which libraries there are.
    tree.file(find_program("ldconfig", "libc-bin"), "usr/bin/ldconfig", 0o755)
    tree.link("bin", "usr/sbin")


def add_stdlib(tree):
    source = sysconfig.get_path("stdlib")
    tree.copy(source, STDLIB, read_words("stdlib.drop"))
    dynload = sysconfig.get_config_var("DESTSHARED")
    if not os.path.isdir(tree.path(STDLIB + "/lib-dynload")):
        raise Trouble("no extension modules in \"%s\": is the interpreter installed completely?" % dynload)


def add_session_package(tree):
    """The part of a session that is written in Python, beside the library that it may not take from anywhere else."""
    source = os.path.join(HERE, "..", "src")
    files = [os.path.join(source, "guest/py", name) for name in sorted(os.listdir(os.path.join(source, "guest/py")))
             if name.endswith(".py")]
    for path in files + [os.path.join(source, "python/smoljail/_values.py")]:
        tree.file(path, "%s/%s/%s" % (STDLIB, SESSION_PACKAGE, os.path.basename(path)))


def add_data(tree):
    zones = "/usr/share/zoneinfo"
    if not os.path.isfile(zones + "/Etc/UTC"):
        raise Trouble("no time zones in %s: install the package tzdata" % zones)
    tree.copy(zones, zones.lstrip("/"), ZONEINFO_DROP)
    if os.path.isdir("/usr/lib/locale/C.utf8"):
        # The name in LANG is tried first, the other spelling only after it failed.
        tree.copy("/usr/lib/locale/C.utf8", "usr/lib/locale/C.UTF-8")
        tree.link("C.UTF-8", "usr/lib/locale/C.utf8")
    for base in ("/usr/share/terminfo", "/usr/lib/terminfo", "/lib/terminfo"):
        for name in TERMINALS:
            entry = name[0] + "/" + name
            if os.path.isfile(base + "/" + entry) and not os.path.exists(tree.path("usr/share/terminfo/" + entry)):
                tree.file(base + "/" + entry, "usr/share/terminfo/" + entry)


def add_certificates(tree):
    """The packaged authorities, by subject hash for OpenSSL and in one file for others. This host's own stay out."""
    packaged, hashed, inside = "/usr/share/ca-certificates/mozilla", "/etc/ssl/certs", "etc/ssl/certs"
    if not os.path.isdir(packaged):
        return
    bundle = ""
    for name in sorted(os.listdir(packaged)):
        with open(os.path.join(packaged, name), encoding="ascii") as f:
            bundle += f.read().rstrip("\n") + "\n"
    tree.text(inside + "/ca-certificates.crt", bundle)
    by_hash = [name for name in sorted(os.listdir(hashed)) if re.fullmatch(r"[0-9a-f]{8}\.[0-9]+", name)
               and os.path.dirname(os.path.realpath(os.path.join(hashed, name))) == packaged
               and os.path.isfile(os.path.join(hashed, name))]
    for name in by_hash:
        tree.file(os.path.join(hashed, name), inside + "/" + name)
    # A folder is searched when a certificate is needed, a file is read for each new context (50 ms).
    paths = ssl.get_default_verify_paths()
    place, target = (paths.openssl_capath, inside) if by_hash else (paths.openssl_cafile, inside + "/ca-certificates.crt")
    if place.startswith("/usr/"):
        tree.link(os.path.relpath("/" + target, os.path.dirname(place)), place.lstrip("/"))


def add_etc(tree):
    tree.copy(os.path.join(HERE, "etc"), "etc")
    tree.link("../usr/share/zoneinfo/Etc/UTC", "etc/localtime")
    if os.path.isfile("/etc/os-release"):
        tree.file("/etc/os-release", "usr/lib/os-release")
        tree.link("../usr/lib/os-release", "etc/os-release")


def compile_share(tree, sources):
    for source in sources:
        inside = "/" + source
        cache = os.path.join(os.path.dirname(source), "__pycache__",
                             os.path.basename(source)[:-3] + "." + sys.implementation.cache_tag + ".pyc")
        py_compile.compile(tree.path(source), tree.path(cache), inside, doraise=True,
                           invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)


def compile_stdlib(tree):
    """Byte code that the interpreter takes without looking at the source's time or contents."""
    warnings.simplefilter("ignore")
    sources = [path for path in tree.walk() if path.startswith(STDLIB + "/") and path.endswith(".py")]
    children = []
    for i in range(COMPILE_PROCESSES):
        child = os.fork()
        if child == 0:
            try:
                compile_share(tree, sources[i::COMPILE_PROCESSES])
                os._exit(0)
            except BaseException as e:
                print("rootfs/build: %s" % e, file=sys.stderr, flush=True)
                os._exit(1)
        children.append(child)
    if any([os.waitpid(child, 0)[1] for child in children]):
        raise Trouble("the standard library does not compile with %s" % sys.executable)


def make_loader_cache(tree):
    """Saves the loader a search through folders at each start."""
    result = subprocess.run(["ldconfig", "-i", "-X", "-r", tree.top], capture_output=True, text=True)
    if result.returncode or not os.path.exists(tree.path("etc/ld.so.cache")):
        raise Trouble("ldconfig failed: " + result.stderr.strip())
    shutil.rmtree(tree.path("var"), ignore_errors=True)


def normalise(tree):
    """Modes and times that depend on nobody's umask or clock."""
    when = int(os.environ["SOURCE_DATE_EPOCH"])
    for path in reversed(tree.walk()):
        full = tree.path(path)
        if not os.path.islink(full):
            runs = os.path.isdir(full) or os.stat(full).st_mode & 0o100
            os.chmod(full, 0o755 if runs else 0o644)
        os.utime(full, (when, when), follow_symlinks=False)


def manifest_line(tree, path):
    full = tree.path(path)
    st = os.lstat(full)
    if any(c.isspace() or not c.isprintable() for c in path):
        raise Trouble("the manifest cannot hold the path %r" % path)
    if os.path.islink(full):
        return "l 0777 %d %s %s\n" % (st.st_size, os.readlink(full), path)
    if os.path.isdir(full):
        return "d %04o 0 - %s\n" % (st.st_mode & 0o7777, path)
    with open(full, "rb") as f:
        return "f %04o %d %s %s\n" % (st.st_mode & 0o7777, st.st_size, hashlib.sha256(f.read()).hexdigest(), path)


def build_tree(tree, guest, busybox):
    add_programs(tree, guest, busybox)
    add_stdlib(tree)
    add_session_package(tree)
    add_loader(tree, guest, add_libraries(tree, guest))
    add_data(tree)
    add_certificates(tree)
    add_etc(tree)
    for name in MOUNT_POINTS:
        tree.folder(name)
    for name, target in TOP_LINKS.items():
        tree.link(target, name)
    compile_stdlib(tree)
    make_loader_cache(tree)
    normalise(tree)


def swap(new, old):
    """Put new in old's place at once where the file system can; whatever is left at `new` is the old one."""
    if not os.path.isdir(old):
        return os.rename(new, old)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(AT_FDCWD, os.fsencode(new), AT_FDCWD, os.fsencode(old), RENAME_EXCHANGE):
        aside = new + ".old"
        os.rename(old, aside)
        os.rename(new, old)
        os.rename(aside, new)


def build(out, guest, busybox):
    os.makedirs(out, exist_ok=True)
    lock = os.open(out, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(lock, fcntl.LOCK_EX)        # so that what lies here unfinished belongs to nobody
    for name in os.listdir(out):
        if name.startswith(".build-"):
            shutil.rmtree(os.path.join(out, name))
    work = tempfile.mkdtemp(prefix=".build-", dir=out)
    try:
        tree = Tree(os.path.join(work, NAME))
        os.mkdir(tree.top)
        build_tree(tree, guest, busybox)
        lines = [manifest_line(tree, path) for path in tree.walk()]
        listing = os.path.join(work, NAME + ".manifest")
        with open(listing, "w", encoding="utf-8") as f:
            f.writelines(lines)
        swap(tree.top, os.path.join(out, NAME))
        os.rename(listing, os.path.join(out, NAME + ".manifest"))
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return lines


def main():
    parser = argparse.ArgumentParser(prog="rootfs/build", allow_abbrev=False)
    parser.add_argument("--python", help="the interpreter whose standard library is taken", default=sys.executable)
    parser.add_argument("--guest", help="the program that becomes /usr/bin/python3", required=True)
    parser.add_argument("--out", help="folder for python/ and python.manifest", required=True)
    parser.add_argument("--busybox", help="a static busybox (default: the system's)")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        lines = build(os.path.abspath(args.out), args.guest, args.busybox or find_program("busybox", "busybox-static"))
    except (Trouble, OSError, py_compile.PyCompileError) as e:
        sys.exit("rootfs/build: %s" % e)
    size = sum(int(line.split()[2]) for line in lines)
    print("rootfs/%s: %d entries, %.1f MB" % (NAME, len(lines), size / 1e6))


if __name__ == "__main__":
    main()
