"""Packed entries: a table of arrays is as good as a dict, and a state that packs them loses nothing."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from riverrun import Types
from riverrun.api.state import ValueState, ValueStateDescriptor
from riverrun.serde.type_info import TypeInformation
from riverrun.state.rocksdb import packed_tier
from riverrun.state.rocksdb.backend import RocksDBBackend
from riverrun.state.rocksdb.packed_table import PackedTable, has_place
from riverrun.state.rocksdb.value_states import SingleTable
from riverrun.state.serializers import UnstorableValue
from tests.unit.state.rocksdb.conftest import Bench

NUMBERS = st.integers(-(1 << 63), (1 << 63) - 1).filter(has_place) | st.integers(-40, 40)
SALT = 0x5851F42D4C957F2D


def put(table: PackedTable, entries: dict[int, int], *, changed: bool) -> None:
    keys = np.array(list(entries), np.int64)
    values = np.array(list(entries.values()), np.uint64)
    while table.room() < len(keys):
        assert table.grow(1 << 40)
    table.put(keys, values[:, None], np.full(len(keys), changed))


def held(table: PackedTable, keys: list[int]) -> dict[int, int]:
    slots, there = table.find(np.array(keys, np.int64))
    values = table.values(slots)[:, 0].tolist()
    return {
        key: value for key, value, is_there in zip(keys, values, there, strict=True) if is_there
    }


def taken(pairs: Iterator[tuple[Any, Any]]) -> dict[int, int]:
    return {
        key: value
        for keys, values in pairs
        for key, value in zip(keys.tolist(), values[:, 0].tolist(), strict=True)
    }


class TableModel:
    """A table and two dicts: of what it must hold, and of what of it changed."""

    def __init__(self) -> None:
        self.table = PackedTable(1)
        self.entries: dict[int, int] = {}
        self.changed: dict[int, int] = {}

    def apply(self, what: str, arg: Any) -> None:
        match what:
            case "put" | "put unchanged":
                put(self.table, arg, changed=what == "put")
                self.entries |= arg
                marked = (
                    arg if what == "put" else {key: arg[key] for key in arg if key in self.changed}
                )
                self.changed |= marked
            case "remove":
                self.table.remove(np.array(arg, np.int64))
                for key in arg:
                    self.entries.pop(key, None)
                    self.changed.pop(key, None)
            case "take":
                assert taken(self.table.take_changed()) == self.changed
                self.changed = {}
            case "shed":
                lost = taken(self.table.shed())
                kept = held(self.table, list(self.entries))
                assert kept.items() <= self.entries.items()
                assert lost.items() == {(k, v) for k, v in self.changed.items() if k not in kept}
                self.entries = kept
                self.changed = {key: v for key, v in self.changed.items() if key in kept}

    def require(self) -> None:
        looked = [*self.entries, *range(-50, 50)]
        assert held(self.table, looked) == {k: self.entries[k] for k in looked if k in self.entries}
        for key in looked[:100]:
            slot = self.table.find_one(key)
            assert (slot is not None) == (key in self.entries)
            assert slot is None or self.table.value(slot).tolist() == [[self.entries[key]]]


ENTRIES = st.dictionaries(NUMBERS, st.integers(0, 1 << 60), max_size=60)
TABLE_STEPS = st.one_of(
    st.tuples(st.just("put"), ENTRIES),
    st.tuples(st.just("put unchanged"), ENTRIES),
    st.tuples(st.just("remove"), st.lists(NUMBERS, unique=True, max_size=20)),
    st.tuples(st.just("take"), st.none()),
    st.tuples(st.just("shed"), st.none()),
)


@settings(deadline=None)
@given(st.lists(TABLE_STEPS, max_size=12))
def test_a_table_holds_what_a_dict_would(history: list[tuple[str, Any]]) -> None:
    model = TableModel()
    for what, arg in history:
        model.apply(what, arg)
        model.require()


@pytest.mark.parametrize("seed", range(3))
def test_a_large_table_grows_and_sheds_in_place(seed: int) -> None:
    noise = np.random.default_rng(seed)
    keys = noise.integers(-(1 << 63), (1 << 63) - 1, 150_000).tolist()
    model = TableModel()
    for first in range(0, len(keys), 10_000):
        model.apply("put", {key: key & 0xFFFF for key in keys[first : first + 10_000]})
    model.apply("remove", keys[:5_000])
    model.require()
    model.apply("shed", None)
    assert 50_000 < len(model.entries) < 100_000
    model.apply("put", dict.fromkeys(keys[:20_000], 7))
    model.apply("take", None)
    model.require()


def test_what_was_used_stays_when_a_table_sheds() -> None:
    table = PackedTable(1)
    put(table, dict.fromkeys(range(10_000), 1), changed=False)
    list(table.shed())
    left = list(held(table, list(range(10_000))))
    list(table.shed())  # all were used since the first time
    put(table, dict.fromkeys(range(10_000, 11_000), 1), changed=False)
    list(table.shed())
    list(table.shed())
    assert 0 < len(held(table, left)) < len(left)
    recent = set(held(table, list(range(10_000, 11_000))))
    assert len(recent) > 0


def test_a_table_stays_below_what_it_may_take() -> None:
    table = PackedTable(1)
    while table.grow(20_000):
        assert table.nbytes <= 20_000
    assert not table.grow(20_000)


def test_only_one_number_of_64_bits_has_no_place() -> None:
    assert has_place(0)
    assert not has_place(SALT)
    assert not has_place(1 << 63)
    assert not has_place(True)
    assert not has_place(1.0)


# States.


KEYS = [*range(12), 3.0, 5.0, True, SALT, 1 << 70, "a", ("a", 1), None]
VALUES = st.none() | st.integers(-5, 5) | st.sampled_from([1 << 80, 2.5, "text", "long" * 30, True])
STEPS = st.one_of(
    st.tuples(st.just("update"), st.sampled_from(KEYS), VALUES),
    st.tuples(st.just("read"), st.sampled_from(KEYS), st.none()),
    st.tuples(st.just("run"), st.none(), st.lists(st.sampled_from(KEYS), min_size=9, max_size=20)),
    st.tuples(st.just("fill"), st.none(), st.integers(0, 5)),
    st.tuples(st.just("evict"), st.none(), st.integers(1, 40)),
    st.tuples(st.just("squeeze"), st.none(), st.none()),
    st.tuples(st.just("snapshot"), st.none(), st.none()),
    st.tuples(st.just("savepoint"), st.none(), st.none()),
    st.tuples(st.just("restore"), st.none(), st.none()),
)
FILLED = range(100, 400)


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few entries are enough to begin to pack."""
    monkeypatch.setattr(packed_tier, "_ENOUGH", 2)


class StateModel:
    """A state and what it must hold."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.values: dict[Any, Any] = {}
        self.checkpoint = 0
        self._use(bench.backend(cache_bytes=100_000))

    def _use(self, backend: RocksDBBackend) -> None:
        self.backend = backend
        self.state = cast("ValueState[Any]", backend.state(ValueStateDescriptor("value")))
        self.table = cast("SingleTable", backend._tables["value"])

    def update(self, key: Any, value: Any) -> None:
        self.backend.key = key
        if value is None:
            self.state.clear()
            self.values.pop(key, None)
        else:
            self.state.update(value)
            self.values[key] = value

    def apply(self, what: str, key: Any, arg: Any) -> None:  # noqa: C901 - a table of steps
        match what:
            case "update":
                self.update(key, arg)
            case "read":
                self.require([key])
            case "run":
                self.backend.expect(arg)
                self.require(arg)
            case "fill":
                for each in FILLED:
                    self.update(each, arg)
            case "evict":
                self.table.evict(arg)
            case "squeeze":  # the table may not be larger than it is
                self.backend._surroundings.budget._limit = 4_000
            case "snapshot":
                self.checkpoint += 1
                self.bench.snapshot(self.backend, self.checkpoint)
            case "savepoint":
                self.require_savepoint()
            case "restore":
                self.checkpoint += 1
                snapshot = self.bench.snapshot(self.backend, self.checkpoint)
                self._use(self.bench.restored(snapshot))

    def require(self, keys: list[Any]) -> None:
        for key in keys:
            self.backend.key = key
            found = self.state.value()
            assert found == self.values.get(key)
            assert type(found) is type(self.values.get(key))

    def require_savepoint(self) -> None:
        self.checkpoint += 1
        frozen = self.backend.freeze(self.checkpoint, savepoint=True)
        found = {
            key: value
            for block in frozen.entries()
            for key, value in zip(block.keys, block.values, strict=True)
        }
        frozen.discard()
        self.backend.checkpoint_completed(self.checkpoint)
        assert found == self.values

    def require_all(self) -> None:
        self.require_savepoint()
        self.require([*KEYS, *FILLED])
        assert set(self.backend.keys("value")) == set(self.values)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(history=st.lists(STEPS, max_size=25))
@pytest.mark.usefixtures("eager")
def test_a_state_holds_what_a_dict_would(history: list[tuple[str, Any, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        model = StateModel(bench)
        try:
            for step in history:
                model.apply(*step)
            model.require_all()
        finally:
            for backend in bench.made:
                backend.close()


@pytest.mark.parametrize(
    ("value_type", "make"),
    [
        (Types.LONG(), lambda number: number * 3),
        (Types.DOUBLE(), lambda number: number / 7),
        (Types.STRING(), lambda number: f"v{number}"),
        (Types.TUPLE([Types.INT(), Types.STRING()]), lambda number: (number, "x")),
        (None, lambda number: -number),
        (None, lambda number: b"\x00" * (number % 9)),
    ],
    ids=["long", "double", "text", "tuple", "any number", "zeros"],
)
def test_what_left_the_cache_comes_back_as_it_was(
    bench: Bench, value_type: TypeInformation | None, make: Any
) -> None:
    backend = bench.backend(cache_bytes=400_000)
    state = cast("ValueState[Any]", backend.state(ValueStateDescriptor("value", value_type)))
    for backend.key in range(5_000):
        state.update(make(backend.key))

    table = cast("SingleTable", backend._tables["value"])
    assert table.packed_bytes() > 0
    assert table.packed_bytes() + table.estimate() <= 450_000
    backend.expect(range(5_000))
    for backend.key in range(5_000):
        assert state.value() == make(backend.key)
    restored = bench.restored(bench.snapshot(backend))
    again = cast("ValueState[Any]", restored.state(ValueStateDescriptor("value", value_type)))
    for restored.key in range(5_000):
        assert again.value() == make(restored.key)


def test_a_value_of_another_type_is_refused_when_it_leaves_the_cache(bench: Bench) -> None:
    backend = bench.backend(cache_bytes=100_000)
    state = cast("ValueState[Any]", backend.state(ValueStateDescriptor("value", Types.INT())))

    def fill() -> None:
        for backend.key in range(5_000):
            state.update(1 << 40)

    with pytest.raises(UnstorableValue, match="value"):
        fill()
