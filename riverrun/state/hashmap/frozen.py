"""The background part of a snapshot: frozen entries become a file.

Entries are taken in slices so that the interpreter is never held for long by one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import msgspec
import numpy as np

from riverrun.protocol.snapshots import KeyedPart, KeyedSnapshot, StateMeta
from riverrun.state.backend import BackendSettings, groups_of
from riverrun.state.entry_columns import Order
from riverrun.state.hashmap.entries import section_blocks, table_blocks
from riverrun.state.hashmap.known_keys import (
    Keys,
    KnownKeys,
    Piece,
    RememberedColumn,
    SortedKeys,
)
from riverrun.state.hashmap.snapshot_file import FileBuilder, RawSection
from riverrun.state.hashmap.table import FrozenTable
from riverrun.state.hashmap.timers import FrozenTimers
from riverrun.state.interchange import StateBlock
from riverrun.state.serializers import EntryRun, EntrySerializer
from riverrun.storage.snapshot_files import SnapshotFiles

NAME: Final = "hashmap"
BASE: Final = "base"
DELTA: Final = "delta"
_BLOCK: Final = 4096
_STRETCH: Final = 65536
"""Entries sorted by key group together: enough for blocks of few groups, few enough for the caches.

``SortedKeys`` has room for no more.
"""


class SnapshotFacts(msgspec.Struct, frozen=True):
    """What the backend keeps in ``KeyedSnapshot.meta``."""

    max_parallelism: int


@dataclass(slots=True)
class FrozenHashMap:
    """All tables of a backend at one moment, or what changed in them."""

    settings: BackendSettings
    tables: Sequence[FrozenTable | FrozenTimers]
    unclaimed: Sequence[RawSection]
    """Restored state that nobody asked for; it is copied as it is."""
    states: tuple[StateMeta, ...]
    before: tuple[KeyedPart, ...] | None
    """The parts that these changes follow; None when this is the whole state."""
    wrote: Callable[[tuple[KeyedPart, ...]], None]
    """To be told of the parts."""
    _thawed: bool = field(default=False)

    def entries(self) -> Generator[StateBlock, None, None]:
        """Every entry once, by state and in it by key group."""
        if self.before is not None:
            raise ValueError("only changes were frozen; freeze for a savepoint to have all entries")
        settings = self.settings
        for frozen in self.tables:
            yield from table_blocks(frozen, settings.max_parallelism)
        yield from section_blocks(self.unclaimed, groups_of(settings), settings.operator)

    def write(self, files: SnapshotFiles) -> KeyedSnapshot:
        """Write the file."""
        settings = self.settings
        shared = settings.incremental
        file = file_of(self.tables, self.unclaimed, settings)
        parts = self.before or ()
        if not file.is_empty:
            name = BASE if self.before is None else DELTA
            parts = (*parts, KeyedPart(name, files.put(file.finish(), shared=shared), shared))
        self.wrote(parts)
        self.discard()
        return KeyedSnapshot(
            backend=NAME,
            first_group=settings.first_group,
            last_group=settings.last_group,
            states=self.states,
            parts=parts,
            meta=msgspec.msgpack.encode(SnapshotFacts(settings.max_parallelism)),
            full_bytes=sum(part.blob.size for part in parts),
        )

    def discard(self) -> None:
        """Let the tables share nothing with this any more."""
        if not self._thawed:
            self._thawed = True
            for frozen in self.tables:
                frozen.thaw()
            self.tables = ()


def file_of(
    tables: Sequence[FrozenTable | FrozenTimers],
    unclaimed: Sequence[RawSection],
    settings: BackendSettings,
    file: FileBuilder | None = None,
) -> FileBuilder:
    """The file of what was frozen, with restored sections that nobody asked for; a new one if none is given."""
    file = file or FileBuilder()
    for frozen in tables:
        schema = frozen.schema
        serializer = EntrySerializer(schema, settings.operator)
        _add_stretches(file, frozen, serializer, settings)
        removed = frozen.removed
        for start in range(0, len(removed), _STRETCH):
            run = serializer.tombstones(removed[start : start + _STRETCH])
            _add_sorted(file, run, settings, removed=True)
        file.end_section(schema.meta)
    for section in unclaimed:
        for raw in section.blocks:
            file.add(raw.data, raw.groups, removed=raw.removed)
        file.end_section(section.meta)
    return file


def _add_stretches(
    file: FileBuilder,
    frozen: FrozenTable | FrozenTimers,
    serializer: EntrySerializer,
    settings: BackendSettings,
) -> None:
    if isinstance(frozen, FrozenTable) and frozen.known is not None:
        _add_known(file, frozen, frozen.known, serializer, settings)
        return
    for addresses, values in frozen.stretches(_STRETCH):
        if addresses:
            _add_sorted(file, serializer.entries(addresses, values), settings)


def _add_known(
    file: FileBuilder,
    frozen: FrozenTable,
    before: KnownKeys,
    serializer: EntrySerializer,
    settings: BackendSettings,
) -> None:
    """Add a table of whose keys much may be known, and know all of them afterwards."""
    number = 0
    for found, values in frozen.parts(_STRETCH):
        keys = found if isinstance(found, Keys) else Keys(tuple(found), 0, len(found))
        known = before.find(number, keys)
        if known is not None:
            run = serializer.entries((), values, known.column)
            _add(file, run.taken(known.order), known.pieces, removed=False)
        elif keys.end > keys.start:
            run = serializer.entries(keys.all(), values)
            order, pieces, column = _add_sorted(file, run, settings)
            before.keep(number, SortedKeys(keys, order.astype(np.uint16), pieces, column))
        number += 1
    before.forget_from(number)


def _add_sorted(
    file: FileBuilder, run: EntryRun, settings: BackendSettings, *, removed: bool = False
) -> tuple[Order, Sequence[Piece], RememberedColumn]:
    """Add blocks of the entries, sorted by key group; their order, how they were cut, and their keys."""
    # Small numbers are sorted many times as fast; there are at most 32,768 groups.
    groups = (run.hashes() % np.uint64(settings.max_parallelism)).astype(np.uint16)
    pieces = list(pieces_of(np.bincount(groups).tolist(), _BLOCK))
    order = np.argsort(groups, kind="stable")
    first, *others = run.taken(order).columns
    keys = RememberedColumn(first)
    _add(file, replace(run, columns=[keys, *others]), pieces, removed=removed)
    keys.seal()
    return order, pieces, keys


def _add(file: FileBuilder, run: EntryRun, pieces: Iterable[Piece], *, removed: bool) -> None:
    for start, end, held in pieces:
        file.add(run.encode(start, end), held, removed=removed)


def pieces_of(counts: Sequence[int], size: int) -> Iterator[Piece]:
    """Cut entries that are sorted by key group into pieces of ``size``; the last one may be smaller.

    Args:
        counts: how many entries there are of each group, from group 0 on.
        size: of a piece.
    """
    start = 0
    held: list[tuple[int, int]] = []
    room = size
    for group, count in enumerate(counts):
        left = count
        while left:
            taken = min(left, room)
            held.append((group, taken))
            left -= taken
            room -= taken
            if not room:
                yield start, start + size, tuple(held)
                start, held, room = start + size, [], size
    if held:
        yield start, start + size - room, tuple(held)
