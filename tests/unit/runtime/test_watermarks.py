"""How a stream's watermarks come about: generators, splits, idleness."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from riverrun.api.watermark_generator import (
    Watermark,
    WatermarkGenerator,
    WatermarkGeneratorSupplier,
    WatermarkOutput,
)
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.core.errors import ProgramError
from riverrun.core.time import Duration
from riverrun.metrics.groups import MetricGroup
from riverrun.metrics.registry import MetricRegistry
from riverrun.protocol.elements import MAX_WATERMARK
from riverrun.runtime.watermarks import StreamTime


class Recorder:
    """Everything that comes out, in order: records, ("time", t) and ("idle", yes)."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def watermark(self, time: int) -> None:
        self.seen.append(("time", time))

    def status(self, *, idle: bool) -> None:
        self.seen.append(("idle", idle))

    def emit(self, values: list[Any], timestamps: list[int] | None) -> None:
        self.seen += values

    def take(self) -> list[Any]:
        seen, self.seen = self.seen, []
        return seen


def stream(
    strategy: WatermarkStrategy, *splits: str, interval_ms: int = 200
) -> tuple[StreamTime, Recorder]:
    recorder = Recorder()
    metrics = MetricGroup(MetricRegistry())
    time = StreamTime(strategy, recorder, interval_ms, metrics, now=0.0)
    for split in splits or (None,):
        time.split(split)
    return time, recorder


def run(time: StreamTime, recorder: Recorder, *times: int, split: str | None = None) -> None:
    time.take(split, list(times), list(times), recorder.emit)


ASCENDING = WatermarkStrategy.for_monotonous_timestamps()


class TestBoundedOutOfOrderness:
    def test_trails_the_greatest_timestamp_by_the_bound_and_one(self) -> None:
        time, out = stream(WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(5)))

        run(time, out, 10, 30, 20)
        time.periodic(200.0)
        time.periodic(400.0)

        assert out.take() == [10, 30, 20, ("time", 24)]

    def test_emits_nothing_between_two_ticks(self) -> None:
        time, out = stream(ASCENDING)

        assert time.due_at() == 200.0
        run(time, out, 10)
        time.periodic(230.0)
        assert time.due_at() == 430.0
        run(time, out, 20)

        assert out.take() == [10, ("time", 9), 20]

    def test_is_never_emitted_at_interval_zero(self) -> None:
        time, _ = stream(ASCENDING.with_idleness(Duration.of_millis(1)), interval_ms=0)

        assert time.due_at() is None

    def test_records_without_timestamps_bring_no_time(self) -> None:
        time, out = stream(ASCENDING)

        time.take(None, ["a"], None, out.emit)
        time.periodic(200.0)

        assert out.take() == ["a"]

    def test_the_end_of_time_is_left_to_the_end_of_input(self) -> None:
        time, out = stream(ASCENDING)

        run(time, out, MAX_WATERMARK)
        time.periodic(200.0)

        assert out.take() == [MAX_WATERMARK, ("time", MAX_WATERMARK - 1)]


class Punctuated(WatermarkGenerator):
    """Odd records are marks."""

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        if event % 2:
            output.emit_watermark(Watermark(event_timestamp))

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass


class TestOwnGenerators:
    def test_a_punctuated_watermark_stands_right_behind_its_record(self) -> None:
        time, out = stream(WatermarkStrategy.for_generator(Punctuated))

        run(time, out, 2, 3, 4, 6, 7, 5, 8)
        time.periodic(200.0)

        assert out.take() == [2, 3, ("time", 3), 4, 6, 7, ("time", 7), 5, 8]

    def test_records_go_on_untouched_when_none_is_a_mark(self) -> None:
        time, out = stream(WatermarkStrategy.for_generator(Punctuated))
        runs: list[Any] = []

        time.take(None, [2, 4], None, lambda values, times: runs.append((values, times)))

        assert runs == [([2, 4], None)]
        assert out.take() == []

    def test_each_split_has_its_own(self) -> None:
        time, out = stream(WatermarkStrategy.for_generator(Punctuated), "a", "b")

        run(time, out, 5, 7, split="a")
        assert out.take() == [5, 7]
        run(time, out, 3, 9, split="b")

        assert out.take() == [3, ("time", 3), 9, ("time", 7)]

    def test_a_periodic_one_emits_when_it_is_time(self) -> None:
        class Counting(WatermarkGenerator):
            def __init__(self) -> None:
                self._count = 0

            def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
                self._count += 1

            def on_periodic_emit(self, output: WatermarkOutput) -> None:
                output.emit_watermark(self._count)

        time, out = stream(WatermarkStrategy.for_generator(Counting))
        run(time, out, 50, 60)
        time.periodic(200.0)

        assert out.take() == [50, 60, ("time", 2)]

    def test_a_supplier_is_given_a_context(self) -> None:
        class Supplier(WatermarkGeneratorSupplier):
            def create_watermark_generator(
                self, context: WatermarkGeneratorSupplier.Context
            ) -> WatermarkGenerator:
                context.get_metric_group().counter("made").inc()
                return Punctuated()

        time, out = stream(WatermarkStrategy.for_generator(Supplier()))
        run(time, out, 1)

        assert out.take() == [1, ("time", 1)]

    def test_it_may_say_itself_that_it_is_idle(self) -> None:
        class Sleepy(WatermarkGenerator):
            def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
                if event == 0:
                    output.mark_idle()
                else:
                    output.emit_watermark(event)

            def on_periodic_emit(self, output: WatermarkOutput) -> None:
                output.mark_active()

        time, out = stream(WatermarkStrategy.for_generator(Sleepy))
        run(time, out, 4, 0, 6)
        run(time, out, 0)
        time.periodic(200.0)

        assert out.take() == [
            4,
            ("time", 4),
            0,
            ("idle", True),
            6,
            ("idle", False),
            ("time", 6),
            0,
            ("idle", True),
            ("idle", False),
        ]

    @pytest.mark.parametrize(
        ("emitted", "found"), [(None, "None"), (1.5, "1.5, a float,"), (2**63, "64 bits")]
    )
    def test_a_watermark_that_is_none_is_refused(self, emitted: Any, found: str) -> None:
        class Wrong(Punctuated):
            def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
                output.emit_watermark(emitted)

        time, out = stream(WatermarkStrategy.for_generator(Wrong))

        with pytest.raises(ProgramError, match=f"emitted .*{found}.* as a watermark"):
            run(time, out, 1)

    def test_a_supplier_of_something_else_is_refused(self) -> None:
        wrong: Callable[[], Any] = lambda: 3  # noqa: E731  (a callable as programs write them)

        with pytest.raises(ProgramError, match="made 3; expected a WatermarkGenerator"):
            stream(WatermarkStrategy.for_generator(wrong))


class TestSplits:
    def test_the_slowest_decides(self) -> None:
        time, out = stream(ASCENDING, "a", "b")

        run(time, out, 100, split="a")
        time.periodic(200.0)
        assert out.take() == [100]
        run(time, out, 10, split="b")
        time.periodic(400.0)

        assert out.take() == [10, ("time", 9)]

    def test_one_that_ended_holds_nothing_back(self) -> None:
        time, out = stream(ASCENDING, "a", "b")
        run(time, out, 100, split="a")
        time.periodic(200.0)
        out.take()

        time.end_splits(["b", "never heard of"])

        assert out.take() == [("time", 99)]

    def test_a_new_one_does_not_take_time_back(self) -> None:
        time, out = stream(ASCENDING, "a")
        run(time, out, 100, split="a")
        time.periodic(200.0)
        out.take()

        run(time, out, 10, split="b")
        run(time, out, 200, split="a")
        time.periodic(400.0)
        assert out.take() == [10, 200]
        run(time, out, 150, split="b")
        time.periodic(600.0)

        assert out.take() == [150, ("time", 149)]


class TestIdleness:
    strategy = ASCENDING.with_idleness(Duration.of_millis(500))

    def test_a_stream_without_records_falls_idle_after_the_timeout(self) -> None:
        time, out = stream(self.strategy)
        run(time, out, 10)

        for now in (200.0, 400.0, 699.0):
            time.periodic(now)
        assert out.take() == [10, ("time", 9)]
        time.periodic(700.0)

        assert out.take() == [("idle", True)]

    def test_it_is_active_again_before_its_next_record(self) -> None:
        time, out = stream(self.strategy)
        time.periodic(0.0)
        time.periodic(500.0)
        assert out.take() == [("idle", True)]

        run(time, out, 10)

        assert out.take() == [("idle", False), 10]

    def test_an_idle_split_does_not_hold_the_others_back(self) -> None:
        time, out = stream(self.strategy, "a", "b")
        run(time, out, 10, split="a")
        run(time, out, 5, split="b")
        time.periodic(200.0)
        for step in range(1, 5):
            run(time, out, 10 + step, split="a")
            time.periodic(200.0 + 200 * step)

        assert out.take()[2:] == [("time", 4), 11, 12, 13, ("time", 12), 14, ("time", 13)]

    def test_a_stream_that_stands_still_is_not_idle(self) -> None:
        time, out = stream(self.strategy)
        time.periodic(0.0)

        time.stand_still(450.0)
        time.periodic(500.0)
        assert out.take() == []
        time.periodic(950.0)

        assert out.take() == [("idle", True)]

    def test_a_split_that_is_paused_is_not_idle(self) -> None:
        time, out = stream(self.strategy)
        time.split(None).paused = True
        time.periodic(0.0)
        time.periodic(5000.0)
        assert out.take() == []

        time.split(None).paused = False
        time.periodic(5100.0)
        time.periodic(5600.0)

        assert out.take() == [("idle", True)]

    def test_a_stream_without_watermarks_can_be_idle(self) -> None:
        strategy = WatermarkStrategy.no_watermarks().with_idleness(Duration.of_millis(500))
        time, out = stream(strategy)
        time.periodic(200.0)
        time.periodic(700.0)

        assert out.take() == [("idle", True)]
