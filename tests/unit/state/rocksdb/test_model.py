"""All kinds of state against plain dicts, with a cache that holds next to nothing."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riverrun.api.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from riverrun.serde.key_hash import key_group
from riverrun.state.rocksdb.backend import RocksDBBackend
from tests.unit.state.rocksdb.conftest import Bench, holding

VALUE = ValueStateDescriptor("value")
LIST = ListStateDescriptor("list")
MAP = MapStateDescriptor("map")
SUM = ReducingStateDescriptor("sum", lambda so_far, new: so_far + new)

keys = st.sampled_from([0, 1, 2, 3, 1.0, True, "a", "b", ("a", 1), None])
map_keys = st.sampled_from(["x", "y", 1, 2.0, True, None, ("t", 0)])
numbers = st.integers(0, 99)
steps = st.one_of(
    st.tuples(st.just("update"), keys, st.one_of(st.none(), numbers)),
    st.tuples(st.just("add"), keys, numbers),
    st.tuples(st.just("replace"), keys, st.lists(numbers, max_size=3)),
    st.tuples(st.just("get list"), keys, st.none()),
    st.tuples(st.just("put"), keys, st.tuples(map_keys, st.one_of(st.none(), numbers))),
    st.tuples(st.just("put all"), keys, st.dictionaries(map_keys, numbers, max_size=3)),
    st.tuples(st.just("remove"), keys, map_keys),
    st.tuples(st.just("look"), keys, map_keys),
    st.tuples(st.just("go through"), keys, st.none()),
    st.tuples(st.just("clear map"), keys, st.none()),
    st.tuples(st.just("reduce"), keys, numbers),
    st.tuples(st.just("evict"), keys, st.integers(1, 4)),
    st.tuples(st.just("snapshot"), keys, st.none()),
    st.tuples(st.just("restore"), keys, st.sampled_from(["same", "split", "merge"])),
)


class Model:
    """What the states must hold."""

    def __init__(self) -> None:
        self.values: dict[Any, Any] = {}
        self.lists: defaultdict[Any, list[Any]] = defaultdict(list)
        self.maps: defaultdict[Any, dict[Any, Any]] = defaultdict(dict)
        self.sums: dict[Any, int] = {}

    def apply(self, what: str, key: Any, arg: Any) -> None:
        match what:
            case "update" if arg is None:
                self.values.pop(key, None)
            case "update":
                self.values[key] = arg
            case "add":
                self.lists[key].append(arg)
            case "replace":
                self.lists[key] = list(arg)
            case "put":
                self.maps[key][arg[0]] = arg[1]
            case "put all":
                self.maps[key].update(arg)
            case "remove":
                self.maps[key].pop(arg, None)
            case "clear map":
                self.maps[key] = {}
            case "reduce":
                self.sums[key] = self.sums.get(key, 0) + arg


class Subject:
    """The same steps on backends, of which each has some of the key groups."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.backends = [self._backend(0, 7)]
        self.checkpoint = 0

    def _backend(self, first: int, last: int) -> RocksDBBackend:
        return self.bench.backend(first, last, cache_bytes=4000)

    def of(self, key: Any) -> RocksDBBackend:
        group = key_group(key, 8)
        found = next(
            backend
            for backend in self.backends
            if backend._settings.first_group <= group <= backend._settings.last_group
        )
        found.key = key
        return found

    def snapshot(self) -> list[Any]:
        self.checkpoint += 1
        return [self.bench.snapshot(backend, self.checkpoint) for backend in self.backends]

    def restore(self, how: str) -> None:
        snapshots = self.snapshot()
        ranges = [
            (backend._settings.first_group, backend._settings.last_group)
            for backend in self.backends
        ]
        ranges = {"same": ranges, "split": [(0, 2), (3, 7)], "merge": [(0, 7)]}[how]
        for backend in self.backends:
            backend.close()
        self.backends = [self._backend(first, last) for first, last in ranges]
        for backend in self.backends:
            backend.restore(snapshots, self.bench.shelf, owned=True)

    def apply(self, what: str, key: Any, arg: Any) -> None:  # noqa: C901, PLR0912 - a table of steps
        backend = self.of(key)
        value: Any = backend.state(VALUE)
        elements: Any = backend.state(LIST)
        entries: Any = backend.state(MAP)
        total: Any = backend.state(SUM)
        match what:
            case "update":
                value.update(arg)
            case "add":
                elements.add(arg)
            case "replace":
                elements.update(arg)
            case "get list":
                elements.get()
            case "put":
                entries.put(*arg)
            case "put all":
                entries.put_all(arg)
            case "remove":
                entries.remove(arg)
            case "look":
                entries.get(arg)
            case "go through":
                list(entries.items())
            case "clear map":
                entries.clear()
            case "reduce":
                total.add(arg)
            case "evict":
                for table in backend._tables.values():
                    table.evict(arg)
            case "snapshot":
                self.snapshot()
            case "restore":
                self.restore(arg)

    def require(self, model: Model) -> None:
        for key in [0, 1, 2, 3, "a", "b", ("a", 1), None]:
            backend = self.of(key)
            entries: Any = backend.state(MAP)
            assert backend.state(VALUE).value() == model.values.get(key)  # type: ignore[attr-defined]
            assert backend.state(LIST).get() == model.lists[key]  # type: ignore[attr-defined]
            assert backend.state(SUM).get() == model.sums.get(key)  # type: ignore[attr-defined]
            assert entries.is_empty() == (not model.maps[key])
            for map_key in ["x", "y", 1, 2, None, ("t", 0)]:
                assert entries.get(map_key) == model.maps[key].get(map_key)
                assert entries.contains(map_key) == (map_key in model.maps[key])
            assert dict(entries.items()) == model.maps[key]
        for name, live in (
            ("value", model.values),
            ("list", {key for key, found in model.lists.items() if found}),
            ("map", {key for key, found in model.maps.items() if found}),
            ("sum", model.sums),
        ):
            found = [key for backend in self.backends for key in backend.keys(name)]
            assert len(found) == len(set(found))
            assert set(found) == set(live)


def run(history: list[tuple[str, Any, Any]]) -> None:
    model = Model()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        subject = Subject(bench)
        try:
            for what, key, arg in history:
                model.apply(what, key, arg)
                subject.apply(what, key, arg)
            subject.require(model)
        finally:
            for backend in subject.backends:
                backend.close()


@settings(max_examples=40, deadline=None)
@given(st.lists(steps, max_size=30), st.booleans())
def test_states_hold_what_dicts_would(history: list[tuple[str, Any, Any]], holds: bool) -> None:
    with holding(holds=holds):
        run(history)


@pytest.mark.slow
@settings(max_examples=1000, deadline=None)
@given(st.lists(steps, max_size=80), st.booleans())
def test_states_hold_what_dicts_would_after_long_histories(
    history: list[tuple[str, Any, Any]], holds: bool
) -> None:
    with holding(holds=holds):
        run(history)
