"""What a run may not leave behind, asked right after it: processes, control groups, mounts, descriptors of the host."""
import ctypes
import os
import re
import signal
import time

PR_SET_CHILD_SUBREAPER = 36
SETTLE = 10             # seconds that what is dying has


def adopt_orphans():
    """Orphans below this process come to it, so that none is missed."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)


def _table():
    table = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", errors="replace") as f:
                    text = f.read()
            except OSError:
                continue
            state, parent = text[text.rindex(")") + 2:].split()[:2]
            table[int(entry)] = (int(parent), state, text[text.index("(") + 1:text.rindex(")")])
    return table


def descendants(top=None):
    """pid -> name of what lives below a process, zombies apart."""
    table, found, grown = _table(), {top or os.getpid()}, True
    while grown:
        more = {pid for pid, (parent, _, _) in table.items() if parent in found} - found
        grown, found = bool(more), found | more
    return {pid: table[pid][2] for pid in found if pid in table and pid != (top or os.getpid()) and table[pid][1] != "Z"}


def reap():
    """Zombies that came to this process; not to be called while children of its own are awaited elsewhere."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def groups(only_of=None):
    """Our control groups that exist; only_of: of these supervisors (pids)."""
    found = set()
    for line in open("/proc/self/cgroup"):
        _, controllers, path = line.rstrip("\n").split(":", 2)
        for place in (controllers.removeprefix("name="), "unified" if not controllers else "", "."):
            folder = os.path.normpath(f"/sys/fs/cgroup/{place}/{path}")
            if place and os.path.exists(f"{folder}/cgroup.procs"):
                for name in os.listdir(folder):
                    match = re.fullmatch(r"smoljail-(\d+)-\d+-\d+", name)
                    if match and (only_of is None or int(match[1]) in only_of):
                        found.add(f"{folder}/{name}")
                break
    return found


def mounts():
    with open("/proc/self/mountinfo") as f:
        return sorted(line.split()[4] for line in f)


def settled(condition, seconds=SETTLE):
    """Wait until it holds; what it says in the end."""
    deadline = time.monotonic() + seconds
    while not (value := condition()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return value


def end(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
