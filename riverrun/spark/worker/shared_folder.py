"""The folder in which the tasks of an attempt on one machine put large frames for each other.

Who really sees the same folder is told by its token: random text in a file that appears whole or not at
all. Containers of one node that have a folder of the same name each have different tokens.

Every task that uses the folder holds a lock on the token's file, which the kernel lifts however the task
ends. So a folder whose lock is free belongs to nobody: the last task that leaves removes it, and what
killed processes left is removed by the next task on the machine and by the job's driver.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import stat
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from riverrun.core import options
from riverrun.spark.worker.local_folder import scratch_root

SWEEPER: Final = "riverrun-sweeper"
"""Name of the thread that waits until processes are gone."""
_MEMORY: Final = Path("/dev/shm")  # noqa: S108  (a folder of our own is made there)
_TOKEN: Final = "token"  # noqa: S105  (a file's name)
_TRIES: Final = 8
_AGAIN_S: Final = 0.005
_COMES_UP_WITHIN_S: Final = 1.0
_KILLED_WITHIN_S: Final = 60.0
_LOOK_S: Final = 0.1


class SharedFolder:
    """A folder that this task uses together with others; ``close`` it."""

    def __init__(self, path: Path, token: str, lock: int) -> None:
        self.path = path
        self.token = token
        """Equal for tasks that see the same folder, and for no others."""
        self._lock: int | None = lock

    @staticmethod
    def open(config: Mapping[str, str], job: str, attempt: int) -> SharedFolder | None:
        """The folder of the attempt on this machine; ``None``: switched off, or there can be none."""
        if not options.LOCAL_FRAME_MEMORY.get(config):
            return None
        try:
            root = _root(config)
            root.mkdir(mode=0o700, parents=True, exist_ok=True)
            path = root / _name(job, attempt)
            _sweep(root, but=path)
            return _joined(path)
        except OSError:
            return None  # frames then go through Spark as they always can

    def close(self) -> None:
        """Leave; the last one removes the folder. May be called twice."""
        lock, self._lock = self._lock, None
        if lock is not None:
            fcntl.flock(lock, fcntl.LOCK_UN)
            _remove_if_free(self.path, lock)
            os.close(lock)


def sweep(config: Mapping[str, str]) -> None:
    """Remove what processes that are gone left on this machine."""
    for root in _roots(config):
        with suppress(OSError):
            _sweep(root)


def sweep_after(config: Mapping[str, str], job: str, attempt: int, *, orderly: bool) -> None:
    """Remove what an attempt left on this machine: at once, or as soon as its last process is gone.

    Of an attempt that was broken off, Spark kills tasks that do not answer some time later, and others may
    only come up then.
    """
    sweep(config)
    folders = [root / _name(job, attempt) for root in _roots(config)]
    if not orderly or any(folder.exists() for folder in folders):
        args = (dict(config), folders)
        threading.Thread(target=_sweep_in_time, args=args, name=SWEEPER, daemon=True).start()


def _sweep_in_time(config: Mapping[str, str], folders: Sequence[Path]) -> None:
    now = time.monotonic()
    early, deadline = now + _COMES_UP_WITHIN_S, now + _KILLED_WITHIN_S
    while now < early or (now < deadline and any(folder.exists() for folder in folders)):
        time.sleep(_LOOK_S)
        sweep(config)
        now = time.monotonic()


def abandoned(root: Path = _MEMORY) -> list[Path]:
    """The folders in ``root`` that nobody uses."""
    found = []
    for folder in _folders(root):
        try:
            with (folder / _TOKEN).open() as token:
                fcntl.flock(token.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            found.append(folder)
        except FileNotFoundError:
            found.append(folder)
        except BlockingIOError:
            pass
    return found


def _root(config: Mapping[str, str]) -> Path:
    chosen, memory, scratch = _roots(config)
    if options.LOCAL_FRAME_FOLDER.get(config):
        return chosen
    # What one task may hold: each grows into what is free, and containers often have twice as much in all.
    wanted = options.LOCAL_FRAME_MEMORY.get(config)
    with suppress(OSError):
        if os.access(memory, os.W_OK) and free_bytes(memory) >= wanted:
            return memory
    return scratch


def _roots(config: Mapping[str, str]) -> tuple[Path, Path, Path]:
    scratch = scratch_root(dict(config)) / "frames"
    return Path(options.LOCAL_FRAME_FOLDER.get(config) or scratch), _MEMORY, scratch


def free_bytes(path: Path) -> int:
    """What can still be written to the file system of ``path``."""
    found = os.statvfs(path)
    return found.f_bavail * found.f_frsize


def _prefix() -> str:
    return f"riverrun-{os.getuid()}-"


def _name(job: str, attempt: int) -> str:
    return f"{_prefix()}{job}-{attempt}"


def _folders(root: Path) -> Iterator[Path]:
    return root.glob(f"{_prefix()}*-*")


def _joined(path: Path) -> SharedFolder | None:
    """Make the folder unless it is there, and join those who use it."""
    for _ in range(_TRIES):
        # Whoever removes the folder meanwhile makes one of these steps fail: it is made anew then.
        with suppress(FileNotFoundError, BlockingIOError):
            path.mkdir(mode=0o700, exist_ok=True)
            if not _is_private(path):
                return None
            _make_token(path)
            shared = _locked(path)
            if shared is not None:
                return shared
        time.sleep(_AGAIN_S)
    return None


def _is_private(path: Path) -> bool:
    """Whether it is a folder of this user that nobody else may look into."""
    found = path.lstat()
    return (
        stat.S_ISDIR(found.st_mode)
        and found.st_uid == os.getuid()
        and not stat.S_IMODE(found.st_mode) & 0o077
    )


def _make_token(path: Path) -> None:
    if (path / _TOKEN).exists():
        return
    draft = path / f"draft-{secrets.token_hex(8)}"
    try:
        with open(draft, "x", opener=_private) as file:
            file.write(secrets.token_hex(16))
        # Unlike a rename this fails if the token is there: everybody reads the same one.
        os.link(draft, path / _TOKEN)
    except FileExistsError:
        pass
    finally:
        draft.unlink(missing_ok=True)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)


def _locked(path: Path) -> SharedFolder | None:
    lock = os.open(path / _TOKEN, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        # Locked in vain if the folder was removed between the two calls.
        if (path / _TOKEN).stat().st_ino == os.fstat(lock).st_ino:
            token = os.read(lock, 64).decode()
            shared, lock = SharedFolder(path, token, lock), -1
            return shared
        return None
    finally:
        if lock >= 0:
            os.close(lock)


def _sweep(root: Path, but: Path | None = None) -> None:
    for folder in _folders(root):
        with suppress(OSError):
            if folder == but or not _is_private(folder):
                continue
            _make_token(folder)  # somebody may have been killed before there was one
            lock = os.open(folder / _TOKEN, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                _remove_if_free(folder, lock)
            finally:
                os.close(lock)


def _remove_if_free(folder: Path, lock: int) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return  # somebody uses it
    shutil.rmtree(folder, ignore_errors=True)
