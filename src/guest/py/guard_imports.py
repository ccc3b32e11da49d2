"""The list of authorised imports: advice to whoever writes the steps, no boundary.

Runs as: the guest, in untrusted hands
Trusts: nothing
Never: looks at what libraries import
"""
import builtins
import sys

from . import guard_notes


def make_tree(names):
    """["a", "b.*"] -> {"a": {}, "b": {"*": {}}}"""
    tree = {}
    for name in names:
        at = tree
        for part in name.split("."):
            at = at.setdefault(part, {})
    return tree


def is_authorized(name, tree):
    """"numpy" allows numpy alone, "numpy.*" all below it as well, "os.path" also os, "*" everything."""
    for part in name.split("."):
        if "*" in tree:
            return True
        if part not in tree:
            return False
        tree = tree[part]
    return True


class ImportGuard:
    def __init__(self, names, namespace, refusal=ImportError):
        self.names, self.tree, self.namespace = list(names), make_tree(names), namespace
        self.refusal, self.real = refusal, builtins.__import__

    def allows(self, name):
        return is_authorized(name, self.tree)

    def check(self, name, is_from):
        if not self.allows(name):
            guard_notes.note("imports", "import of " + name)
            raise self.refusal("%s of %s is not allowed. Authorized imports are: %s" % ("Import", name, self.names)
                               if not is_from else
                               "Import from %s is not allowed. Authorized imports are: %s" % (name, self.names))

    def make_import(self):
        check, real = self.check, self.real

        def __import__(name, globals=None, locals=None, fromlist=(), level=0):
            if level == 0:
                check(name, bool(fromlist))
            return real(name, globals, locals, fromlist, level)

        return __import__


def install(names, namespace):
    """Steps get builtins of their own, whose __import__ looks first; libraries keep theirs."""
    own = type(sys)("builtins")
    own.__dict__.update(builtins.__dict__)
    own.__import__ = ImportGuard(names, namespace).make_import()
    namespace["__builtins__"] = own
