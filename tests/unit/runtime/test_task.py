"""A task takes one turn at a time: records, watermarks, markers, ends; and never acts between them."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from riverrun.api.functions import MapFunction
from riverrun.api.source import Polled, Source, SourceReader, SourceReaderContext, SourceStatus
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.core.clock import ManualClock
from riverrun.core.ids import Attempt, EdgeId, JobId, VertexId
from riverrun.graph.deployment import ChainedOperator, InEdge, OutEdge, TaskDeployment
from riverrun.graph.partitioning import Forward
from riverrun.graph.specs import MapSpec, OperatorSpec, SourceSpec
from riverrun.protocol.elements import (
    Element,
    EndOfChannel,
    EndOfInput,
    LatencyMarker,
    Records,
    Watermark,
    WatermarkStatus,
)
from riverrun.protocol.frames import (
    FrameHeader,
    decode_elements,
    encode_control,
    encode_frame,
    encode_records,
)
from riverrun.runtime.failures import OperatorFailed
from riverrun.runtime.operator_states import TaskResources
from riverrun.runtime.settings import TaskSettings
from riverrun.runtime.task import Task, Turn
from riverrun.serde.runs import PickleRunCodec, decode_run


def make_task(
    spec: OperatorSpec,
    *,
    clock: ManualClock,
    producers: tuple[int, ...] = (0,),
    settings: TaskSettings | None = None,
) -> Task:
    inputs = () if isinstance(spec, SourceSpec) else (InEdge(EdgeId(1), producers),)
    deployment = TaskDeployment(
        job=JobId("0" * 32),
        job_name="job",
        attempt=Attempt(0),
        vertex=VertexId("v"),
        name="task",
        subtask=0,
        parallelism=1,
        max_parallelism=128,
        layer=0,
        partition=0,
        operators=(ChainedOperator("op", "op", None, spec),),
        inputs=inputs,
        outputs=(OutEdge(EdgeId(2), 0, None, Forward(), (0,), 1, 128, {0: 0}),),
    )
    resources = TaskResources(Path("unused"), io.BytesIO)
    task = Task(deployment, settings or TaskSettings(), clock, resources)
    task.open()
    return task


class Feeder:
    """Sends elements to a task over its input channels."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._sequences: dict[int, int] = {}

    def send(self, *elements: Element, producer: int = 0) -> None:
        codec = PickleRunCodec()
        parts: list[Any] = []
        for element in elements:
            if isinstance(element, Records):
                run = codec.encode(element.values)
                parts += encode_records(0, len(element.values), run, element.timestamps)
            else:
                parts.append(encode_control(element))
        sequence = self._sequences.get(producer, 0)
        self._sequences[producer] = sequence + 1
        self._task.receive(encode_frame(FrameHeader(0, 1, producer, 0, sequence), parts))


def outputs(task: Task) -> list[Element]:
    task.flush()
    return [
        element
        for _, frame in task.outbox.take()
        if frame
        for element in decode_elements(frame, lambda tag, data: decode_run(tag, data, None))
    ]


def drain(task: Task) -> Turn:
    turn = Turn.WORKED
    while turn is Turn.WORKED:
        turn = task.turn()
    return turn


def double(value: int) -> int:
    return value * 2


def test_records_go_through_the_chain_and_the_end_is_passed_on() -> None:
    task = make_task(MapSpec(double), clock=ManualClock())

    Feeder(task).send(Records([1, 2], [10, 20]), EndOfInput(), EndOfChannel())

    assert drain(task) is Turn.FINISHED
    values = [e for e in outputs(task) if isinstance(e, Records)]
    assert [v for e in values for v in e.values] == [2, 4]
    assert [t for e in values for t in e.timestamps or []] == [10, 20]


def test_the_watermark_is_the_minimum_of_the_channels_and_never_goes_back() -> None:
    task = make_task(MapSpec(double), clock=ManualClock(), producers=(0, 1))
    feeder = Feeder(task)

    feeder.send(Watermark(10))
    drain(task)
    assert outputs(task) == []
    feeder.send(Watermark(7), producer=1)
    drain(task)
    assert outputs(task) == [Watermark(7)]
    feeder.send(WatermarkStatus(idle=True), producer=1)
    drain(task)
    assert outputs(task) == [Watermark(10)]


def test_a_channel_that_ended_no_longer_holds_the_watermark_back() -> None:
    task = make_task(MapSpec(double), clock=ManualClock(), producers=(0, 1))
    feeder = Feeder(task)

    feeder.send(Watermark(5))
    feeder.send(EndOfInput(), producer=1)
    drain(task)

    assert outputs(task) == [Watermark(5)]


def test_a_slow_function_is_given_small_pieces_of_a_long_run() -> None:
    clock = ManualClock()
    calls: list[int] = []

    def slow(value: int) -> int:
        clock.advance(1000)
        calls.append(value)
        return value

    task = make_task(MapSpec(slow), clock=clock)
    Feeder(task).send(Records(list(range(100))))

    assert task.turn() is Turn.WORKED
    assert len(calls) == 1
    assert task.turn() is Turn.WORKED
    assert len(calls) == 2


def test_a_fast_function_is_given_ever_longer_pieces() -> None:
    sizes: list[int] = []

    class Sized(MapFunction):
        def map(self, value: int) -> int:
            sizes[-1] += 1
            return value

    task = make_task(MapSpec(Sized()), clock=ManualClock())
    Feeder(task).send(Records(list(range(1000))))
    while task.waiting:
        sizes.append(0)
        task.turn()

    assert sizes[:5] == [1, 2, 4, 8, 16]
    assert sum(sizes) == 1000


def test_latency_markers_are_measured_and_wait_with_the_records() -> None:
    clock = ManualClock(1000)
    task = make_task(MapSpec(double), clock=clock)
    marker = LatencyMarker(988.0, "src", 0)

    Feeder(task).send(Records([1]), marker, Records([2]))
    drain(task)

    assert outputs(task) == [Records([2]), marker, Records([4])]
    assert task.metrics.snapshot()["op"]["latency.p50"] == 12.0


class Scripted(Source[Any], SourceReader[Any]):
    """A source that answers each poll with the next line of its script."""

    def __init__(self, *script: Polled) -> None:
        self._script = list(script)

    def create_splits(self, parallelism: int) -> list[Any]:
        return [None] * parallelism

    def create_reader(self, splits: list[Any], context: SourceReaderContext) -> SourceReader[Any]:
        return self

    def poll(self, limit: int) -> Polled:
        return self._script.pop(0)

    def snapshot_splits(self) -> list[Any]:
        return []


def test_a_source_task_waits_as_long_as_its_reader_says() -> None:
    clock = ManualClock(0)
    source = Scripted(
        Polled([1], status=SourceStatus.NOTHING_AVAILABLE, wait_ms=50.0),
        Polled([2], status=SourceStatus.END_OF_INPUT),
    )
    task = make_task(SourceSpec(source), clock=clock)

    assert task.turn() is Turn.WORKED
    assert task.turn() is Turn.IDLE
    assert task.wake_at() == 0.0  # record 1 may leave: the task has nothing else to do
    clock.advance(50)
    assert task.turn() is Turn.FINISHED
    assert [e for e in outputs(task) if isinstance(e, Records)] == [Records([1]), Records([2])]


def test_a_source_emits_watermarks_periodically_and_only_when_they_move() -> None:
    clock = ManualClock(1_000)
    nothing = Polled(status=SourceStatus.NOTHING_AVAILABLE, wait_ms=10_000.0)
    source = Scripted(Polled([5, 9], [5, 9]), nothing)
    spec = SourceSpec(source, WatermarkStrategy.for_monotonous_timestamps())
    task = make_task(spec, clock=clock)

    task.turn()
    clock.advance(200)
    task.turn()
    clock.advance(200)
    task.turn()

    assert [e for e in outputs(task) if isinstance(e, Watermark)] == [Watermark(8)]


def failing(where: str) -> MapFunction:
    class Failing(MapFunction):
        def open(self, runtime_context: Any) -> None:
            if where == "open":
                raise RuntimeError("no")

        def map(self, value: Any) -> Any:
            raise RuntimeError("no")

        def close(self) -> None:
            if where == "close":
                raise RuntimeError("no")

    return Failing()


@pytest.mark.parametrize("where", ["open", "map"])
def test_what_user_code_raises_names_the_operator(where: str) -> None:
    def act() -> None:
        task = make_task(MapSpec(failing(where)), clock=ManualClock())
        Feeder(task).send(Records(["rec"]))
        drain(task)

    with pytest.raises(OperatorFailed) as caught:
        act()

    assert caught.value.operator == "op"
    assert caught.value.record == ("'rec'" if where == "map" else None)


def test_close_gives_its_error_back_and_closes_only_once() -> None:
    task = make_task(MapSpec(failing("close")), clock=ManualClock())

    first, second = task.close(), task.close()

    assert isinstance(first, OperatorFailed)
    assert second is None


def counting() -> tuple[Callable[[int], int], list[int]]:
    seen: list[int] = []

    def count(value: int) -> int:
        seen.append(value)
        return value

    return count, seen


def test_metrics_count_records_and_bytes() -> None:
    fn, seen = counting()
    task = make_task(MapSpec(fn), clock=ManualClock())

    Feeder(task).send(Records([1, 2, 3]), EndOfInput())
    drain(task)

    metrics = task.metrics.snapshot()
    assert seen == [1, 2, 3]
    assert metrics["op"]["numRecordsIn"] == 3
    assert metrics["op"]["numRecordsOut"] == 3
    assert metrics[""]["numRecordsOut"] == 3
    assert metrics[""]["numBytesIn"] > 0
    assert metrics[""]["numBytesOut"] > 0
