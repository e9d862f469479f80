"""Drives a source reader: when to poll, timestamps, watermarks per split, alignment with other sources."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Final, assert_never

from riverrun.api.bad_records import DEAD_LETTERS
from riverrun.api.source import Polled, SourceReader, SourceReaderContext, SourceStatus
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.core.clock import Clock
from riverrun.graph.deployment import ChainedOperator, TaskDeployment
from riverrun.graph.specs import SourceSpec
from riverrun.metrics.groups import MetricGroup
from riverrun.metrics.registry import TaskMetrics
from riverrun.protocol.barriers import decode_options
from riverrun.protocol.control import (
    CheckpointAborted,
    CheckpointCompleted,
    FromEnumerator,
    FromReader,
    Order,
    PrepareEnumerator,
    SendUntil,
    SourceReport,
    TriggerCheckpoint,
    WatermarkAllowed,
)
from riverrun.protocol.elements import MIN_TIMESTAMP
from riverrun.runtime.alignment import SourceAlignment
from riverrun.runtime.chain import Link
from riverrun.runtime.context import TaskRuntimeContext
from riverrun.runtime.failures import blamed
from riverrun.runtime.operator_states import TaskResources
from riverrun.runtime.settings import TaskSettings
from riverrun.runtime.split_discovery import SplitDiscovery
from riverrun.runtime.system_state import SPLITS
from riverrun.runtime.timestamps import assign_run
from riverrun.runtime.watermarks import SplitTime, StreamTime

_MOST: Final = 1 << 62


class SourceDriver:
    """A source of one subtask: polls its reader, emits what it gives, and says when to ask again."""

    def __init__(
        self,
        described: ChainedOperator,
        *,
        context: SourceReaderContext,
        link: Link,
        resources: TaskResources,
        watermark_interval_ms: int,
        metrics: MetricGroup,
    ) -> None:
        assert isinstance(described.spec, SourceSpec)  # noqa: S101  (asked by the task)
        self._name = described.name
        self._spec = spec = described.spec
        self._clock: Clock = context.clock
        self._context = context = replace(context, wake=self._wake_reader)
        self._wake = resources.wake
        self._link = link
        self._reader: SourceReader[Any] | None = None
        self._reader_ended = False
        self._discovery: SplitDiscovery | None = None
        if spec.source.discovers_splits:
            self._discovery = SplitDiscovery(
                self._name, spec.source, context, link.states, resources
            )
        strategy = spec.watermark_strategy or WatermarkStrategy.no_watermarks()
        self._assign = assign_run(strategy, self._name, self._clock)
        self._time = StreamTime(
            strategy, link, watermark_interval_ms, metrics, self._clock.monotonic()
        )
        alignment = strategy.alignment
        self._alignment = None if alignment is None else SourceAlignment(alignment)
        self._is_unnamed = False
        """Whether the reader has not named any split yet: all of it counts as one."""
        self._pauses_splits = False
        self._paused = False
        self._longest_run = _MOST
        self._next_poll = 0.0
        self._woken = False
        """Whether the reader asked to be polled, from whichever thread."""
        self.ended = False
        self.drained = False
        """Whether it was made to end before its input did."""
        self._register_metrics(metrics)

    def open(self) -> None:
        """Open a reader of the restored splits, or of this subtask's share of fresh ones."""
        states, source, context = self._link.states, self._spec.source, self._context
        with blamed(self._name):
            discovery = self._discovery
            if discovery is not None:
                discovery.restore()
                discovery.open_enumerator()
                context = discovery.context()
            splits: list[Any] = []
            if states.was_saved:
                splits = states.restored_items(SPLITS)
            elif discovery is None:
                fresh = source.create_splits(context.parallelism)
                splits = fresh[context.subtask_index :: context.parallelism]
            self._reader = reader = source.create_reader(splits, context)
            if discovery is not None:
                discovery.introduce(reader)
            reader.open()
            states.provide(SPLITS, self.snapshot_splits)
            # Known from the start, so that the first to be read does not run ahead of the others.
            names = reader.split_ids()
            for name in names or (None,):
                self._time.split(name)
            self._is_unnamed = not names
            pauses = type(reader).pause_or_resume_splits
            self._pauses_splits = pauses is not SourceReader.pause_or_resume_splits

    def open_finished(self) -> None:
        """Open nothing: the source had finished, and says so in the checkpoints to come."""
        if self._discovery is not None:
            self._discovery.restore()
            self._discovery.keep_saved()

    def poll_at(self) -> float:
        """When the reader may have records again, in monotonic milliseconds; never while it is paused."""
        if self._paused or self._reader_ended:
            return math.inf
        return 0.0 if self._woken else self._next_poll

    def poll(self, limit: int) -> int:
        """Emit the next run; how many records it has, 0 when there is nothing now."""
        assert self._reader is not None  # noqa: S101  (opened before it is polled)
        self._woken = False
        with blamed(self._name):
            polled: Polled = self._reader.poll(min(limit, self._longest_run))
            values, timestamps = polled.values, polled.timestamps
            if values:
                if self._assign is not None:
                    timestamps = self._assign(values, timestamps)
                if self._is_unnamed and polled.split is not None:
                    self._is_unnamed = False
                    self._time.end_splits((None,))
                self._time.take(polled.split, values, timestamps, self._link.emit)
            if polled.dead_letters:
                self._link.emit_side(DEAD_LETTERS.tag_id)(list(polled.dead_letters), None)
            if polled.finished_splits:
                self._time.end_splits(polled.finished_splits)
                self._note_splits()
            if polled.status is SourceStatus.END_OF_INPUT:
                self._end_reader()
        if polled.status is SourceStatus.NOTHING_AVAILABLE:
            self._next_poll = self._clock.monotonic() + max(polled.wait_ms, 0.1)
        if self._alignment is not None:
            self._align()
            if values:
                self._pace(polled.split, len(values))
        return len(values)

    def due_at(self) -> float:
        """When ``run_due`` has something to do, in monotonic milliseconds."""
        due = self._time.due_at()
        first = math.inf if due is None else due
        if self._discovery is not None:
            first = min(first, self._discovery.due_at())
        if self._alignment is not None and (due := self._alignment.due_at()) is not None:
            first = min(first, due)
        return first

    def run_due(self, now: float) -> None:
        """Make watermarks, find out what is idle, and report."""
        due = self._time.due_at()
        if due is not None and due <= now:
            with blamed(self._name):
                self._time.periodic(now)
        if self._discovery is not None:
            with blamed(self._name):
                self._discovery.run_due(now)
            self._end_with_reader()
        if self._alignment is not None:
            self._align()
            self._alignment.run_due(now)

    def obey(self, order: Order) -> None:  # noqa: C901  (one case for each order)
        """Do a source's part of what the JobMaster says, before the task does its own."""
        match order:
            case TriggerCheckpoint(checkpoint, _, options):
                if self._discovery is not None:
                    self._discovery.cut(checkpoint)
                if self._reader is not None:
                    self._reader.prepare_snapshot(checkpoint)
                if decode_options(options).drains:
                    self._drain()
            case CheckpointCompleted(checkpoint):
                self._checkpoint_completed(checkpoint)
            case CheckpointAborted(checkpoint):
                if self._discovery is not None:
                    self._discovery.checkpoint_aborted(checkpoint)
            case WatermarkAllowed(watermark):
                self._allow(watermark)
            case FromReader() | FromEnumerator() | PrepareEnumerator():
                self._hear(order)
            case SendUntil():
                pass  # every task's business
            case _:
                assert_never(order)

    def stand_still(self, ms: float) -> None:
        """The source could not go on for this long: that makes no split idle."""
        self._time.stand_still(ms)

    def leave_group(self) -> None:
        """The source has ended: others need not wait for it."""
        if self._alignment is not None:
            self._alignment.leave()

    def take_reports(self) -> list[SourceReport]:
        """What the JobMaster has to know or to pass on, in order."""
        reports: list[SourceReport] = []
        if self._alignment is not None and (report := self._alignment.take()) is not None:
            reports.append(report)
        if self._discovery is not None:
            reports += self._discovery.take()
        return reports

    def snapshot_splits(self) -> list[Any]:
        """The reader's splits with their positions."""
        assert self._reader is not None  # noqa: S101  (opened before it is asked)
        return self._reader.snapshot_splits()

    def close(self) -> None:
        """Close the reader if there is one."""
        reader, self._reader = self._reader, None
        with blamed(self._name):
            try:
                if reader is not None:
                    reader.close()
            finally:
                if self._discovery is not None:
                    self._discovery.close()

    def _allow(self, watermark: int) -> None:
        """Other sources of the group are so far that splits may be read up to ``watermark``."""
        if self._alignment is not None:
            self._alignment.allowed = watermark
            with blamed(self._name):
                self._align()

    def _drain(self) -> None:
        """Give no more records, as if the input were over."""
        if not self.ended:
            self.ended = self.drained = True

    def _hear(self, order: FromReader | FromEnumerator | PrepareEnumerator) -> None:
        """Others of the source said something, or a checkpoint is about to begin."""
        discovery = self._discovery
        if discovery is None:
            return
        with blamed(self._name):
            match order:
                case FromReader(subtask, payload):
                    discovery.from_reader(subtask, payload)
                    self._end_with_reader()
                case PrepareEnumerator(checkpoint):
                    discovery.prepare(checkpoint)
                case FromEnumerator(payload):
                    # After a drain what is assigned belongs to the enumerator's part of the savepoint.
                    if self._reader is not None and not self.drained:
                        discovery.from_enumerator(payload, self._reader)
                        self._next_poll = 0.0
                        self._note_splits()

    def _checkpoint_completed(self, checkpoint: int) -> None:
        if self._reader is None:
            return
        with blamed(self._name):
            self._reader.notify_checkpoint_complete(checkpoint)
            if self._discovery is not None:
                self._discovery.checkpoint_completed(checkpoint)

    def _wake_reader(self) -> None:
        self._woken = True
        self._wake()

    def _end_reader(self) -> None:
        if self._discovery is not None:
            self._discovery.check_end()
        self._reader_ended = True
        self._end_with_reader()
        if not self.ended:
            # Its task stays for the enumerator's sake: others shall not wait for its watermark.
            self._time.rest()

    def _end_with_reader(self) -> None:
        if self._reader_ended and not self.ended:
            self.ended = self._discovery is None or self._discovery.may_end()

    def _note_splits(self) -> None:
        """Event time counts the splits that the reader has; without any, one that may fall idle."""
        if self._discovery is None or self._reader is None:
            return
        names = self._reader.split_ids()
        for name in names or (None,):
            self._time.split(name)
        if names:
            self._time.end_splits((None,))
            self._is_unnamed = False

    def _align(self) -> None:
        """Read no split that is further than allowed; if splits cannot be paused, nothing at all."""
        assert self._alignment is not None  # noqa: S101  (asked by the callers)
        allowed = self._alignment.allowed
        time = self._time
        self._alignment.note(time.current, idle=time.idle)
        splits = list(time.splits)
        if self._pauses_splits:
            pause = [each for each in splits if not each.paused and each.reached > allowed]
            resume = [each for each in splits if each.paused and each.reached <= allowed]
            if pause or resume:
                self._pause(pause, resume)
            self._paused = bool(splits) and all(each.paused for each in splits)
            return
        reached = [each.reached for each in splits if not each.idle]
        self._paused = min(reached, default=MIN_TIMESTAMP) > allowed
        for each in splits:
            each.paused = self._paused

    def _pace(self, name: str | None, count: int) -> None:
        """Read less at once near the line: a run that crosses it is over the line as a whole."""
        crossed = self._paused or self._time.is_paused(name)
        self._longest_run = max(1, count // 2) if crossed else min(self._longest_run * 2, _MOST)

    def _pause(self, pause: list[SplitTime], resume: list[SplitTime]) -> None:
        assert self._reader is not None  # noqa: S101  (splits come from the reader)
        for each in pause:
            each.paused = True
        for each in resume:
            each.paused = False
        self._reader.pause_or_resume_splits(
            [each.name for each in pause if each.name is not None],
            [each.name for each in resume if each.name is not None],
        )

    def _register_metrics(self, metrics: MetricGroup) -> None:
        metrics.gauge("watermarkLag", self._lag)
        alignment = self._alignment
        if alignment is not None:
            metrics.gauge("watermarkAlignmentDrift", alignment.drift)

    def _lag(self) -> int:
        current = self._time.current
        return 0 if current == MIN_TIMESTAMP else self._clock.now() - current


def source_driver_of(
    deployment: TaskDeployment,
    link: Link,
    settings: TaskSettings,
    resources: TaskResources,
    metrics: TaskMetrics,
    clock: Clock,
) -> SourceDriver | None:
    """The driver of the source that ``deployment`` begins with; ``None`` if it begins with none."""
    head = deployment.operators[0]
    if not isinstance(head.spec, SourceSpec):
        return None
    operator = metrics.operator(head.name)
    return SourceDriver(
        head,
        context=SourceReaderContext(
            deployment.subtask,
            deployment.parallelism,
            clock,
            TaskRuntimeContext(deployment, operator),
            config=deployment.config,
        ),
        link=link,
        resources=resources,
        watermark_interval_ms=settings.watermark_interval_ms,
        metrics=MetricGroup(operator),
    )
