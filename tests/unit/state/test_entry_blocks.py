"""Entries that are brought into order and cut into blocks are the same entries."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverrun.api.state import ListStateDescriptor, StateDescriptor, ValueStateDescriptor
from riverrun.serde.stable_hash import stable_hash
from riverrun.serde.type_info import TypeInformation
from riverrun.serde.types import Types
from riverrun.state.hashmap.frozen import pieces_of
from riverrun.state.schema import schema_of
from riverrun.state.serializers import EntrySerializer, UnstorableValue

KEYS = {
    "ints": st.integers(-(1 << 63), (1 << 63) - 1),
    "large ints": st.integers(),
    "texts": st.text(),
    "pairs": st.tuples(st.integers(), st.text()),
    "bools": st.booleans(),
    "mixed": st.integers() | st.text() | st.none(),
}
VALUES: dict[str, tuple[TypeInformation | None, st.SearchStrategy[Any]]] = {
    "long": (Types.LONG(), st.integers(-(1 << 63), (1 << 63) - 1)),
    "double": (Types.DOUBLE(), st.floats(allow_nan=False)),
    "text": (Types.STRING(), st.text()),
    "tuple": (Types.TUPLE([Types.LONG(), Types.STRING()]), st.tuples(st.just(7), st.text())),
    "time": (Types.SQL_TIMESTAMP(), st.datetimes(datetime(1970, 1, 1))),  # noqa: DTZ001 - no zone
    "undeclared": (None, st.integers() | st.text() | st.lists(st.integers())),
}


def serializer_of(
    descriptor: StateDescriptor, key: TypeInformation | None = None, *, namespaced: bool = False
) -> EntrySerializer:
    return EntrySerializer(schema_of(descriptor, key, namespaced=namespaced), "operator")


def through_blocks(
    serializer: EntrySerializer, addresses: list[Any], values: list[Any], order: list[int]
) -> tuple[list[Any], list[Any]]:
    run = serializer.entries(addresses, values).taken(np.array(order, np.intp))
    middle = len(order) // 3
    first = serializer.decode(run.encode(0, middle)) if middle else ([], [])
    second = serializer.decode(run.encode(middle, len(order)))
    return first[0] + second[0], first[1] + second[1]


@pytest.mark.parametrize("of_values", VALUES)
@pytest.mark.parametrize("of_keys", KEYS)
@given(data=st.data())
def test_values_of_every_type_come_back_in_the_order_asked_for(
    of_keys: str, of_values: str, data: st.DataObject
) -> None:
    declared, drawn = VALUES[of_values]
    size = data.draw(st.sampled_from([1, 3, 16, 40]))
    keys = data.draw(st.lists(KEYS[of_keys], min_size=size, max_size=size))
    values = data.draw(st.lists(drawn, min_size=size, max_size=size))
    order = data.draw(st.permutations(range(size)))
    serializer = serializer_of(
        ValueStateDescriptor("state", declared or Types.PICKLED_BYTE_ARRAY())
    )

    found = through_blocks(serializer, keys, values, order)

    assert found == ([keys[place] for place in order], [values[place] for place in order])
    assert list(map(type, found[0])) == [type(keys[place]) for place in order]


@given(st.data())
def test_the_hashes_of_a_run_are_those_of_its_keys(data: st.DataObject) -> None:
    keys = data.draw(st.lists(data.draw(st.sampled_from(list(KEYS.values()))), max_size=40))
    declared = data.draw(st.sampled_from([None, Types.LONG(), Types.STRING(), Types.DOUBLE()]))
    serializer = serializer_of(ValueStateDescriptor("state", Types.LONG()), declared)

    assert serializer.tombstones(keys).hashes().tolist() == list(map(stable_hash, keys))


def test_lists_with_namespaces_come_back_in_the_order_asked_for() -> None:
    serializer = serializer_of(ListStateDescriptor("state", Types.LONG()), namespaced=True)
    addresses = [(key, ("window", key + 1)) for key in range(40)]
    values = [list(range(key % 5)) for key in range(40)]
    order = list(reversed(range(40)))

    found = through_blocks(serializer, addresses, values, order)

    assert found == (addresses[::-1], values[::-1])


def test_a_value_that_does_not_fit_is_named_whatever_its_block() -> None:
    serializer = serializer_of(ValueStateDescriptor("state", Types.LONG()))
    run = serializer.entries(list(range(40)), [*range(39), "text"])

    run.encode(0, 39)
    with pytest.raises(UnstorableValue, match=r"'operator'.*'state'.*text"):
        run.encode(39, 40)


@given(st.lists(st.integers(0, 20)), st.integers(1, 10))
def test_pieces_hold_every_entry_once_and_are_full_but_for_the_last(
    counts: list[int], size: int
) -> None:
    pieces = list(pieces_of(counts, size))

    held = [group for _, _, groups in pieces for group, count in groups for _ in range(count)]
    assert held == [group for group, count in enumerate(counts) for _ in range(count)]
    assert [(start, end) for start, end, _ in pieces] == [
        (start, min(start + size, len(held))) for start in range(0, len(held), size)
    ]
    for start, end, groups in pieces:
        assert sum(count for _, count in groups) == end - start
