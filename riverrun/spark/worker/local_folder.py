"""A task's own folder on the worker's machine: databases and spilled data.

A process that is killed cannot clean up, so every folder bears the pid of its owner, and whoever makes
a folder removes those of processes that are gone.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import BinaryIO, Final, cast

from riverrun.core import options

_NAME: Final = re.compile(r"^task-(\d+)-")


def scratch_root(config: dict[str, str]) -> Path:
    """Where all local files of riverrun on this machine and of this user go."""
    base = options.ROCKSDB_FOLDER.get(config) or tempfile.gettempdir()
    return Path(base) / f"riverrun-{os.getuid()}"


class LocalFolder:
    """Made with the first file that needs it; ``remove`` leaves nothing behind."""

    def __init__(self, config: dict[str, str], label: str) -> None:
        self._root = scratch_root(config) / "tasks"
        self.path = self._root / f"task-{os.getpid()}-{label}"

    def prepare(self) -> None:
        """Remove what an earlier task of this process or a process that is gone left behind."""
        shutil.rmtree(self.path, ignore_errors=True)
        if not self._root.is_dir():
            return
        for folder in self._root.iterdir():
            owner = _NAME.match(folder.name)
            if owner is not None and not _is_alive(int(owner.group(1))):
                shutil.rmtree(folder, ignore_errors=True)

    def open_spill(self) -> BinaryIO:
        """An unnamed file: it is gone when it is closed or its process ends."""
        self.path.mkdir(parents=True, exist_ok=True)
        return cast("BinaryIO", tempfile.TemporaryFile(dir=self.path))

    def remove(self) -> None:
        """Remove everything."""
        shutil.rmtree(self.path, ignore_errors=True)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
