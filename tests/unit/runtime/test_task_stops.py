"""A task that the job stops with: nothing comes out of it after the savepoint's barrier."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from riverrun.api.functions import KeyedProcessFunction
from riverrun.api.source import Polled, Source, SourceReader, SourceReaderContext
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.graph.specs import KeyedProcessSpec, MapSpec, SourceSpec
from riverrun.protocol.barriers import BarrierOptions, SavepointOrder, encode_options
from riverrun.protocol.control import CheckpointAborted, CheckpointCompleted, TriggerCheckpoint
from riverrun.protocol.elements import (
    Barrier,
    Element,
    EndOfChannel,
    EndOfInput,
    Records,
    Watermark,
)
from riverrun.runtime.snapshot import TaskSnapshot
from riverrun.runtime.task import Turn
from tests.unit.runtime.test_task_checkpoints import Bench

FOLDER = "memory://here/savepoint-1-2"
STOP = encode_options(BarrierOptions(savepoint=SavepointOrder(FOLDER, stop=True)))
DRAIN = encode_options(BarrierOptions(savepoint=SavepointOrder(FOLDER, stop=True, drain=True)))


class Endless(Source[int]):
    """One number after the other."""

    def create_splits(self, parallelism: int) -> list[Any]:
        return [0]

    def create_reader(self, splits: list[Any], context: SourceReaderContext) -> SourceReader[int]:
        return _EndlessReader(splits[0])


class _EndlessReader(SourceReader[int]):
    def __init__(self, position: int) -> None:
        self._position = position

    def poll(self, limit: int) -> Polled:
        self._position += 1
        return Polled([self._position])

    def snapshot_splits(self) -> list[Any]:
        return [self._position]


def source(tmp_path: Path) -> Bench:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda value, _: value
    )
    return Bench(SourceSpec(Endless(), strategy), tmp_path)


def turns(bench: Bench, number: int = 5) -> None:
    for _ in range(number):
        bench.clock.advance(300)
        bench.task.turn()


def kinds(elements: list[Element]) -> list[str]:
    return [type(each).__name__ for each in elements]


def only(snapshots: list[TaskSnapshot]) -> TaskSnapshot:
    [snapshot] = snapshots
    return snapshot


def test_a_stopped_source_gives_nothing_after_the_barrier_and_ends_when_it_is_told(
    tmp_path: Path,
) -> None:
    bench = source(tmp_path)
    turns(bench)
    bench.outputs()

    bench.task.obey(TriggerCheckpoint(7, 0, STOP))
    turns(bench)

    assert kinds(bench.outputs()) == ["Barrier"]
    snapshot = only(bench.task.take_snapshots())
    assert not snapshot.finished
    assert snapshot.savepoint is not None
    assert snapshot.savepoint.folder == FOLDER
    assert bench.task.wake_at() is None
    assert not bench.task.input_over
    bench.task.obey(CheckpointCompleted(6))
    assert bench.work() is Turn.IDLE
    bench.task.obey(CheckpointCompleted(7))
    assert bench.work() is Turn.FINISHED
    assert kinds(bench.outputs()) == ["EndOfChannel"]


def test_a_source_goes_on_when_the_savepoint_failed(tmp_path: Path) -> None:
    bench = source(tmp_path)
    bench.task.obey(TriggerCheckpoint(7, 0, STOP))
    turns(bench)
    bench.outputs()

    bench.task.obey(CheckpointAborted(7))
    turns(bench)

    assert bench.values() == [1, 2, 3, 4, 5]


def test_a_drained_source_ends_its_stream_before_the_barrier(tmp_path: Path) -> None:
    bench = source(tmp_path)
    turns(bench)
    bench.outputs()

    bench.task.obey(TriggerCheckpoint(7, 0, DRAIN))
    turns(bench)

    assert kinds(bench.outputs()) == ["Watermark", "EndOfInput", "Barrier"]
    snapshot = only(bench.task.take_snapshots())
    assert not snapshot.finished, "its input is not over, so that another job can go on"
    bench.task.obey(CheckpointCompleted(7))
    assert bench.work() is Turn.FINISHED


class Echo(KeyedProcessFunction):
    """Says a record again when the wall clock and event time have gone on."""

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        timers = ctx.timer_service()
        timers.register_processing_time_timer(timers.current_processing_time() + 100)
        timers.register_event_time_timer(1000)
        yield value

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield "timer", timestamp


@pytest.mark.parametrize("options", [STOP, DRAIN], ids=["stop", "drain"])
def test_no_timer_fires_after_the_barrier(tmp_path: Path, options: bytes) -> None:
    bench = Bench(KeyedProcessSpec(Echo()), tmp_path, keyed=True)
    barrier = Barrier(7, 0, options)
    before = [EndOfInput()] if options == DRAIN else []
    bench.send(Records([("a", 1)], [5]), Watermark(10), *before, barrier)
    bench.work()

    fired = [("timer", 1000)] if options == DRAIN else []
    assert bench.values() == [("a", 1), *fired]
    bench.clock.advance(1_000_000)
    assert bench.work() is Turn.IDLE
    assert bench.outputs() == []
    bench.send(EndOfChannel())
    assert bench.work() is Turn.IDLE
    assert not bench.task.starved
    bench.task.obey(CheckpointCompleted(7))
    assert bench.work() is Turn.FINISHED


def test_a_timer_that_was_held_back_fires_when_the_savepoint_failed(tmp_path: Path) -> None:
    bench = Bench(KeyedProcessSpec(Echo()), tmp_path, keyed=True)
    bench.send(Records([("a", 1)], [5]), Barrier(7, 0, STOP))
    bench.work()
    bench.clock.advance(1_000_000)
    bench.outputs()

    bench.task.obey(CheckpointAborted(7))
    bench.task.turn()

    [(name, _)] = bench.values()
    assert name == "timer"


def test_a_savepoint_beside_which_the_job_goes_on_stops_nobody(tmp_path: Path) -> None:
    options = encode_options(BarrierOptions(savepoint=SavepointOrder(FOLDER)))
    bench = Bench(MapSpec(lambda value: value), tmp_path)
    bench.send(Records([1]), Barrier(7, 0, options), Records([2]))
    bench.work()

    assert kinds(bench.outputs()) == ["Records", "Barrier", "Records"]
    snapshot = only(bench.task.take_snapshots())
    assert snapshot.savepoint is not None
