# ruff: noqa: N802, N803, ARG002  # the names and arguments are those of Spark's interfaces
"""What Structured Streaming keeps for a key, and its two interfaces for Python functions that keep something.

A :class:`Keeper` holds the logic. ``transformWithStateInPandas`` (:class:`Processor`) asks the JVM for state and
timers, one message each; ``applyInPandasWithState`` (:func:`group_function`) gets state along with the records and
gives it back along with the results. Both call once for each key of a micro-batch, and hand over all of its
records, so state is read and written once for a key and not once for a record. What is kept is pickled: the older
interface fails with arrays in its state.
"""

import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import pandas as pd  # type: ignore[import-untyped]
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.streaming.state import GroupState

from benchmarks.payments import WINDOW_MS, Spend
from benchmarks.payments import time_of as time_of_payment
from benchmarks.visits import GAP_MS, Clicks, time_of
from benchmarks.workloads import add_amounts

Values = tuple[Any, ...]
STATE: Final = "held binary"
"""The columns of what is kept for a key."""


class Keeper(ABC):
    """A stateful function: records and what is kept in, what is kept from now on and results out.

    Attributes:
        columns: The columns that a record is made of.
        results: The columns of a result.
        timed: Whether it waits for watermarks.
    """

    columns: tuple[str, ...]
    results: str
    timed: bool

    @abstractmethod
    def update(
        self, key: Values, records: Iterable[Any], held: Values | None
    ) -> tuple[Values, list[Values]]:
        """What is kept for a key after these records, and their results."""

    def due(self, key: Values, held: Values) -> int | None:
        """When what is kept is to be looked at: milliseconds of event time; None: never."""
        return None

    def expire(
        self, key: Values, held: Values, watermark: int
    ) -> tuple[Values | None, list[Values]]:
        """What is kept for a key when the watermark has got there, and the results that are due."""
        return held, []


class Totals(Keeper):
    """``keyed``, ``state`` and those like it: a customer's running sum, each update of it a result."""

    columns = ("customer", "amount")
    results = "customer bigint, amount bigint"
    timed = False

    def update(
        self, key: Values, records: Iterable[Any], held: Values | None
    ) -> tuple[Values, list[Values]]:
        """The sum so far."""
        total = None if held is None else (int(key[0]), held[0])
        updates: list[Values] = []
        for record in records:
            total = record if total is None else add_amounts(total, record)
            updates.append(total)
        return (updates[-1][1],), updates


class WindowSums(Keeper):
    """``windows`` and ``sliding``: ends and sums of a customer's windows that are not over."""

    columns = ("customer", "amount", "time")
    results = "customer bigint, ends bigint, spend bigint"
    timed = True

    def __init__(self, size_ms: int) -> None:
        self._size_ms = size_ms
        self._spend = Spend()

    def update(
        self, key: Values, records: Iterable[Any], held: Values | None
    ) -> tuple[Values, list[Values]]:
        """The records in each of their windows."""
        spend, size = self._spend, self._size_ms
        sums = {} if held is None else dict(zip(*held, strict=True))
        for record in records:
            time = time_of_payment(record)
            first = time - time % WINDOW_MS + WINDOW_MS
            for end in range(first, first + size, WINDOW_MS):
                accumulator = sums.get(end)
                if accumulator is None:
                    accumulator = spend.create_accumulator()
                sums[end] = spend.add(record, accumulator)
        return (list(sums), list(sums.values())), []

    def due(self, key: Values, held: Values) -> int | None:
        """The end of the first window."""
        return int(min(held[0]))

    def expire(
        self, key: Values, held: Values, watermark: int
    ) -> tuple[Values | None, list[Values]]:
        """The windows that are over."""
        results: list[Values] = []
        kept: dict[int, int] = {}
        for end, accumulator in zip(*held, strict=True):
            if end <= watermark:
                results.append((int(key[0]), end, self._spend.get_result(accumulator)))
            else:
                kept[end] = accumulator
        return ((list(kept), list(kept.values())) if kept else None), results


class Sessions(Keeper):
    """``sessions``: clicks of a visitor's sessions that are not over, in order, as three lists.

    Records are late by less than the gap, so that no record joins two sessions.
    """

    columns = ("visitor", "page", "time")
    results = "visitor bigint, begins bigint, clicks bigint"
    timed = True

    def __init__(self) -> None:
        self._clicks = Clicks()

    def update(
        self, key: Values, records: Iterable[Any], held: Values | None
    ) -> tuple[Values, list[Values]]:
        """The records in the last session, or in a new one after it."""
        clicks = self._clicks
        begins, ends, counts = ([], [], []) if held is None else map(list, held)
        for record in sorted(records, key=time_of):
            time = time_of(record)
            if not ends or time > ends[-1]:
                begins.append(time)
                ends.append(time + GAP_MS)
                counts.append(clicks.create_accumulator())
            begins[-1] = min(begins[-1], time)
            ends[-1] = max(ends[-1], time + GAP_MS)
            counts[-1] = clicks.add(record, counts[-1])
        return (begins, ends, counts), []

    def due(self, key: Values, held: Values) -> int | None:
        """The end of the first session."""
        return int(held[1][0])

    def expire(
        self, key: Values, held: Values, watermark: int
    ) -> tuple[Values | None, list[Values]]:
        """The sessions that are over."""
        begins, ends, counts = map(list, held)
        over = sum(end <= watermark for end in ends)
        found = zip(begins[:over], counts[:over], strict=True)
        results = [(int(key[0]), begin, self._clicks.get_result(count)) for begin, count in found]
        kept = (begins[over:], ends[over:], counts[over:])
        return (kept if kept[0] else None), results


def _records(keeper: Keeper, frames: Iterator[pd.DataFrame]) -> Iterator[Values]:
    for frame in frames:
        yield from zip(*(frame[name].tolist() for name in keeper.columns), strict=True)


def _frame(keeper: Keeper, results: list[Values]) -> pd.DataFrame:
    names = [column.split()[0] for column in keeper.results.split(", ")]
    return pd.DataFrame(results, columns=names)


def _dumped(kept: Values) -> tuple[bytes]:
    return (pickle.dumps(kept, pickle.HIGHEST_PROTOCOL),)


def _loaded(held: Values | None) -> Any:
    return None if held is None else pickle.loads(held[0])


class Processor(StatefulProcessor):  # type: ignore[misc]  # pyspark has no types for mypy
    """A keeper behind ``transformWithStateInPandas``."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._held = handle.getValueState("held", STATE)

    def handleInputRows(
        self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any
    ) -> Iterator[pd.DataFrame]:
        held = _loaded(self._held.get())
        kept, results = self._keeper.update(key, _records(self._keeper, rows), held)
        self._held.update(_dumped(kept))
        self._set_timer(None if held is None else self._keeper.due(key, held), key, kept)
        if results:
            yield _frame(self._keeper, results)

    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[pd.DataFrame]:
        held = _loaded(self._held.get())
        if held is None:
            return
        watermark = timerValues.getCurrentWatermarkInMs()
        kept, results = self._keeper.expire(key, held, watermark)
        if kept is None:
            self._held.clear()
        else:
            self._held.update(_dumped(kept))
            self._set_timer(None, key, kept)
        if results:
            yield _frame(self._keeper, results)

    def close(self) -> None:
        pass

    def _set_timer(self, before: int | None, key: Values, kept: Values) -> None:
        due = self._keeper.due(key, kept)
        if due == before:
            return
        if before is not None:
            self._handle.deleteTimer(before)
        if due is not None:
            self._handle.registerTimer(due)


def group_function(
    keeper: Keeper,
) -> Callable[[Values, Iterator[pd.DataFrame], GroupState], Iterator[pd.DataFrame]]:
    """A keeper as the function that ``applyInPandasWithState`` takes."""

    def handle(
        key: Values, frames: Iterator[pd.DataFrame], state: GroupState
    ) -> Iterator[pd.DataFrame]:
        held = _loaded(state.get) if state.exists else None
        kept: Values | None = held
        results: list[Values] = []
        if not state.hasTimedOut:
            kept, results = keeper.update(key, _records(keeper, frames), held)
        if keeper.timed and kept is not None:
            # Where a key has records, its time has not run out in the same micro-batch even if it should have.
            kept, over = keeper.expire(key, kept, state.getCurrentWatermarkMs())
            results += over
        if kept is None:
            state.remove()
        else:
            state.update(_dumped(kept))
            due = keeper.due(key, kept)
            if due is not None:
                state.setTimeoutTimestamp(due)
        if results:
            yield _frame(keeper, results)

    return handle
