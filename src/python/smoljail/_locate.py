"""Where the smoljail program is: SMOLJAIL, this package's own, or PATH.

Runs as: the client
Trusts: the environment, and the archive that came with this package
Never: leaves a half unpacked folder where another process would take it for whole
"""
from __future__ import annotations

import os
import pathlib
import shutil
import tarfile
import tempfile
from typing import Optional

from ._errors import NotFound

BUNDLE = pathlib.Path(__file__).with_name("_bin")


def find(binary: Optional[str] = None) -> str:
    """Path of the smoljail program.

    Args:
        binary: its path, if the caller knows it.

    Raises:
        NotFound: there is none, or it cannot be unpacked.
    """
    given = binary or os.environ.get("SMOLJAIL")
    if given:
        if not os.access(given, os.X_OK) or os.path.isdir(given):
            raise NotFound("%s is no program (%s)" % (given, "given by the caller" if binary else "from SMOLJAIL"))
        return os.path.abspath(given)
    archives = sorted(BUNDLE.glob("smoljail-*.tar.gz"))
    found = str(unpacked(archives[-1])) if archives else shutil.which("smoljail")
    if not found:
        raise NotFound("no smoljail program: SMOLJAIL is not set, this package came without one, and PATH has none. "
                       "Install a wheel made by `make wheel`, or set SMOLJAIL to the path of a built smoljail")
    return found


def _cache() -> pathlib.Path:
    given = os.environ.get("SMOLJAIL_CACHE")
    if given:
        return pathlib.Path(given)
    base = os.environ.get("XDG_CACHE_HOME")
    if base and os.path.isabs(base):
        return pathlib.Path(base, "smoljail")
    home = os.path.expanduser("~")
    if os.path.isabs(home) and os.access(home, os.W_OK):
        return pathlib.Path(home, ".cache", "smoljail")
    return pathlib.Path(tempfile.gettempdir(), "smoljail-%d" % os.geteuid())


def _is_mine(path: pathlib.Path) -> bool:
    """Nobody but this user, or root, could have put something there."""
    st = path.lstat()
    return st.st_uid in (0, os.geteuid()) and not st.st_mode & 0o022


def unpacked(archive: pathlib.Path) -> pathlib.Path:
    """The program of a wheel's archive, which is unpacked once for each user.

    A wheel itself cannot carry it: its files lose links, modes and empty folders. The archive's name has
    a digest of what is inside.

    Raises:
        NotFound: the cache cannot be written, or is not this user's. SMOLJAIL_CACHE names another.
    """
    cache = _cache()
    folder = cache / archive.name[:-len(".tar.gz")]
    program = folder / "smoljail"
    try:
        cache.mkdir(mode=0o755, parents=True, exist_ok=True)
        if not _is_mine(cache) or (folder.exists() and not _is_mine(folder)):
            raise NotFound("%s can be written by other users; set SMOLJAIL_CACHE to a folder of your own" % cache)
        if not program.exists():
            _unpack(archive, cache, folder)
    except (OSError, tarfile.TarError) as e:
        raise NotFound("cannot unpack smoljail into %s: %s; set SMOLJAIL_CACHE to a folder where you may write and "
                       "run programs" % (cache, e)) from e
    return program


def _unpack(archive: pathlib.Path, cache: pathlib.Path, folder: pathlib.Path) -> None:
    temporary = tempfile.mkdtemp(prefix=".unpacking-", dir=cache)
    try:
        os.chmod(temporary, 0o755)
        with tarfile.open(archive) as tar:
            if hasattr(tarfile, "fully_trusted_filter"):
                tar.extraction_filter = tarfile.fully_trusted_filter
            tar.extractall(temporary)
        try:
            os.rename(temporary, folder)
        except OSError:
            # Another process was faster.
            if not (folder / "smoljail").exists():
                raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
