"""What a watermark strategy accepts."""

from __future__ import annotations

from typing import Any

import cloudpickle
import pytest

from riverrun.api.watermark_generator import Watermark, WatermarkGenerator, WatermarkOutput
from riverrun.api.watermark_strategy import (
    AssignerWithPeriodicWatermarks,
    AssignerWithPeriodicWatermarksWrapper,
    CustomGenerator,
    TimestampAssigner,
    WatermarkStrategy,
)
from riverrun.core.time import Duration


class Own(WatermarkGenerator):
    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        pass

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass


def test_each_step_gives_a_changed_copy() -> None:
    plain = WatermarkStrategy.for_monotonous_timestamps()

    full = (
        plain.with_timestamp_assigner(lambda value, time: 1)
        .with_idleness(Duration.of_seconds(2))
        .with_watermark_alignment("group", Duration.of_seconds(3), Duration.of_millis(50))
    )

    assert plain == WatermarkStrategy.for_monotonous_timestamps()
    assert full.generation == plain.generation
    assert full.idle_timeout_ms == 2000
    assert full.alignment is not None
    assert full.alignment.max_drift_ms == 3000
    assert full.alignment.update_interval_ms == 50


def test_alignment_is_updated_every_second_unless_said() -> None:
    strategy = WatermarkStrategy.no_watermarks().with_watermark_alignment(
        "group", Duration.of_seconds(3)
    )

    assert strategy.alignment is not None
    assert strategy.alignment.update_interval_ms == 1000


@pytest.mark.parametrize("supplier", [Own, lambda: Own()])  # noqa: PLW0108  (a callable, not a class)
def test_generators_are_made_by_a_class_or_a_callable(supplier: Any) -> None:
    strategy = WatermarkStrategy.for_generator(supplier)

    assert strategy.generation == CustomGenerator(supplier)


@pytest.mark.parametrize("supplier", [Own(), 3, None])
def test_one_generator_for_all_splits_is_refused(supplier: Any) -> None:
    with pytest.raises(TypeError, match=r"the generator supplier is .*each source split needs one"):
        WatermarkStrategy.for_generator(supplier)


def test_lengths_of_time_are_checked() -> None:
    plain = WatermarkStrategy.no_watermarks()
    minus = Duration.of_millis(-1)

    with pytest.raises(ValueError, match="the max out-of-orderness is -1 ms; expected 0 or more"):
        WatermarkStrategy.for_bounded_out_of_orderness(minus)
    with pytest.raises(ValueError, match="the idle timeout is 0 ms; expected more than 0"):
        plain.with_idleness(Duration.of_millis(0))
    with pytest.raises(ValueError, match="a drift of -1 ms, updated every 1000 ms; expected 0 or"):
        plain.with_watermark_alignment("group", minus)
    with pytest.raises(ValueError, match="a drift of 1 ms, updated every 0 ms; expected 0 or"):
        plain.with_watermark_alignment("group", Duration.of_millis(1), Duration.of_millis(0))


def test_an_assigner_that_is_none_is_refused() -> None:
    wrong: Any = 3
    with pytest.raises(
        TypeError, match="the timestamp assigner is 3; expected a TimestampAssigner"
    ):
        WatermarkStrategy.no_watermarks().with_timestamp_assigner(wrong)


class Seen(AssignerWithPeriodicWatermarks):
    def __init__(self) -> None:
        self.greatest: int | None = None

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        self.greatest = max(value, self.greatest or 0)
        return int(value)

    def get_current_watermark(self) -> int | None:
        return self.greatest


class Kept(WatermarkOutput):
    def __init__(self) -> None:
        self.watermarks: list[Watermark | int] = []

    def emit_watermark(self, watermark: Watermark | int) -> None:
        self.watermarks.append(watermark)

    def mark_idle(self) -> None:
        pass

    def mark_active(self) -> None:
        pass


def test_the_older_form_keeps_its_assigner_together_on_its_way_to_the_worker() -> None:
    strategy = AssignerWithPeriodicWatermarksWrapper(Seen()).to_watermark_strategy()

    strategy = cloudpickle.loads(cloudpickle.dumps(strategy))
    assert isinstance(strategy.generation, CustomGenerator)
    supplier: Any = strategy.generation.supplier
    generator = supplier.create_watermark_generator(None)
    assigner = strategy.timestamp_assigner
    assert isinstance(assigner, TimestampAssigner)
    output = Kept()
    generator.on_periodic_emit(output)
    assigner.extract_timestamp(7, 0)
    generator.on_event(7, 7, output)
    generator.on_periodic_emit(output)

    assert output.watermarks == [7]


def test_the_older_form_wraps_nothing_else() -> None:
    wrong: Any = 3
    with pytest.raises(TypeError, match="got 3; expected an AssignerWithPeriodicWatermarks"):
        AssignerWithPeriodicWatermarksWrapper(wrong)


def test_watermarks_compare_by_time() -> None:
    assert Watermark(1) < Watermark(2)
    assert Watermark(5).get_timestamp() == 5
