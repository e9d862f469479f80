"""The side of a hybrid source that deals out splits and says when to go on with the next source."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from riverrun.api.source import Source
from riverrun.api.split_enumerator import SplitEnumerator, SplitEnumeratorContext
from riverrun.connectors.hybrid.messages import (
    Finished,
    HybridSplit,
    HybridState,
    InnerEvent,
    NoMoreOf,
    SwitchTo,
)
from riverrun.core.clock import Clock

R = TypeVar("R")


class HybridEnumerator(SplitEnumerator[HybridSplit]):
    """Runs the enumerator of the source that is being read, and only that one."""

    def __init__(
        self,
        sources: Sequence[Source[Any]],
        context: SplitEnumeratorContext,
        state: HybridState | None = None,
    ) -> None:
        self._sources = sources
        self._context = context
        self._source = 0 if state is None else state.source
        self._finished: set[int] = set()
        """Readers that have read the source to the end; they say so again after a restart."""
        self._inner_context, self._inner = self._enumerator(state)

    def start(self) -> None:
        self._inner.start()

    def add_reader(self, subtask: int) -> None:
        self._context.send_event_to_reader(subtask, SwitchTo(self._source))
        self._inner.add_reader(subtask)

    def handle_split_request(self, subtask: int) -> None:
        self._inner.handle_split_request(subtask)

    def handle_source_event(self, subtask: int, event: Any) -> None:
        if event.source != self._source:
            return  # of a source that all readers are done with
        if isinstance(event, InnerEvent):
            self._inner.handle_source_event(subtask, event.event)
            return
        assert isinstance(event, Finished), event  # noqa: S101  (all that readers say)
        self._finished.add(subtask)
        if len(self._finished) == self._context.parallelism:
            self._go_on()

    def snapshot_state(self, checkpoint: int) -> HybridState:
        return HybridState(self._source, self._inner.snapshot_state(checkpoint))

    def notify_checkpoint_complete(self, checkpoint: int) -> None:
        self._inner.notify_checkpoint_complete(checkpoint)

    def close(self) -> None:
        self._inner_context.is_over = True
        self._inner.close()

    def _go_on(self) -> None:
        self.close()
        self._source += 1
        self._finished.clear()
        self._inner_context, self._inner = self._enumerator(None)
        self._inner.start()
        for subtask in self._context.registered_readers:
            self.add_reader(subtask)

    def _enumerator(self, state: HybridState | None) -> tuple[_InnerContext, SplitEnumerator[Any]]:
        source = self._sources[self._source]
        is_last = self._source == len(self._sources) - 1
        context = _InnerContext(self._context, self._source, is_last=is_last)
        if not source.discovers_splits:
            parallelism = context.parallelism
            splits = source.create_splits(parallelism) if state is None else state.inner
            return context, _Dealer(context, splits)
        if state is None:
            return context, source.create_enumerator(context)
        return context, source.restore_enumerator(context, state.inner)


class _Dealer(SplitEnumerator[Any]):
    """Of a source that knows its splits from the start: each reader gets its share as it comes."""

    def __init__(self, context: SplitEnumeratorContext, splits: Sequence[Any]) -> None:
        self._context = context
        self._shares: dict[int, list[Any]] = {}
        for place, split in enumerate(splits):
            self._shares.setdefault(place % context.parallelism, []).append(split)

    def add_reader(self, subtask: int) -> None:
        self._context.assign_splits(self._shares.pop(subtask, ()), subtask)
        self._context.signal_no_more_splits(subtask)

    def handle_split_request(self, subtask: int) -> None:
        """It has all it gets."""

    def snapshot_state(self, checkpoint: int) -> list[Any]:
        del checkpoint
        return [split for share in self._shares.values() for split in share]


class _InnerContext:
    """The context of one source's enumerator: what it says is marked as of this source."""

    def __init__(self, outer: SplitEnumeratorContext, source: int, *, is_last: bool) -> None:
        self._outer = outer
        self._source = source
        self._is_last = is_last
        self.is_over = False
        """Whether the source was read to the end: calls that are still under way mean nothing."""

    @property
    def parallelism(self) -> int:
        return self._outer.parallelism

    @property
    def clock(self) -> Clock:
        return self._outer.clock

    @property
    def config(self) -> Mapping[str, str]:
        return self._outer.config

    @property
    def registered_readers(self) -> Sequence[int]:
        return self._outer.registered_readers

    def assign_splits(self, splits: Sequence[Any], subtask: int) -> None:
        self._outer.assign_splits([HybridSplit(self._source, each) for each in splits], subtask)

    def signal_no_more_splits(self, subtask: int) -> None:
        if self._is_last:
            self._outer.signal_no_more_splits(subtask)
        else:
            self._outer.send_event_to_reader(subtask, NoMoreOf(self._source))

    def send_event_to_reader(self, subtask: int, event: Any) -> None:
        self._outer.send_event_to_reader(subtask, InnerEvent(self._source, event))

    def call_async(
        self,
        call: Callable[[], R],
        then: Callable[[R | None, Exception | None], None],
        *,
        initial_delay_ms: float = 0.0,
        period_ms: float | None = None,
    ) -> None:
        def unless_over() -> R | None:
            return None if self.is_over else call()

        def then_unless_over(result: R | None, error: Exception | None) -> None:
            if not self.is_over:
                then(result, error)

        self._outer.call_async(
            unless_over, then_unless_over, initial_delay_ms=initial_delay_ms, period_ms=period_ms
        )
