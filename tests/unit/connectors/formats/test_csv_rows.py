"""Lines of CSV and rows: both ways, what Flink writes, and what is said of a line that does not fit."""

# ruff: noqa: DTZ001 - rows have timestamps without a zone

from __future__ import annotations

import pickle
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from riverrun.connectors.formats.csv_rows import (
    CsvRowDeserializationSchema,
    CsvRowSerializationSchema,
)
from riverrun.connectors.formats.csv_schema import CsvSchema
from riverrun.connectors.formats.errors import FormatError
from riverrun.core.errors import ProgramError
from riverrun.serde.row import Row
from riverrun.serde.types import Types
from tests.unit.connectors.formats.values_of_types import BASIC, named

NULL = "<none>"
PAIR = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])


@given(st.data())
def test_what_is_written_is_read_again(data: st.DataObject) -> None:
    row_type, row = data.draw(
        st.lists(st.sampled_from(BASIC), min_size=1, max_size=4).flatmap(named)
    )
    delimiter = data.draw(st.sampled_from(",;|\t"))
    escape = data.draw(st.sampled_from([None, "\\"]))
    values = data.draw(st.lists(row, max_size=4))
    write = CsvRowSerializationSchema.Builder(row_type).set_field_delimiter(delimiter)
    read = CsvRowDeserializationSchema.Builder(row_type).set_field_delimiter(delimiter)
    for builder in (write, read):
        builder.set_null_literal(NULL)
        if escape is not None:
            builder.set_escape_character(escape)
    # Python's reader takes no NUL before 3.11.4, and nobody else writes one.
    assume(not any("\0" in value for one in values for value in one if isinstance(value, str)))
    # A line with nothing on it is no record.
    assume(len(row_type.field_types) > 1 or all(value[0] not in ("", b"") for value in values))

    messages = write.build().serialize_run(values)

    assert read.build().deserialize_run(messages) == values
    assert [read.build().deserialize(message) for message in messages] == values


def test_values_are_written_as_flink_writes_them() -> None:
    types = [
        Types.STRING(),
        Types.INT(),
        Types.SQL_DATE(),
        Types.SQL_TIME(),
        Types.SQL_TIMESTAMP(),
        Types.BIG_DEC(),
        Types.BOOLEAN(),
        Types.PRIMITIVE_ARRAY(Types.BYTE()),
        Types.LIST(Types.INT()),
        Types.ROW([Types.STRING(), Types.INT()]),
        Types.STRING(),
    ]
    row = Row(
        "Test",
        12,
        date(2018, 11, 12),
        time(12, 12, 12),
        datetime(2018, 11, 12, 12, 12, 12),
        Decimal("1.10"),
        True,
        b"\x00\xff",
        [1, None],
        Row("in", 3),
        None,
    )

    line = CsvRowSerializationSchema.Builder(Types.ROW(types)).build().serialize(row)

    assert line == (
        b'Test,12,2018-11-12,12:12:12,"2018-11-12 12:12:12.0",1.10,true,AP8=,1;,in;3,\n'
    )


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("plain", "plain"),
        ("a b", '"a b"'),
        ('say "x"', '"say ""x"""'),
        ("x,y", '"x,y"'),
        ("two\nlines", '"two\nlines"'),
        ("a" * 24, "a" * 24),
        ("a" * 25, f'"{"a" * 25}"'),
        ("", ""),
    ],
)
def test_text_is_quoted_where_flink_quotes(text: str, written: str) -> None:
    schema = CsvRowSerializationSchema.Builder(PAIR).set_line_delimiter("").build()

    assert schema.serialize(Row(1, text)).decode() == f"1,{written}"


def test_quotes_and_null_literals_are_settable() -> None:
    write = CsvRowSerializationSchema.Builder(PAIR).set_quote_character("'").set_null_literal("-")
    plain = CsvRowSerializationSchema.Builder(PAIR).disable_quote_character()

    assert write.build().serialize(Row(None, "a 'b'")) == b"-,'a ''b'''\n"
    assert plain.set_line_delimiter("\r\n").build().serialize(Row(1, "a b")) == b"1,a b\r\n"


def test_comments_and_empty_lines_are_no_records() -> None:
    schema = CsvRowDeserializationSchema.Builder(PAIR).set_allow_comments(True).build()

    assert schema.deserialize_run([b"# x", b"1,a\r\n", b""]) == [None, Row(id=1, name="a"), None]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"x,a", "csv: field 'id' is 'x'; expected Types.LONG()"),
        (
            b",a",
            "field 'id' is ''; expected Types.LONG(); if an empty field means None set the null",
        ),
        (b"1_0,a", "csv: field 'id' is '1_0'"),
        (b"9223372036854775808,a", "csv: field 'id' is '9223372036854775808'"),
        (b"1", "csv: the line has 1 fields; expected 2: id, name"),
        (b'1,"a', "csv: unexpected end of data"),
        (b"1,a\n2,b", "csv: new-line character"),
        (b"1,\xff", "csv: the line is not UTF-8"),
    ],
)
def test_a_line_that_does_not_fit_says_why(line: bytes, said: str) -> None:
    schema = CsvRowDeserializationSchema.Builder(PAIR).build()

    with pytest.raises(FormatError) as raised:
        schema.deserialize_run([b"1,a", line, b'"2",b'])

    assert said in str(raised.value)


def test_what_cannot_be_read_may_be_ignored() -> None:
    schema = CsvRowDeserializationSchema.Builder(PAIR).set_ignore_parse_errors(True).build()

    found = schema.deserialize_run([b"x,a", b'1,"a', b"1", b"2,b"])

    assert found == [Row(id=None, name="a"), None, Row(id=1, name=""), Row(id=2, name="b")]


def test_schemas_travel() -> None:
    read = pickle.loads(pickle.dumps(CsvRowDeserializationSchema.Builder(PAIR).build()))
    write = pickle.loads(pickle.dumps(CsvRowSerializationSchema.Builder(PAIR).build()))

    assert read.deserialize(write.serialize(Row(1, "a"))) == Row(id=1, name="a")


@pytest.mark.parametrize(
    "build",
    [
        lambda: CsvRowDeserializationSchema.Builder(Types.INT()),
        lambda: CsvRowDeserializationSchema.Builder(PAIR).set_field_delimiter("::"),
        lambda: CsvRowSerializationSchema.Builder(PAIR).set_line_delimiter("x"),
        lambda: CsvRowDeserializationSchema.Builder(PAIR).set_null_literal(None),  # type: ignore[arg-type]
        lambda: CsvSchema.builder().build(),
    ],
)
def test_what_csv_cannot_be_is_refused_when_it_is_built(build: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="csv"):
        build()


def test_a_type_without_a_form_in_csv_is_refused_when_it_is_built() -> None:
    maps = Types.ROW_NAMED(["m"], [Types.MAP(Types.STRING(), Types.INT())])

    with pytest.raises(ProgramError, match="csv: field 'm' has the type"):
        CsvRowSerializationSchema.Builder(maps).build()


def test_the_columns_of_a_file_are_built_as_in_pyflink() -> None:
    schema = (
        CsvSchema.builder()
        .add_string_column("name")
        .add_number_column("n", Types.DOUBLE())
        .add_boolean_column("flag")
        .add_array_column("tags", "#", Types.INT())
        .set_column_separator("|")
        .set_null_value("-")
        .set_use_header()
        .build()
    )

    assert len(schema) == 4
    assert schema.use_header
    assert schema.dialect.delimiter == "|"
    assert schema.row_type.get_field_types()[3] == Types.LIST(Types.INT())
    assert len(CsvSchema.builder().add_columns_from(schema)) == 4
