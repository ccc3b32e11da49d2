"""One `smoljail serve`, as this process's background server or at a socket, and the stream to it.

Theory of operation. One thread reads the server's stream and hands each message to whoever asked: every
request has a number, and the table `_waiting` says whose it is. Tool calls go to threads of their own
(_workers.py), so neither a slow tool nor a slow callback holds up the stream. Whoever asks writes its own
frame. When the stream ends, for whatever reason, everyone who waits is told, and the next session that is
opened gets a new server.

Runs as: the client
Trusts: the smoljail program; not what it passes on from jails
Never: leaves a process behind, or lets a forked child write into its parent's stream
"""
from __future__ import annotations

import atexit
import itertools
import os
import queue
import select
import socket as sockets
import subprocess
import tempfile
import threading
import weakref
from typing import Any, Callable, Dict, List, Optional, Sequence

from . import _frames, _locate
from ._errors import NotFound, ProtocolError, RequestError, ServerLost
from ._workers import workers

PROTOCOL = 1
READ_SIZE = 1 << 18             # bytes
END_SECONDS = 10.0              # for a server to end its sessions; then it is killed
STDERR_TAIL = 2000              # bytes quoted when it ends unasked
# This process started it and decides for itself what its sessions may do.
OPTIONS = ("--allow-loosen", "--max-sessions", "4096")

Message = Dict[str, Any]


class Waiter:
    """Who waits for the answers to a request: both are called in the reading thread, and return at once."""

    __slots__ = ("deliver", "on_call")

    def __init__(self, deliver: Callable[[Optional[Message]], None],
                 on_call: Optional[Callable[[Message], None]] = None) -> None:
        self.deliver, self.on_call = deliver, on_call


class Server:
    """A connection to a server: a process of its own, or, with `socket`, one that listens already.

    Args:
        binary: path of the smoljail program; found by itself otherwise (SMOLJAIL, the package, PATH).
        socket: path of a unix socket on which `smoljail serve --socket` listens.
        options: of `smoljail serve`.

    Raises:
        NotFound: there is no program, or nobody listens.
        ServerLost: it ended before it said hello.
    """

    def __init__(self, binary: Optional[str] = None, *, socket: Optional[str] = None,
                 options: Sequence[str] = OPTIONS) -> None:
        self.pid = os.getpid()
        self.process: Optional[subprocess.Popen] = None
        self._ids = itertools.count(1)
        self._lock = threading.Lock()           # of _waiting and _lost
        self._write_lock = threading.Lock()
        self._waiting: Dict[Any, Waiter] = {}
        self._lost: Optional[ServerLost] = None
        self._closing = False
        self._litter: List[str] = []            # names of sessions that nobody has any more
        if socket is None:
            self._start(_locate.find(binary), options)
        else:
            self._connect(socket)
        _servers.add(self)
        self._reader = threading.Thread(target=self._read, name="smoljail-reader", daemon=True)
        self._reader.start()
        try:
            self.hello: Message = self.ask("hello", protocol=PROTOCOL, client="smoljail-python")
        except BaseException:
            self.close()
            raise

    # ---- the process, or the socket

    def _start(self, binary: str, options: Sequence[str]) -> None:
        self._stderr = tempfile.TemporaryFile(prefix="smoljail-")
        try:
            # In a session of its own: Ctrl-C in the terminal is this program's to handle.
            self.process = subprocess.Popen([binary, "serve", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=self._stderr, bufsize=0, start_new_session=True, cwd="/")
        except OSError as e:
            self._stderr.close()
            raise NotFound("%s cannot be started: %s" % (binary, e)) from e
        assert self.process.stdin and self.process.stdout
        self._in, self._out = self.process.stdout, self.process.stdin

    def _connect(self, path: str) -> None:
        connection = sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM)
        try:
            connection.connect(path)
        except OSError as e:
            connection.close()
            raise NotFound("nobody serves at %s: %s" % (path, e)) from e
        self._in = connection.makefile("rb", buffering=0)
        self._out = connection.makefile("wb", buffering=0)
        connection.close()

    # ---- reading

    def _read(self) -> None:
        splitter, why = _frames.Splitter(), None
        fd = self._in.fileno()
        try:
            while True:
                data = os.read(fd, READ_SIZE)
                if not data:
                    break
                for message in splitter.feed(data):
                    self._dispatch(message)
        except ProtocolError as e:
            why = e
        except OSError:
            pass
        self._end(why)

    def _dispatch(self, message: Message) -> None:
        ident = message.get("id")
        if type(ident) is not int and type(ident) is not str:
            return
        if type(ident) is str and message.get("type") == "error":
            self._refused_result(ident, message)
            return
        waiter = self._waiting.get(ident)
        if waiter is None:
            return
        if message.get("type") != "tool_call":
            waiter.deliver(message)
        elif waiter.on_call is not None:
            waiter.on_call(message)

    def _refused_result(self, ident: str, message: Message) -> None:
        """The answer to a tool call did not get through; the jail would wait for ever."""
        if message.get("code") == "not_running":
            return
        run, _, call = ident.partition(".")
        waiter = self._waiting.get(int(run)) if run.isdigit() else None
        if waiter is not None and waiter.on_call is not None and call.isdigit():
            waiter.on_call({"type": "refused", "call": int(call), "message": str(message.get("message"))})

    # ---- the end

    def _end(self, why: Optional[ServerLost]) -> None:
        """In the reading thread: nothing more comes. Everybody is told, and the process is gone after this."""
        if self.process is not None:
            self._reap(END_SECONDS if why is None else 0)
        with self._lock:
            self._lost = why or ServerLost(self._obituary())
            waiting = list(self._waiting.values())
            self._waiting.clear()
        for waiter in waiting:
            waiter.deliver(None)

    def _reap(self, seconds: float) -> None:
        assert self.process
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _obituary(self) -> str:
        if self._closing:
            return "the server was closed"
        if self.process is None:
            return "the server closed the connection"
        self._stderr.seek(max(0, self._stderr.seek(0, os.SEEK_END) - STDERR_TAIL))
        words = self._stderr.read().decode("utf-8", "replace").strip()
        code = self.process.returncode
        how = "by signal %d" % -code if code < 0 else "with status %d" % code
        return "smoljail serve ended %s%s" % (how, ": " + words if words else "")

    @property
    def alive(self) -> bool:
        """It can be asked for a session."""
        return self._lost is None and not self._closing and self.pid == os.getpid()

    def close(self) -> None:
        """End every session and the server. Closing twice is fine."""
        if self.pid != os.getpid():
            return
        with self._lock:
            first, self._closing = not self._closing, True
        if first:
            # Whoever writes is let finish, but a server that reads nothing is not waited for.
            held = self._write_lock.acquire(timeout=1)
            _close(self._out)
            if held:
                self._write_lock.release()
            if self.process is None:
                self._shut()
        if threading.current_thread() is self._reader:
            return
        self._reader.join(END_SECONDS)
        if self._reader.is_alive() and self.process is not None:
            self.process.kill()
            self._reader.join(END_SECONDS)
        _close(self._in)
        if self.process is not None:
            _close(self._stderr)

    def _shut(self) -> None:
        """The reading thread sees the end of a socket only once it is shut."""
        try:
            with sockets.socket(fileno=os.dup(self._in.fileno())) as connection:
                connection.shutdown(sockets.SHUT_RDWR)
        except OSError:
            pass

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *exc: Any) -> None:
        self.close()

    def forget_in_child(self) -> None:
        """After fork(), in the child: the stream and the process are the parent's."""
        self._lost = ServerLost("this session was opened by another process (%d); open a new one after fork()" % self.pid)
        self._lock, self._write_lock = threading.Lock(), threading.Lock()
        self._waiting = {}
        for stream in (self._in, self._out):
            _close(stream)
        if self.process is not None:
            self.process.returncode = 0
            _close(self._stderr)

    # ---- asking

    def next_id(self) -> int:
        return next(self._ids)

    def post(self, message: Message, waiter: Optional[Waiter] = None) -> None:
        """Send a message that has its id. The waiter hears everything that is said to it, until forget().

        Raises:
            ServerLost: the server is gone.
            ValueError: the message cannot be sent.
        """
        frame = _frames.pack(message)
        if self._litter:
            self._clean()
        if waiter is not None:
            with self._lock:
                self._check()
                self._waiting[message["id"]] = waiter
        try:
            self._write(frame)
        except BaseException:
            self.forget(message["id"])
            raise

    def forget(self, ident: Any) -> None:
        """The answers to a request concern nobody any more."""
        self._waiting.pop(ident, None)

    def lost(self) -> ServerLost:
        """What to raise, once a waiter was told that nothing comes any more."""
        why = self._lost or ServerLost("the server ended")
        return type(why)(*why.args)

    def _check(self) -> None:
        if self._lost is not None:
            raise self.lost()

    def _write(self, frame: bytes) -> None:
        if len(frame) > select.PIPE_BUF and threading.current_thread() is threading.main_thread():
            # Python's signal handlers run in the main thread only: none can cut a frame in two.
            self._write_elsewhere(frame)
            return
        with self._write_lock:
            try:
                rest = memoryview(frame)
                while rest:
                    rest = rest[self._out.write(rest):]
            except (OSError, ValueError):
                # Its end has its own words for it.
                self._reader.join(END_SECONDS)
                raise self.lost() from None

    def _write_elsewhere(self, frame: bytes) -> None:
        done: queue.SimpleQueue = queue.SimpleQueue()

        def write() -> None:
            try:
                self._write(frame)
                done.put(None)
            except BaseException as e:
                done.put(e)

        workers.submit(write)
        error = done.get()
        if error is not None:
            raise error

    def ask(self, type: str, **fields: Any) -> Message:
        """One request with one answer.

        Raises:
            RequestError: the server refused.
            ServerLost: it is gone.
        """
        answers: queue.SimpleQueue = queue.SimpleQueue()
        ident = self.next_id()
        self.post({"type": type, "id": ident, **fields}, Waiter(answers.put))
        try:
            return self.checked(answers.get())
        finally:
            self.forget(ident)

    def checked(self, answer: Optional[Message]) -> Message:
        """The answer, unless it is an error or the end."""
        if answer is None:
            raise self.lost()
        if answer.get("type") == "error":
            raise RequestError(str(answer.get("code")), str(answer.get("message")), answer.get("hint"))
        return answer

    def ping(self) -> None:
        """Raises ServerLost when the server is gone."""
        self.ask("ping")

    def stats(self) -> Message:
        """Numbers of sessions and steps, uptime in ms, memory in bytes (docs/protocol.md)."""
        answer = self.ask("stats")
        return {key: value for key, value in answer.items() if key not in ("type", "id")}

    # ---- sessions that were dropped without close()

    def drop_session(self, name: str) -> None:
        """Close it some time. Called by the garbage collector, so nothing here may take a lock."""
        self._litter.append(name)

    def _clean(self) -> None:
        while self._litter:
            try:
                name = self._litter.pop()
            except IndexError:
                return
            self._write(_frames.pack({"type": "close", "id": self.next_id(), "session": name}))


def _close(stream: Any) -> None:
    try:
        stream.close()
    except OSError:
        pass


# ---- the server of this process ---------------------------------------------------------

_servers: "weakref.WeakSet[Server]" = weakref.WeakSet()
_default: Optional[Server] = None
_default_lock = threading.Lock()


def default_server() -> Server:
    """The server that all sessions of this process share; started when the first one needs it, or after it was lost.

    Raises:
        NotFound, ServerLost: it cannot be started.
    """
    global _default
    with _default_lock:
        if _default is None or not _default.alive:
            _default = Server()
        return _default


def shutdown() -> None:
    """Close every server of this process and all of their sessions. It happens by itself at exit."""
    global _default
    for server in list(_servers):
        server.close()
    _default = None


def _after_fork() -> None:
    global _default, _default_lock
    _default, _default_lock = None, threading.Lock()
    for server in list(_servers):
        server.forget_in_child()
    _servers.clear()


atexit.register(shutdown)
os.register_at_fork(after_in_child=_after_fork)
