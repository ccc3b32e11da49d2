"""Messages to and from the host, and the calls of many threads over one channel.

Runs as: the guest, in untrusted hands
Trusts: the host
Never: has two readers, sends a call when no step runs, comes back once the host is gone
"""
import _smoljail
import _thread
import posix

from _json import encode_basestring, make_encoder, make_scanner

FOLLOWER_WAKES = 0.05           # seconds; the main thread looks for interrupts when another thread reads


class _Rules:
    """What the scanner asks its caller for."""
    strict, memo = True, {}
    object_hook = object_pairs_hook = None
    parse_float, parse_int = float, int

    @staticmethod
    def parse_constant(name):
        raise ValueError("%s is no JSON" % name)


_encode = make_encoder(None, None, encode_basestring, None, ":", ",", False, False, False)
_scan = make_scanner(_Rules)


def to_text(message):
    return "".join(_encode(message, 0))


def send(message):
    """ValueError when it is larger than a frame may be, or holds what JSON cannot."""
    _smoljail.write(to_text(message).encode())


# ---- who reads ------------------------------------------------------------------
#
# Any thread that waits for an answer may read for all. The others sleep, and
# the reader wakes one when it has got what it wanted itself.

class _Slot:
    __slots__ = ("lock", "message")

    def __init__(self):
        self.lock = _thread.allocate_lock()
        self.lock.acquire()
        self.message = None

    def wake(self):
        try:
            self.lock.release()
        except RuntimeError:
            pass                # awake already


_reader = _thread.allocate_lock()
_gate = _thread.allocate_lock()         # between calls and the end of a step
_main = _Slot()
_commands = []
_open = {}
_running = False
_last_call = 0


def _read_one():
    try:
        message = _scan(_smoljail.read().decode(), 0)[0]
    except EOFError:
        posix._exit(0)
    if message.get("type") != "tool_result":
        _commands.append(message)
        _main.message = message
        _main.wake()
        return
    slot = _open.get(message.get("call"))
    if slot:
        slot.message = message
        slot.wake()


def _wait(slot):
    while slot.message is None:
        if _reader.acquire(False):
            try:
                while slot.message is None:
                    _read_one()
            finally:
                _reader.release()
                for other in [_main, *_open.values()]:
                    if other is not slot:
                        other.wake()
        elif slot.lock.acquire(True, FOLLOWER_WAKES if slot is not _main else -1):
            pass
        else:
            _smoljail.mask(False)       # raises here if an interrupt is due
            _smoljail.mask(True)


def next_command():
    while not _commands:
        _main.message = None
        if not _commands:
            _wait(_main)
    return _commands.pop(0)


# ---- steps and calls --------------------------------------------------------------

def begin_step():
    global _running
    _running = True


def end_step(message):
    """Nothing is sent for this step after `message`, whatever its threads still do."""
    global _running
    with _gate:
        # Before the host hears of the end: what it sends next may be read by a thread that waits here.
        _running = False
        for slot in _open.values():
            slot.message = {"error": {"type": "ToolError", "message": "the step that made this call has ended"}}
            slot.wake()
        _open.clear()
        send(message)


def send_in_step(message):
    """False when no step runs: the host would not permit it."""
    with _gate:
        if _running:
            send(message)
        return _running


def call(tool, args, kwargs):
    """One call of a host tool: the host's answer, or None when no step runs."""
    global _last_call
    slot, number = _Slot(), 0
    _smoljail.mask(True)
    try:
        with _gate:
            if not _running:
                return None
            number = _last_call = _last_call + 1
            _open[number] = slot
            send({"type": "tool_call", "call": number, "tool": tool, "args": args, "kwargs": kwargs})
        _wait(slot)
    finally:
        _open.pop(number, None)
        _smoljail.mask(False)
    return slot.message
