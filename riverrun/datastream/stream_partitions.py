"""How records are shared out between the subtasks that read them."""

from __future__ import annotations

from typing import Self

from riverrun.api.functions import KeySelector, Partitioner
from riverrun.api.resolve import Callable1, Callable2, key_callable, partition_callable
from riverrun.graph.partitioning import (
    Custom,
    Forward,
    Global,
    Partitioning,
    Rebalance,
    Rescale,
    Shuffle,
)


class StreamPartitions:
    """The methods of a stream that say which subtask gets which record."""

    def _partitioned(self, partitioning: Partitioning) -> Self:
        raise NotImplementedError

    def shuffle(self) -> Self:
        """Send each record to a subtask chosen at random."""
        return self._partitioned(Shuffle())

    def rebalance(self) -> Self:
        """Send records to all subtasks in turn."""
        return self._partitioned(Rebalance())

    def rescale(self) -> Self:
        """Send records in turn to the few subtasks that belong to the sending one."""
        return self._partitioned(Rescale())

    def forward(self) -> Self:
        """Send records to the subtask with the same index; both sides need the same parallelism."""
        return self._partitioned(Forward())

    def global_(self) -> Self:
        """Send all records to the first subtask; also there under the name ``global``."""
        return self._partitioned(Global())

    def partition_custom(
        self, partitioner: Partitioner | Callable2, key_selector: KeySelector | Callable1
    ) -> Self:
        """Send each record where ``partitioner(key, number of subtasks)`` says."""
        return self._partitioned(
            Custom(partition_callable(partitioner), key_callable(key_selector))
        )
