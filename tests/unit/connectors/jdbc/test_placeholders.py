"""Question marks: those that stand for values, and those that do not."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverrun.connectors.jdbc.placeholders import count, translated

PIECES = ["?", "'?'", "'it''s ?'", '"a ? b"', "-- ? \n", "/* ? */", "1", "'%'", "5 % 3"]


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=8))
def test_the_database_agrees_about_what_is_a_placeholder(pieces: list[str]) -> None:
    values = [piece for piece in pieces if not piece.startswith(("--", "/*", '"'))]
    comments = [piece for piece in pieces if piece.startswith(("--", "/*"))]
    sql = f"SELECT {', '.join(values) or '0'} {' '.join(comments)}"

    connection = sqlite3.connect(":memory:")
    connection.execute(sql, [0] * count(sql)).fetchall()
    connection.close()


@given(st.lists(st.sampled_from(PIECES), max_size=8))
def test_a_translated_statement_has_as_many_places_for_values(pieces: list[str]) -> None:
    sql = f"SELECT {' , '.join(pieces)}"

    made = translated(sql, "%s")

    assert made.replace("%%", "").count("%s") == count(sql)
    assert made % tuple("?" for _ in range(count(sql))) == sql


@pytest.mark.parametrize(
    ("sql", "made"),
    [
        ("SELECT $$ ? $$, ?", "SELECT $$ ? $$, %s"),
        ("SELECT $tag$ $$ ? $tag$, ?", "SELECT $tag$ $$ ? $tag$, %s"),
        ("SELECT a ?? 'b'", "SELECT a ? 'b'"),
    ],
)
def test_what_only_postgresql_has_is_known_too(sql: str, made: str) -> None:
    assert translated(sql, "%s") == made
    assert translated("SELECT ?", "?") == "SELECT ?"
