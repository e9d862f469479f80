"""Writes a task's snapshots in the background and tells the JobMaster how it went."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from contextlib import suppress

import msgspec

from riverrun.core.clock import Clock
from riverrun.core.errors import ProgramError, RiverrunError
from riverrun.protocol.control import CheckpointAcknowledged, CheckpointDeclined, Up
from riverrun.runtime.snapshot import TaskSnapshot
from riverrun.storage.checkpoint_files import CheckpointFiles
from riverrun.storage.storage import StorageError

log = logging.getLogger(__name__)


class SnapshotWriter:
    """One thread per task, started with the first snapshot; records go on meanwhile."""

    def __init__(
        self,
        files_of: Callable[[int], CheckpointFiles],
        send: Callable[[Up], None],
        clock: Clock,
        on_broken: Callable[[], None],
    ) -> None:
        self._files_of = files_of
        self._send = send
        self._clock = clock
        self._on_broken = on_broken
        self.broken: ProgramError | None = None
        """Why no snapshot of this task can ever be written; ``on_broken`` is called then."""
        self._queue: queue.SimpleQueue[TaskSnapshot | None] = queue.SimpleQueue()
        self._aborted: set[int] = set()
        self._abandoned = False
        self._thread: threading.Thread | None = None

    def write(self, snapshot: TaskSnapshot) -> None:
        """Write ``snapshot`` after those given before it."""
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._work, name="riverrun-snapshots", daemon=True
            )
            self._thread.start()
        self._queue.put(snapshot)

    def abort(self, checkpoint: int) -> None:
        """Do not begin to write ``checkpoint`` any more."""
        self._aborted = {number for number in self._aborted if number > checkpoint - 100}
        self._aborted.add(checkpoint)

    def close(self) -> None:
        """Finish what is being written."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
            self._thread = None

    def abandon(self) -> None:
        """The task leaves and its local files go: what becomes of snapshots concerns nobody any more."""
        self._abandoned = True

    def _work(self) -> None:
        while (snapshot := self._queue.get()) is not None:
            if snapshot.checkpoint in self._aborted:
                snapshot.discard()
                continue
            try:
                answer = self._written(snapshot)
            except ProgramError as error:
                self.broken = error
                self._on_broken()
                return
            # A JobMaster that is gone is noticed by the connection, which ends the task.
            with suppress(RiverrunError):
                self._send(answer)

    def _written(self, snapshot: TaskSnapshot) -> Up:
        began = self._clock.monotonic()
        checkpoint = snapshot.checkpoint
        try:
            files = self._files_of(checkpoint)
        except Exception as error:  # noqa: BLE001  (the checkpoint fails, the task goes on)
            snapshot.discard()
            return self._declined(checkpoint, error)
        try:
            described, times = snapshot.write(files)
        except ProgramError:
            _discard(files)
            raise
        except Exception as error:  # noqa: BLE001  (the checkpoint fails, the task goes on)
            _discard(files)
            return self._declined(checkpoint, error)
        times = msgspec.structs.replace(
            times,
            async_ms=self._clock.monotonic() - began,
            state_bytes=files.bytes_written,
        )
        return CheckpointAcknowledged(checkpoint, described, times)

    def _declined(self, checkpoint: int, error: Exception) -> CheckpointDeclined:
        if not self._abandoned:
            log.warning("snapshot not written checkpoint=%d", checkpoint, exc_info=error)
        return CheckpointDeclined(checkpoint, f"{type(error).__name__}: {error}")


def _discard(files: CheckpointFiles) -> None:
    """A store that does not take files does not always delete them either; the job's end does."""
    try:
        files.discard()
    except StorageError as error:
        log.warning("files not deleted files=%s reason=%s", files.written(), error)
