"""A reader of many splits lets go of each of them."""

from __future__ import annotations

from typing import Any

import pytest

from riverrun.api.source import SourceReaderContext
from riverrun.connectors.base.split_reader import OpenSplit, SplitRun, SplitsReader
from riverrun.core.clock import SystemClock


class Number(OpenSplit[int]):
    def __init__(self, number: int, closed: list[int]) -> None:
        self.number = number
        self.closed = closed

    def read(self, limit: int) -> SplitRun:
        if self.number < 0:
            raise ValueError("cannot be read")
        return SplitRun([self.number], finished=self.number == 0)

    def split(self) -> int:
        return self.number

    def close(self) -> None:
        self.closed.append(self.number)


class Numbers(SplitsReader[int]):
    def __init__(self, *numbers: int) -> None:
        context = SourceReaderContext(0, 1, SystemClock(), send_split_request=lambda: None)
        super().__init__(numbers, context, at_once=len(numbers))
        self.closed: list[int] = []

    def open_split(self, split: int) -> Number:
        return Number(split, self.closed)

    def name_of(self, split: Any) -> str:
        return str(split)


def test_splits_take_turns_and_those_that_end_are_closed() -> None:
    reader = Numbers(1, 0, 2)
    assert [reader.poll(1).values for _ in range(5)] == [[1], [0], [2], [1], [2]]
    assert reader.closed == [0]
    assert sorted(reader.snapshot_splits()) == [1, 2]
    reader.close()
    assert sorted(reader.closed) == [0, 1, 2]


def test_paused_splits_are_passed_over() -> None:
    reader = Numbers(1, 2)
    reader.poll(1)
    reader.pause_or_resume_splits(["2"], [])
    assert [reader.poll(1).values for _ in range(2)] == [[1], [1]]


def test_a_split_that_cannot_be_read_is_closed_with_the_reader() -> None:
    reader = Numbers(-1, 1)
    with pytest.raises(ValueError, match="cannot be read"):
        reader.poll(1)
    reader.close()
    assert sorted(reader.closed) == [-1, 1]


def test_splits_are_closed_also_when_one_of_them_cannot_be() -> None:
    reader = Numbers(1, 2, 3)
    for _ in range(3):
        reader.poll(1)

    def broken() -> None:
        raise OSError("the disk is gone")

    reader._open[1][1].close = broken  # type: ignore[method-assign]
    with pytest.raises(OSError, match="the disk is gone"):
        reader.close()
    assert sorted(reader.closed) == [1, 3]
