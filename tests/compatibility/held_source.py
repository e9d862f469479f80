"""A source whose readers stand still where they are told to, so that a snapshot is taken just there."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import Any, Final

from riverrun.api.source import Polled, Source, SourceReader, SourceReaderContext, SourceStatus
from riverrun.core.clock import Clock

PAUSE_MS: Final = 120_000.0
SECOND_MS: Final = 1000
_RUN: Final = 4
"""Most records of a split at a time: keys take turns."""


@dataclass(frozen=True, slots=True)
class KeySplit:
    """The records of one key; ``position`` of them were read. Pickled in the corpus: keep its fields."""

    source: str
    key: int
    position: int = 0

    @property
    def name(self) -> str:
        """Unique within the source."""
        return f"{self.source}-{self.key}"


class Hold:
    """Where the sources of this process stand still; ``None``: nowhere."""

    def __init__(self) -> None:
        self.at: int | None = None
        self.calls_wait = False
        """Whether asynchronous calls for the last records before ``at`` never end."""
        self.reached = threading.Event()
        self.opened = threading.Event()
        self._waiting: set[str] = set()
        self._expected = 0

    def close(self, at: int, splits: int, *, calls_wait: bool = False) -> None:
        """Let ``splits`` splits stand still at their record ``at``."""
        self._waiting.clear()
        self._expected = splits
        self.reached.clear()
        self.opened.clear()
        self.calls_wait = calls_wait
        self.at = at

    def open(self) -> None:
        """Let everybody go on."""
        self.at = None
        self.calls_wait = False
        self.opened.set()

    def arrived(self, split: KeySplit) -> None:
        """A split stands where it should."""
        self._waiting.add(split.name)
        if len(self._waiting) >= self._expected:
            self.reached.set()


HOLD: Final = Hold()


class HeldSource(Source[tuple[int, int]]):
    """The records (key, 0), (key, 1), ... of each key in order, a second of event time apart.

    Before the last record of its keys a reader lets two minutes pass, so that all timers of the wall clock
    fire that were set for sooner. A source that is not ``patient`` does not.
    """

    def __init__(self, name: str, keys: int, per_key: int, *, patient: bool = True) -> None:
        self.name, self.keys, self.per_key, self.patient = name, keys, per_key, patient

    def create_splits(self, parallelism: int) -> list[Any]:
        return [KeySplit(self.name, key) for key in range(self.keys)]

    def create_reader(
        self, splits: list[Any], context: SourceReaderContext
    ) -> SourceReader[tuple[int, int]]:
        return _HeldReader(splits, self, context.clock)


class _HeldReader(SourceReader[tuple[int, int]]):
    def __init__(self, splits: list[KeySplit], source: HeldSource, clock: Clock) -> None:
        self._per_key = source.per_key
        self._splits = [split for split in splits if split.position < self._per_key]
        self._clock = clock
        self._last_at: float | None = None if source.patient else clock.monotonic()
        """When the last records come."""

    def split_ids(self) -> list[str]:
        return [split.name for split in self._splits]

    def poll(self, limit: int) -> Polled:
        if not self._splits:
            return Polled(status=SourceStatus.END_OF_INPUT)
        for place, split in enumerate(self._splits):
            stop = min(self._stop(split), split.position + min(limit, _RUN))
            if stop > split.position:
                del self._splits[place]
                return self._read(split, stop)
        return Polled(status=SourceStatus.NOTHING_AVAILABLE, wait_ms=self._wait_ms())

    def snapshot_splits(self) -> list[Any]:
        return list(self._splits)

    def _read(self, split: KeySplit, stop: int) -> Polled:
        numbers = range(split.position, stop)
        ended = stop == self._per_key
        if not ended:
            self._splits.append(replace(split, position=stop))
        return Polled(
            [(split.key, number) for number in numbers],
            [number * SECOND_MS for number in numbers],
            split=split.name,
            finished_splits=[split.name] if ended else (),
        )

    def _stop(self, split: KeySplit) -> int:
        """Up to which record the split may be read now."""
        at = HOLD.at
        if at is not None and at < self._per_key:
            if split.position >= at:
                HOLD.arrived(split)
            return at
        if self._last_at is not None and self._clock.monotonic() >= self._last_at:
            return self._per_key
        return self._per_key - 1

    def _wait_ms(self) -> float:
        if HOLD.at is not None:
            # Every turn takes a moment of virtual time, and timers must not come due here.
            HOLD.opened.wait(0.0005)
            return 1.0
        if self._last_at is None:
            self._last_at = self._clock.monotonic() + PAUSE_MS
        return max(1.0, self._last_at - self._clock.monotonic())
