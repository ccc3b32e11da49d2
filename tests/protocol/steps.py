"""What an honest client sees: opening, steps, limits, tools, files, the end."""
import base64
import time

from peer import LATE, Server, descendants, settle


def test_hello_and_open():
    with Server() as (_, c):
        again = c.ask("hello", protocol=1)
        assert again["protocol"] == 1 and again["limits"] == {"frame": 16777216, "sessions": 64}, again
        opened = c.ask("open", session="a.b-c_1")
        assert opened["session"] == "a.b-c_1" and opened["backend"] == "local" and "seccomp" in opened["isolation"], opened
        assert set(opened["enforced_by"]) >= {"memory", "wall", "disk", "output"}, opened
        assert c.ask("hello", protocol=1)["python"] == opened["python"]
        assert c.ask("ping")["type"] == "pong"


def test_state_and_values():
    with Server() as (_, c):
        s = c.session()
        r, out, _ = c.output(s, "x = 20\nprint('hi')\nx + 1")
        assert (r["status"], r["value"], r["repr"], r["state"], out) == ("ok", 21, "21", "kept", "hi\n"), r
        assert c.run(s, "y = x * 2", value="last_stmt")["value"] == 40
        assert c.run(s, "y")["value"] == 40
        assert r["output"] == {"stdout": 3, "stderr": 0, "truncated": False, "replaced": 0}, r
        assert set(r["usage"]) == {"wall_ms", "cpu_ms", "memory_peak"}, r


def test_values_pass_unchanged():
    with Server() as (_, c):
        s = c.session()
        sent = {"f": 0.1, "n": [1, 2.5, None, True], "t": "a\u0000b\u00e9\U0001f600", "big": 2**53 - 1}
        assert c.ask("set", session=s, variables={"v": sent})["type"] == "ok"
        got = c.ask("get", session=s, names=["v", "nothing"])
        assert got["type"] == "variables" and got["variables"]["v"] == sent and got["missing"] == ["nothing"], got


def test_errors_and_exit():
    with Server() as (_, c):
        s = c.session()
        r = c.run(s, "a = 1\ndef f():\n    return 1 / 0\nf()")
        assert r["status"] == "error" and r["error"]["type"] == "ZeroDivisionError" and r["state"] == "kept", r
        r = c.run(s, "import sys; sys.exit(3)")
        assert (r["status"], r["exit_code"], r["state"]) == ("exit", 3, "kept"), r
        assert c.run(s, "a")["value"] == 1
        r = c.run(s, "import os; os._exit(7)")
        assert (r["status"], r["exit_code"], r["state"]) == ("exit", 7, "reset"), r
        assert c.run(s, "a")["error"]["type"] == "NameError"
        r = c.run(s, "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
        assert (r["status"], r["state"]) == ("signal", "reset"), r


def test_output_at_descriptor_level():
    with Server() as (_, c):
        s = c.session()
        r, out, err = c.output(s, "import os, subprocess, sys\nprint('one', flush=True)\nos.write(1, b'two\\n')\n"
                                  "subprocess.run(['sh', '-c', 'echo three; echo oops >&2'])\nos.write(2, b'\\xe2\\x82')")
        assert out == "one\ntwo\nthree\n" and err == "oops\n\ufffd", (out, err)
        assert r["output"]["replaced"] == 1 and r["output"]["stderr"] == 7, r


def test_characters_over_chunks():
    with Server() as (_, c):
        s = c.session()
        r, out, _ = c.output(s, "import os\ndata = ('\u20ac' * 100001).encode()\n"
                                "for i in range(0, len(data), 7): os.write(1, data[i:i+7])")
        assert out == "\u20ac" * 100001 and r["output"]["replaced"] == 0, (len(out), r)
        _, out, _ = c.output(s, "import os; os.write(1, b'a\\xffb\\xe2\\x82c\\xed\\xa0\\x80\\xf0\\x9f\\x98')")
        assert out == b"a\xffb\xe2\x82c\xed\xa0\x80\xf0\x9f\x98".decode("utf-8", "replace"), ascii(out)


def test_timeout_keeps_state():
    with Server() as (_, c):
        s = c.session()
        c.run(s, "x = 5")
        start = time.monotonic()
        r = c.run(s, "while True: pass", timeout=0.3)
        assert (r["status"], r["state"]) == ("timeout", "kept"), r
        assert time.monotonic() - start < LATE
        for _ in range(5):
            assert c.run(s, "x")["value"] == 5      # no interrupt comes late
        r = c.run(s, "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])\nwhile True: pass", timeout=0.2)
        assert (r["status"], r["state"]) == ("timeout", "reset"), r
        assert c.run(s, "'x' in globals()")["value"] is False


def test_timeout_without_cpu_keeps_state():
    """A hundredth of a CPU, in one piece a second: for longer than the grace time nothing in the jail can run."""
    with Server() as (_, c):
        s = c.session(limits={"cpus": "0.01"})
        c.run(s, "x = 5")
        r = c.run(s, "while True: pass", timeout=0.3)
        assert (r["status"], r["state"]) == ("timeout", "kept"), r
        assert c.run(s, "x")["value"] == 5


def test_refusals_of_guards():
    with Server() as (_, c):
        s = c.session(imports=["math"])
        r = c.run(s, "import math\ndef f():\n    import socket\nfor _ in range(3):\n    try: f()\n    except ImportError: pass\nimport os.path")
        wanted = [("import of socket", "imports", 3, {"file": "<step 1>", "function": "f", "line": 3}),
                  ("import of os.path", "imports", 1, {"file": "<step 1>", "function": "<module>", "line": 7})]
        got = [(d["what"], d["rule"], d["count"], {k: d["where"][k] for k in ("file", "function", "line")}) for d in r["denied"]]
        assert got == wanted, r["denied"]
        first = r["denied"][0]
        assert (first["layer"], first["seen_by"], first["syscall"], first["errno"], first["allow_flag"]) == ("guard", "guest", None, None, None), r
        assert "imports" in first["allow_with"] and first["never"] is None, first
        assert c.run(s, "math.pi > 3")["denied"] == []
        again = c.run(s, "import socket")["denied"]
        assert [(d["what"], d["count"]) for d in again] == [("import of socket", 1)], again
        compat = c.session(guard="compat")
        r = c.run(compat, "().__class__")
        assert [(d["rule"], d["layer"]) for d in r["denied"]] == [("guard", "guard")] and "native" in r["denied"][0]["allow_with"], r["denied"]
        report = c.ask("close", session=s)["report"]
        assert {d["what"]: d["count"] for d in report["denied"]} == {"import of socket": 4, "import of os.path": 1}, report["denied"]


def test_interrupt():
    with Server() as (_, c):
        s = c.session()
        assert c.ask("interrupt", session=s)["code"] == "not_running"
        number = c.send("run", session=s, code="x = 1\nprint('go', flush=True)\nimport time\ntime.sleep(60)")
        while c.receive()["type"] != "output":
            pass
        assert c.ask("run", session=s, code="1")["code"] == "busy"
        assert c.ask("interrupt", session=s)["type"] == "ok"
        r = c.until(number)[-1]
        assert (r["status"], r["state"]) == ("interrupted", "kept"), r
        assert c.run(s, "x")["value"] == 1


def test_limits():
    with Server() as (_, c):
        s = c.session(limits={"output": 1000, "memory": "64M", "wall": "20s"})
        r, out, _ = c.output(s, "while True: print('x' * 99)")
        assert (r["status"], len(out), r["output"]["truncated"]) == ("output_limit", 1000, True), r
        assert c.run(s, "1")["value"] == 1
        r = c.run(s, "big = bytearray(500_000_000)\nfor i in range(0, len(big), 4096): big[i] = 1")
        assert r["status"] == "oom", r
        assert c.run(s, "2")["value"] == 2
        assert c.ask("run", session=s, code="1", timeout=60)["code"] == "not_allowed"


def test_cpu_limit_is_per_step():
    with Server() as (_, c):
        s = c.session(limits={"cpu_time": "500ms"})
        burn = "import time\nend = time.process_time() + %s\nwhile time.process_time() < end: pass"
        for _ in range(3):
            assert c.run(s, burn % 0.25)["status"] == "ok"
        r = c.run(s, burn % 30)
        assert (r["status"], r["state"]) == ("cpu_limit", "kept"), r


def test_denials_per_step():
    with Server() as (_, c):
        s = c.session()
        code = "import ctypes\nctypes.CDLL(None).reboot(0)"
        first, second, third = c.run(s, code), c.run(s, "1"), c.run(s, code)
        if not first["denied"]:
            return      # somebody above us listens: denials are refused unseen
        assert [d["count"] for d in first["denied"]] == [d["count"] for d in third["denied"]] == [1], (first, third)
        assert second["denied"] == []


def test_tools():
    with Server() as (_, c):
        s = c.session()
        tool = {"name": "add", "kind": "rpc", "description": "", "inputs": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "output_type": "integer"}
        assert c.ask("tools", session=s, tools=[tool])["type"] == "ok"
        number = c.send("run", session=s, code="try:\n    r = add(1, b=2)\nexcept ValueError as e:\n    r = str(e)\nr")
        call = c.receive()
        assert (call["type"], call["id"], call["tool"]) == ("tool_call", number, "add"), call
        assert c.ask("tool_result", session=s, call=call["call"] + 1, value=1)["code"] == "not_running"
        assert c.ask("tool_result", session=s, call=call["call"])["code"] == "bad_message"
        c.send("tool_result", session=s, call=call["call"], error={"type": "ValueError", "message": "no"})
        r = c.until(number)[-1]
        assert r["status"] == "ok" and "no" in r["value"], r
        assert c.ask("tool_result", session=s, call=call["call"], value=1)["code"] == "not_running"


def test_waiting_for_a_tool_is_free():
    with Server() as (_, c):
        s = c.session()
        c.ask("tools", session=s, tools=[{"name": "slow", "kind": "rpc"}])
        number = c.send("run", session=s, code="slow() + 1", timeout=0.3)
        call = c.receive()
        time.sleep(0.8)
        c.send("tool_result", session=s, call=call["call"], value=41)
        r = c.until(number)[-1]
        assert (r["status"], r["value"]) == ("ok", 42), r


def test_a_step_that_computes_while_it_waits_is_timed():
    with Server() as (_, c):
        s = c.session()
        c.ask("tools", session=s, tools=[{"name": "slow", "kind": "rpc"}])
        r = c.run(s, "import threading\nthreading.Thread(target=slow, daemon=True).start()\nwhile True: pass", timeout=0.5)
        assert r["status"] == "timeout", r


def test_a_lost_interrupt_is_sent_again():
    """As one that comes between the guest's last look and its waiting for the tool."""
    with Server() as (_, c):
        s = c.session()
        c.ask("tools", session=s, tools=[{"name": "never", "kind": "rpc"}])
        r = c.run(s, "import signal\nseen = []\ndef first_is_lost(*_):\n    seen.append(1)\n    if len(seen) > 1:\n"
                     "        raise KeyboardInterrupt\nsignal.signal(signal.SIGINT, first_is_lost)")
        assert r["status"] == "ok", r
        number = c.send("run", session=s, code="never()")
        assert c.receive()["type"] == "tool_call"
        time.sleep(0.3)     # until it waits
        c.ask("interrupt", session=s)
        r = c.until(number)[-1]
        assert (r["status"], r["state"]) == ("interrupted", "kept"), r
        assert c.run(s, "len(seen)")["value"] == 2


def test_tools_that_require_packages():
    with Server() as (_, c):
        s = c.session()
        tool = {"name": "double", "kind": "source", "source": "def double(x):\n    return 2 * x\n"}
        assert c.ask("tools", session=s, tools=[{**tool, "requirements": ["json", "sqlite3 >= 3"]}])["type"] == "ok"
        assert c.run(s, "double(4)")["value"] == 8
        r = c.ask("tools", session=s, tools=[{**tool, "requirements": ["no-such_package[all]>=2"]}])
        assert r["code"] == "bad_message" and '"no-such_package[all]>=2"' in r["message"], r
        assert "pip install --target DIR no-such_package," in r["message"], r
        for bad in ("numpy", [1], [""], ["-r file"]):
            r = c.ask("tools", session=s, tools=[{**tool, "requirements": bad}])
            assert r["code"] == "bad_message" and "requirements" in r["message"], r


def test_tools_after_a_reset():
    with Server() as (_, c):
        s = c.session()
        c.ask("tools", session=s, tools=[{"name": "double", "kind": "source", "source": "def double(x):\n    return 2 * x\n"}])
        assert c.run(s, "double(4)")["value"] == 8
        assert c.run(s, "import os; os._exit(0)")["state"] == "reset"
        assert c.run(s, "double(5)")["value"] == 10


def test_final_answer():
    with Server() as (_, c):
        s = c.session()
        r = c.run(s, "try:\n    final_answer([1, 2])\nexcept Exception:\n    pass\nprint('never')")
        assert (r["is_final_answer"], r["value"]) == (True, [1, 2]), r


def test_files():
    with Server() as (_, c):
        s = c.session()
        data = bytes(range(256)) * 10
        assert c.ask("put", session=s, path="a.bin", data=base64.b64encode(data).decode())["type"] == "ok"
        r = c.run(s, "open('b.txt', 'w').write('new')\nopen('a.bin', 'ab').write(b'!')\nNone")
        assert r["files"]["new"] == ["b.txt"] and r["files"]["changed"] == ["a.bin"], r
        got = c.ask("fetch", session=s, path="a.bin", offset=1)
        assert base64.b64decode(got["data"]) == data[1:] + b"!" and got["last"] is True and got["size"] == len(data) + 1, got
        assert {f["path"] for f in c.ask("list", session=s)["files"]} >= {"a.bin", "b.txt"}
        assert c.ask("fetch", session=s, path="missing")["code"] == "not_found"
        for bad in ("YWJj\nZGVm", "YWJ", "YW-j", "YWJj====", "YWJj YWJj", "YR=="):
            assert c.ask("put", session=s, path="bad", data=bad)["code"] == "bad_message", bad
        assert c.ask("fetch", session=s, path="bad")["code"] == "not_found"


def test_background_output_belongs_to_the_next_step():
    with Server() as (_, c):
        s = c.session()
        c.run(s, "import threading, time\nthreading.Timer(0.1, lambda: print('late', flush=True)).start()")
        time.sleep(0.5)
        assert c.output(s, "1")[1] == "late\n"


def test_the_interpreter_ends_between_steps():
    with Server() as (_, c):
        s = c.session()
        c.run(s, "import threading, os\nthreading.Timer(0.1, os._exit, [1]).start()")
        lost = c.receive()
        assert (lost["type"], lost["id"], lost["code"], lost["session"]) == ("error", None, "lost", s), lost
        assert c.run(s, "3")["value"] == 3


def test_closed_output_and_replaced_interpreter():
    with Server() as (_, c):
        s = c.session()
        assert c.run(s, "import os\nos.close(1)\nos.close(2)\n5")["value"] == 5
        assert c.run(s, "6")["value"] == 6
        r = c.run(s, "import os\nos.execv('/bin/sh', ['sh', '-c', 'sleep 60'])", timeout=10)
        assert (r["status"], r["state"]) == ("lost", "reset"), r
        r, out, _ = c.output(s, "print(7)")
        assert out == "7\n", r


def test_close_and_shutdown():
    with Server() as (server, c):
        s = c.session()
        number = c.send("run", session=s, code="import time; time.sleep(60)")
        closed = c.send("close", session=s)
        r = c.until(number)[-1]
        assert (r["status"], r["state"]) == ("interrupted", "ended"), r
        report = c.until(closed)[-1]
        assert report["type"] == "closed" and report["report"]["schema"] == "smoljail.report/1", report
        assert report["report"]["session"] == "closed" and report["report"]["steps"] == 1, report
        assert c.ask("run", session=s, code="1")["code"] == "no_session"
        c.session()
        assert c.ask("shutdown")["type"] == "ok"
        assert c.receive() is None and server.process.wait(10) == 0
        assert settle(lambda: not descendants(server.process.pid))


def test_end_of_input_answers_what_was_asked():
    with Server() as (server, c):
        c.send("open", session="a")
        number = c.send("run", session="a", code="import time; time.sleep(0.3); 9")
        server.process.stdin.close()
        assert c.until(number)[-1]["value"] == 9
        assert c.receive() is None and server.process.wait(10) == 0


def test_many_sessions_at_once():
    with Server() as (_, c):
        names = [c.session() for _ in range(8)]
        numbers = [c.send("run", session=s, code="import time; time.sleep(0.5); 1") for s in names]
        start, open_ = time.monotonic(), set(numbers)
        while open_:
            m = c.receive()
            if m["type"] == "result":
                assert m["status"] == "ok", m
                open_.discard(m["id"])
        assert time.monotonic() - start < 0.5 * len(names)
        assert c.ask("stats")["sessions"] == 8
