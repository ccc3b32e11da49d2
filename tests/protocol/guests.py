"""A guest that was taken over: whatever it writes, its session ends or goes on, and no other notices."""
import os
import tempfile
import time

from peer import Server, SocketServer, settle

# The channel, as the program in the jail finds it.
FIND = """
import os, socket, struct, json, time
def channel():
    for fd in map(int, os.listdir('/proc/self/fd')):
        try:
            if os.readlink(f'/proc/self/fd/{fd}').startswith('socket:'):
                return fd
        except OSError:
            pass
fd = channel()
def raw(data):
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view):]
def frame(m):
    body = m if isinstance(m, bytes) else json.dumps(m).encode()
    raw(struct.pack('>I', len(body)) + body)
"""


def attack(code, timeout=20):
    """What the client is told of a session in which that runs; another session must not notice."""
    with Server() as (_, c):
        other, s = c.session(), c.session()
        assert c.run(other, "x = 1")["status"] == "ok"
        seen = c.until(c.send("run", session=s, code=FIND + code, timeout=timeout))
        if seen[-1]["status"] == "violation":
            assert seen[-1]["state"] == "ended", seen[-1]
            assert c.ask("run", session=s, code="1")["code"] == "no_session"
        assert c.run(other, "x")["value"] == 1
        return seen


def ends(code):
    result = attack(code + "\ntime.sleep(10)")[-1]
    assert result["status"] == "violation" and result["reason"], (code, result)


def test_the_channel_can_be_found():
    assert attack("print(fd is not None)")[0]["data"] == "True\n"


def test_illegal_lengths():
    for head in ("b'\\0\\0\\0\\0'", "b'\\1\\0\\0\\1'", "b'\\xff\\xff\\xff\\xff'"):
        ends(f"raw({head})")


def test_no_json():
    for body in ("b'x'", "b'[]'", "b'{}{}'", "b'{'", "b'\\xff\\xfe'", "b'{\"type\":\"done\",\"type\":\"done\"}'", "b'{\"type\":NaN}'",
                 "b'{\"x\":' + b'[' * 70 + b']' * 70 + b'}'", "b'{\"x\":[' + b'0,' * 1600000 + b'0]}'", "b'[' * 16000000",
                 "b'{\"ty\\\\u0070e\":\"done\",\"status\":\"ok\"}'"):
        ends(f"frame({body})")


def test_messages_that_are_not_in_the_table():
    for message in ({"type": "run"}, {"type": "result", "status": "ok"}, {"type": "hello", "python": "3"}, {"type": "answer", "ok": True},
                    {"type": "done"}, {"type": "done", "status": "fine"}, {"type": "done", "status": "ok", "id": 3}, {"type": "done", "status": "ok", "x": 1},
                    {"type": "display", "data": []}, {"type": "display", "data": {"image/png": 5}}, {"type": "tool_call", "call": "x", "tool": "t", "args": [], "kwargs": {}},
                    {"type": "tool_call", "call": 1, "tool": "t", "args": {}, "kwargs": {}}, {"type": "tool_call", "call": 2**60, "tool": "t", "args": [], "kwargs": {}},
                    {"no": "type"}, {"type": None}):
        ends(f"frame({message!r})")


def test_twice_the_same_call():
    call = {"type": "tool_call", "call": 1, "tool": "t", "args": [], "kwargs": {}}
    ends(f"frame({call!r})\nframe({call!r})")


def test_too_many_calls():
    ends("for i in range(2000): frame({'type': 'tool_call', 'call': i + 1000, 'tool': 't', 'args': [], 'kwargs': {}})")


def test_forged_done():
    with Server() as (_, c):
        other, s = c.session(), c.session()
        forged = c.run(s, FIND + "frame({'type': 'done', 'status': 'ok', 'value': 'forged'})\ntime.sleep(0.2)")
        assert forged["status"] == "ok" and forged["value"] == "forged", forged
        # Its true end comes unasked.
        assert settle(lambda: c.ask("run", session=s, code="1").get("code") in ("no_session", "violation"))
        assert c.run(other, "1")["value"] == 1


def test_forged_kernel_facts():
    seen = attack("frame({'type': 'done', 'status': 'ok', 'value': None, 'error': {'type': 'x', 'usage': 1}})\nos._exit(0)")
    assert seen[-1]["status"] == "ok" and seen[-1]["usage"]["wall_ms"] > 0, seen


def test_refusals_that_no_guard_makes():
    good = {"rule": "imports", "what": "import of os", "count": 1}
    for refused in ([{**good, "rule": "syscalls"}], [{**good, "what": ""}], [{**good, "what": 7}], [{**good, "count": -1}], [{**good, "count": 1e30}],
                    [{**good, "count": None}], [7], [[]], [good] * 17, [{}]):
        ends(f"frame({{'type': 'done', 'status': 'ok', 'refused': {refused!r}}})")
    seen = attack("frame({'type': 'done', 'status': 'ok', 'refused': [{'rule': 'guard', 'what': 'x\\033[2J' + 'y' * 9999, 'count': 1, "
                  "'file': 7, 'line': -5, 'function': []}]})\nos._exit(0)")
    denied = seen[-1]["denied"]
    assert len(denied) == 1 and len(denied[0]["what"]) < 256 and "\033" not in denied[0]["what"] and denied[0]["seen_by"] == "guest", denied


def test_half_a_frame():
    result = attack("raw(struct.pack('>I', 1000) + b'{')\nos.close(fd)\ntime.sleep(30)", timeout=10)[-1]
    assert (result["status"], result["state"]) == ("lost", "reset"), result
    result = attack("raw(struct.pack('>I', 1000) + b'{')\nos._exit(3)")[-1]
    assert (result["status"], result["state"]) == ("exit", "reset"), result


def test_half_a_frame_and_silence():
    result = attack("raw(struct.pack('>I', 16000000) + b'{' + b' ' * 5000000)\nwhile True:\n  try: time.sleep(60)\n  except BaseException: pass", timeout=1)[-1]
    assert (result["status"], result["state"]) == ("timeout", "reset"), result


def test_descriptors_do_not_get_out():
    with Server() as (server, c):
        import os
        fds = f"/proc/{server.process.pid}/fd"
        other, s = c.session(), c.session()
        code = FIND + ("s = socket.socket(fileno=os.dup(fd))\nnull = os.open('/dev/null', os.O_RDONLY)\n"
                       "try:\n    socket.send_fds(s, [b'\\0\\0\\0\\x02{}'], [null])\nexcept OSError as e:\n    print(e.errno)\ntime.sleep(5)\n")
        before = len(os.listdir(fds))
        seen = c.until(c.send("run", session=s, code=code, timeout=10))
        # Newer kernels refuse it to the guest, all others to the session.
        told = [m["data"] for m in seen if m["type"] == "output" and m["stream"] == "stdout"]
        assert seen[-1]["status"] == "violation" or told == ["1\n"], seen
        assert len(os.listdir(fds)) <= before
        assert c.run(other, "1")["value"] == 1


def test_floods():
    with Server() as (_, c):
        other, s = c.session(), c.session()
        number = c.send("run", session=s, timeout=2, code=FIND + "while True: frame({'type': 'display', 'data': {'text/plain': 'eA=='}})")
        slowest, done = 0, False
        while not done:
            start = time.monotonic()
            ask = c.send("run", session=other, code="1")
            while True:
                m = c.receive()
                done = done or (m["id"] == number and m["type"] == "result")
                if m["id"] == ask and m["type"] == "result":
                    break
            slowest = max(slowest, time.monotonic() - start)
        assert slowest < 5, slowest


def test_large_displays_while_nobody_reads():
    with Server() as (server, c):
        s = c.session()
        c.send("run", session=s, timeout=3, code=FIND + "data = 'A' * 12000000\nwhile True: frame({'type': 'display', 'data': {'text/plain': data}})")
        time.sleep(2)
        rss = int(open(f"/proc/{server.process.pid}/statm").read().split()[1]) * 4096
        assert rss < 500 << 20, rss


def test_frames_as_large_as_may_be():
    with Server() as (_, c):
        s, big = c.session(), 16777216 - 65536
        head, tail = '{"type":"done","status":"ok","value":"', '"}'
        text = f"b'{head}' + b'x' * (%d - {len(head) + len(tail)}) + b'{tail}'"
        c.run(s, FIND + f"frame({text % big})\ntime.sleep(0.3)")
        s = c.session()
        assert c.run(s, FIND + f"frame({text % (big + 1)})\ntime.sleep(5)")["status"] == "violation"
    ends("frame({'type': 'display', 'data': {'x' * 1000: ''}})")


def test_garbage_on_standard_output():
    seen = attack("import sys\nos.write(1, struct.pack('>I', 5) + b'{\"type\":\"result\"}' + bytes(range(128)))\n1")
    assert seen[-1]["status"] == "ok" and seen[-1]["value"] == 1, seen


def test_messages_between_steps():
    with Server() as (_, c):
        other, s = c.session(), c.session()
        c.run(s, FIND + "import threading\nthreading.Timer(0.1, frame, [{'type': 'display', 'data': {}}]).start()")
        ended = c.receive()
        assert (ended["type"], ended["id"], ended["code"], ended["session"]) == ("error", None, "violation", s), ended
        assert c.ask("run", session=s, code="1")["code"] == "no_session"
        assert c.run(other, "1")["value"] == 1


def test_a_guest_that_does_not_read():
    with Server() as (_, c):
        other, s = c.session(), c.session(limits={"wall": "2s"})
        c.run(s, "import threading, os, signal\nthreading.Timer(0.1, os.kill, [os.getpid(), signal.SIGSTOP]).start()")
        time.sleep(0.4)
        answer = c.ask("set", session=s, variables={"v": "x" * 8000000})
        assert answer["type"] == "error" and answer["code"] == "lost", answer
        assert c.run(s, "5")["value"] == 5
        assert c.run(other, "1")["value"] == 1


def test_a_result_that_is_answered_after_death():
    with Server() as (_, c):
        s = c.session()
        c.ask("tools", session=s, tools=[{"name": "t", "kind": "rpc"}])
        number = c.send("run", session=s, code="import threading, os\nthreading.Timer(0.2, os._exit, [0]).start()\nt()")
        call = c.receive()
        assert c.until(number)[-1]["state"] == "reset"
        assert c.ask("tool_result", session=s, call=call["call"], value=1)["code"] == "not_running"
        second = c.send("run", session=s, code="t()")
        assert (again := c.receive())["call"] != call["call"]
        c.send("tool_result", session=s, call=again["call"], value=6)
        assert c.until(second)[-1]["value"] == 6


def cpu_of(pid):
    """Seconds that a process has had so far."""
    with open(f"/proc/{pid}/stat") as f:
        return sum(map(int, f.read().rsplit(")", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")


def memory_of(pid):
    with open(f"/proc/{pid}/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def is_quiet(pid):
    before = cpu_of(pid)
    time.sleep(1)
    return cpu_of(pid) - before < 0.3


def test_an_end_that_cannot_be_read_yet_costs_nothing():
    """The client's queue is full, so nothing of the guest is read; then the guest closes all it has."""
    with tempfile.TemporaryDirectory() as folder, SocketServer(folder, "--allow-loosen") as server:
        c, other = server.connect(), server.connect()
        s, o = c.session(limits={"output": "256M", "wall": "120s"}), other.session()
        number = c.send("run", session=s, code=FIND + """
import threading
written = 0
def flood():
    global written
    while True:
        written += os.write(1, b'x' * 65536)
threading.Thread(target=flood, daemon=True).start()
before = -1
while written != before:
    before = written
    time.sleep(1)
socket.socket(fileno=fd).shutdown(socket.SHUT_RDWR)
time.sleep(100)
""")
        assert settle(lambda: is_quiet(server.process.pid), 60)
        time.sleep(3)
        assert is_quiet(server.process.pid)
        assert os.environ.get("ASAN_OPTIONS") or memory_of(server.process.pid) < 100 << 20
        assert other.run(o, "6 * 7")["value"] == 42
        seen = c.until(number)
        assert seen[-1]["status"] in ("lost", "violation", "error", "signal"), seen[-1]
        c.close()
        other.close()


def test_what_came_before_the_queue_was_full_is_served():
    """The guest has sent its last message when its client begins to read, and sends nothing more."""
    with tempfile.TemporaryDirectory() as folder, SocketServer(folder, "--allow-loosen") as server:
        c = server.connect()
        s = c.session(limits={"wall": "300s"})
        number = c.send("run", session=s, code=FIND + """
body = json.dumps({'type': 'display', 'data': {'text/html': 'x' * 9000000}}).encode()
for _ in range(8):
    frame(body)
77""")
        time.sleep(2)
        seen = c.until(number, 60)
        assert (len(seen), seen[-1]["status"], seen[-1].get("value")) == (9, "ok", 77), str(seen[-1])[:500]
        c.close()
