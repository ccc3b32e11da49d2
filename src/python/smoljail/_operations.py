"""What is said to the server for each thing that a session can do, without any waiting.

Each operation is a generator. It yields a message to be sent, or NEXT for the next message that comes for it,
or a Call of the user's callback; it returns the outcome. session.py and aio.py drive them in their own way.

Runs as: the client
Trusts: the server for the shape of its answers
Never: blocks
"""
from __future__ import annotations

import binascii
import os
import re
from typing import Any, Callable, Dict, Generator, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Union

from . import _values
from ._errors import RequestError
from ._results import Collector, FileInfo, Result, as_dict, decoded, display_of, files_of
from ._tools import Toolbox

CHUNK = 1 << 20                 # bytes of a file in one message
NEXT = None

Message = Dict[str, Any]
Size = Union[int, str]
Operation = Generator[Any, Any, Any]


class Call(NamedTuple):
    """A callback of the user, to be called by whoever drives the operation."""

    function: Callable[..., Any]
    args: Sequence[Any]


def answered(message: Message) -> Message:
    """The message, unless it is an error."""
    if message.get("type") == "error":
        raise RequestError(str(message.get("code")), str(message.get("message")), message.get("hint"))
    return message


def one(kind: str, **fields: Any) -> Operation:
    """A request with one answer."""
    yield {"type": kind, **fields}
    return answered((yield NEXT))


# ---- open ---------------------------------------------------------------------------------


def milliseconds(seconds: float) -> str:
    """Seconds as a policy writes a time."""
    return "%dms" % max(1, round(seconds * 1000))


def open_fields(policy: Union[str, Mapping[str, Any], None], timeout: Optional[float], memory: Optional[Size],
                limits: Optional[Mapping[str, Any]], imports: Optional[Iterable[str]], guard: Optional[str],
                env: Optional[Mapping[str, str]], packages: Optional[Iterable[Any]], name: Optional[str]) -> Message:
    """The members of `open`; those that are None are left to the policy."""
    changed = dict(limits or {})
    if timeout is not None:
        changed["wall"] = milliseconds(timeout) if timeout != float("inf") else "none"
    if memory is not None:
        changed["memory"] = str(memory)
    fields: Message = {
        "session": name, "policy": dict(policy) if isinstance(policy, Mapping) else policy, "limits": changed or None,
        "imports": None if imports is None else list(imports), "guard": guard, "env": dict(env) if env else None,
        "packages": [os.path.abspath(os.fspath(p)) for p in packages] if packages else None,
    }
    return {key: value for key, value in fields.items() if value is not None}


# ---- steps --------------------------------------------------------------------------------


def run(session: str, code: str, timeout: Optional[float], filename: Optional[str], value: Optional[str],
        on_output: Optional[Callable[[str, str], Any]], on_display: Optional[Callable[[Any], Any]]) -> Operation:
    """Returns a Result."""
    fields = {"timeout": timeout if timeout != float("inf") else None, "filename": filename, "value": value}
    yield {"type": "run", "session": session, "code": code, **{k: v for k, v in fields.items() if v is not None}}
    collector = Collector()
    while True:
        message = answered((yield NEXT))
        kind = message.get("type")
        if kind == "output":
            stream, text = str(message.get("stream")), str(message.get("data"))
            collector.output(stream, text)
            if on_output is not None:
                yield Call(on_output, (stream, text))
        elif kind == "display":
            display = display_of(message)
            if display is not None:
                collector.display(display)
                if on_display is not None:
                    yield Call(on_display, (display,))
        elif kind == "result":
            return collector.result(message)


# ---- variables ----------------------------------------------------------------------------


def encode_variables(toolbox: Toolbox, variables: Mapping[str, Any], opaque: bool) -> Dict[str, Any]:
    """Variables as the protocol carries them.

    Args:
        opaque: let an object that cannot be carried be there in name, to be passed to tools.

    Raises:
        TypeError: it cannot be carried, and `opaque` is false.
        ValueError: it is too large.
    """
    encoded = {}
    for name, value in variables.items():
        data, truncated = _values.encode_value(value)
        if truncated:
            raise ValueError("variable %r is too large to be sent: %s" % (name, type(value).__name__))
        if toolbox.handles.attach(value, data) and not opaque:
            raise TypeError("variable %r holds a %s, which cannot be sent into the jail: send it as a file, or offer a "
                            "tool that works with it" % (name, type(value).__name__))
        encoded[name] = data
    return encoded


def get(session: str, toolbox: Toolbox, names: List[str]) -> Operation:
    """Returns a dict of the names that exist."""
    message = yield from one("get", session=session, names=names)
    resolve = toolbox.handles.resolve
    return {name: resolve(decoded(data)) for name, data in as_dict(message.get("variables")).items()}


# ---- files --------------------------------------------------------------------------------


def put(session: str, path: str, read: Callable[[int], bytes]) -> Operation:
    """Returns the number of bytes. `read` is that of a file."""
    offset, chunk = 0, read(CHUNK)
    while True:
        following = read(CHUNK) if chunk else b""
        text = binascii.b2a_base64(chunk, newline=False).decode("ascii")
        yield from one("put", session=session, path=path, data=text, offset=offset, last=not following)
        offset += len(chunk)
        if not following:
            return offset
        chunk = following


def fetch(session: str, path: str, write: Callable[[bytes], Any], limit: Optional[int]) -> Operation:
    """Returns the number of bytes. A file that jailed code lets grow meanwhile is read to `limit` bytes and no further."""
    offset = 0
    while True:
        message = yield from one("fetch", session=session, path=path, offset=offset, length=CHUNK)
        chunk = _values.from_base64(str(message.get("data") or ""))
        offset += len(chunk)
        if limit is not None and offset > limit:
            raise ValueError("%s has more than %d bytes" % (path, limit))
        write(chunk)
        if message.get("last") is not False or not chunk:
            return offset


def listing(session: str, path: str) -> Operation:
    """Returns a list of FileInfo."""
    message = yield from one("list", session=session, path=path)
    files: List[FileInfo] = files_of(message)
    return files


# ---- names --------------------------------------------------------------------------------

_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")


def check_name(name: Optional[str]) -> None:
    if name is not None and not _NAME.fullmatch(name):
        raise ValueError("%r cannot be the name of a session: 1 to 64 of A-Z a-z 0-9 . _ -" % name)


__all__ = ["Call", "Message", "NEXT", "Operation", "Result", "Size"]
