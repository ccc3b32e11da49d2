"""Standard library modules that most sessions never need, imported when one is.

Runs as: the guest, in untrusted hands
Trusts: nothing
Never: finds a module in the work folder, where a step may have put one of the same name
"""
import sys

_PATHS = [p for p in sys.path if p]


def stdlib(name):
    module = sys.modules.get(name)
    if module is None:
        users = sys.path[:]
        sys.path[:] = _PATHS
        try:
            __import__(name)
        finally:
            sys.path[:] = users
        module = sys.modules[name]
    return module
