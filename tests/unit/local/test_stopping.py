"""How a job stops with a savepoint: what still happens before it, what does not, and what follows."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from riverrun.api.async_functions import AsyncFunction
from riverrun.api.process_functions import KeyedProcessFunction
from riverrun.api.runtime_context import RuntimeContext
from riverrun.api.sink import Committable, Committer, SinkWriterContext
from riverrun.api.state import ValueStateDescriptor
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.api.window_assigners import TumblingEventTimeWindows
from riverrun.core.errors import CheckpointFailed
from riverrun.core.lifecycle import JobStatus
from riverrun.core.time import Time
from riverrun.datastream.async_data_stream import AsyncDataStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from tests.spark.allround.file_sink import FileSink
from tests.unit.local.savepoint_jobs import (
    COUNT,
    GATE,
    PATIENCE_S,
    Jobs,
    key_of,
    numbers,
    through_gate,
)

INTERVAL = {"execution.checkpointing.interval": "10 ms"}
WINDOW = 1000
"""Milliseconds; the records are one millisecond apart."""


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[Jobs]:
    made = Jobs(tmp_path)
    yield made
    made.close()


# windows


def windowed(env: StreamExecutionEnvironment, folder: Path) -> None:
    """How many records of each key fall into each second."""
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda value, _: value
    )
    timed = numbers(env).map(through_gate).uid("gate").assign_timestamps_and_watermarks(strategy)
    counted = (
        timed.map(lambda value: (key_of(value), value // WINDOW, 1))
        .key_by(lambda each: each[0])
        .window(TumblingEventTimeWindows.of(Time.milliseconds(WINDOW)))
        .reduce(lambda a, b: (a[0], a[1], a[2] + b[2]))
        .uid("windows")
    )
    counted.sink_to(FileSink(str(folder))).uid("files")


WINDOWS = Counter(
    (key, start, sum(1 for value in range(COUNT) if (value % 7, value // WINDOW) == (key, start)))
    for key in range(7)
    for start in range(COUNT // WINDOW)
)


@pytest.mark.parametrize("checkpoints", [{}, INTERVAL], ids=["alone", "beside checkpoints"])
def test_without_drain_no_window_fires_and_going_on_is_as_if_nothing_had_happened(
    jobs: Jobs, checkpoints: dict[str, str]
) -> None:
    savepoint = jobs.stop_at(1500, 2, windowed, **checkpoints)

    assert {start for _, start, _ in jobs.committed()} <= {0}
    jobs.run(3, windowed, start_from=savepoint, **checkpoints)
    assert jobs.committed() == WINDOWS


@pytest.mark.parametrize("checkpoints", [{}, INTERVAL], ids=["alone", "beside checkpoints"])
def test_with_drain_every_window_fires_and_no_record_counts_twice_when_going_on(
    jobs: Jobs, checkpoints: dict[str, str]
) -> None:
    savepoint = jobs.stop_at(1500, 2, windowed, drain=True, **checkpoints)

    drained = jobs.committed()
    assert {start for _, start, _ in drained} == {0, 1}
    jobs.run(3, windowed, start_from=savepoint, **checkpoints)
    found = jobs.committed()
    totals: Counter[Any] = Counter()
    for (key, start, number), times in found.items():
        totals[key, start] += number * times
    assert totals == Counter({(key, start): number for key, start, number in WINDOWS})
    assert found != WINDOWS, "the window that was open came in two parts"


# timers


class Echo(KeyedProcessFunction):
    """Says each record once more, by a timer, two seconds after the first of its key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._seen = runtime_context.get_state(ValueStateDescriptor("seen"))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        seen = self._seen.value()
        if seen is None:
            seen = 0
            now = ctx.timer_service().current_processing_time()
            ctx.timer_service().register_processing_time_timer(now + 20)
        self._seen.update(seen + 1)
        yield from ()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield ctx.get_current_key(), self._seen.value()
        self._seen.clear()


def echoing(env: StreamExecutionEnvironment, folder: Path) -> None:
    """Counts of short stretches of time, by processing time."""
    gated = numbers(env).map(through_gate).uid("gate")
    gated.key_by(key_of).process(Echo()).uid("echo").sink_to(FileSink(str(folder))).uid("files")


@pytest.mark.parametrize("drain", [False, True])
def test_no_timer_of_the_wall_clock_fires_beside_the_savepoint(jobs: Jobs, *, drain: bool) -> None:
    savepoint = jobs.stop_at(1500, 2, echoing, drain=drain)
    jobs.run(3, lasting, start_from=savepoint)

    totals: Counter[Any] = Counter()
    for (key, number), times in jobs.committed().items():
        totals[key] += number * times
    assert totals == Counter({key: len(range(key, COUNT, 7)) for key in range(7)})


def lasting(env: StreamExecutionEnvironment, folder: Path) -> None:
    """The same, with a source that outlives the timers."""
    gated = numbers(env).map(through_gate).uid("gate")
    slow = numbers(env, 3000).uid("slow").filter(lambda _: False)
    both = gated.union(slow)
    both.key_by(key_of).process(Echo()).uid("echo").sink_to(FileSink(str(folder))).uid("files")


# calls that are under way


class Slow(AsyncFunction[int, int]):
    """Takes a while for each record."""

    async def async_invoke(self, value: int) -> list[int]:
        await asyncio.sleep(0.001)
        return [value]


def calling(env: StreamExecutionEnvironment, folder: Path) -> None:
    """Each record after a call."""
    gated = numbers(env, 600).map(through_gate).uid("gate")
    called = AsyncDataStream.unordered_wait(gated, Slow(), Time.seconds(20), capacity=10)
    called.uid("calls").map(lambda value: [value]).sink_to(FileSink(str(folder))).uid("files")


@pytest.mark.parametrize("drain", [False, True])
def test_calls_under_way_are_waited_for_or_made_again(jobs: Jobs, *, drain: bool) -> None:
    savepoint = jobs.stop_at(200, 2, calling, drain=drain)
    jobs.run(3, calling, start_from=savepoint)

    assert jobs.committed() == Counter((value,) for value in range(600))


# a stop that fails too late


class _BrokenCommitter(Committer):
    def commit(self, committables: Sequence[Committable]) -> None:
        raise OSError("the target is gone")


class BrokenSink(FileSink):
    """Can write and cannot commit."""

    def create_committer(self, context: SinkWriterContext) -> Committer | None:
        return _BrokenCommitter()


def breaking(env: StreamExecutionEnvironment, folder: Path) -> None:
    """Records that nobody can commit."""
    gated = numbers(env).map(through_gate).uid("gate")
    gated.map(lambda value: [value]).sink_to(BrokenSink(str(folder))).uid("files")


def mending(env: StreamExecutionEnvironment, folder: Path) -> None:
    """The same records, with a sink that works."""
    gated = numbers(env).map(through_gate).uid("gate")
    gated.map(lambda value: [value]).sink_to(FileSink(str(folder))).uid("files")


def test_a_job_that_fails_after_its_last_savepoint_does_not_begin_again(jobs: Jobs) -> None:
    restarts = {
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "9",
        "execution.checkpointing.interval": "1000 h",
    }
    GATE.close_at(1500)
    client = jobs.start(2, breaking, **restarts)
    assert GATE.reached.wait(PATIENCE_S)
    stopping = client.stop_with_savepoint(False)
    GATE.open.set()

    with pytest.raises(CheckpointFailed, match="which is complete, but is FAILED") as failed:
        stopping.result(PATIENCE_S)
    assert client.get_job_status().result() is JobStatus.FAILED
    [record] = client.get_failures()
    assert "the job stopped with the savepoint" in str(record.failure.hint)
    [savepoint] = jobs.savepoints.iterdir()
    assert str(savepoint) in str(failed.value)
    jobs.run(3, mending, start_from=savepoint)
    assert jobs.committed() == Counter((value,) for value in range(COUNT))
