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
    found: dict[bytes, dict[int, dict[Any, Any]]] = {}
    metas: dict[bytes, StateMeta] = {}
    for section in raw_sections(snapshot, files, wanted):
        identity = _identity(section.meta)
        metas[identity] = section.meta
        by_group = found.setdefault(identity, {})
        serializer = EntrySerializer(schema_from(section.meta), snapshot.backend)
        for group, addresses, values in replay(section, serializer, wanted):
            entries = by_group.setdefault(group, {})
            if values is not None:
                entries.update(zip(addresses, values, strict=True))
            else:
                for address in addresses:
                    entries.pop(address, None)
    for identity, by_group in found.items():
        for group, entries in sorted(by_group.items()):
            meta = metas[identity]
            addresses = list(entries)
            namespaces = [namespace for _, namespace in addresses] if meta.namespaced else None
            keys = [key for key, _ in addresses] if meta.namespaced else addresses
            if keys:
                yield StateBlock(meta, group, keys, namespaces, list(entries.values()))


def encoded_blocks(blocks: Iterable[StateBlock], operator: str) -> Iterator[RawSection]:
    """What another backend's reader gave, as this backend would have written it."""
    found: dict[bytes, dict[int, dict[Any, Any]]] = {}
    metas: dict[bytes, StateMeta] = {}
    for block in blocks:
        identity = _identity(block.meta)
        metas[identity] = block.meta
        entries = found.setdefault(identity, {}).setdefault(block.group, {})
        addresses = block.keys
        if block.namespaces is not None:
            addresses = list(zip(block.keys, block.namespaces, strict=True))
        for address, value in zip(addresses, block.values, strict=True):
            if block.meta.kind in MAPS and address in entries:
                entries[address].update(value)
            else:
                entries[address] = value
    for identity, by_group in found.items():
        meta = metas[identity]
        serializer = EntrySerializer(schema_from(meta), operator)
        raw = [
            RawBlock(
                removed=False,
                groups=((group, len(entries)),),
                data=serializer.encode(list(entries), list(entries.values())),
            )
            for group, entries in by_group.items()
        ]
        yield RawSection(meta, raw)


def _identity(meta: StateMeta) -> bytes:
    return msgspec.msgpack.encode(meta, order="deterministic")
