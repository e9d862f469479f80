"""Keyed state out of tables and pairs: whatever it is made of, it is there as it was given."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd  # type: ignore[import-untyped]
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from riverrun.api.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from riverrun.api.state_ttl import StateTtlConfig
from riverrun.core.time import Time
from riverrun.serde.row import Row
from riverrun.serde.types import DataclassTypeInfo, NamedTupleTypeInfo, Types
from riverrun.state_processor.names import NotInSavepoint
from riverrun.state_processor.savepoint import Savepoint
from riverrun.state_processor.writer import SavepointWriter
from riverrun.state_processor.writing.refusals import DuplicateKey, RowRefused, WriteRefused
from tests.unit.state_processor.writing_checks import blocks, contents

TOTAL = ValueStateDescriptor("total", Types.LONG())
CITIES = pa.table({"city": ["Rome", "Oslo", "Bern"], "people": [3, 1, 2]})
PEOPLE = {"Rome": 3, "Oslo": 1, "Bern": 2}


class Point(NamedTuple):
    x: int
    y: int


@dataclass(frozen=True)
class Account:
    city: str
    balance: float


def write(folder: Path, state: StateDescriptor | str, data: Any, **choice: Any) -> str:
    writer = SavepointWriter.new_savepoint()
    return writer.with_keyed_state("uid", state, data, **choice).write(folder / "savepoint")


class Stream:
    """Another library's table: all that is known of it is that it streams Arrow."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize(
    "data",
    [
        CITIES,
        CITIES.to_batches()[0],
        CITIES.to_reader(),
        iter(CITIES.to_batches(max_chunksize=1)),
        [CITIES.slice(0, 1), CITIES.slice(1)],
        CITIES.to_pandas(),
        CITIES.to_pandas().astype({"city": "category"}),
        Stream(CITIES),
    ],
    ids=["table", "batch", "reader", "batches", "tables", "pandas", "categories", "stream"],
)
def test_any_table_will_do(tmp_path: Path, data: Any) -> None:
    written = write(tmp_path, TOTAL, data, key="city", value="people", key_type=Types.STRING())

    assert contents(written, "uid", "total") == PEOPLE


@pytest.mark.parametrize("pairs", [list(PEOPLE.items()), PEOPLE.items(), iter(PEOPLE.items())])
def test_pairs_of_key_and_value_will_do(tmp_path: Path, pairs: Any) -> None:
    assert contents(write(tmp_path, TOTAL, pairs), "uid", "total") == PEOPLE


def test_a_table_like_a_savepoints_own_needs_no_names(tmp_path: Path) -> None:
    table = pa.table({"key": ["a", "a", "b"], "map_key": [1, 2, 1], "map_value": ["x", "y", None]})

    written = write(tmp_path, MapStateDescriptor("m", Types.INT(), Types.STRING()), table)

    assert contents(written, "uid", "m") == {"a": {1: "x", 2: "y"}, "b": {1: None}}


@pytest.mark.parametrize(
    ("state", "data", "expected"),
    [
        (ValueStateDescriptor("s"), {"a": {1, 2}}, {"a": {1, 2}}),
        (ValueStateDescriptor("s", Types.DOUBLE()), {"a": 1}, {"a": 1.0}),
        (ListStateDescriptor("s", Types.INT()), {"a": [1, 2], 2: (3,)}, {"a": [1, 2], 2: [3]}),
        (MapStateDescriptor("s"), {"a": {"x": None}}, {"a": {"x": None}}),
        (ReducingStateDescriptor("s", max, Types.LONG()), {"a": 7}, {"a": 7}),
        (ValueStateDescriptor("s", Types.BIG_DEC()), {"a": Decimal("1.5")}, {"a": Decimal("1.5")}),
        (
            ValueStateDescriptor("s", DataclassTypeInfo(Account, [Types.STRING(), Types.DOUBLE()])),
            {"a": {"city": "Rome", "balance": 2.0}, "b": Account("Oslo", 1.0)},
            {"a": Account("Rome", 2.0), "b": Account("Oslo", 1.0)},
        ),
    ],
    ids=lambda value: repr(value) if isinstance(value, StateDescriptor) else "",
)
def test_every_kind_of_state_can_be_given_in_pairs(
    tmp_path: Path, state: StateDescriptor, data: dict[Any, Any], expected: dict[Any, Any]
) -> None:
    written = write(tmp_path, state, data.items())

    assert contents(written, "uid", "s") == expected
    assert {block.meta.kind for block in blocks(written, "uid", "s")} == {state.kind}


def test_of_aggregating_state_the_accumulator_is_given(tmp_path: Path) -> None:
    class Average:
        def create_accumulator(self) -> tuple[int, int]:
            return 0, 0

        def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
            return accumulator[0] + value, accumulator[1] + 1

        def get_result(self, accumulator: tuple[int, int]) -> float:
            return accumulator[0] / accumulator[1]

        def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
            return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]

    accumulator = Types.TUPLE([Types.LONG(), Types.LONG()])
    state = AggregatingStateDescriptor("average", Average(), accumulator)
    table = pa.table({"key": [1, 2], "sum": [10, 20], "count": [2, 3]})

    written = write(tmp_path, state, table, value=("sum", "count"))

    assert contents(written, "uid", "average") == {1: (10, 2), 2: (20, 3)}


@pytest.mark.parametrize(
    ("type_info", "expected"),
    [
        (Types.TUPLE([Types.INT(), Types.INT()]), (1, 2)),
        (NamedTupleTypeInfo(Point, [Types.INT(), Types.INT()]), Point(1, 2)),
        (Types.ROW_NAMED(["x", "y"], [Types.INT(), Types.INT()]), Row(x=1, y=2)),
        (Types.ROW([Types.INT(), Types.INT()]), Row(1, 2)),
        (Types.LIST(Types.INT()), None),
        (None, {"x": 1, "y": 2}),
    ],
    ids=["tuple", "named tuple", "row with names", "row", "list", "none"],
)
def test_several_columns_make_a_value_with_fields(
    tmp_path: Path, type_info: Any, expected: Any
) -> None:
    table = pa.table({"key": ["a"], "x": [1], "y": [2]})

    if expected is None:
        with pytest.raises(RowRefused, match=r"row 0, column 'x, y': expected a list"):
            write(tmp_path, "s", table, value=("x", "y"), value_type=type_info)
        return
    written = write(tmp_path, "s", table, value=("x", "y"), value_type=type_info)

    assert contents(written, "uid", "s") == {"a": expected}


def test_several_columns_make_a_key_or_a_window(tmp_path: Path) -> None:
    table = pa.table({"a": [1, 1], "b": ["x", "y"], "start": [0, 10], "end": [10, 20], "v": [5, 6]})

    written = write(tmp_path, "s", table, key=("a", "b"), namespace=("start", "end"), value="v")

    assert contents(written, "uid", "s") == {((1, "x"), (0, 10)): 5, ((1, "y"), (10, 20)): 6}
    (file, *_) = Path(written).glob("state/*/s-*.parquet")
    assert pq.read_schema(file).field("namespace").type.names == ["start", "end"]


def test_rows_of_one_key_make_a_list_in_their_order(tmp_path: Path) -> None:
    count = 20_000
    table = pa.table({"key": [n % 7 for n in range(count)], "n": list(range(count))})

    written = write(tmp_path, ListStateDescriptor("s", Types.LONG()), table, element="n")

    assert contents(written, "uid", "s") == {k: list(range(k, count, 7)) for k in range(7)}


def test_maps_and_lists_can_be_whole_columns(tmp_path: Path) -> None:
    table = pa.table(
        {
            "key": ["a", "b"],
            "list": [[1, 2], [3]],
            "map": pa.array([[("x", 1)], [("y", 2), ("z", 3)]], pa.map_(pa.string(), pa.int64())),
        }
    )
    writer = SavepointWriter.new_savepoint()
    writer.with_keyed_state("uid", ListStateDescriptor("l", Types.INT()), table, value="list")
    state = MapStateDescriptor("m", Types.STRING(), Types.LONG())
    writer.with_keyed_state("uid", state, table, value="map")

    written = writer.write(tmp_path / "savepoint")

    assert contents(written, "uid", "l") == {"a": [1, 2], "b": [3]}
    assert contents(written, "uid", "m") == {"a": {"x": 1}, "b": {"y": 2, "z": 3}}


def test_timestamps_of_pandas_are_those_of_python(tmp_path: Path) -> None:
    frame = pd.DataFrame({"key": [1], "value": [pd.Timestamp("2026-01-02T03:04:05.000006")]})

    written = write(tmp_path, ValueStateDescriptor("s", Types.SQL_TIMESTAMP()), frame)

    found = contents(written, "uid", "s")[1]
    assert (type(found), found) == (datetime, datetime(2026, 1, 2, 3, 4, 5, 6))  # noqa: DTZ001


def test_a_descriptor_with_a_time_to_live_will_do(tmp_path: Path) -> None:
    state = ValueStateDescriptor("s", Types.LONG())
    state.enable_time_to_live(StateTtlConfig.new_builder(Time.hours(1)).build())

    assert contents(write(tmp_path, state, [("a", 1)]), "uid", "s") == {"a": 1}


def test_a_state_without_rows_is_an_empty_state(tmp_path: Path) -> None:
    written = write(tmp_path, TOTAL, [])

    assert contents(written, "uid", "total") == {}
    assert {
        meta.name for each in Savepoint.read(written).find("uid").keyed for meta in each.states
    } == {"total"}


@pytest.mark.parametrize(
    ("data", "choice", "message"),
    [
        ({"key": [1, None], "value": [1, 2]}, {}, "row 1, column 'key': found None; a key"),
        ({"key": [1, 2], "n": [1, None]}, {"value": "n"}, "row 1, column 'n': found None; a state"),
        (
            {"k": ["a", "b"], "value": [1, 1 << 40]},
            {"key": "k", "value_type": Types.INT()},
            "row 1, column 'value': expected an int of 32 bits",
        ),
        (
            {"k": ["a", 1]},
            {"key": "k", "value": "k", "key_type": Types.LONG()},
            "row 0, column 'k': expected an int of 64 bits",
        ),
        ({"key": [[1]], "value": [1]}, {}, "row 0, column 'key': .*list cannot be a key"),
        ({"key": [1], "e": [None]}, {"element": "e"}, "row 0, column 'e': expected a list with"),
        ({"key": [1], "e": ["x"]}, {"element": "e", "value_type": Types.INT()}, "column 'e': expe"),
    ],
    ids=["no key", "no value", "too large", "key type", "list as key", "no element", "element"],
)
def test_what_cannot_be_an_entry_is_named_by_row_and_column(
    tmp_path: Path, data: dict[str, list[Any]], choice: dict[str, Any], message: str
) -> None:
    frame = pa.table(
        {
            name: pa.array(map(str, column) if name == "k" else column)
            for name, column in data.items()
        }
    )

    with pytest.raises(RowRefused, match=message):
        write(tmp_path, "state", frame, **choice)

    assert not (tmp_path / "savepoint").exists()


def test_rows_are_counted_over_all_batches(tmp_path: Path) -> None:
    pairs = [(number, number) for number in range(20_000)] + [(20_001, "text")]

    with pytest.raises(
        RowRefused, match=r"operator 'uid': state 'total': row 20000, column 'value'"
    ):
        write(tmp_path, TOTAL, pairs)


@pytest.mark.parametrize(
    ("state", "data", "choice", "message"),
    [
        (TOTAL, [("a", 1), ("b", 2), ("a", 3)], {}, "rows 0 and 2 both have the key 'a'"),
        (TOTAL, [(1, 1), (1.0, 2)], {}, "rows 0 and 1 both have the key 1"),
        (ListStateDescriptor("l"), [("a", [1]), ("a", [2])], {}, "rows 0 and 1 .* key 'a'"),
        (MapStateDescriptor("m"), [("a", {1: 1}), ("a", {2: 2})], {}, "rows 0 and 1 .* key 'a'"),
        (
            MapStateDescriptor("m"),
            pa.table({"key": ["a", "a"], "k": [1, 1], "v": [1, 2]}),
            {"map_key": "k", "value": "v"},
            "rows 0 and 1 both have the key 'a' and the map key 1",
        ),
    ],
    ids=["value", "equal numbers", "list", "map", "entry of a map"],
)
def test_a_key_that_is_there_twice_is_named(
    tmp_path: Path, state: StateDescriptor, data: Any, choice: dict[str, Any], message: str
) -> None:
    with pytest.raises(DuplicateKey, match=message):
        write(tmp_path, state, data, **choice)

    assert not (tmp_path / "savepoint").exists()


def test_a_column_that_is_not_there_is_answered_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(NotInSavepoint, match="no column 'peple'; did you mean 'people'"):
        write(tmp_path, TOTAL, CITIES, key="city", value="peple")


def test_data_that_has_no_rows_is_refused_at_once() -> None:
    with pytest.raises(WriteRefused, match="its data is 7 of class int; expected"):
        SavepointWriter.new_savepoint().with_keyed_state("uid", TOTAL, 7)


@pytest.mark.parametrize(
    ("state", "choice", "message"),
    [
        (TOTAL, {"map_key": "k"}, "it is value state, and map_key='k' is for map state"),
        (MapStateDescriptor("m"), {"element": "k"}, "element='k' is for list state"),
        (TOTAL, {"value_type": Types.INT()}, "give one of both"),
    ],
)
def test_arguments_that_contradict_each_other_are_refused(
    state: StateDescriptor, choice: dict[str, Any], message: str
) -> None:
    with pytest.raises(WriteRefused, match=message):
        SavepointWriter.new_savepoint().with_keyed_state("uid", state, [], **choice)


def test_a_state_that_is_there_is_not_replaced_by_accident() -> None:
    writer = SavepointWriter.new_savepoint().with_keyed_state("uid", TOTAL, [])

    with pytest.raises(WriteRefused, match=r"has a state 'total' already; take remove_state"):
        writer.with_keyed_state("uid", TOTAL, [])
    with pytest.raises(WriteRefused, match=r"has a state 'total' already"):
        writer.with_list_state("uid", "total", [1])


def test_an_iterator_is_not_taken_for_empty_when_it_was_read(tmp_path: Path) -> None:
    def pairs() -> Iterator[tuple[str, int]]:
        yield "a", 1

    writer = SavepointWriter.new_savepoint().with_keyed_state("uid", TOTAL, pairs())
    writer.write(tmp_path / "first")

    with pytest.raises(WriteRefused, match="its data is an iterator, which was read before"):
        writer.write(tmp_path / "second")
    assert not (tmp_path / "second").exists()


def test_the_number_of_key_groups_is_checked() -> None:
    with pytest.raises(WriteRefused, match="max parallelism 0: expected a number from 1 to 32768"):
        SavepointWriter.new_savepoint(0)


def test_parquet_tools_read_what_was_written(tmp_path: Path) -> None:
    written = write(tmp_path, TOTAL, CITIES, key="city", value="people", key_type=Types.STRING())

    tables = [pq.read_table(file) for file in Path(written).glob("state/*/total-*.parquet")]
    found = pa.concat_tables(tables).to_pylist()

    assert {row["key"]: row["value"] for row in found} == PEOPLE
    assert [row["pickled"] for row in found] == [None] * 3
