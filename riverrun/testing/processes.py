"""The processes of a test: found by a mark that every descendant inherits, orphans included.

A process that lost its parent is no longer below the test in the process tree; its environment still
says where it came from.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

import psutil

MARK: Final = "RIVERRUN_TEST_MARK"
_DAEMONS: Final = frozenset({"pyspark.daemon", "riverrun.spark.worker.daemon"})
_GONE: Final = (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess)
_END_S: Final = 10.0


def mark_descendants() -> str:
    """Mark all processes that are started from here on, however indirectly; gives the mark."""
    return os.environ.setdefault(MARK, uuid.uuid4().hex)


def marked(mark: str) -> list[psutil.Process]:
    """The living processes that carry ``mark``, without this one."""
    found = []
    for process in psutil.process_iter():
        with suppress(*_GONE):
            is_other = process.pid != os.getpid() and process.status() != psutil.STATUS_ZOMBIE
            if is_other and process.environ().get(MARK) == mark:
                found.append(process)
    return found


def is_worker(process: psutil.Process) -> bool:
    """Whether the process is a Python worker of Spark: a fork of Spark's Python daemon."""
    with suppress(*_GONE):
        parent = process.parent()
        return parent is not None and is_daemon(process) and is_daemon(parent)
    return False


def is_daemon(process: psutil.Process) -> bool:
    """Whether the process is Spark's Python daemon, or a fork of it."""
    with suppress(*_GONE):
        return not _DAEMONS.isdisjoint(process.cmdline())
    return False


def is_working(process: psutil.Process) -> bool:
    """Whether a Python worker hosts a task: it then has a connection to a JobMaster.

    Spark keeps workers for the next job; those have none.
    """
    with suppress(*_GONE):
        return bool(process.net_connections(kind="tcp"))
    return False


def describe(process: psutil.Process) -> str:
    """The process in a message."""
    with suppress(*_GONE):
        kind = "worker " if is_worker(process) else ""
        return f"{kind}{process.pid} ({process.status()}): {' '.join(process.cmdline())[-160:]}"
    return f"{process.pid} (gone)"


def resident_bytes(processes: Iterable[psutil.Process]) -> dict[int, int]:
    """The memory of each process that lives, by its id."""
    sizes = {}
    for process in processes:
        with suppress(*_GONE):
            sizes[process.pid] = process.memory_info().rss
    return sizes


def end(processes: Iterable[psutil.Process]) -> None:
    """Kill the processes, and wait until they are gone."""
    targets = list(processes)
    for process in targets:
        with suppress(*_GONE):
            process.kill()
    psutil.wait_procs(targets, timeout=_END_S)
