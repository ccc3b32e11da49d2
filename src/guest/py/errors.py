"""An uncaught exception as the object that the host is told.

Runs as: the guest, in untrusted hands; str() of an exception is the step's own code
Trusts: nothing
Never: shows frames of this package, fails because an exception is odd
"""
from . import late, sources
from ._values import scrub

MESSAGE_MAX = 20_000
TRACEBACK_MAX = 100_000
CHAIN_MAX = 100
_OURS = __file__.rpartition("/")[0] + "/"


def cut(text, limit):
    """Start and end; what a reader wants of something long."""
    if len(text) > limit:
        text = "%s\n... %d characters left out ...\n%s" % (text[:limit // 2], len(text) - limit, text[-limit // 2:])
    return scrub(text)


def text_of(exc):
    try:
        return cut(str.__str__(str(exc)), MESSAGE_MAX)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return "<exception str() failed>"


# ---- frames ---------------------------------------------------------------------

def _is_ours(tb):
    return tb.tb_frame.f_code.co_filename.startswith(_OURS)


def _strip(tb):
    while tb and _is_ours(tb):
        tb = tb.tb_next
    at = tb
    while at and at.tb_next:
        while at.tb_next and _is_ours(at.tb_next):
            at.tb_next = at.tb_next.tb_next
        at = at.tb_next
    return tb


def strip_frames(exc):
    todo, seen = [exc], set()
    while todo and len(seen) < CHAIN_MAX:
        exc = todo.pop()
        if exc is None or id(exc) in seen:
            continue
        seen.add(id(exc))
        exc.__traceback__ = _strip(exc.__traceback__)
        todo += [exc.__cause__, exc.__context__]


def _place(exc, filename):
    """Line and text of the innermost frame in this step, else in any step."""
    found, tb = None, exc.__traceback__
    while tb:
        name = tb.tb_frame.f_code.co_filename
        if name == filename or (name.startswith("<step ") and (found is None or found[0] != filename)):
            found = name, tb.tb_lineno
        tb = tb.tb_next
    if found is None:
        return None, None
    text = sources.line(*found) if found[1] else None
    return found[1], text and scrub(text.strip())


# ---- what does not parse -----------------------------------------------------------

def complete_syntax_error(exc, filename, code):
    """Errors of the compiler's later stages come without the line that they are about."""
    if exc.text is None and exc.filename == filename and type(exc.lineno) is int:
        lines = code.splitlines()
        if 0 < exc.lineno <= len(lines):
            exc.text = lines[exc.lineno - 1] + "\n"


def _syntax_place(exc):
    line = exc.lineno if type(exc.lineno) is int else None
    return line, scrub(exc.text.strip()) if isinstance(exc.text, str) else None


def _format(exc):
    try:
        lines = late.stdlib("traceback").format_exception(type(exc), exc, exc.__traceback__)
        return cut("".join(lines), TRACEBACK_MAX)
    except Exception:
        return "%s: %s\n" % (type(exc).__name__, text_of(exc))


def describe(exc, filename, parsed=True):
    """{type, message, line, source, traceback}; parsed: the exception came out of the running step."""
    if parsed:
        strip_frames(exc)
        line, source = _place(exc, filename)
    else:
        exc.__traceback__ = None
        line, source = _syntax_place(exc) if isinstance(exc, SyntaxError) else (None, None)
    return {"type": scrub(type(exc).__name__), "message": text_of(exc), "line": line, "source": source,
            "traceback": _format(exc)}
