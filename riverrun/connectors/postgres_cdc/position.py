"""Where the reader is: part of each checkpoint, so every field is plain data."""

from __future__ import annotations

from dataclasses import dataclass

from riverrun.connectors.postgres_cdc.chunks import Chunk, KeyValues

__all__ = ["CdcSplit", "Pending", "TableLeft"]


@dataclass(frozen=True, slots=True)
class TableLeft:
    """A table whose rows are not all read yet."""

    table: str
    after: KeyValues | None = None
    """The key of the last row that was read."""


@dataclass(frozen=True, slots=True)
class Pending:
    """Rows of the newest chunk that were read and not given yet, as PostgreSQL wrote them."""

    table: str
    columns: tuple[tuple[str, int], ...]
    cells: tuple[tuple[bytes | None, ...], ...]
    time_ms: int


@dataclass(frozen=True, slots=True)
class CdcSplit:
    """The one split of the source."""

    lsn: int | None = None
    """Every transaction up to here was given; ``None``: not begun."""
    changes: int = 0
    """How many changes of the next transaction were given."""
    before: str | None = None
    """What the transactions before the first change are, while tables are read."""
    left: tuple[TableLeft, ...] | None = None
    """Tables to read; ``None``: not known yet."""
    chunks: tuple[Chunk, ...] = ()
    pending: Pending | None = None
    chunks_until: int | None = None
    """Changes behind this position are newer than all chunks; ``None``: tables are still read."""
