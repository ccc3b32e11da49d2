"""Runs Python that you did not write, behind a kernel boundary, on your own machine.

    import smoljail

    with smoljail.Session(policy="python") as s:
        s.run("x = 20")
        print(s.run("x + 1").value)             # 21

    print(smoljail.run("print(6 * 7)").stdout)  # one program, one jail, one report

Modules: smoljail.smolagents (an executor for CodeAgent), smoljail.adapters (LangChain, AutoGen, LlamaIndex,
OpenAI Agents). docs/python.md has the whole story.
"""
from ._errors import NotFound, ProtocolError, RequestError, ServerLost, SmoljailError, StepError
from ._results import Display, ErrorInfo, FileInfo, Result
from ._run import Report, run
from ._server import Server, shutdown
from ._tools import Tool
from ._values import Opaque
from .aio import AsyncFiles, AsyncSession
from .session import Files, Session

__version__ = "0.1.0"
__all__ = [
    "AsyncFiles", "AsyncSession", "Display", "ErrorInfo", "FileInfo", "Files", "NotFound", "Opaque", "ProtocolError",
    "Report", "RequestError", "Result", "ServerLost", "Server", "Session", "SmoljailError", "StepError", "Tool",
    "run", "shutdown",
]
