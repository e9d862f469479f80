"""Schemas make bytes of records, and refuse what they cannot write."""

from __future__ import annotations

import pytest

from riverrun.api.serialization import (
    ByteArraySchema,
    Encoder,
    RowFieldExtractorSchema,
    SimpleStringSchema,
)
from riverrun.serde.row import Row


def test_text_goes_there_and_back_in_its_charset() -> None:
    schema = SimpleStringSchema("latin-1")

    assert schema.serialize("grün") == b"gr\xfcn"
    assert schema.deserialize(b"gr\xfcn") == "grün"


def test_bytes_stay_as_they_are() -> None:
    assert ByteArraySchema().deserialize(ByteArraySchema().serialize(b"\x00\xff")) == b"\x00\xff"


def test_one_field_of_a_row_is_written() -> None:
    assert RowFieldExtractorSchema(1).serialize(Row(1, b"value")) == b"value"
    assert RowFieldExtractorSchema(0).serialize(Row("key", b"value")) == b"key"
    with pytest.raises(TypeError, match=r"field 0 of .* is a int; expected bytes or str"):
        RowFieldExtractorSchema(0).serialize(Row(1, b"value"))
    with pytest.raises(ValueError, match="expected 0 or more"):
        RowFieldExtractorSchema(-1)


def test_a_line_for_each_record() -> None:
    assert Encoder.simple_string_encoder().encode((1, "a")) == b"(1, 'a')\n"


def test_wrong_values_are_refused() -> None:
    with pytest.raises(TypeError, match="expected a str"):
        SimpleStringSchema().serialize(1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="expected bytes"):
        ByteArraySchema().serialize("text")  # type: ignore[arg-type]
    with pytest.raises(LookupError, match="no-such-charset"):
        SimpleStringSchema("no-such-charset")
