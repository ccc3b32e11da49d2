"""What a step, a run and a file listing come back as.

Runs as: the client
Trusts: the server for the shape of its answers; not what jailed code put into them
Never: lets a value that cannot be decoded become an exception of the host
"""
from __future__ import annotations

import binascii
import dataclasses
from typing import Any, Dict, List, Optional

from . import _values
from ._errors import StepError

KEPT = "kept"
ENDED = "ended"                 # the session is no more

# What a step's status means, for a sentence. "ok", "error" and "exit" have words of their own.
_STOPPED = {
    "timeout": "its time was up",
    "interrupted": "it was interrupted",
    "oom": "it ran out of memory",
    "cpu_limit": "its CPU time was up",
    "output_limit": "it wrote more than it may",
    "pids_limit": "it started more processes and threads than it may",
    "disk_limit": "its disk was full",
    "signal": "the interpreter was killed by a signal",
    "violation": "the session broke the protocol",
    "lost": "the jail was lost",
}


@dataclasses.dataclass(frozen=True)
class Display:
    """Something that a step showed: a figure, an image, anything with a rich form.

    Attributes:
        mime: the first of the forms in data.
        data: mime type -> bytes.
    """

    mime: str
    data: Dict[str, bytes]

    def image(self) -> Any:
        """The PNG form as PIL.Image.Image, or None where there is none, it is no PNG, or Pillow is not installed."""
        raw = self.data.get("image/png")
        if raw is None:
            return None
        text = binascii.b2a_base64(raw, newline=False).decode("ascii")
        value = decoded({"__type__": "PIL.Image", "data": text})
        return None if isinstance(value, _values.Opaque) else value


@dataclasses.dataclass(frozen=True)
class ErrorInfo:
    """An exception that a step did not catch.

    Attributes:
        type: name of its class.
        message: its text.
        line: of the step, the innermost that took part; None if there is none.
        source: text of that line.
        traceback: as Python prints it.
    """

    type: str
    message: str
    line: Optional[int] = None
    source: Optional[str] = None
    traceback: str = ""

    def __str__(self) -> str:
        return "%s: %s" % (self.type, self.message) if self.message else self.type


@dataclasses.dataclass(frozen=True)
class Result:
    """How a step ended (docs/protocol.md, "result").

    Attributes:
        status: "ok", "error", "exit", "timeout", "interrupted", "oom", "cpu_limit", "output_limit", "pids_limit",
            "disk_limit", "signal", "violation" or "lost".
        value: of the last expression, or the answer; an Opaque where it could not be carried.
        value_truncated: it was too large, and only repr is given.
        repr: repr() of the value, at most 20,000 characters, or None.
        is_final_answer: the step called final_answer().
        stdout, stderr: what it wrote, C code and child processes included.
        logs: both together, in the order of coming.
        displays: what it showed.
        error: of status "error", else None.
        exit_code: of SystemExit, else None.
        state: "kept"; or "reset": the interpreter was lost, and a fresh one answers the next step; or "ended": the
            session is no more.
        usage: wall_ms, cpu_ms (milliseconds), memory_peak (bytes).
        files: new and changed paths in the work folder, under "new" and "changed"; "truncated".
        denied: what the step was refused, and what would allow it.
        output: numbers of bytes; "truncated": something was left out.
    """

    status: str
    value: Any = None
    value_truncated: bool = False
    repr: Optional[str] = None
    is_final_answer: bool = False
    stdout: str = ""
    stderr: str = ""
    logs: str = ""
    displays: List[Display] = dataclasses.field(default_factory=list)
    error: Optional[ErrorInfo] = None
    exit_code: Optional[int] = None
    state: str = KEPT
    usage: Dict[str, Any] = dataclasses.field(default_factory=dict)
    files: Dict[str, Any] = dataclasses.field(default_factory=dict)
    denied: List[Dict[str, Any]] = dataclasses.field(default_factory=list)
    output: Dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """The step ran to its end, or called final_answer()."""
        return self.status == "ok"

    @property
    def reason(self) -> str:
        """One sentence: how it ended."""
        if self.status == "ok":
            text = "the step ended well"
        elif self.status == "exit":
            text = "the step ended by SystemExit with status %s" % self.exit_code
        elif self.error is not None and self.status == "error":
            text = str(self.error)
        else:
            text = "the step was stopped: %s" % _STOPPED.get(self.status, self.status)
        if self.state == ENDED:
            text += "; the session is closed"
        elif self.state != KEPT:
            text += "; the interpreter was started anew, without the variables of earlier steps"
        return text

    def raise_for_status(self) -> "Result":
        """This result, or StepError when its status is not "ok"."""
        if not self.ok:
            raise StepError(self)
        return self


@dataclasses.dataclass(frozen=True)
class FileInfo:
    """One entry of the work folder. kind: "file", "dir" or "other"; size in bytes; mtime in seconds since 1970."""

    path: str
    size: int
    kind: str
    mtime: float


# ---- from the server's messages ---------------------------------------------------------


def decoded(data: Any) -> Any:
    """The value, or an Opaque that says why there is none: jailed code may send nonsense."""
    try:
        return _values.decode(data)
    except _values.ValuesError as e:
        return _values.Opaque("undecodable", "<undecodable value: %s>" % e)


def as_dict(value: Any) -> Dict[str, Any]:
    return value if type(value) is dict else {}


def as_text(value: Any) -> str:
    return value if type(value) is str else ""


def display_of(message: Dict[str, Any]) -> Optional[Display]:
    """None when nothing of it can be decoded."""
    forms = {}
    for mime, text in as_dict(message.get("data")).items():
        try:
            forms[mime] = _values.from_base64(as_text(text))
        except ValueError:
            continue
    if not forms:
        return None
    mime = message.get("mime")
    return Display(mime if mime in forms else next(iter(forms)), forms)


def _error_of(data: Any) -> Optional[ErrorInfo]:
    if type(data) is not dict:
        return None
    line, source = data.get("line"), data.get("source")
    return ErrorInfo(as_text(data.get("type")) or "Exception", as_text(data.get("message")),
                     line if type(line) is int else None, source if type(source) is str else None,
                     as_text(data.get("traceback")))


class Collector:
    """Gathers what comes while a step runs, into its Result."""

    def __init__(self) -> None:
        self._parts: List[Any] = []
        self._displays: List[Display] = []

    def output(self, stream: str, text: str) -> None:
        self._parts.append((stream, text))

    def display(self, display: Display) -> None:
        self._displays.append(display)

    def result(self, message: Dict[str, Any]) -> Result:
        status, exit_code, shown = message.get("status"), message.get("exit_code"), message.get("repr")
        parts = self._parts
        return Result(
            status=status if type(status) is str else "lost",
            value=decoded(message.get("value")), value_truncated=message.get("value_truncated") is True,
            repr=shown if type(shown) is str else None, is_final_answer=message.get("is_final_answer") is True,
            stdout="".join([t for s, t in parts if s == "stdout"]),
            stderr="".join([t for s, t in parts if s == "stderr"]),
            logs="".join([t for s, t in parts]), displays=self._displays, error=_error_of(message.get("error")),
            exit_code=exit_code if type(exit_code) is int else None, state=as_text(message.get("state")) or KEPT,
            usage=as_dict(message.get("usage")), files=as_dict(message.get("files")),
            denied=[d for d in message.get("denied") or () if type(d) is dict],
            output=as_dict(message.get("output")))


def files_of(message: Dict[str, Any]) -> List[FileInfo]:
    entries = message.get("files")
    return [FileInfo(as_text(e.get("path")), int(e.get("size") or 0), as_text(e.get("kind")), float(e.get("mtime") or 0))
            for e in (entries if type(entries) is list else ()) if type(e) is dict]
