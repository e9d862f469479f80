"""Reads what the hashmap backend wrote: raw blocks for itself, decoded entries for anyone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from riverrun.protocol.snapshots import KeyedSnapshot, StateMeta
from riverrun.state.hashmap.snapshot_file import RawBlock, RawSection, read_sections
from riverrun.state.interchange import StateBlock
from riverrun.state.schema import MAPS, schema_from
from riverrun.state.serializers import EntrySerializer
from riverrun.storage.snapshot_files import SavedFiles


def raw_sections(snapshot: KeyedSnapshot, files: SavedFiles, groups: range) -> Iterator[RawSection]:
    """Blocks of the snapshot that hold entries of ``groups``, in the order in which they count."""
    # A file may hold more than its snapshot does: blocks are copied whole, those at a border too.
    wanted = range(
        max(groups.start, snapshot.first_group), min(groups.stop, snapshot.last_group + 1)
    )
    for part in snapshot.parts if wanted else ():
        yield from read_sections(part.blob, files.read(part.blob), wanted)


def replay(
    section: RawSection, serializer: EntrySerializer, groups: range
) -> Iterator[tuple[int, list[Any], list[Any] | None]]:
    """The entries of a section that are in ``groups``: group, addresses, values; None when removed."""
    for block in section.blocks:
        values: list[Any] | None = None
        if block.removed:
            addresses = serializer.decode_tombstones(block.data)
        else:
            addresses, values = serializer.decode(block.data)
        start = 0
        for group, count in block.groups:
            end = start + count
            if group in groups:
                yield group, addresses[start:end], None if values is None else values[start:end]
            start = end


def entries_in(states: Iterable[Sequence[RawSection]], groups: range) -> int:
    """How many entries of ``groups`` are in sections; those replaced by later ones count too."""
    return sum(
        count
        for sections in states
        for section in sections
        for block in section.blocks
        for group, count in block.groups
        if group in groups and not block.removed
    )


def iterate(snapshot: KeyedSnapshot, files: SavedFiles, groups: range) -> Iterator[StateBlock]:
    """What the snapshot holds of ``groups``; each entry once, with its last value."""
    wanted = range(
        max(groups.start, snapshot.first_group), min(groups.stop, snapshot.last_group + 1)
    )
    yield from gathered(raw_sections(snapshot, files, wanted), wanted, snapshot.backend)


def gathered(sections: Iterable[RawSection], groups: range, owner: str) -> Iterator[StateBlock]:
    """What sections hold of ``groups``, by state and key group; each entry once, with its last value."""
    found: dict[bytes, dict[int, dict[Any, Any]]] = {}
    metas: dict[bytes, StateMeta] = {}
    for section in sections:
        known = identity(section.meta)
        metas[known] = section.meta
        by_group = found.setdefault(known, {})
        serializer = EntrySerializer(schema_from(section.meta), owner)
        for group, addresses, values in replay(section, serializer, groups):
            entries = by_group.setdefault(group, {})
            if values is not None:
                entries.update(zip(addresses, values, strict=True))
            else:
                for address in addresses:
                    entries.pop(address, None)
    for known, by_group in found.items():
        for group, entries in sorted(by_group.items()):
            meta = metas[known]
            addresses = list(entries)
            namespaces = [namespace for _, namespace in addresses] if meta.namespaced else None
            keys = [key for key, _ in addresses] if meta.namespaced else addresses
            if keys:
                yield StateBlock(meta, group, keys, namespaces, list(entries.values()))


def encoded_blocks(blocks: Iterable[StateBlock], operator: str) -> Iterator[RawSection]:
    """What another backend's reader gave, as this backend would have written it.

    Only maps, of which one may come in several blocks, are held decoded until the last of them came.
    """
    found: dict[bytes, _Encoding] = {}
    now: _Encoding | None = None
    for block in blocks:
        if now is None or now.meta is not block.meta:
            known = identity(block.meta)
            if known not in found:
                found[known] = _Encoding(block.meta, operator)
            now = found[known]
        now.take(block)
    for encoding in found.values():
        yield encoding.section()


class _Encoding:
    """Blocks of one state on their way to a section."""

    def __init__(self, meta: StateMeta, operator: str) -> None:
        self.meta = meta
        self._serializer = EntrySerializer(schema_from(meta), operator)
        self._blocks: list[RawBlock] = []
        self._maps: dict[int, dict[Any, Any]] = {}

    def take(self, block: StateBlock) -> None:
        addresses = block.keys
        if block.namespaces is not None:
            addresses = list(zip(block.keys, block.namespaces, strict=True))
        if self.meta.kind not in MAPS:
            self._encode(block.group, addresses, block.values)
            return
        entries = self._maps.setdefault(block.group, {})
        for address, value in zip(addresses, block.values, strict=True):
            if address in entries:
                entries[address].update(value)
            else:
                entries[address] = value

    def section(self) -> RawSection:
        for group, entries in self._maps.items():
            self._encode(group, list(entries), list(entries.values()))
        return RawSection(self.meta, self._blocks)

    def _encode(self, group: int, addresses: list[Any], values: list[Any]) -> None:
        data = self._serializer.encode(addresses, values)
        self._blocks.append(RawBlock(removed=False, groups=((group, len(addresses)),), data=data))


def identity(meta: StateMeta) -> bytes:
    """Equal for equal metas, and to be hashed."""
    return msgspec.msgpack.encode(meta, order="deterministic")
