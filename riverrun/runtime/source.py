"""Drives a source reader: when to poll, how much, timestamps, latency markers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from riverrun.api.runtime_context import RuntimeContext
from riverrun.api.source import Polled, SourceReader, SourceReaderContext, SourceStatus
from riverrun.api.watermark_strategy import TimestampAssigner, WatermarkStrategy
from riverrun.core.clock import Clock
from riverrun.graph.deployment import ChainedOperator
from riverrun.graph.specs import SourceSpec
from riverrun.protocol.elements import MIN_TIMESTAMP
from riverrun.runtime.failures import OperatorFailed, operator_failed
from riverrun.runtime.operator_states import OperatorStates
from riverrun.runtime.system_state import SPLITS


class SourceDriver:
    """A source of one subtask: polls its reader and says when to ask again."""

    def __init__(
        self,
        described: ChainedOperator,
        *,
        subtask: int,
        parallelism: int,
        clock: Clock,
        runtime: RuntimeContext,
        states: OperatorStates,
    ) -> None:
        assert isinstance(described.spec, SourceSpec)  # noqa: S101  (asked by the task)
        self._name = described.name
        self._spec = spec = described.spec
        self._clock = clock
        self._context = SourceReaderContext(subtask, parallelism, clock, runtime)
        self._states = states
        self._reader: SourceReader[Any] | None = None
        self._timestamp = _assigner(spec.watermark_strategy)
        self._next_poll = 0.0
        self.ended = False

    def open(self) -> None:
        """Open a reader of the restored splits, or of this subtask's share of fresh ones."""
        try:
            if self._states.was_saved:
                splits = self._states.restored_items(SPLITS)
            else:
                parallelism = self._context.parallelism
                fresh = self._spec.source.create_splits(parallelism)
                splits = fresh[self._context.subtask_index :: parallelism]
            self._reader = self._spec.source.create_reader(splits, self._context)
            self._reader.open()
            self._states.provide(SPLITS, self.snapshot_splits)
        except Exception as error:
            raise operator_failed(self._name, error) from error

    def poll_at(self) -> float:
        """When the reader may have records again, in monotonic milliseconds."""
        return self._next_poll

    def poll(self, limit: int) -> tuple[list[Any], list[int] | None]:
        """The next run; empty when there is nothing now."""
        assert self._reader is not None  # noqa: S101  (opened before it is polled)
        try:
            polled: Polled = self._reader.poll(limit)
            values, timestamps = polled.values, polled.timestamps
            if self._timestamp is not None and values:
                timestamps = self._assign(values, timestamps)
        except OperatorFailed:
            raise
        except Exception as error:
            raise operator_failed(self._name, error) from error
        if polled.status is SourceStatus.END_OF_INPUT:
            self.ended = True
        elif polled.status is SourceStatus.NOTHING_AVAILABLE:
            self._next_poll = self._clock.monotonic() + max(polled.wait_ms, 0.1)
        return values, timestamps

    def snapshot_splits(self) -> list[Any]:
        """The reader's splits with their positions."""
        assert self._reader is not None  # noqa: S101  (opened before it is asked)
        return self._reader.snapshot_splits()

    def close(self) -> None:
        """Close the reader if there is one."""
        reader, self._reader = self._reader, None
        if reader is not None:
            try:
                reader.close()
            except Exception as error:
                raise operator_failed(self._name, error) from error

    def _assign(self, values: list[Any], timestamps: list[int] | None) -> list[int]:
        assign = self._timestamp
        assert assign is not None  # noqa: S101  (asked by poll)
        if timestamps is None:
            return [assign(value, MIN_TIMESTAMP) for value in values]
        return [assign(value, time) for value, time in zip(values, timestamps, strict=True)]


def _assigner(strategy: WatermarkStrategy | None) -> Callable[[Any, int], int] | None:
    assigner = None if strategy is None else strategy.timestamp_assigner
    return assigner.extract_timestamp if isinstance(assigner, TimestampAssigner) else assigner
