"""The life of windows and of their functions: checkpoints, other parallelisms, very many windows, the end."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

import psutil
import pytest

from riverrun.api.checkpointed import (
    CheckpointedFunction,
    CheckpointListener,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from riverrun.api.functions import ReduceFunction
from riverrun.api.runtime_context import RuntimeContext
from riverrun.api.window_assigners import (
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from riverrun.api.window_functions import ProcessWindowFunction, WindowFunction
from riverrun.datastream.data_stream import DataStream
from riverrun.runtime.failures import OperatorFailed
from riverrun.testing.harness import OperatorHarness

LOG: list[str] = []


class _Logging(CheckpointedFunction, CheckpointListener):
    name: str

    def open(self, runtime_context: RuntimeContext) -> None:
        LOG.append(f"{self.name} open")

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        LOG.append(f"{self.name} initialize")

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        LOG.append(f"{self.name} snapshot")

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        LOG.append(f"{self.name} complete")

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        LOG.append(f"{self.name} aborted")

    def close(self) -> None:
        LOG.append(f"{self.name} close")


class Reduce(_Logging, ReduceFunction):
    name = "reduce"

    def reduce(self, value1: Any, value2: Any) -> Any:
        return value1


class Window(_Logging, WindowFunction[Any, Any, Any, Any]):
    name = "window"

    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterator[Any]:
        yield from inputs


class Sizes(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(
        self, key: Any, context: ProcessWindowFunction.Context[Any], elements: Iterable[Any]
    ) -> Iterator[Any]:
        yield key, sum(1 for _ in elements)


@pytest.mark.parametrize(
    "assigner", [TumblingEventTimeWindows.of(10), EventTimeSessionWindows.with_gap(10)]
)
def test_both_functions_of_a_window_are_opened_told_of_checkpoints_and_closed(
    assigner: Any,
) -> None:
    LOG.clear()

    def build(stream: DataStream) -> DataStream:
        return stream.key_by(lambda value: value).window(assigner).reduce(Reduce(), Window())

    with OperatorHarness(build) as harness:
        harness.push(1, 1)
        harness.snapshot()

    wanted = ["initialize", "open", "snapshot", "complete", "close"]
    for name in ("reduce", "window"):
        assert [line.split()[1] for line in LOG if line.startswith(name)] == wanted


def test_one_function_is_closed_though_the_other_fails_to() -> None:
    LOG.clear()

    class Stuck(Reduce):
        name = "stuck"

        def close(self) -> None:
            super().close()
            raise ValueError("does not close")

    def build(stream: DataStream) -> DataStream:
        sessions = EventTimeSessionWindows.with_gap(10)
        return stream.key_by(lambda value: value).window(sessions).reduce(Stuck(), Window())

    harness = OperatorHarness(build)
    with pytest.raises(OperatorFailed) as caught:
        harness.close()

    assert "does not close" in str(caught.value.__cause__)
    assert {"stuck close", "window close"} <= set(LOG)


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
@pytest.mark.parametrize(
    "assigner", [TumblingEventTimeWindows.of(10), EventTimeSessionWindows.with_gap(10)]
)
def test_windows_move_with_their_keys_when_the_parallelism_changes(
    assigner: Any, backend: str
) -> None:
    keys = list(range(40))

    def build(stream: DataStream) -> DataStream:
        return stream.key_by(lambda value: value).window(assigner).process(Sizes())

    with OperatorHarness(build, backend=backend) as harness:
        harness.push_run(keys, [1] * len(keys))
        snapshot = harness.snapshot()
    found = []
    for subtask in range(3):
        with OperatorHarness(
            build, backend=backend, parallelism=3, subtask=subtask, restore=snapshot
        ) as harness:
            harness.end_input()
            found.append(harness.output())

    assert all(found)
    assert sorted(pair for part in found for pair in part) == [(key, 1) for key in keys]


def _open(harness: OperatorHarness, windows: int) -> None:
    """Open so many windows, of a thousand keys."""
    run = 10_000
    for begin in range(0, windows, run):
        numbers = range(begin, begin + run)
        harness.push_run([n % 1000 for n in numbers], [n // 1000 * 10 for n in numbers])


def _sized(assigner: Any) -> Any:
    return lambda stream: stream.key_by(lambda value: value).window(assigner).process(Sizes())


def test_very_many_windows_are_open_at_once() -> None:
    with OperatorHarness(_sized(TumblingEventTimeWindows.of(10))) as harness:
        _open(harness, 50_000)
        harness.watermark(9)
        assert len(harness.output()) == 1000
        harness.end_input()

        assert len(harness.output()) == 49_000


@pytest.mark.slow
@pytest.mark.parametrize(("backend", "count"), [("hashmap", 1_000_000), ("rocksdb", 200_000)])
def test_a_million_windows_are_open_at_once(backend: str, count: int) -> None:
    process = psutil.Process(os.getpid())
    before = process.memory_info().rss
    with OperatorHarness(_sized(TumblingEventTimeWindows.of(10)), backend=backend) as harness:
        _open(harness, count)
        used = process.memory_info().rss - before
        harness.end_input()

        assert len(harness.output()) == count
        assert used < 2 << 30, f"{used >> 20} MiB for {count} windows"


@pytest.mark.parametrize(
    "assigner",
    [
        TumblingProcessingTimeWindows.of(1_000_000_000),
        SlidingProcessingTimeWindows.of(1_000_000_000, 500_000_000),
        ProcessingTimeSessionWindows.with_gap(1_000_000_000),
    ],
)
@pytest.mark.parametrize("incremental", [True, False])
def test_in_batch_mode_open_windows_of_the_wall_clock_fire_at_the_end(
    assigner: Any, *, incremental: bool
) -> None:
    def build(stream: DataStream) -> DataStream:
        windows = stream.key_by(lambda value: value[0]).window(assigner)
        if incremental:
            return windows.reduce(lambda one, two: (one[0], one[1] + two[1]))
        return windows.process(Sizes())

    with OperatorHarness(build, config={"execution.runtime-mode": "BATCH"}) as harness:
        harness.push_run([("a", 1), ("b", 2), ("a", 3)])
        harness.end_input()

        wanted = {("a", 4), ("b", 2)} if incremental else {("a", 2), ("b", 1)}
        assert set(harness.output()) == wanted
