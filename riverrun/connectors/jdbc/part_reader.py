"""Reading a part: a thread asks the database ahead, the task takes what is there."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import Any, Final

from riverrun.connectors.base.split_reader import OpenSplit, SplitRun
from riverrun.connectors.jdbc.dialect import Dialect
from riverrun.connectors.jdbc.errors import Trouble
from riverrun.connectors.jdbc.parts import Part, statement_of
from riverrun.connectors.jdbc.session import BACKOFF, explained, interrupt
from riverrun.core.errors import UserCodeError
from riverrun.core.short_repr import short_repr
from riverrun.serde.row import rows_of

__all__ = ["OpenPart", "Reading"]

_AHEAD: Final = 2
"""How many batches wait for the task."""

Convert = Callable[[list[Any]], Any]


class Reading:
    """How parts are read; the same for all of a source.

    Args:
        user: who reads, for messages.
        dialect: the database.
        fetch_size: how many rows are asked for at once.
        extract: makes a record from a row's values; ``None``: a Row with the names of the columns.
        poll_ms: when to look for more rows at the end of a part; ``None``: the part ends.
        max_retries: how often to connect again without having got a row.
    """

    def __init__(
        self,
        user: str,
        dialect: Dialect,
        *,
        fetch_size: int,
        extract: Callable[[tuple[Any, ...]], Any] | None,
        poll_ms: int | None,
        max_retries: int,
    ) -> None:
        self.user = user
        self.dialect = dialect
        self.fetch_size = fetch_size
        self.extract = extract
        self.poll_ms = poll_ms
        self.max_retries = max_retries


class OpenPart(OpenSplit[Any]):
    """A part that a thread reads ahead, from where it was left.

    Args:
        part: with its position.
        reading: how.
        wake: called when there is something to ``read``.
    """

    def __init__(self, part: Part, reading: Reading, wake: Callable[[], None]) -> None:
        self._part = part
        self._reading = reading
        self._wake = wake
        self._names: tuple[str, ...] = ()
        self._rows: list[Any] = []
        self._ready: queue.Queue[Any] = queue.Queue(_AHEAD)
        self._closed = threading.Event()
        self._connection: Any = None
        self._thread = threading.Thread(
            target=self._serve, name=f"riverrun-jdbc-{part.name}", daemon=True
        )
        self._thread.start()

    def read(self, limit: int) -> SplitRun:
        if not self._rows:
            try:
                got = self._ready.get_nowait()
            except queue.Empty:
                return SplitRun(wait_ms=_UNTIL_WOKEN_MS)
            if isinstance(got, Exception):
                raise got
            if got is None:
                return SplitRun(finished=True)
            self._names, self._rows = got
        rows = self._rows[:limit]
        del self._rows[:limit]
        self._part = self._part.advanced(rows)
        return SplitRun(self._records(rows))

    def split(self) -> Part:
        return self._part

    def close(self) -> None:
        self._closed.set()
        # The thread may wait for room.
        with suppress(queue.Empty):
            while True:
                self._ready.get_nowait()
        connection = self._connection
        if connection is not None:
            interrupt(self._reading.dialect, connection)
        self._thread.join()

    def _records(self, rows: list[Any]) -> list[Any]:
        keys = len(self._part.key)
        extract = self._reading.extract
        if extract is not None:
            values = [tuple(row[keys:]) for row in rows]
            made: list[Any] = []
            try:
                made += map(extract, values)
            except Exception as error:
                raise UserCodeError(
                    f"{self._reading.user}: the result extractor failed with {type(error).__name__}: "
                    f"{error}, for the row {short_repr(values[len(made)])} of {self._part.name!r}; mend "
                    f"the row or the function"
                ) from error
            return made
        return list(rows_of(self._names, [list(row[keys:]) for row in rows], bytes(len(rows))))

    # in the thread

    def _serve(self) -> None:
        part, tries = self._part, 0
        while not self._closed.is_set():
            before = part
            try:
                part = self._read_on(part)
            except _Broken as broken:
                part = broken.part
                tries = 0 if part is not before else tries + 1
                error = broken.error
                passing = self._reading.dialect.trouble(error) is Trouble.PASSING
                if not passing or tries > self._reading.max_retries:
                    self._hand_over(
                        explained(self._reading.dialect, self._reading.user, error, max(tries, 1))
                    )
                    return
                self._closed.wait(BACKOFF.delay(tries))
                continue
            tries = 0
            if self._reading.poll_ms is None:
                self._hand_over(None)
                return
            self._closed.wait(self._reading.poll_ms / 1000.0)

    def _read_on(self, part: Part) -> Part:
        """Read the part to its present end; where that is."""
        dialect = self._reading.dialect
        opened, cursor = ExitStack(), None
        try:
            connection = self._connection = dialect.connect(reads=True)
            opened.callback(_close, connection)
            if dialect.readers_hold_writers_up and part.key:
                batches = self._pages(connection, part)
            else:
                connection.execute("BEGIN")
                cursor = dialect.stream(connection, *statement_of(part, dialect))
                opened.callback(_close, cursor)
                self._skip(cursor, 0 if part.key else part.given)
                batches = self._batches(cursor)
            for names, rows in batches:
                part = part.advanced(rows)
                self._hand_over((names[len(part.key) :], rows))
        except Exception as e:
            raise _Broken(part, e) from e
        finally:
            self._connection = None
            opened.close()
            if cursor is not None:
                _close(
                    cursor
                )  # again, if its end was broken off: without a connection that is nothing
        return part

    def _batches(self, cursor: Any) -> Iterator[tuple[tuple[str, ...], list[Any]]]:
        """All rows of one query, with the names of their columns."""
        while not self._closed.is_set():
            rows = cursor.fetchmany(self._reading.fetch_size)
            if not rows:
                return
            yield tuple(column[0] for column in cursor.description), list(rows)

    def _pages(self, connection: Any, part: Part) -> Iterator[tuple[tuple[str, ...], list[Any]]]:
        """All rows of a part by many short queries, each after the last key of the one before."""
        dialect, size = self._reading.dialect, self._reading.fetch_size
        while not self._closed.is_set():
            sql, parameters = statement_of(part, dialect)
            cursor = dialect.execute(connection, f"{sql} LIMIT {size}", parameters)
            rows = cursor.fetchall()
            if rows:
                part = part.advanced(rows)
                yield tuple(column[0] for column in cursor.description), rows
            if len(rows) < size:
                return

    def _skip(self, cursor: Any, number: int) -> None:
        while number > 0 and not self._closed.is_set():
            rows = cursor.fetchmany(min(number, self._reading.fetch_size))
            if not rows:
                return
            number -= len(rows)

    def _hand_over(self, what: Any) -> None:
        while not self._closed.is_set():
            try:
                self._ready.put(what, timeout=0.1)
            except queue.Full:
                continue
            self._wake()
            return


_UNTIL_WOKEN_MS: Final = 1_000.0


def _close(what: Any) -> None:
    with suppress(Exception):  # the server may be gone already
        what.close()


class _Broken(Exception):  # noqa: N818  (never leaves this module)
    """Reading stopped in the middle."""

    def __init__(self, part: Part, error: Exception) -> None:
        super().__init__(part, error)
        self.part, self.error = part, error
