"""A sandbox backend for deepagents: its file tools and its shell work inside a jail.

    with smoljail.Session() as session:
        agent = create_deep_agent(model=model, backend=SmoljailBackend(session))
"""
from __future__ import annotations

import posixpath
from typing import Any, List, Optional, Tuple

from deepagents.backends.protocol import ExecuteResponse, FileDownloadResponse, FileUploadResponse, GrepResult
from deepagents.backends.sandbox import BaseSandbox

from .._errors import RequestError
from ..session import Session
from ._text import TEXT_MAX, shorten

WORK = "/work"
TIMED_OUT = 124                 # exit status, as timeout(1) has it
_RUN = ("import subprocess as _p\n"
        "_r = _p.run(['sh', '-c', %r], stdin=_p.DEVNULL, stdout=_p.PIPE, stderr=_p.STDOUT)\n"
        "(_r.returncode, _r.stdout.decode('utf-8', 'replace'))")


class SmoljailBackend(BaseSandbox):
    """Commands run by sh in the session's jail, files live in its /work.

    Args:
        session: an open session whose policy lets it start sh ("python" does).
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    @property
    def id(self) -> str:
        return self._session.name or "closed"

    def execute(self, command: str, *, timeout: Optional[int] = None) -> ExecuteResponse:
        """Run a shell command; timeout in seconds, the session's otherwise."""
        result = self._session.run(_RUN % command, timeout=timeout or None)
        if result.ok and isinstance(result.value, tuple):
            code, output = result.value
            return ExecuteResponse(shorten(output), code if code >= 0 else 128 - code, len(output) > TEXT_MAX)
        return ExecuteResponse(result.reason, TIMED_OUT if result.status == "timeout" else 1)

    def grep(self, pattern: str, path: Optional[str] = None, glob: Optional[str] = None, **kwargs: Any) -> GrepResult:
        """Literal search. By the base class' Python program, which it uses for globs with a slash: its command line is
        GNU grep's, and the jail's grep is smaller."""
        if glob is None or "/" not in glob:
            glob = "**/" + (glob or "*")
        return super().grep(pattern, path, glob, **kwargs)

    @staticmethod
    def _path(path: str) -> Optional[str]:
        """Relative to the work folder, or None for one that is not in it."""
        whole = posixpath.normpath(posixpath.join(WORK, path))
        return posixpath.relpath(whole, WORK) if whole.startswith(WORK + "/") else None

    def upload_files(self, files: List[Tuple[str, bytes]]) -> List[FileUploadResponse]:
        """Write files below /work; the answers say which could not be."""
        answers = []
        for path, content in files:
            inside, error = self._path(path), None
            try:
                if inside is None:
                    error = "invalid_path"
                else:
                    self._session.files.put(inside, content)
            except RequestError as e:
                error = str(e)
            answers.append(FileUploadResponse(path=path, error=error))
        return answers

    def download_files(self, paths: List[str]) -> List[FileDownloadResponse]:
        """Read files below /work; the answers say which could not be."""
        answers = []
        for path in paths:
            inside, content, error = self._path(path), None, None
            try:
                if inside is None:
                    error = "invalid_path"
                else:
                    content = self._session.files.fetch(inside)
            except RequestError as e:
                error = "file_not_found" if e.code == "not_found" else str(e)
            answers.append(FileDownloadResponse(path=path, content=content, error=error))
        return answers
