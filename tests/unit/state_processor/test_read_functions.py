"""Savepoints in the words of Flink's State Processor API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from riverrun import KeyedStateReaderFunction, SavepointReader
from riverrun.api.runtime_context import RuntimeContext
from riverrun.api.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from riverrun.api.windows import TimeWindow
from riverrun.core.errors import ProgramError
from riverrun.state_processor.key_reading import StateOfAnotherKind
from riverrun.state_processor.names import NotInSavepoint
from riverrun.state_processor.read_states import SavedStateIsReadOnly
from tests.unit.state_processor.saved_jobs import FAR, KEYS, RECORDS, RULES, Mean, Saved, saved

NUMBERS = {key: [number for of, number in RECORDS if of == key] for key in KEYS}


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Saved:
    return saved(tmp_path_factory.mktemp("job"), typed=False, **{"state.backend.type": "rocksdb"})


@pytest.fixture(params=["savepoint", "checkpoint"])
def reader(request: pytest.FixtureRequest, job: Saved) -> SavepointReader:
    return SavepointReader.read(getattr(job, request.param))


class ReadAll(KeyedStateReaderFunction):
    """Everything that a key has."""

    def open(self, runtime_context: RuntimeContext) -> None:
        context = runtime_context
        self.last = context.get_state(ValueStateDescriptor("last"))
        self.seen = context.get_list_state(ListStateDescriptor("seen"))
        self.by = context.get_map_state(MapStateDescriptor("by parity"))
        self.sum = context.get_reducing_state(ReducingStateDescriptor("sum", max))
        self.mean = context.get_aggregating_state(AggregatingStateDescriptor("mean", Mean()))

    def read_key(self, key: Any, ctx: KeyedStateReaderFunction.Context) -> Iterator[Any]:
        assert self.by.contains("all")
        assert not self.by.is_empty()
        assert self.by.get("nothing") is None
        assert set(self.by.keys()) == {name for name, _ in self.by.items()}
        yield {
            "key": key,
            "last": self.last.value(),
            "seen": self.seen.get(),
            "all": self.by.get("all"),
            "sum": self.sum.get(),
            "mean": self.mean.get(),
            "event": ctx.registered_event_time_timers(),
            "processing": ctx.registered_processing_time_timers(),
        }


def test_a_function_reads_each_key_once(reader: SavepointReader) -> None:
    found = sorted(reader.read_keyed_state("everything", ReadAll()), key=lambda row: row["key"])
    assert found == [
        {
            "key": key,
            "last": numbers[-1],
            "seen": numbers,
            "all": numbers[-1],
            "sum": sum(numbers),
            "mean": sum(numbers) / len(numbers),
            "event": {10_000 + number for number in numbers},
            "processing": {FAR},
        }
        for key, numbers in NUMBERS.items()
    ]


def test_operator_state_is_read_as_what_it_is(reader: SavepointReader) -> None:
    assert sorted(reader.read_list_state("remembers", "numbers")) == list(range(60))
    assert sum(reader.read_union_state("remembers", "counts")) == 60
    assert dict(reader.read_broadcast_state("ruled", "rules")) == RULES
    with pytest.raises(StateOfAnotherKind, match="'rules' is broadcast state and was asked for as"):
        reader.read_list_state("ruled", "rules")


def test_windows_are_read_with_what_they_hold(reader: SavepointReader) -> None:
    found = sorted(reader.read_window_state("windows", Mean()))
    window = TimeWindow(0, 1000)
    assert found == [(key, window, sum(n) / len(n)) for key, n in NUMBERS.items()]
    assert next(reader.read_window_state("windows")).contents[1] == 6


class Asks(KeyedStateReaderFunction):
    """Asks for one state, and tries to change it."""

    def __init__(self, descriptor: Any) -> None:
        self._descriptor = descriptor
        self.closed = False

    def open(self, runtime_context: RuntimeContext) -> None:
        if self._descriptor is not None:
            self._state = runtime_context.get_state(self._descriptor)

    def read_key(self, key: Any, ctx: KeyedStateReaderFunction.Context) -> None:
        self._state.update(1)

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize(
    ("descriptor", "error", "message"),
    [
        (ValueStateDescriptor("last"), SavedStateIsReadOnly, "'last'.*SavepointWriter"),
        (ValueStateDescriptor("lst"), NotInSavepoint, "did you mean 'last'"),
        (ValueStateDescriptor("seen"), StateOfAnotherKind, "'seen' is list state and was asked"),
        (None, ProgramError, "'?Asks'?: its open asked for no state"),
    ],
)
def test_what_cannot_be_read_is_refused(
    reader: SavepointReader, descriptor: Any, error: type[Exception], message: str
) -> None:
    function = Asks(descriptor)
    with pytest.raises(error, match=message):
        list(reader.read_keyed_state("everything", function))
    assert function.closed == (error in (SavedStateIsReadOnly, ProgramError))


def test_state_of_windows_is_not_that_of_keys(reader: SavepointReader) -> None:
    function = Asks(ValueStateDescriptor("_window.contents"))
    with pytest.raises(StateOfAnotherKind, match="is window state"):
        list(reader.read_keyed_state("windows", function))
