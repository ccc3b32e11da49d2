"""One step: parsed, run, and what there is to say about it.

Runs as: the guest, in untrusted hands
Trusts: nothing
Never: ends the session because of anything that the step does, short of killing its own process
"""
import _ast
import _smoljail
import posix
import sys

from . import channel, display, errors, files, guard_notes, sources, tools, values_of_steps
from ._values import encode_value, safe_repr

FUTURE = 0x1FE0000      # flags of `from __future__`, which hold for the steps that follow
EXIT_CODE = 0xFF


class Runner:
    def __init__(self, namespace, final):
        self.namespace, self.final = namespace, final
        self.flags, self.guard = 0, None

    # ---- from text to code

    def compile(self, tree, filename, mode):
        code = compile(tree, filename, mode, self.flags, True)
        self.flags |= code.co_flags & FUTURE
        return code

    def prepare(self, text, filename, mode):
        try:
            tree = compile(text, filename, "exec", self.flags | _ast.PyCF_ONLY_AST, True)
            if mode == "last_stmt":
                values_of_steps.record_last_statement(tree)
            if self.guard:
                tree = self.guard.rewrite(tree)
            last, codes = None, []
            if mode == "last_expr" and tree.body and type(tree.body[-1]) is _ast.Expr:
                last = _ast.Expression(tree.body.pop().value)
            if tree.body or last is None:
                codes.append(self.compile(tree, filename, "exec"))
            if last is not None:
                codes.append(self.compile(last, filename, "eval"))
        except SyntaxError as e:
            errors.complete_syntax_error(e, filename, text)
            raise
        sources.register(filename, text, codes)
        return codes

    # ---- run

    def run(self, message):
        text, filename = message["code"], message.get("filename") or "<step %s>" % message.get("step")
        mode = message.get("value") or ("last_stmt" if self.guard else "last_expr")
        self.begin()
        codes, error = _smoljail.call(self.prepare, text, filename, mode)
        parsed, value = error is None, None
        if parsed:
            value, error = _smoljail.run(self.namespace, *codes)
            codes = None
            if _smoljail.lost():
                self.end_child(error)
            if mode == "last_stmt":
                value = values_of_steps.forget(self.namespace)
            if self.guard:
                self.guard.end()
        done, trouble = _smoljail.call(self.conclude, value, error, filename, parsed)
        if trouble is not None:
            done, trouble = _smoljail.call(self.conclude, None, trouble, filename, True)
        if trouble is None and done["error"] and mode == "last_expr":
            # As python3 does; LocalPythonExecutor, whose mode is the other one, writes none.
            _smoljail.call(sys.stderr.write, done["error"]["traceback"])
        if trouble is not None:
            done = self.done(status="error", error={
                "type": type(trouble).__name__, "message": "", "line": None, "source": None, "traceback": ""})
        self.end(done)

    def begin(self):
        self.final.reset()
        display.reset()
        self.namespace.setdefault("__name__", "__main__")
        for number, name in ((1, "stdout"), (2, "stderr")):
            if getattr(getattr(sys, name, None), "closed", True):
                setattr(sys, name, open(number, "w", encoding="utf-8", errors="backslashreplace", closefd=False))
        if self.guard:
            self.guard.begin()
        channel.begin_step()

    def end(self, done):
        _smoljail.call(tools.flush)
        done["files"], trouble = _smoljail.call(files.changes)
        if trouble is not None:
            done["files"] = {"new": [], "changed": [], "truncated": True}
        refused = guard_notes.take()
        if refused:
            done["refused"] = refused
        self.final.reset()
        try:
            channel.end_step(done)
        except ValueError:
            # Larger than a frame of this session may be.
            value = done["value"]
            done.update(value={"__type__": "opaque", "type": type(value).__name__, "repr": (done["repr"] or "")[:1000]},
                        value_truncated=True, repr=done["repr"] and done["repr"][:1000], files=None)
            if done["error"]:
                for name in ("message", "source", "traceback"):
                    done["error"][name] = done["error"][name] and errors.cut(done["error"][name], 1000)
            channel.end_step(done)

    # ---- what there is to say

    @staticmethod
    def done(**fields):
        return {"type": "done", "status": "ok", "value": None, "repr": None, "value_truncated": False,
                "is_final_answer": False, "error": None, "exit_code": None, **fields}

    def conclude(self, value, error, filename, parsed):
        if self.final.given:
            return self.with_value(self.final.value, is_final_answer=True)
        if error is None:
            return self.with_value(value)
        display.show_figures()
        if issubclass(type(error), SystemExit) and parsed:
            return self.done(status="exit", exit_code=self.exit_code(error))
        described = errors.describe(error, filename, parsed)
        if self.guard:
            self.guard.reword(described, error, filename if parsed else None)
        return self.done(status="error", error=described)

    def with_value(self, value, **fields):
        display.show_figures()
        if value is None:
            return self.done(**fields)
        display.show(value)
        encoded, truncated = encode_value(value)
        return self.done(value=encoded, value_truncated=truncated, repr=safe_repr(value), **fields)

    @staticmethod
    def exit_code(error):
        code = error.code
        if code is None:
            return 0
        if isinstance(code, int):
            return int(code) & EXIT_CODE
        print(errors.text_of(code), file=sys.stderr)
        return 1

    def end_child(self, error):
        """A child of fork() that came to the end of the step's code: it ends as a program does."""
        code = 0
        if issubclass(type(error), SystemExit):
            code = self.exit_code(error)
        elif error is not None and not issubclass(type(error), tools.FinalAnswerException):
            code = 1
            sys.stderr.write(errors.describe(error, "")["traceback"])
        try:
            tools.flush()
        finally:
            posix._exit(code)
