"""Sources that know their position: collection, number sequence, generator, iterator."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from riverrun.api.functions import RuntimeContext, SourceFunction
from riverrun.api.source import Boundedness, Source, SourceReader, SourceStatus
from riverrun.connectors.collection import CollectionSource
from riverrun.connectors.datagen import DataGeneratorSource, GeneratorFunction
from riverrun.connectors.index_ranges import contiguous_splits, strided_splits
from riverrun.connectors.iterator import IteratorSource
from riverrun.connectors.number_sequence import NumberSequenceSource
from riverrun.core.clock import ManualClock
from riverrun.serde.types import Types
from tests.unit.connectors.conftest import MakeReader, drain

shared_fixture = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def square(index: int) -> int:
    return index * index


def letters() -> Iterator[str]:
    yield from "abcdefgh"


BOUNDED: list[Source[Any]] = [
    CollectionSource(range(10)),
    NumberSequenceSource(0, 9),
    DataGeneratorSource(int, 10),
    IteratorSource(range(10).__iter__),
]
KINDS = ["collection", "number sequence", "generator", "iterator"]


@pytest.mark.parametrize("source", BOUNDED, ids=KINDS)
@pytest.mark.parametrize("parallelism", [1, 2, 3, 20])
def test_all_subtasks_together_give_everything_once(
    make_reader: MakeReader, source: Source[Any], parallelism: int
) -> None:
    readers = [make_reader(source, subtask, parallelism) for subtask in range(parallelism)]

    assert sorted(value for reader in readers for value in drain(reader)) == list(range(10))


@pytest.mark.parametrize("source", BOUNDED, ids=KINDS)
@shared_fixture
@given(polls=st.lists(st.integers(1, 4), max_size=4), new_parallelism=st.integers(1, 3))
def test_a_reader_made_from_a_snapshot_goes_on_where_the_other_was(
    make_reader: MakeReader, source: Source[Any], polls: list[int], new_parallelism: int
) -> None:
    values: list[Any] = []
    splits: list[Any] = []
    for subtask in range(2):
        reader = make_reader(source, subtask, 2)
        for limit in polls:
            values += reader.poll(limit).values
        splits += reader.snapshot_splits()
        reader.close()

    for subtask in range(new_parallelism):
        share = splits[subtask::new_parallelism]
        values += drain(make_reader(source, subtask, new_parallelism, share))

    assert sorted(values) == list(range(10))


def test_a_collection_is_in_order(make_reader: MakeReader) -> None:
    source = CollectionSource(iter([3, None, "x"]))

    assert drain(make_reader(source), limit=2) == [3, None, "x"]
    assert source.get_forced_parallelism() == 1
    assert source.get_boundedness() is Boundedness.BOUNDED


def test_an_empty_collection_ends_at_once(make_reader: MakeReader) -> None:
    assert drain(make_reader(CollectionSource([]))) == []


def test_a_number_sequence_includes_both_ends(make_reader: MakeReader) -> None:
    assert drain(make_reader(NumberSequenceSource(-1, 1))) == [-1, 0, 1]
    assert drain(make_reader(NumberSequenceSource(7, 7))) == [7]
    with pytest.raises(ValueError, match="goes from 2 to 1"):
        NumberSequenceSource(2, 1)


@given(st.integers(-50, 50), st.integers(0, 100), st.integers(1, 10))
def test_contiguous_splits_cover_the_range_evenly(start: int, count: int, parts: int) -> None:
    splits = contiguous_splits(start, start + count, parts)

    ranges = [split.take(count + 1)[0] for split in splits]
    assert [index for part in ranges for index in part] == list(range(start, start + count))
    assert max(map(len, ranges)) - min(map(len, ranges)) <= 1


@given(st.integers(0, 100), st.integers(1, 10))
def test_strided_splits_cover_the_range(count: int, parts: int) -> None:
    splits = strided_splits(count, parts)

    assert sorted(index for split in splits for index in split.take(count + 1)[0]) == list(
        range(count)
    )


def test_a_generator_is_typed_by_its_annotation_unless_told_otherwise() -> None:
    assert DataGeneratorSource(square).get_produced_type() == Types.LONG()
    assert DataGeneratorSource(square, output_type=Types.INT()).get_produced_type() == Types.INT()
    assert DataGeneratorSource(lambda index: index).get_produced_type() is None


def test_an_unbounded_generator_goes_on(make_reader: MakeReader) -> None:
    source = DataGeneratorSource(square)
    reader = make_reader(source, subtask=1, parallelism=2)

    assert reader.poll(2).values == [1, 9]
    assert reader.poll(2).values == [25, 49]
    assert source.get_boundedness() is Boundedness.CONTINUOUS_UNBOUNDED


def test_unbounded_splits_of_one_reader_take_turns(make_reader: MakeReader) -> None:
    source = DataGeneratorSource(square)
    reader = make_reader(source, splits=source.create_splits(2))

    assert [reader.poll(1).values for _ in range(4)] == [[0], [1], [4], [9]]


class Tracked(GeneratorFunction):
    life: list[str] = []  # noqa: RUF012  (shared with the copy that the reader gets)

    def open(self, runtime_context: RuntimeContext) -> None:
        self.life.append(f"open {runtime_context.get_index_of_this_subtask()}")

    def map(self, value: int) -> str:
        return f"record {value}"

    def close(self) -> None:
        self.life.append("close")


def test_a_generator_function_is_opened_and_closed(make_reader: MakeReader) -> None:
    Tracked.life.clear()
    reader = make_reader(DataGeneratorSource(Tracked(), 2), subtask=0, parallelism=1)
    values = drain(reader)
    reader.close()

    assert values == ["record 0", "record 1"]
    assert Tracked.life == ["open 0", "close"]


def produced(reader: SourceReader[Any], clock: ManualClock, seconds: float) -> int:
    """How many records come while the clock goes on, asking only when the reader said to."""
    total, end = 0, clock.monotonic() + seconds * 1000
    while clock.monotonic() < end:
        polled = reader.poll(1000)
        total += len(polled.values)
        if polled.status is SourceStatus.END_OF_INPUT:
            break
        if polled.status is SourceStatus.NOTHING_AVAILABLE:
            assert polled.wait_ms >= 1.0
            clock.advance(polled.wait_ms)
    return total


@pytest.mark.parametrize("rate", [0.5, 3, 100, 12_345.6])
@pytest.mark.parametrize("parallelism", [1, 3])
def test_the_rate_is_that_of_all_subtasks_together(
    make_reader: MakeReader, clock: ManualClock, rate: float, parallelism: int
) -> None:
    source = DataGeneratorSource(square, None, rate)
    reader = make_reader(source, 0, parallelism)

    count = produced(reader, clock, seconds=20)

    assert count == pytest.approx(20 * rate / parallelism, abs=1.01 + rate / 500)


def test_the_rate_survives_a_rescale(make_reader: MakeReader, clock: ManualClock) -> None:
    source = DataGeneratorSource(square, None, 100)
    reader = make_reader(source, splits=source.create_splits(4))

    assert produced(reader, clock, seconds=10) == pytest.approx(1000, abs=2)


def test_lost_time_is_caught_up_for_a_second_at_most(
    make_reader: MakeReader, clock: ManualClock
) -> None:
    reader = make_reader(DataGeneratorSource(square, None, 100))
    clock.advance(60_000)

    assert len(reader.poll(1000).values) == 100


def test_a_rate_limited_generator_ends(make_reader: MakeReader, clock: ManualClock) -> None:
    reader = make_reader(DataGeneratorSource(square, 5, 100))

    assert produced(reader, clock, seconds=10) == 5
    assert reader.poll(10).status is SourceStatus.END_OF_INPUT


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((3,), TypeError, "the generator is 3"),
        ((square, -1), ValueError, "the count is -1"),
        ((square, 1, 0), ValueError, r"the rate is 0 records/s"),
    ],
)
def test_a_generator_that_makes_no_sense_is_refused(
    arguments: tuple[Any, ...], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        DataGeneratorSource(*arguments)


def test_an_iterator_is_read_in_order(make_reader: MakeReader) -> None:
    source = IteratorSource(letters)
    reader = make_reader(source)

    assert "".join(drain(reader)) == "abcdefgh"
    reader.close()
    assert source.get_forced_parallelism() == 1
    assert source.get_boundedness() is Boundedness.CONTINUOUS_UNBOUNDED


class Blocking(SourceFunction):
    go = threading.Event()

    def run(self) -> Iterator[str]:
        yield "first"
        self.go.wait()
        yield "second"


def test_a_blocked_iterator_does_not_hold_back_what_came_before(make_reader: MakeReader) -> None:
    Blocking.go.clear()
    reader = make_reader(IteratorSource(Blocking()))

    values: list[str] = []
    while not values:
        values = reader.poll(10).values
    assert values == ["first"]
    waiting = reader.poll(10)
    assert (waiting.values, waiting.status) == ([], SourceStatus.NOTHING_AVAILABLE)
    Blocking.go.set()
    assert drain(reader) == ["second"]
    reader.close()


class Story(SourceFunction):
    life: list[str] = []  # noqa: RUF012  (shared with the copy that the reader gets)

    def __init__(self, fail_in: str = "") -> None:
        self.fail_in = fail_in

    def _note(self, event: str) -> None:
        self.life.append(f"{event} in {threading.current_thread().name}")
        if event == self.fail_in:
            raise ValueError(f"boom in {event}")

    def open(self, runtime_context: RuntimeContext) -> None:
        self._note("open")

    def run(self) -> Iterator[int]:
        yield 1
        self._note("run")
        yield 2

    def close(self) -> None:
        self._note("close")


def test_a_source_function_lives_in_one_thread(make_reader: MakeReader) -> None:
    Story.life.clear()
    reader = make_reader(IteratorSource(Story()))
    assert drain(reader) == [1, 2]
    reader.close()

    assert Story.life == [f"{event} in riverrun-iterator" for event in ("open", "run", "close")]


def test_a_failure_in_open_is_raised_by_open(make_reader: MakeReader) -> None:
    with pytest.raises(ValueError, match="boom in open"):
        make_reader(IteratorSource(Story("open")))


def test_a_failure_of_the_iterator_comes_after_its_values(make_reader: MakeReader) -> None:
    reader = make_reader(IteratorSource(Story("run")))

    first: list[int] = []
    while not first:
        first = reader.poll(10).values

    assert first == [1]
    with pytest.raises(ValueError, match="boom in run"):
        drain(reader)
    reader.close()


def test_a_failure_in_close_is_raised(make_reader: MakeReader) -> None:
    reader = make_reader(IteratorSource(Story("close")))
    reader.poll(1)

    with pytest.raises(ValueError, match="boom in close"):
        reader.close()


def test_an_endless_iterator_is_ended_by_close(make_reader: MakeReader) -> None:
    reader = make_reader(IteratorSource(itertools.count))
    reader.poll(5)
    reader.close()

    assert not [t for t in threading.enumerate() if t.name == "riverrun-iterator"]


def test_an_iterator_source_needs_something_to_call() -> None:
    with pytest.raises(TypeError, match="expected a SourceFunction or a callable"):
        IteratorSource([1, 2])  # type: ignore[arg-type]
