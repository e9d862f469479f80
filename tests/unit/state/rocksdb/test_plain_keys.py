"""Row keys that are made many at a time are those that are made one at a time."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverrun.protocol.snapshots import StateKind, StateMeta
from riverrun.state.rocksdb.plain_keys import keys_of, row_keys_of
from riverrun.state.rocksdb.rows import RowFormat
from riverrun.state.schema import schema_from

ROWS = RowFormat(schema_from(StateMeta("counts", StateKind.VALUE)), 3, 128, "counter")
NUMBERS = st.integers() | st.integers(-300, 300)
TEXTS = st.text() | st.text("a", min_size=120, max_size=130)


@given(st.lists(NUMBERS, min_size=1) | st.lists(TEXTS, min_size=1), st.integers(0, 32767))
def test_many_are_as_one(keys: list[Any], group: int) -> None:
    one_by_one = [place.prefix for place in ROWS.places_in(group, keys)]
    found = row_keys_of(group, 3, keys)
    assert found is None or found == one_by_one
    assert keys_of(one_by_one) in (None, keys)
    if all(type(key) is int and abs(key) < 1 << 63 for key in keys):
        assert found is not None
        assert keys_of(found) == keys


@given(st.lists(NUMBERS | TEXTS, min_size=1))
def test_many_in_their_own_groups_are_as_one(keys: list[Any]) -> None:
    assert ROWS.row_keys(keys) == [ROWS.place(key).prefix for key in keys]


@pytest.mark.parametrize(
    "keys",
    [[1, "a"], [True], [1.0], [(1, 2)], ["\ud800"], ["a" * 128], [1 << 1024], [None], [b"a"]],
    ids=["mixed", "bool", "float", "tuple", "surrogate", "long", "large", "none", "bytes"],
)
def test_other_keys_are_left_to_those_who_know_them(keys: list[Any]) -> None:
    assert row_keys_of(1, 3, keys) is None
    row_keys, row_values = ROWS.single_rows(1, keys, ["v"] * len(keys))
    found, values = ROWS.singles(row_keys, list(row_values))
    assert list(map(repr, found)) == list(map(repr, keys))
    assert list(values) == ["v"] * len(keys)


def test_addresses_are_taken_by_their_groups() -> None:
    keys = list(range(5000))
    found = list(ROWS.groups_of(keys))
    assert [group for group, _ in found] == sorted(group for group, _ in found)
    assert sorted(key for _, some in found for key in some) == keys
    for group, some in found:
        prefixes = row_keys_of(group, 3, some)
        assert prefixes == [place.prefix for place in ROWS.places(some)]
