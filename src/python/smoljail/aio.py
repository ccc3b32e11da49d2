"""Sessions for asyncio.

Runs as: the client, in an event loop
Trusts: nothing of what comes out of a jail
Never: blocks the loop for longer than a small write to a pipe takes
"""
from __future__ import annotations

import asyncio
import contextvars
import inspect
import io
from typing import Any, Callable, Iterable, List, Optional, Union

from . import _operations as operations
from ._errors import RequestError, ServerLost, SmoljailError
from ._operations import Call, Message, Operation
from ._results import FileInfo, Result
from ._server import Waiter, default_server
from ._tools import Tool, as_tool
from .session import FETCH_MAX, BaseSession, OnDisplay, OnOutput

SMALL = 32 << 10                # bytes of code or data that are written at once, without a thread


class AsyncSession(BaseSession):
    """Session for asyncio: the same arguments and the same methods, to be awaited.

        async with smoljail.AsyncSession(policy="python") as s:
            print((await s.run("1 + 1")).value)

    Tools may be coroutine functions, which run in the loop; others run in threads. Callbacks run in the loop and may
    be coroutine functions too. A run() that is cancelled interrupts its step first, so the session stays usable.
    """

    async def __aenter__(self) -> "AsyncSession":
        return await self.open()

    async def __aexit__(self, *exc: Any) -> None:
        try:
            await self.close()
        except SmoljailError:
            if exc[0] is None:
                raise

    async def open(self) -> "AsyncSession":
        """Start the jail; raises as Session.open()."""
        if self.name is not None:
            return self
        loop = asyncio.get_running_loop()
        self._toolbox.wait_for = lambda a: asyncio.run_coroutine_threadsafe(_awaited(a), loop).result()
        self._server = self._given_server or await loop.run_in_executor(None, default_server)
        try:
            await self._drive(self._open())
        except BaseException:
            if self.is_open:
                assert self._server and self.name
                self._server.drop_session(self.name)
            self._forget()
            raise
        return self

    async def close(self) -> Optional[Message]:
        """End the jail; its report, or None if it was closed already or its server is gone."""
        try:
            return await self._drive(self._close())
        except (ServerLost, RequestError) as e:
            return self._gone(e)

    async def run(self, code: str, timeout: Optional[float] = None, *, filename: Optional[str] = None,
                  value: Optional[str] = None, on_output: Optional[OnOutput] = None,
                  on_display: Optional[OnDisplay] = None) -> Result:
        """Run one step; as Session.run()."""
        return await self._drive(self._run(code, timeout, filename, value, on_output, on_display), is_step=True)

    async def interrupt(self) -> None:
        """End the running step as Ctrl-C would, from another task."""
        await self._drive(operations.one("interrupt", session=self._session))

    async def tool(self, function: Any, *, name: Optional[str] = None, description: Optional[str] = None) -> Any:
        """Offer one more function to the session. Returns the function."""
        tool = function if isinstance(function, Tool) else Tool.of(function, name, description)
        await self.tools([*[t for n, t in self._toolbox.tools.items() if n != tool.name], tool])
        return function

    async def tools(self, tools: Iterable[Union[Tool, Callable[..., Any]]]) -> None:
        """Offer these functions or Tools, and no others. Between steps only."""
        wanted = {tool.name: tool for tool in map(as_tool, tools)}
        if self.name is None:
            self._toolbox.tools = wanted
        else:
            await self._drive(self._replace_tools(wanted))

    async def set(self, **variables: Any) -> None:
        """Set variables; raises as Session.set()."""
        await self._drive(self._set(variables, opaque=False))

    async def get(self, names: Union[str, Iterable[str]]) -> Any:
        """Values of variables; as Session.get()."""
        if isinstance(names, str):
            return (await self._drive(operations.get(self._session, self._toolbox, [names])))[names]
        return await self._drive(operations.get(self._session, self._toolbox, list(names)))

    @property
    def files(self) -> "AsyncFiles":
        """The session's work folder."""
        return AsyncFiles(self)

    # ---- waiting

    async def _drive(self, operation: Operation, is_step: bool = False) -> Any:
        server, loop = self._server, asyncio.get_running_loop()
        inbox: "asyncio.Queue[Optional[Message]]" = asyncio.Queue()
        ident: Optional[int] = None
        ended = not is_step

        def deliver(message: Optional[Message]) -> None:
            try:
                loop.call_soon_threadsafe(inbox.put_nowait, message)
            except RuntimeError:
                pass    # the loop was closed; nobody waits

        try:
            wish = next(operation)
            while True:
                if wish is None:
                    message = await inbox.get()
                    if message is None:
                        wish = operation.throw(self._lost())
                        continue
                    ended = ended or message.get("type") in ("result", "error")
                    wish = operation.send(message)
                elif type(wish) is Call:
                    answer = wish.function(*wish.args)
                    if inspect.isawaitable(answer):
                        await answer
                    wish = operation.send(None)
                else:
                    if server is None:
                        raise SmoljailError("this session is not open")
                    if ident is not None:
                        server.forget(ident)
                    ident = wish["id"] = server.next_id()
                    on_call = self._on_call(contextvars.copy_context(), ident) if is_step else None
                    await self._post(loop, wish, Waiter(deliver, on_call))
                    wish = operation.send(None)
        except StopIteration as end:
            return self._heed(end.value)
        except RequestError as e:
            raise self._heed(e)
        except BaseException:
            if not ended and ident is not None:
                await self._end_step(loop, inbox, deliver, ident)
            raise
        finally:
            operation.close()
            if server is not None and ident is not None:
                server.forget(ident)

    async def _post(self, loop: asyncio.AbstractEventLoop, message: Message, waiter: Waiter) -> None:
        assert self._server
        if sum(len(v) for v in message.values() if isinstance(v, (str, list, dict))) < SMALL and "variables" not in message:
            self._server.post(message, waiter)
        else:
            await loop.run_in_executor(None, self._server.post, message, waiter)

    def _lost(self) -> ServerLost:
        assert self._server
        return self._server.lost()

    async def _end_step(self, loop: asyncio.AbstractEventLoop, inbox: "asyncio.Queue[Optional[Message]]",
                        deliver: Callable[[Optional[Message]], None], ident: int) -> None:
        """The caller gives up: the step ends before the caller hears of it."""
        assert self._server
        if ident not in self._server._waiting:
            return
        stop = self._server.next_id()
        try:
            self._server.post({"type": "interrupt", "id": stop, "session": self._session}, Waiter(deliver))
            while True:
                message = await inbox.get()
                if message is None or message.get("type") in ("result", "error"):
                    return
        except SmoljailError:
            pass
        finally:
            self._server.forget(stop)


class AsyncFiles:
    """Files of a session's work folder, /work. Paths are relative to it."""

    def __init__(self, session: AsyncSession) -> None:
        self._of = session

    async def put(self, path: str, data: Union[bytes, bytearray, memoryview, str]) -> int:
        """Write a file; text as UTF-8. Returns the number of bytes."""
        raw = data.encode("utf-8") if isinstance(data, str) else bytes(data)
        return await self._of._drive(operations.put(self._of._session, path, io.BytesIO(raw).read))

    async def fetch(self, path: str, limit: int = FETCH_MAX) -> bytes:
        """The contents of a file; ValueError when it has more than `limit` bytes."""
        out = io.BytesIO()
        await self._of._drive(operations.fetch(self._of._session, path, out.write, limit))
        return out.getvalue()

    async def list(self, path: str = ".") -> List[FileInfo]:
        """What is below a folder."""
        return await self._of._drive(operations.listing(self._of._session, path))


async def _awaited(awaitable: Any) -> Any:
    return await awaitable


__all__ = ["AsyncFiles", "AsyncSession"]
