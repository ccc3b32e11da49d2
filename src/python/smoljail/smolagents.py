"""An executor for CodeAgent of smolagents (1.23 or newer), and its PythonInterpreterTool.

    agent = CodeAgent(tools=[...], model=model, executor=SmoljailExecutor())

The agent's code runs in a jail. Tools, MCP tools and managed agents stay here and are called from inside, so
closures, connections and keys work and never enter the jail.

Runs as: the client, in the agent's process
Trusts: the tools that the agent offers; nothing of what comes out of the jail
Never: evaluates or parses the agent's code here
"""
from __future__ import annotations

import difflib
import os
import sys
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Union

from smolagents.local_python_executor import (
    BASE_BUILTIN_MODULES, BASE_PYTHON_TOOLS, DEFAULT_MAX_LEN_OUTPUT, MAX_EXECUTION_TIME_SECONDS, CodeOutput,
    ExecutionTimeoutError, InterpreterError, PrintContainer, PythonExecutor,
)
from smolagents.default_tools import FinalAnswerTool
from smolagents.monitoring import AgentLogger, LogLevel
from smolagents.tools import Tool as AgentTool
from smolagents.utils import AgentExecutionError, truncate_content

from ._errors import SmoljailError
from ._results import KEPT, Result
from ._run import run as run_program
from ._server import Server
from ._tools import Tool
from .session import Session

# LocalPythonExecutor has these as bare names.
_PRELUDE = "from math import acos, asin, atan, atan2, ceil, cos, degrees, exp, floor, log, radians, sin, sqrt, tan\n"
_FOUND = "import sys\nfrom importlib.util import find_spec\nprint(*[m for m in sys.argv[1:] if find_spec(m) is None])\n"
DENIED_SHOWN = 3                # refusals that are told to the model


class _State(Dict[str, Any]):
    """The executor's `state`: "_print_outputs" of the last step, and the session's variables where they are asked for."""

    def __init__(self, executor: "SmoljailExecutor") -> None:
        super().__init__({"__name__": "__main__", "_print_outputs": PrintContainer()})
        self._executor = executor

    def __missing__(self, name: str) -> Any:
        return self._executor._variable(name)

    def __contains__(self, name: object) -> bool:
        try:
            self[name]                          # type: ignore[index]
        except KeyError:
            return False
        return True

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else default

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value) if name.startswith("_") else self._executor.send_variables({name: value})

    def update(self, *args: Any, **kwargs: Any) -> None:
        for name, value in dict(*args, **kwargs).items():
            self[name] = value


class SmoljailExecutor(PythonExecutor):
    """Runs the code of a CodeAgent in a jail: `CodeAgent(executor=SmoljailExecutor(...))`.

    Also takes the arguments of remote executors, `(additional_imports, logger, **kwargs)`, by which
    `CodeAgent(executor_type="smoljail")` makes one where smolagents looks for the entry points "smolagents.executors".

    Args:
        additional_authorized_imports: modules beside the usual eleven. Give the agent the same list: its prompt tells
            the model. `SmoljailExecutor.for_agent(agent)` takes it from there.
        max_print_outputs_length: characters of printed text that the model gets to see.
        additional_functions: name -> function of the host, callable from the agent's code.
        timeout_seconds: of one step, time spent in tools not counted; None for no limit.
        guard: "native" (full Python) or "compat" (the rules of LocalPythonExecutor). Neither is the boundary.
        policy, memory, limits, env, packages, server: as for smoljail.Session.

    Attributes:
        session: the Session, or None before the first step and after cleanup().
        last_result: the Result of the last step: displays, files, usage, denials.
        state, static_tools, custom_tools, authorized_imports: as LocalPythonExecutor has them.
    """

    def __init__(self, additional_authorized_imports: Iterable[str] = (),
                 max_print_outputs_length: Union[int, AgentLogger, None] = None,
                 additional_functions: Optional[Mapping[str, Callable[..., Any]]] = None,
                 timeout_seconds: Optional[float] = MAX_EXECUTION_TIME_SECONDS, *,
                 additional_imports: Iterable[str] = (), logger: Optional[AgentLogger] = None,
                 policy: Union[str, Mapping[str, Any]] = "python", guard: str = "native",
                 memory: Union[int, str, None] = None, limits: Optional[Mapping[str, Any]] = None,
                 env: Optional[Mapping[str, str]] = None, packages: Optional[Iterable[Any]] = None,
                 server: Optional[Server] = None) -> None:
        if hasattr(max_print_outputs_length, "log_error"):
            max_print_outputs_length, logger = None, max_print_outputs_length    # type: ignore[assignment]
        self.additional_authorized_imports = [*additional_authorized_imports, *additional_imports]
        self.authorized_imports = sorted({*BASE_BUILTIN_MODULES, *self.additional_authorized_imports})
        self.max_print_outputs_length = max_print_outputs_length or DEFAULT_MAX_LEN_OUTPUT
        self.additional_functions = dict(additional_functions or {})
        self.timeout_seconds = timeout_seconds
        self.logger = logger or AgentLogger(level=LogLevel.OFF)
        self.static_tools: Optional[Dict[str, Any]] = None
        self.custom_tools: Dict[str, Any] = {}
        self.session: Optional[Session] = None
        self.last_result: Optional[Result] = None
        self.state = _State(self)
        self._options = dict(
            policy=policy, guard=guard, memory=memory, limits=limits, env=env, server=server,
            packages=[os.path.abspath(p) for p in packages or ()] or None,
            timeout=float("inf") if timeout_seconds is None else timeout_seconds)
        self._offered: Dict[str, Tool] = {}
        self._variables: Dict[str, Any] = {}
        self._tools_sent, self._variables_sent = False, set()   # type: ignore[var-annotated]
        self._check_imports()

    @classmethod
    def for_agent(cls, agent: Any, **kwargs: Any) -> "SmoljailExecutor":
        """Give an agent that exists an executor with its own list of imports and its own limit of printed text."""
        kwargs.setdefault("max_print_outputs_length", getattr(agent, "max_print_outputs_length", None))
        kwargs.setdefault("logger", getattr(agent, "logger", None))
        executor = cls(agent.additional_authorized_imports, **kwargs)
        agent.cleanup()
        agent.python_executor = executor
        return executor

    def _check_imports(self) -> None:
        """InterpreterError for modules that the jail does not have, as LocalPythonExecutor does for the host's."""
        names = {name.split(".")[0] for name in self.additional_authorized_imports} - {"*", *BASE_BUILTIN_MODULES}
        names -= set(getattr(sys, "stdlib_module_names", ()))
        if not names:
            return
        report = run_program(_FOUND, policy=self._options["policy"], packages=self._options["packages"], args=sorted(names))
        if report.ok and report.stdout.split():
            raise InterpreterError(
                "Non-installed authorized modules: %s. Please install these modules or remove them from the authorized "
                "imports list." % ", ".join(report.stdout.split()))

    # ---- the agent's calls

    def send_tools(self, tools: Dict[str, Any]) -> None:
        """Offer these tools, and no others but additional_functions. What is the same as before costs nothing."""
        self.static_tools = {**tools, **BASE_PYTHON_TOOLS, **self.additional_functions}
        offered = {name: _tool(name, tool) for name, tool in {**tools, **self.additional_functions}.items()
                   if type(tool) is not FinalAnswerTool}
        if {n: t.spec() for n, t in offered.items()} != {n: t.spec() for n, t in self._offered.items()}:
            self._tools_sent = False
        elif self.session is not None:
            # Perhaps other objects of the same look.
            self.session._toolbox.tools = offered
        self._offered = offered

    def send_variables(self, variables: Dict[str, Any]) -> None:
        """Set variables before the next step. One that cannot be carried is there in name, for tools to be given."""
        for name, value in variables.items():
            self._variables[name] = value
            self._variables_sent.discard(name)

    def __call__(self, code_action: str) -> CodeOutput:
        """Run one step.

        Raises:
            InterpreterError: the code failed, in the words of LocalPythonExecutor, or was stopped by a limit.
            ExecutionTimeoutError: its time was up.
            AgentExecutionError: there was no jail to run it in.
        """
        prints = PrintContainer()
        dict.__setitem__(self.state, "_print_outputs", prints)
        self.last_result = None
        try:
            session = self._ready()
            code = code_action.encode("utf-8", "replace").decode()
            result = session.run(code, value="last_stmt")
        except SmoljailError as e:
            if self.session is None or not self.session.is_open:
                self._lose()
            raise AgentExecutionError("The code could not be run: %s" % e, self.logger) from e
        self.last_result = result
        prints.value = truncate_content(result.logs, max_length=self.max_print_outputs_length)
        if result.state != KEPT:
            self._variables_sent.clear()
        if not result.ok:
            raise self._failure(result)
        return CodeOutput(output=_output(result), logs=str(prints), is_final_answer=result.is_final_answer)

    def interrupt(self) -> None:
        """End the running step, from another thread."""
        if self.session is not None:
            self.session.interrupt()

    def cleanup(self) -> None:
        """End the jail. A later step starts a new one, with the tools and variables that were sent."""
        session, self.session = self.session, None
        self._lose()
        if session is not None:
            session.close()

    delete = cleanup

    def __enter__(self) -> "SmoljailExecutor":
        return self

    def __exit__(self, *exc: Any) -> None:
        self.cleanup()

    # ---- the session

    def _lose(self) -> None:
        self.session, self._tools_sent = None, False
        self._variables_sent.clear()

    def _ready(self) -> Session:
        """The session, with the tools and variables that were sent."""
        session = self.session
        if session is None or not session.is_open:
            self._lose()
            session = self.session = Session(imports=self.authorized_imports, **self._options).open()
            if self._options["guard"] == "native":
                session.run(_PRELUDE)
        if not self._tools_sent:
            session.tools(self._offered.values())
            self._tools_sent = True
        new = {n: _raw(v) for n, v in self._variables.items() if n not in self._variables_sent}
        if new:
            session._drive(session._set(new, opaque=True))
            self._variables_sent.update(new)
        return session

    def _variable(self, name: str) -> Any:
        if self.session is not None and self.session.is_open and name not in self._unsent():
            return self.session.get(name)
        return self._variables[name]

    def _unsent(self) -> List[str]:
        return [name for name in self._variables if name not in self._variables_sent]

    # ---- in the words that models know

    def _failure(self, result: Result) -> Exception:
        note = _note(result)
        if result.status == "timeout":
            return ExecutionTimeoutError("Code execution exceeded the maximum execution time of %s seconds%s"
                                         % (self.timeout_seconds, note))
        error = result.error
        if result.status != "error" or error is None:
            reason = "SystemExit: %s" % result.exit_code if result.status == "exit" else result.reason
            return InterpreterError("Code execution failed due to: %s%s" % (reason, note))
        if error.type in ("SyntaxError", "IndentationError", "TabError") and "Traceback" not in error.traceback:
            return InterpreterError(_parsing_failed(error))
        return InterpreterError("Code execution failed at line '%s' due to: %s%s"
                                % (error.source or "", error, self._hint(error) + note))

    def _hint(self, error: Any) -> str:
        """What LocalPythonExecutor would have guessed silently."""
        if error.type != "NameError" or "'" not in error.message:
            return ""
        name = error.message.split("'")[1]
        near = difflib.get_close_matches(name, [*self._offered, *self._variables], n=1)
        return ". Did you mean: '%s'?" % near[0] if near and "Did you mean" not in error.message else ""


# ---- helpers ------------------------------------------------------------------------------


def _raw(value: Any) -> Any:
    """smolagents wraps images, text and audio in types of its own."""
    return value.to_raw() if hasattr(value, "to_raw") and hasattr(value, "to_string") else value


def _input(spec: Any) -> Dict[str, Any]:
    spec = dict(spec) if isinstance(spec, Mapping) else {}
    kind = spec.get("type", "any")
    result = {"type": kind if isinstance(kind, str) else "any", "description": str(spec.get("description", ""))}
    if spec.get("nullable"):
        result["nullable"] = True
    return result


def _tool(name: str, tool: Any) -> Tool:
    """A tool, a managed agent, or a plain function, as a host tool of that name."""
    if not isinstance(tool, AgentTool) and not hasattr(tool, "inputs"):
        plain = Tool.of(tool, name)
        return Tool(name, lambda *a, **k: _raw(tool(*a, **k)), plain.description, plain.inputs, plain.output_type)
    inputs = getattr(tool, "inputs", None)
    return Tool(name, lambda *a, **k: _raw(tool(*a, **k)), str(getattr(tool, "description", "") or ""),
                {n: _input(s) for n, s in inputs.items()} if isinstance(inputs, Mapping) else {},
                str(getattr(tool, "output_type", "any")))


def _output(result: Result) -> Any:
    """The value; where there is none, the image that the step showed."""
    if result.value is None and not result.is_final_answer:
        for display in reversed(result.displays):
            image = display.image()
            if image is not None:
                return image
    return result.value


def _note(result: Result) -> str:
    """What the model has to know beyond the error, which has the guard's own words."""
    text = ""
    for denial in result.denied[:DENIED_SHOWN]:
        if denial.get("what") and denial.get("layer") != "guard":
            text += "\nRefused by the sandbox: %s" % denial["what"]
    if result.state != KEPT:
        text += "\nThe interpreter was started anew: variables, functions and imports of earlier steps are gone."
    elif result.status != "error":
        text += "\nVariables of earlier steps are kept."
    return text


def _parsing_failed(error: Any) -> str:
    """Line, text and caret, of the traceback that Python made inside."""
    lines = error.traceback.rstrip("\n").split("\n")[:-1]
    caret = [i for i, line in enumerate(lines) if line.strip() and not line.strip("^~ ")]
    shown = lines[caret[-1] - 1:caret[-1] + 1] if caret and caret[-1] > 0 else [error.source or ""]
    return "Code parsing failed on line %s due to: %s\n%s" % (error.line, error, "\n".join(shown))


# ---- the tool of ToolCallingAgent -----------------------------------------------------------


class PythonInterpreterTool(AgentTool):
    """Drop-in for smolagents' PythonInterpreterTool: each call runs in a jail of its own.

    Args:
        authorized_imports: modules beside the usual eleven.
        timeout_seconds: of one call.
        executor_kwargs: others of SmoljailExecutor.
    """

    name = "python_interpreter"
    description = "This is a tool that evaluates python code. It can be used to perform calculations."
    inputs = {"code": {"type": "string", "description": "The python code to run in interpreter"}}
    output_type = "string"

    def __init__(self, *args: Any, authorized_imports: Optional[List[str]] = None,
                 timeout_seconds: Optional[float] = MAX_EXECUTION_TIME_SECONDS,
                 executor_kwargs: Optional[Dict[str, Any]] = None, **kwargs: Any) -> None:
        self.authorized_imports = sorted({*BASE_BUILTIN_MODULES, *(authorized_imports or ())})
        self.timeout_seconds = timeout_seconds
        self.executor_kwargs = executor_kwargs or {}
        self.inputs = {"code": {"type": "string", "description": (
            "The code snippet to evaluate. All variables used in this snippet must be defined in this same snippet, "
            "else you will get an error. This code can only import the following python libraries: "
            "%s." % self.authorized_imports)}}
        super().__init__(*args, **kwargs)

    def forward(self, code: str) -> str:
        with SmoljailExecutor(self.authorized_imports, timeout_seconds=self.timeout_seconds, **self.executor_kwargs) as run:
            done = run(code)
        return "Stdout:\n%s\nOutput: %s" % (done.logs, done.output)


__all__ = ["PythonInterpreterTool", "SmoljailExecutor"]
