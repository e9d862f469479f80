"""Timestamps of whole runs: one call of the program's assigner per record, and checks per run."""

from __future__ import annotations

import operator
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeAlias

from riverrun.api.columns import Column, times_of
from riverrun.api.watermark_strategy import (
    IngestionTimeAssigner,
    RecordTimestampAssigner,
    TimestampAssigner,
    WatermarkStrategy,
)
from riverrun.core.clock import Clock
from riverrun.core.errors import ProgramError
from riverrun.core.short_repr import short_repr
from riverrun.loops import extent
from riverrun.protocol.elements import MAX_WATERMARK, MIN_TIMESTAMP
from riverrun.runtime.run_keys import run_lookup
from riverrun.serde.columns import ColumnRun, TimeColumn

AssignRun: TypeAlias = Callable[[list[Any], list[int] | None], list[int]]
"""From a run's values and the timestamps they have so far to the ones they get."""


def assign_run(strategy: WatermarkStrategy | None, name: str, clock: Clock) -> AssignRun | None:
    """What gives the runs of operator ``name`` their timestamps; ``None``: they keep what they have."""
    assigner = None if strategy is None else strategy.timestamp_assigner
    if assigner is None or type(assigner) is RecordTimestampAssigner:
        return None
    if type(assigner) is IngestionTimeAssigner:
        return _IngestionTimes(clock)
    if isinstance(assigner, TimestampAssigner):
        return _AssignedTimes(name, assigner.extract_timestamp)
    if isinstance(assigner, Column):
        return _ColumnTimes(name, assigner)
    return _AssignedTimes(name, assigner)


class _IngestionTimes:
    """The wall clock, once per run; it may be set back, timestamps are not."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._latest = MIN_TIMESTAMP

    def __call__(self, values: list[Any], timestamps: list[int] | None) -> list[int]:
        del timestamps
        self._latest = max(self._latest, self._clock.now())
        return [self._latest] * len(values)


class _AssignedTimes:
    """What the program's assigner says, checked."""

    def __init__(self, name: str, assign: Callable[[Any, int], int]) -> None:
        self._name = name
        self._assign = assign
        self._look_up = run_lookup(assign)

    def __call__(self, values: list[Any], timestamps: list[int] | None) -> list[int]:
        times = self._assigned(values, timestamps)
        if extent(times) is not None:
            return times
        checked = []
        for value, time in zip(values, times, strict=True):
            checked.append(self._checked(value, time))
        return checked

    def _assigned(self, values: list[Any], timestamps: list[int] | None) -> list[int]:
        assign, look_up = self._assign, self._look_up
        if look_up is not None:
            # Where this fails the assigner does too, at the same record, in the user's own frame.
            with suppress(Exception):
                return look_up(values)
        if timestamps is None:
            return [assign(value, MIN_TIMESTAMP) for value in values]
        return [assign(value, time) for value, time in zip(values, timestamps, strict=True)]

    def _checked(self, value: Any, time: Any) -> int:
        try:
            return whole_millis(time)
        except ProgramError as error:
            raise ProgramError(
                f"operator {self._name!r}: the timestamp assigner gave {error} for the record "
                f"{short_repr(value)}; return milliseconds since the Unix epoch as an int"
            ) from None


class _ColumnTimes:
    """A column of the records; without a look at each of them if they come as columns."""

    def __init__(self, name: str, column: Column) -> None:
        self._name = name
        self._column = column
        self._assign = _AssignedTimes(name, column)

    def __call__(self, values: list[Any], timestamps: list[int] | None) -> list[int]:
        if not isinstance(values, ColumnRun):
            return self._assign(values, timestamps)
        try:
            return times_of(self._column.of(values))
        except (TypeError, ValueError) as error:
            raise ProgramError(
                f"operator {self._name!r}: event times from {self._column!r}: {error}"
            ) from error


def first_and_last(timestamps: list[int]) -> tuple[int, int]:
    """The least and the greatest of timestamps, of which there must be some.

    >>> first_and_last([20, 10, 30])
    (10, 30)
    """
    if isinstance(timestamps, TimeColumn):
        return timestamps.extent()
    return extent(timestamps) or (min(timestamps), max(timestamps))


def whole_millis(time: Any) -> int:
    """``time`` as an int of 64 bits; anything that is a whole number will do.

    >>> import numpy
    >>> whole_millis(numpy.int32(7))
    7

    Raises:
        ProgramError: it is none; says what was found.
    """
    if isinstance(time, bool):
        raise ProgramError(f"{time!r}, a bool,")
    try:
        millis = operator.index(time)
    except TypeError:
        found = "None" if time is None else f"{short_repr(time)}, a {type(time).__name__},"
        raise ProgramError(found) from None
    if not MIN_TIMESTAMP <= millis <= MAX_WATERMARK:
        raise ProgramError(f"{short_repr(millis)}, which does not fit into 64 bits,")
    return millis
