"""A source of numbered records per key: splits are ranges of keys with a position."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from riverrun.api.source import (
    Polled,
    Source,
    SourceReader,
    SourceReaderContext,
    SourceStatus,
)
from riverrun.connectors.rate_limits import Allowance

BURST_MS = 100.0


@dataclass(frozen=True, slots=True)
class SequenceSplit:
    """The records (key, n) of some keys; ``position`` of them were read."""

    first_key: int
    keys: int
    per_key: int
    position: int = 0

    def take(self, limit: int) -> tuple[list[tuple[int, int]], SequenceSplit]:
        """The next ``limit`` records at most, and what is left."""
        stop = min(self.position + limit, self.keys * self.per_key)
        values = [
            (self.first_key + place % self.keys, place // self.keys)
            for place in range(self.position, stop)
        ]
        return values, replace(self, position=stop)

    def is_exhausted(self) -> bool:
        """Whether there is nothing left."""
        return self.position >= self.keys * self.per_key


class SequenceSource(Source[tuple[int, int]]):
    """The records (key, 0), (key, 1) ... (key, per_key - 1) of each key, in order per key.

    ``rate`` records a second come in bursts until there is a file ``gate``; from then on the rest comes
    as fast as it can. So a test decides how long a job with a known result runs.
    """

    def __init__(self, keys: int, per_key: int, rate: float, gate: str | None = None) -> None:
        self.keys, self.per_key, self.rate, self.gate = keys, per_key, rate, gate

    def create_splits(self, parallelism: int) -> list[Any]:
        parts = min(self.keys, 2 * parallelism)
        bounds = [part * self.keys // parts for part in range(parts + 1)]
        return [SequenceSplit(low, high - low, self.per_key) for low, high in pairwise(bounds)]

    def create_reader(
        self, splits: list[Any], context: SourceReaderContext
    ) -> SourceReader[tuple[int, int]]:
        return _SequenceReader(self, splits, context)


class _SequenceReader(SourceReader[tuple[int, int]]):
    def __init__(
        self, source: SequenceSource, splits: list[SequenceSplit], context: SourceReaderContext
    ) -> None:
        self._splits = [split for split in splits if not split.is_exhausted()]
        self._gate = None if source.gate is None else Path(source.gate)
        share = sum(split.keys for split in splits) / source.keys
        self._allowance = Allowance(max(source.rate * share, 1.0), context.clock)

    def poll(self, limit: int) -> Polled:
        if not self._splits:
            return Polled(status=SourceStatus.END_OF_INPUT)
        due = limit if self._is_open() else self._allowance.due(limit)
        values = self._take(due)
        self._allowance.spend(len(values))
        if due < limit:
            return Polled(values, status=SourceStatus.NOTHING_AVAILABLE, wait_ms=BURST_MS)
        return Polled(values)

    def snapshot_splits(self) -> list[Any]:
        return list(self._splits)

    def _take(self, limit: int) -> list[tuple[int, int]]:
        """At most ``limit`` records, from the splits in turn."""
        taken: list[tuple[int, int]] = []
        while self._splits and len(taken) < limit:
            split = self._splits.pop(0)
            values, rest = split.take(min(split.keys, limit - len(taken)))
            taken += values
            if not rest.is_exhausted():
                self._splits.append(rest)
        return taken

    def _is_open(self) -> bool:
        return self._gate is not None and self._gate.exists()
