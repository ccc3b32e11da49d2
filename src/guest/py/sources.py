"""The text of steps, for tracebacks and inspect.getsource().

Runs as: the guest, in untrusted hands
Trusts: nothing
Never: keeps a text longer than code made of it lives, imports linecache before somebody else does
"""
import sys
from _weakref import ref

_texts = {}             # filename -> [text, code objects that are alive]
_refs = {}              # by id: equal code objects of two steps are two


class _Cache(dict):
    """linecache's own dict, but that linecache.clearcache() leaves the steps in it."""

    def clear(self):
        dict.clear(self)
        for filename in _texts:
            self[filename] = _entry(_texts[filename][0])


def _entry(text):
    lines = text.splitlines(True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    return len(text), None, lines, None


def _cached():
    cache = getattr(sys.modules.get("linecache"), "cache", None)
    return cache if isinstance(cache, dict) else None


class _Gone(ref):
    __slots__ = ("filename", "owner")


def _gone(weak):
    del _refs[id(weak)]
    if _texts.get(weak.filename) is not weak.owner:
        return
    weak.owner[1] -= 1
    if weak.owner[1] == 0:
        del _texts[weak.filename]
        cache = _cached()
        if cache is not None:
            cache.pop(weak.filename, None)


def register(filename, text, codes):
    owner = [text, 0]
    _texts[filename] = owner
    todo, kind = list(codes), type(codes[0]) if codes else None
    while todo:
        code = todo.pop()
        weak = _Gone(code, _gone)
        weak.filename, weak.owner = filename, owner
        owner[1] += 1
        _refs[id(weak)] = weak
        todo.extend([c for c in code.co_consts if type(c) is kind])
    cache = _cached()
    if cache is not None:
        cache[filename] = filename, None, None, None
        cache[filename] = _entry(text)


def text(filename):
    owner = _texts.get(filename)
    return owner[0] if owner else ""


def line(filename, number):
    lines = text(filename).splitlines()
    return lines[number - 1] if 0 < number <= len(lines) else None


class _Watch:
    """A finder that finds nothing, but sees linecache coming."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name != "linecache":
            return None
        sys.meta_path.remove(cls)
        for finder in sys.meta_path:
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                _fill_after(spec.loader)
                return spec
        return None


def _fill_after(loader):
    execute = loader.exec_module

    def exec_module(module):
        execute(module)
        module.cache = _Cache(module.cache)
        module.cache.clear()

    loader.exec_module = exec_module


sys.meta_path.insert(0, _Watch)
