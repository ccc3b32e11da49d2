"""What the suites of injected faults share: which calls fail how, and playing many faults with nothing left in between.

A fault is PROCESS:CALL:ERRNO, PROCESS:CALL:ERRNO:late or PROCESS:CALL:kill, in the words of tests/loaders/fail-call.c.
FAULTS=all: every call with each of several errors and with the death of its process; else one error a call, and deaths
at some. FAULTS=FAULT plays one.
"""
import collections
import concurrent.futures
import errno
import functools
import os
import re
import subprocess
import unittest

import aftermath
import tap

FAIL_CALL = str(tap.BUILD / "tests" / "fail-call")
FAULTS = os.environ.get("FAULTS", "")
AT_ONCE = 2
print = functools.partial(print, flush=True)
LATE = 50               # seconds: set-up itself gives up after 30
DEATHS_EVERY = 5
ERRORS_DOC = (tap.TREE / "docs" / "ERRORS.md").read_text()

# What a program sees of its jail, in `seen`.
LOOK = """
import json, os, resource, sys
status = dict(line.split(':\\t', 1) for line in open('/proc/self/status').read().splitlines() if ':\\t' in line)
seen = {key: status[key].split() for key in ('Uid', 'Gid', 'Groups', 'NoNewPrivs', 'Seccomp', 'CapInh', 'CapPrm', 'CapEff', 'CapBnd',
        'CapAmb', 'SigIgn', 'SigBlk', 'Umask')}
seen['mounts'] = sorted(' '.join(line.split()[i] for i in (3, 4, 5)) + line.split(' - ')[1].split()[0]
                        for line in open('/proc/self/mountinfo').read().splitlines())
seen['limits'] = [[name, *resource.getrlimit(getattr(resource, name))] for name in sorted(dir(resource)) if name.startswith('RLIMIT_')]
seen['fds'] = sorted(fd for fd in os.listdir('/proc/self/fd') if int(fd) < 3)
seen['more fds'] = [fd for fd in os.listdir('/proc/self/fd') if int(fd) > 3]
seen['uid_map'] = open('/proc/self/uid_map').read().split()
seen['host'] = os.uname().nodename
seen['net'] = sorted(line.split(':')[0].strip() for line in open('/proc/self/net/dev') if ':' in line)
seen['ids'] = [os.getsid(0), os.getpgrp(), os.getcwd(), sorted(os.environ)]
seen['processes'] = sorted(p for p in os.listdir('/proc') if p.isdigit() and p != str(os.getpid()))
"""


def names():
    """Numbers of system calls as words, for people."""
    table = {}
    for header in ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm-generic/unistd.h"):
        if os.path.exists(header):
            with open(header) as f:
                for name, number in re.findall(r"#define __NR_(\w+)\s+(\d+)", f.read()):
                    table.setdefault(int(number), name)
            break
    return table


NAMES = names()
FAILS_WITH = {
    errno.ENOMEM: "mmap mprotect brk clone clone3 mremap munmap seccomp",
    errno.EMFILE: "open openat openat2 socket socketpair pipe2 memfd_create dup dup2 dup3 fcntl signalfd4 epoll_create1 open_tree",
    errno.ENOSPC: "epoll_ctl",
    errno.EIO: "read write pread64 pwrite64 readv writev sendmsg recvmsg sendto recvfrom getdents64 fstat newfstatat statx ftruncate",
}
CANNOT_FAIL = ("getuid", "geteuid", "getgid", "getegid", "getpid", "getppid", "gettid", "umask", "exit", "exit_group")
OTHERS = (errno.EPERM, errno.EINTR, errno.ENOSYS, errno.EINVAL)


def errors_of(name):
    first = next((e for e, words in FAILS_WITH.items() if name in words.split()), errno.EPERM)
    return [first] + ([e for e in OTHERS if e != first] if FAULTS == "all" else [])


def without_stranger(seen):
    """Root's jail has a stranger's id outside, another one each time."""
    if os.getuid() == 0 and int(seen["uid_map"][1]) >= 0x70000000:
        seen["uid_map"][1] = "STRANGER"
    return seen


def calls_of(lines):
    """(process, call, number of the system call) of each that a listing tells."""
    return [tuple(map(int, line.split())) for line in lines if line[0].isdigit()]


def until_confined(calls):
    """Without what a process does under a filter of its own: the program's calls are its own affair."""
    kept, confined = [], set()
    for task, call, nr in calls:
        if task == 0 or task not in confined:
            kept.append((task, call, nr))
        if NAMES.get(nr) == "seccomp":
            confined.add(task)
    return kept


def prelude(calls):
    """How many calls the C library's own start has, which can only end the program when one fails."""
    own = [NAMES.get(nr) for task, _, nr in calls if task == 0]
    return max((at + 1 for at, name in enumerate(own[:25]) if name in ("arch_prctl", "rseq", "mprotect")), default=0)


class Suite(unittest.TestCase):
    """A suite has `work`, whose play(fault) returns an end; `calls` of a run without a fault; and wrong(end, death)."""

    work = calls = None
    failures_every, deaths_every = 1, DEATHS_EVERY

    def wrong(self, end, death):
        """What is wrong with an end, None: nothing."""
        raise NotImplementedError

    def leftovers(self):
        """Both lanes stand still when this is asked."""
        def none():
            aftermath.reap()
            return not aftermath.descendants()
        aftermath.settled(none)
        left = [f"process {pid} {name}" for pid, name in aftermath.descendants().items()]
        aftermath.end(aftermath.descendants())
        return left

    def play_all(self, faults, death=False):
        """Play them two at a time, in batches after which nothing may be left; print what is wrong."""
        bad, ends = [], collections.Counter()
        pids = set()
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            for at in range(0, len(faults), 50):
                batch = list(pool.map(self.work.play, faults[at:at + 50]))
                for end in batch:
                    why = self.wrong(end, death)
                    ends[f"status {end.status}"] += 1
                    pids.add(end.pid)
                    if why:
                        bad.append(f"{why}: {end.told()}")
                bad += [f"left by one of {faults[at]}...: {what}" for what in self.leftovers()]
        if death: # what a killed supervisor leaves of control groups goes with the next run
            subprocess.run([tap.SMOLJAIL, "run", "-c", "pass"], check=True, timeout=LATE)
        bad += [f"mount left: {point}" for point in aftermath.mounts() if self.work.folder.name in point]
        if not aftermath.settled(lambda: not aftermath.groups(pids)):
            bad.append(f"left: {aftermath.groups(pids)}")
        print("# %d faults: %s" % (len(faults), ", ".join(f"{n} x {what}" for what, n in sorted(ends.items()))))
        for text in bad[:8]:
            print("# " + text[:1500].replace("\n", "\n#   "))
        self.assertEqual(len(bad), 0)

    def faults(self, task):
        if FAULTS and FAULTS != "all":
            return [FAULTS] if FAULTS.startswith(f"{task}:") and FAULTS[-1].isdigit() else []
        every = 1 if FAULTS == "all" else self.failures_every
        return [f"{t}:{call}:{error}" for t, call, nr in self.calls if t == task and NAMES.get(nr) not in CANNOT_FAIL
                and call % every == 0 for error in errors_of(NAMES.get(nr, ""))]

    def late_faults(self, task, since):
        """Of the calls from the first of that name on; the others go on meanwhile, as far as they can."""
        if FAULTS and FAULTS != "all":
            return [FAULTS] if FAULTS.startswith(f"{task}:") and FAULTS.endswith("late") else []
        begin = next(call for t, call, nr in self.calls if t == task and NAMES.get(nr) == since)
        return [f"{fault}:late" for fault in self.faults(task) if int(fault.split(":")[1]) >= begin]

    def deaths(self, task):
        if FAULTS and FAULTS != "all":
            return [FAULTS] if FAULTS.startswith(f"{task}:") and FAULTS.endswith("kill") else []
        every = 1 if FAULTS == "all" else self.deaths_every
        return [f"{t}:{call}:kill" for t, call, _ in self.calls if t == task and call % every == 0]
