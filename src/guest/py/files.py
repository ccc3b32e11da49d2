"""Files of the work folder: put, fetch, list, and which of them a step made or changed.

Runs as: the guest, in untrusted hands
Trusts: nothing; the paths are checked for the host's sake, the step could open any file by itself
Never: waits on a FIFO, answers with more than CHUNK bytes or ENTRIES names
"""
import binascii
import errno as errors
import posix
import stat

from ._values import from_base64

WORK = "/work"
CHUNK = 1 << 20
ENTRIES = 2000
PATH_MAX = 4096
# What libraries keep in a home folder is nobody's result.
_OTHERS = (".cache", ".config", ".local", ".ipython", "__pycache__")
_KINDS = {stat.S_IFREG: "file", stat.S_IFDIR: "dir"}


class Refused(Exception):
    """A request that is answered by (code, message)."""


def set_work(folder):
    global WORK
    WORK = folder


def _path(message, default=None):
    path = message.get("path", default)
    if type(path) is not str or not path or "\0" in path or len(path.encode()) > PATH_MAX:
        raise Refused("bad_message", "\"path\" is no path")
    parts = [p for p in path.split("/") if p not in ("", ".")]
    if path.startswith("/") or ".." in parts:
        raise Refused("bad_message", "\"%s\" is not below the work folder: no absolute path, no \"..\"" % path)
    return "/".join(parts)


def _number(message, name, default):
    n = message.get(name, default)
    if type(n) is not int or n < 0:
        raise Refused("bad_message", "\"%s\" is no offset or length" % name)
    return n


def _open(path, flags):
    fd = posix.open(WORK + "/" + path, flags | posix.O_NONBLOCK | posix.O_CLOEXEC | posix.O_NOCTTY, 0o666)
    if not stat.S_ISREG(posix.fstat(fd).st_mode):
        posix.close(fd)
        raise Refused("io", "\"%s\" is no regular file" % path)
    return fd


def _make_folders(path):
    at = WORK
    for part in path.split("/")[:-1]:
        at += "/" + part
        try:
            posix.mkdir(at)
        except FileExistsError:
            pass


def put(message):
    path, offset = _path(message), _number(message, "offset", 0)
    data = from_base64(message.get("data", ""))
    if len(data) > CHUNK:
        raise Refused("too_large", "a chunk of %d bytes, where at most %d are allowed" % (len(data), CHUNK))
    if not path:
        raise Refused("bad_message", "\"path\" names the work folder itself")
    _make_folders(path)
    fd = _open(path, posix.O_WRONLY | posix.O_CREAT | (0 if offset else posix.O_TRUNC))
    try:
        done = 0
        while done < len(data):
            done += posix.pwrite(fd, memoryview(data)[done:], offset + done)
        if message.get("last", True):
            posix.ftruncate(fd, offset + len(data))
    finally:
        posix.close(fd)
    _note(path)
    return {}


def fetch(message):
    path, offset = _path(message), _number(message, "offset", 0)
    length = min(_number(message, "length", CHUNK), CHUNK)
    fd = _open(path, posix.O_RDONLY)
    try:
        size, data = posix.fstat(fd).st_size, b""
        while len(data) < length:
            part = posix.pread(fd, length - len(data), offset + len(data))
            if not part:
                break
            data += part
    finally:
        posix.close(fd)
    return {"path": path, "offset": offset, "data": binascii.b2a_base64(data, newline=False).decode(),
            "size": size, "last": offset + len(data) >= size}


# ---- listing ----------------------------------------------------------------------

def _walk(top, skip=()):
    """(path below the work folder, stat) of everything below top, nearest first; then whether some were left out."""
    todo, found = [top], []
    for folder in todo:
        try:
            entries = posix.scandir(WORK + "/" + folder)
        except OSError:
            if folder == top:
                raise
            continue
        with entries:
            for entry in entries:
                if len(found) >= ENTRIES:
                    return found, True
                name = entry.name
                if name in skip or not name.isprintable():
                    continue
                path = folder + "/" + name if folder else name
                try:
                    st = entry.stat(follow_symlinks=False)
                except OSError:
                    continue
                found.append((path, st))
                if stat.S_ISDIR(st.st_mode):
                    todo.append(path)
    return found, False


def listing(message):
    path = _path(message, ".")
    if path and not stat.S_ISDIR(posix.stat(WORK + "/" + path).st_mode):
        found, truncated = [(path, posix.stat(WORK + "/" + path))], False
    else:
        found, truncated = _walk(path)
    files = [{"path": path, "size": st.st_size, "kind": _KINDS.get(stat.S_IFMT(st.st_mode), "other"),
              "mtime": st.st_mtime_ns / 1e9} for path, st in sorted(found)]
    return {"files": files, "truncated": truncated}


# ---- changes ------------------------------------------------------------------------

_known = {}


def _mark(st):
    return st.st_mtime_ns, st.st_size, st.st_ino


def _note(path):
    """What the host itself put there is no result of a step."""
    _known[path] = _mark(posix.stat(WORK + "/" + path))


def _scan():
    try:
        found, truncated = _walk("", _OTHERS)
    except OSError:
        return {}, False
    return {path: _mark(st) for path, st in found if stat.S_ISREG(st.st_mode)}, truncated


def begin():
    """What lies there now is no result of a step."""
    global _known
    _known = _scan()[0]


def changes():
    """{new, changed, truncated} since the last time."""
    global _known
    now, truncated = _scan()
    if not now and not _known:
        return {"new": [], "changed": [], "truncated": truncated}
    before, _known = _known, now
    return {"new": sorted([p for p in now if p not in before]),
            "changed": sorted([p for p in now if p in before and before[p] != now[p]]), "truncated": truncated}


def answer(function, message):
    try:
        return {"ok": True, **function(message)}
    except Refused as e:
        code, text = e.args
    except FileNotFoundError:
        code, text = "not_found", "no file \"%s\" in the work folder" % message.get("path")
    except OSError as e:
        code, text = "io", "\"%s\": %s (%s)" % (message.get("path"), e.strerror, errors.errorcode.get(e.errno, e.errno))
    except ValueError:
        code, text = "bad_message", "\"data\" is no base64"
    return {"error": {"code": code, "message": text}}
