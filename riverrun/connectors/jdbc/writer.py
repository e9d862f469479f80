"""The writer that writes at least once: rows leave in batches, at the latest at each checkpoint."""

from __future__ import annotations

import threading
from typing import Any

from riverrun.api.sink import SinkWriter
from riverrun.connectors.jdbc.execution import JdbcExecutionOptions
from riverrun.connectors.jdbc.session import Session
from riverrun.connectors.jdbc.writes import Write

__all__ = ["BatchWriter"]


class BatchWriter(SinkWriter[Any]):
    """Writes when a batch is full, when a row has waited for the interval, and at each checkpoint.

    Args:
        session: to the database; closed with the writer.
        write: what a batch does.
        options: sizes and times.
    """

    def __init__(self, session: Session, write: Write, options: JdbcExecutionOptions) -> None:
        self._session = session
        self._write = write
        self._options = options
        self._batch = write.batch()
        # With an interval there is a second thread that writes.
        self._lock = threading.Lock()
        self._timer: _Interval | None = None

    def open(self) -> None:
        self._session.run(lambda connection: self._write.check(self._session.dialect, connection))
        if self._options.batch_interval_ms:
            self._timer = _Interval(self._options.batch_interval_ms / 1000.0, self._flush)

    def write(self, value: Any, timestamp: int | None) -> None:
        del timestamp
        self.write_run([value], None)

    def write_run(self, values: list[Any], timestamps: list[int] | None) -> None:
        del timestamps
        size = self._options.batch_size
        for start in range(0, len(values), size):
            with self._lock:
                self._batch.add(values[start : start + size])
                full = len(self._batch) >= size
            if full:
                self._flush()
        if self._timer is not None:
            self._timer.begin()

    def flush(self, *, end_of_input: bool) -> None:
        del end_of_input
        self._flush()
        if self._timer is not None:
            self._timer.raise_error()

    def close(self) -> None:
        try:
            if self._timer is not None:
                self._timer.close()
        finally:
            self._session.close()

    def _flush(self) -> None:
        with self._lock:
            if not len(self._batch):
                return
            rows = self._batch.rows()
            dialect = self._session.dialect
            self._session.run(lambda connection: self._write.apply(dialect, connection, rows))
            self._batch = self._write.batch()


class _Interval:
    """Calls ``flush`` in a thread of its own, an interval after ``begin``.

    What it raises is raised again in the writer's thread, at the next ``begin`` or ``raise_error``.
    """

    def __init__(self, seconds: float, flush: Any) -> None:
        self._seconds = seconds
        self._flush = flush
        self._error: BaseException | None = None
        self._begun = threading.Event()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="riverrun-jdbc-flush", daemon=True)
        self._thread.start()

    def begin(self) -> None:
        self.raise_error()
        self._begun.set()

    def raise_error(self) -> None:
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        self._closed.set()
        self._begun.set()
        self._thread.join()

    def _serve(self) -> None:
        while True:
            self._begun.wait()
            if self._closed.wait(self._seconds):
                return
            self._begun.clear()
            try:
                self._flush()
            except BaseException as e:  # noqa: BLE001  (raised in the writer's thread)
                self._error = e
                return
