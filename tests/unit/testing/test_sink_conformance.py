"""The kit for sinks: passes sinks that are right, and finds each kind of mistake."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest

from riverrun.api.sink import (
    Committable,
    Committer,
    GlobalCommitter,
    Sink,
    SinkWriter,
    SinkWriterContext,
)
from riverrun.testing.conformance.failure import NotConforming
from riverrun.testing.conformance.sinks import SinkTarget, check_sink

RECORDS = list(range(20))


class Shelf:
    """A system that records are written to."""

    def __init__(self) -> None:
        self.visible: list[Any] = []
        self.done: set[Any] = set()


class ShelfSink(Sink[Any]):
    """Right, unless a mistake is asked for."""

    def __init__(self, shelf: Shelf, mistake: str = "") -> None:
        self.shelf, self.mistake = shelf, mistake

    def create_writer(self, context: SinkWriterContext) -> SinkWriter[Any]:
        return _ShelfWriter(self)

    def create_committer(self, context: SinkWriterContext) -> Committer:
        return _ShelfCommitter(self)


class _ShelfWriter(SinkWriter[Any]):
    def __init__(self, sink: ShelfSink) -> None:
        self._sink = sink
        self._held: list[Any] = []

    def write(self, value: Any, timestamp: int | None) -> None:
        self._held.append(value)

    def flush(self, *, end_of_input: bool) -> None:
        if self._sink.mistake == "shows too early":
            self._sink.shelf.visible += self._held
            self._held = []

    def prepare_commit(self) -> list[Any]:
        held, self._held = self._held, []
        return [held[:1], held[1:]] if self._sink.mistake != "prepares nothing" else []


class _ShelfCommitter(Committer):
    def __init__(self, sink: ShelfSink) -> None:
        self._sink = sink

    def commit(self, committables: Sequence[Committable]) -> None:
        shelf = self._sink.shelf
        newest = max(each.checkpoint for each in committables)
        for each in committables:
            if each.checkpoint < newest and self._sink.mistake == "commits the newest alone":
                continue
            if each.id in shelf.done and self._sink.mistake != "is not idempotent":
                continue
            shelf.done.add(each.id)
            shelf.visible += each.value


class TableSink(ShelfSink):
    commits_globally = True

    def create_global_committer(self, context: SinkWriterContext) -> GlobalCommitter:
        return _TableCommitter(self)


class _TableCommitter(GlobalCommitter):
    def __init__(self, sink: ShelfSink) -> None:
        self._sink = sink

    def commit(self, checkpoint: int, committables: Sequence[Any]) -> None:
        shelf = self._sink.shelf
        if checkpoint not in shelf.done:
            shelf.done.add(checkpoint)
            shelf.visible += [value for each in committables for value in each]


def target(kind: type[ShelfSink], mistake: str = "") -> AbstractContextManager[SinkTarget]:
    @contextmanager
    def opened() -> Iterator[SinkTarget]:
        shelf = Shelf()
        yield SinkTarget(kind(shelf, mistake), lambda: list(shelf.visible))

    return opened()


@pytest.mark.parametrize("kind", [ShelfSink, TableSink])
def test_sinks_that_are_right_pass(kind: type[ShelfSink]) -> None:
    check_sink(lambda: target(kind), RECORDS)


@pytest.mark.parametrize(
    ("mistake", "words"),
    [
        ("shows too early", "too many"),
        ("prepares nothing", "lost"),
        ("is not idempotent", "too many"),
        ("commits the newest alone", "lost"),
    ],
)
def test_a_mistake_is_found_and_told_with_its_steps(mistake: str, words: str) -> None:
    with pytest.raises(NotConforming, match=words) as caught:
        check_sink(lambda: target(ShelfSink, mistake), RECORDS)

    assert "starts at parallelism" in str(caught.value)


def test_at_least_once_may_repeat_but_not_lose() -> None:
    check_sink(lambda: target(ShelfSink, "is not idempotent"), RECORDS, at_least_once=True)
    with pytest.raises(NotConforming, match="lost"):
        check_sink(lambda: target(ShelfSink, "prepares nothing"), RECORDS, at_least_once=True)


def test_too_few_records_are_refused() -> None:
    with pytest.raises(ValueError, match="got 3 records, expected 12 or more"):
        check_sink(lambda: target(ShelfSink), RECORDS[:3])
