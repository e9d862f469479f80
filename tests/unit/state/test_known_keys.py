"""Snapshots of everything, one after the other: keys that are the same are not worked out again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from riverrun.api.state import ValueStateDescriptor
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
