"""Whatever is written is read back, and re-keying is regrouping, for state of any shape."""

from __future__ import annotations

import tempfile
import uuid
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from riverrun.api.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from riverrun.serde.types import Types
from riverrun.state_processor.writer import SavepointWriter
from riverrun.state_processor.writing.sorting import Sorter, groups_of, ranks_of
from riverrun.storage.open import open_storage
from tests.unit.state_processor.writing_checks import contents

KEYS = st.one_of(
    st.integers(),
    st.text(max_size=3),
    st.booleans(),
    st.binary(max_size=2),
    st.tuples(st.integers(-2, 2), st.text(max_size=1)),
)
VALUES = st.recursive(
    st.one_of(
        st.integers(), st.text(max_size=3), st.floats(allow_nan=False), st.binary(max_size=2)
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.tuples(inner, inner)),
    max_leaves=4,
)
LONGS = st.integers(-(1 << 63), (1 << 63) - 1)
GROUPS = st.sampled_from([1, 2, 7, 128, 32768])


@contextmanager
def store() -> Iterator[str]:
    place = f"memory://{uuid.uuid4().hex}"
    try:
        yield place
    finally:
        open_storage(place, {}).delete_folder(place)


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as made:
        yield Path(made)


@settings(max_examples=10, deadline=None)
@given(
    GROUPS,
    st.dictionaries(KEYS, VALUES, max_size=12),
    st.dictionaries(KEYS, st.lists(LONGS, min_size=1, max_size=4), max_size=8),
    st.dictionaries(KEYS, st.dictionaries(KEYS, st.none() | VALUES, min_size=1, max_size=4)),
)
def test_what_is_written_is_read_back(
    groups: int, values: dict[Any, Any], lists: dict[Any, list[int]], maps: dict[Any, Any]
) -> None:
    with store() as place:
        writer = SavepointWriter.new_savepoint(groups)
        writer.with_keyed_state("uid", ValueStateDescriptor("values"), values.items())
        writer.with_keyed_state("uid", ListStateDescriptor("lists", Types.LONG()), lists.items())
        writer.with_keyed_state("uid", MapStateDescriptor("maps"), maps.items())
        written = writer.write(f"{place}/one")
        again = SavepointWriter.from_existing_savepoint(written).change_max_parallelism(128)
        copied = again.write(f"{place}/two")

        for savepoint in (written, copied):
            assert contents(savepoint, "uid", "values") == values
            assert contents(savepoint, "uid", "lists") == lists
            assert contents(savepoint, "uid", "maps") == maps


@settings(max_examples=10, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 5), LONGS), max_size=40),
    st.integers(1, 7),
)
def test_rows_of_a_table_are_grouped_by_their_keys(rows: list[tuple[int, int]], size: int) -> None:
    table = pa.table({"key": [key for key, _ in rows], "n": [n for _, n in rows]})
    table = table.cast(pa.schema([("key", pa.int64()), ("n", pa.int64())]))
    expected: dict[int, list[int]] = defaultdict(list)
    for key, number in rows:
        expected[key].append(number)

    with store() as place:
        writer = SavepointWriter.new_savepoint(3)
        state = ListStateDescriptor("lists", Types.LONG())
        batches = table.to_batches(max_chunksize=size)
        writer.with_keyed_state("uid", state, batches, element="n")
        written = writer.write(f"{place}/one")

        assert contents(written, "uid", "lists") == expected


@settings(max_examples=10, deadline=None)
@given(
    st.dictionaries(st.integers(0, 30), st.lists(LONGS, min_size=1, max_size=3), max_size=20),
    st.integers(1, 6),
)
def test_rekeying_is_regrouping(state: dict[int, list[int]], modulus: int) -> None:
    grouped: dict[int, list[list[int]]] = defaultdict(list)
    for key, elements in state.items():
        grouped[key % modulus].append(elements)

    with store() as place:
        writer = SavepointWriter.new_savepoint(5)
        writer.with_keyed_state("uid", ListStateDescriptor("s", Types.LONG()), state.items())
        sums = {key: sum(elements) for key, elements in state.items()}
        writer.with_keyed_state("uid", ValueStateDescriptor("n"), sums.items())
        first = writer.write(f"{place}/one")
        again = SavepointWriter.from_existing_savepoint(first)
        again.rekey("uid", "s", lambda key, _: key % modulus, lambda a, b: a + b)
        again.rekey("uid", "n", lambda key, _: key % modulus, lambda a, b: a + b)
        second = again.write(f"{place}/two")

        found = contents(second, "uid", "s")
        assert {key: sorted(each) for key, each in found.items()} == {
            key: sorted(each for part in parts for each in part) for key, parts in grouped.items()
        }
        assert contents(second, "uid", "n") == {
            key: sum(sum(part) for part in parts) for key, parts in grouped.items()
        }


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 20), max_size=30), max_size=8),
    st.sampled_from([1, 200, 1 << 20]),
    st.sampled_from([1, 4, 128]),
)
def test_rows_come_out_in_order_from_memory_and_from_runs_on_disk(
    batches: list[list[int]], run_bytes: int, groups: int
) -> None:
    number = 0
    given_rows: list[tuple[int, int, int]] = []
    with folder() as place:
        sorter = Sorter(place, run_bytes)
        for values in batches:
            hashes = np.array([value * 0x9E3779B97F4A7C15 % 2**64 for value in values], np.uint64)
            numbers = list(range(number, number + len(values)))
            number += len(values)
            ranks = ranks_of(hashes, groups)
            sorter.add(pa.record_batch({"v": pa.array(values, pa.int64())}), ranks, numbers)
            given_rows += zip(ranks.tolist(), numbers, values, strict=True)
        found: list[tuple[int, int, int]] = []
        for batch, ranks, numbers_now in sorter.sorted():
            rows = zip(ranks.tolist(), numbers_now.tolist(), batch["v"].to_pylist(), strict=True)
            found += rows
            assert groups_of(ranks) == sorted(groups_of(ranks))

        assert found == sorted(given_rows)
        assert list(place.iterdir()) == []
