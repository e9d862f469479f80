"""Snapshots of everything, one after the other: keys that are the same are not worked out again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from riverrun.api.state import ValueStateDescriptor
from riverrun.serde.type_info import TypeInformation
from riverrun.serde.types import Types
from riverrun.state.hashmap import frozen as writing
from riverrun.state.hashmap.counting import Counting
from tests.contract.state.conftest import Workshop, read_all

TYPED = ValueStateDescriptor("value", Types.LONG())


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    monkeypatch.setattr(writing, "_STRETCH", 100)
    monkeypatch.setattr(writing, "_BLOCK", 30)
    return Workshop(tmp_path, "hashmap")


@pytest.mark.parametrize("descriptor", [TYPED, ValueStateDescriptor("value")])
def test_keys_may_stay_come_and_go_between_snapshots(
    shop: Workshop, descriptor: ValueStateDescriptor
) -> None:
    backend = shop.backend()
    table: Any = backend.state(descriptor)
    model: dict[int, int] = {}

    def check(put: range, removed: range, number: int) -> None:
        for key in [*put, *removed]:
            backend.key = key
            table.update(key + number if key in put else None)
        model.update({key: key + number for key in put})
        for key in removed:
            model.pop(key, None)
        assert read_all(shop.restored([shop.snapshot(backend, number)]), descriptor) == model

    check(range(450), range(0), 1)
    check(range(450), range(0), 2)
    check(range(420, 470), range(0), 3)
    check(range(100), range(250, 251), 4)
    check(range(200), range(0), 5)
    check(range(0), range(150, 470), 6)
    check(range(150, 470), range(0), 7)


@pytest.mark.parametrize(
    "values",
    [
        (Types.LONG(), [0, -(1 << 63), (1 << 63) - 1, 5]),
        (Types.DOUBLE(), [0.5, float("inf"), -0.0, 5.0]),
        (Types.PICKLED_BYTE_ARRAY(), [0, 1 << 40, -(1 << 63), 5]),
        (Types.PICKLED_BYTE_ARRAY(), [0, 1 << 80, "text", (1, [2])]),
        (Types.BIG_INT(), [0, 1 << 80, -(1 << 63), 5]),
    ],
    ids=repr,
)
@pytest.mark.parametrize("are_texts", [False, True])
def test_snapshots_hold_what_was_there_when_they_were_taken(
    shop: Workshop, values: tuple[TypeInformation, list[Any]], are_texts: bool
) -> None:
    descriptor = ValueStateDescriptor("value", values[0])
    backend = shop.backend()
    table: Any = backend.state(descriptor)
    keys = [f"key {key}" if are_texts else key for key in range(250)]

    def change(turn: int) -> dict[Any, Any]:
        for place, key in enumerate(keys):
            backend.key = key
            table.update(values[1][(place + turn) % 4])
        return {key: values[1][(place + turn) % 4] for place, key in enumerate(keys)}

    for number in range(1, 4):
        expected = change(number)
        frozen = backend.freeze(number)
        change(number + 1)
        found = read_all(shop.restored([frozen.write(shop.files)]), descriptor)
        assert found == expected
        assert list(map(type, found.values())) == [type(expected[key]) for key in found]


def test_what_was_frozen_as_numbers_is_given_entry_by_entry_too(shop: Workshop) -> None:
    backend = shop.backend()
    table: Any = backend.state(TYPED)
    for key in range(250):
        backend.key = key
        table.update(key * 3)
    frozen = backend.freeze(1, savepoint=True)

    found = {
        key: (value, type(value))
        for block in frozen.entries()
        for key, value in zip(block.keys, block.values, strict=True)
    }

    assert found == {key: (key * 3, int) for key in range(250)}


def test_two_snapshots_of_different_keys_may_be_written_in_any_order(shop: Workshop) -> None:
    backend = shop.backend()
    table: Any = backend.state(TYPED)
    frozen, models = [], []
    model: dict[int, int] = {}
    for number, keys in enumerate([range(250), range(150, 300), range(250)]):
        for key in keys:
            backend.key = key
            table.update(number)
            model[key] = number
        backend.key = 7 + number
        table.clear()
        model.pop(7 + number, None)
        frozen.append(backend.freeze(number))
        models.append(dict(model))

    for number in (2, 0, 1):
        snapshot = frozen[number].write(shop.files)
        assert read_all(shop.restored([snapshot]), TYPED) == models[number]


def test_keys_that_stay_are_hashed_once(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = shop.backend()
    table: Any = backend.state(TYPED)
    hashed: list[int] = []
    sort = writing._add_sorted

    def spied(file: Any, run: Any, *rest: Any, **more: Any) -> Any:
        hashed.append(len(run.keys))
        return sort(file, run, *rest, **more)

    monkeypatch.setattr(writing, "_add_sorted", spied)
    for number in range(3):
        for key in range(250 + 10 * number):
            backend.key = key
            table.update(number)
        shop.snapshot(backend, number)

    assert hashed == [100, 100, 50, 60, 70]


def test_what_is_known_of_keys_is_given_up_where_changes_are_written(shop: Workshop) -> None:
    backend = shop.backend(incremental=True)
    table: Any = backend.state(TYPED)
    for number, count in enumerate([250, 10]):
        for key in range(count):
            backend.key = key
            table.update(number)
        shop.snapshot(backend, number)
        assert (table.known is None) == bool(number)


def test_counting_in_vain_is_tried_less_and_less_often() -> None:
    counting = Counting()

    begun = [counting.begins(most_changed=True, records=100, entries=100) for _ in range(16)]

    assert [place for place, counts in enumerate(begun) if counts] == [0, 1, 3, 6, 10, 15]


@pytest.mark.parametrize(("most_changed", "records"), [(False, 100), (True, 49)])
def test_counting_begins_again_when_less_changes(most_changed: bool, records: int) -> None:
    counting = Counting()
    for _ in range(4):
        counting.begins(most_changed=True, records=100, entries=100)
    assert not counting.begins(most_changed=True, records=100, entries=100)

    assert counting.begins(most_changed=most_changed, records=records, entries=100)
    assert counting.begins(most_changed=True, records=100, entries=100)


def test_when_everything_changes_each_time_nothing_is_lost_and_counting_comes_back(
    shop: Workshop,
) -> None:
    backend = shop.backend(incremental=True)
    table: Any = backend.state(TYPED)

    def change(keys: range, number: int) -> list[str]:
        for key in keys:
            backend.key = key
            table.update(number)
        backend.records_passed(len(keys))
        snapshot = shop.snapshot(backend, number)
        again = read_all(shop.restored([snapshot]), TYPED)
        assert {again[key] for key in keys} == {number}
        return [part.name for part in snapshot.parts]

    for number in range(1, 8):
        assert change(range(2100), number) == ["base"]
    assert [change(range(10), number)[-1] for number in range(8, 11)][1:] == ["delta", "delta"]
