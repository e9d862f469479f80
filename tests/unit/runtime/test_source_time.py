"""A source task makes event time of its splits, falls idle, and waits for other sources."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from riverrun.api.functions import CoMapFunction
from riverrun.api.source import Polled, Source, SourceReader, SourceReaderContext, SourceStatus
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.core.clock import ManualClock
from riverrun.core.errors import ProgramError
from riverrun.core.time import Duration
from riverrun.graph.specs import SourceSpec
from riverrun.protocol.barriers import BarrierOptions, encode_options
from riverrun.protocol.control import TriggerCheckpoint, WatermarkAllowed, WatermarkReported
from riverrun.protocol.elements import (
    MAX_WATERMARK,
    Barrier,
    Element,
    Records,
    Watermark,
    WatermarkStatus,
)
from riverrun.runtime.failures import OperatorFailed
from riverrun.runtime.settings import TaskSettings
from riverrun.runtime.task import Task, Turn
from riverrun.testing.harness import OperatorHarness
from tests.unit.runtime.test_task import make_task, outputs

ASCENDING = WatermarkStrategy.for_monotonous_timestamps()
ALIGNED = ASCENDING.with_watermark_alignment(
    "group", Duration.of_millis(10), Duration.of_millis(50)
)
EACH_TURN = TaskSettings(longest_run=1)


class Queued(Source[int], SourceReader[int]):
    """Gives what the test put into the queue of each split: numbers that are their own timestamps."""

    def __init__(self, *splits: str, says_splits: bool = True) -> None:
        self.queues: dict[str, list[int]] = {split: [] for split in splits or ("all",)}
        self.ended: list[str] = []
        self.paused: set[str] = set()
        self.says_splits = says_splits
        self.polls = 0

    def create_splits(self, parallelism: int) -> list[Any]:
        return list(self.queues)

    def create_reader(self, splits: list[Any], context: SourceReaderContext) -> SourceReader[int]:
        return self

    def split_ids(self) -> Sequence[str]:
        return list(self.queues) if self.says_splits else ()

    def poll(self, limit: int) -> Polled:
        self.polls += 1
        for split, queue in self.queues.items():
            if queue and split not in self.paused:
                value = queue.pop(0)
                named = split if self.says_splits else None
                return Polled([value], [value], split=named)
        if self.ended:
            ended, self.ended = self.ended, []
            for split in ended:
                del self.queues[split]
            nothing = SourceStatus.NOTHING_AVAILABLE
            return Polled(finished_splits=ended, status=nothing, wait_ms=1.0)
        if not self.queues:
            return Polled(status=SourceStatus.END_OF_INPUT)
        return Polled(status=SourceStatus.NOTHING_AVAILABLE, wait_ms=1.0)

    def snapshot_splits(self) -> list[Any]:
        return []


class QueuedAndPausing(Queued):
    def pause_or_resume_splits(
        self, splits_to_pause: Sequence[str], splits_to_resume: Sequence[str]
    ) -> None:
        self.paused |= set(splits_to_pause)
        self.paused -= set(splits_to_resume)


class Driven:
    """A source task whose clock a test moves."""

    def __init__(self, source: Queued, strategy: WatermarkStrategy) -> None:
        self.clock = ManualClock(0)
        spec = SourceSpec(source, strategy)
        self.task: Task = make_task(spec, clock=self.clock, settings=EACH_TURN)

    def pass_time(self, ms: float) -> list[Element]:
        """Everything that comes out while ``ms`` pass."""
        end = self.clock.monotonic() + ms
        seen: list[Element] = []
        while True:
            while self.task.turn() is Turn.WORKED:
                pass
            seen += outputs(self.task)
            wake_at = self.task.wake_at()
            if wake_at is None or wake_at > end:
                break
            self.clock.advance(max(0.0, wake_at - self.clock.monotonic()))
        self.clock.advance(end - self.clock.monotonic())
        return seen


def values(elements: list[Element]) -> list[int]:
    return [v for element in elements if isinstance(element, Records) for v in element.values]


def times(elements: list[Element]) -> list[Element]:
    return [element for element in elements if isinstance(element, Watermark | WatermarkStatus)]


class TestSplits:
    def test_the_slower_split_decides(self) -> None:
        source = Queued("a", "b")
        driven = Driven(source, ASCENDING)
        source.queues["a"] += [100, 200]

        assert times(driven.pass_time(250)) == []
        source.queues["b"] += [50]
        assert times(driven.pass_time(250)) == [Watermark(49)]
        source.ended = ["b"]
        assert times(driven.pass_time(250)) == [Watermark(199)]

    def test_without_names_all_is_one_split(self) -> None:
        source = Queued("a", "b", says_splits=False)
        driven = Driven(source, ASCENDING)
        source.queues["a"] += [100]

        assert times(driven.pass_time(250)) == [Watermark(99)]

    def test_names_that_come_with_records_only_are_understood(self) -> None:
        class Late(Queued):
            def split_ids(self) -> Sequence[str]:
                return ()

        source = Late("a", "b")
        driven = Driven(source, ASCENDING)
        source.queues["a"] += [100]

        assert times(driven.pass_time(250)) == [Watermark(99)]


class TestIdleness:
    def test_a_quiet_source_says_so_and_comes_back(self) -> None:
        source = Queued()
        driven = Driven(source, ASCENDING.with_idleness(Duration.of_millis(500)))
        source.queues["all"] += [10]

        assert times(driven.pass_time(1000)) == [Watermark(9), WatermarkStatus(idle=True)]
        source.queues["all"] += [20]
        back = driven.pass_time(250)

        assert back == [WatermarkStatus(idle=False), Records([20], [20]), Watermark(19)]

    def test_a_source_that_cannot_go_on_is_not_idle(self) -> None:
        source = Queued()
        driven = Driven(source, ASCENDING.with_idleness(Duration.of_millis(500)))
        driven.pass_time(250)

        driven.clock.advance(5000)
        driven.task.stood_still(5000)

        assert times(driven.pass_time(250)) == []
        assert times(driven.pass_time(400)) == [WatermarkStatus(idle=True)]


class TestAlignment:
    def test_the_watermark_is_reported_when_it_moved_but_not_too_often(self) -> None:
        source = Queued()
        driven = Driven(source, ALIGNED)
        assert driven.task.take_reports() == []

        source.queues["all"] += [100]
        driven.pass_time(210)
        assert driven.task.take_reports() == [WatermarkReported(99)]
        driven.pass_time(210)
        assert driven.task.take_reports() == []

    def test_a_source_that_is_too_far_is_not_polled_until_the_others_are_there(self) -> None:
        source = Queued()
        driven = Driven(source, ALIGNED)
        driven.task.obey(WatermarkAllowed(100))
        source.queues["all"] += [100, 200, 300]

        assert values(driven.pass_time(1000)) == [100, 200], "one step over the line, not two"
        polls = source.polls
        driven.pass_time(1000)
        assert source.polls == polls
        driven.task.obey(WatermarkAllowed(199))

        assert values(driven.pass_time(10)) == [300]

    def test_barriers_flow_while_a_source_waits(self) -> None:
        source = Queued()
        driven = Driven(source, ALIGNED)
        driven.task.obey(WatermarkAllowed(100))
        source.queues["all"] += [200, 300]
        driven.pass_time(10)

        options = encode_options(BarrierOptions())
        driven.task.obey(TriggerCheckpoint(1, 0, options))

        assert [e for e in driven.pass_time(10) if isinstance(e, Barrier)] == [
            Barrier(1, 0, options)
        ]
        assert source.queues["all"] == [300]

    def test_a_source_that_waits_is_not_idle(self) -> None:
        source = Queued()
        driven = Driven(source, ALIGNED.with_idleness(Duration.of_millis(300)))
        driven.task.obey(WatermarkAllowed(100))
        source.queues["all"] += [200, 300]

        assert times(driven.pass_time(5000)) == [Watermark(199)]

    def test_single_splits_wait_where_the_reader_can_do_that(self) -> None:
        source = QueuedAndPausing("a", "b")
        driven = Driven(source, ALIGNED)
        driven.task.obey(WatermarkAllowed(100))
        source.queues["a"] += [200, 300]
        source.queues["b"] += [10, 20, 30]

        assert values(driven.pass_time(10)) == [200, 10, 20, 30]
        assert source.paused == {"a"}
        source.queues["b"] += [400, 500]
        assert values(driven.pass_time(10)) == [400]
        assert source.paused == {"a", "b"}
        driven.task.obey(WatermarkAllowed(250))
        assert values(driven.pass_time(10)) == [300]
        driven.task.obey(WatermarkAllowed(MAX_WATERMARK))

        assert values(driven.pass_time(10)) == [500]
        assert source.paused == set()

    def test_the_whole_source_waits_for_its_slowest_split_otherwise(self) -> None:
        source = Queued("a", "b")
        driven = Driven(source, ALIGNED)
        driven.task.obey(WatermarkAllowed(100))
        source.queues["a"] += [200, 300]
        source.queues["b"] += [10, 500]

        assert values(driven.pass_time(10)) == [200, 300, 10, 500]
        source.queues["a"] += [600]
        assert values(driven.pass_time(10)) == []

    def test_an_idle_source_and_one_that_ended_leave_the_group(self) -> None:
        source = Queued()
        driven = Driven(source, ALIGNED.with_idleness(Duration.of_millis(300)))
        source.queues["all"] += [100]
        driven.pass_time(300)
        assert driven.task.take_reports() == [WatermarkReported(99)]

        driven.pass_time(600)
        assert driven.task.take_reports() == [WatermarkReported(None)]
        source.queues["all"] += [200]
        driven.pass_time(300)
        assert driven.task.take_reports() == [WatermarkReported(199)]
        source.ended = ["all"]
        driven.pass_time(10)

        assert driven.task.take_reports() == [WatermarkReported(None)]

    def test_a_source_without_alignment_has_nothing_to_report(self) -> None:
        driven = Driven(Queued(), ASCENDING)
        driven.task.obey(WatermarkAllowed(5))
        driven.pass_time(300)

        assert driven.task.take_reports() == []


class TestMetrics:
    def test_watermarks_lag_and_drift_are_shown(self) -> None:
        source = Queued()
        driven = Driven(source, ALIGNED)
        driven.task.obey(WatermarkAllowed(50))
        source.queues["all"] += [100]
        driven.pass_time(250)

        metrics = driven.task.metrics.snapshot()
        assert metrics["op"]["currentOutputWatermark"] == 99
        assert metrics[""]["currentOutputWatermark"] == 99
        assert metrics["op"]["watermarkLag"] == 250 - 99
        assert metrics["op"]["watermarkAlignmentDrift"] == 99 - 40

    def test_a_task_with_two_inputs_shows_which_one_is_behind(self) -> None:
        class Both(CoMapFunction):
            def map1(self, value: Any) -> Any:
                return value

            def map2(self, value: Any) -> Any:
                return value

        with OperatorHarness(lambda one, two: one.connect(two).map(Both()), inputs=2) as harness:
            harness.watermark_of(0, 70)
            harness.watermark_of(1, 30)
            metrics = harness._task.metrics.snapshot()[""]

        assert metrics["currentInput1Watermark"] == 70
        assert metrics["currentInput2Watermark"] == 30
        assert metrics["currentInputWatermark"] == metrics["currentOutputWatermark"] == 30

    def test_lag_is_none_before_the_first_watermark(self) -> None:
        driven = Driven(Queued(), ASCENDING)

        assert driven.task.metrics.snapshot()["op"]["watermarkLag"] == 0


def test_a_timestamp_of_none_names_operator_and_record() -> None:
    source = Queued()
    strategy = ASCENDING.with_timestamp_assigner(lambda value, time: None)  # type: ignore[arg-type, return-value]
    driven = Driven(source, strategy)
    source.queues["all"] += [7]

    with pytest.raises(OperatorFailed) as caught:
        driven.pass_time(10)

    assert (caught.value.operator, caught.value.record) == ("op", "7")
    assert isinstance(caught.value.__cause__, ProgramError)
    assert "operator 'op': the timestamp assigner gave None for the record 7" in str(
        caught.value.__cause__
    )


def test_a_generator_that_raises_names_operator_and_record() -> None:
    class Wrong:
        def __call__(self) -> Any:
            raise RuntimeError("no generator")

    with pytest.raises(OperatorFailed, match="operator 'op' failed") as caught:
        Driven(Queued(), WatermarkStrategy.for_generator(Wrong()))

    assert isinstance(caught.value.__cause__, RuntimeError)
