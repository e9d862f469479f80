"""What Spark brought to the executor for a job, and how the job's functions find it."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final


@dataclass(frozen=True, slots=True)
class Brought:
    """Names below the folder in which the executor keeps what it fetched."""

    code: str = ""
    """Names the job's code."""
    modules: tuple[str, ...] = ()
    """Zips of modules."""
    linked: tuple[tuple[str, str], ...] = ()
    """(name for the functions, name) of files and folders that functions find by their names."""
    programs: tuple[str, ...] = ()
    """Names for the functions of files that can be executed."""

    def unpack(self, root: str) -> None:
        """Let functions of this process find everything.

        Args:
            root: where the executor keeps what it fetched.
        """
        # A worker runs one task after the other; relative to where it began.
        place = Path(_BEGAN, root)
        for name in reversed(self.modules):
            path = str(place / name)
            if path not in sys.path:
                sys.path.insert(0, path)
        if self.linked:
            os.chdir(self._linked_below(place))

    def _linked_below(self, place: Path) -> Path:
        folder = place / f"riverrun-{self.code}"
        folder.mkdir(exist_ok=True)
        for name, brought in self.linked:
            target = place / brought
            if name in self.programs:
                target.chmod(target.stat().st_mode | 0o111)
            with suppress(FileExistsError):  # another worker of the job was faster
                (folder / name).symlink_to(target.absolute())
        return folder


_BEGAN: Final = Path.cwd()
