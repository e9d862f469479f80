"""The enumerator's part of a checkpoint is what its state was when it was asked for."""

from __future__ import annotations

from typing import Any

from riverrun.api.source import Source, SourceReader, SourceReaderContext
from riverrun.api.split_enumerator import SplitEnumerator, SplitEnumeratorContext
from riverrun.core.clock import ManualClock
from riverrun.runtime.enumerator import EnumeratorHost, SavedEnumerator
from riverrun.runtime.split_messages import ReaderThere, SplitsWanted


class Careless(SplitEnumerator[int]):
    """Gives its own list away as its state, and goes on with it."""

    def __init__(self, context: SplitEnumeratorContext, left: list[int]) -> None:
        self._context = context
        self.left = left

    def add_reader(self, subtask: int) -> None: ...

    def handle_split_request(self, subtask: int) -> None:
        self._context.assign_splits([self.left.pop()], subtask)

    def snapshot_state(self, checkpoint: int) -> list[int]:
        return self.left


class CarelessSource(Source[int]):
    discovers_splits = True

    def create_enumerator(self, context: SplitEnumeratorContext) -> SplitEnumerator[Any]:
        return Careless(context, [1, 2, 3])

    def restore_enumerator(
        self, context: SplitEnumeratorContext, state: Any
    ) -> SplitEnumerator[Any]:
        return Careless(context, state)

    def create_reader(self, splits: list[Any], context: SourceReaderContext) -> SourceReader[int]:
        raise NotImplementedError


def host(saved: SavedEnumerator | None = None) -> EnumeratorHost:
    made = EnumeratorHost(
        CarelessSource(),
        1,
        ManualClock(),
        aside=lambda call: call(),
        wake=lambda: None,
        saved=saved,
    )
    made.hear(0, ReaderThere())
    return made


def test_what_is_assigned_after_the_state_was_asked_for_is_still_in_it() -> None:
    first = host()
    first.hear(0, SplitsWanted())
    first.prepare(1)
    first.hear(0, SplitsWanted())
    first.cut(1)
    (saved,) = first.saved()

    assert repr(saved.state) == "[1, 2]"
    again = host(saved)
    again.prepare(2)
    again.cut(2)
    assert again.saved()[0].state.unpacked() == [1, 2]
