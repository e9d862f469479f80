"""Strategies: types that a format has a form for, and values of them."""

from __future__ import annotations

import struct
from typing import Any

from hypothesis import strategies as st

from riverrun.serde.composite_types import RowTypeInfo
from riverrun.serde.instant import Instant
from riverrun.serde.row import Row
from riverrun.serde.type_info import TypeInformation
from riverrun.serde.types import Types

Typed = tuple[TypeInformation, st.SearchStrategy[Any]]

TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
SINGLE = st.floats(allow_nan=False, allow_infinity=False, width=32).map(
    lambda value: struct.unpack("f", struct.pack("f", value))[0]
)
BASIC: list[Typed] = [
    (Types.STRING(), TEXT),
    (Types.BOOLEAN(), st.booleans()),
    (Types.BYTE(), st.integers(-128, 127)),
    (Types.SHORT(), st.integers(-(2**15), 2**15 - 1)),
    (Types.INT(), st.integers(-(2**31), 2**31 - 1)),
    (Types.LONG(), st.integers(-(2**63), 2**63 - 1)),
    (Types.FLOAT(), SINGLE),
    (Types.DOUBLE(), st.floats(allow_nan=False, allow_infinity=False)),
    (Types.BIG_INT(), st.integers()),
    (Types.BIG_DEC(), st.decimals(allow_nan=False, allow_infinity=False)),
    (Types.CHAR(), st.characters(codec="utf-8", exclude_categories=["Cc"])),
    (Types.SQL_DATE(), st.dates()),
    (Types.SQL_TIME(), st.times()),
    (Types.SQL_TIMESTAMP(), st.datetimes()),
    (
        Types.INSTANT(),
        st.builds(Instant, st.integers(0, 4 * 10**9), st.integers(0, 10**9 - 1)),
    ),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), st.binary(max_size=12)),
]


def row_of(names: list[str], values: list[Any]) -> Row:
    row = Row(*values)
    row.set_field_names(names)
    return row


def rows(fields: list[Typed], names: list[str]) -> tuple[RowTypeInfo, st.SearchStrategy[Row]]:
    values = st.tuples(*[st.none() | strategy for _, strategy in fields])
    return (
        Types.ROW_NAMED(names, [kind for kind, _ in fields]),
        values.map(lambda found: row_of(names, list(found))),
    )


def named(fields: list[Typed]) -> st.SearchStrategy[tuple[RowTypeInfo, st.SearchStrategy[Row]]]:
    names = st.lists(
        st.text(st.characters(codec="utf-8"), min_size=1, max_size=6),
        min_size=len(fields),
        max_size=len(fields),
        unique=True,
    )
    return names.map(lambda chosen: rows(fields, chosen))


def nested(inner: st.SearchStrategy[Typed]) -> st.SearchStrategy[Typed]:
    """Lists, maps, tuples and rows of ``inner``."""

    def list_of(one: Typed) -> Typed:
        return Types.LIST(one[0]), st.lists(st.none() | one[1], max_size=3)

    def map_of(one: Typed) -> Typed:
        return (
            Types.MAP(Types.STRING(), one[0]),
            st.dictionaries(TEXT, st.none() | one[1], max_size=3),
        )

    def tuple_of(parts: list[Typed]) -> Typed:
        return (
            Types.TUPLE([kind for kind, _ in parts]),
            st.tuples(*[st.none() | strategy for _, strategy in parts]),
        )

    several = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        inner.map(list_of), inner.map(map_of), several.map(tuple_of), several.flatmap(named)
    )


ANY_TYPE = st.recursive(st.sampled_from(BASIC), nested, max_leaves=4)
ANY_ROW = st.lists(ANY_TYPE, min_size=1, max_size=4).flatmap(named)
