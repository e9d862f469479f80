"""The messages of the plugin ``pgoutput``, protocol version 1: from bytes to data, and nothing else."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, TypeAlias

from riverrun.core.errors import InternalError

__all__ = [
    "Begin",
    "Cell",
    "Change",
    "Column",
    "Commit",
    "Identity",
    "Message",
    "Operation",
    "Relation",
    "Truncate",
    "Unsent",
    "decoded",
]

_EPOCH_MS: Final = 946_684_800_000
"""PostgreSQL counts time from the year 2000."""


class Unsent(Enum):
    """Stands for a large value that an update left as it was: PostgreSQL does not send it."""

    UNSENT = auto()


Cell: TypeAlias = bytes | Unsent | None
"""A value as text, nothing known, or NULL."""


class Operation(Enum):
    """What a change does."""

    INSERT = auto()
    UPDATE = auto()
    DELETE = auto()


class Identity(Enum):
    """What is known of a row as it was before a change."""

    NOTHING = auto()
    KEY = auto()
    ALL = auto()


@dataclass(frozen=True, slots=True)
class Begin:
    """A transaction follows, up to its Commit."""

    commit_lsn: int
    time_ms: int
    xid: int


@dataclass(frozen=True, slots=True)
class Commit:
    """The transaction is complete."""

    end_lsn: int


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a relation."""

    name: str
    type_oid: int
    in_key: bool


@dataclass(frozen=True, slots=True)
class Relation:
    """How the rows of a table look from here on."""

    oid: int
    table: str
    """With its schema."""
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """One row was inserted, updated or deleted."""

    operation: Operation
    relation: int
    old: tuple[Cell, ...] | None
    identity: Identity
    """What ``old`` holds."""
    new: tuple[Cell, ...] | None


@dataclass(frozen=True, slots=True)
class Truncate:
    """All rows of these tables are gone."""

    relations: tuple[int, ...]


Message: TypeAlias = Begin | Commit | Relation | Change | Truncate


def decoded(data: bytes) -> Message | None:
    """What a message says; ``None`` for kinds that do not matter here.

    >>> decoded(bytes.fromhex("42 0000000000000010 0000000000000000 00000007"))
    Begin(commit_lsn=16, time_ms=946684800000, xid=7)
    """
    match data[:1]:
        case b"I" | b"U" | b"D":
            return _change(data)
        case b"B":
            commit_lsn, time_us, xid = struct.unpack_from(">QqI", data, 1)
            return Begin(commit_lsn, _EPOCH_MS + time_us // 1000, xid)
        case b"C":
            return Commit(struct.unpack_from(">Q", data, 10)[0])
        case b"R":
            return _relation(data)
        case b"T":
            number = struct.unpack_from(">I", data, 1)[0]
            return Truncate(struct.unpack_from(f">{number}I", data, 6))
        case b"O" | b"Y" | b"M":
            return None
        case kind:
            raise InternalError(f"pgoutput: got a message of the kind {kind!r} of protocol 1")


def _relation(data: bytes) -> Relation:
    oid = struct.unpack_from(">I", data, 1)[0]
    schema, place = _text(data, 5)
    name, place = _text(data, place)
    number = struct.unpack_from(">H", data, place + 1)[0]  # behind the kind of replica identity
    place += 3
    columns = []
    for _ in range(number):
        in_key = bool(data[place] & 1)
        column, place = _text(data, place + 1)
        columns.append(Column(column, struct.unpack_from(">I", data, place)[0], in_key))
        place += 8
    return Relation(oid, f"{schema or 'pg_catalog'}.{name}", tuple(columns))


def _change(data: bytes) -> Change:
    relation = struct.unpack_from(">I", data, 1)[0]
    old = new = None
    identity = Identity.NOTHING
    place = 5
    while place < len(data):
        kind = data[place : place + 1]
        cells, place = _cells(data, place + 1)
        if kind == b"N":
            new = cells
        else:
            old, identity = cells, Identity.KEY if kind == b"K" else Identity.ALL
    return Change(_OPERATIONS[data[:1]], relation, old, identity, new)


_OPERATIONS: Final = {b"I": Operation.INSERT, b"U": Operation.UPDATE, b"D": Operation.DELETE}


def _cells(data: bytes, place: int) -> tuple[tuple[Cell, ...], int]:
    (number,) = struct.unpack_from(">H", data, place)
    place += 2
    cells: list[Cell] = []
    for _ in range(number):
        kind = data[place]
        place += 1
        if kind == _TEXT:
            (length,) = struct.unpack_from(">I", data, place)
            place += 4
            cells.append(data[place : place + length])
            place += length
        else:
            cells.append(Unsent.UNSENT if kind == _UNSENT else None)
    return tuple(cells), place


_TEXT: Final = ord("t")
_UNSENT: Final = ord("u")


def _text(data: bytes, place: int) -> tuple[str, int]:
    end = data.index(0, place)
    return data[place:end].decode(), end + 1
