"""JSON objects and rows: both ways, what Flink writes, what is taken leniently, what is said of the rest."""

# ruff: noqa: DTZ001 - rows have timestamps without a zone

from __future__ import annotations

import json
import pickle
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverrun.connectors.formats.errors import FormatError
from riverrun.connectors.formats.json_leniently import LenientReader
from riverrun.connectors.formats.json_rows import (
    JsonRowDeserializationSchema,
    JsonRowSerializationSchema,
)
from riverrun.connectors.formats.times import TimestampFormat
from riverrun.core.errors import ProgramError
from riverrun.serde.row import Row
from riverrun.serde.types import Types
from tests.unit.connectors.formats.values_of_types import ANY_ROW


def reading(*fields: Any, **options: bool) -> JsonRowDeserializationSchema:
    names, types = [name for name, _ in fields], [kind for _, kind in fields]
    builder = JsonRowDeserializationSchema.builder().type_info(Types.ROW_NAMED(names, types))
    for option in options:
        getattr(builder, option)()
    return builder.build()


def writing(*fields: Any, style: TimestampFormat | None = None) -> JsonRowSerializationSchema:
    names, types = [name for name, _ in fields], [kind for _, kind in fields]
    builder = JsonRowSerializationSchema.builder().with_type_info(Types.ROW_NAMED(names, types))
    if style is not None:
        builder.with_timestamp_format(style)
    return builder.build()


@given(st.data())
def test_what_is_written_is_read_again(data: st.DataObject) -> None:
    row_type, row = data.draw(ANY_ROW)
    values = data.draw(st.lists(row, max_size=4))
    style = data.draw(st.sampled_from(TimestampFormat))
    write = JsonRowSerializationSchema(row_type, timestamp_format=style)
    read = JsonRowDeserializationSchema(row_type)

    messages = write.serialize_run(values)

    assert messages == [write.serialize(value) for value in values]
    assert read.deserialize_run(messages) == values
    assert [read.deserialize(message) for message in messages] == values


@given(st.data())
def test_the_fast_way_and_the_lenient_one_give_the_same(data: st.DataObject) -> None:
    row_type, row = data.draw(ANY_ROW)
    message = JsonRowSerializationSchema(row_type).serialize(data.draw(row))
    leniently = LenientReader(row_type, all_fields=False, ignore=False)

    assert leniently.read(message) == JsonRowDeserializationSchema(row_type).deserialize(message)


def test_values_are_written_as_flink_writes_them() -> None:
    schema = writing(
        ("date", Types.SQL_DATE()),
        ("time", Types.SQL_TIME()),
        ("at", Types.SQL_TIMESTAMP()),
        ("price", Types.BIG_DEC()),
        ("raw", Types.PRIMITIVE_ARRAY(Types.BYTE())),
        ("of", Types.MAP(Types.INT(), Types.STRING())),
        ("inner", Types.ROW_NAMED(["a"], [Types.LIST(Types.LONG())])),
        ("none", Types.STRING()),
    )
    row = Row(
        date(2024, 2, 29),
        time(12, 30),
        datetime(2024, 2, 29, 12, 30, 1, 120_000),
        Decimal("12345678901234567890.10"),
        b"\x00\xff",
        {1: "x"},
        Row([1, None]),
        None,
    )

    assert schema.serialize(row).decode() == (
        '{"date":"2024-02-29","time":"12:30:00","at":"2024-02-29T12:30:01.12",'
        '"price":12345678901234567890.10,"raw":"AP8=","of":{"1":"x"},"inner":{"a":[1,null]},"none":null}'
    )


def test_timestamps_may_follow_sql() -> None:
    schema = writing(("at", Types.SQL_TIMESTAMP()), style=TimestampFormat.SQL)

    assert schema.serialize(Row(datetime(2024, 2, 29))) == b'{"at":"2024-02-29 00:00:00"}'


@pytest.mark.parametrize(
    ("kind", "found", "read"),
    [
        (Types.LONG(), '" 12 "', 12),
        (Types.STRING(), "12", "12"),
        (Types.STRING(), "true", "true"),
        (Types.STRING(), '{"a":[1,2.5]}', '{"a":[1,2.5]}'),
        (Types.DOUBLE(), '"1.5"', 1.5),
        (Types.DOUBLE(), "3", 3.0),
        (Types.BOOLEAN(), '"TRUE"', True),
        (Types.BIG_DEC(), '"1.10"', Decimal("1.10")),
        (Types.BIG_INT(), "123456789012345678901234567890", 123456789012345678901234567890),
        (Types.SQL_TIMESTAMP(), '"2024-02-29 12:30:00"', datetime(2024, 2, 29, 12, 30)),
        (Types.SQL_TIMESTAMP(), '"2024-02-29T12:30:00Z"', datetime(2024, 2, 29, 12, 30)),
        (Types.SQL_TIME(), '"12:30:00Z"', time(12, 30)),
        (Types.PICKLED_BYTE_ARRAY(), '{"any": [1.5]}', {"any": [1.5]}),
    ],
)
def test_other_forms_of_a_value_are_understood(kind: Any, found: str, read: Any) -> None:
    message = f'{{"a": {found}}}'.encode()

    assert reading(("a", kind)).deserialize(message) == Row(a=read)


@pytest.mark.parametrize(
    ("kind", "found", "said"),
    [
        (Types.LONG(), '"x"', "json: field 'a' is 'x'; expected Types.LONG()"),
        (Types.BYTE(), "300", "json: field 'a' is 300; expected Types.BYTE()"),
        (Types.INT(), "1.5", "json: field 'a' is 1.5; expected Types.INT()"),
        (Types.INT(), '"1_0"', "json: field 'a' is '1_0'; expected Types.INT()"),
        (Types.SQL_DATE(), '"2024-02-30"', "field 'a' is '2024-02-30'; expected Types.SQL_DATE()"),
        (Types.LIST(Types.INT()), "[1, true]", "json: field 'a[1]' is True; expected Types.INT()"),
        (Types.LIST(Types.INT()), "7", "field 'a' is 7; expected an array for Types.LIST"),
        (
            Types.ROW_NAMED(["b"], [Types.INT()]),
            '{"b": []}',
            "json: field 'a.b' is []; expected Types.INT()",
        ),
    ],
)
def test_a_value_that_does_not_fit_is_named(kind: Any, found: str, said: str) -> None:
    with pytest.raises(FormatError) as raised:
        reading(("a", kind)).deserialize_run([f'{{"a": {found}}}'.encode()])

    assert said in str(raised.value)


@pytest.mark.parametrize("message", [b"", b"{", b"[1]", b'{"a": \xff}', b"{} {}", b"no"])
def test_what_is_no_object_is_refused_or_passed_over(message: bytes) -> None:
    with pytest.raises(FormatError, match="json: the message is"):
        reading(("a", Types.INT())).deserialize(message)

    assert reading(("a", Types.INT()), ignore_parse_errors=True).deserialize(message) is None


def test_a_missing_field_is_none_or_an_error() -> None:
    fields = ("a", Types.INT()), ("b", Types.INT())

    assert reading(*fields).deserialize(b'{"b": 1, "c": 2}') == Row(a=None, b=1)
    with pytest.raises(
        FormatError, match=r"json: there is no field 'a'; expected .* found the fields"
    ):
        reading(*fields, fail_on_missing_field=True).deserialize(b'{"b": 1}')


def test_what_cannot_be_read_may_be_ignored_field_by_field() -> None:
    schema = reading(("a", Types.INT()), ("b", Types.STRING()), ignore_parse_errors=True)

    rows = schema.deserialize_run([b'{"a": "x", "b": "y"}', b"{", b'{"a": 1}'])

    assert rows == [Row(a=None, b="y"), None, Row(a=1, b=None)]


def test_null_is_no_record() -> None:
    assert reading(("a", Types.INT())).deserialize_run([b"null", b'{"a":1}']) == [None, Row(a=1)]


def test_a_row_that_does_not_fit_is_not_written() -> None:
    with pytest.raises(FormatError, match="json: cannot write"):
        writing(("a", Types.INT())).serialize_run([Row(1, 2)])
    with pytest.raises(FormatError, match="a map has the key None"):
        writing(("a", Types.MAP(Types.STRING(), Types.INT()))).serialize(Row({None: 1}))


def test_schemas_travel() -> None:
    read = pickle.loads(pickle.dumps(reading(("a", Types.INT()), ignore_parse_errors=True)))
    write = pickle.loads(pickle.dumps(writing(("a", Types.INT()))))

    assert read.deserialize_run([b"{", write.serialize(Row(1))]) == [None, Row(a=1)]


def test_a_builder_wants_a_row_type_and_no_contradiction() -> None:
    with pytest.raises(ValueError, match="call type_info or json_schema before"):
        JsonRowDeserializationSchema.builder().build()
    with pytest.raises(ValueError, match="call with_type_info before"):
        JsonRowSerializationSchema.builder().build()
    with pytest.raises(TypeError, match="expected a row type"):
        JsonRowDeserializationSchema.builder().type_info(Types.INT())
    with pytest.raises(ValueError, match="were both called"):
        reading(("a", Types.INT()), ignore_parse_errors=True, fail_on_missing_field=True)


def test_a_json_schema_gives_the_type() -> None:
    schema = {
        "type": "object",
        "definitions": {"when": {"type": "string", "format": "date-time"}},
        "properties": {
            "id": {"type": "integer"},
            "name": {"type": ["string", "null"]},
            "at": {"$ref": "#/definitions/when"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "pair": {"type": "array", "items": [{"type": "boolean"}, {"type": "number"}]},
            "raw": {"type": "string", "contentEncoding": "base64"},
            "in": {"oneOf": [{"type": "null"}, {"type": "object", "properties": {}}]},
        },
    }

    read = JsonRowDeserializationSchema.builder().json_schema(json.dumps(schema)).build()

    message = (
        b'{"id":1,"name":null,"at":"2024-01-01T00:00:00","tags":["x"],"pair":[true,1],"raw":"AA=="}'
    )
    assert read.deserialize(message) == Row(
        **{
            "id": Decimal(1),
            "name": None,
            "at": datetime(2024, 1, 1),
            "tags": ["x"],
            "pair": (True, Decimal(1)),
            "raw": b"\0",
            "in": None,
        }
    )


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ("{", "it is not JSON"),
        ('{"type": "string"}', "expected an object with properties"),
        ('{"type": "object", "properties": {"a": {"type": "x"}}}', "property 'a' has the type 'x'"),
        ('{"type": "object", "properties": {"a": {"$ref": "#/no"}}}', "which is not there"),
        ('{"type": ["string", "boolean"]}', "may be of 2 types"),
    ],
)
def test_a_json_schema_that_says_no_row_type_is_refused(schema: str, said: str) -> None:
    with pytest.raises(ProgramError, match="json schema") as raised:
        JsonRowDeserializationSchema.builder().json_schema(schema)

    assert said in str(raised.value)
