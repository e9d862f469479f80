"""Values without a declared type become columns if any type fits them all, and pickles if none does."""

from __future__ import annotations

import enum
import pickle
from collections import namedtuple
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riverrun.api.state import ListStateDescriptor, ValueStateDescriptor
from riverrun.serde.row import Row
from riverrun.serde.types import Types
from riverrun.state.parquet.reader import UnreadableValues
from riverrun.state_processor.inference import Shape
from tests.unit.state_processor.made_checkpoints import Operator


class Color(enum.Enum):
    RED = 1


class Size(enum.StrEnum):
    LARGE = "l"


@dataclass
class Point:
    x: int
    tags: list[str]


Pair = namedtuple("Pair", ["left", "right"])  # noqa: PYI024  (such a one is what is tested)


class Opaque:
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Opaque)

    __hash__ = None  # type: ignore[assignment]


def shape_of(values: list[Any]) -> tuple[pa.DataType | None, list[Any]]:
    """The type of the column, and what it has."""
    shape = Shape(("start", "end"))
    for value in values:  # one at a time: what was seen before must count
        shape.add([value])
    found = shape.arrow_type()
    if found is None:
        return None, []
    convert = shape.converter() or (lambda value: value)
    plain = [None if value is None else convert(value) for value in values]
    return found, pa.array(plain, found).to_pylist()


@pytest.mark.parametrize(
    ("values", "arrow_type", "shown"),
    [
        ([1, None, -3], pa.int64(), [1, None, -3]),
        ([1, 2.5], pa.float64(), [1.0, 2.5]),
        ([], pa.string(), []),
        ([None], pa.string(), [None]),
        (
            [(1, 2)],
            pa.struct([("start", pa.int64()), ("end", pa.int64())]),
            [{"start": 1, "end": 2}],
        ),
        ([("a", 2)], pa.struct([("f0", pa.string()), ("f1", pa.int64())]), [{"f0": "a", "f1": 2}]),
        ([Pair(1, 2)], pa.struct([("left", pa.int64()), ("right", pa.int64())]), None),
        ([Row(a=1, b="x")], pa.struct([("a", pa.int64()), ("b", pa.string())]), None),
        (
            [Point(1, ["a"]), Point(2, [])],
            pa.struct([("x", pa.int64()), ("tags", pa.list_(pa.string()))]),
            [{"x": 1, "tags": ["a"]}, {"x": 2, "tags": []}],
        ),
        (
            [{"a": 1}, {"b": (1, None)}, {"b": (2, "x")}],
            pa.struct(
                [("a", pa.int64()), ("b", pa.struct([("f0", pa.int64()), ("f1", pa.string())]))]
            ),
            None,
        ),
        ([{1: "x"}, {2: None}], pa.map_(pa.int64(), pa.string()), [[(1, "x")], [(2, None)]]),
        ([{str(n): n for n in range(99)}], pa.map_(pa.string(), pa.int64()), None),
        ([{1, 2}, [3]], pa.list_(pa.int64()), [[1, 2], [3]]),
        ([Color.RED], pa.string(), ["RED"]),
        ([Size.LARGE, "m"], pa.string(), ["l", "m"]),
        ([UUID(int=1)], pa.string(), ["00000000-0000-0000-0000-000000000001"]),
        ([Decimal("1.25"), Decimal(1000)], pa.decimal128(6, 2), None),
        ([datetime(2026, 1, 1, tzinfo=UTC)], pa.timestamp("us", tz="UTC"), None),
        ([datetime(2026, 1, 1)], pa.timestamp("us"), None),  # noqa: DTZ001
        ([date(2026, 1, 1)], pa.date32(), None),
        ([time(1, 2)], pa.time64("us"), None),
        ([timedelta(1)], pa.duration("us"), None),
        ([np.int32(1), 2], pa.int64(), [1, 2]),
        ([np.array([1.5])], pa.list_(pa.float64()), [[1.5]]),
    ],
)
def test_a_column_has_the_type_that_fits_all(
    values: list[Any], arrow_type: pa.DataType, shown: list[Any] | None
) -> None:
    found, array = shape_of(values)
    assert found == arrow_type
    assert len(array) == len(values)
    if shown is not None:
        assert array == shown


@pytest.mark.parametrize(
    "values",
    [
        [1, "x"],
        [True, 1],
        [2**70],
        [2**60, 1.5],
        [Opaque()],
        [(1,), (1, 2)],
        [Pair(1, 2), (1, 2)],
        [{None: 1}],
        [{"a": 1}, {"a": "x"}],
        ["\ud800"],
        [datetime(2026, 1, 1), datetime(2026, 1, 1, tzinfo=UTC)],  # noqa: DTZ001
        [time(1, tzinfo=UTC)],
        [Decimal("nan")],
        [[1], ["x"]],
    ],
)
def test_where_no_type_fits_all_there_is_none(values: list[Any]) -> None:
    assert shape_of(values)[0] is None


_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(),
    st.binary(),
    st.dates(),
    st.decimals(),
    st.uuids(),
    st.datetimes(),
)
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(st.one_of(st.text(max_size=2), st.integers()), inner, max_size=3),
        st.builds(Pair, inner, inner),
    ),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(st.lists(_VALUES, max_size=5))
def test_whatever_the_values_are_their_type_takes_them(values: list[Any]) -> None:
    shape_of(values)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.text(), st.lists(st.integers(-100, 100))), max_size=5))
def test_what_arrow_shows_is_what_was_there(values: list[Any]) -> None:
    _, found = shape_of(values)
    assert [(row["f0"], row["f1"]) for row in found] == values


def test_pickles_come_with_a_text_and_objects_come_as_they_were(tmp_path: Path) -> None:
    operator = Operator(tmp_path)
    for number, value in enumerate([1, "x", Opaque(), None]):
        backend: Any = operator.at(number)
        backend.state(ValueStateDescriptor("mixed")).update(value)
        backend.state(ListStateDescriptor("lists")).update([value or 0, "y"])
    for savepoint in (operator.checkpoint(), operator.savepoint()):
        table = savepoint.state("customers", "mixed")
        assert table.schema.field("value").type == pa.binary()
        assert table.schema.field("value").metadata == {b"riverrun.encoding": b"pickle"}
        rows = {row["key"]: row for row in table.to_arrow().to_pylist()}
        assert rows[1]["value_text"] == "'x'"
        assert {key: pickle.loads(row["value"]) for key, row in rows.items()} == {
            0: 1,
            1: "x",
            2: Opaque(),
        }
        assert {row["key"]: row["value"] for row in table.rows()} == {0: 1, 1: "x", 2: Opaque()}
        lists = savepoint.state("customers", "lists").to_arrow()
        assert lists["elements"].type == pa.list_(pa.binary())
        assert "'y'" in lists["elements_text"][0].as_py()


def test_a_class_that_is_gone_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    operator = Operator(tmp_path)
    backend: Any = operator.at(1)
    backend.state(ValueStateDescriptor("opaque")).update(Opaque())
    saved = [operator.checkpoint(), operator.savepoint()]
    monkeypatch.delattr(f"{__name__}.Opaque")
    for savepoint in saved:
        with pytest.raises(
            UnreadableValues, match=r"'opaque' of operator 'customers'.*Opaque.*make"
        ):
            list(savepoint.state("customers", "opaque").rows())


def test_what_a_declared_type_does_not_hold_exactly_is_kept_beside_it(tmp_path: Path) -> None:
    operator = Operator(tmp_path, key_type=Types.STRING())
    backend: Any = operator.at("k")
    backend.state(ValueStateDescriptor("text", Types.STRING())).update("lone \ud800")
    for savepoint in (operator.checkpoint(), operator.savepoint()):
        table = savepoint.state("customers", "text").to_arrow()
        assert table["value"].to_pylist() == [None]
        assert pickle.loads(table["pickled"][0].as_py()) == {"value": "lone \ud800"}
        assert [row["value"] for row in savepoint.state("customers", "text").rows()] == [
            "lone \ud800"
        ]
