"""Host tools as functions of the session, and final_answer().

Runs as: the guest, in untrusted hands
Trusts: nothing
Never: sends a call from a child process, or when no step runs
"""
import _smoljail
import _thread
import builtins
import sys

from . import channel
from ._values import MAX_KEY, ValuesError, decode, encode_value

NAME_MAX = 100
KEYWORDS = frozenset(
    "False None True and as assert async await break class continue def del elif else except finally for from global "
    "if import in is lambda nonlocal not or pass raise return try while with yield".split())
# A host error of such a type would mean something else to the code that called.
_NOT_RAISED = frozenset(("StopIteration", "StopAsyncIteration", "ToolError"))


class ToolError(Exception):
    """A tool failed on the host."""


class FinalAnswerException(BaseException):
    """Unwinds the step that called final_answer(); `except Exception` lets it pass."""


ToolError.__module__ = FinalAnswerException.__module__ = "smoljail"


def is_name(text):
    return type(text) is str and text.isidentifier() and len(text.encode()) <= NAME_MAX and text not in KEYWORDS


# ---- calls to the host ------------------------------------------------------------

def _carried(value):
    encoded, truncated = encode_value(value)
    if truncated:
        raise ToolError("an argument is too large to be sent to the host: %s" % type(value).__name__)
    return encoded


def flush():
    """What was printed before comes before."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass
    _smoljail.flush()


def _raise(error):
    name, text = str(error.get("type")), str(error.get("message"))
    kind = getattr(builtins, name, None)
    if isinstance(kind, type) and issubclass(kind, Exception) and name not in _NOT_RAISED:
        try:
            raised = kind(text)
        except TypeError:
            raised = None
        if raised is not None:
            raise raised
    raise ToolError(text if name == "ToolError" else "%s: %s" % (name, text))


def call_host(tool, args, kwargs):
    if _smoljail.lost():
        raise ToolError("%s() cannot be called from a child process" % tool)
    for key in kwargs:
        if len(key.encode("utf-8", "replace")) > MAX_KEY or "\0" in key:
            raise TypeError("%s() got a keyword argument whose name is too long" % tool)
    args = [_carried(value) for value in args]
    kwargs = {key: _carried(value) for key, value in kwargs.items()}
    flush()
    try:
        message = channel.call(tool, args, kwargs)
    except ValueError as e:
        raise ToolError("the arguments of %s() are too large: %s" % (tool, e)) from None
    if message is None:
        raise ToolError("%s() was called while no step runs" % tool)
    if message.get("error") is not None:
        _raise(message["error"])
    try:
        return decode(message.get("value"))
    except ValuesError as e:
        raise ToolError("the answer of %s(): %s" % (tool, e)) from None


# ---- stubs --------------------------------------------------------------------------

class _Omitted:
    """The default of an argument that the host may go without."""

    def __repr__(self):
        return "None"


_OMITTED = _Omitted()


def _signature_of(name, inputs):
    """A function that takes what `inputs` lists; the interpreter's own messages say what is wrong."""
    if not inputs or not all(is_name(key) for key in inputs):
        return None
    first = [key for key in inputs if not (inputs[key] or {}).get("nullable")]
    rest = [key + "=_OMITTED" for key in inputs if (inputs[key] or {}).get("nullable")]
    # In the order of inputs where Python lets a default come there; else those without a default come first.
    scope = {"_OMITTED": _OMITTED, "__name__": __name__, "__builtins__": {}}
    exec(compile("def %s(%s): pass" % (name, ", ".join(first + rest)), __file__, "exec"), scope)
    return scope[name]


def _doc(tool):
    lines = [str(tool.get("description") or "")]
    inputs = tool.get("inputs") or {}
    if inputs:
        lines += ["", "Args:"]
        lines += ["    %s (%s): %s" % (k, (v or {}).get("type"), (v or {}).get("description")) for k, v in inputs.items()]
    if tool.get("output_type"):
        lines += ["", "Returns: %s" % tool["output_type"]]
    return "\n".join(lines).strip()


def make_stub(tool):
    name, check = tool["name"], _signature_of(tool["name"], tool.get("inputs"))

    def stub(*args, **kwargs):
        if check:
            check(*args, **kwargs)
        return call_host(name, args, kwargs)

    stub.__name__ = stub.__qualname__ = name
    stub.__module__ = "__main__"
    stub.__doc__ = _doc(tool)
    if check:
        stub.__wrapped__ = check
        check.__module__ = "__main__"
    return stub


# ---- final_answer ---------------------------------------------------------------------

class Final:
    """The answer of the step that runs: that of the first call, whatever swallowed the exception."""

    tool = None

    def __init__(self):
        self.main = _thread.get_ident()
        self.reset()

    def reset(self):
        self.given, self.value = False, None

    def give(self, value):
        if not self.given:
            self.given, self.value = True, value
        if _thread.get_ident() != self.main:
            # Ends the thread without a word; the step goes on, and its end is the answer.
            raise SystemExit
        raise FinalAnswerException(value)


def make_final_answer(final):
    def final_answer(*args, **kwargs):
        if final.tool is None:
            return final.give(_one(*args, **kwargs))
        return final.give(final.tool(*args, **kwargs))

    def _one(answer):
        return answer

    _one.__name__ = _one.__qualname__ = "final_answer"
    final_answer.__wrapped__ = _one
    final_answer.__module__ = "builtins"
    final_answer.__doc__ = "Give the answer of the whole task, and end this step."
    return final_answer


# ---- the set ----------------------------------------------------------------------------

class Tools:
    def __init__(self, namespace, final):
        self.namespace, self.final, self.defined = namespace, final, {}

    def clear(self):
        for name, value in self.defined.items():
            if self.namespace.get(name) is value:
                del self.namespace[name]
        self.defined.clear()
        self.final.tool = None

    def put(self, name, value):
        if name == "final_answer":
            self.final.tool = value
            self.namespace.pop(name, None)
        else:
            self.namespace[name] = self.defined[name] = value

    def replace(self, tools, run_source):
        """An error message, or None. run_source(name, source) says what went wrong, or None."""
        problem = _problem(tools)
        if problem:
            return problem
        self.clear()
        for tool in tools:
            name = tool["name"]
            if tool["kind"] == "rpc":
                self.put(name, make_stub(tool))
                continue
            problem = _unmet(tool) or run_source(name, tool["source"])
            if problem is None and name not in self.namespace:
                problem = "its source does not define \"%s\"" % name
            if problem:
                return "tool \"%s\": %s" % (name, problem)
            self.put(name, self.namespace[name])
        return None


def _is_there(name):
    """A package of that name is in the jail, or a module: not each has the other's name."""
    from importlib import metadata, util
    try:
        metadata.distribution(name)
        return True
    except metadata.PackageNotFoundError:
        pass
    try:
        return util.find_spec(name.replace("-", "_")) is not None
    except (ImportError, ValueError, AttributeError):
        return False


def _unmet(tool):
    """What a tool's source needs and does not find, or None. Versions are not compared."""
    for requirement in tool.get("requirements") or ():
        name = requirement.strip()
        length = 0
        while length < len(name) and (name[length].isalnum() or name[length] in "._-"):
            length += 1
        if not _is_there(name[:length]):
            return "it requires \"%.100s\", which the jail has not: pip install --target DIR %.100s, and open the session " \
                   "with the packages in DIR" % (requirement, name[:length])
    return None


def _problem(tools):
    if type(tools) is not list:
        return "\"tools\" is no list"
    for tool in tools:
        if type(tool) is not dict or not is_name(tool.get("name")):
            return "a tool has no name that Python could call"
        if tool.get("kind") not in ("rpc", "source"):
            return "tool \"%s\": its kind is neither \"rpc\" nor \"source\"" % tool["name"]
        if tool["kind"] == "source" and type(tool.get("source")) is not str:
            return "tool \"%s\": it has no source" % tool["name"]
        needs = tool.get("requirements")
        if needs is not None and (type(needs) is not list or not all(type(r) is str and r[:1].isalnum() for r in needs)):
            return "tool \"%s\": \"requirements\" is no list of names of packages" % tool["name"]
        inputs = tool.get("inputs")
        if inputs is not None and (type(inputs) is not dict or not all(v is None or type(v) is dict for v in inputs.values())):
            return "tool \"%s\": \"inputs\" is no object of objects" % tool["name"]
    return None
