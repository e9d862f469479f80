"""What a savepoint takes out of the cache: values without rows, in front of rows that are older."""

from __future__ import annotations

from typing import Any

import pytest

from riverrun.api.state import MapStateDescriptor, ValueStateDescriptor
from riverrun.serde.types import Types
from riverrun.state.rocksdb.backend import RocksDBBackend
from riverrun.state.rocksdb.cached import Cached
from riverrun.state.rocksdb.frozen import FrozenRocksDB
from tests.unit.state.rocksdb.conftest import Bench

LISTS = ValueStateDescriptor("lists", Types.LIST(Types.LONG()))
NUMBERS = ValueStateDescriptor("numbers", Types.LONG())


def put(backend: RocksDBBackend, descriptor: ValueStateDescriptor, values: dict[Any, Any]) -> None:
    state: Any = backend.state(descriptor)
    for key, value in values.items():
        backend.key = key
        state.update(value)


def frozen_entries(frozen: FrozenRocksDB) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for block in frozen.entries():
        assert not found.keys() & set(block.keys)
        found.update(zip(block.keys, block.values, strict=True))
    return found


def cache_of(backend: RocksDBBackend, name: str) -> Cached:
    return backend._tables[name].cache


def test_a_savepoint_writes_no_rows(bench: Bench) -> None:
    backend = bench.backend()
    put(backend, NUMBERS, {key: key for key in range(100)})

    frozen = backend.freeze(1, savepoint=True)

    assert backend._store.is_empty
    assert frozen_entries(frozen) == {key: key for key in range(100)}
    frozen.discard()


def test_what_is_in_the_cache_hides_older_rows(bench: Bench) -> None:
    backend = bench.backend()
    put(backend, NUMBERS, {key: key for key in range(100)})
    bench.snapshot(backend, 1)
    put(backend, NUMBERS, {1: -1, 2: None, 1000: 1000})

    frozen = backend.freeze(2, savepoint=True)
    put(backend, NUMBERS, {1: -2, 3: -3})

    expected = {key: key for key in range(100) if key != 2} | {1: -1, 1000: 1000}
    assert frozen_entries(frozen) == expected
    frozen.discard()
    after = bench.restored(bench.snapshot(backend, 3))
    numbers: Any = after.state(NUMBERS)
    found = {}
    for after.key in (1, 2, 3, 1000):
        found[after.key] = numbers.value()
    assert found == {1: -2, 2: None, 3: -3, 1000: 1000}


def test_rows_that_left_the_cache_are_in_it_too(bench: Bench) -> None:
    backend = bench.backend(cache_bytes=4096)
    put(backend, NUMBERS, {key: key for key in range(2000)})
    assert len(cache_of(backend, "numbers")) < 1000

    frozen = backend.freeze(1, savepoint=True)
    put(backend, NUMBERS, dict.fromkeys(range(2000), -1))

    assert frozen_entries(frozen) == {key: key for key in range(2000)}
    frozen.discard()


def test_values_changed_in_place_are_copied_first_and_only_meanwhile(bench: Bench) -> None:
    backend = bench.backend()
    put(backend, LISTS, {1: [1], 2: [2]})
    lists: Any = backend.state(LISTS)
    first, second = backend.freeze(1, savepoint=True), backend.freeze(2, savepoint=True)
    backend.key = 1

    lists.value().append(10)
    assert lists.value() == [1, 10]
    assert lists.value() is lists.value()
    first.discard()
    lists.value().append(11)

    assert frozen_entries(second) == {1: [1], 2: [2]}
    second.discard()
    assert type(cache_of(backend, "lists")) is Cached
    assert lists.value() == [1, 10, 11]


def test_values_that_cannot_change_are_not_guarded(bench: Bench) -> None:
    backend = bench.backend()
    put(backend, NUMBERS, {1: 1})
    frozen = backend.freeze(1, savepoint=True)
    assert type(cache_of(backend, "numbers")) is Cached
    frozen.discard()


def test_maps_are_written_first(bench: Bench) -> None:
    backend = bench.backend()
    state: Any = backend.state(MapStateDescriptor("maps", Types.STRING(), Types.LONG()))
    backend.key = 1
    state.put("a", 1)

    frozen = backend.freeze(1, savepoint=True)
    state.put("a", 2)

    assert frozen_entries(frozen) == {1: {"a": 1}}
    frozen.discard()


def test_files_of_a_savepoint_cannot_be_had(bench: Bench) -> None:
    backend = bench.backend()
    put(backend, NUMBERS, {1: 1})
    frozen = backend.freeze(1, savepoint=True)
    with pytest.raises(ValueError, match="frozen for a savepoint"):
        frozen.write(bench.shelf)
    frozen.discard()
