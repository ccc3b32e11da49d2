"""What can go wrong between this process and a jail.

Runs as: the client
Trusts: nothing
Never: stands for a failure of the jailed program itself, but for StepError, which is asked for
"""
from __future__ import annotations

from typing import Optional

__all__ = ["NotFound", "ProtocolError", "RequestError", "ServerLost", "SmoljailError", "StepError"]


class SmoljailError(Exception):
    """Every error that this package raises by itself is one of these."""


class NotFound(SmoljailError):
    """No smoljail program on this machine, or one that cannot be started."""


class ServerLost(SmoljailError):
    """The server ended, and its sessions with it. A new session starts a new server."""


class ProtocolError(ServerLost):
    """The server sent something that is not the protocol; it was ended."""


class RequestError(SmoljailError):
    """The server refused a request.

    Attributes:
        code: one of the words of docs/protocol.md, "Error codes", such as "busy" or "bad_policy".
        hint: how to mend it, or None.
    """

    def __init__(self, code: str, message: str, hint: Optional[str] = None) -> None:
        super().__init__("%s: %s%s" % (code, message, " (%s)" % hint if hint else ""))
        self.code, self.message, self.hint = code, message, hint

    def __reduce__(self):
        return RequestError, (self.code, self.message, self.hint)


class StepError(SmoljailError):
    """A step did not end well, and the caller asked to be told by exception.

    Attributes:
        result: the step's Result.
    """

    def __init__(self, result) -> None:
        super().__init__(result.reason)
        self.result = result

    def __reduce__(self):
        return StepError, (self.result,)
