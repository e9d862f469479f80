"""Tables in chunks: which rows a chunk holds, and which transactions it has seen."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

__all__ = ["Chunk", "ChunkedTables", "TransactionSnapshot", "with_chunk"]

KeyValues: TypeAlias = tuple[Any, ...]

_CIRCLE = 1 << 32
"""Transactions in the replication stream have the lower half of their number only."""


@dataclass(frozen=True, slots=True)
class TransactionSnapshot:
    """Which transactions a query saw: PostgreSQL's ``pg_current_snapshot``.

    >>> snapshot = TransactionSnapshot.of("10:14:11,12")
    >>> [snapshot.sees(xid) for xid in (9, 10, 11, 12, 13, 14)]
    [True, True, False, False, True, False]
    """

    xmin: int
    xmax: int
    running: frozenset[int]

    @staticmethod
    def of(text: str) -> TransactionSnapshot:
        """From PostgreSQL's text."""
        xmin, xmax, running = text.split(":")
        return TransactionSnapshot(
            int(xmin), int(xmax), frozenset(int(each) for each in running.split(",") if each)
        )

    def sees(self, xid: int) -> bool:
        """Whether a transaction, by its number or the lower half of it, was committed for the query."""
        full = self.whole(xid)
        return full < self.xmin or (full < self.xmax and full not in self.running)

    def whole(self, xid: int) -> int:
        """The number near this snapshot with that lower half.

        >>> TransactionSnapshot((1 << 32) + 5, (1 << 32) + 9, frozenset()).whole(7) - (1 << 32)
        7
        """
        distance = (xid - self.xmax) % _CIRCLE
        if distance >= _CIRCLE // 2:
            distance -= _CIRCLE
        return self.xmax + distance


@dataclass(frozen=True, slots=True)
class Chunk:
    """The rows of a table up to a key, as one query saw them."""

    table: str
    upper: KeyValues | None
    """The last key in it; ``None``: all that were left."""
    snapshot: str


def with_chunk(chunks: Sequence[Chunk], new: Chunk) -> tuple[Chunk, ...]:
    """The chunks and one more; two that saw the same are one."""
    if chunks and (chunks[-1].table, chunks[-1].snapshot) == (new.table, new.snapshot):
        return (*chunks[:-1], new)
    return (*chunks, new)


class ChunkedTables:
    """Answers whether a change is part of what the chunks gave."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self._uppers: dict[str, list[KeyValues]] = {}
        self._snapshots: dict[str, list[TransactionSnapshot]] = {}
        for chunk in chunks:
            snapshot = TransactionSnapshot.of(chunk.snapshot)
            self._snapshots.setdefault(chunk.table, []).append(snapshot)
            uppers = self._uppers.setdefault(chunk.table, [])
            if chunk.upper is not None:
                uppers.append(chunk.upper)

    def has_seen(self, table: str, key: KeyValues, xid: int) -> bool:
        """Whether the chunk with this key saw that transaction."""
        snapshots = self._snapshots.get(table)
        if not snapshots:
            return False
        if len(snapshots) == 1:
            return snapshots[0].sees(xid)
        place = bisect_left(self._uppers[table], key)
        return snapshots[min(place, len(snapshots) - 1)].sees(xid)

    def all_saw(self, table: str, xid: int) -> bool:
        """Whether every chunk of the table saw that transaction."""
        snapshots = self._snapshots.get(table, [])
        return bool(snapshots) and all(each.sees(xid) for each in snapshots)
