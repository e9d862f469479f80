"""Exactly once, the writer's half: an epoch is what came between two checkpoints, kept as a committable.

A committable holds every epoch of its writer that is not known to be committed: usually one; more after a
checkpoint failed. So whoever gets the newest one has all of them, in order, even if a rescale hands the
committables of one writer to several committers.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any

from riverrun.api.sink import SinkWriter
from riverrun.connectors.jdbc.markers import MarkerTable
from riverrun.connectors.jdbc.session import Session
from riverrun.connectors.jdbc.writes import Rows, Write
from riverrun.core.clock import Clock

__all__ = ["Epoch", "EpochLog", "EpochWriter", "Prepared"]

_SIGN_OF_LIFE_MS = 24 * 3600 * 1000


@dataclass(frozen=True, slots=True)
class Epoch:
    """The rows of one epoch of a writer."""

    number: int
    """From 1, without gaps."""
    rows: bytes
    """``Rows``, pickled."""

    def content(self) -> Rows:
        """The rows themselves."""
        rows: Rows = pickle.loads(self.rows)
        return rows


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a committable holds."""

    writer: str
    """The name of the writer in the marker table: another one in each attempt of the job."""
    epochs: tuple[Epoch, ...]


class EpochLog:
    """The epochs of one writer that are not known to be committed; its committer says which are."""

    def __init__(self, writer: str) -> None:
        self.writer = writer
        self._last = 0
        self._open: tuple[Epoch, ...] = ()

    def append(self, rows: Rows) -> Prepared:
        """Close an epoch; all that a commit has to cover now."""
        self._last += 1
        self._open = (*self._open, Epoch(self._last, pickle.dumps(rows, protocol=5)))
        return Prepared(self.writer, self._open)

    def committed(self, writer: str, number: int) -> None:
        """The epochs of ``writer`` up to ``number`` are in the database."""
        if writer == self.writer:
            self._open = tuple(epoch for epoch in self._open if epoch.number > number)


class EpochWriter(SinkWriter[Any]):
    """Keeps the rows of an epoch, and gives them to the checkpoint at its end.

    Args:
        session: to the database; the committer of this subtask uses it too.
        write: what the rows do.
        markers: where the writer is registered.
        log: shared with the committer of this subtask.
        clock: tells when a writer without rows shows that it lives.
    """

    def __init__(
        self, session: Session, write: Write, markers: MarkerTable, log: EpochLog, clock: Clock
    ) -> None:
        self._session = session
        self._write = write
        self._markers = markers
        self._log = log
        self._clock = clock
        self._batch = write.batch()
        self._seen_ms = clock.monotonic()

    def open(self) -> None:
        session, dialect = self._session, self._session.dialect
        session.run(lambda connection: self._write.check(dialect, connection))
        self._markers.register(session, self._log.writer)

    def write(self, value: Any, timestamp: int | None) -> None:
        del timestamp
        self._batch.add([value])

    def write_run(self, values: list[Any], timestamps: list[int] | None) -> None:
        del timestamps
        self._batch.add(values)

    def prepare_commit(self) -> list[Any]:
        now = self._clock.monotonic()
        # The mark of a writer that is silent for weeks would look like one that nobody needs.
        if not len(self._batch) and now - self._seen_ms < _SIGN_OF_LIFE_MS:
            return []
        self._seen_ms = now
        rows, self._batch = self._batch.rows(), self._write.batch()
        return [self._log.append(rows)]

    def close(self) -> None:
        self._session.close()
