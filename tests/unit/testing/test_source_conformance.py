"""The kit for sources: passes sources that are right, and finds each kind of mistake."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from riverrun.api.source import Polled, Source, SourceReader, SourceReaderContext
from riverrun.connectors.number_sequence import NumberSequenceSource
from riverrun.testing.conformance.failure import NotConforming
from riverrun.testing.conformance.sources import check_source
from tests.unit.testing.discovering_sources import (
    NumbersReader,
    PushedNumbers,
    QueuedNumbers,
)


@pytest.mark.parametrize(
    ("source", "count"),
    [
        (QueuedNumbers(splits=3, size=7), 21),
        (PushedNumbers(splits=5, size=7), 35),
        (NumberSequenceSource(0, 34), 35),
    ],
    ids=["queued", "pushed", "static"],
)
def test_sources_that_are_right_pass(source: Source[int], count: int) -> None:
    check_source(lambda: source, range(count), seeds=range(30))


class _Forgetful(NumbersReader):
    def snapshot_splits(self) -> list[Any]:
        return super().snapshot_splits()[1:]


class _Repeating(NumbersReader):
    def __init__(self, splits: Sequence[Any], context: SourceReaderContext) -> None:
        super().__init__(splits, context)
        self._before: list[Any] = []

    def poll(self, limit: int) -> Polled:
        self._before = super().snapshot_splits()
        return super().poll(limit)

    def snapshot_splits(self) -> list[Any]:
        return self._before or super().snapshot_splits()


class _Endless(NumbersReader):
    def notify_no_more_splits(self) -> None:
        pass


class _With(QueuedNumbers):
    def __init__(self, reader: type[NumbersReader]) -> None:
        super().__init__(splits=5, size=7)
        self._reader = reader

    def create_reader(self, splits: list[Any], context: SourceReaderContext) -> SourceReader[int]:
        return self._reader(splits, context)


@pytest.mark.parametrize(
    ("reader", "words"),
    [
        (_Forgetful, "lost: "),
        (_Repeating, "too many: "),
        (_Endless, "has not ended; every record was read"),
    ],
)
def test_a_mistake_is_found_and_told_with_its_steps(
    reader: type[NumbersReader], words: str
) -> None:
    with pytest.raises(NotConforming, match=words) as caught:
        check_source(
            lambda: _With(reader),
            range(35),
            seeds=range(30),
            crashes=0 if reader is _Endless else 3,
            patience_s=0.2,
        )

    assert "runs at parallelism" in str(caught.value)
