"""The functions users implement, all under one roof.

Functions that see one record at a time are defined here; those with a context, windows, broadcast
state or asynchronous calls have modules of their own and are re-exported. A plain callable may stand
for a MapFunction, FlatMapFunction, FilterFunction, ReduceFunction, KeySelector or Partitioner.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from riverrun.api.async_functions import AsyncFunction, AsyncRetryPredicate, AsyncRetryStrategy
from riverrun.api.broadcast_functions import (
    BaseBroadcastProcessFunction,
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
)
from riverrun.api.co_functions import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedCoProcessFunction,
)
from riverrun.api.function import Function
from riverrun.api.process_functions import KeyedProcessFunction, ProcessFunction
from riverrun.api.runtime_context import KeyedStateStore, RuntimeContext
from riverrun.api.source_sink_functions import SinkFunction, SourceFunction
from riverrun.api.timer_service import TimerService
from riverrun.api.window_functions import (
    AllWindowFunction,
    PassThroughAllWindowFunction,
    PassThroughWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)

__all__ = [
    "AggregateFunction",
    "AllWindowFunction",
    "AsyncFunction",
    "AsyncRetryPredicate",
    "AsyncRetryStrategy",
    "BaseBroadcastProcessFunction",
    "BroadcastProcessFunction",
    "CoFlatMapFunction",
    "CoMapFunction",
    "CoProcessFunction",
    "FilterFunction",
    "FlatMapFunction",
    "Function",
    "KeySelector",
    "KeyedBroadcastProcessFunction",
    "KeyedCoProcessFunction",
    "KeyedProcessFunction",
    "KeyedStateStore",
    "MapFunction",
    "NullByteKeySelector",
    "Partitioner",
    "PassThroughAllWindowFunction",
    "PassThroughWindowFunction",
    "ProcessAllWindowFunction",
    "ProcessFunction",
    "ProcessWindowFunction",
    "ReduceFunction",
    "RuntimeContext",
    "SinkFunction",
    "SourceFunction",
    "TimerService",
    "WindowFunction",
]


class MapFunction(Function):
    """One record in, one record out."""

    @abstractmethod
    def map(self, value: Any) -> Any:
        """What becomes of ``value``."""


class FlatMapFunction(Function):
    """One record in, any number out."""

    @abstractmethod
    def flat_map(self, value: Any) -> Any:
        """An iterable of what becomes of ``value`` (mostly a generator), or None for nothing."""


class FilterFunction(Function):
    """Keeps or drops records."""

    @abstractmethod
    def filter(self, value: Any) -> bool:
        """Whether ``value`` stays."""


class ReduceFunction(Function):
    """Folds records of one key into one of the same type."""

    @abstractmethod
    def reduce(self, value1: Any, value2: Any) -> Any:
        """``value1``, the value so far, joined with ``value2``, the next record.

        It must be associative; it may change and return ``value1``.
        """


class AggregateFunction(Function):
    """Folds records into an accumulator and gets a result from it."""

    @abstractmethod
    def create_accumulator(self) -> Any:
        """A fresh accumulator."""

    @abstractmethod
    def add(self, value: Any, accumulator: Any) -> Any:
        """The accumulator with ``value`` taken in; it may be the same object, changed."""

    @abstractmethod
    def get_result(self, accumulator: Any) -> Any:
        """The result that ``accumulator`` stands for."""

    @abstractmethod
    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        """Both accumulators in one; neither is used afterwards."""


class KeySelector(Function):
    """Says which key a record belongs to."""

    @abstractmethod
    def get_key(self, value: Any) -> Any:
        """The key of ``value``: hashable, and the same each time for the same record."""


class NullByteKeySelector(KeySelector):
    """One key for all records."""

    def get_key(self, value: Any) -> Any:
        del value
        return 0


class Partitioner(Function):
    """Says which subtask gets a record."""

    @abstractmethod
    def partition(self, key: Any, num_partitions: int) -> int:
        """The index of the subtask for ``key``, from 0 and below ``num_partitions``."""
