"""The background part of a snapshot: frozen entries become a file.

Entries are taken in slices so that the interpreter is never held for long by one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final

import msgspec
import numpy as np

from riverrun.protocol.snapshots import KeyedPart, KeyedSnapshot, StateMeta
from riverrun.serde.stable_hash import hash_keys
from riverrun.state.backend import BackendSettings
from riverrun.state.hashmap.snapshot_file import FileBuilder, RawSection
from riverrun.state.hashmap.table import FrozenTable
from riverrun.state.serializers import EntrySerializer
from riverrun.storage.snapshot_files import SnapshotFiles

NAME: Final = "hashmap"
BASE: Final = "base"
DELTA: Final = "delta"
_SLICE: Final = 2048


class SnapshotFacts(msgspec.Struct, frozen=True):
    """What the backend keeps in ``KeyedSnapshot.meta``."""

    max_parallelism: int


@dataclass(slots=True)
class FrozenHashMap:
    """All tables of a backend at one moment, or what changed in them."""

    settings: BackendSettings
    tables: Sequence[FrozenTable]
    unclaimed: Sequence[RawSection]
    """Restored state that nobody asked for; it is copied as it is."""
    states: tuple[StateMeta, ...]
    before: tuple[KeyedPart, ...] | None
    """The parts that these changes follow; None when this is the whole state."""
    wrote: Callable[[tuple[KeyedPart, ...]], None]
    """To be told of the parts."""
    _thawed: bool = field(default=False)

    def write(self, files: SnapshotFiles) -> KeyedSnapshot:
        """Write the file."""
        settings = self.settings
        shared = settings.incremental
        file = self._file()
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
                frozen.table.thaw(frozen)
            self.tables = ()

    def _file(self) -> FileBuilder:
        file = FileBuilder()
        for frozen in self.tables:
            schema = frozen.table.schema
            serializer = EntrySerializer(schema, self.settings.operator)
            for addresses, groups in self._sorted(list(frozen.entries), schema.meta):
                values = [frozen.entries[address] for address in addresses]
                if frozen.prune is not None:
                    addresses, values, groups = _pruned(frozen.prune, addresses, values, groups)  # noqa: PLW2901
                if addresses:
                    block = serializer.encode(addresses, values)
                    file.add(block, _counted(groups), removed=False)
            for addresses, groups in self._sorted(frozen.removed, schema.meta):
                block = serializer.encode_tombstones(addresses)
                file.add(block, _counted(groups), removed=True)
            file.end_section(schema.meta)
        for section in self.unclaimed:
            for raw in section.blocks:
                file.add(raw.data, raw.groups, removed=raw.removed)
            file.end_section(section.meta)
        return file

    def _sorted(
        self, addresses: Sequence[Any], meta: StateMeta
    ) -> Iterator[tuple[list[Any], list[int]]]:
        """Slices of the addresses in the order of their key groups, with the groups."""
        if not addresses:
            return
        hashes = []
        for start in range(0, len(addresses), _SLICE):
            part = addresses[start : start + _SLICE]
            hashes.append(hash_keys([key for key, _ in part] if meta.namespaced else part))
        groups = np.concatenate(hashes) % np.uint64(self.settings.max_parallelism)
        order = np.argsort(groups, kind="stable")
        groups = groups[order]
        for start in range(0, len(addresses), _SLICE):
            end = start + _SLICE
            taken = [addresses[position] for position in order[start:end].tolist()]
            yield taken, groups[start:end].tolist()


def _counted(groups: list[int]) -> tuple[tuple[int, int], ...]:
    return tuple((group, sum(1 for _ in same)) for group, same in groupby(groups))


def _pruned(
    prune: Callable[[Any], Any], addresses: list[Any], values: list[Any], groups: list[int]
) -> tuple[list[Any], list[Any], list[int]]:
    """Without what is expired."""
    kept = [
        (address, left, group)
        for address, value, group in zip(addresses, values, groups, strict=True)
        if (left := prune(value)) is not None
    ]
    return [one for one, _, _ in kept], [one for _, one, _ in kept], [one for _, _, one in kept]
