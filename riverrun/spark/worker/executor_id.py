"""Which executor of the application this worker belongs to.

Spark does not tell its Python workers. But an executor's JVM is started with its id on the command line,
and a worker is a descendant of that JVM; in local mode the JVM is the driver's.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

DRIVER: Final = "driver"
_FLAG: Final = "--executor-id"
_GENERATIONS: Final = 8
"""How far up the JVM is looked for: it is the parent of the daemon that forks the workers."""


def executor_id() -> str | None:
    """The executor's id; ``None`` where the system does not show other processes' command lines."""
    return found_among(os.getppid(), _command, _parent)


def found_among(
    process: int,
    command: Callable[[int], Sequence[str]],
    parent: Callable[[int], int],
) -> str | None:
    """The id on the command line of the nearest ancestor that is a Spark JVM.

    >>> commands = {7: ["python"], 5: ["java", "-cp", "x", "Backend", "--executor-id", "3"]}
    >>> found_among(7, commands.__getitem__, {7: 5}.__getitem__)
    '3'
    """
    for _ in range(_GENERATIONS):
        if process <= 1:
            return None
        try:
            arguments = command(process)
            if _FLAG in arguments[:-1]:
                return arguments[arguments.index(_FLAG) + 1]
            if arguments and Path(arguments[0]).name == "java":
                return DRIVER
            process = parent(process)
        except (OSError, ValueError, IndexError):
            return None
    return None


def _command(process: int) -> list[str]:
    raw = Path(f"/proc/{process}/cmdline").read_bytes()
    return raw.decode(errors="replace").rstrip("\0").split("\0")


def _parent(process: int) -> int:
    # The name before the state may hold anything, blanks and brackets too.
    after_name = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2]
    return int(after_name.split()[1])
