"""Which value a step has: of its last expression, or of its last statement.

Runs as: the guest, in untrusted hands
Trusts: nothing
Never: changes what a step does
"""
import _ast

# No identifier, so that no step's own name can be the same.
VALUE = "<value>"
_TEMP = "<last>"


def _at(node, where):
    node.lineno, node.col_offset = where.lineno, where.col_offset
    node.end_lineno, node.end_col_offset = where.end_lineno, where.end_col_offset
    return node


def _name(name, where, store=False):
    return _at(_ast.Name(name, _ast.Store() if store else _ast.Load()), where)


def _store(value, where):
    return _at(_ast.Assign([_name(VALUE, where, True)], value), where)


def _walrus(name, value):
    return _at(_ast.NamedExpr(_name(name, value, True), value), value)


def _keep_some(value):
    """VALUE = VALUE if (last := value) is None else last."""
    test = _at(_ast.Compare(_walrus(_TEMP, value), [_ast.Is()], [_at(_ast.Constant(None), value)]), value)
    return _store(_at(_ast.IfExp(test, _name(VALUE, value), _name(_TEMP, value)), value), value)


def _readable(target):
    """May the target be read once more without calling anything of note? A copy of it to load, or None."""
    if type(target) is _ast.Name:
        return _name(target.id, target)
    if type(target) is _ast.Attribute and type(target.value) is _ast.Name:
        return _at(_ast.Attribute(target.value, target.attr, _ast.Load()), target)
    if type(target) is _ast.Subscript and type(target.value) is _ast.Name and type(target.slice) in (_ast.Name, _ast.Constant):
        return _at(_ast.Subscript(target.value, target.slice, _ast.Load()), target)
    return None


def _recorded(statement, keep):
    """The statements that do the same and leave their value in VALUE; keep: unless it is None."""
    kind = type(statement)
    if kind is _ast.Expr:
        return [keep(statement.value)]
    if kind is _ast.Assign or (kind is _ast.AnnAssign and statement.value is not None):
        if keep is _keep_some:
            value, statement.value = statement.value, _name(_TEMP, statement.value)
            first = _at(_ast.Assign([_name(_TEMP, value, True)], value), value)
            return [first, statement, keep(_name(_TEMP, value))]
        statement.value = _walrus(VALUE, statement.value)
        return [statement]
    if kind is _ast.AugAssign:
        again = _readable(statement.target)
        return [statement, keep(again)] if again else [statement]
    if kind in (_ast.FunctionDef, _ast.AsyncFunctionDef, _ast.ClassDef):
        return [statement, keep(_name(statement.name, statement))]
    if kind in (_ast.If, _ast.For):
        statement.body = _recorded_block(statement.body)
        statement.orelse = _recorded_block(statement.orelse)
    return [statement]


def _recorded_block(block):
    return [new for statement in block for new in _recorded(statement, _keep_some)]


def record_last_statement(tree):
    """After the step, its namespace holds VALUE if the last statement had a value."""
    if not tree.body:
        return
    last = tree.body.pop()
    if type(last) in (_ast.If, _ast.For):
        tree.body.append(_store(_at(_ast.Constant(None), last), last))
    tree.body += _recorded(last, lambda value: _store(value, value))


def forget(namespace):
    """The value, and no trace of it in the namespace."""
    namespace.pop(_TEMP, None)
    return namespace.pop(VALUE, None)
