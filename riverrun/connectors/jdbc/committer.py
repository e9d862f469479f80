"""Exactly once, the committer's half: an epoch's rows and its mark in one transaction, or neither."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from typing import Any

from riverrun.api.sink import Committable, Committer
from riverrun.connectors.jdbc.epochs import EpochLog, Prepared
from riverrun.connectors.jdbc.markers import MarkerTable
from riverrun.connectors.jdbc.session import Session
from riverrun.connectors.jdbc.writes import Write

__all__ = ["EpochCommitter"]

log = logging.getLogger(__name__)


class EpochCommitter(Committer):
    """Commits epochs of any writer, in any state between not at all and altogether.

    Args:
        session: to the database; the writer of this subtask uses it too.
        write: what the rows do.
        markers: which epochs are committed.
        epochs: shared with the writer of this subtask.
    """

    def __init__(
        self, session: Session, write: Write, markers: MarkerTable, epochs: EpochLog
    ) -> None:
        self._session = session
        self._write = write
        self._markers = markers
        self._epochs = epochs
        self._tidy = False

    def commit(self, committables: Sequence[Committable]) -> None:
        for each in sorted(committables, key=lambda each: (each.checkpoint, each.number)):
            prepared: Prepared = each.value
            self._session.run(partial(self._commit, each.checkpoint, prepared))
            self._epochs.committed(prepared.writer, prepared.epochs[-1].number)
            if prepared.writer == self._epochs.writer and not self._tidy:
                # A checkpoint of this attempt is complete, so everybody has committed what was restored.
                self._markers.forget_old(self._session)
                self._tidy = True

    def close(self) -> None:
        self._session.close()

    def _commit(self, checkpoint: int, prepared: Prepared, connection: Any) -> None:
        dialect, markers = self._session.dialect, self._markers
        done = markers.locked_epoch(dialect, connection, prepared.writer)
        newest = prepared.epochs[-1].number
        if done is None:
            log.warning(
                "epoch of a forgotten writer is left out writer=%s checkpoint=%d table=%s",
                *(prepared.writer, checkpoint, markers.table),
            )
            return
        if done >= newest:
            return
        for epoch in prepared.epochs:
            if epoch.number > done:
                self._write.apply(dialect, connection, epoch.content())
        markers.advance(dialect, connection, prepared.writer, newest, checkpoint)
