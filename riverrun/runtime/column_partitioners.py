"""Share a run of columns out over the channels of an edge, without making its records.

``column_spread`` gives the strategy for an edge, or None where a function of the user's decides for each
record: then the records are made and go the way of records.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from riverrun.api.columns import column_key
from riverrun.graph.deployment import OutEdge
from riverrun.graph.partitioning import (
    Broadcast,
    Custom,
    Forward,
    Global,
    Hash,
    Rebalance,
    Rescale,
    Shuffle,
)
from riverrun.runtime.buffers import ChannelBuffer
from riverrun.serde.column_groups import grouped
from riverrun.serde.column_hash import hash_keys
from riverrun.serde.columns import ColumnRun, Indices, layout_of

ColumnSpread: TypeAlias = Callable[[ColumnRun, "Indices | None"], None]
"""Takes a run and its event times."""


def column_spread(
    edge: OutEdge, buffers: Sequence[ChannelBuffer], rng: random.Random
) -> ColumnSpread | None:
    """The strategy for ``edge``; ``buffers[i]`` belongs to ``edge.consumers[i]``."""
    single = _Single(buffers[0])
    match edge.partitioning:
        case Forward() | Broadcast() | Global():
            return single
        case Hash(key_selector):
            key = column_key(key_selector)
            layout = None if edge.type_info is None else layout_of(edge.type_info)
            if key is None or layout is None:
                return None
            groups = edge.max_parallelism
            targets = np.arange(groups) * edge.consumer_parallelism // groups
            return _ByKey(buffers, key.positions(layout), targets.astype(np.uint16))
        case Rebalance() | Rescale():
            return single if len(buffers) == 1 else _RoundRobin(buffers, rng)
        case Shuffle():
            return _Random(buffers, rng)
        case Custom():
            return None


class _Single:
    """Everything into one buffer."""

    def __init__(self, buffer: ChannelBuffer) -> None:
        self._buffer = buffer

    def __call__(self, run: ColumnRun, times: Indices | None) -> None:
        self._buffer.add_columns(run, times)


class _RoundRobin:
    """Record k goes to channel (start + k) mod n, continued over runs."""

    def __init__(self, buffers: Sequence[ChannelBuffer], rng: random.Random) -> None:
        self._buffers = buffers
        self._next = rng.randrange(len(buffers))

    def __call__(self, run: ColumnRun, times: Indices | None) -> None:
        count = len(self._buffers)
        for offset in range(min(count, len(run))):
            buffer = self._buffers[(self._next + offset) % count]
            buffer.add_columns(run[offset::count], None if times is None else times[offset::count])
        self._next = (self._next + len(run)) % count


class _Random:
    """Each record to a channel drawn uniformly."""

    def __init__(self, buffers: Sequence[ChannelBuffer], rng: random.Random) -> None:
        self._buffers = buffers
        self._rng = np.random.default_rng(rng.getrandbits(64))

    def __call__(self, run: ColumnRun, times: Indices | None) -> None:
        targets = self._rng.integers(0, len(self._buffers), len(run), dtype=np.uint16)
        _share_out(self._buffers, run, times, targets)


class _ByKey:
    """By key group, ``group * parallelism // max_parallelism``."""

    def __init__(
        self,
        buffers: Sequence[ChannelBuffer],
        positions: list[int],
        targets: npt.NDArray[np.uint16],
    ) -> None:
        self._buffers = buffers
        self._positions = positions
        self._targets = targets

    def __call__(self, run: ColumnRun, times: Indices | None) -> None:
        if len(self._buffers) == 1:
            self._buffers[0].add_columns(run, times)
            return
        codes, keys = grouped(run, self._positions)
        groups = hash_keys(keys) % np.uint64(len(self._targets))
        _share_out(self._buffers, run, times, self._targets[groups][codes])


def _share_out(
    buffers: Sequence[ChannelBuffer],
    run: ColumnRun,
    times: Indices | None,
    targets: npt.NDArray[np.uint16],
) -> None:
    """Row i to ``buffers[targets[i]]``, in order."""
    counts = np.bincount(targets, minlength=len(buffers)).tolist()
    if max(counts) == len(run):
        buffers[int(targets[0])].add_columns(run, times)
        return
    # A stable sort of two-byte numbers takes time in proportion to their number.
    order = np.argsort(targets, kind="stable")
    sorted_run = run.take(order)
    sorted_times = None if times is None else times[order]
    start = 0
    for buffer, count in zip(buffers, counts, strict=True):
        if count:
            end = start + count
            buffer.add_columns(
                sorted_run[start:end], None if sorted_times is None else sorted_times[start:end]
            )
            start = end
