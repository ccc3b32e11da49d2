"""Threads for tool calls: as many as are needed at once, kept for the next call.

Runs as: the client
Trusts: nothing
Never: keeps the interpreter from ending
"""
from __future__ import annotations

import collections
import os
import queue
import threading
from typing import Callable, Deque

IDLE_SECONDS = 10.0             # a thread without work for so long ends
CALLS_AT_ONCE = 32              # of one session; more wait for their turn

_Job = Callable[[], None]


class Workers:
    """Runs jobs in threads of their own. No job waits for another one's end, so nested calls cannot lock up."""

    def __init__(self) -> None:
        self._clear()
        os.register_at_fork(after_in_child=self._clear)

    def _clear(self) -> None:
        self._jobs: queue.SimpleQueue = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._idle = 0          # threads that wait, less jobs that are on their way to one

    def submit(self, job: _Job) -> None:
        """Run the job soon. It must not raise."""
        with self._lock:
            start = self._idle <= 0
            if not start:
                self._idle -= 1
        if start:
            threading.Thread(target=self._work, args=(job,), name="smoljail-tool", daemon=True).start()
        else:
            self._jobs.put(job)

    def _work(self, job: _Job) -> None:
        jobs, lock = self._jobs, self._lock
        while True:
            job()
            del job
            with lock:
                self._idle += 1
            try:
                job = jobs.get(timeout=IDLE_SECONDS)
            except queue.Empty:
                with lock:
                    if self._idle > 0:
                        self._idle -= 1
                        return
                # Somebody counts on this thread.
                job = jobs.get()


workers = Workers()


class Turns:
    """Jobs of one session: so many at once, the others in the order of their coming."""

    def __init__(self, at_once: int = CALLS_AT_ONCE) -> None:
        self._lock = threading.Lock()
        self._waiting: Deque[_Job] = collections.deque()
        self._free = at_once

    def submit(self, job: _Job) -> None:
        with self._lock:
            if self._free == 0:
                self._waiting.append(job)
                return
            self._free -= 1
        workers.submit(lambda: self._run(job))

    def _run(self, job: _Job) -> None:
        while True:
            job()
            with self._lock:
                if not self._waiting:
                    self._free += 1
                    return
                job = self._waiting.popleft()
