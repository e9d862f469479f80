"""Sources one after the other: in order, over restarts and other parallelisms, static or discovering."""

from __future__ import annotations

import pickle
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riverrun.api.functions import MapFunction
from riverrun.api.runtime_context import RuntimeContext
from riverrun.api.source import (
    Boundedness,
    Source,
    SourceReader,
    SourceReaderContext,
    SourceStatus,
)
from riverrun.api.split_enumerator import SplitEnumerator, SplitEnumeratorContext
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.connectors.base.split_queue import SplitQueue
from riverrun.connectors.base.split_reader import OpenSplit, SplitRun, SplitsReader
from riverrun.connectors.collection import CollectionSource
from riverrun.connectors.datagen import DataGeneratorSource
from riverrun.connectors.generated.fields import SequenceField
from riverrun.connectors.generated.source import RowGeneratorSource
from riverrun.connectors.hybrid.messages import HybridSplit
from riverrun.connectors.hybrid.source import HybridSource
from riverrun.connectors.iterator import IteratorSource
from riverrun.connectors.number_sequence import NumberSequenceSource
from riverrun.core.clock import ManualClock
from riverrun.core.errors import ProgramError
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.serde.types import Types
from riverrun.testing.conformance.sources import check_source


@dataclass(frozen=True, slots=True)
class Block:
    """The numbers from ``next`` below ``end``."""

    next: int
    end: int


class Blocks(Source[int]):
    """Numbers in blocks that readers ask for; blocks are found one call at a time."""

    discovers_splits = True

    def __init__(self, first: int, blocks: int, size: int) -> None:
        self.first, self.blocks, self.size = first, blocks, size

    def create_enumerator(self, context: SplitEnumeratorContext) -> SplitEnumerator[Block]:
        return BlockQueue(self, context, ((), 0))

    def restore_enumerator(
        self, context: SplitEnumeratorContext, state: Any
    ) -> SplitEnumerator[Block]:
        return BlockQueue(self, context, state)

    def create_reader(self, splits: list[Any], context: SourceReaderContext) -> SourceReader[int]:
        return BlockReader(splits, context)


class BlockQueue(SplitQueue[Block]):
    def __init__(self, source: Blocks, context: SplitEnumeratorContext, state: Any) -> None:
        waiting, self._found = state
        super().__init__(context, waiting, bounded=self._found == source.blocks)
        self._source = source

    def start(self) -> None:
        self._context.call_async(lambda: None, self._find, period_ms=5)

    def _find(self, result: Any, error: Any) -> None:
        assert (result, error) == (None, None)
        source = self._source
        if self._found < source.blocks:
            start = source.first + self._found * source.size
            self._found += 1
            self.add([Block(start, start + source.size)])
        if self._found == source.blocks:
            self.close_queue()

    def snapshot_state(self, checkpoint: int) -> Any:
        return tuple(self.waiting), self._found


class BlockReader(SplitsReader[int]):
    def open_split(self, split: Block) -> OpenSplit[int]:
        return OpenBlock(split)

    def name_of(self, split: Block) -> str:
        return str(split.end)


class OpenBlock(OpenSplit[int]):
    def __init__(self, block: Block) -> None:
        self._block = block

    def read(self, limit: int) -> SplitRun:
        block = self._block
        stop = min(block.next + limit, block.end)
        self._block = Block(stop, block.end)
        return SplitRun(list(range(block.next, stop)), finished=stop == block.end)

    def split(self) -> Block:
        return self._block


class Hub:
    """Readers and their enumerator, with messages that arrive in order, one a step."""

    def __init__(
        self,
        source: Source[Any],
        parallelism: int,
        saved: tuple[Any, list[Any]] | None = None,
    ) -> None:
        self._source = source = pickle.loads(pickle.dumps(source))
        self.parallelism = parallelism
        self.clock = ManualClock()
        self.registered_readers: Sequence[int] = ()
        self.config: Mapping[str, str] = {}
        self._down: deque[Callable[[], None]] = deque()
        self._up: deque[Callable[[], None]] = deque()
        self._calls: list[tuple[Any, Any, Any]] = []
        self.values: list[list[Any]] = [[] for _ in range(parallelism)]
        self.ended: set[int] = set()
        state, splits = (None, []) if saved is None else saved
        self._enumerator = (
            source.create_enumerator(self)
            if saved is None
            else source.restore_enumerator(self, state)
        )
        self._enumerator.start()
        self._readers = [
            source.create_reader(splits[subtask::parallelism], self._context(subtask))
            for subtask in range(parallelism)
        ]
        for subtask, reader in enumerate(self._readers):
            reader.open()
            self._up.append(lambda subtask=subtask: self._register(subtask))  # type: ignore[misc]

    def _context(self, subtask: int) -> SourceReaderContext:
        def event(event: Any) -> None:
            event = pickle.loads(pickle.dumps(event))
            self._up.append(lambda: self._enumerator.handle_source_event(subtask, event))

        return SourceReaderContext(
            subtask,
            self.parallelism,
            self.clock,
            send_split_request=lambda: self._up.append(
                lambda: self._enumerator.handle_split_request(subtask)
            ),
            send_source_event=event,
        )

    def _register(self, subtask: int) -> None:
        self.registered_readers = [*self.registered_readers, subtask]
        self._enumerator.add_reader(subtask)

    def assign_splits(self, splits: Sequence[Any], subtask: int) -> None:
        if splits:
            self._down.append(lambda: self._readers[subtask].add_splits(splits))

    def signal_no_more_splits(self, subtask: int) -> None:
        self._down.append(self._readers[subtask].notify_no_more_splits)

    def send_event_to_reader(self, subtask: int, event: Any) -> None:
        self._down.append(lambda: self._readers[subtask].handle_source_event(event))

    def call_async(
        self, call: Any, then: Any, *, initial_delay_ms: float = 0.0, period_ms: Any = None
    ) -> None:
        self._calls.append((call, then, period_ms))

    def step(self) -> None:
        if self._up:
            self._up.popleft()()
        if self._down:
            self._down.popleft()()
        calls, self._calls = self._calls, []
        for call, then, period in calls:
            if period is not None:
                self._calls.append((call, then, period))
            then(call(), None)
        for subtask, reader in enumerate(self._readers):
            if subtask in self.ended:
                continue
            polled = reader.poll(3)
            self.values[subtask] += list(polled.values)
            if polled.status is SourceStatus.END_OF_INPUT:
                self.ended.add(subtask)

    def run(self, steps: int = 1000) -> None:
        while len(self.ended) < self.parallelism:
            assert steps > 0, "the source does not end"
            steps -= 1
            self.step()

    def save(self) -> tuple[Any, list[Any]]:
        """What a checkpoint has: assigned before the enumerator's part means delivered before the reader's."""
        state = self._enumerator.snapshot_state(1)
        for message in self._down:
            message()
        self._down.clear()
        splits = [split for reader in self._readers for split in reader.snapshot_splits()]
        saved: tuple[Any, list[Any]] = pickle.loads(pickle.dumps((state, splits)))
        return saved

    def close(self) -> None:
        for reader in self._readers:
            reader.close()
        self._enumerator.close()


def hybrid(*sources: Source[Any]) -> HybridSource:
    builder = HybridSource.builder(sources[0])
    for source in sources[1:]:
        builder = builder.add_source(source)
    return builder.build()


def above_ten(index: int) -> int:
    return index + 10


SOURCES: dict[str, HybridSource] = {
    "one static": hybrid(NumberSequenceSource(0, 29)),
    "two static": hybrid(NumberSequenceSource(0, 9), DataGeneratorSource(above_ten, 20)),
    "static, then discovering": hybrid(NumberSequenceSource(0, 9), Blocks(10, 5, 4)),
    "discovering, then static": hybrid(Blocks(0, 5, 4), NumberSequenceSource(20, 29)),
    "three": hybrid(Blocks(0, 3, 4), NumberSequenceSource(12, 17), Blocks(18, 3, 4)),
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
@pytest.mark.parametrize("parallelism", [1, 3])
def test_every_record_comes_once(source: HybridSource, parallelism: int) -> None:
    hub = Hub(source, parallelism)
    hub.run()

    found = [value for values in hub.values for value in values]
    assert sorted(found) == list(range(30))


def test_a_source_begins_when_all_readers_are_done_with_the_one_before() -> None:
    hub = Hub(SOURCES["three"], 2)
    seen: list[int] = []
    while len(hub.ended) < 2:
        before = [len(values) for values in hub.values]
        hub.step()
        seen += [v for values, n in zip(hub.values, before, strict=True) for v in values[n:]]

    bounds = [0 if value < 12 else 1 if value < 18 else 2 for value in seen]
    assert bounds == sorted(bounds)


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
@settings(max_examples=25)
@given(cuts=st.lists(st.integers(0, 25), max_size=3), parallelisms=st.lists(st.integers(1, 3)))
def test_a_checkpoint_anywhere_goes_on_at_any_parallelism(
    source: HybridSource, cuts: list[int], parallelisms: list[int]
) -> None:
    found: list[Any] = []
    saved = None
    for cut, parallelism in zip(cuts, [*parallelisms, 2, 2, 2], strict=False):
        hub = Hub(source, parallelism, saved)
        for _ in range(cut):
            hub.step()
        saved = hub.save()
        found += [value for values in hub.values for value in values]
        hub.close()
    hub = Hub(source, 2, saved)
    hub.run()

    assert sorted([*found, *(v for values in hub.values for v in values)]) == list(range(30))


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_a_hybrid_source_passes_what_every_source_must(source: HybridSource) -> None:
    check_source(lambda: source, range(30), seeds=range(5))


def test_only_the_last_source_may_go_on_for_ever() -> None:
    endless = DataGeneratorSource(int)
    source = hybrid(NumberSequenceSource(0, 1), endless)

    assert source.get_boundedness() is Boundedness.CONTINUOUS_UNBOUNDED
    with pytest.raises(ProgramError, match="source 1, a DataGeneratorSource, has no end"):
        HybridSource.builder(endless).add_source(NumberSequenceSource(0, 1))
    with pytest.raises(TypeError, match="add_source got 3; expected a Source"):
        HybridSource.builder(endless.__class__(int, 1)).add_source(3)  # type: ignore[arg-type]


def test_a_program_with_fewer_sources_cannot_go_on_where_one_with_more_was() -> None:
    hub = Hub(SOURCES["two static"], 1)
    hub.run()
    state, _ = hub.save()

    with pytest.raises(ProgramError, match="goes on with source 2 of what has now 1"):
        SOURCES["one static"].restore_enumerator(hub, state)


def test_the_type_is_the_one_that_all_have() -> None:
    numbers = NumberSequenceSource(0, 1)
    assert hybrid(numbers, numbers).get_produced_type() == Types.LONG()
    assert hybrid(numbers, CollectionSource(["a"])).get_produced_type() is None
    assert hybrid(numbers, CollectionSource(["a"])).get_forced_parallelism() == 1
    assert hybrid(numbers, numbers).get_forced_parallelism() is None


def test_runs_are_columns_if_all_of_them_are() -> None:
    rows = RowGeneratorSource({"n": SequenceField(0, 4)})

    assert hybrid(rows, rows).gives_columns
    mixed = hybrid(rows, CollectionSource(["end"]))
    assert not mixed.gives_columns
    hub = Hub(mixed, 1)
    hub.run()
    assert [getattr(value, "n", value) for value in hub.values[0]] == [0, 1, 2, 3, 4, "end"]


@pytest.mark.parametrize("pauses", [True, False])
def test_splits_that_are_ahead_are_not_read(pauses: bool) -> None:
    numbers = NumberSequenceSource(0, 9)
    inner: Source[Any] = numbers if pauses else IteratorSource(lambda: iter(range(10)))
    inner_splits = [HybridSplit(0, each) for each in inner.create_splits(2)]
    context = SourceReaderContext(0, 1, ManualClock(), send_source_event=lambda event: None)
    reader = HybridSource([inner]).create_reader(inner_splits, context)
    reader.open()
    reader.notify_no_more_splits()
    names = list(reader.split_ids())
    assert names == (["0:0", "0:1"] if pauses else ["0"])

    reader.pause_or_resume_splits(names[-1:], [])
    seen = {reader.poll(1).split for _ in range(3)}
    assert seen == ({"0:0"} if pauses else {None})
    reader.pause_or_resume_splits([], names[-1:])
    while (polled := reader.poll(1)).split != names[-1] or not polled.values:
        assert polled.status is not SourceStatus.END_OF_INPUT
    reader.close()


class FailsOnce(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self._fails = runtime_context.get_attempt_number() == 0

    def map(self, value: int) -> int:
        if self._fails and value == 1700:
            raise ValueError("once")
        return value


@pytest.fixture
def env() -> Iterator[StreamExecutionEnvironment]:
    config = {
        "riverrun.master": "in-process",
        "execution.checkpointing.interval": "20 ms",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.delay": "0 ms",
    }
    with StreamExecutionEnvironment.get_execution_environment(config) as env:
        yield env.set_parallelism(2)


def test_a_job_that_fails_in_the_second_source_gives_every_record_once(
    env: StreamExecutionEnvironment,
) -> None:
    source = hybrid(
        Blocks(0, 10, 100),
        DataGeneratorSource(lambda i: i + 1000, 1000, rate_per_second=1000),
        NumberSequenceSource(2000, 2099),
    )
    stream = env.from_source(source, WatermarkStrategy.for_monotonous_timestamps(), "all")

    with stream.map(FailsOnce()).execute_and_collect() as results:
        assert Counter(results) == Counter(range(2100))
