"""Start the guest by itself, outside any jail, and speak the guest leg of docs/protocol.md with it."""
import fcntl
import json
import os
import select
import shutil
import signal
import socket
import struct
import sys
import tempfile
import time

TREE = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
GUEST = os.path.abspath(os.path.join(os.environ.get("BUILD", os.path.join(TREE, "build")), "smoljail-guest"))
MAGIC, MODE_SESSION, CLAIM_SIZE, GO = 0x736A4231, 6, 20480, b"g"
FRAME_MAX = 16 << 20
WAIT = 60               # seconds for one message; a machine under load is slow


def package_folder(where):
    """A folder for sys.path that holds smoljail_guest, as the root's standard library does."""
    folder = os.path.join(where, "smoljail_guest")
    shutil.copytree(os.path.join(TREE, "src/guest/py"), folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(os.path.join(TREE, "src/python/smoljail/_values.py"), folder)
    return where


def _boot_record(paths):
    strings = b"\0" + b"".join(os.fsencode(p) + b"\0" for p in paths)
    head = struct.pack("=8I", MAGIC, MODE_SESSION, 0, 0, 1, len(paths), len(strings), 0)
    fd = os.memfd_create("boot", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.write(fd, head + strings + b"\0")
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE)
    return fd


class Dead(Exception):
    pass


class Guest:
    def __init__(self, guard="native", imports=None, frame=FRAME_MAX, paths=(), env=None, word=GO):
        self.top = tempfile.mkdtemp(prefix="guest-session-")
        self.work = os.path.join(self.top, "work")
        os.mkdir(self.work)
        paths = [package_folder(os.path.join(self.top, "lib"))] + list(paths)
        self.calls, self.tools, self.step = [], {}, 0
        self.start(paths, env or {"PATH": "/usr/bin:/bin", "HOME": self.work, "LANG": "C.UTF-8"}, word)
        self.hello = self.read()
        self.send({"type": "limits", "guard": guard, "imports": imports, "frame": frame})

    def start(self, paths, env, word):
        self.channel, channel = socket.socketpair()
        sync, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        claim = os.memfd_create("claim")
        os.ftruncate(claim, CLAIM_SIZE)
        self.out, out = os.pipe()
        self.err, err = os.pipe()
        fds = [os.open("/dev/null", os.O_RDONLY), out, err, _boot_record(paths), theirs.fileno(), claim, channel.fileno()]
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.chdir(self.work)
                high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 100) for fd in fds]
                for number, fd in enumerate(high):
                    os.dup2(fd, number)
                os.closerange(len(fds), 4096)
                signal.signal(signal.SIGPIPE, signal.SIG_DFL)
                os.execve(GUEST, ["smoljail-guest"], {**env, "LD_LIBRARY_PATH": os.path.dirname(GUEST)})
            finally:
                os._exit(126)
        for fd in fds[:4] + [claim]:
            os.close(fd)
        theirs.close()
        channel.close()
        self.output = {self.out: b"", self.err: b""}
        for fd in self.output:
            os.set_blocking(fd, False)
        if word:
            sync.send(word)
        else:
            sync.shutdown(socket.SHUT_WR)
        self.ready = sync.recv(4096)
        sync.close()
        if len(self.ready) < 12 or struct.unpack("=IIi", self.ready[:12])[2]:
            self.close()
            raise Dead("the guest did not start: %r" % self.ready)

    # ---- frames

    def send(self, message):
        data = json.dumps(message).encode()
        self.channel.sendall(struct.pack(">I", len(data)) + data)

    def drain(self):
        for fd in self.output:
            while True:
                try:
                    data = os.read(fd, 1 << 16)
                except BlockingIOError:
                    break
                if not data:
                    break
                self.output[fd] += data

    def _bytes(self, n, deadline):
        data = b""
        while len(data) < n:
            ready = select.select([self.channel, self.out, self.err], [], [], max(0, deadline - time.monotonic()))[0]
            if not ready:
                raise Dead("no answer")
            if self.channel in ready:
                part = self.channel.recv(n - len(data))
                if not part:
                    raise Dead("the guest is gone")
                data += part
            self.drain()
        return data

    def read(self, wait=WAIT):
        deadline = time.monotonic() + wait
        n, = struct.unpack(">I", self._bytes(4, deadline))
        assert 0 < n <= FRAME_MAX, n
        return json.loads(self._bytes(n, deadline).decode(), object_pairs_hook=self.no_duplicates,
                          parse_constant=lambda name: 1 / 0)

    @staticmethod
    def no_duplicates(pairs):
        assert len({k for k, v in pairs}) == len(pairs), "duplicate keys"
        return dict(pairs)

    # ---- requests

    def run(self, code, interrupt_after=None, **fields):
        """The `done` of a step, with what else it sent: stdout, stderr, displays."""
        self.step += 1
        self.output = {self.out: b"", self.err: b""}
        self.send({"type": "run", "code": code, "step": self.step, **fields})
        displays = []
        while True:
            try:
                message = self.read(WAIT if interrupt_after is None else interrupt_after)
            except Dead:
                if interrupt_after is None:
                    raise
                os.kill(self.pid, signal.SIGINT)
                continue
            if message["type"] == "display":
                displays.append(message)
            elif message["type"] == "tool_call":
                self.answer_call(message)
            else:
                break
        assert message["type"] == "done", message
        self.drain()
        message.update(stdout=self.output[self.out].decode(), stderr=self.output[self.err].decode(), displays=displays)
        return message

    def answer_call(self, message):
        self.calls.append(message)
        function = self.tools[message["tool"]]
        try:
            answer = {"value": function(*message["args"], **message["kwargs"])}
        except Exception as e:
            answer = {"error": {"type": type(e).__name__, "message": str(e)}}
        self.send({"type": "tool_result", "call": message["call"], **answer})

    def ask(self, kind, **fields):
        self.send({"type": kind, **fields})
        message = self.read()
        assert message["type"] == "answer", message
        return message

    def rpc(self, **functions):
        self.tools = functions
        return self.ask("tools", tools=[{"name": name, "kind": "rpc"} for name in functions])

    def close(self):
        """Close the channel and wait for the guest's end: its status."""
        self.channel.close()
        deadline = time.monotonic() + WAIT
        while time.monotonic() < deadline:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                break
            time.sleep(0.005)
        else:
            os.kill(self.pid, signal.SIGKILL)
            status = os.waitpid(self.pid, 0)[1]
        for fd in (self.out, self.err):
            os.close(fd)
        shutil.rmtree(self.top, ignore_errors=True)
        return status

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.close()


if __name__ == "__main__":
    with Guest() as g:
        for text in sys.argv[1:]:
            print(g.run(text))
