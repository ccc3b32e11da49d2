"""The least that a client needs: frames over pipes or a socket. Written from docs/protocol.md alone."""
import json
import os
import select
import socket
import struct
import subprocess
import time

SMOLJAIL = os.environ.get("SMOLJAIL", "build/smoljail")
LATE = 60       # seconds after which an answer is missing
BETWEEN = ("output", "display", "tool_call")


def frame(message):
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    return struct.pack(">I", len(body)) + body


class Peer:
    """One client, on a pair of descriptors."""

    def __init__(self, reader, writer, greet=True):
        self.reader, self.writer, self.count, self.pending = reader, writer, 0, b""
        if greet:
            assert self.ask("hello", protocol=1)["type"] == "hello"

    def raw(self, data):
        view = memoryview(data)
        while view:
            view = view[os.write(self.writer, view):]

    def send(self, kind, **fields):
        self.count += 1
        self.raw(frame({"type": kind, "id": self.count, **fields}))
        return self.count

    def more(self, seconds):
        if not select.select([self.reader], [], [], max(0, seconds))[0]:
            raise TimeoutError("no answer")
        data = os.read(self.reader, 1 << 20)
        self.pending += data
        return bool(data)

    def receive(self, seconds=LATE):
        """The next message, None at the end of the stream."""
        deadline = time.monotonic() + seconds
        while True:
            if len(self.pending) >= 4:
                length = struct.unpack(">I", self.pending[:4])[0]
                assert 0 < length <= 16777216, length
                if len(self.pending) >= 4 + length:
                    body, self.pending = self.pending[4:4 + length], self.pending[4 + length:]
                    return json.loads(body)
            if not self.more(deadline - time.monotonic()):
                return None

    def until(self, number, seconds=LATE):
        """Everything that arrives, up to the answer to `number`."""
        seen = []
        while True:
            seen.append(self.receive(seconds))
            if seen[-1] is None:
                raise EOFError(f"the stream ended: {str(seen)[:2000]}")
            if seen[-1].get("id") == number and seen[-1]["type"] not in BETWEEN:
                return seen

    def ask(self, kind, **fields):
        return self.until(self.send(kind, **fields))[-1]

    def session(self, **fields):
        opened = self.ask("open", **fields)
        assert opened["type"] == "opened", opened
        return opened["session"]

    def run(self, session, code, **fields):
        return self.ask("run", session=session, code=code, **fields)

    def output(self, session, code, **fields):
        """(result, text of stdout, text of stderr)"""
        seen = self.until(self.send("run", session=session, code=code, **fields))
        text = {stream: "".join(m["data"] for m in seen if m["type"] == "output" and m["stream"] == stream)
                for stream in ("stdout", "stderr")}
        return seen[-1], text["stdout"], text["stderr"]

    def close(self):
        for fd in {self.reader, self.writer}:
            os.close(fd)


class Server:
    """smoljail serve on its standard streams: `with Server() as (server, peer)`."""

    def __init__(self, *options, greet=True):
        self.process = subprocess.Popen([SMOLJAIL, "serve", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL)
        self.peer = Peer(self.process.stdout.fileno(), self.process.stdin.fileno(), greet)

    def __enter__(self):
        return self, self.peer

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            self.process.wait(20)
        finally:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()


class SocketServer:
    """smoljail serve --socket in a folder of its own; connect() as often as needed."""

    def __init__(self, folder, *options):
        self.path = os.path.join(folder, "s")
        self.process = subprocess.Popen([SMOLJAIL, "serve", "--socket", self.path, *options], stderr=subprocess.PIPE)
        line = self.process.stderr.readline()
        assert b"listening" in line, line

    def connect(self, greet=True):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        s.connect(self.path)
        fd = s.detach()
        return Peer(fd, fd, greet)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(20)
        finally:
            self.process.kill()
            self.process.wait()
            self.process.stderr.close()


def descendants(pid):
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                text = open(f"/proc/{entry}/stat", errors="replace").read()
            except OSError:
                continue
            parents.setdefault(int(text.rsplit(")", 1)[1].split()[1]), []).append(int(entry))
    found, todo = [], [pid]
    while todo:
        found += (more := parents.get(todo.pop(), []))
        todo += more
    return found


def settle(condition, seconds=10):
    """Wait until it holds; what it says in the end."""
    deadline = time.monotonic() + seconds
    while not (value := condition()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return value
