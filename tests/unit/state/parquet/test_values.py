"""Values come back from a file exactly as they were, whatever their type."""

from __future__ import annotations

import math
import sys
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riverrun.protocol.snapshots import StateKind, StateMeta
from riverrun.serde.evolution import type_to_json
from riverrun.serde.instant import Instant
from riverrun.serde.row import Row, RowKind
from riverrun.serde.types import (
    DataclassTypeInfo,
    NamedTupleTypeInfo,
    OptionalTypeInfo,
    TypeInformation,
    Types,
)
from riverrun.state.interchange import StateBlock
from riverrun.state.parquet.reader import UnreadableValues
from riverrun.state.serializers import UnstorableValue
from tests.unit.serde.types_for_tests import types, values_of
from tests.unit.state.parquet.conftest import read_blocks, through_a_file, write_blocks


def meta_of(
    kind: StateKind = StateKind.VALUE, **types_by_role: TypeInformation | None
) -> StateMeta:
    found = {role: type_to_json(known) for role, known in types_by_role.items() if known}
    return StateMeta("state", kind, found)


def exactly(value: Any) -> Any:
    """The value in a form in which 1, True and 1.0, 0.0 and -0.0, and a nan with itself, are as they are."""
    if isinstance(value, dict):
        return [(exactly(key), exactly(item)) for key, item in value.items()]
    if isinstance(value, Row):
        return repr(value), value.get_row_kind()
    return type(value), value if isinstance(value, int) else repr(value)


def kept(type_info: TypeInformation | None, values: list[Any]) -> list[Any]:
    """The values of a state after they were written and read."""
    entries = through_a_file(meta_of(value=type_info), list(range(len(values))), values)
    assert [key for key, _, _ in entries] == list(range(len(values)))
    return [value for _, _, value in entries]


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_values_of_any_type_come_back(data: st.DataObject) -> None:
    type_info = data.draw(types())
    drawn = data.draw(st.lists(values_of(type_info), min_size=1, max_size=4))
    values = [value for value in drawn if value is not None] or [drawn[0]]
    if values[0] is None:
        return
    assert list(map(exactly, kept(type_info, values))) == list(map(exactly, values))


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_elements_and_maps_of_any_type_come_back(data: st.DataObject) -> None:
    type_info = data.draw(types())
    one = values_of(type_info).filter(lambda value: value is not None)
    lists = data.draw(st.lists(st.lists(one, min_size=1, max_size=3), min_size=1, max_size=3))
    keys = list(range(len(lists)))
    found = through_a_file(meta_of(StateKind.LIST, value=type_info), keys, lists)
    assert [exactly(value) for _, _, value in found] == list(map(exactly, lists))

    maps = [dict(enumerate(values)) for values in lists]
    found = through_a_file(
        meta_of(StateKind.MAP, map_key=Types.LONG(), value=type_info), keys, maps
    )
    assert [exactly(value) for _, _, value in found] == list(map(exactly, maps))


plain_values = st.one_of(
    st.text(max_size=3),
    st.integers(),
    st.floats(),
    st.booleans(),
    st.binary(max_size=3),
    st.tuples(st.integers(), st.text(max_size=2)),
    st.tuples(st.integers(), st.integers()),
    st.none(),
)


@settings(max_examples=50, deadline=None)
@given(st.lists(plain_values, min_size=1, max_size=6, unique_by=repr))
def test_keys_and_namespaces_without_a_type_come_back(keys: list[Any]) -> None:
    meta = StateMeta("state", StateKind.VALUE, namespaced=True)
    found = through_a_file(meta, keys, list(range(len(keys))), list(reversed(keys)))
    assert [exactly(key) for key, _, _ in found] == list(map(exactly, keys))
    assert [exactly(name) for _, name, _ in found] == list(map(exactly, reversed(keys)))


@pytest.mark.parametrize(
    ("type_info", "values"),
    [
        (Types.DOUBLE(), [0.0, -0.0, math.nan, math.inf, -math.inf, sys.float_info.min]),
        (Types.LONG(), [0, -(2**63), 2**63 - 1]),
        (Types.BIG_INT(), [0, -(10**40), 2**4000, -1, 10**5000]),
        (
            Types.BIG_DEC(),
            list(map(Decimal, ["1.50", "-0.0", "NaN", "sNaN", "1E+400", "-Infinity"])),
        ),
        (Types.BOOLEAN(), [True, False]),
        (Types.STRING(), ["", "\0", "ä€😀", "\ud800"]),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), [b"", b"\x00\xff"]),
        (Types.INSTANT(), [Instant(-(2**62), 999_999_999), Instant(0, 0)]),
        (Types.SQL_DATE(), [date.min, date.max]),
        (Types.SQL_TIME(), [time.min, time.max, time(1, tzinfo=UTC)]),
        (
            Types.SQL_TIMESTAMP(),
            [
                datetime(1, 1, 1),  # noqa: DTZ001
                datetime(9999, 12, 31, 23, 59, 59, 999_999),  # noqa: DTZ001
                datetime(2024, 1, 1, tzinfo=timezone(timedelta(hours=2), "X")),
                datetime(2024, 10, 27, 2, 30, fold=1),  # noqa: DTZ001
            ],
        ),
        (Types.LIST(Types.LONG()), [[], [None], [1, None]]),
        (Types.MAP(Types.STRING(), Types.LONG()), [{}, {None: 1}, {"a": None}, {"b": 1, "a": 2}]),
    ],
    ids=lambda value: repr(value) if isinstance(value, TypeInformation) else "",
)
def test_values_at_the_edge_come_back(type_info: TypeInformation, values: list[Any]) -> None:
    assert list(map(exactly, kept(type_info, values))) == list(map(exactly, values))


class Color(IntEnum):
    RED = 1


@dataclass
class Base:
    x: int


@dataclass
class Derived(Base):
    y: int = 0


def test_values_that_are_more_than_their_type_says_come_back_whole() -> None:
    base = DataclassTypeInfo(Base, [Types.LONG()])
    assert kept(base, [Base(1), Derived(2, 3), Base(4)]) == [Base(1), Derived(2, 3), Base(4)]


def test_values_without_a_type_come_back() -> None:
    values = [1, "x", {1, 2}, Color.RED, OrderedDict(a=1), Derived(1, 2), (1, [2]), True, 1.0]
    assert list(map(exactly, kept(None, values))) == list(map(exactly, values))


def test_keys_that_do_not_fit_their_type_come_back() -> None:
    keys = [1, "text", True, 2**70, None, (1, 2), Color.RED, -5]
    found = through_a_file(meta_of(key=Types.LONG(), value=Types.LONG()), keys, [0] * len(keys))
    assert [exactly(key) for key, _, _ in found] == [
        exactly(int(key) if key is Color.RED else key) for key in keys
    ]


def test_rows_keep_their_kind_and_names() -> None:
    type_info = Types.ROW_NAMED(["row_kind", "ROW_KIND"], [Types.LONG(), Types.STRING()])
    rows = [Row(row_kind=1, ROW_KIND="a"), Row(row_kind=None, ROW_KIND="b")]
    rows[1].set_row_kind(RowKind.DELETE)
    found = kept(type_info, rows)
    assert found == rows
    assert [row.get_row_kind() for row in found] == [RowKind.INSERT, RowKind.DELETE]


class Reading(NamedTuple):
    sensor: str
    values: list[float]
    labels: dict[str, str]
    at: Instant


READING = NamedTupleTypeInfo(
    Reading,
    [
        Types.STRING(),
        Types.LIST(Types.DOUBLE()),
        Types.MAP(Types.STRING(), Types.STRING()),
        Types.INSTANT(),
    ],
)


def test_nested_values_are_nested_columns(tmp_path: Path) -> None:
    meta = meta_of(key=Types.TUPLE([Types.STRING(), Types.LONG()]), value=READING)
    value = Reading("a", [1.5, 2.5], {"unit": "C"}, Instant(7, 8))
    path = tmp_path / "file.parquet"
    write_blocks(path, meta, [StateBlock(meta, 2, [("k", 1)], None, [value])])
    assert pq.read_table(path).to_pylist() == [
        {
            "key_group": 2,
            "key": {"f0": "k", "f1": 1},
            "value": {
                "sensor": "a",
                "values": [1.5, 2.5],
                "labels": [("unit", "C")],
                "at": {"seconds": 7, "nanos": 8},
            },
            "pickled": None,
        }
    ]
    assert read_blocks(path)[0].values == [value]


def test_a_value_that_does_not_fit_its_type_is_refused_with_operator_and_state() -> None:
    for wrong in ("text", True, 2**63):
        with pytest.raises(UnstorableValue, match=r"'counter'.*'state'.*LONG|int"):
            kept(Types.LONG(), [1, wrong])
    with pytest.raises(UnstorableValue, match="None"):
        kept(Types.TUPLE([Types.LONG()]), [(1,), None])
    assert kept(OptionalTypeInfo(Types.TUPLE([Types.LONG()])), [(1,), None]) == [(1,), None]


def test_a_value_that_cannot_be_pickled_is_refused_with_operator_and_state() -> None:
    with pytest.raises(UnstorableValue, match=r"'counter'.*'state'.*cannot be pickled"):
        kept(None, [1, (number for number in range(3))])


class Gone:
    """Its class cannot be imported any more when the test says so."""


def test_a_class_that_is_gone_is_named_with_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    meta, path = meta_of(), tmp_path / "file.parquet"
    write_blocks(path, meta, [StateBlock(meta, 2, ["k"], None, [Gone()])])
    monkeypatch.delattr(sys.modules[__name__], "Gone")
    with pytest.raises(UnreadableValues, match=r"file\.parquet.*'state'.*'counter'.*Gone"):
        read_blocks(path)
