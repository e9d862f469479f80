"""Typed values read as they do when Flink prints them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from riverrun.serde.flink_text import text_of
from riverrun.serde.row import Row, RowKind
from riverrun.serde.type_info import TypeInformation
from riverrun.serde.types import Types


@pytest.mark.parametrize(
    ("type_info", "value", "text"),
    [
        (Types.TUPLE([Types.STRING(), Types.INT()]), ("a", 5), "(a,5)"),
        (Types.TUPLE([Types.STRING(), Types.INT()]), (None, 5), "(null,5)"),
        (Types.ROW([Types.INT(), Types.STRING()]), Row(1, "x"), "+I[1, x]"),
        (Types.ROW([Types.INT()]), Row.of_kind(RowKind.DELETE, 1), "-D[1]"),
        (Types.LIST(Types.BOOLEAN()), [True, False], "[true, false]"),
        (Types.MAP(Types.STRING(), Types.INT()), {"a": 1, "b": 2}, "{a=1, b=2}"),
        (Types.DOUBLE(), 1e10, "1.0E10"),
        (Types.DOUBLE(), 0.0001, "1.0E-4"),
        (Types.DOUBLE(), 123456.5, "123456.5"),
        (Types.DOUBLE(), -12345678.9, "-1.23456789E7"),
        (Types.DOUBLE(), 0.0, "0.0"),
        (Types.DOUBLE(), float("nan"), "NaN"),
        (Types.DOUBLE(), float("-inf"), "-Infinity"),
        (Types.FLOAT(), 110.0999984741211, "110.1"),
        (Types.FLOAT(), 3.4e38, "3.4E38"),
        (Types.SQL_TIMESTAMP(), datetime(2026, 1, 2, 3, 4, 5), "2026-01-02 03:04:05.0"),  # noqa: DTZ001
        (Types.STRING(), "plain", "plain"),
        (None, ("a", 5), "('a', 5)"),
        (None, None, "None"),
    ],
)
def test_a_value_of_a_type(type_info: TypeInformation | None, value: Any, text: str) -> None:
    assert text_of(type_info)(value) == text


def test_a_float_is_one_of_32_bits_from_the_start() -> None:
    assert Types.TUPLE([Types.STRING(), Types.FLOAT()]).coerce(("a", 110.1)) == (
        "a",
        110.0999984741211,
    )
