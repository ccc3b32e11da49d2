"""A session's loop: one message from the host, one answer.

Runs as: the guest; the imports before the filter, serve() after it, in untrusted hands
Trusts: the host
Never: answers twice, or not at all, whatever a handler meets
"""
import _smoljail
import builtins
import posix
import sys

from . import channel, display, errors, files, guard_imports, sources, step, tools
from ._values import MAX_KEY, ValuesError, decode, encode_value

_namespace = sys.modules["__main__"].__dict__
_final = tools.Final()
_runner = step.Runner(_namespace, _final)
_tools = tools.Tools(_namespace, _final)


def _error(code, message):
    return {"error": {"code": code, "message": errors.cut(message, errors.MESSAGE_MAX)}}


# ---- messages -------------------------------------------------------------------

def _set_limits(message):
    _smoljail.limit(int(message.get("frame") or 0))
    imports = message.get("imports")
    if message.get("guard") == "compat":
        from . import guard_compat
        _runner.guard = guard_compat.Guard(imports, _namespace, _tools, _final, message.get("operations") or 0)
    elif imports is not None and "*" not in imports:
        guard_imports.install(imports, _namespace)


def _run_source(name, source):
    filename = "<tool %s>" % name
    code, error = _smoljail.call(compile, source, filename, "exec", 0, True)
    if error is None:
        sources.register(filename, source, [code])
        error = _smoljail.run(_namespace, code)[1]
    if error is None:
        return None
    return "%s: %s" % (type(error).__name__, errors.text_of(error))


def _set_tools(message):
    problem = _tools.replace(message.get("tools"), _run_source)
    if _runner.guard:
        _runner.guard.tools_changed()
    return _error("bad_message", problem) if problem else {"ok": True}


def _set_variables(message):
    try:
        decoded = {name: decode(value) for name, value in message["variables"].items()}
    except ValuesError as e:
        return _error("bad_message", str(e))
    for name in decoded:
        if not name.isidentifier() or name in tools.KEYWORDS or len(name.encode()) > MAX_KEY:
            return _error("bad_message", "\"%s\" is no name of a variable" % name)
    _namespace.update(decoded)
    return {"ok": True}


def _get_variables(message):
    names = [str(name) for name in message["names"]]
    found, missing = {}, []
    for name in names:
        if name in _namespace:
            found[name] = encode_value(_namespace[name])[0]
        else:
            missing.append(name)
    return {"ok": True, "variables": found, "missing": missing}


_HANDLERS = {
    "tools": _set_tools,
    "set": _set_variables,
    "get": _get_variables,
    "put": lambda message: files.answer(files.put, message),
    "fetch": lambda message: files.answer(files.fetch, message),
    "list": lambda message: files.answer(files.listing, message),
}


def _answer(message):
    handler = _HANDLERS.get(message.get("type"))
    if handler is None:
        answer, trouble = _error("bad_message", "no such request: %.60s" % message.get("type")), None
    elif handler is _set_tools:
        answer, trouble = handler(message), None        # has borders of its own around the tools' code
    else:
        answer, trouble = _smoljail.call(handler, message)
    if trouble is not None:
        answer = _error("bad_message", "%s: %s" % (type(trouble).__name__, errors.text_of(trouble)))
    answer["type"] = "answer"
    try:
        channel.send(answer)
    except ValueError as e:
        channel.send({"type": "answer", **_error("too_large", str(e))})


# ---- life -------------------------------------------------------------------------

def _prepare():
    if b"MPLBACKEND" not in posix.environ:
        # There is no display, and matplotlib would look for one. Before os is imported, and for children too.
        posix.environ[b"MPLBACKEND"] = b"Agg"
        posix.putenv(b"MPLBACKEND", b"Agg")
        if "os" in sys.modules:
            sys.modules["os"].environ["MPLBACKEND"] = "Agg"
    builtins.final_answer = tools.make_final_answer(_final)
    builtins.display = display.display
    files.set_work(posix.getcwd())


def serve():
    _prepare()
    files.begin()
    channel.send({"type": "hello", "python": sys.version.partition(" ")[0]})
    while True:
        message = channel.next_command()
        kind = message.get("type")
        if kind == "run":
            _runner.run(message)
        elif kind == "limits":
            _set_limits(message)
        else:
            _answer(message)
        message = None
