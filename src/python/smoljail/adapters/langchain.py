"""A tool for LangChain and LangGraph agents (langchain-core).

    with smoljail.Session() as session:
        agent = create_agent(model, tools=[python_tool(session)])
"""
from __future__ import annotations

from typing import Any

from langchain_core.tools import StructuredTool

from ..session import Session
from ._text import DESCRIPTION, describe


def python_tool(session: Session, name: str = "python", description: str = DESCRIPTION) -> StructuredTool:
    """A tool that runs code in this session. What goes wrong in the code is the tool's text, not an exception."""

    def run(code: str) -> str:
        return describe(session.run(code))

    async def arun(code: str) -> str:
        import asyncio
        return await asyncio.get_running_loop().run_in_executor(None, run, code)

    schema: Any = {"type": "object", "properties": {"code": {"type": "string", "description": "Python code"}}, "required": ["code"]}
    return StructuredTool.from_function(run, coroutine=arun, name=name, description=description, args_schema=schema)
