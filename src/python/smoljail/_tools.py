"""Host functions that jailed code may call.

Runs as: the client; arguments come from hostile code
Trusts: the functions that the program offers
Never: lets a call do anything but call the function of that name
"""
from __future__ import annotations

import collections
import contextvars
import dataclasses
import inspect
import keyword
import re
import threading
import typing
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple, Union

from . import _values

HANDLES_MAX = 10_000            # host objects of one session that jailed code may pass back
MESSAGE_MAX = 20_000            # characters of an error
REPR_MAX = 500                  # characters of a host object's repr()

_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array", tuple: "array", set: "array",
          dict: "object", type(None): "null"}


@dataclasses.dataclass
class Tool:
    """A function of the host under a name in the session, or source that is run inside.

    Attributes:
        name: a Python identifier.
        function: called with what the jailed code gave; may be a coroutine function. None for `source`.
        description: for whoever reads the tool's docstring inside.
        inputs: {name: {"type", "description", "nullable"?}}: names and number of arguments are checked
            against it before the call. Empty: not checked.
        output_type: a word such as "string".
        source: Python text that defines `name` inside the jail; no call leaves it.
        requirements: what the source wants installed.
    """

    name: str
    function: Optional[Callable[..., Any]] = None
    description: str = ""
    inputs: Dict[str, Dict[str, Any]] = dataclasses.field(default_factory=dict)
    output_type: str = "any"
    source: Optional[str] = None
    requirements: List[str] = dataclasses.field(default_factory=list)

    def __post_init__(self) -> None:
        if not self.name.isidentifier() or keyword.iskeyword(self.name):
            raise ValueError("%r cannot be the name of a tool: Python code could not call it" % self.name)
        if (self.function is None) == (self.source is None):
            raise ValueError("tool %r: give either a function or source" % self.name)

    @classmethod
    def of(cls, function: Callable[..., Any], name: Optional[str] = None, description: Optional[str] = None) -> "Tool":
        """A tool made of a function: its name, docstring and signature say the rest.

        Raises:
            TypeError: it cannot be called.
            ValueError: it has no name that Python code could call.
        """
        if not callable(function):
            raise TypeError("a tool has to be callable, not %s" % type(function).__name__)
        text = inspect.getdoc(function) if hasattr(function, "__name__") else None
        inputs, output = _signature(function, text or "")
        return cls(name or getattr(function, "__name__", type(function).__name__), function,
                   description if description is not None else text or "", inputs, output)

    def spec(self) -> Dict[str, Any]:
        """The tool object of the protocol."""
        result = {"name": self.name, "kind": "rpc" if self.source is None else "source",
                  "description": self.description, "inputs": self.inputs, "output_type": self.output_type}
        if self.source is not None:
            result.update(source=self.source, requirements=self.requirements)
        return result


def as_tool(item: Union[Tool, Callable[..., Any]]) -> Tool:
    return item if isinstance(item, Tool) else Tool.of(item)


# ---- what a signature says ----------------------------------------------------------------


def _type_word(hint: Any) -> str:
    origin = typing.get_origin(hint)
    if origin is Union:
        words = {_type_word(arg) for arg in typing.get_args(hint) if arg is not type(None)}
        return words.pop() if len(words) == 1 else "any"
    return _TYPES.get(origin or hint, "any")


def _argument_texts(doc: str) -> Dict[str, str]:
    """The "Args:" section of a docstring."""
    section = re.search(r"^(?:Args|Arguments|Parameters):[ \t]*\n((?:[ \t]+.*\n?|[ \t]*\n)*)", doc, re.M)
    if not section:
        return {}
    found = re.findall(r"^[ \t]+(\w+)[ \t]*(?:\([^)\n]*\))?:[ \t]*(.*)$", section[1], re.M)
    return {name: text.strip() for name, text in found}


def _signature(function: Callable[..., Any], doc: str) -> Tuple[Dict[str, Dict[str, Any]], str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return {}, "any"
    try:
        hints = typing.get_type_hints(function)
    except Exception:
        hints = {}
    output = _type_word(hints["return"]) if "return" in hints else "any"
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD, p.POSITIONAL_ONLY) for p in parameters):
        return {}, output
    texts, inputs = _argument_texts(doc), {}
    for p in parameters:
        inputs[p.name] = {"type": _type_word(hints.get(p.name)) if p.name in hints else "any",
                          "description": texts.get(p.name, "")}
        if p.default is not p.empty:
            inputs[p.name]["nullable"] = True
    return inputs, output


# ---- host objects that cannot be carried ----------------------------------------------------


class Handles:
    """Objects of the host that jailed code was given in name only. It can pass them back to a tool, and no more.

    Jailed code may make up such a name. That gets it nothing but another object of its own session.
    """

    def __init__(self) -> None:
        self._objects: "collections.OrderedDict[str, Any]" = collections.OrderedDict()
        self._count = 0
        self._lock = threading.Lock()

    def _keep(self, obj: Any, data: Dict[str, Any]) -> None:
        with self._lock:
            self._count += 1
            shown = "%s <object %d of the host>" % (_values.safe_repr(obj, REPR_MAX), self._count)
            self._objects[shown] = obj
            while len(self._objects) > HANDLES_MAX:
                self._objects.popitem(last=False)
        data["repr"] = shown

    def attach(self, obj: Any, data: Any) -> bool:
        """Keep what is opaque in the encoding of obj; lists, tuples and plain dicts are looked into. True: there was something."""
        kind = type(data)
        if kind is list:
            return _any(self.attach(o, d) for o, d in zip(obj, data))
        if kind is not dict:
            return False
        name = data.get("__type__")
        if name == "opaque":
            if type(obj) is not _values.Opaque:
                self._keep(obj, data)
            return True
        if name == "tuple":
            return self.attach(obj, data["data"])
        if name is None and isinstance(obj, dict):
            return _any(self.attach(obj[key], d) for key, d in data.items())
        return False

    def resolve(self, value: Any) -> Any:
        """The value with the host's own objects in it, as far as lists, tuples and dicts show them."""
        kind = type(value)
        if kind is _values.Opaque:
            return self._objects.get(value.repr, value)
        if not self._objects:
            return value
        if kind is list or kind is tuple:
            return kind([self.resolve(v) for v in value])
        if kind is dict:
            return {key: self.resolve(v) for key, v in value.items()}
        return value


def _any(answers: Iterable[bool]) -> bool:
    """any(), but all of them are asked."""
    return True in list(answers)


# ---- calls --------------------------------------------------------------------------------


class Toolbox:
    """The tools of one session, and the answers to calls of them."""

    def __init__(self) -> None:
        self.tools: Dict[str, Tool] = {}
        self.handles = Handles()
        # How to get the value of an awaitable that a tool returned.
        self.wait_for: Callable[[Any], Any] = _wait_alone

    def specs(self) -> List[Dict[str, Any]]:
        return [tool.spec() for tool in self.tools.values()]

    def answer(self, call: Dict[str, Any], context: Optional[contextvars.Context] = None) -> Dict[str, Any]:
        """{"value"} or {"error"}, whatever happens. In the context of whoever started the step."""
        try:
            run = contextvars.Context.run if context is not None else None
            value = run(context.copy(), self._call, call) if run else self._call(call)
            data, truncated = _values.encode_value(value)
            if truncated:
                raise ValueError("the tool's result is too large to be sent into the jail: %s" % type(value).__name__)
            self.handles.attach(value, data)
            return {"value": data}
        except BaseException as e:
            return {"error": error_of(e)}

    def _call(self, call: Dict[str, Any]) -> Any:
        tool = self.tools.get(call.get("tool"))
        if tool is None or tool.function is None:
            raise NameError("the host has no tool named %.100r" % (call.get("tool"),))
        resolve = self.handles.resolve
        args = [resolve(_values.decode(a)) for a in call.get("args") or ()]
        kwargs = {name: resolve(_values.decode(a)) for name, a in (call.get("kwargs") or {}).items()}
        value = tool.function(*args, **kwargs)
        return self.wait_for(value) if inspect.isawaitable(value) else value


def error_of(e: BaseException) -> Dict[str, str]:
    """An exception as the protocol carries it."""
    try:
        # KeyError shows its key's repr(); whoever raises it anew would show that one's.
        text = str(e.args[0] if type(e) is KeyError and len(e.args) == 1 else e)
    except Exception:
        text = "<exception str() failed>"
    return {"type": _values.scrub(type(e).__name__), "message": _values.scrub(text[:MESSAGE_MAX])}


def _wait_alone(awaitable: Any) -> Any:
    import asyncio

    async def wait() -> Any:
        return await awaitable

    return asyncio.run(wait())
