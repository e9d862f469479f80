"""The JobManagers of this user on this machine: each leaves a file that says where it is.

The file goes with its JobManager. One that was killed leaves it behind, which the next reader sees: the
process is gone, or another one has its number.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from riverrun.core.errors import ExternalError

FOLDER_VARIABLE: Final = "RIVERRUN_STATE_DIR"
_FORM: Final = "jobmanager-*.json"


class LocalCluster(msgspec.Struct, frozen=True, kw_only=True):
    """A JobManager that serves."""

    pid: int
    born: str
    """When the process began, as its machine counts; with the pid it names one process for ever."""
    host: str
    """The machine's name: a home folder may be shared."""
    url: str
    """Where to call it from this machine."""
    master: str
    """Spark's."""
    started: int
    """Milliseconds since 1970."""
    log: str | None = None
    """The file that its process writes to; ``None`` for one in a terminal."""

    @staticmethod
    def of_this_process(
        url: str, *, master: str, started: int, log: str | None = None
    ) -> LocalCluster:
        """What this process says about itself."""
        return LocalCluster(
            pid=os.getpid(),
            born=birth_of(os.getpid()) or "",
            host=socket.gethostname(),
            url=_from_here(url),
            master=master,
            started=started,
            log=log,
        )

    @property
    def is_alive(self) -> bool:
        """Whether the process is still there."""
        return birth_of(self.pid) == self.born


def state_folder(environ: Mapping[str, str]) -> Path:
    """Where the files are: RIVERRUN_STATE_DIR, else the user's folder for states of programs."""
    named = environ.get(FOLDER_VARIABLE)
    if named:
        return Path(named).absolute()
    above = environ.get("XDG_STATE_HOME")
    home = Path(environ.get("HOME") or Path.home())
    return (Path(above) if above else home / ".local" / "state") / "riverrun"


def ensure_state_folder(environ: Mapping[str, str]) -> Path:
    """The folder, which nobody else can read; ExternalError when it cannot be made."""
    folder = state_folder(environ)
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as e:
        raise ExternalError(
            f"folder {str(folder)!r}: cannot be made ({e}), but JobManagers of this machine are noted "
            f"there; set {FOLDER_VARIABLE} to another one"
        ) from e
    return folder


@contextmanager
def noted(cluster: LocalCluster, environ: Mapping[str, str]) -> Iterator[None]:
    """In this block, other processes of the user find the JobManager."""
    file = ensure_state_folder(environ) / f"jobmanager-{cluster.pid}.json"
    half = file.with_suffix(".part")
    half.write_bytes(msgspec.json.encode(cluster))
    half.replace(file)
    try:
        yield
    finally:
        file.unlink(missing_ok=True)


def local_clusters(environ: Mapping[str, str]) -> list[LocalCluster]:
    """The JobManagers that live, oldest first; files of those that were killed are removed."""
    found = []
    here = socket.gethostname()
    for file in state_folder(environ).glob(_FORM):
        cluster = _read(file)
        if cluster is None or cluster.host != here:
            continue
        if cluster.is_alive:
            found.append(cluster)
        else:
            file.unlink(missing_ok=True)
    return sorted(found, key=lambda each: each.started)


def birth_of(pid: int) -> str | None:
    """What tells a living process from others that had its number; ``None`` if there is none.

    >>> birth_of(os.getpid()) is not None
    True
    """
    try:
        facts = Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()
    except FileNotFoundError:
        return "" if not Path("/proc/self").exists() and _exists(pid) else None
    except ProcessLookupError:
        return None
    state, born = facts[0], facts[19]
    return None if state in "ZX" else born


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _read(file: Path) -> LocalCluster | None:
    try:
        return msgspec.json.decode(file.read_bytes(), type=LocalCluster)
    except (OSError, msgspec.MsgspecError):
        return None  # removed just now, or of another version


def _from_here(url: str) -> str:
    """An address that a process of this machine can call."""
    return url.replace("://0.0.0.0:", "://127.0.0.1:").replace("://[::]:", "://[::1]:")
