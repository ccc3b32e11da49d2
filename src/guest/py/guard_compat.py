"""Guard "compat": what LocalPythonExecutor of smolagents allows, refuses and says.

Runs as: the guest, in untrusted hands
Trusts: nothing; this is advice to whoever writes the steps, no boundary
Never: is a reason to believe that a step did not do something
"""
import _smoljail
import builtins
import math
import sys

from . import guard_imports, guard_notes, guard_rewrite, guard_words
from .guard_words import InterpreterError

MAX_OPERATIONS = 10_000_000
MAX_WHILE_ITERATIONS = 1_000_000
BASE_MODULES = ("collections", "datetime", "itertools", "math", "queue", "random", "re", "stat", "statistics", "time",
                "unicodedata")
_FROM_BUILTINS = (
    "print isinstance range float int bool str set list dict tuple round pow len sum max min abs enumerate zip reversed "
    "sorted all any map filter ord chr next iter divmod callable hasattr issubclass type complex").split()
_FROM_MATH = "ceil floor log exp sin cos tan asin acos atan atan2 degrees radians sqrt".split()
# LocalPythonExecutor ignores decorators and looks super() up by itself; real classes need the real ones.
_FOR_CLASSES = "super property staticmethod classmethod object NotImplemented __build_class__".split()
_ALLOWED_DUNDERS = ("__init__", "__str__", "__repr__")
_DANGEROUS = frozenset([
    ("builtins", "compile"), ("builtins", "eval"), ("builtins", "exec"), ("builtins", "globals"), ("builtins", "locals"),
    ("builtins", "__import__"), ("os", "popen"), ("os", "system"), ("posix", "system")])


def _refusal(message, rule="guard"):
    guard_notes.note(rule, message)
    return InterpreterError(message)


def _getattr(obj, name, default=None):
    if isinstance(name, str) and guard_rewrite.is_dunder(name):
        raise _refusal(guard_rewrite.dunder_message(name))
    return getattr(obj, name, default)


def _setattr(obj, name, value):
    if isinstance(name, str) and guard_rewrite.is_dunder(name):
        raise _refusal(guard_rewrite.dunder_message(name))
    setattr(obj, name, value)


_getattr.__name__ = _getattr.__qualname__ = "getattr"
_setattr.__name__ = _setattr.__qualname__ = "setattr"


def _refuse(message, *values):
    raise _refusal(message)


class Guard:
    def __init__(self, imports, namespace, tools, final, operations=0):
        names = list(BASE_MODULES) if imports is None else list(imports)
        self.namespace, self.tools = namespace, tools
        self.limit = operations or MAX_OPERATIONS
        self.imports = guard_imports.ImportGuard(names, namespace, InterpreterError)
        self.base = {name: getattr(builtins, name) for name in _FROM_BUILTINS}
        self.base.update({name: getattr(math, name) for name in _FROM_MATH}, getattr=_getattr, setattr=_setattr)
        self.base.update(final_answer=builtins.final_answer, display=builtins.display)
        self.tools_changed()
        self.own = type(sys)("builtins")
        self.fill(self.own.__dict__)
        namespace["__builtins__"] = self.own

    def fill(self, own):
        own.update(self.base)
        own.update({name: getattr(builtins, name) for name in _FOR_CLASSES})
        own.update({name: value for name, value in vars(builtins).items()
                    if isinstance(value, type) and issubclass(value, BaseException)})
        own["__import__"] = self.imports.make_import()
        own.update({
            guard_rewrite.REFUSE: _refuse, guard_rewrite.METHOD: self.method, guard_rewrite.SEEN: _smoljail.seen,
            guard_rewrite.CALLED: _smoljail.called, guard_rewrite.ITEM: _smoljail.item,
            guard_rewrite.TICK: _smoljail.tick, guard_rewrite.TURN: _smoljail.turn})

    def tools_changed(self):
        self.protected = frozenset(self.base) | frozenset(self.tools.defined) - {"display"}

    # ---- a step

    def begin(self):
        _smoljail.budget(self.limit, MAX_WHILE_ITERATIONS, self.used_up, self.look, guard_words.note_index, builtins)

    def end(self):
        for name in [n for n in self.namespace if type(n) is str and n[:1] == "<"]:
            del self.namespace[name]

    def rewrite(self, tree):
        return guard_rewrite.rewrite(tree, self.protected)

    def reword(self, described, error, filename):
        """filename: None when the step did not parse."""
        if isinstance(error, Exception):
            described["message"] = guard_words.message_of(error, filename)
            described["type"] = "InterpreterError"

    # ---- what rewritten code calls

    def used_up(self, what):
        if what == "turns":
            raise _refusal("Maximum number of %d iterations in While loop exceeded" % MAX_WHILE_ITERATIONS)
        raise _refusal(
            "Reached the max number of operations of %d. Maybe there is an infinite loop somewhere in the code, or "
            "you're just asking too many calculations." % self.limit)

    def look(self, value, call=False):
        """A module, a module's dict, or a function: may the step have it?"""
        if call:
            if any(value is allowed for allowed in self.base.values()):
                return value
            raise _refusal("Invoking a builtin function that has not been explicitly added as a tool is not "
                                   "allowed (%s)." % value.__name__)
        if isinstance(value, type(sys)) or isinstance(value, dict):
            name = value.get("__name__") if isinstance(value, dict) else value.__name__
            if not self.imports.allows(str(name)):
                raise _refusal("Forbidden access to module: %s" % name, "imports")
        elif (value.__module__, value.__name__) in _DANGEROUS and value.__name__ not in self.protected:
            raise _refusal("Forbidden access to function: %s" % value.__name__)
        return value

    def method(self, obj, name):
        if not hasattr(obj, name):
            raise InterpreterError("Object %s has no attribute %s" % (guard_words.text(obj), name))
        function = getattr(obj, name)
        own = getattr(function, "__name__", None)
        if isinstance(own, str) and guard_rewrite.is_dunder(own) and own not in _ALLOWED_DUNDERS:
            raise _refusal("Forbidden call to dunder function: %s" % own)
        return function
