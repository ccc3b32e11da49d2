"""A step's result as the text that a model reads.

Runs as: the client
Trusts: nothing
Never: gives a model more than it can read
"""
from __future__ import annotations

from .._results import KEPT, Result

TEXT_MAX = 20_000               # characters
DENIED_SHOWN = 3
# Of a tool that runs code.
DESCRIPTION = ("Run Python code in a sandbox. Variables, imports and files in the current folder are kept from call to call. "
               "Returns what the code printed and the value of its last expression. There is no network.")


def shorten(text: str, limit: int = TEXT_MAX) -> str:
    """Start and end of a long text."""
    if len(text) <= limit:
        return text
    return "%s\n... %d characters left out ...\n%s" % (text[:limit // 2], len(text) - limit, text[-limit // 2:])


def describe(result: Result, limit: int = TEXT_MAX) -> str:
    """What was written, the value, the error, and what else has to be known."""
    parts = [shorten(result.logs, limit)]
    if result.ok and result.repr is not None:
        parts.append(shorten(result.repr, limit))
    if not result.ok:
        error = result.error
        parts.append(shorten(error.traceback, limit) if result.status == "error" and error is not None else result.reason)
    parts += ["Refused by the sandbox: %s" % d["what"] for d in result.denied[:DENIED_SHOWN] if d.get("what")]
    if result.state != KEPT and result.status == "error":
        parts.append("The interpreter was started anew: variables of earlier steps are gone.")
    return "\n".join(part.rstrip("\n") for part in parts if part)
