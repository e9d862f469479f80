"""JSON as Python's own values, and one value a message."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverrun.connectors.formats.errors import FormatError
from riverrun.connectors.formats.json_plain import (
    JsonDeserializationSchema,
    JsonSerializationSchema,
)
from riverrun.connectors.formats.raw import RawFormatSchema
from riverrun.core.errors import ProgramError
from riverrun.serde.types import Types
from tests.unit.connectors.formats.values_of_types import BASIC

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text() | st.floats(-1e9, 1e9),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@dataclass(frozen=True)
class Order:
    id: int
    price: Decimal


@given(st.lists(JSON, max_size=4))
def test_python_values_become_json_and_come_back(values: list[Any]) -> None:
    messages = JsonSerializationSchema().serialize_run(values)

    assert JsonDeserializationSchema().deserialize_run(messages) == values


def test_objects_of_a_class_are_checked() -> None:
    schema = pickle.loads(pickle.dumps(JsonDeserializationSchema(Order)))
    write = pickle.loads(pickle.dumps(JsonSerializationSchema()))

    assert schema.deserialize(write.serialize(Order(1, Decimal("1.10")))) == Order(
        1, Decimal("1.10")
    )
    with pytest.raises(FormatError, match=r"json: Expected `int`, got `str` - at `\$.id`; found"):
        schema.deserialize_run([b'{"id": "1", "price": 1}'])


def test_a_message_that_is_no_json_may_be_ignored() -> None:
    schema = JsonDeserializationSchema(ignore_parse_errors=True)

    assert schema.deserialize_run([b"{", b"1"]) == [None, 1]


def test_what_json_cannot_say_is_not_written() -> None:
    with pytest.raises(FormatError, match="json: cannot write"):
        JsonSerializationSchema().serialize_run([object()])


RAW = [
    one
    for one in BASIC
    if repr(one[0]).partition("(")[0].removeprefix("Types.")
    in {
        "STRING",
        "BOOLEAN",
        "BYTE",
        "SHORT",
        "INT",
        "LONG",
        "FLOAT",
        "DOUBLE",
        "PRIMITIVE_ARRAY",
    }
]


@given(st.data())
def test_one_value_is_its_bytes(data: st.DataObject) -> None:
    kind, values = data.draw(st.sampled_from(RAW))
    value = data.draw(values)
    schema = pickle.loads(
        pickle.dumps(
            RawFormatSchema(
                kind, endianness=data.draw(st.sampled_from(["big-endian", "little-endian"]))
            )
        )
    )

    assert schema.deserialize(schema.serialize(value)) == value


def test_raw_numbers_are_as_flink_writes_them() -> None:
    assert RawFormatSchema(Types.LONG()).serialize(1) == b"\0\0\0\0\0\0\0\x01"
    assert RawFormatSchema(Types.LONG(), endianness="little-endian").serialize(1)[0] == 1
    assert RawFormatSchema(Types.BOOLEAN()).serialize(True) == b"\x01"
    assert RawFormatSchema(Types.STRING(), "utf-16-le").serialize("a") == b"a\0"
    assert RawFormatSchema(Types.STRING()).deserialize(None) is None  # type: ignore[arg-type]


def test_raw_says_what_it_expected() -> None:
    with pytest.raises(FormatError, match=r"raw: the message is b'abc'; expected Types.INT\(\)"):
        RawFormatSchema(Types.INT()).deserialize(b"abc")
    with pytest.raises(FormatError, match="raw: cannot write 'x' as"):
        RawFormatSchema(Types.INT()).serialize("x")
    with pytest.raises(ProgramError, match="raw: the type is"):
        RawFormatSchema(Types.LIST(Types.INT()))
    with pytest.raises(ValueError, match="endianness"):
        RawFormatSchema(Types.INT(), endianness="middle")  # type: ignore[arg-type]
