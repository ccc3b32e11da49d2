"""A code executor for AutoGen 0.4 and newer (autogen-core).

    async with SmoljailCodeExecutor() as executor:
        agent = CodeExecutorAgent("coder", code_executor=executor)
"""
from __future__ import annotations

import asyncio
from typing import Any, List, Optional

from autogen_core import CancellationToken
from autogen_core.code_executor import CodeBlock, CodeExecutor, CodeResult

from ..aio import AsyncSession
from ._text import describe

LANGUAGES = ("python", "py", "python3", "")
TIMED_OUT = 124                 # exit status, as timeout(1) has it


class SmoljailCodeExecutor(CodeExecutor):
    """Runs Python blocks in a jail, in which state lives from block to block until restart().

    Args:
        timeout: seconds for one block.
        kwargs: others of smoljail.AsyncSession: policy, memory, packages ...
    """

    def __init__(self, timeout: float = 60, **kwargs: Any) -> None:
        self._kwargs = dict(kwargs, timeout=timeout)
        self._session: Optional[AsyncSession] = None

    async def start(self) -> None:
        if self._session is None or not self._session.is_open:
            self._session = await AsyncSession(**self._kwargs).open()

    async def stop(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def restart(self) -> None:
        await self.stop()
        await self.start()

    async def execute_code_blocks(self, code_blocks: List[CodeBlock], cancellation_token: CancellationToken) -> CodeResult:
        """Run blocks in order, up to the first that fails.

        Raises:
            ValueError: a block is not Python.
            asyncio.CancelledError: the token was used; the running block was interrupted.
        """
        for block in code_blocks:
            if block.language.lower() not in LANGUAGES:
                raise ValueError("%s cannot be run here, only Python" % block.language)
        await self.start()
        texts = []
        for block in code_blocks:
            task = asyncio.ensure_future(self._session.run(block.code))     # type: ignore[union-attr]
            cancellation_token.link_future(task)
            result = await task
            texts.append(describe(result))
            if not result.ok:
                code = TIMED_OUT if result.status == "timeout" else result.exit_code
                if code != 0:
                    return CodeResult(1 if code is None else code, "\n".join(texts))
        return CodeResult(0, "\n".join(text for text in texts if text))
