"""One program in a jail of its own, and its report.

Runs as: the client
Trusts: the smoljail program
Never: leaves its temporary folder behind
"""
from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import subprocess
import tempfile
from typing import Any, Dict, Iterable, List, Mapping, Optional, Union

from . import _locate
from ._errors import SmoljailError
from ._operations import Size, milliseconds


@dataclasses.dataclass(frozen=True)
class Report:
    """How a program ended.

    Attributes:
        status: "ok", "exit", "error", "signal", "timeout", "oom" and so on; "setup_error": nothing ran.
        stdout, stderr: what it wrote, as text; bytes that are no UTF-8 are replaced.
        exit_code: of `smoljail run` itself: the program's own, or 124, 137, 125 ... (smoljail(1)).
        report: the whole of it, schema smoljail.report/1.
    """

    status: str
    stdout: str
    stderr: str
    exit_code: int
    report: Dict[str, Any]

    @property
    def ok(self) -> bool:
        """The program ran and exited with 0."""
        return self.status == "ok"


def _policy(policy: Union[str, Mapping[str, Any]], folder: str) -> str:
    if not isinstance(policy, Mapping):
        return policy
    path = os.path.join(folder, "policy.json")
    pathlib.Path(path).write_text(json.dumps(policy), encoding="utf-8")
    return path


def run(code: str, *, policy: Union[str, Mapping[str, Any]] = "python", timeout: Optional[float] = None,
        memory: Optional[Size] = None, env: Optional[Mapping[str, str]] = None,
        packages: Optional[Iterable[Any]] = None, stdin: Union[str, bytes] = b"", args: Iterable[str] = (),
        options: Iterable[str] = (), binary: Optional[str] = None) -> Report:
    """Run Python text as a program in a jail of its own (`smoljail run`), and wait for its end.

    Args:
        code: the program.
        policy: name of a shipped policy, path of a file, or a policy as a dict.
        timeout: seconds of wall-clock time.
        memory: bytes, or text such as "512M".
        env: environment of the jail, which is empty otherwise.
        packages: host folders made by `pip install --target`.
        stdin: what the program reads.
        args: sys.argv[1:].
        options: other options of `smoljail run`.
        binary: path of the smoljail program.

    Raises:
        NotFound: there is no smoljail program.
        SmoljailError: it could not be used as asked; the message has its own words.
    """
    with tempfile.TemporaryDirectory(prefix="smoljail-") as folder:
        script, report = os.path.join(folder, "main.py"), os.path.join(folder, "report.json")
        pathlib.Path(script).write_bytes(code.encode("utf-8"))
        argv = [_locate.find(binary), "run", "--quiet", "--report", report, "--policy", _policy(policy, folder)]
        for option, value in (("--timeout", milliseconds(timeout) if timeout else None), ("--memory", memory)):
            if value is not None:
                argv += [option, str(value)]
        for name, value in (env or {}).items():
            argv += ["--env", "%s=%s" % (name, value)]
        for path in packages or ():
            argv += ["--packages", os.fspath(path)]
        argv += [*options, script, *args]
        done = subprocess.run(argv, input=stdin.encode() if isinstance(stdin, str) else stdin, capture_output=True, check=False)
        return _report(done, report, argv)


def _report(done: "subprocess.CompletedProcess[bytes]", path: str, argv: List[str]) -> Report:
    stdout, stderr = (stream.decode("utf-8", "replace") for stream in (done.stdout, done.stderr))
    try:
        report = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise SmoljailError("%s run ended with status %d and wrote no report: %s"
                            % (argv[0], done.returncode, stderr.strip() or "it said nothing")) from None
    return Report(report["status"], stdout, stderr, done.returncode, report)
