"""Which states the rows of a database belong to: a number for each way in which a state was written.

A state may have several numbers after a restore: subtasks may have written it with different types, if
some of them had not come to ask for it in its new one. Who asks for the state joins them into one.
"""

from __future__ import annotations

from typing import Final

import msgspec

from riverrun.protocol.snapshots import KeyedSnapshot, StateMeta
from riverrun.state.rocksdb.rows import LAYOUT_VERSION
from riverrun.storage.storage import FileCorrupt

NAME: Final = "rocksdb"
WITH_ENTRIES: Final = 2
"""The layout of a snapshot that has entries beside its rows; one without is written as it was before there were any."""


class SnapshotFacts(msgspec.Struct, frozen=True):
    """What the backend keeps in ``KeyedSnapshot.meta``."""

    layout: int
    """That of the rows, or `WITH_ENTRIES`; the rows are the same in both."""
    max_parallelism: int
    numbers: tuple[int, ...]
    """Of each of ``KeyedSnapshot.states``, in order."""
    next_piece: int


class Catalog:
    """The numbers of one database, and how the rows of each were written."""

    def __init__(self, metas: dict[int, StateMeta] | None = None) -> None:
        self._metas = dict(metas or {})

    def named(self, name: str) -> dict[int, StateMeta]:
        """The numbers under which the state was written."""
        return {number: meta for number, meta in self._metas.items() if meta.name == name}

    def number_of(self, meta: StateMeta) -> int:
        """The number for rows that are written as ``meta`` says; a new one if there is none yet."""
        for number, known in self._metas.items():
            if known == meta:
                return number
        number = max(self._metas, default=0) + 1
        self._metas[number] = meta
        return number

    def assign(self, number: int, meta: StateMeta) -> None:
        """The rows of ``number`` are now written as ``meta`` says."""
        self._metas[number] = meta

    def forget(self, number: int) -> None:
        """There are no rows of ``number`` any more."""
        del self._metas[number]

    def numbers(self) -> tuple[int, ...]:
        """All numbers."""
        return tuple(self._metas)

    def metas(self) -> tuple[StateMeta, ...]:
        """What belongs to each of ``numbers``."""
        return tuple(self._metas.values())


def facts_of(snapshot: KeyedSnapshot) -> SnapshotFacts:
    """What the backend noted in its snapshot.

    Raises:
        FileCorrupt: it cannot be read, or a later release wrote it.
    """
    try:
        facts = msgspec.msgpack.decode(snapshot.meta, type=SnapshotFacts)
    except msgspec.MsgspecError as error:
        raise FileCorrupt(
            f"the facts of a rocksdb snapshot of key groups {snapshot.first_group} to "
            f"{snapshot.last_group} cannot be read: {error}"
        ) from error
    if facts.layout not in {LAYOUT_VERSION, WITH_ENTRIES} or len(facts.numbers) != len(
        snapshot.states
    ):
        raise FileCorrupt(
            f"a rocksdb snapshot of key groups {snapshot.first_group} to {snapshot.last_group} has "
            f"version {facts.layout} of the layout of rows with {len(facts.numbers)} states, and this "
            f"release reads versions up to {WITH_ENTRIES} with {len(snapshot.states)}; restore with the "
            f"release that wrote it or a later one"
        )
    return facts


def catalog_of(snapshot: KeyedSnapshot) -> Catalog:
    """The catalog of the database in a snapshot."""
    return Catalog(dict(zip(facts_of(snapshot).numbers, snapshot.states, strict=True)))
