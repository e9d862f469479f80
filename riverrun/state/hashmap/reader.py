"""Reads what the hashmap backend wrote: raw blocks for itself, decoded entries for anyone."""

from __future__ import annotations

from collections import deque
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


class DecodedSection:
    """What another format's reader gave of one state: held as it came until somebody asks for it.

    Of maps, of which one may come in several blocks, the parts are joined.
    """

    def __init__(self, meta: StateMeta) -> None:
        self.meta = meta
        self._blocks: deque[tuple[int, list[Any], list[Any]]] = deque()
        self._maps: dict[int, dict[Any, Any]] = {}

    def add(self, block: StateBlock) -> None:
        """Take in entries."""
        addresses = block.keys
        if block.namespaces is not None:
            addresses = list(zip(block.keys, block.namespaces, strict=True))
        if self.meta.kind not in MAPS:
            self._blocks.append((block.group, addresses, block.values))
            return
        entries = self._maps.setdefault(block.group, {})
        for address, value in zip(addresses, block.values, strict=True):
            if address in entries:
                entries[address].update(value)
            else:
                entries[address] = value

    def entries(self) -> Iterator[tuple[int, list[Any], list[Any]]]:
        """Group, addresses and values; they stay here too, so who changes them uses ``take``."""
        yield from self._blocks
        for group, entries in self._maps.items():
            yield group, list(entries), list(entries.values())

    def take(self) -> Iterator[tuple[int, list[Any], list[Any]]]:
        """The same; what was given is not here any more."""
        while self._blocks:
            yield self._blocks.popleft()
        while self._maps:
            group, entries = self._maps.popitem()
            yield group, list(entries), list(entries.values())

    def count(self) -> int:
        """How many entries there are."""
        return sum(len(addresses) for _, addresses, _ in self._blocks) + sum(
            map(len, self._maps.values())
        )

    def encoded(self, operator: str) -> RawSection:
        """As this backend would have written it."""
        serializer = EntrySerializer(schema_from(self.meta), operator)
        return RawSection(
            self.meta,
            [
                RawBlock(
                    removed=False,
                    groups=((group, len(addresses)),),
                    data=serializer.encode(addresses, values),
                )
                for group, addresses, values in self.entries()
            ],
        )


def decoded_sections(blocks: Iterable[StateBlock]) -> Iterator[DecodedSection]:
    """What another format's reader gave, by state."""
    found: dict[bytes, DecodedSection] = {}
    now: DecodedSection | None = None
    for block in blocks:
        if now is None or now.meta is not block.meta:
            now = found.setdefault(identity(block.meta), DecodedSection(block.meta))
        now.add(block)
    yield from found.values()


def identity(meta: StateMeta) -> bytes:
    """Equal for equal metas, and to be hashed."""
    return msgspec.msgpack.encode(meta, order="deterministic")
