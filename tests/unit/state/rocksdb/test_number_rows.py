"""Rows that are made of arrays are those that are made one at a time."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from riverrun import Types
from riverrun.api.state import ValueStateDescriptor
from riverrun.state.rocksdb.number_rows import in_order, int_row_values, numbers_of, row_keys
from riverrun.state.rocksdb.rows import RowFormat
from riverrun.state.schema import schema_of

SCHEMA = schema_of(ValueStateDescriptor("count", Types.LONG()), None, namespaced=False)
ROWS = RowFormat(SCHEMA, 3, 128, "counter")
LEAST, MOST = -(1 << 63), (1 << 63) - 1
EDGES = sorted(
    {sign * (1 << bits) + off for bits in range(63) for off in (-2, -1, 0, 1) for sign in (1, -1)}
    | {LEAST, LEAST + 1, MOST}
)
NUMBERS = st.integers(LEAST, MOST) | st.sampled_from(EDGES)


@given(st.sets(NUMBERS, min_size=1))
def test_row_keys_stand_in_the_order_of_their_bytes(some: set[int]) -> None:
    keys = list(some)
    order = in_order(np.array(keys, np.int64), 128)
    found = row_keys(order, 3)
    assert found == sorted(ROWS.place(key).prefix for key in keys)
    assert found == [ROWS.place(keys[at]).prefix for at in order.at.tolist()]
    assert [
        row for first in range(len(keys)) for row in row_keys(order.part(first, first + 1), 3)
    ] == found


@given(st.lists(NUMBERS))
def test_row_values_are_those_of_one_value_each(values: list[int]) -> None:
    found = int_row_values(np.array(values, np.int64))
    assert found == [ROWS.value(ROWS.place(0), value) for value in values]


def test_every_size_of_number_is_made_right() -> None:
    order = in_order(np.array(EDGES, np.int64), 128)
    assert row_keys(order, 3) == sorted(ROWS.place(key).prefix for key in EDGES)
    values = int_row_values(np.array(EDGES, np.int64))
    assert values == [ROWS.value(ROWS.place(0), value) for value in EDGES]


def test_only_ints_of_64_bits_are_numbers() -> None:
    assert numbers_of([1, -2]) is not None
    for others in ([1, 2.0], [True], [1 << 63], ["1"], [None, 1], []):
        assert numbers_of(others) is None
