"""Writes a task's snapshots in the background and tells the JobMaster how it went."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from contextlib import suppress

from riverrun.core.errors import ProgramError, RiverrunError
from riverrun.protocol.control import Up
from riverrun.runtime.snapshot import TaskSnapshot
from riverrun.runtime.snapshot_parts import SnapshotParts


class SnapshotWriter:
    """One thread per task, started with the first snapshot; records go on meanwhile."""

    def __init__(
        self,
        parts: SnapshotParts,
        send: Callable[[Up], None],
        on_broken: Callable[[], None],
    ) -> None:
        self._parts = parts
        self._send = send
        self._on_broken = on_broken
        self.broken: ProgramError | None = None
        """Why no snapshot of this task can ever be written; ``on_broken`` is called then."""
        self._queue: queue.SimpleQueue[TaskSnapshot | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def write(self, snapshot: TaskSnapshot) -> None:
        """Write ``snapshot`` after those given before it."""
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._work, name="riverrun-snapshots", daemon=True
            )
            self._thread.start()
        self._queue.put(snapshot)

    def close(self) -> None:
        """Finish what is being written."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
            self._thread = None

    def _work(self) -> None:
        while (snapshot := self._queue.get()) is not None:
            try:
                answer = self._parts.write(snapshot)
            except ProgramError as error:
                self.broken = error
                self._on_broken()
                return
            if answer is not None:
                # A JobMaster that is gone is noticed by the connection, which ends the task.
                with suppress(RiverrunError):
                    self._send(answer)
