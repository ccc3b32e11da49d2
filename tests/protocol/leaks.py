"""Ten thousand steps and a thousand sessions, and nothing is left of them."""
import os
import unittest

from peer import Server, descendants, settle

STEPS, SESSIONS = 10000, 1000
SLACK = 8 << 20     # bytes of the server's memory


def state(server):
    pid = server.process.pid
    memory = int(open(f"/proc/{pid}/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE")
    return len(os.listdir(f"/proc/{pid}/fd")), len(descendants(pid)), memory


def needs_exact_memory():
    if os.environ.get("ASAN_OPTIONS"):
        raise unittest.SkipTest("the address sanitizer keeps what was freed")


def test_steps():
    needs_exact_memory()
    with Server() as (server, c):
        s = c.session()
        for _ in range(500):
            c.run(s, "x = 1\nprint(x)")
        before = state(server)
        for _ in range(STEPS // 100):
            for _ in range(98):
                c.run(s, "x += 1\nprint(x)\nx")
            c.run(s, "1 / 0")
            c.run(s, "import sys; sys.exit(1)")
        after = state(server)
        assert after[:2] == before[:2] and after[2] < before[2] + SLACK, (before, after)
        assert c.ask("stats")["steps"] == STEPS + 500


def test_sessions():
    needs_exact_memory()
    with Server() as (server, c):
        def some(n):
            for i in range(n):
                s = c.session()
                if i % 4 == 0:
                    c.run(s, "import os; os._exit(1)" if i % 8 else "1")
                c.ask("close", session=s)

        some(50)
        before = state(server)
        some(SESSIONS)
        assert settle(lambda: state(server)[:2] == before[:2]), (before, state(server))
        assert state(server)[2] < before[2] + SLACK, (before, state(server))
