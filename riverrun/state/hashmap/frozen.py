"""The background part of a snapshot: frozen entries become a file.

Entries are taken in slices so that the interpreter is never held for long by one of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
import numpy as np

from riverrun.protocol.snapshots import KeyedPart, KeyedSnapshot, StateMeta
from riverrun.serde.stable_hash import hash_keys
from riverrun.state.backend import BackendSettings, groups_of
from riverrun.state.hashmap.entries import section_blocks, table_blocks
from riverrun.state.hashmap.snapshot_file import FileBuilder, RawSection
from riverrun.state.hashmap.table import FrozenTable
from riverrun.state.hashmap.timers import FrozenTimers
from riverrun.state.interchange import StateBlock
from riverrun.state.serializers import EntrySerializer
from riverrun.storage.snapshot_files import SnapshotFiles

NAME: Final = "hashmap"
BASE: Final = "base"
DELTA: Final = "delta"
_SLICE: Final = 2048
_STRETCH: Final = 32768
"""Entries sorted by key group together: enough for blocks of few groups, few enough for the caches."""


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
) -> FileBuilder:
    """The file of what was frozen, with restored sections that nobody asked for."""
    file = FileBuilder()
    for frozen in tables:
        schema = frozen.schema
        serializer = EntrySerializer(schema, settings.operator)
        for addresses, values in frozen.stretches(_STRETCH):
            for taken, groups in _sorted(addresses, schema.meta, settings.max_parallelism):
                block = serializer.encode(
                    [addresses[position] for position in taken],
                    [values[position] for position in taken],
                )
                file.add(block, groups, removed=False)
        for taken, groups in _sorted(frozen.removed, schema.meta, settings.max_parallelism):
            block = serializer.encode_tombstones([frozen.removed[place] for place in taken])
            file.add(block, groups, removed=True)
        file.end_section(schema.meta)
    for section in unclaimed:
        for raw in section.blocks:
            file.add(raw.data, raw.groups, removed=raw.removed)
        file.end_section(section.meta)
    return file


def _sorted(
    addresses: Sequence[Any], meta: StateMeta, max_parallelism: int
) -> Iterator[tuple[list[int], tuple[tuple[int, int], ...]]]:
    """Slices of the positions in the order of their key groups, and how many are of which group."""
    if not addresses:
        return
    keys = [key for key, _ in addresses] if meta.namespaced else addresses
    # Small numbers are sorted many times as fast; there are at most 32,768 groups.
    groups = (hash_keys(keys) % np.uint64(max_parallelism)).astype(np.uint16)
    order = np.argsort(groups, kind="stable")
    positions, sorted_groups = order.tolist(), groups[order].tolist()
    # No arrays below: each operation on one lets go of the interpreter, and waits to get it back.
    for start in range(0, len(addresses), _SLICE):
        end = start + _SLICE
        yield positions[start:end], tuple(Counter(sorted_groups[start:end]).items())
