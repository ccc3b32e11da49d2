"""Sessions: jails in which Python's state lives from step to step.

Runs as: the client
Trusts: nothing of what comes out of a jail
Never: leaves a session open that nobody has any more
"""
from __future__ import annotations

import contextvars
import io
import os
import queue
import weakref
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Union

from . import _operations as operations
from ._errors import RequestError, ServerLost, SmoljailError
from ._operations import Call, Message, Operation, Size
from ._results import ENDED, Display, FileInfo, Result
from ._server import Server, Waiter, default_server
from ._tools import Tool, Toolbox, as_tool
from ._workers import Turns

FETCH_MAX = 1 << 30             # bytes that fetch() brings into memory unless told otherwise
GONE = ("no_session", "violation")      # codes of errors after which a session is no more

OnOutput = Callable[[str, str], Any]
OnDisplay = Callable[[Display], Any]


class BaseSession:
    """What Session and AsyncSession have in common: everything but the waiting."""

    def __init__(self, policy: Union[str, Mapping[str, Any], None] = "python", *, timeout: Optional[float] = None,
                 memory: Optional[Size] = None, limits: Optional[Mapping[str, Any]] = None,
                 imports: Optional[Iterable[str]] = None, guard: Optional[str] = None,
                 env: Optional[Mapping[str, str]] = None, packages: Optional[Iterable[Any]] = None,
                 tools: Iterable[Union[Tool, Callable[..., Any]]] = (), name: Optional[str] = None,
                 on_output: Optional[OnOutput] = None, on_display: Optional[OnDisplay] = None,
                 server: Optional[Server] = None) -> None:
        operations.check_name(name)
        self.timeout, self.on_output, self.on_display = timeout, on_output, on_display
        self.name: Optional[str] = None
        self.info: Message = {}
        self.report: Optional[Message] = None
        self._fields = operations.open_fields(policy, timeout, memory, limits, imports, guard, env, packages, name)
        self._toolbox = Toolbox()
        for item in tools:
            tool = as_tool(item)
            self._toolbox.tools[tool.name] = tool
        self._given_server, self._server = server, server
        self._finalizer: Optional[weakref.finalize] = None
        self._turns = Turns()
        self._running: Optional[int] = None     # id of the run request

    # ---- opening and closing

    def _open(self) -> Operation:
        answer = yield from operations.one("open", **self._fields)
        self.name, self.info = answer["session"], answer
        assert self._server
        self._finalizer = weakref.finalize(self, self._server.drop_session, self.name)
        # The server's end takes it along.
        self._finalizer.atexit = False
        if self._toolbox.tools:
            yield from self._send_tools(self._toolbox.tools)

    def _close(self) -> Operation:
        if not self.is_open:
            self._forget()
            return None
        name = self.name
        self._forget()
        answer = yield from operations.one("close", session=name)
        self.report = answer.get("report")
        return self.report

    def _forget(self) -> None:
        if self._finalizer is not None:
            self._finalizer.detach()
        self._finalizer, self.name = None, None

    def _heed(self, outcome: Any) -> Any:
        """The outcome of an operation, a result or an exception: it may tell that the server has closed the session."""
        if getattr(outcome, "state", None) == ENDED or getattr(outcome, "code", None) in GONE:
            self._forget()
        return outcome

    @property
    def is_open(self) -> bool:
        """It was opened, not closed, and its server is there."""
        return self.name is not None and self._server is not None and self._server.alive

    @staticmethod
    def _gone(e: SmoljailError) -> None:
        """Raise e, unless it says that there is nothing to close."""
        if isinstance(e, RequestError) and e.code not in GONE:
            raise e

    @property
    def _session(self) -> str:
        if self.name is None:
            raise SmoljailError("this session is not open")
        return self.name

    # ---- tools

    def _send_tools(self, tools: Dict[str, Tool]) -> Operation:
        yield from operations.one("tools", session=self._session, tools=[t.spec() for t in tools.values()])

    def _replace_tools(self, tools: Dict[str, Tool]) -> Operation:
        yield from self._send_tools(tools)
        self._toolbox.tools = tools

    def _on_call(self, context: contextvars.Context, run: int) -> Callable[[Message], None]:
        """What the reading thread does with a tool call."""
        server, session = self._server, self._session

        def answer(call: Message) -> None:
            if call.get("type") == "refused":
                fields: Message = {"error": {"type": "ValueError", "message": call["message"]}}
            else:
                fields = self._toolbox.answer(call, context)
            self._post_answer(server, session, run, call.get("call"), fields)

        return lambda call: self._turns.submit(lambda: answer(call))

    def _post_answer(self, server: Optional[Server], session: str, run: int, call: Any, fields: Message) -> None:
        message = {"type": "tool_result", "id": "%d.%s" % (run, call), "session": session, "call": call}
        try:
            try:
                server.post({**message, **fields})      # type: ignore[union-attr]
            except ValueError as e:
                server.post({**message, "error": {"type": "ValueError", "message": str(e)}})    # type: ignore[union-attr]
        except ServerLost:
            pass    # nobody waits for it any more

    # ---- operations with arguments made ready

    def _run(self, code: str, timeout: Optional[float], filename: Optional[str], value: Optional[str],
             on_output: Optional[OnOutput], on_display: Optional[OnDisplay]) -> Operation:
        return operations.run(self._session, code, self.timeout if timeout is None else timeout, filename, value,
                              on_output or self.on_output, on_display or self.on_display)

    def _set(self, variables: Mapping[str, Any], opaque: bool) -> Operation:
        encoded = operations.encode_variables(self._toolbox, variables, opaque)
        return operations.one("set", session=self._session, variables=encoded)

    def __repr__(self) -> str:
        return "<%s %s>" % (type(self).__name__, self.name if self.is_open else "closed")


class Session(BaseSession):
    """A jail that keeps Python's state between steps. Use it as a context manager, or call open() and close().

        with smoljail.Session(policy="python", timeout=10) as s:
            print(s.run("1 + 1").value)

    Args:
        policy: name of a shipped policy, or a policy as a dict (smoljail-policy(5)); None for the server's own.
        timeout: seconds that a step may take, time spent in tools not counted; float("inf") for no limit. The
            policy's limits.wall otherwise.
        memory: bytes, or text such as "512M".
        limits: other members of the policy's "limits", such as {"pids": 32, "output": "1M"}.
        imports: modules that steps may import, with smolagents' wildcards; advice to the model, not the boundary.
        guard: "native" (full Python) or "compat" (the rules of smolagents' LocalPythonExecutor); advice as well.
        env: environment of the jail, which is empty otherwise. Jailed code can read it.
        packages: host folders made by `pip install --target`, importable and read-only inside.
        tools: functions or Tools to offer from the start.
        name: 1 to 64 of A-Z a-z 0-9 . _ -; chosen by the server otherwise.
        on_output: called with ("stdout" or "stderr", text) while a step runs, in the thread that waits for it.
        on_display: called with each Display likewise.
        server: a Server of one's own; all sessions of a process share one otherwise.

    Attributes:
        name: the session's name while it is open, else None.
        info: the server's answer to open: "python", "backend", "isolation", "enforced_by".
        report: the session's report (schema smoljail.report/1) once it is closed.

    A session may be used from several threads, but one step runs at a time: RequestError "busy" otherwise.
    After the server was lost (ServerLost) or after fork() a session stays dead; open another one.
    """

    def __enter__(self) -> "Session":
        return self.open()

    def __exit__(self, *exc: Any) -> None:
        try:
            self.close()
        except SmoljailError:
            if exc[0] is None:
                raise

    def open(self) -> "Session":
        """Start the jail.

        Raises:
            NotFound: there is no smoljail program.
            RequestError: "bad_policy", "not_allowed", "setup" and so on.
            ServerLost: the server ended.
        """
        if self.name is not None:
            return self
        self._server = self._given_server or default_server()
        try:
            self._drive(self._open())
        except BaseException:
            self._litter()
            raise
        return self

    def _litter(self) -> None:
        """Opened, but its tools were refused."""
        if self.is_open:
            try:
                self._drive(self._close())
            except SmoljailError:
                pass
        self._forget()

    def close(self) -> Optional[Message]:
        """End the jail; its report, or None if it was closed already or its server is gone."""
        try:
            return self._drive(self._close())
        except (ServerLost, RequestError) as e:
            return self._gone(e)

    def run(self, code: str, timeout: Optional[float] = None, *, filename: Optional[str] = None,
            value: Optional[str] = None, on_output: Optional[OnOutput] = None,
            on_display: Optional[OnDisplay] = None) -> Result:
        """Run one step and wait for its end. What the code does wrong is in the Result, never an exception.

        Args:
            code: Python text.
            timeout: seconds for this step; the session's otherwise.
            filename: its name in tracebacks.
            value: "last_expr" or "last_stmt": which value comes back.
            on_output, on_display: for this step instead of the session's.

        Raises:
            RequestError: "busy" when a step runs, and so on.
            ServerLost: the server ended. Whether the step ran is not known.
            ValueError: the code has a lone surrogate, or is larger than 16 MiB.
            KeyboardInterrupt: Ctrl-C; the step was interrupted before this, the session is usable.
        """
        return self._drive(self._run(code, timeout, filename, value, on_output, on_display), is_step=True)

    def interrupt(self) -> None:
        """End the running step as Ctrl-C would; from another thread. After a grace time it is killed.

        Raises:
            RequestError: "not_running".
        """
        self._drive(operations.one("interrupt", session=self._session))

    def tool(self, function: Any = None, *, name: Optional[str] = None, description: Optional[str] = None) -> Any:
        """Offer one more function to the session; also a decorator. Returns the function.

        Its arguments come from hostile code. Secrets, connections and everything else that it works with stay here.
        """
        if function is None:
            return lambda f: self.tool(f, name=name, description=description)
        tool = function if isinstance(function, Tool) else Tool.of(function, name, description)
        self.tools([*[t for n, t in self._toolbox.tools.items() if n != tool.name], tool])
        return function

    def tools(self, tools: Iterable[Union[Tool, Callable[..., Any]]]) -> None:
        """Offer these functions or Tools, and no others. Between steps only."""
        wanted = {tool.name: tool for tool in map(as_tool, tools)}
        if self.name is None:
            self._toolbox.tools = wanted
        else:
            self._drive(self._replace_tools(wanted))

    def set(self, **variables: Any) -> None:
        """Set variables in the session.

        Raises:
            TypeError: one cannot be carried (docs/protocol.md, "Values").
            ValueError: one is too large.
        """
        self._drive(self._set(variables, opaque=False))

    def get(self, names: Union[str, Iterable[str]]) -> Any:
        """Values of variables: of one name its value, of several a dict of those that exist.

        Raises:
            KeyError: the one name does not exist.
        """
        if isinstance(names, str):
            return self._drive(operations.get(self._session, self._toolbox, [names]))[names]
        return self._drive(operations.get(self._session, self._toolbox, list(names)))

    @property
    def files(self) -> "Files":
        """The session's work folder."""
        return Files(self)

    # ---- waiting

    def _drive(self, operation: Operation, is_step: bool = False) -> Any:
        server = self._server
        inbox: queue.SimpleQueue = queue.SimpleQueue()
        ident: Optional[int] = None
        ended = not is_step
        try:
            wish = next(operation)
            while True:
                if wish is None:
                    message = inbox.get()
                    if message is None:
                        wish = operation.throw(self._lost())
                        continue
                    ended = ended or message.get("type") in ("result", "error")
                    wish = operation.send(message)
                elif type(wish) is Call:
                    wish.function(*wish.args)
                    wish = operation.send(None)
                else:
                    if server is None:
                        raise SmoljailError("this session is not open")
                    if ident is not None:
                        server.forget(ident)
                    ident = wish["id"] = server.next_id()
                    on_call = self._on_call(contextvars.copy_context(), ident) if is_step else None
                    server.post(wish, Waiter(inbox.put, on_call))
                    wish = operation.send(None)
        except StopIteration as end:
            return self._heed(end.value)
        except RequestError as e:
            raise self._heed(e)
        except BaseException:
            if not ended and ident is not None:
                self._end_step(inbox, ident)
            raise
        finally:
            operation.close()
            if server is not None and ident is not None:
                server.forget(ident)

    def _lost(self) -> ServerLost:
        assert self._server
        return self._server.lost()

    def _end_step(self, inbox: queue.SimpleQueue, ident: int) -> None:
        """The caller gives up (Ctrl-C, or a callback raised): the step ends before the caller hears of it."""
        assert self._server
        if ident not in self._server._waiting:
            return
        stop = self._server.next_id()
        try:
            self._server.post({"type": "interrupt", "id": stop, "session": self._session}, Waiter(inbox.put))
            while True:
                message = inbox.get()
                if message is None or message.get("type") in ("result", "error"):
                    return
        except SmoljailError:
            pass
        finally:
            self._server.forget(stop)


class Files:
    """Files of a session's work folder, /work. Paths are relative to it."""

    def __init__(self, session: Session) -> None:
        self._of = session

    def put(self, path: str, data: Union[bytes, bytearray, memoryview, str]) -> int:
        """Write a file; text as UTF-8. Returns the number of bytes.

        Raises:
            RequestError: "io", "not_found" and so on.
        """
        raw = data.encode("utf-8") if isinstance(data, str) else bytes(data)
        return self._of._drive(operations.put(self._of._session, path, io.BytesIO(raw).read))

    def put_file(self, path: str, local: Union[str, "os.PathLike[str]"]) -> int:
        """Write a file with the contents of one of the host, in pieces. Returns the number of bytes."""
        with open(local, "rb") as f:
            return self._of._drive(operations.put(self._of._session, path, f.read))

    def fetch(self, path: str, limit: int = FETCH_MAX) -> bytes:
        """The contents of a file.

        Raises:
            RequestError: "not_found" and so on.
            ValueError: it has more than `limit` bytes.
        """
        out = io.BytesIO()
        self._of._drive(operations.fetch(self._of._session, path, out.write, limit))
        return out.getvalue()

    def fetch_file(self, path: str, local: Union[str, "os.PathLike[str]"], limit: Optional[int] = None) -> int:
        """Write the contents to a new file of the host, in pieces. Returns the number of bytes.

        Raises:
            FileExistsError: there is one already.
        """
        with open(local, "xb") as f:
            return self._of._drive(operations.fetch(self._of._session, path, f.write, limit))

    def list(self, path: str = ".") -> List[FileInfo]:
        """What is below a folder."""
        return self._of._drive(operations.listing(self._of._session, path))


__all__ = ["Files", "Session"]
