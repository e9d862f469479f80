"""A task snapshots at barriers and goes on from a snapshot as if nothing had happened."""

from __future__ import annotations

import io
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from riverrun.api.broadcast_functions import KeyedBroadcastProcessFunction
from riverrun.api.checkpointed import CheckpointedFunction, CheckpointListener
from riverrun.api.functions import KeyedProcessFunction, MapFunction, RuntimeContext
from riverrun.api.sink import Committable, Committer, Sink, SinkWriter, SinkWriterContext
from riverrun.api.source import Polled, Source, SourceReader, SourceReaderContext, SourceStatus
from riverrun.api.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from riverrun.core.clock import ManualClock
from riverrun.core.ids import Attempt, EdgeId, JobId, VertexId
from riverrun.graph.deployment import ChainedOperator, InEdge, OutEdge, TaskDeployment
from riverrun.graph.partitioning import Forward
from riverrun.graph.specs import (
    KeyedBroadcastProcessSpec,
    KeyedProcessSpec,
    MapSpec,
    OperatorSpec,
    ReduceSpec,
    SinkSpec,
    SourceSpec,
)
from riverrun.protocol.barriers import BarrierMode, BarrierOptions, encode_options
from riverrun.protocol.control import (
    CheckpointAborted,
    CheckpointCompleted,
    TriggerCheckpoint,
)
from riverrun.protocol.elements import (
    Barrier,
    Element,
    EndOfChannel,
    EndOfInput,
    Records,
)
from riverrun.protocol.frames import (
    FrameHeader,
    decode_elements,
    encode_control,
    encode_frame,
    encode_records,
)
from riverrun.protocol.snapshots import (
    ChannelRestore,
    OperatorRestore,
    SubtaskSnapshot,
    TaskRestore,
)
from riverrun.runtime.operator_states import TaskResources
from riverrun.runtime.settings import TaskSettings
from riverrun.runtime.task import Task, Turn
from riverrun.serde.runs import PickleRunCodec, decode_run
from riverrun.storage.checkpoint_files import CheckpointFiles, SavedCheckpointFiles
from riverrun.storage.memory import MemoryStorage


class Bench:
    """One task with its channels, a store, and what came out of it."""

    def __init__(
        self,
        spec: OperatorSpec,
        tmp_path: Path,
        *,
        producers: tuple[int, ...] = (0,),
        second: bool = False,
        keyed: bool = False,
        backend: str = "hashmap",
        storage: MemoryStorage | None = None,
        restore: TaskRestore | None = None,
    ) -> None:
        self.clock = ManualClock()
        self.storage = storage or MemoryStorage()
        edges = [] if isinstance(spec, SourceSpec) else [InEdge(EdgeId(1), producers)]
        if second:
            edges.append(InEdge(EdgeId(2), producers, input_index=1))
        key = (lambda value: value[0]) if keyed else None
        outputs = (OutEdge(EdgeId(9), 0, None, Forward(), (0,), 1, 128, {0: 0}),)
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
            operators=(ChainedOperator("op", "op", None, spec, key_selector=key),),
            inputs=tuple(edges),
            outputs=() if isinstance(spec, SinkSpec) else outputs,
            config={"state.backend.type": backend},
            restore=restore,
            checkpoint_folder="memory://x/job",
        )
        saved = SavedCheckpointFiles(self.storage)
        self.task = Task(
            deployment,
            TaskSettings(),
            self.clock,
            TaskResources(tmp_path / str(random.random()), io.BytesIO, saved),
        )
        self.task.open()
        self._sequences: dict[tuple[int, int], int] = {}

    def send(self, *elements: Element, producer: int = 0, edge: int = 1) -> None:
        codec = PickleRunCodec()
        parts: list[Any] = []
        for element in elements:
            if isinstance(element, Records):
                run = codec.encode(element.values)
                parts += encode_records(0, len(element.values), run, element.timestamps)
            else:
                parts.append(encode_control(element))
        sequence = self._sequences.get((edge, producer), 0)
        self._sequences[edge, producer] = sequence + 1
        self.task.receive(encode_frame(FrameHeader(0, edge, producer, 0, sequence), parts))

    def work(self) -> Turn:
        turn = Turn.WORKED
        while turn is Turn.WORKED:
            turn = self.task.turn()
        return turn

    def outputs(self) -> list[Element]:
        self.task.flush()
        return [
            element
            for _, frame in self.task.outbox.take()
            if frame
            for element in decode_elements(frame, lambda tag, data: decode_run(tag, data, None))
        ]

    def values(self) -> list[Any]:
        return [v for e in self.outputs() if isinstance(e, Records) for v in e.values]

    def written(self) -> SubtaskSnapshot:
        (snapshot,) = self.task.take_snapshots()
        files = CheckpointFiles(
            self.storage, "memory://x/job", snapshot.checkpoint, inline_limit=10
        )
        described, _ = snapshot.write(files)
        return described

    def again(self, snapshot: SubtaskSnapshot) -> TaskRestore:
        operators = {
            each.operator_id: OperatorRestore(
                () if each.keyed is None else (each.keyed,), each.lists
            )
            for each in snapshot.operators
        }
        channels = tuple(
            ChannelRestore(each.edge, each.producer, each.blob) for each in snapshot.channels
        )
        return TaskRestore(1, operators, channels, snapshot.finished)


def barrier(checkpoint: int, mode: BarrierMode = BarrierMode.ALIGNED) -> Barrier:
    return Barrier(checkpoint, 0, encode_options(BarrierOptions(mode)))


class Count(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen"))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        count = (self.seen.value() or 0) + 1
        self.seen.update(count)
        yield ctx.get_current_key(), count


@pytest.fixture(params=["hashmap", "rocksdb"])
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_keyed_state_goes_on_from_a_snapshot(tmp_path: Path, backend: str) -> None:
    spec = KeyedProcessSpec(Count())
    first = Bench(spec, tmp_path, keyed=True, backend=backend)
    first.send(Records([("a", 1), ("b", 1), ("a", 1)]), barrier(1), Records([("a", 1)]))
    first.work()
    assert first.values() == [("a", 1), ("b", 1), ("a", 2), ("a", 3)]

    restore = first.again(first.written())
    second = Bench(
        spec, tmp_path, keyed=True, backend=backend, storage=first.storage, restore=restore
    )
    second.send(Records([("a", 1), ("b", 1), ("c", 1)]))
    second.work()

    assert second.values() == [("a", 3), ("b", 2), ("c", 1)]
    assert first.task.close() is None
    assert second.task.close() is None


def test_the_barrier_leaves_behind_the_records_before_it(tmp_path: Path) -> None:
    bench = Bench(MapSpec(lambda value: value), tmp_path, producers=(0, 1))
    bench.send(Records([1]), barrier(1), Records([2]))
    bench.send(Records([3]), producer=1)
    bench.work()
    assert bench.values() == [1, 3]

    bench.send(barrier(1), Records([4]), producer=1)
    bench.work()

    kinds = [e.values if isinstance(e, Records) else type(e).__name__ for e in bench.outputs()]
    assert kinds == ["Barrier", [2, 4]]


def test_an_unaligned_snapshot_keeps_what_is_in_flight(tmp_path: Path) -> None:
    spec = KeyedProcessSpec(Count())
    first = Bench(spec, tmp_path, keyed=True, producers=(0, 1))
    first.send(Records([("a", 1)]), producer=1)
    first.send(
        Records([("a", 1), ("b", 1)]), barrier(1, BarrierMode.UNALIGNED), Records([("z", 1)])
    )
    assert first.task.take_snapshots() == []
    first.work()
    first.send(Records([("b", 1)]), barrier(1, BarrierMode.UNALIGNED), producer=1)
    snapshot = first.written()
    assert len(snapshot.channels) == 2

    second = Bench(
        spec,
        tmp_path,
        keyed=True,
        producers=(0, 1),
        storage=first.storage,
        restore=first.again(snapshot),
    )
    second.work()

    assert sorted(second.values()) == [("a", 1), ("a", 2), ("b", 1), ("b", 2)]


class Total(MapFunction, CheckpointedFunction, CheckpointListener):
    def __init__(self) -> None:
        self.total = 0
        self.heard: list[tuple[str, int]] = []

    def initialize_state(self, context: Any) -> None:
        self.kept = context.get_operator_state_store().get_list_state(ListStateDescriptor("total"))
        self.total = sum(self.kept.get())
        self.restored = context.get_restored_checkpoint_id()

    def snapshot_state(self, context: Any) -> None:
        self.kept.update([self.total])

    def map(self, value: int) -> int:
        self.total += value
        return self.total

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self.heard.append(("complete", checkpoint_id))

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        self.heard.append(("aborted", checkpoint_id))


def test_operator_state_goes_on_and_listeners_hear_of_checkpoints(tmp_path: Path) -> None:
    function = Total()
    first = Bench(MapSpec(function), tmp_path)
    first.send(Records([1, 2]), barrier(1), Records([10]))
    first.work()
    snapshot = first.written()
    first.task.obey(CheckpointCompleted(1))
    first.task.obey(CheckpointAborted(2))
    assert function.heard == [("complete", 1), ("aborted", 2)]

    again = Total()
    second = Bench(MapSpec(again), tmp_path, storage=first.storage, restore=first.again(snapshot))
    second.send(Records([4]))
    second.work()

    assert second.values() == [7]
    assert again.restored == 1


def add(left: tuple[str, int], right: tuple[str, int]) -> tuple[str, int]:
    return left[0], left[1] + right[1]


def test_a_reduce_goes_on_from_a_snapshot(tmp_path: Path, backend: str) -> None:
    first = Bench(ReduceSpec(add), tmp_path, keyed=True, backend=backend)
    first.send(Records([("a", 1), ("a", 2)]), barrier(1))
    first.work()
    restore = first.again(first.written())

    second = Bench(
        ReduceSpec(add),
        tmp_path,
        keyed=True,
        backend=backend,
        storage=first.storage,
        restore=restore,
    )
    second.send(Records([("a", 4)]))
    second.work()

    assert second.values() == [("a", 7)]


RULES = MapStateDescriptor("rules")


class Tag(KeyedBroadcastProcessFunction[Any, Any, Any, Any]):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value[0], ctx.get_broadcast_state(RULES).get(value[0])

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        ctx.get_broadcast_state(RULES)[value[0]] = value[1]
        return []


def test_broadcast_state_goes_on_from_a_snapshot(tmp_path: Path) -> None:
    spec = KeyedBroadcastProcessSpec(Tag(), (RULES,))
    first = Bench(spec, tmp_path, keyed=True, second=True)
    first.send(Records([("a", "rule")]), barrier(1), edge=2)
    first.send(barrier(1))
    first.work()
    restore = first.again(first.written())

    second = Bench(spec, tmp_path, keyed=True, second=True, storage=first.storage, restore=restore)
    second.send(Records([("a", 1), ("b", 1)]))
    second.work()

    assert second.values() == [("a", "rule"), ("b", None)]


class Ten(Source[int]):
    def create_splits(self, parallelism: int) -> list[Any]:
        return [0]

    def create_reader(self, splits: list[Any], context: SourceReaderContext) -> SourceReader[int]:
        return TenReader(splits)


class TenReader(SourceReader[int]):
    def __init__(self, splits: list[Any]) -> None:
        self.at = splits[0]

    def poll(self, limit: int) -> Polled:
        if self.at == 10:
            return Polled(status=SourceStatus.END_OF_INPUT)
        self.at += 1
        return Polled([self.at - 1])

    def snapshot_splits(self) -> list[Any]:
        return [self.at]


def test_a_source_goes_on_at_its_position(tmp_path: Path) -> None:
    first = Bench(SourceSpec(Ten()), tmp_path)
    for _ in range(4):
        first.task.turn()
    first.task.obey(TriggerCheckpoint(1, 0, b""))
    assert [type(e).__name__ for e in first.outputs()][-1] == "Barrier"
    restore = first.again(first.written())

    second = Bench(SourceSpec(Ten()), tmp_path, storage=first.storage, restore=restore)
    second.work()

    assert second.values() == [4, 5, 6, 7, 8, 9]


def test_a_task_ends_after_a_checkpoint_that_covers_its_end(tmp_path: Path) -> None:
    bench = Bench(MapSpec(lambda value: value), tmp_path)
    bench.send(Records([1]), barrier(1), EndOfInput())
    assert bench.work() is Turn.IDLE
    assert bench.task.input_over
    bench.task.take_snapshots()
    bench.task.obey(CheckpointCompleted(1))
    assert bench.work() is Turn.IDLE

    bench.send(barrier(2))
    bench.work()
    assert bench.written().finished
    bench.task.obey(CheckpointCompleted(2))

    assert bench.work() is Turn.FINISHED
    assert [type(e).__name__ for e in bench.outputs()] == [
        "Records", "Barrier", "EndOfInput", "Barrier", "EndOfChannel",
    ]  # fmt: skip


def test_a_task_that_may_end_passes_no_barrier_on(tmp_path: Path) -> None:
    bench = Bench(MapSpec(lambda value: value), tmp_path)
    bench.send(EndOfInput(), barrier(1))
    bench.work()
    bench.task.take_snapshots()
    bench.task.obey(CheckpointCompleted(1))

    # Its producer has not heard that it may end, too.
    bench.send(barrier(2, BarrierMode.UNALIGNED))

    assert bench.work() is Turn.FINISHED
    assert bench.task.take_snapshots() == []
    assert [type(e).__name__ for e in bench.outputs()] == ["EndOfInput", "Barrier", "EndOfChannel"]


def test_a_task_that_had_finished_only_passes_the_end_on(tmp_path: Path) -> None:
    restore = TaskRestore(3, finished=True)
    opened: list[str] = []

    class Loud(MapFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            opened.append("opened")

        def map(self, value: Any) -> Any:
            return value

    bench = Bench(MapSpec(Loud()), tmp_path, restore=restore)
    bench.send(EndOfInput(), barrier(4), EndOfChannel())
    bench.work()
    assert bench.written().finished
    bench.task.obey(CheckpointCompleted(4))

    assert bench.work() is Turn.FINISHED
    assert opened == []


class Ledger(Sink[Any]):
    def __init__(self, committed: list[Any]) -> None:
        self.committed = committed

    def create_writer(self, context: SinkWriterContext) -> SinkWriter[Any]:
        return LedgerWriter()

    def create_committer(self, context: SinkWriterContext) -> Committer:
        return LedgerCommitter(self.committed)


class LedgerWriter(SinkWriter[Any]):
    def __init__(self) -> None:
        self.held: list[Any] = []

    def write(self, value: Any, timestamp: int | None) -> None:
        self.held.append(value)

    def prepare_commit(self) -> list[Any]:
        held, self.held = self.held, []
        return [held] if held else []


class LedgerCommitter(Committer):
    def __init__(self, committed: list[Any]) -> None:
        self.committed = committed

    def commit(self, committables: Iterable[Committable]) -> None:
        self.committed += [(each.id, each.value) for each in committables]


def test_a_sink_commits_when_its_checkpoint_is_complete(tmp_path: Path) -> None:
    committed: list[Any] = []
    bench = Bench(SinkSpec(Ledger(committed)), tmp_path)
    bench.send(Records([1, 2]), barrier(1), Records([3]), barrier(2))
    bench.work()
    assert committed == []

    bench.task.obey(CheckpointAborted(1))
    bench.task.obey(CheckpointCompleted(2))

    assert committed == [("1-0-0", [1, 2]), ("2-0-0", [3])]


def test_a_restored_sink_commits_again_what_its_checkpoint_prepared(tmp_path: Path) -> None:
    first = Bench(SinkSpec(Ledger([])), tmp_path)
    first.send(Records([1, 2]), barrier(1))
    first.work()
    restore = first.again(first.written())
    committed: list[Any] = []

    Bench(SinkSpec(Ledger(committed)), tmp_path, storage=first.storage, restore=restore)
    assert committed == [("1-0-0", [1, 2])]

    finished = replace_finished(restore)
    Bench(SinkSpec(Ledger(committed)), tmp_path, storage=first.storage, restore=finished)
    assert committed == [("1-0-0", [1, 2])] * 2


def replace_finished(restore: TaskRestore) -> TaskRestore:
    return TaskRestore(restore.checkpoint, restore.operators, restore.channels, finished=True)
