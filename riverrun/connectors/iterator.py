"""A source made of any iterator: a generator function, or a SourceFunction.

An iterator may block for as long as it likes, and a reader may not. So the iterator lives in a thread
of its own, from ``open`` to ``close``, and the reader takes what is there.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from riverrun.api.functions import SourceFunction
from riverrun.api.source import (
    Boundedness,
    Polled,
    Source,
    SourceReader,
    SourceReaderContext,
    SourceStatus,
)
from riverrun.serde.type_info import TypeInformation

__all__ = ["IteratorSource"]

_AHEAD: Final = 4096
"""How many values the iterator may be ahead of the reader."""
_PATIENCE_S: Final = 0.002
"""How long a poll waits for a first value: short against the buffer timeout, long against a spin."""
_JOIN_S: Final = 1.0


class IteratorSource(Source[Any]):
    """The values of an iterator, in order, at parallelism 1.

    ``values`` is called once in the worker and gives the iterator; a SourceFunction is opened first and
    closed after. The position is the number of values taken: to resume, that many are skipped.
    """

    def __init__(
        self,
        values: SourceFunction | Callable[[], Iterable[Any]],
        type_info: TypeInformation | None = None,
        boundedness: Boundedness = Boundedness.CONTINUOUS_UNBOUNDED,
    ) -> None:
        if not isinstance(values, SourceFunction) and not callable(values):
            raise TypeError(
                f"iterator source: its values are {values!r}; expected a SourceFunction or "
                f"a callable that returns an iterator, such as a generator function"
            )
        self.values = values
        self.type_info = type_info
        self.boundedness = boundedness

    def create_splits(self, parallelism: int) -> list[Any]:
        del parallelism
        return [IteratorSplit(0)]

    def create_reader(self, splits: list[Any], context: SourceReaderContext) -> SourceReader[Any]:
        return _IteratorReader(self.values, splits, context)

    def get_boundedness(self) -> Boundedness:
        return self.boundedness

    def get_produced_type(self) -> TypeInformation | None:
        return self.type_info

    def get_forced_parallelism(self) -> int | None:
        return 1


@dataclass(frozen=True, slots=True)
class IteratorSplit:
    """An iterator of which ``taken`` values were taken."""

    taken: int


class _IteratorReader(SourceReader[Any]):
    def __init__(
        self,
        values: SourceFunction | Callable[[], Iterable[Any]],
        splits: list[IteratorSplit],
        context: SourceReaderContext,
    ) -> None:
        self._taken = splits[0].taken if splits else 0
        self._has_split = bool(splits)
        self._pump = _Pump(values, self._taken, context)

    def open(self) -> None:
        if self._has_split:
            self._pump.start()

    def poll(self, limit: int) -> Polled:
        if not self._has_split:
            return Polled(status=SourceStatus.END_OF_INPUT)
        values = self._pump.take(limit)
        self._taken += len(values)
        if values:
            return Polled(values)
        if self._pump.has_ended():
            return Polled(status=SourceStatus.END_OF_INPUT)
        return Polled(status=SourceStatus.NOTHING_AVAILABLE)

    def snapshot_splits(self) -> list[Any]:
        return [IteratorSplit(self._taken)] if self._has_split else []

    def close(self) -> None:
        self._pump.stop()


class _Pump:
    """The thread in which the iterator runs, and the values it is ahead.

    The deque has one producer and one consumer, and its ends are safe without a lock; the lock is
    only taken by a side that waits and by the other one to wake it.
    """

    def __init__(
        self,
        values: SourceFunction | Callable[[], Iterable[Any]],
        skip: int,
        context: SourceReaderContext,
    ) -> None:
        self._values = values
        self._skip = skip
        self._context = context
        self._changed = threading.Condition()
        self._ahead: deque[Any] = deque()
        self._reader_waits = False
        self._iterator_waits = False
        self._opened = False
        self._ended = False
        self._stopped = False
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="riverrun-iterator", daemon=True)

    def start(self) -> None:
        """Start the iterator and wait until its function is open; raises what ``open`` raised."""
        self._thread.start()
        with self._changed:
            self._changed.wait_for(lambda: self._opened or self._ended)
        if not self._opened:
            self._raise_error()

    def take(self, limit: int) -> list[Any]:
        """Up to ``limit`` values; waits a moment for the first. Raises what the iterator raised."""
        ahead = self._ahead
        if not ahead and not self._ended:
            self._wait_for_values()
        ended = self._ended
        pop = ahead.popleft
        values = [pop() for _ in range(min(limit, len(ahead)))]
        if not values and ended:
            self._raise_error()
        if self._iterator_waits:
            self._wake()
        return values

    def has_ended(self) -> bool:
        """Whether there is nothing left to take, now or later."""
        return self._ended and not self._ahead

    def stop(self) -> None:
        """End the iterator at its next value, and its function; raises what ``close`` raised.

        An iterator that is blocked is left behind: nothing in Python can interrupt it.
        """
        self._stopped = True
        self._wake()
        if self._thread.is_alive():
            self._thread.join(_JOIN_S)
        if not self._thread.is_alive():
            self._raise_error()

    def _wait_for_values(self) -> None:
        with self._changed:
            self._reader_waits = True
            if not self._ahead and not self._ended:
                self._changed.wait(_PATIENCE_S)
            self._reader_waits = False

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _raise_error(self) -> None:
        error, self._error = self._error, None
        if error is not None:
            raise error

    def _run(self) -> None:
        try:
            self._live()
        except BaseException as error:  # noqa: BLE001  (handed to the task thread, which raises it)
            self._error = error
        self._ended = True
        self._wake()

    def _live(self) -> None:
        values = self._values
        if not isinstance(values, SourceFunction):
            self._note_open()
            self._pour(iter(values()))
            return
        try:
            values.open(self._context.runtime_context())
            self._note_open()
            self._pour(iter(values.run()))
        finally:
            values.close()

    def _note_open(self) -> None:
        self._opened = True
        self._wake()

    def _pour(self, iterator: Iterator[Any]) -> None:
        ahead = self._ahead
        append = ahead.append
        for value in islice(iterator, self._skip, None):
            append(value)
            if self._reader_waits:
                # Once is enough: it may be long until the reader gets to run and says so itself.
                self._reader_waits = False
                self._wake()
            if len(ahead) >= _AHEAD:
                self._wait_for_room()
            if self._stopped:
                return

    def _wait_for_room(self) -> None:
        with self._changed:
            self._iterator_waits = True
            self._changed.wait_for(lambda: self._stopped or len(self._ahead) < _AHEAD // 2)
            self._iterator_waits = False
