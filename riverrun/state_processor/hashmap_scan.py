"""One state in the files of the hashmap backend, read a few key groups at a time.

The files are mapped into memory, so that only the blocks that are being decoded take up room. Where no file
replaces what another says, not even the entries of a key group are held together.
"""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from riverrun.protocol.snapshots import KeyedPart
from riverrun.state.hashmap.entries import section_blocks
from riverrun.state.hashmap.reader import identity, replay
from riverrun.state.hashmap.snapshot_file import RawSection, read_sections
from riverrun.state.interchange import StateBlock
from riverrun.state.schema import schema_from
from riverrun.state.serializers import EntrySerializer
from riverrun.storage.blobs import Blob, InlineBlob
from riverrun.storage.snapshot_files import SavedFiles
from riverrun.storage.storage import StorageError


class HashmapScan:
    """The sections of one state, in the order in which they count."""

    def __init__(self, sections: Sequence[RawSection], operator: str) -> None:
        self._sections = sections
        self._operator = operator
        metas = {identity(section.meta) for section in sections}
        self._once = len(metas) == len(sections) and not any(
            block.removed for section in sections for block in section.blocks
        )
        """Whether no entry can replace another."""

    @property
    def bytes(self) -> int:
        """Of the blocks, as they are in the files."""
        return sum(len(block.data) for section in self._sections for block in section.blocks)

    def entries(self) -> int | None:
        """How many there are; None when some replace others."""
        if not self._once:
            return None
        return sum(
            count
            for section in self._sections
            for block in section.blocks
            for _, count in block.groups
        )

    def indexed(self, groups: range) -> Iterator[tuple[int, int, int]]:
        """Key group, entries and bytes, as far as the index tells without anything being decoded.

        A block is shared out by its entries; those that later ones replace count too.
        """
        for section in self._sections:
            for block in section.blocks:
                everything = sum(count for _, count in block.groups) or 1
                for group, count in block.groups:
                    if group in groups:
                        share = len(block.data) * count // everything
                        yield group, 0 if block.removed else count, share

    def blocks(self, groups: range) -> Iterator[StateBlock]:
        """The entries of ``groups``, each with its last value."""
        if not self._once:
            yield from section_blocks(self._sections, groups, self._operator)
            return
        for section in self._sections:
            yield from _as_they_are(section, groups, self._operator)


@contextmanager
def opened_hashmap(
    parts: Iterable[KeyedPart], files: SavedFiles, state: str, groups: range, operator: str
) -> Iterator[HashmapScan]:
    """The state as the parts have it of ``groups``; it is on this machine for that time."""
    with opened_sections(parts, files, groups) as sections:
        found = [section for section in sections if section.meta.name == state]
        yield HashmapScan(found, operator)


@contextmanager
def opened_sections(
    parts: Iterable[KeyedPart], files: SavedFiles, groups: range
) -> Iterator[list[RawSection]]:
    """What the parts have of ``groups``, of all states."""
    with ExitStack() as stack:
        sections: list[RawSection] = []
        for part in parts:
            data = stack.enter_context(_mapped(part.blob, files))
            sections += read_sections(part.blob, data, groups)
        yield sections


@contextmanager
def _mapped(blob: Blob, files: SavedFiles) -> Iterator[bytes | memoryview]:
    if isinstance(blob, InlineBlob):
        yield files.read(blob)
        return
    try:
        folder = tempfile.TemporaryDirectory(prefix="riverrun-state-")
    except OSError as error:
        raise StorageError(f"file {blob.path!r}: no folder for it can be made: {error}") from error
    with folder as made:
        path = Path(made) / "state"
        files.fetch(blob, path)
        try:
            with path.open("rb") as file:
                found = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise StorageError(f"file {blob.path!r}: it cannot be mapped: {error}") from error
        # Not closed by hand: blocks that a reader still holds refer to it.
        yield memoryview(found)


def _as_they_are(section: RawSection, groups: range, operator: str) -> Iterator[StateBlock]:
    meta = section.meta
    serializer = EntrySerializer(schema_from(meta), operator)
    wanted = [
        block for block in section.blocks if any(group in groups for group, _ in block.groups)
    ]
    for block in wanted:
        one = RawSection(meta, [block])
        for group, addresses, values in replay(one, serializer, groups):
            keys, namespaces = addresses, None
            if meta.namespaced:
                keys = [key for key, _ in addresses]
                namespaces = [namespace for _, namespace in addresses]
            if keys and values is not None:
                yield StateBlock(meta, group, keys, namespaces, values)
