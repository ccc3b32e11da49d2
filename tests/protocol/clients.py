"""What a client may not do, and what one client's misbehaviour costs the others: nothing."""
import os
import socket
import stat
import struct
import subprocess
import tempfile
import time

from peer import SMOLJAIL, Peer, Server, SocketServer, descendants, frame, settle


def refused(c, data, code):
    c.raw(data)
    answer = c.receive()
    assert answer["type"] == "error" and answer["code"] == code, (code, answer)
    return answer


def test_before_hello():
    with Server(greet=False) as (_, c):
        refused(c, frame({"type": "ping", "id": 1}), "not_hello")
        refused(c, frame({"type": "hello", "id": 1, "protocol": 2}), "not_hello")
        assert c.ask("hello", protocol=1)["type"] == "hello"


def test_bad_frames_and_messages():
    deep = b'{"type":"ping","id":1,"x":' + b"[" * 64 + b"]" * 64 + b"}"
    wide = b'{"type":"ping","id":1,"x":[' + b"0," * 1600000 + b"0]}"
    bad_frames = [b"x", b"[]", b"{}{}", b'{"type":"ping","id":1', b'{"type":"ping","id":1,"id":2}', b'{"type":"ping","id":NaN}',
                  b'{"type":"ping","id":"\xff"}', b'{"type":"ping","id":"\\ud800"}', b'{"type":"ping","i\\u0064":1}',
                  b'{"type":"ping","id":1,"a\\u0000":1}', b"\0\0\0", deep, wide]
    bad_messages = [{"type": "ping"}, {"id": 1}, {"type": "pong", "id": 1}, {"type": 5, "id": 1}, {"type": "ping", "id": 1, "x": 1},
                    {"type": "ping", "id": -1}, {"type": "ping", "id": 2**53}, {"type": "ping", "id": "x" * 65}, {"type": "ping", "id": None},
                    {"type": "ping", "id": 1.5}, {"type": "run", "id": 1, "session": "s"}, {"type": "run", "id": 1, "session": 1, "code": ""},
                    {"type": "run", "id": 1, "session": "s", "code": ["x"]}, {"type": "open", "id": 1, "session": "a/b"},
                    {"type": "open", "id": 1, "session": ""}, {"type": "open", "id": 1, "session": "x" * 65},
                    {"type": "open", "id": 1, "guard": "none"}, {"type": "open", "id": 1, "imports": [1]},
                    {"type": "tools", "id": 1, "session": "s", "tools": {}}]
    with Server() as (_, c):
        for bad in bad_frames:
            refused(c, frame(bad), "bad_frame")
        for bad in bad_messages:
            refused(c, frame(bad), "bad_message")
        for kind in ("install", "checkpoint", "restore", "fork"):
            c.session(session=kind)
            assert c.ask(kind, session=kind)["code"] == "unsupported"
        assert c.ask("open", backend="remote")["code"] == "unsupported"
        assert c.ask("ping")["type"] == "pong"


def test_ids_come_back_as_they_were():
    with Server() as (_, c):
        for written in (b'0', b'9007199254740991', b'"x"', b'"\\u00e9\\""', b'""'):
            c.raw(frame(b'{"id": ' + written + b' , "type":"ping"}'))
            data = b""
            while len(data) < 4 or len(data) < 4 + struct.unpack(">I", data[:4])[0]:
                data += os.read(c.reader, 1000)
            assert b'"id":' + written + b"}" in data, data


def test_illegal_lengths_end_the_stream():
    for head in (b"\0\0\0\0", b"\1\0\0\1", b"\xff\xff\xff\xff"):
        with Server() as (server, c):
            refused(c, head, "bad_frame")
            assert c.receive() is None and server.process.wait(10) == 0


def test_bytes_one_by_one():
    with Server() as (_, c):
        for byte in frame({"type": "ping", "id": 5}) * 2:
            c.raw(bytes([byte]))
        assert [c.receive()["type"], c.receive()["type"]] == ["pong", "pong"]


def test_largest_frame():
    with Server() as (_, c):
        s = c.session(limits={"wall": "50s"})
        text = "x" * (16777216 - len(frame({"type": "set", "id": 999, "session": s, "variables": {"v": ""}})) + 4 - 8)
        c.count = 998
        answer = c.ask("set", session=s, variables={"v": text})
        assert answer["type"] in ("ok", "error"), answer
        assert c.ask("ping")["type"] == "pong"


def test_names_and_sessions():
    with Server("--max-sessions", "2") as (_, c):
        c.session(session="a")
        assert c.ask("open", session="a")["code"] == "exists"
        assert c.ask("run", session="b", code="")["code"] == "no_session"
        assert c.ask("run", session="a\0", code="")["code"] == "no_session"
        c.session()
        assert c.ask("open")["code"] == "too_many"
        c.ask("close", session="a")
        c.session(session="a")


def test_only_tighter():
    with Server() as (_, c):
        for wish, word in ((dict(limits={"memory": "2G"}), "limits.memory"), (dict(policy="open"), ""), (dict(policy="shell"), ""),
                           (dict(policy={"network": {"mode": "host"}, "syscalls": {"allow": ["@python"]}}), "network"),
                           (dict(policy={"extends": "python", "files": {"read": ["/etc:/data"]}}), "/etc"),
                           (dict(policy={"extends": "python", "env": {"pass": ["HOME"]}}), "env.pass"),
                           (dict(policy={"extends": "python", "syscalls": {"allow": ["inotify_add_watch"]}}), "inotify_add_watch"),
                           (dict(policy={"extends": "python", "landlock": "off"}), "landlock"),
                           (dict(packages=["/usr"]), "packages"), (dict(limits={"wall": "none"}), "limits.wall")):
            answer = c.ask("open", **wish)
            assert answer.get("code") == "not_allowed" and word in answer["message"], (wish, answer)
        for wish in (dict(limits={"memory": "100M", "pids": 10, "wall": 5}), dict(policy="python-strict"), dict(env={"A": "b"}),
                     dict(policy={"extends": "python", "syscalls": {"deny": ["socket"]}})):
            c.session(**wish)
        for wish in (dict(policy="nonsense"), dict(policy="/etc/passwd"), dict(policy={"extends": "/etc/passwd"}), dict(policy={"x": 1}),
                     dict(limits={"memory": "1"}), dict(limits={"nothing": 1}), dict(policy={"limits": {"wall": [1]}})):
            answer = c.ask("open", **wish)
            assert answer.get("code") == "bad_policy" and answer["message"], (wish, answer)
    with Server("--allow-loosen") as (_, c):
        c.session(limits={"memory": "600M"})


def test_environment():
    with Server() as (_, c):
        s = c.session(env={"MINE": "1"})
        assert c.run(s, "import os; (os.environ['MINE'], 'SMOLJAIL' in os.environ)")["value"] == {"__type__": "tuple", "data": ["1", False]}


def test_socket_mode_and_strangers():
    with tempfile.TemporaryDirectory(dir="/tmp") as folder, SocketServer(folder) as server:  # a stranger must get there
        assert stat.S_IMODE(os.stat(server.path).st_mode) == 0o600
        one, two = server.connect(), server.connect()
        s = one.session(session="mine")
        assert two.ask("run", session=s, code="1")["code"] == "no_session"
        assert two.session(session="mine") == "mine"
        assert one.run(s, "1")["value"] == 1
        second = subprocess.run([SMOLJAIL, "serve", "--socket", server.path], capture_output=True, text=True, timeout=20, check=False)
        assert second.returncode == 2 and "another server listens" in second.stderr, second
        if os.geteuid() == 0:
            os.chmod(folder, 0o755)
            os.chmod(server.path, 0o666)
            code = (f"import socket; s = socket.socket(socket.AF_UNIX); s.connect({server.path!r}); s.settimeout(10)\n"
                    "try: s.sendall(b'x' * 100)\nexcept OSError: pass\n"
                    "try: d = s.recv(1)\nexcept ConnectionResetError: d = b''\nraise SystemExit(0 if d == b'' else 1)")
            stranger = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/python3", "-c", code], check=False)
            assert stranger.returncode == 0, "another user was served"
        one.close()
        two.close()


def test_a_stale_socket_is_replaced_and_a_file_is_not():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "s")
        dead = socket.socket(socket.AF_UNIX)
        dead.bind(path)
        dead.close()
        with SocketServer(folder) as server:
            c = server.connect()
            assert c.ask("ping")["type"] == "pong"
            c.close()
        assert not os.path.exists(path)
        with open(path, "w") as f:
            f.write("precious")
        r = subprocess.run([SMOLJAIL, "serve", "--socket", path], capture_output=True, text=True, timeout=20, check=False)
        assert r.returncode == 2 and open(path).read() == "precious", r


def test_a_client_that_goes_takes_its_sessions_along():
    with tempfile.TemporaryDirectory() as folder, SocketServer(folder) as server:
        stays, goes = server.connect(), server.connect()
        keep = stays.session()
        before = len(descendants(server.process.pid))
        for _ in range(3):
            s = goes.session()
        goes.send("run", session=s, code="import time; time.sleep(60)")
        goes.raw(frame({"type": "ping", "id": 1})[:7])      # and half a frame
        goes.close()
        assert settle(lambda: len(descendants(server.process.pid)) == before), descendants(server.process.pid)
        assert stays.run(keep, "1")["value"] == 1
        stays.close()


def test_a_client_that_does_not_read_delays_nobody():
    with tempfile.TemporaryDirectory() as folder, SocketServer(folder) as server:
        slow, quick = server.connect(), server.connect()
        s, q = slow.session(limits={"wall": "50s"}), quick.session()
        number = slow.send("run", session=s, code="for i in range(15): print('x' * 1000000)\n77")
        slow.writer_blocked = False
        for _ in range(5):
            start = time.monotonic()
            assert quick.run(q, "1")["value"] == 1
            assert time.monotonic() - start < 5
        seen = slow.until(number)
        assert sum(len(m["data"]) for m in seen if m["type"] == "output") == 15000015 and seen[-1]["value"] == 77
        slow.close()
        quick.close()


def test_more_output_than_any_queue_holds():
    """First nothing is read, then more slowly than it is written: all of it arrives."""
    with tempfile.TemporaryDirectory() as folder, SocketServer(folder, "--allow-loosen") as server:
        c = server.connect()
        s = c.session(limits={"output": "1G", "wall": "200s"})
        number = c.send("run", session=s, code="import os\nfor i in range(3200): os.write(1, b'x' * 65536)\n77")
        time.sleep(1)
        count, last = 0, {}
        while last.get("type") != "result":
            last = c.receive()
            count += len(last["data"]) if last["type"] == "output" else 0
        assert (count, last["status"], last["value"]) == (3200 * 65536, "ok", 77), (count, last)
        c.close()


def test_a_flood_of_requests_without_reading():
    with tempfile.TemporaryDirectory() as folder, SocketServer(folder) as server:
        flood, quick = server.connect(), server.connect()
        q = quick.session()
        os.set_blocking(flood.writer, False)
        block, sent = frame({"type": "stats", "id": "x" * 60}) * 1000, 0
        deadline = time.monotonic() + 3
        while time.monotonic() < deadline:
            try:
                sent += os.write(flood.writer, block)
            except BlockingIOError:
                if sent and quick.run(q, "1")["value"] != 1:
                    break
        assert quick.run(q, "2")["value"] == 2
        memory = quick.ask("stats")["memory"]
        assert memory < 400 << 20, memory
        flood.close()
        quick.close()


def test_too_many_clients():
    with tempfile.TemporaryDirectory() as folder, SocketServer(folder) as server:
        first = server.connect()
        others = []
        for _ in range(300):
            s = socket.socket(socket.AF_UNIX)
            try:
                s.connect(server.path)
            except OSError:
                pass
            others.append(s)
        assert first.ask("ping")["type"] == "pong"
        for s in others:
            s.close()
        assert settle(lambda: Peer_ok(server)), "nobody is let in any more"
        first.close()


def Peer_ok(server):
    try:
        c = server.connect()
    except (OSError, EOFError, AssertionError):
        return False
    c.close()
    return True


def test_signals_end_it():
    for sig in (15, 2, 1):
        with tempfile.TemporaryDirectory() as folder, SocketServer(folder) as server:
            c = server.connect()
            c.send("run", session=c.session(), code="import time; time.sleep(60)")
            time.sleep(0.1)
            server.process.send_signal(sig)
            assert server.process.wait(10) == 0
            assert not os.path.exists(server.path)
            c.close()


def test_killed_server_takes_all_along():
    with tempfile.TemporaryDirectory() as folder, SocketServer(folder) as server:
        c = server.connect()
        c.session()
        inside = descendants(server.process.pid)
        assert inside
        server.process.kill()
        server.process.wait()
        assert settle(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in inside)), inside
        c.close()


def test_idle_sessions_are_closed():
    with Server("--idle-timeout", "300ms") as (_, c):
        s = c.session()
        assert c.run(s, "import time; time.sleep(0.6); 1")["value"] == 1
        closed = c.receive()
        assert (closed["type"], closed["id"], closed["session"]) == ("closed", None, s), closed
        assert c.ask("run", session=s, code="1")["code"] == "no_session"


def test_wrong_use():
    for options in (["--max-sessions", "0"], ["--max-sessions", "x"], ["--max-sessions", "5000"], ["--idle-timeout", "soon"], ["--allow-uid", "me"],
                    ["--socket"], ["--nonsense"], ["extra"], ["--policy", "nonsense"], ["--socket", "/nowhere/s"], ["--socket", "/tmp/" + "x" * 200]):
        r = subprocess.run([SMOLJAIL, "serve", *options], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20, check=False)
        assert r.returncode == 2 and r.stderr.startswith("smoljail:") and not r.stdout, (options, r)


def test_the_server_confines_itself():
    with Server() as (server, c):
        fields = dict(line.split(":", 1) for line in open(f"/proc/{server.process.pid}/status") if ":" in line)
        assert fields["Seccomp"].strip() == "2" and fields["NoNewPrivs"].strip() == "1", fields
        # A jail's own refusals come out, and are reported, as without it.
        r = c.run(c.session(), "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n(libc.ptrace(0, 0, 0, 0), ctypes.get_errno())")
        assert r["value"] == {"__type__": "tuple", "data": [-1, 1]}, r
        assert not r["denied"] or r["denied"][0]["syscall"] == "ptrace", r
