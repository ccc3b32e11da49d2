"""The parts of tools/bench about sessions: round trips, many sessions at once, the speed of loops."""
import contextlib
import json
import os
import pathlib
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent.parent
SESSIONS = 500
WARM = 200
STEPS_A_ROUND = 20
CALLS_A_ROUND = 10

# The guest times its own calls: what a program inside waits for a tool.
CALLS = """def calls(n):
    import time
    took = []
    for _ in range(n):
        start = time.perf_counter()
        echo(1)
        took.append(1e6 * (time.perf_counter() - start))
    return took
"""

# Calls, nested loops, lists and dicts, text, attributes: nothing that is done in C for long.
LOOPS = """def loops():
    import time

    class Point:
        def __init__(self, x):
            self.x = x

        def moved(self, by):
            return Point(self.x + by)

    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    start = time.perf_counter(), time.process_time()
    total = fib(22)
    for i in range(200):
        for j in range(500):
            total += i * j % 7
    sieve = [True] * 60000
    for i in range(2, 245):
        if sieve[i]:
            for j in range(i * i, 60000, i):
                sieve[j] = False
    words = {}
    for i in range(40000):
        word = "w" + str(i % 97)
        words[word] = words.get(word, 0) + 1
    p = Point(0)
    for i in range(30000):
        p = p.moved(1)
    n = 0
    while n < 150000:
        n += 1
    return time.perf_counter() - start[0], time.process_time() - start[1]
"""


class Peer:
    """One client on a socket, with as little as possible between the clock and the server."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(path)
        self.ids = 0
        self.ask(type="hello", protocol=1)

    def frame(self, **message):
        self.ids += 1
        body = json.dumps({"id": self.ids, **message}, separators=(",", ":")).encode()
        return struct.pack(">I", len(body)) + body

    def receive(self):
        """The bytes of one message."""
        data = self.socket.recv(1 << 16)
        while len(data) < 4 or len(data) < 4 + int.from_bytes(data[:4], "big"):
            if not (more := self.socket.recv(1 << 16)):
                raise EOFError("the server closed the connection")
            data += more
        return data

    def ask(self, **message):
        self.socket.sendall(self.frame(**message))
        answer = json.loads(self.receive()[4:])
        if answer["type"] == "error" or answer.get("status", "ok") != "ok":
            raise RuntimeError(answer)
        return answer

    def open(self):
        return self.ask(type="open")["session"]

    def value(self, session, code):
        return self.ask(type="run", session=session, code=code)["value"]

    def round_trips(self, frame, count):
        """Microseconds of each; the frame is made before the clock starts, and the answer is not parsed."""
        took = []
        for _ in range(count):
            start = time.perf_counter_ns()
            self.socket.sendall(frame)
            self.receive()
            took.append((time.perf_counter_ns() - start) / 1000)
        return took

    def calls(self, session, count):
        """Microseconds of tool calls, as the guest sees them."""
        self.socket.sendall(self.frame(type="run", session=session, code=f"calls({count})"))
        while True:
            message = json.loads(self.receive()[4:])
            if message["type"] == "result":
                return message["value"]
            self.socket.sendall(self.frame(type="tool_result", session=session, call=message["call"], value=1))


@contextlib.contextmanager
def serving(smoljail, *options):
    """(process, path of its socket)"""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        path = os.path.join(folder, "s")
        server = subprocess.Popen([smoljail, "serve", "--socket", path, *options], stderr=subprocess.PIPE)
        try:
            server.stderr.readline()
            yield server, path
        finally:
            server.terminate()
            server.wait()
            server.stderr.close()


def use_client(smoljail):
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(HERE / "src" / "python"))
    os.environ["SMOLJAIL"] = smoljail
    import smoljail as client
    return client


def spread(took):
    took = sorted(took)
    return {"median_us": round(statistics.median(took), 1), "p95_us": round(took[int(len(took) * 0.95)], 1)}


def session(smoljail, _python, rounds):
    client = use_client(smoljail)
    with serving(smoljail) as (_, path), client.Server(socket=path) as server, client.Session(server=server) as s:
        peer = Peer(path)
        name = peer.open()
        tool = {"name": "echo", "kind": "rpc", "inputs": {"x": {"type": "integer", "description": "any"}}}
        peer.ask(type="tools", session=name, tools=[tool])
        s.tool(lambda x: x, name="echo")
        peer.value(name, CALLS)
        s.run(CALLS)
        step = peer.frame(type="run", session=name, code="1")
        ping = peer.frame(type="ping")

        def by_client(count):
            took = []
            for _ in range(count):
                start = time.perf_counter_ns()
                s.run("1")
                took.append((time.perf_counter_ns() - start) / 1000)
            return took

        parts = {
            "ping, socket": lambda n: peer.round_trips(ping, n),
            "step, socket": lambda n: peer.round_trips(step, n),
            "step, Python client": by_client,
            "tool call, socket": lambda n: peer.calls(name, n),
            "tool call, Python client": lambda n: s.run(f"calls({n})").value,
        }
        took = {part: [] for part in parts}
        for measure in parts.values():
            measure(WARM)
        for _ in range(rounds):
            for part, measure in parts.items():
                took[part] += measure(CALLS_A_ROUND if "tool" in part else STEPS_A_ROUND)
        return {part: spread(numbers) for part, numbers in took.items()}


def descendants(pid):
    todo, found = [pid], []
    while todo:
        pid = todo.pop()
        found.append(pid)
        todo += map(int, pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
    return found


def pss_kb(pid):
    for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1])
    return 0


def sessions(smoljail, _python, _rounds):
    with serving(smoljail, "--max-sessions", str(SESSIONS)) as (server, path):
        peer = Peer(path)
        start = time.perf_counter()
        names = [peer.open() for _ in range(SESSIONS)]
        opened = time.perf_counter()
        for i, name in enumerate(names):
            peer.value(name, f"x = {i}")
        answers = [peer.value(name, "x * 2") for name in names]
        if answers != [2 * i for i in range(SESSIONS)]:
            raise RuntimeError("sessions that answer with another's number")
        trips = [t for name in names for t in peer.round_trips(peer.frame(type="run", session=name, code="1"), 1)]
        found = {"open": {"sessions": SESSIONS, "ms_each": round(1000 * (opened - start) / SESSIONS, 2)},
                 "step, among them": spread(trips)}
        try:
            processes = descendants(server.pid)
            total = sum(map(pss_kb, processes))
            found["memory"] = {"pss_mib_each": round(total / 1024 / SESSIONS, 2), "server_mib": round(pss_kb(server.pid) / 1024, 2),
                               "processes": len(processes)}
        except OSError as e:
            found["memory"] = {"not measured": f"{e.strerror}, run as root"}
        return found


def loops(smoljail, python, rounds):
    """Each round runs the program once inside and once outside."""
    rounds = max(rounds // 3, 10)
    child = subprocess.Popen([python, "-c", LOOPS + "\nfor _ in iter(input, ''): print(*loops(), flush=True)"], text=True,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def outside():
        child.stdin.write("again\n")
        child.stdin.flush()
        return [float(word) for word in child.stdout.readline().split()]

    took = {"inside": [], "outside": []}
    with serving(smoljail) as (_, path):
        peer = Peer(path)
        name = peer.open()
        peer.value(name, LOOPS)

        def inside():
            return peer.value(name, "loops()")["data"]

        for part in (outside, inside):
            part()
        for _ in range(rounds):
            took["outside"].append(outside())
            took["inside"].append(inside())
    child.communicate("\n")
    found = {part: {"median_ms": round(1000 * statistics.median(t[0] for t in times), 2),
                    "cpu_ms": round(1000 * statistics.median(t[1] for t in times), 2),
                    "best_cpu_ms": round(1000 * min(t[1] for t in times), 2)} for part, times in took.items()}
    # Of each round by itself, so that what the machine does meanwhile falls out.
    speed = statistics.median(o[1] / i[1] for o, i in zip(took["outside"], took["inside"]))
    found["speed inside"] = {"of outside": round(speed, 3)}
    return found
