"""The rows of a run are read together, where its records ask for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest

from riverrun.api.state import ValueState, ValueStateDescriptor
from riverrun.api.state_ttl import StateTtlConfig
from riverrun.core.time import Time
from riverrun.state.rocksdb.backend import RocksDBBackend
from riverrun.state.rocksdb.store import Store
from tests.unit.state.rocksdb.conftest import Bench

KEYS = 10_000
RUN = 500


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each look into the database was for."""
    counted: list[int] = []
    one, many = Store.get, Store.get_all

    def get(self: Store, row_key: bytes) -> bytes | None:
        counted.append(1)
        return one(self, row_key)

    def get_all(self: Store, row_keys: list[bytes]) -> list[bytes | None]:
        counted.append(len(row_keys))
        return many(self, row_keys)

    monkeypatch.setattr(Store, "get", get)
    monkeypatch.setattr(Store, "get_all", get_all)
    return counted


def visit(
    backend: RocksDBBackend, keys: Sequence[Any], see: Callable[[Any], None], run: int = RUN
) -> None:
    for start in range(0, len(keys), run):
        stretch = keys[start : start + run]
        backend.expect(stretch)
        for backend.key in stretch:
            see(backend.key)


def texts(first: int, end: int) -> list[str]:
    """Keys that are not packed, so that what is not cached is in its row."""
    return [f"key {number}" for number in range(first, end)]


def counting(state: ValueState[int]) -> Callable[[Any], None]:
    def see(_key: Any) -> None:
        state.update((state.value() or 0) + 1)

    return see


@pytest.mark.parametrize("make", [int, str, float, lambda n: (n, "x")])
@pytest.mark.parametrize("ttl", [False, True])
def test_a_run_is_read_together_and_nothing_is_lost(
    bench: Bench, looks: list[int], make: Callable[[int], Any], *, ttl: bool
) -> None:
    backend = bench.backend(memory_bytes=1 << 20)
    descriptor = ValueStateDescriptor("count")
    if ttl:
        descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.hours(1)).build())
    state = cast("ValueState[int]", backend.state(descriptor))
    keys = [make(number) for number in range(KEYS)]

    for _ in range(3):
        visit(backend, keys, counting(state))

    assert len(looks) <= sum(looks) / 8
    counts = set()
    for backend.key in keys:
        counts.add(state.value())
    assert counts == {3}


def test_a_state_that_nobody_asks_for_is_not_read(bench: Bench, looks: list[int]) -> None:
    backend = bench.backend(memory_bytes=1 << 20)
    used, unused = (
        cast("ValueState[int]", backend.state(ValueStateDescriptor(name)))
        for name in ("used", "unused")
    )
    visit(backend, texts(0, KEYS), counting(unused))
    for _ in range(2):  # until it is noticed
        visit(backend, texts(0, KEYS), lambda _key: used.update(1))
    looks.clear()

    visit(backend, texts(0, KEYS), lambda _key: used.update(1))

    assert looks == []


def test_keys_that_are_not_there_are_not_looked_for_twice(bench: Bench, looks: list[int]) -> None:
    backend = bench.backend(memory_bytes=1 << 20)
    state = cast("ValueState[int]", backend.state(ValueStateDescriptor("count")))
    visit(backend, texts(0, KEYS), counting(state))
    seen: list[Any] = []
    visit(backend, texts(KEYS, KEYS + RUN), lambda _key: seen.append(state.value()))  # goes without
    looks.clear()

    visit(backend, texts(2 * KEYS, 2 * KEYS + RUN), lambda _key: seen.append(state.value()))

    assert looks == [RUN]
    assert set(seen) == {None}


def test_a_key_without_a_hash_is_left_to_its_record(bench: Bench) -> None:
    backend = bench.backend(memory_bytes=1 << 20)
    state = cast("ValueState[int]", backend.state(ValueStateDescriptor("count")))
    visit(backend, range(KEYS), counting(state))

    backend.expect([[1]])
    backend.key = [1]

    with pytest.raises(TypeError, match="unhashable"):
        state.value()
