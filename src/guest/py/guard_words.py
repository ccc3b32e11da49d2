"""An uncaught exception of a step, in the words of LocalPythonExecutor.

Runs as: the guest, in untrusted hands
Trusts: nothing
Never: changes what the step itself sees when it catches one
"""
from . import errors, guard_rewrite, late, sources

ast = late.stdlib("ast")

TEXT_MAX = 2000
_NOTE = "_smoljail_words"


class InterpreterError(ValueError):
    """A guard refused something."""


InterpreterError.__module__ = "smoljail"


def text(value):
    try:
        result = str.__str__(str(value))
    except Exception:
        result = "<%s object>" % type(value).__name__
    return result if len(result) <= TEXT_MAX else result[:TEXT_MAX] + "..."


# ---- where ------------------------------------------------------------------------

def _position(tb):
    """(line, end line, column, end column) of what the frame was at."""
    code = tb.tb_frame.f_code
    if hasattr(code, "co_positions") and tb.tb_lasti >= 0:
        for i, position in enumerate(code.co_positions()):
            if i == tb.tb_lasti // 2 and None not in position:
                return position
    return tb.tb_lineno, tb.tb_lineno, 0, 1 << 30


def _step_frames(exc):
    tb, found = exc.__traceback__, []
    while tb:
        found.append(tb)
        tb = tb.tb_next
    return found


def _parse(filename):
    try:
        return ast.parse(sources.text(filename))
    except SyntaxError:
        return ast.Module([], [])


def _statement(exc, filename):
    """The text of the top-level statement that the step was at."""
    for tb in _step_frames(exc):
        if tb.tb_frame.f_code.co_filename == filename:
            line, _, column, _ = _position(tb)
            for node in _parse(filename).body:
                first = min([node.lineno] + [d.lineno for d in getattr(node, "decorator_list", ())])
                if first <= line <= node.end_lineno and (line, column) < (node.end_lineno, node.end_col_offset):
                    return ast.get_source_segment(sources.text(filename), node)
            break
    return None


def _nodes(exc):
    """The nodes at which the innermost frame failed, each with its parent."""
    frames = _step_frames(exc)
    if not frames or not frames[-1].tb_frame.f_code.co_filename.startswith("<"):
        return []
    where = _position(frames[-1])
    tree = _parse(frames[-1].tb_frame.f_code.co_filename)
    return [(node, parent) for parent in ast.walk(tree) for node in ast.iter_child_nodes(parent)
            if hasattr(node, "end_lineno") and (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset) == where]


# ---- words --------------------------------------------------------------------------

def note_index(value, index, exc):
    """Remember how value[index] failed; the exception itself stays what it is."""
    message = "Could not index %s with '%s': %s: %s" % (text(value), text(index), type(exc).__name__, text(exc))
    if isinstance(index, str) and isinstance(value, dict):
        near = late.stdlib("difflib").get_close_matches(index, [k for k in value if isinstance(k, str)])
        if near:
            message += ". Maybe you meant one of these indexes instead: %s" % near
    setattr(exc, _NOTE, message)


def _of_name(exc, nodes):
    name = getattr(exc, "name", None)
    if name is None:
        return None
    for node, parent in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Del):
            return "Cannot delete name '%s': name is not defined" % name
        if isinstance(node, ast.Name) and isinstance(parent, ast.Call) and parent.func is node:
            return guard_rewrite.function_message(name)
    return "The variable `%s` is not defined." % name


def _of_attribute(exc, nodes):
    for node, parent in nodes:
        if isinstance(node, ast.Attribute) and isinstance(parent, ast.Call) and parent.func is node and hasattr(exc, "obj"):
            return "Object %s has no attribute %s" % (text(exc.obj), exc.name)
    return None


def _of_type(exc, nodes):
    said = text(exc)
    if said.startswith("cannot unpack non-iterable"):
        return "Cannot unpack non-tuple value"
    before, found, kind = said.partition("argument after ** must be a mapping, not ")
    if found:
        return "Cannot unpack non-dict value in **kwargs: %s" % kind
    for node, _ in nodes:
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add) and said.endswith("object is not iterable"):
            return "Cannot add non-list value %s to a list." % _value_of(node.value, exc)
    return _of_delete(exc, nodes)


def _value_of(node, exc):
    frame = _step_frames(exc)[-1].tb_frame
    if isinstance(node, ast.Constant):
        return text(node.value)
    if isinstance(node, ast.Name):
        return text(frame.f_locals.get(node.id, frame.f_globals.get(node.id)))
    return ast.unparse(node)


def _of_value(exc, nodes):
    return "Cannot unpack tuple of wrong size" if "values to unpack" in text(exc) else None


def _of_delete(exc, nodes):
    for node, _ in nodes:
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Del):
            return "Cannot delete index/key: %s" % text(exc)
    return None


def _of_import(exc, nodes):
    words = text(exc).split("'")
    if len(words) > 4 and words[0] == "cannot import name ":
        return "Module %s has no attribute %s" % (words[3], words[1])
    return None


_WORDS = ((NameError, _of_name), (AttributeError, _of_attribute), (TypeError, _of_type), (ValueError, _of_value),
          (LookupError, _of_delete), (ImportError, _of_import))


def _cause(exc):
    """(name of the type, text) of what went wrong."""
    noted = getattr(exc, _NOTE, None)
    if noted:
        return "InterpreterError", noted
    if not isinstance(exc, InterpreterError):
        nodes = _nodes(exc)
        for kind, words in _WORDS:
            said = isinstance(exc, kind) and words(exc, nodes)
            if said:
                return "InterpreterError", said
    return type(exc).__name__, errors.text_of(exc)


def _unparsed(exc):
    if not isinstance(exc, SyntaxError):
        return "%s: %s" % (type(exc).__name__, errors.text_of(exc))
    said = errors.text_of(exc).replace("(%s, line" % exc.filename, "(<unknown>, line")
    return "Code parsing failed on line %s due to: %s: %s\n%s%s^" % (
        exc.lineno, type(exc).__name__, said, exc.text, " " * (exc.offset or 0))


def message_of(exc, filename):
    if filename is None:
        return errors.cut(_unparsed(exc), errors.MESSAGE_MAX)
    name, said = _cause(exc)
    return errors.cut("Code execution failed at line '%s' due to: %s: %s" % (_statement(exc, filename), name, said),
                      errors.MESSAGE_MAX)
