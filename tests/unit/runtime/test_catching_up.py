"""No event time is made of what was in flight to one subtask as long as that of another one is to come."""

from __future__ import annotations

import asyncio
import io
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from riverrun.api.async_functions import AsyncFunction
from riverrun.api.watermark_generator import WatermarkGenerator, WatermarkOutput
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.connectors.collection import CollectionSource
from riverrun.core.clock import ManualClock
from riverrun.core.ids import Attempt, EdgeId, JobId, VertexId
from riverrun.core.time import Duration
from riverrun.graph.deployment import ChainedOperator, InEdge, OutEdge, TaskDeployment
from riverrun.graph.partitioning import Forward, Rebalance
from riverrun.graph.specs import (
    AsyncWaitSpec,
    OperatorSpec,
    SourceSpec,
    TimestampsAndWatermarksSpec,
)
from riverrun.protocol.barriers import (
    BarrierMode,
    BarrierOptions,
    SavepointOrder,
    encode_options,
)
from riverrun.protocol.control import TriggerCheckpoint
from riverrun.protocol.elements import Element, EndOfInput, Records, Watermark
from riverrun.protocol.frames import (
    FrameHeader,
    decode_elements,
    encode_control,
    encode_frame,
    encode_records,
)
from riverrun.protocol.snapshots import ChannelRestore, OperatorRestore, TaskRestore
from riverrun.runtime.operator_states import TaskResources
from riverrun.runtime.settings import TaskSettings
from riverrun.runtime.system_state import CALLS, FrozenItems
from riverrun.runtime.task import Task, Turn
from riverrun.serde.runs import codec_for, decode_run
from riverrun.storage.blobs import InlineBlob
from riverrun.storage.checkpoint_files import CheckpointFiles, SavedCheckpointFiles
from riverrun.storage.memory import MemoryStorage

INTERVAL_MS = 200
_PATIENCE_S = 20.0


class EveryRecord(WatermarkGenerator):
    """Each record brings its own watermark."""

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        output.emit_watermark(event_timestamp)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass


class Door(AsyncFunction[Any, Any]):
    """Calls are answered with their records once the door is open."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_open = False
        self._waiting: list[asyncio.Future[None]] = []

    async def async_invoke(self, value: Any) -> Any:
        door = asyncio.get_running_loop().create_future()
        with self._lock:
            if self._is_open:
                return [value]
            self._waiting.append(door)
        await door
        return [value]

    def unlock(self) -> None:
        with self._lock:
            self._is_open = True
        for door in self._waiting:
            door.get_loop().call_soon_threadsafe(door.set_result, None)


def timed(strategy: WatermarkStrategy) -> TimestampsAndWatermarksSpec:
    return TimestampsAndWatermarksSpec(strategy.with_timestamp_assigner(lambda value, _: value))


PERIODIC = timed(WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(4)))
PUNCTUATED = timed(WatermarkStrategy.for_generator(EveryRecord))


def run(values: list[int]) -> bytes:
    codec = codec_for(None)
    return b"".join(encode_records(codec.tag, len(values), codec.encode(values), None))


class Bench:
    """One task that goes on from a checkpoint: runs in flight to it, and calls under way in it."""

    def __init__(
        self,
        folder: Path,
        specs: list[OperatorSpec],
        *,
        in_flight: tuple[list[int], ...] = (),
        calls: tuple[int, ...] = (),
    ) -> None:
        storage = MemoryStorage()
        files = CheckpointFiles(storage, "memory://x/job", 1, inline_limit=10_000)
        under_way = FrozenItems(CALLS, [(value, None) for value in calls]).write(files)
        is_source = isinstance(specs[0], SourceSpec)
        described = TaskDeployment(
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
            operators=tuple(
                ChainedOperator(f"op {place}", f"op {place}", None, spec, place - 1 or 0)
                for place, spec in enumerate(specs)
            ),
            inputs=() if is_source else (InEdge(EdgeId(1), (0,), 0, None, Rebalance()),),
            outputs=(OutEdge(EdgeId(9), len(specs) - 1, None, Forward(), (0,), 1, 128, {0: 0}),),
            restore=TaskRestore(
                1,
                {
                    f"op {place}": OperatorRestore(lists=(under_way,))
                    for place, spec in enumerate(specs)
                    if isinstance(spec, AsyncWaitSpec)
                },
                tuple(ChannelRestore(1, 0, InlineBlob(run(values))) for values in in_flight),
            ),
            checkpoint_folder="memory://x/job",
        )
        self.clock = ManualClock()
        self.woken = threading.Event()
        saved = SavedCheckpointFiles(storage)
        resources = TaskResources(folder, io.BytesIO, saved, wake=self.woken.set)
        self.task = Task(described, TaskSettings(), self.clock, resources)
        self.task.open()
        self._sequence = 0

    def send(self, *values: int) -> None:
        self._receive(run(list(values)))

    def end(self) -> None:
        self._receive(encode_control(EndOfInput()))

    def turns(self) -> list[int | str]:
        """What comes out until there is nothing to do; before each turn it is time for a watermark."""
        self.clock.advance(INTERVAL_MS)
        while self.task.turn() is Turn.WORKED:
            self.clock.advance(INTERVAL_MS)
        return list(self._came())

    def turns_until(self, last: str) -> list[int | str]:
        """What comes out until ``last`` does; waits for what is under way outside."""
        found = self.turns()
        while last not in found:
            assert self.woken.wait(_PATIENCE_S)
            self.woken.clear()
            found += self.turns()
        return found

    def _receive(self, part: bytes) -> None:
        self.task.receive(encode_frame(FrameHeader(0, 1, 0, 0, self._sequence), [part]))
        self._sequence += 1

    def _came(self) -> Iterator[int | str]:
        self.task.flush()
        for _, frame in self.task.outbox.take():
            for element in decode_elements(frame, _decode) if frame else ():
                yield from _shown(element)


def _decode(tag: int, data: memoryview) -> Any:
    return decode_run(tag, data, None)


def _shown(element: Element) -> Iterator[int | str]:
    match element:
        case Records(values):
            yield from values
        case Watermark(time):
            yield f"time {time}"
        case EndOfInput():
            yield "end"


def test_event_time_waits_for_all_that_was_in_flight(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [PERIODIC], in_flight=([10, 50], [20, 45]))
    bench.send(60)

    assert bench.turns() == [10, 50, 20, 45, "time 45", 60, "time 55"]


def test_a_watermark_that_a_record_brought_waits_too(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [PUNCTUATED], in_flight=([10, 50], [20, 45]))

    assert bench.turns() == [10, 50, 20, 45, "time 50"]
    bench.send(60, 70)
    assert bench.turns() == [60, "time 60", 70, "time 70"]


@pytest.mark.parametrize("spec", [PERIODIC, PUNCTUATED])
def test_the_end_of_input_comes_after_what_was_held_back(
    tmp_path: Path, spec: TimestampsAndWatermarksSpec
) -> None:
    bench = Bench(tmp_path, [spec], in_flight=([50], [20]))
    bench.end()

    found = bench.turns()

    assert found[:2] == [50, 20]
    assert found[-1] == "end"


@pytest.mark.parametrize("ordered", [True, False])
def test_event_time_waits_for_calls_that_were_under_way(tmp_path: Path, ordered: bool) -> None:
    door = Door()
    slow = AsyncWaitSpec(door, timeout_ms=0, capacity=10, ordered=ordered)
    bench = Bench(tmp_path, [slow, PUNCTUATED], in_flight=([30],), calls=(50, 20))
    bench.send(60)

    assert bench.turns() == []
    assert bench.task.waiting
    assert not bench.task.accepting
    door.unlock()
    found = bench.turns_until("time 60")

    assert sorted(each for each in found[:3] if isinstance(each, int)) == [20, 30, 50]
    assert found[3:] == ["time 50", 60, "time 60"]
    assert bench.task.close() is None


def test_calls_behind_the_place_where_time_is_made_hold_nothing_up(tmp_path: Path) -> None:
    slow = AsyncWaitSpec(Door(), timeout_ms=0, capacity=10, ordered=True)
    bench = Bench(tmp_path, [PERIODIC, slow], calls=(50, 20))
    bench.send(60)

    bench.turns()

    assert not bench.task.waiting
    assert bench.task.accepting
    assert bench.task.close() is None


def test_a_source_is_not_read_before_its_calls_are_answered(tmp_path: Path) -> None:
    door = Door()
    slow = AsyncWaitSpec(door, timeout_ms=0, capacity=10, ordered=False)
    source = SourceSpec(CollectionSource([60]))
    bench = Bench(tmp_path, [source, slow, PUNCTUATED], calls=(50, 20))

    assert bench.turns() == []
    door.unlock()
    found = bench.turns_until("end")

    assert sorted(map(str, found[:2])) == ["20", "50"]
    assert found[2:] == ["time 50", 60, "time 60", "end"]
    assert bench.task.close() is None


def test_what_was_held_back_does_not_follow_the_end_of_a_drained_source(tmp_path: Path) -> None:
    door = Door()
    slow = AsyncWaitSpec(door, timeout_ms=0, capacity=10, ordered=True)
    source = SourceSpec(CollectionSource([60]))
    bench = Bench(tmp_path, [source, slow, PUNCTUATED], calls=(50, 20))
    order = SavepointOrder("memory://x/savepoint", stop=True, drain=True)
    options = encode_options(BarrierOptions(BarrierMode.ALIGNED, savepoint=order))

    bench.task.obey(TriggerCheckpoint(2, 0, options))
    assert bench.turns() == []
    door.unlock()

    assert bench.turns_until("end") == [50, 20, "end"]
    assert bench.turns() == []
    assert bench.task.close() is None
