"""Output tags, watermark strategies, the runtime context and the rest that users hold in hand."""

from __future__ import annotations

import asyncio
import pickle
from datetime import timedelta
from typing import Any

import pytest

from riverrun.api import functions
from riverrun.api.functions import AsyncFunction, MapFunction
from riverrun.api.output_tag import OutputTag
from riverrun.api.runtime_context import DetachedRuntimeContext, StateNotAvailable
from riverrun.api.state import ValueStateDescriptor
from riverrun.api.watermark_strategy import (
    BoundedOutOfOrderness,
    NoWatermarks,
    TimestampAssigner,
    WatermarkAlignment,
    WatermarkStrategy,
)
from riverrun.core.errors import ProgramError
from riverrun.core.time import Duration
from riverrun.serde.types import Types


def test_tags_with_the_same_id_are_the_same() -> None:
    tag = OutputTag("late", Types.STRING())

    assert tag == OutputTag("late")
    assert {tag: 1}[OutputTag("late")] == 1
    assert tag != OutputTag("other")
    copy = pickle.loads(pickle.dumps(tag))
    assert (copy, copy.type_info) == (tag, Types.STRING())


@pytest.mark.parametrize("tag_id", ["", None, 3])
def test_a_tag_needs_a_name(tag_id: Any) -> None:
    with pytest.raises(ValueError, match="expected a string that is not empty"):
        OutputTag(tag_id)


def test_the_type_of_a_tag_is_a_type() -> None:
    with pytest.raises(TypeError, match="output tag 'late': its type is"):
        OutputTag("late", int)  # type: ignore[arg-type]


def test_watermark_strategies_are_descriptions() -> None:
    strategy = (
        WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5))
        .with_timestamp_assigner(lambda value, _: int(value))
        .with_idleness(timedelta(minutes=1))
        .with_watermark_alignment("group", Duration.of_seconds(1), Duration.of_millis(300))
    )

    assert strategy.generation == BoundedOutOfOrderness(5000)
    assert strategy.idle_timeout_ms == 60_000
    assert strategy.alignment == WatermarkAlignment("group", 1000, 300)
    assert callable(strategy.timestamp_assigner)
    assert WatermarkStrategy.for_monotonous_timestamps().generation == BoundedOutOfOrderness(0)
    assert WatermarkStrategy.no_watermarks().generation == NoWatermarks()


def test_a_strategy_is_not_changed_by_its_methods() -> None:
    strategy = WatermarkStrategy.no_watermarks()
    strategy.with_idleness(Duration.of_seconds(1))

    assert strategy.idle_timeout_ms is None


def test_a_timestamp_assigner_is_an_assigner_or_a_callable() -> None:
    class Assigner(TimestampAssigner):
        def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
            return record_timestamp

    strategy = WatermarkStrategy.no_watermarks()

    assert strategy.with_timestamp_assigner(Assigner()).timestamp_assigner is not None
    with pytest.raises(TypeError, match="expected a TimestampAssigner"):
        strategy.with_timestamp_assigner(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="expected more than 0"):
        strategy.with_idleness(Duration.of_millis(0))


@pytest.mark.parametrize(
    "method",
    [
        "get_state",
        "get_list_state",
        "get_map_state",
        "get_reducing_state",
        "get_aggregating_state",
    ],
)
def test_keyed_state_is_refused_where_there_are_no_keys(method: str) -> None:
    context = DetachedRuntimeContext("Map")

    with pytest.raises(StateNotAvailable) as caught:
        getattr(context, method)(ValueStateDescriptor("seen"))

    assert str(caught.value) == (
        f"{method}: a function of task 'Map' asked for the keyed state 'seen' but is not on a keyed "
        f"stream; use key_by(...) before it"
    )

    assert isinstance(caught.value, ProgramError)


def test_a_context_knows_its_place() -> None:
    context = DetachedRuntimeContext("Map", subtask_index=1, parallelism=4)
    context.get_metrics_group().counter("seen").inc()

    assert context.get_task_name_with_subtasks() == "Map (2/4)"
    assert context.get_max_number_of_parallel_subtasks() == 128
    assert context.get_attempt_number() == 0
    assert context.get_job_parameter("key", "default") == "default"


def test_a_function_must_be_complete() -> None:
    class Unfinished(MapFunction):
        pass

    with pytest.raises(TypeError, match="abstract"):
        Unfinished()  # type: ignore[abstract]


def test_a_late_asynchronous_call_raises_by_default() -> None:
    class Lookup(AsyncFunction[int, int]):
        async def async_invoke(self, value: int) -> list[int]:
            return [value]

    assert asyncio.run(Lookup().async_invoke(3)) == [3]
    with pytest.raises(TimeoutError, match="for 3 took longer"):
        Lookup().timeout(3)


def test_all_function_classes_are_under_one_roof() -> None:
    assert [name for name in functions.__all__ if not hasattr(functions, name)] == []
