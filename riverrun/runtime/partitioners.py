"""Share a run out over the channels of an edge; one function call per run, C speed per record.

``spread(edge, buffers, subtask, rng)`` picks the strategy. Each strategy is called with the values and
their timestamps (``None``: the run has none) and appends to the buffers.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import cycle, islice
from operator import index as to_int
from typing import Any, TypeAlias, assert_never

from riverrun.api.resolve import key_callable, partition_callable
from riverrun.core.errors import UserCodeError
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
from riverrun.runtime.key_routing import ByKey

Spread: TypeAlias = Callable[[list[Any], list[int] | None], None]


class PartitionOutOfRange(UserCodeError):  # noqa: N818
    """A custom partitioner named a consumer that does not exist."""

    def __init__(self, got: str, consumers: int) -> None:
        super().__init__(got, consumers)
        self.got, self.consumers = got, consumers

    def __str__(self) -> str:
        return (
            f"the partitioner returned {self.got}; "
            f"expected an int from 0 to {self.consumers - 1} (num_partitions is {self.consumers})"
        )


def spread(edge: OutEdge, buffers: Sequence[ChannelBuffer], rng: random.Random) -> Spread:
    """The strategy for ``edge``; ``buffers[i]`` belongs to ``edge.consumers[i]``."""
    match edge.partitioning:
        case Forward() | Broadcast() | Global():
            return _Single(buffers[0])
        case Hash(key_selector):
            return ByKey(key_selector, buffers, edge.max_parallelism, edge.consumer_parallelism)
        case Rebalance() | Rescale():
            if len(buffers) == 1:
                return _Single(buffers[0])
            return _RoundRobin(buffers, rng.randrange(len(buffers)))
        case Shuffle():
            return _Random(buffers, rng)
        case Custom(partition, key_selector):
            return _ByFunction(partition_callable(partition), key_callable(key_selector), buffers)
        case _:
            assert_never(edge.partitioning)


class _Single:
    """Everything into one buffer."""

    def __init__(self, buffer: ChannelBuffer) -> None:
        self._buffer = buffer

    def __call__(self, values: list[Any], timestamps: list[int] | None) -> None:
        self._buffer.values.extend(values)
        if timestamps is not None:
            self._buffer.timestamps.extend(timestamps)


class _RoundRobin:
    """Record k goes to channel (start + k) mod n, continued over runs."""

    def __init__(self, buffers: Sequence[ChannelBuffer], start: int) -> None:
        self._buffers = buffers
        self._next = start

    def __call__(self, values: list[Any], timestamps: list[int] | None) -> None:
        count = len(self._buffers)
        for offset in range(min(count, len(values))):
            buffer = self._buffers[(self._next + offset) % count]
            buffer.values.extend(values[offset::count])
            if timestamps is not None:
                buffer.timestamps.extend(timestamps[offset::count])
        self._next = (self._next + len(values)) % count


class _Random:
    """Each record to a channel drawn uniformly."""

    def __init__(self, buffers: Sequence[ChannelBuffer], rng: random.Random) -> None:
        self._buffers = buffers
        self._appends = [buffer.values.append for buffer in buffers]
        self._rng = rng

    def __call__(self, values: list[Any], timestamps: list[int] | None) -> None:
        if timestamps is None:
            for append, value in zip(
                self._rng.choices(self._appends, k=len(values)), values, strict=True
            ):
                append(value)
            return
        chosen = self._rng.choices(self._buffers, k=len(values))
        for buffer, value, timestamp in zip(chosen, values, timestamps, strict=True):
            buffer.values.append(value)
            buffer.timestamps.append(timestamp)


class _ByFunction:
    """Where the user's partitioner says."""

    def __init__(
        self,
        partition: Callable[[Any, int], int],
        key_selector: Callable[[Any], Any],
        buffers: Sequence[ChannelBuffer],
    ) -> None:
        self._partition, self._key, self._buffers = partition, key_selector, buffers

    def __call__(self, values: list[Any], timestamps: list[int] | None) -> None:
        partition, key, buffers = self._partition, self._key, self._buffers
        count = len(buffers)
        times = cycle((None,)) if timestamps is None else timestamps
        for value, timestamp in zip(values, islice(times, len(values)), strict=True):
            index = partition(key(value), count)
            if type(index) is not int:
                index = _whole(index, count)
            if not 0 <= index < count:
                raise PartitionOutOfRange(repr(index), count)
            buffers[index].values.append(value)
            if timestamp is not None:
                buffers[index].timestamps.append(timestamp)


def _whole(index: Any, count: int) -> int:
    """``index`` as an int, if it is a whole number of some kind, such as numpy's."""
    try:
        return to_int(index)
    except TypeError:
        raise PartitionOutOfRange(repr(index), count) from None
