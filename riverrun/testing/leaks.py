"""What a job left behind: compare the world before it with the world after it.

    before = Snapshot.take(mark, session)
    ... run jobs ...
    assert not leaks_since(before, session)

Folders are looked for in Python's temporary folder: give tests one of their own where others use it too.
What Spark keeps for its next job is no leak: the Python daemon, and workers that host no task.
"""

from __future__ import annotations

import os
import re
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import psutil

from riverrun.spark.worker.shared_folder import SWEEPER, abandoned
from riverrun.testing import processes

_LOOK_S: Final = 0.05
_STATUS: Final = re.compile(r" \([a-z-]+\):")
_FOLDERS: Final = ("riverrun-*", "spark-*", "blockmgr-*", ".*.sock")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything that a job could leave behind, as it is now."""

    mark: str
    processes: frozenset[str] = field(repr=False)
    threads: frozenset[str]
    listening: frozenset[str]
    folders: frozenset[str]
    spark_jobs: frozenset[str]

    @staticmethod
    def take(mark: str, session: Any = None, *, daemons: bool = False) -> Snapshot:
        """Look now.

        Args:
            mark: of the processes to look at, from ``processes.mark_descendants``.
            session: the Spark session whose jobs count; ``None``: there is none.
            daemons: also count what Spark keeps for its next job; for a Spark that was stopped.
        """
        return Snapshot(
            mark=mark,
            processes=_processes(mark, daemons=daemons),
            threads=frozenset(
                f"thread {thread.name} ({thread.ident})"
                for thread in threading.enumerate()
                if thread.name != SWEEPER  # waits for a process that Spark has yet to kill
            ),
            listening=_listening(),
            folders=_folders(),
            spark_jobs=_spark_jobs(session),
        )

    def more_than(self, before: Snapshot) -> list[str]:
        """What is there now and was not there before; empty when there is nothing."""
        known = set(map(_without_status, before.processes))
        return sorted(
            {process for process in self.processes if _without_status(process) not in known}
            | (self.threads - before.threads)
            | (self.listening - before.listening)
            | (self.folders - before.folders)
            | (self.spark_jobs - before.spark_jobs)
        )


def leaks_since(
    before: Snapshot, session: Any = None, *, daemons: bool = False, patience_s: float = 5.0
) -> list[str]:
    """What was left behind since ``before``, after giving it ``patience_s`` to go away.

    The time is counted in looks: one in which the whole machine stood still gave nothing a chance to go.
    ``session`` and ``daemons`` as for ``Snapshot.take``.
    """
    for _ in range(max(1, round(patience_s / _LOOK_S))):
        if not Snapshot.take(before.mark, session, daemons=daemons).more_than(before):
            return []
        time.sleep(_LOOK_S)
    return Snapshot.take(before.mark, session, daemons=daemons).more_than(before)


def _without_status(process: str) -> str:
    """What says which process it is: one that was there and sleeps by now is none that was left behind.

    >>> _without_status("7 (sleeping): python -m shop")
    '7: python -m shop'
    """
    return _STATUS.sub(":", process, count=1)


def _processes(mark: str, *, daemons: bool) -> frozenset[str]:
    return frozenset(
        processes.describe(process)
        for process in processes.marked(mark)
        if daemons
        or not processes.is_daemon(process)
        or (processes.is_worker(process) and processes.is_working(process))
    )


def _listening() -> frozenset[str]:
    connections = psutil.Process().net_connections(kind="tcp")
    return frozenset(
        f"listening on {connection.laddr.ip}:{connection.laddr.port}"
        for connection in connections
        if connection.status == psutil.CONN_LISTEN
    )


def _folders() -> frozenset[str]:
    root = Path(tempfile.gettempdir())
    found = {path for form in _FOLDERS for path in root.glob(form)}
    scratch = root / f"riverrun-{os.getuid()}"
    if scratch in found:
        # All jobs share it, so that it stays; what is in it does not.
        found.remove(scratch)
        found.update(scratch.glob("*/*"))
    left = {f"left in the temporary folder: {path.relative_to(root)}" for path in found}
    # Those of other programs' jobs are there too, and in use.
    return frozenset(left | {f"left in memory: {path}" for path in abandoned()})


def _spark_jobs(session: Any) -> frozenset[str]:
    if session is None:
        return frozenset()
    tracker = session.sparkContext.statusTracker()
    return frozenset(f"spark job {job}" for job in tracker.getActiveJobsIds())
