"""A task takes what was in flight before all else, and of what others had only its own records."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riverrun.api.broadcast_functions import KeyedBroadcastProcessFunction
from riverrun.api.functions import KeyedProcessFunction
from riverrun.api.state import MapStateDescriptor, ValueStateDescriptor
from riverrun.checkpoint.restore_channels import EdgeMove, Ends
from riverrun.core.clock import ManualClock
from riverrun.core.ids import Attempt, EdgeId, JobId, VertexId
from riverrun.graph.deployment import ChainedOperator, InEdge, OutEdge, TaskDeployment
from riverrun.graph.partitioning import (
    Broadcast,
    Custom,
    Forward,
    Hash,
    Partitioning,
    Rebalance,
)
from riverrun.graph.reinterpreted_key import ReinterpretedKey
from riverrun.graph.specs import (
    KeyedBroadcastProcessSpec,
    KeyedProcessSpec,
    MapSpec,
    OperatorSpec,
)
from riverrun.protocol.barriers import BarrierMode, BarrierOptions, encode_options
from riverrun.protocol.control import TriggerCheckpoint
from riverrun.protocol.elements import MIN_TIMESTAMP, Element, Records, Watermark
from riverrun.protocol.frames import (
    FrameError,
    FrameHeader,
    decode_elements,
    encode_control,
    encode_frame,
    encode_records,
)
from riverrun.protocol.snapshots import ChannelRestore, Share, SubtaskSnapshot, TaskRestore
from riverrun.runtime.failures import OperatorFailed
from riverrun.runtime.inputs import Inputs
from riverrun.runtime.operator_states import TaskResources
from riverrun.runtime.operators.broadcast import DoubtfulBroadcast
from riverrun.runtime.partitioners import PartitionOutOfRange
from riverrun.runtime.restored_channels import UnsteadyPartitioner, restored_runs
from riverrun.runtime.settings import TaskSettings
from riverrun.runtime.task import Task, Turn
from riverrun.serde.row import Row
from riverrun.serde.runs import codec_for, decode_run
from riverrun.serde.stable_hash import key_group
from riverrun.serde.type_info import TypeInformation
from riverrun.serde.types import Types
from riverrun.storage.blobs import Blob, InlineBlob
from riverrun.storage.checkpoint_files import CheckpointFiles, SavedCheckpointFiles
from riverrun.storage.memory import MemoryStorage

GROUPS = 16
PAIRS = Types.ROW_NAMED(["key", "number"], [Types.LONG(), Types.LONG()])


def first_of(value: Any) -> Any:
    return value[0]


def same(value: Any) -> Any:
    return value


def run(
    values: Sequence[Any], times: list[int] | None = None, type_info: TypeInformation | None = None
) -> bytes:
    codec = codec_for(type_info)
    return b"".join(encode_records(codec.tag, len(values), codec.encode(list(values)), times))


def deployment(
    channels: Iterable[ChannelRestore],
    partitioning: Partitioning,
    *,
    spec: OperatorSpec | None = None,
    subtask: int = 0,
    parallelism: int = 1,
    producers: tuple[int, ...] = (0, 1),
    key: Callable[[Any], Any] | None = None,
    type_info: TypeInformation | None = None,
) -> TaskDeployment:
    operator = ChainedOperator("op", "op", None, spec or MapSpec(same), key_selector=key)
    inputs = [InEdge(EdgeId(1), producers, 0, type_info, partitioning)]
    if isinstance(spec, KeyedBroadcastProcessSpec):
        inputs.append(InEdge(EdgeId(2), producers, 1, None, Broadcast()))
    return TaskDeployment(
        job=JobId("0" * 32),
        job_name="job",
        attempt=Attempt(0),
        vertex=VertexId("op"),
        name="task",
        subtask=subtask,
        parallelism=parallelism,
        max_parallelism=GROUPS,
        layer=0,
        partition=0,
        operators=(operator,),
        inputs=tuple(inputs),
        outputs=(OutEdge(EdgeId(9), 0, None, Forward(), (0,), 1, GROUPS, {0: 0}),),
        restore=TaskRestore(1, {}, tuple(channels)),
        checkpoint_folder="memory://x/job",
    )


class _Inline:
    """Reads blobs that are their own content."""

    def read(self, blob: Blob) -> bytes:
        assert isinstance(blob, InlineBlob)
        return blob.data

    def fetch(self, blob: Blob, target: Path) -> None:
        raise NotImplementedError


def taken(described: TaskDeployment, type_info: TypeInformation | None = None) -> Records:
    """All records that the subtask gets, in order."""
    values: list[Any] = []
    times: list[int] = []
    for restored in restored_runs(described, _Inline()):
        records = restored.run.decode(lambda tag, data: decode_run(tag, data, type_info))
        values += records.values
        times += records.timestamps or ()
    return Records(values, times or None)


@dataclass(frozen=True)
class InFlight:
    """Records on every channel of an edge by key, each with its number, and the sizes before and after."""

    runs: dict[tuple[int, int], list[list[tuple[int, int]]]]
    was: Ends
    now: Ends


@st.composite
def in_flight_by_key(draw: st.DrawFn) -> InFlight:
    was, now = (Ends(draw(st.integers(1, 3)), draw(st.integers(1, 4)), GROUPS) for _ in range(2))
    number = 0
    runs: dict[tuple[int, int], list[list[tuple[int, int]]]] = {}
    for producer in range(was.producers):
        for keys in draw(st.lists(st.lists(st.integers(0, 30), max_size=8), max_size=3)):
            sent: dict[int, list[tuple[int, int]]] = {}
            for key in keys:
                number += 1
                owner = key_group(key, GROUPS) * was.consumers // GROUPS
                sent.setdefault(owner, []).append((key, number))
            for consumer, pairs in sent.items():
                runs.setdefault((consumer, producer), []).append(pairs)
    return InFlight(runs, was, now)


@given(in_flight_by_key(), st.booleans(), st.booleans())
@settings(max_examples=80)
def test_every_record_finds_the_owner_of_its_key_once_and_in_order(
    given: InFlight, timed: bool, typed: bool
) -> None:
    type_info = PAIRS if typed else None
    move = EdgeMove(1, VertexId("op"), "Hash", Hash(first_of), given.was, given.now)
    assigned: list[list[ChannelRestore]] = [[] for _ in range(given.now.consumers)]
    for (consumer, producer), runs in sorted(given.runs.items()):
        encoded = [run(_rows(each, typed), _times(each, timed), type_info) for each in runs]
        for taker, share in move.takers(consumer, producer):
            channel = move.producer_for(taker, producer)
            restore = ChannelRestore(1, channel, InlineBlob(b"".join(encoded)), share)
            assigned[taker].append(restore)

    found = [
        taken(
            deployment(
                channels,
                Hash(first_of),
                subtask=index,
                parallelism=given.now.consumers,
                producers=tuple(range(given.now.producers)),
                type_info=type_info,
            ),
            type_info,
        )
        for index, channels in enumerate(assigned)
    ]

    everything = [pair for runs in given.runs.values() for pairs in runs for pair in pairs]
    assert sorted(tuple(each) for got in found for each in got.values) == sorted(everything)
    for index, got in enumerate(found):
        pairs = [tuple(each) for each in got.values]
        assert all(key_group(k, GROUPS) * given.now.consumers // GROUPS == index for k, _ in pairs)
        for runs in given.runs.values():
            for key in {key for each in runs for key, _ in each}:
                sent = [pair for each in runs for pair in each if pair[0] == key]
                assert [pair for pair in pairs if pair in sent] in ([], sent)
        assert (got.timestamps or []) == ([number for _, number in pairs] if timed else [])


def _rows(pairs: list[tuple[int, int]], typed: bool) -> list[Any]:
    return [Row(*pair) for pair in pairs] if typed else pairs


def _times(pairs: list[tuple[int, int]], timed: bool) -> list[int] | None:
    return [number for _, number in pairs] if timed else None


def one_channel(values: Sequence[Any], share: Share = Share.OWN) -> list[ChannelRestore]:
    return [ChannelRestore(1, 0, InlineBlob(run(values)), share)]


def test_a_partitioner_of_the_user_says_who_gets_a_record() -> None:
    def partition(key: int, count: int) -> int:
        return key % count

    channels = one_channel([(number, "x") for number in range(7)])
    found = [
        taken(deployment(channels, Custom(partition, first_of), subtask=each, parallelism=3))
        for each in range(3)
    ]

    assert [[value[0] for value in got.values] for got in found] == [[0, 3, 6], [1, 4], [2, 5]]


class InTurn:
    """Not a function of its arguments."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, key: Any, count: int) -> int:
        self.calls += 1
        return self.calls % count


def failure_of(partitioning: Partitioning, values: Sequence[Any]) -> BaseException | None:
    with pytest.raises(OperatorFailed, match="key selector or partitioner of op") as failed:
        taken(deployment(one_channel(values), partitioning, parallelism=3))
    return failed.value.__cause__


def test_a_partitioner_that_answers_otherwise_each_time_is_found_out() -> None:
    cause = failure_of(Custom(InTurn(), first_of), [("a", 1)])

    assert isinstance(cause, UnsteadyPartitioner)
    assert str(cause) == (
        "the partitioner returned 1 and then 2 for the key 'a', so it cannot be told which subtask gets "
        "the records that were in flight; restore the checkpoint with the parallelism that it was taken "
        "with, or from a savepoint"
    )


@pytest.mark.parametrize("answer", [3, -1, "one"])
def test_a_partitioner_that_names_nobody_is_refused(answer: Any) -> None:
    cause = failure_of(Custom(lambda key, count: answer, first_of), [("a", 1)])

    assert isinstance(cause, PartitionOutOfRange)


def test_a_key_selector_that_fails_is_named() -> None:
    assert isinstance(failure_of(Hash(first_of), [7]), TypeError)


def test_a_forward_channel_is_for_whom_it_was_dealt_to() -> None:
    for share, expected in ((Share.ALL_UNLESS_KEYED, [1, 2]), (Share.NONE_UNLESS_KEYED, [])):
        channels = one_channel([1, 2], share)
        assert taken(deployment(channels, Forward(), parallelism=2)).values == expected


@pytest.mark.parametrize("share", [Share.ALL_UNLESS_KEYED, Share.NONE_UNLESS_KEYED])
def test_a_forward_channel_of_a_stream_reinterpreted_as_keyed_goes_by_key(share: Share) -> None:
    channels = one_channel([(key, 0) for key in range(20)], share)
    found = [
        taken(
            deployment(
                channels,
                Forward(),
                subtask=each,
                parallelism=3,
                key=ReinterpretedKey(first_of),
            )
        )
        for each in range(3)
    ]

    assert [[value[0] for value in got.values] for got in found] == [
        [key for key in range(20) if key_group(key, GROUPS) * 3 // GROUPS == each]
        for each in range(3)
    ]


@pytest.mark.parametrize(("edge", "producer"), [(7, 0), (1, 5)])
def test_state_of_a_channel_that_is_not_there_is_refused(edge: int, producer: int) -> None:
    channel = ChannelRestore(edge, producer, InlineBlob(run([1])))

    with pytest.raises(FrameError, match="there is no such channel here"):
        taken(deployment([channel], Rebalance()))


def test_what_memory_cannot_hold_waits_in_a_file_and_in_order() -> None:
    files: list[io.BytesIO] = []

    def open_spill() -> io.BytesIO:
        files.append(io.BytesIO())
        return files[-1]

    channels = [
        ChannelRestore(1, each % 2, InlineBlob(run([each] * 100) + run([each + 100])))
        for each in range(6)
    ]
    described = deployment(channels, Rebalance())
    inputs = Inputs(described.inputs, 0, memory_bytes=300, open_spill=open_spill)

    inputs.restore(restored_runs(described, _Inline()))

    assert inputs.waiting_records == 606
    values: list[Any] = []
    while (got := inputs.take(70, set())) is not None:
        assert isinstance(got[1], Records)
        values += got[1].values
    assert values == [v for each in range(6) for v in [each] * 100 + [each + 100]]
    assert len(files) == 1
    assert files[0].closed
    assert not inputs.waiting


class Bench:
    """One task that starts with something in flight."""

    def __init__(self, described: TaskDeployment, folder: Path, storage: MemoryStorage) -> None:
        self.storage = storage
        resources = TaskResources(folder, io.BytesIO, SavedCheckpointFiles(storage))
        self.task = Task(described, TaskSettings(longest_run=1), ManualClock(), resources)
        self.task.open()
        self._sequences: dict[tuple[int, int], int] = {}

    def send(self, *elements: Element, producer: int = 0, edge: int = 1) -> None:
        parts = [
            run(each.values, each.timestamps) if isinstance(each, Records) else encode_control(each)
            for each in elements
        ]
        sequence = self._sequences.get((edge, producer), 0)
        self._sequences[edge, producer] = sequence + 1
        self.task.receive(encode_frame(FrameHeader(0, edge, producer, 0, sequence), parts))

    def values(self) -> list[Any]:
        while self.task.turn() is Turn.WORKED:
            pass
        self.task.flush()
        return [
            value
            for _, frame in self.task.outbox.take()
            if frame
            for element in decode_elements(frame, lambda tag, data: decode_run(tag, data, None))
            if isinstance(element, Records)
            for value in element.values
        ]

    def unaligned(self, checkpoint: int) -> SubtaskSnapshot:
        """A checkpoint whose barriers have all come, as it was written."""
        options = encode_options(BarrierOptions(BarrierMode.UNALIGNED))
        self.task.obey(TriggerCheckpoint(checkpoint, 0, options))
        self.task._checkpoints._logs_complete()
        (snapshot,) = self.task.take_snapshots()
        files = CheckpointFiles(self.storage, "memory://x/job", checkpoint, inline_limit=10_000)
        return snapshot.write(files)[0]


def in_order(snapshot: SubtaskSnapshot) -> list[ChannelRestore]:
    return [
        ChannelRestore(
            each.edge, each.producer, each.blob, Share.DOUBTFUL if each.doubtful else Share.ALL
        )
        for each in snapshot.channels
    ]


def test_what_was_restored_stays_first_and_in_order_in_the_next_checkpoint(
    tmp_path: Path,
) -> None:
    # Split 'a' was read by producer 0 and is read by producer 1 since the job was rescaled.
    channels = [
        ChannelRestore(1, 1, InlineBlob(run(["b1", "b2"]))),
        ChannelRestore(1, 0, InlineBlob(run(["a1"]))),
    ]
    storage = MemoryStorage()
    first = Bench(deployment(channels, Rebalance()), tmp_path / "1", storage)
    first.task.turn()
    first.send(Records(["a2", "b3"]), producer=1)
    first.send(Records(["c1"]), producer=0)

    snapshot = first.unaligned(2)

    assert [each.producer for each in snapshot.channels] == [1, 0, 1, 0]
    second = Bench(deployment(in_order(snapshot), Rebalance()), tmp_path / "2", storage)
    second.send(Records(["a3"]), producer=1)
    third = Bench(deployment(in_order(second.unaligned(3)), Rebalance()), tmp_path / "3", storage)
    assert third.values() == ["b2", "a1", "a2", "b3", "c1", "a3"]
    assert first.values() == ["b1", "b2", "a1", "a2", "b3", "c1"]


class TellsTime(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        yield value[1], ctx.timer_service().current_watermark()


def test_no_watermark_is_ahead_of_what_was_in_flight(tmp_path: Path) -> None:
    channels = [
        ChannelRestore(1, 0, InlineBlob(run([("a", "old 1"), ("a", "old 2")], [5, 6]))),
        ChannelRestore(1, 1, InlineBlob(run([("a", "old 3")], [4]))),
    ]
    spec = KeyedProcessSpec(TellsTime())
    described = deployment(channels, Hash(first_of), spec=spec, key=first_of)
    bench = Bench(described, tmp_path, MemoryStorage())

    for producer in (0, 1):
        bench.send(Watermark(100), Records([("a", "new")], [101]), producer=producer)

    assert bench.values() == [
        ("old 1", MIN_TIMESTAMP),
        ("old 2", MIN_TIMESTAMP),
        ("old 3", MIN_TIMESTAMP),
        ("new", MIN_TIMESTAMP),
        ("new", 100),
    ]


SEEN = ValueStateDescriptor("seen")
RULES = MapStateDescriptor("rules")


class AppliesToKeys(KeyedBroadcastProcessFunction[Any, Any, Any, Any]):
    """Adds each broadcast number to every key, unless it is 0."""

    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_state(SEEN)

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        self.seen.update(value[1])
        return []

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        found: list[Any] = []
        if value:
            ctx.apply_to_keyed_state(SEEN, lambda key, state: found.append((key, state.value())))
        yield value, found


def doubtful(folder: Path, values: Sequence[int], storage: MemoryStorage) -> Bench:
    channels = [
        ChannelRestore(1, 0, InlineBlob(run([("a", 7)]))),
        ChannelRestore(2, 0, InlineBlob(run(values)), Share.DOUBTFUL),
    ]
    spec = KeyedBroadcastProcessSpec(AppliesToKeys(), (RULES,))
    return Bench(deployment(channels, Hash(first_of), spec=spec, key=first_of), folder, storage)


def test_a_doubtful_broadcast_record_is_not_applied_to_keys(tmp_path: Path) -> None:
    bench = doubtful(tmp_path, [1], MemoryStorage())

    with pytest.raises(OperatorFailed) as failed:
        bench.values()

    assert isinstance(failed.value.__cause__, DoubtfulBroadcast)
    assert "operator 'op': apply_to_keyed_state('seen')" in str(failed.value.__cause__)
    assert "or rescale from a savepoint" in str(failed.value.__cause__)


def test_broadcast_records_that_come_later_are_applied(tmp_path: Path) -> None:
    bench = doubtful(tmp_path, [0], MemoryStorage())
    bench.send(Records([2]), edge=2)

    assert bench.values() == [(0, []), (2, [("a", 7)])]


def test_doubtful_records_are_doubtful_in_the_next_checkpoint_too(tmp_path: Path) -> None:
    bench = doubtful(tmp_path, [0, 0], MemoryStorage())
    bench.send(Records([1]), edge=2)
    bench.task.turn()
    bench.task.turn()

    snapshot = bench.unaligned(2)

    assert [(each.edge, each.doubtful) for each in snapshot.channels] == [(2, True), (2, False)]
