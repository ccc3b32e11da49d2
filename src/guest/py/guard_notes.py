"""What the guards refused in a step, for the step's result.

Runs as: the guest, in untrusted hands
Trusts: nothing
Never: keeps more than KEPT kinds, or a text longer than TEXT_MAX
"""
import sys

from ._values import scrub

KEPT = 16
TEXT_MAX = 200          # characters
_refused = {}           # (rule, what) -> as it is sent


def _place():
    """The step's own frame that is nearest."""
    frame = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith("<") and not code.co_filename.startswith("<frozen"):
            return {"file": scrub(code.co_filename[:TEXT_MAX]), "function": scrub(code.co_name[:TEXT_MAX]),
                    "line": frame.f_lineno}
        frame = frame.f_back
    return {}


def note(rule, what):
    key = rule, scrub(what[:TEXT_MAX])
    if key in _refused:
        _refused[key]["count"] += 1
    elif len(_refused) < KEPT:
        _refused[key] = {"rule": rule, "what": key[1], "count": 1, **_place()}


def take():
    """The list for the result of this step; the next one begins anew."""
    found = list(_refused.values())
    _refused.clear()
    return found
