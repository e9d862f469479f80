"""A task's parts of checkpoints: written where they belong, and answered for."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final, TypeAlias

import msgspec

from riverrun.core.clock import Clock
from riverrun.core.errors import ProgramError
from riverrun.protocol.control import CheckpointAcknowledged, CheckpointDeclined
from riverrun.runtime.snapshot import TaskSnapshot
from riverrun.storage.checkpoint_files import CheckpointFiles
from riverrun.storage.savepoint_files import SavepointFiles

log = logging.getLogger(__name__)

Target: TypeAlias = CheckpointFiles | SavepointFiles
"""Where a snapshot is written to: a savepoint's files are its own."""

TargetOf: TypeAlias = Callable[[TaskSnapshot], Target]
"""From a snapshot to where it is written; asked once for each that is not aborted before."""

_ABORTED_REMEMBERED: Final = 100


class SnapshotParts:
    """Turns snapshots into what their task says of them.

    ``write`` is called from one thread, ``abort`` may be called from another.

    Args:
        target_of: where a snapshot is written to.
        clock: measures how long that takes.
        log_level: of what goes wrong and does not make the task fail.
    """

    def __init__(
        self, target_of: TargetOf, clock: Clock, *, log_level: int = logging.WARNING
    ) -> None:
        self._target_of = target_of
        self._clock = clock
        self.log_level = log_level
        self._aborted: frozenset[int] = frozenset()

    def abort(self, checkpoint: int) -> None:
        """Do not begin to write ``checkpoint`` any more."""
        floor = checkpoint - _ABORTED_REMEMBERED
        self._aborted = frozenset({n for n in self._aborted if n > floor} | {checkpoint})

    def write(self, snapshot: TaskSnapshot) -> CheckpointAcknowledged | CheckpointDeclined | None:
        """Write ``snapshot``; what to answer, or ``None`` when nobody waits for an answer any more.

        After an error nothing of it stays in the store, as far as the store lets itself be cleared.

        Raises:
            ProgramError: the state cannot be stored, and no later checkpoint will do better.
        """
        checkpoint = snapshot.checkpoint
        if checkpoint in self._aborted:
            snapshot.discard()
            return None
        began = self._clock.monotonic()
        target: Target | None = None
        try:
            target = self._target_of(snapshot)
            if isinstance(target, SavepointFiles):
                described, times = snapshot.write_savepoint(target)
            else:
                described, times = snapshot.write(target)
        except Exception as error:
            snapshot.discard()
            self._clear(target)
            if isinstance(error, ProgramError):
                raise
            self._log("snapshot not written checkpoint=%d", checkpoint, error=error)
            return CheckpointDeclined(checkpoint, f"{type(error).__name__}: {error}")
        times = msgspec.structs.replace(
            times,
            async_ms=self._clock.monotonic() - began,
            state_bytes=target.bytes_written,
        )
        return CheckpointAcknowledged(checkpoint, described, times)

    def _clear(self, target: Target | None) -> None:
        if target is None:
            return
        try:
            target.discard()
        # A store that does not take files does not always delete them either; the job's end does.
        except Exception as error:  # noqa: BLE001  (what went wrong first is what matters)
            self._log("files not deleted files=%s", target.written(), error=error)

    def _log(self, message: str, *values: object, error: Exception) -> None:
        log.log(self.log_level, message, *values, exc_info=error)
