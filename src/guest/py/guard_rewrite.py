"""Steps of guard "compat", rewritten so that they count, and refuse what LocalPythonExecutor refuses.

Runs as: the guest, in untrusted hands
Trusts: nothing; this is advice to whoever writes the steps, no boundary
Never: changes what a step means that is not refused

The names of the functions that rewritten code calls are no identifiers, so no step can mean them. They are
found among the builtins that the guard gives to steps.
"""
from . import late

ast = late.stdlib("ast")

REFUSE, METHOD, SEEN, CALLED, ITEM, TICK, TURN = "<refuse>", "<method>", "<seen>", "<called>", "<item>", "<tick>", "<turn>"
TURNS = "<turns %d>"
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_OWN_COUNT = (ast.For, ast.AsyncFor, ast.While, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp,
              *_FUNCTIONS)

# What the interpreter needs in a module, and steps do not.
_HIDDEN = frozenset(("__builtins__", "__import__", "__build_class__", "__loader__", "__spec__", "__package__"))
# Their results are never modules, and calls of them are frequent.
_PLAIN_RESULTS = frozenset(("super", "print", "len", "range", "isinstance", "int", "float", "str", "bool", "enumerate", "zip"))


def is_dunder(name):
    return name.startswith("__") and name.endswith("__")


def dunder_message(name):
    return "Forbidden access to dunder attribute: %s" % name


def function_message(name):
    return ("Forbidden function evaluation: '%s' is not among the explicitly allowed tools or defined/imported in the "
            "preceding code" % name)


def tool_message(name):
    return "Cannot assign to name '%s': doing this would erase the existing tool!" % name


def _cost(nodes):
    """How many nodes are evaluated when these run once; loops and functions in them count by themselves."""
    total, todo = 0, list(nodes)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.stmt) or (isinstance(node, ast.expr) and not isinstance(getattr(node, "ctx", None), ast.Store)):
            total += 1
        if not isinstance(node, _OWN_COUNT):
            todo.extend(ast.iter_child_nodes(node))
    return total


class Rewriter(ast.NodeTransformer):
    def __init__(self, protected):
        self.protected, self.loops, self.in_class = protected, 0, False

    # ---- pieces

    @staticmethod
    def at(node, where):
        return ast.fix_missing_locations(ast.copy_location(node, where))

    def call(self, name, where, *args):
        return self.at(ast.Call(ast.Name(name, ast.Load()), list(args), []), where)

    def tick(self, nodes, where):
        return self.call(TICK, where, ast.Constant(max(1, _cost(nodes))))

    def refuse(self, message, where, *values):
        return self.call(REFUSE, where, ast.Constant(message), *values)

    def visit_block(self, block):
        out = []
        for node in block:
            new = self.visit(node)
            out.extend(new if isinstance(new, list) else [new])
        return out

    def counted(self, block, where, more=()):
        """The block, with its count in front, behind a docstring if it has one."""
        tick = self.at(ast.Expr(self.tick([*block, *more], where)), where)
        return [tick, *self.visit_block(block)]

    # ---- attributes, calls, items

    def visit_Attribute(self, node):
        if is_dunder(node.attr):
            refusal = self.refuse(dunder_message(node.attr), node)
            if isinstance(node.ctx, ast.Load):
                return refusal
            node.value = refusal
            return node
        node.value = self.base(node.value)
        return self.call(SEEN, node, node) if isinstance(node.ctx, ast.Load) else node

    def base(self, value):
        new = self.visit(value)
        return self.call(SEEN, value, new) if isinstance(value, ast.Name) else new

    def visit_Call(self, node):
        func = node.func
        if isinstance(func, ast.Attribute):
            if is_dunder(func.attr) and func.attr != "__init__":
                node.func = self.call(METHOD, func, self.base(func.value), ast.Constant(func.attr))
            else:
                func.value = self.base(func.value)
                node.func = self.call(CALLED, func, func)
        elif isinstance(func, ast.Name) and func.id in _HIDDEN:
            node.func = self.refuse(function_message(func.id), func)
        else:
            node.func = self.visit(func)
        node.args = [self.visit(a) for a in node.args]
        for keyword in node.keywords:
            keyword.value = self.visit(keyword.value)
        if isinstance(func, ast.Name) and func.id in _PLAIN_RESULTS:
            return node
        return self.call(SEEN, node, node)

    def visit_Name(self, node):
        if node.id in _HIDDEN and isinstance(node.ctx, ast.Load):
            return self.refuse("The variable `%s` is not defined." % node.id, node)
        return node

    def visit_Subscript(self, node):
        simple = isinstance(node.ctx, ast.Load) and not any(
            isinstance(n, (ast.Slice, ast.Starred)) for n in [node.slice, *getattr(node.slice, "elts", ())])
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            return node
        return self.call(SEEN, node, self.call(ITEM, node, node.value, node.slice) if simple else node)

    # ---- names of tools

    def taken(self, target):
        """The first name of a tool that an assignment to target would erase, or None."""
        if self.in_class:
            return None
        if isinstance(target, ast.Name):
            return target.id if target.id in self.protected else None
        if isinstance(target, ast.Starred):
            return self.taken(target.value)
        if isinstance(target, (ast.Tuple, ast.List)):
            return next(filter(None, map(self.taken, target.elts)), None)
        return None

    def visit_Assign(self, node):
        names = list(filter(None, map(self.taken, node.targets)))
        if not names:
            return self.generic_visit(node)
        return self.at(ast.Expr(self.refuse(tool_message(names[0]), node, self.visit(node.value))), node)

    def visit_AnnAssign(self, node):
        name = self.taken(node.target)
        if name and node.value:
            return self.at(ast.Expr(self.refuse(tool_message(name), node, self.visit(node.value))), node)
        node.target = self.visit(node.target)
        node.value = node.value and self.visit(node.value)
        return node

    def visit_AugAssign(self, node):
        name = self.taken(node.target)
        if name:
            return self.at(ast.Expr(self.refuse(tool_message(name), node, self.visit(node.value))), node)
        return self.generic_visit(node)

    def visit_NamedExpr(self, node):
        name = self.taken(node.target)
        if name:
            return self.refuse(tool_message(name), node, self.visit(node.value))
        return self.generic_visit(node)

    def comprehension(self, node):
        for part in node.generators:
            name = self.taken(part.target)
            if name:
                part.target = self.at(ast.Name("<target>", ast.Store()), part.target)
                part.ifs.insert(0, self.refuse(tool_message(name), part.target))
        inside = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        inside += [test for part in node.generators for test in part.ifs]
        name = "key" if isinstance(node, ast.DictComp) else "elt"
        tick = self.tick(inside, node)
        self.generic_visit(node)
        first = getattr(node, name)
        setattr(node, name, self.at(ast.BoolOp(ast.Or(), [tick, first]), first))
        return node

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = comprehension

    # ---- loops, functions, classes

    def loop(self, node):
        name = self.taken(node.target)
        if name:
            node.target = self.at(ast.Name("<target>", ast.Store()), node.target)
            node.body.insert(0, self.at(ast.Expr(self.refuse(tool_message(name), node.target)), node.target))
        node.target = self.visit(node.target)
        node.iter = self.visit(node.iter)
        node.body = self.counted(node.body, node.target)
        node.orelse = self.visit_block(node.orelse)
        return node

    visit_For = visit_AsyncFor = loop

    def visit_While(self, node):
        self.loops += 1
        name, body = TURNS % self.loops, self.counted(node.body, node.test, [node.test])
        test = self.visit(node.test)
        turn = self.call(TURN, test, ast.Name(name, ast.Load()))
        start = self.at(ast.Assign([ast.Name(name, ast.Store())], ast.Constant(0)), node)
        count = self.at(ast.Assign([ast.Name(name, ast.Store())], turn), test)
        node.test, node.body, node.orelse = test, [count, *body], self.visit_block(node.orelse)
        return [start, node]

    def function(self, node):
        if not self.in_class and node.name in self.protected:
            # LocalPythonExecutor takes the definition and goes on calling the tool.
            node.name = "<%s>" % node.name
        node.decorator_list = [self.visit(d) for d in node.decorator_list]
        node.args.defaults = [self.visit(d) for d in node.args.defaults]
        node.args.kw_defaults = [d and self.visit(d) for d in node.args.kw_defaults]
        outer, self.in_class = self.in_class, False
        head = node.body[:1] if ast.get_docstring(node, False) is not None else []
        rest = node.body[len(head):]
        node.body = head + (self.counted(rest, node) if rest else [])
        self.in_class = outer
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = function

    def visit_Lambda(self, node):
        node.args.defaults = [self.visit(d) for d in node.args.defaults]
        node.args.kw_defaults = [d and self.visit(d) for d in node.args.kw_defaults]
        tick, body = self.tick([node.body], node.body), self.visit(node.body)
        node.body = self.at(ast.BoolOp(ast.Or(), [tick, body]), body)
        return node

    def visit_ClassDef(self, node):
        for name in ("bases", "decorator_list"):
            setattr(node, name, [self.visit(n) for n in getattr(node, name)])
        for keyword in node.keywords:
            keyword.value = self.visit(keyword.value)
        outer, self.in_class = self.in_class, True
        node.body = self.visit_block(node.body)
        self.in_class = outer
        return node

    def visit_Assert(self, node):
        if node.msg is None:
            node.msg = self.at(ast.Constant("Assertion failed: %s" % ast.unparse(node.test)), node.test)
        return self.generic_visit(node)

    def visit_JoinedStr(self, node):
        for value in node.values:
            if isinstance(value, ast.FormattedValue):
                value.value = self.visit(value.value)
                value.format_spec = value.format_spec and self.visit(value.format_spec)
        return node


def rewrite(tree, protected):
    rewriter = Rewriter(protected)
    tree.body = rewriter.visit_block(tree.body)
    return tree
