"""Entries and bytes per key group are what the state has, in every format, also of changes upon changes."""

from __future__ import annotations

import sys
import types
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from riverrun.api.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from riverrun.serde.key_hash import key_group
from riverrun.state_processor.group_sizes import GroupSizes, group_sizes
from riverrun.state_processor.savepoint import Savepoint
from riverrun.state_processor.sources import KeyedSource
from tests.unit.state.rocksdb.conftest import holding
from tests.unit.state_processor.made_checkpoints import Operator

GROUPS = 16
FORMATS = [
    (backend, what) for backend in ("hashmap", "rocksdb") for what in ("checkpoint", "savepoint")
]
VALUES = ValueStateDescriptor("values")


def always() -> bool:
    return True


def sizes(savepoint: Savepoint, state: str, go_on: Callable[[], bool] = always) -> GroupSizes:
    source = savepoint.state("customers", state).source
    assert isinstance(source, KeyedSource)
    return group_sizes(source, go_on)


def by_group(keys: list[Any]) -> list[int]:
    counts = Counter(key_group(key, GROUPS) for key in keys)
    return [counts[group] for group in range(GROUPS)]


@pytest.mark.parametrize(("backend", "what"), FORMATS)
def test_entries_and_bytes_are_told_by_key_group(tmp_path: Path, backend: str, what: str) -> None:
    operator = Operator(tmp_path, backend, parallelism=3, max_parallelism=GROUPS)
    keys = [f"k{number}" for number in range(300)]
    large = keys[7]
    for key in keys:
        at: Any = operator.at(key)
        at.state(VALUES).update("x" * (100_000 if key == large else 10))
    found = sizes(getattr(operator, what)(), "values")
    operator.close()

    assert found.entries == by_group(keys)
    assert (found.complete, found.shared_out) == (True, False)
    largest = key_group(large, GROUPS)
    assert found.bytes[largest] == max(size or 0 for size in found.bytes)
    assert (found.bytes[largest] or 0) > 100_000
    assert all(
        size > 0
        for size, entries in zip(found.bytes, found.entries, strict=True)
        if entries and size is not None
    )


@pytest.mark.parametrize(("backend", "what"), FORMATS)
def test_what_was_replaced_or_removed_does_not_count(
    tmp_path: Path, backend: str, what: str
) -> None:
    operator = Operator(tmp_path, backend, max_parallelism=GROUPS)
    for number in range(100):
        at: Any = operator.at(number)
        at.state(VALUES).update(number)
    operator.checkpoint()
    for number in range(50):
        at = operator.at(number)
        at.state(VALUES).update(-number) if number % 2 else at.state(VALUES).clear()
    found = sizes(getattr(operator, what)(), "values")
    operator.close()

    assert found.entries == by_group([n for n in range(100) if n >= 50 or n % 2])


def test_rows_that_entries_count_instead_of_do_not_count(tmp_path: Path) -> None:
    with holding():
        test_what_was_replaced_or_removed_does_not_count(tmp_path, "rocksdb", "checkpoint")


@pytest.mark.parametrize(("backend", "what"), FORMATS)
def test_maps_count_their_entries_and_lists_once(tmp_path: Path, backend: str, what: str) -> None:
    operator = Operator(tmp_path, backend, max_parallelism=GROUPS)
    for number in range(20):
        at: Any = operator.at(number)
        for inner in range(number):
            at.state(MapStateDescriptor("map")).put(inner, "x")
            at.state(ListStateDescriptor("list")).add(inner)
    savepoint = getattr(operator, what)()
    operator.close()

    assert sizes(savepoint, "map").entries == by_group([n for n in range(20) for _ in range(n)])
    assert sizes(savepoint, "list").entries == by_group(list(range(1, 20)))


@pytest.mark.parametrize(("backend", "what"), FORMATS)
def test_what_was_not_looked_at_is_not_known(tmp_path: Path, backend: str, what: str) -> None:
    operator = Operator(tmp_path, backend, max_parallelism=GROUPS)
    for number in range(1000):
        at: Any = operator.at(number)
        at.state(VALUES).update(number)
    savepoint = getattr(operator, what)()
    operator.close()
    left = iter([True] * 5)
    found = sizes(savepoint, "values", lambda: next(left, False))

    known = [entries for entries in found.entries if entries is not None]
    assert not found.complete
    assert 0 < len(known) < GROUPS
    assert known == by_group(list(range(1000)))[: len(known)]
    assert (
        found.entries[len(known) :] == found.bytes[len(known) :] == [None] * (GROUPS - len(known))
    )


@pytest.mark.parametrize(("backend", "what"), FORMATS)
def test_values_of_classes_that_are_not_here_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str, what: str
) -> None:
    gone = types.ModuleType("module_of_a_program")
    exec("class Account:\n    pass", gone.__dict__)
    monkeypatch.setitem(sys.modules, gone.__name__, gone)
    operator = Operator(tmp_path, backend, max_parallelism=GROUPS)
    for number in range(100):
        at: Any = operator.at(number)
        at.state(VALUES).update(gone.Account())
    savepoint = getattr(operator, what)()
    operator.close()
    monkeypatch.delitem(sys.modules, gone.__name__)
    found = sizes(savepoint, "values")

    assert found.entries == by_group(list(range(100)))
    assert found.shared_out == (backend == "hashmap" and what == "checkpoint")
