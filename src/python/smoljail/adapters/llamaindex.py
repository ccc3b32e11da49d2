"""The function that LlamaIndex' CodeActAgent runs code with (llama-index-core).

    async with smoljail.AsyncSession() as session:
        agent = CodeActAgent(code_execute_fn=code_execute_fn(session), llm=llm, tools=[...])
"""
from __future__ import annotations

from typing import Awaitable, Callable

from ..aio import AsyncSession
from ._text import describe


def code_execute_fn(session: AsyncSession) -> Callable[[str], Awaitable[str]]:
    """An async function that runs code in this session and returns what there is to read.

    CodeActAgent puts its tools into its prompt only. Give them to the session as well, so that code can call them.
    """

    async def execute(code: str) -> str:
        """Run Python code; variables are kept from call to call."""
        return describe(await session.run(code))

    return execute
