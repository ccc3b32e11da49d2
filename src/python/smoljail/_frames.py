"""Frames of the protocol: a length of four bytes, then one JSON object.

Runs as: the client
Trusts: nothing that it reads; the server passes on what hostile code made
Never: allocates for a length that is out of bounds, takes JSON that the protocol does not allow
"""
from __future__ import annotations

import json
import re
from typing import Any, Dict, Iterator, List

from ._errors import ProtocolError

MAX_FRAME = 16 << 20            # bytes of JSON
MAX_DEPTH = 64                  # arrays and objects within each other
MAX_KEY = 256                   # bytes
MAX_DIGITS = 4300               # of an integer that int() reads in no time; longer ones are shown, not counted
HEAD = 4                        # bytes

_LONG_INTEGER = re.compile(rb"[0-9]{%d}" % (MAX_DIGITS + 1))
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":")).encode


def pack(message: Dict[str, Any]) -> bytes:
    """The frame of a message.

    Raises:
        ValueError: NaN, text that is no valid Unicode, or more than MAX_FRAME bytes.
    """
    try:
        body = _encode(message).encode("utf-8")
    except UnicodeEncodeError as e:
        raise ValueError("text with a lone surrogate (%r) cannot be sent" % e.object[e.start]) from None
    if len(body) > MAX_FRAME:
        raise ValueError("a %s message of %d bytes; at most %d can be sent" % (message.get("type"), len(body), MAX_FRAME))
    return len(body).to_bytes(HEAD, "big") + body


# ---- JSON, strictly ---------------------------------------------------------------


def _object(pairs: List[Any]) -> Dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a name comes twice in an object")
    for key in result:
        if len(key) > MAX_KEY or "\0" in key:
            raise ValueError("a name of an object is too long, or has a NUL")
    return result


def _constant(word: str) -> Any:
    raise ValueError("%s is no JSON" % word)


def _integer(text: str) -> Any:
    if len(text) <= MAX_DIGITS:
        return int(text)
    return {"__type__": "opaque", "type": "int", "repr": text[:100] + "..."}


_decode = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant).decode
_decode_long = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant, parse_int=_integer).decode


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [v for c in level for v in (c.values() if type(c) is dict else c) if type(v) in (dict, list)]
        if not level:
            return
    raise ValueError("more than %d levels" % MAX_DEPTH)


def _check_text(value: Any) -> None:
    """Raises UnicodeEncodeError, a ValueError, for escapes that are half a character."""
    json.dumps(value, ensure_ascii=False).encode("utf-8")


def unpack(body: bytes) -> Dict[str, Any]:
    """The object of a frame.

    Raises:
        ValueError: it breaks a rule of the protocol.
    """
    text = body.decode("utf-8")
    try:
        message = (_decode_long if _LONG_INTEGER.search(body) else _decode)(text)
    except RecursionError:
        raise ValueError("more than %d levels" % MAX_DEPTH) from None
    if type(message) is not dict:
        raise ValueError("not an object")
    if body.count(b"[") + body.count(b"{") > MAX_DEPTH:
        _check_depth(message)
    if _SURROGATE.search(body):
        _check_text(message)
    return message


class Splitter:
    """Cuts a stream of bytes into messages, whatever pieces it comes in."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Dict[str, Any]]:
        """Messages that are complete now.

        Raises:
            ProtocolError: nothing after this can be trusted.
        """
        buffer = self._buffer
        buffer += data
        while len(buffer) >= HEAD:
            length = int.from_bytes(buffer[:HEAD], "big")
            if not 1 <= length <= MAX_FRAME:
                raise ProtocolError("the server sent a frame of %d bytes; 1 to %d are legal" % (length, MAX_FRAME))
            if len(buffer) < HEAD + length:
                return
            body = bytes(buffer[HEAD:HEAD + length])
            del buffer[:HEAD + length]
            try:
                message = unpack(body)
            except ValueError as e:
                raise ProtocolError("the server sent a frame that breaks the protocol: %s" % e) from None
            yield message

    @property
    def pending(self) -> int:
        """Bytes of a frame that has not come whole."""
        return len(self._buffer)
