"""Chunks: whether a change was seen, by its key and transaction."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from riverrun.connectors.postgres_cdc.chunks import (
    Chunk,
    ChunkedTables,
    TransactionSnapshot,
    with_chunk,
)
from riverrun.connectors.postgres_cdc.lsn import lsn_of, shown_lsn


def test_the_chunk_of_a_key_decides() -> None:
    chunks = [Chunk("t", (10,), "5:5:"), Chunk("t", (20,), "7:9:7"), Chunk("t", None, "12:12:")]
    tables = ChunkedTables(chunks)

    #        key   | 1..10 | 11..20  | 21..
    #        sees  | < 5   | < 9, -7 | < 12
    assert [tables.has_seen("t", (10,), xid) for xid in (4, 5)] == [True, False]
    assert [tables.has_seen("t", (11,), xid) for xid in (6, 7, 8, 9)] == [True, False, True, False]
    assert [tables.has_seen("t", (21,), xid) for xid in (11, 12)] == [True, False]
    assert not tables.has_seen("other", (1,), 1)


def test_chunks_that_saw_the_same_are_one() -> None:
    first = with_chunk((), Chunk("t", (10,), "5:5:"))
    same = with_chunk(first, Chunk("t", (20,), "5:5:"))
    other = with_chunk(same, Chunk("t", None, "6:6:"))

    assert same == (Chunk("t", (20,), "5:5:"),)
    assert with_chunk(other, Chunk("u", None, "6:6:")) == (*other, Chunk("u", None, "6:6:"))


@given(st.integers(2**31, 2**40), st.integers(-(2**30), 2**30))
def test_half_a_number_near_a_snapshot_is_enough(xmax: int, distance: int) -> None:
    snapshot = TransactionSnapshot(xmax, xmax, frozenset())

    assert snapshot.whole((xmax + distance) % 2**32) == xmax + distance
    assert snapshot.sees((xmax + distance) % 2**32) is (distance < 0)


@given(st.integers(0, 2**64 - 1))
def test_positions_are_read_as_they_are_written(lsn: int) -> None:
    assert lsn_of(shown_lsn(lsn)) == lsn
