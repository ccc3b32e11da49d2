"""A tool for the OpenAI Agents SDK (openai-agents).

    async with smoljail.AsyncSession() as session:
        agent = Agent(name="Analyst", tools=[python_tool(session)])
        result = await Runner.run(agent, "What is 6 * 7?")
"""
from __future__ import annotations

import json
from typing import Any

from agents import FunctionTool

from ..aio import AsyncSession
from ._text import DESCRIPTION, describe

SCHEMA = {"type": "object", "properties": {"code": {"type": "string", "description": "Python code"}}, "required": ["code"],
          "additionalProperties": False}


def python_tool(session: AsyncSession, name: str = "python", description: str = DESCRIPTION) -> FunctionTool:
    """A tool that runs code in this session. What goes wrong in the code is the tool's text, not an exception."""

    async def run(context: Any, arguments: str) -> str:
        return describe(await session.run(json.loads(arguments)["code"]))

    return FunctionTool(name=name, description=description, params_json_schema=dict(SCHEMA), on_invoke_tool=run)
