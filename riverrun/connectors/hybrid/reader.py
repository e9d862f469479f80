"""The side of a hybrid source that reads: one source's reader at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from riverrun.api.source import Polled, Source, SourceReader, SourceReaderContext, SourceStatus
from riverrun.connectors.hybrid.messages import (
    Finished,
    HybridSplit,
    InnerEvent,
    NoMoreOf,
    SwitchTo,
)
from riverrun.serde.columns import plain_rows, plain_times

_UNTIL_TOLD_MS: Final = 60_000.0
"""What there is to do is announced, and an announcement wakes the task."""


class HybridReader(SourceReader[Any]):
    """Reads the source that the enumerator says.

    The reader of a source that knows its splits from the start is made when all of them are here, any
    other as soon as its source's turn has come.
    """

    def __init__(
        self,
        sources: Sequence[Source[Any]],
        splits: list[HybridSplit],
        context: SourceReaderContext,
        *,
        columns: bool,
    ) -> None:
        self._sources = sources
        self._context = context
        self._columns = columns
        self._held = list(splits)
        """Splits whose source has no reader yet."""
        self._source = -1
        self._inner: SourceReader[Any] | None = None
        self._paused: set[str] = set()
        self._is_open = False
        self._ended = False

    def open(self) -> None:
        self._is_open = True
        if self._inner is not None:
            self._inner.open()

    def poll(self, limit: int) -> Polled:
        inner = self._inner
        if inner is None or (self._paused and not _pauses(inner)):
            return Polled(status=SourceStatus.NOTHING_AVAILABLE, wait_ms=_UNTIL_TOLD_MS)
        polled = inner.poll(limit)
        polled.split = self._name(polled.split)
        polled.finished_splits = tuple(self._name(each) for each in polled.finished_splits)
        if not self._columns:
            polled.values = plain_rows(polled.values)
            polled.timestamps = plain_times(polled.timestamps)
        if polled.status is SourceStatus.END_OF_INPUT:
            self._end(polled)
        return polled

    def prepare_snapshot(self, checkpoint: int) -> None:
        if self._inner is not None:
            self._inner.prepare_snapshot(checkpoint)

    def snapshot_splits(self) -> list[Any]:
        if self._inner is None:
            return list(self._held)
        own = [HybridSplit(self._source, each) for each in self._inner.snapshot_splits()]
        return [*own, *self._held]

    def add_splits(self, splits: Sequence[HybridSplit]) -> None:
        inner = self._inner
        if inner is None:
            self._held += splits
            return
        inner.add_splits([each.split for each in splits if each.source == self._source])
        self._held += [each for each in splits if each.source != self._source]

    def notify_no_more_splits(self) -> None:
        last = len(self._sources) - 1
        # After a restart nobody need say anything else.
        self._switch(last)
        self._complete(last)

    def handle_source_event(self, event: Any) -> None:
        match event:
            case SwitchTo(source):
                self._switch(source)
            case NoMoreOf(source):
                self._complete(source)
            case InnerEvent(source, inner_event):
                if source == self._source and self._inner is not None:
                    self._inner.handle_source_event(inner_event)
        self._context.wake()

    def notify_checkpoint_complete(self, checkpoint: int) -> None:
        if self._inner is not None:
            self._inner.notify_checkpoint_complete(checkpoint)

    def split_ids(self) -> list[str]:
        if self._inner is None:
            return []
        # One without names is one split itself.
        return [self._name(each) for each in self._inner.split_ids() or (None,)]

    def pause_or_resume_splits(
        self, splits_to_pause: Sequence[str], splits_to_resume: Sequence[str]
    ) -> None:
        self._paused.update(splits_to_pause)
        self._paused.difference_update(splits_to_resume)
        if self._inner is not None and _pauses(self._inner):
            self._inner.pause_or_resume_splits(
                self._own(splits_to_pause), self._own(splits_to_resume)
            )

    def close(self) -> None:
        inner, self._inner = self._inner, None
        if inner is not None:
            inner.close()

    def _switch(self, source: int) -> None:
        if self._source == source:
            return
        self._source = source
        self._ended = False
        if self._sources[source].discovers_splits:
            self._begin()

    def _complete(self, source: int) -> None:
        if source != self._source:
            return
        if not self._sources[source].discovers_splits:
            if self._inner is None and not self._ended:
                self._begin()
        elif self._inner is not None:
            self._inner.notify_no_more_splits()

    def _begin(self) -> None:
        number = self._source
        splits = [each.split for each in self._held if each.source == number]
        self._held = [each for each in self._held if each.source != number]
        send = self._context.send_source_event
        context = replace(
            self._context, send_source_event=lambda event: send(InnerEvent(number, event))
        )
        self._inner = inner = self._sources[number].create_reader(splits, context)
        if self._is_open:
            inner.open()
        self._context.wake()

    def _end(self, polled: Polled) -> None:
        """The source is read to the end: say so, unless it is the last one."""
        polled.finished_splits = tuple({*polled.finished_splits, *self.split_ids()})
        self.close()
        self._paused.clear()
        self._ended = True
        if self._source < len(self._sources) - 1:
            self._context.send_source_event(Finished(self._source))
            polled.status, polled.wait_ms = SourceStatus.NOTHING_AVAILABLE, _UNTIL_TOLD_MS

    def _name(self, split: str | None) -> str:
        return f"{self._source}" if split is None else f"{self._source}:{split}"

    def _own(self, names: Sequence[str]) -> list[str]:
        prefix = f"{self._source}:"
        return [name.removeprefix(prefix) for name in names if name.startswith(prefix)]


def _pauses(reader: SourceReader[Any]) -> bool:
    return type(reader).pause_or_resume_splits is not SourceReader.pause_or_resume_splits
