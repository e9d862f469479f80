"""Records of several splits that are read at different speeds: one runs ahead, one lags, one is silent."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from riverrun.api.source import Polled, Source, SourceReader, SourceReaderContext, SourceStatus
from riverrun.core.clock import Clock
from tests.oracles.windows import Record

DISORDER = 12
"""How many milliseconds a record may be behind one that comes earlier on its split."""
SPAN = 90
"""Times are from 0 to this, in milliseconds."""


@dataclass(frozen=True)
class Split:
    """Some records in order; after every ``burst`` of them there is nothing for ``pause_ms``."""

    name: str
    records: tuple[Record, ...]
    burst: int = 1_000_000
    pause_ms: float = 0.0
    next: int = 0


def records(count: int, seed: str, keys: str = "abcd", *, disorder: int = DISORDER) -> list[Record]:
    """Records of four keys, at most ``disorder`` milliseconds out of order."""
    rng = random.Random(seed)
    made = [
        Record(rng.choice(keys), number, rng.randrange(SPAN), rng.randint(1, 9))
        for number in range(count)
    ]
    return sorted(made, key=lambda record: record.time + rng.random() * disorder)


def skewed(made: Sequence[Record]) -> tuple[Split, ...]:
    """A split at full speed, one in bursts, one that is slow and short."""
    return (
        Split("fast", tuple(made[::2])),
        Split("bursts", tuple(made[1::4]), burst=3, pause_ms=20),
        Split("slow", tuple(made[3::4]), burst=1, pause_ms=15),
    )


class SkewedSource(Source[Record]):
    """Reads the splits; each keeps its own order, and each gives the same after a restart."""

    def __init__(self, splits: Sequence[Split]) -> None:
        self.splits = list(splits)

    def create_splits(self, parallelism: int) -> list[Any]:
        del parallelism
        return self.splits

    def create_reader(
        self, splits: list[Any], context: SourceReaderContext
    ) -> SourceReader[Record]:
        return _SkewedReader(splits, context.clock)


class _SkewedReader(SourceReader[Record]):
    def __init__(self, splits: list[Split], clock: Clock) -> None:
        self._splits = {split.name: split for split in splits if split.next < len(split.records)}
        self._ready_at = dict.fromkeys(self._splits, 0.0)
        self._paused: set[str] = set()
        self._clock = clock

    def poll(self, limit: int) -> Polled:
        if not self._splits:
            return Polled(status=SourceStatus.END_OF_INPUT)
        now = self._clock.monotonic()
        readable = [name for name in self._splits if name not in self._paused]
        ready = [name for name in readable if self._ready_at[name] <= now]
        if not ready:
            waits = [self._ready_at[name] - now for name in readable]
            return Polled(status=SourceStatus.NOTHING_AVAILABLE, wait_ms=min(waits, default=5.0))
        name = ready[0]
        split = self._splits.pop(name)
        at = split.next
        end = min(at + limit, len(split.records), (at // split.burst + 1) * split.burst)
        values: list[Any] = list(split.records[at:end])
        if end == len(split.records):
            return Polled(values, split=name, finished_splits=(name,))
        # At the end of the dict: the others come first next time.
        self._splits[name] = replace(split, next=end)
        if end % split.burst == 0:
            self._ready_at[name] = now + split.pause_ms
        return Polled(values, split=name)

    def snapshot_splits(self) -> list[Any]:
        return list(self._splits.values())

    def split_ids(self) -> list[str]:
        return list(self._splits)

    def pause_or_resume_splits(
        self, splits_to_pause: Sequence[str], splits_to_resume: Sequence[str]
    ) -> None:
        self._paused.update(splits_to_pause)
        self._paused.difference_update(splits_to_resume)
