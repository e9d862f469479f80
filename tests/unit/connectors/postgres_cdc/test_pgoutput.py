"""Messages of pgoutput: whatever a server may send is read back."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverrun.connectors.postgres_cdc.pgoutput import (
    Begin,
    Cell,
    Change,
    Column,
    Commit,
    Identity,
    Operation,
    Relation,
    Truncate,
    Unsent,
    decoded,
)
from riverrun.core.errors import InternalError

CELLS = st.lists(
    st.one_of(st.none(), st.just(Unsent.UNSENT), st.binary(max_size=20)), max_size=6
).map(tuple)
OIDS = st.integers(0, 2**32 - 1)
NAMES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)


def written(cells: tuple[Cell, ...]) -> bytes:
    parts = [struct.pack(">H", len(cells))]
    for cell in cells:
        if isinstance(cell, bytes):
            parts.append(b"t" + struct.pack(">I", len(cell)) + cell)
        else:
            parts.append(b"n" if cell is None else b"u")
    return b"".join(parts)


@given(OIDS, CELLS, CELLS, st.sampled_from([Identity.KEY, Identity.ALL]))
def test_changes_are_read_back(
    oid: int, old: tuple[Cell, ...], new: tuple[Cell, ...], identity: Identity
) -> None:
    head = struct.pack(">I", oid)
    before = (b"K" if identity is Identity.KEY else b"O") + written(old)
    after = b"N" + written(new)

    assert decoded(b"I" + head + after) == Change(
        Operation.INSERT, oid, None, Identity.NOTHING, new
    )
    assert decoded(b"U" + head + after) == Change(
        Operation.UPDATE, oid, None, Identity.NOTHING, new
    )
    assert decoded(b"U" + head + before + after) == Change(
        Operation.UPDATE, oid, old, identity, new
    )
    assert decoded(b"D" + head + before) == Change(Operation.DELETE, oid, old, identity, None)


@given(OIDS, NAMES, st.lists(st.tuples(NAMES, OIDS, st.booleans()), max_size=5))
def test_relations_are_read_back(
    oid: int, table: str, columns: list[tuple[str, int, bool]]
) -> None:
    data = b"R" + struct.pack(">I", oid) + b"shop\0" + table.encode() + b"\0d"
    data += struct.pack(">H", len(columns))
    for name, type_oid, in_key in columns:
        data += bytes([in_key]) + name.encode() + b"\0" + struct.pack(">Ii", type_oid, -1)

    assert decoded(data) == Relation(
        oid, f"shop.{table}", tuple(Column(*column) for column in columns)
    )


def test_transactions_have_a_beginning_and_an_end() -> None:
    assert decoded(b"B" + struct.pack(">QqI", 16, 5_000_000, 7)) == Begin(16, 946_684_805_000, 7)
    assert decoded(b"C\0" + struct.pack(">QQq", 16, 24, 0)) == Commit(24)
    assert decoded(b"T" + struct.pack(">IBII", 2, 0, 8, 9)) == Truncate((8, 9))
    assert decoded(b"Yanything") is None


def test_a_message_of_another_protocol_is_an_error() -> None:
    with pytest.raises(InternalError, match="kind b'S'"):
        decoded(b"S")
