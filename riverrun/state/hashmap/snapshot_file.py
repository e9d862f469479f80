"""The file format of the hashmap backend: blocks of entries and an index of them, version 1.

    file     = magic version blocks index footer
    magic    = 8 bytes "RRHASHMP"
    version  = uint32
    blocks   = one after the other, each as ``riverrun.state.serializers`` encodes it
    index    = MessagePack of ``FileIndex``
    footer   = uint64 offset of the index, uint64 its size, magic

Numbers are little-endian. A section is what the file holds of one state; its blocks hold some thousand
entries each, sorted by key group: a block spans few groups, and a group is in several blocks. The index
says how many entries of which group are in which, and who needs some groups decodes only the blocks that
hold them. Entries of a later block replace those of an earlier one, and so do
files: a base holds the whole state, a delta what was put and what was removed (tombstones) since the
part before it. A section may hold blocks that were copied from another file because nobody asked for
their state; those too are read in order.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec

from riverrun.protocol.snapshots import StateMeta
from riverrun.storage.blobs import Blob, FileRef
from riverrun.storage.storage import FileCorrupt

VERSION: Final = 1
_MAGIC: Final = b"RRHASHMP"
_HEADER: Final = struct.Struct("<8sI")
_FOOTER: Final = struct.Struct("<QQ8s")


class BlockIndex(msgspec.Struct, frozen=True, array_like=True):
    """Where a block is and what is in it."""

    offset: int
    size: int
    removed: bool
    """Whether it is a block of tombstones."""
    groups: tuple[tuple[int, int], ...]
    """(key group, number of entries), in the order of the entries."""


class SectionIndex(msgspec.Struct, frozen=True, array_like=True):
    """The blocks of one state, in the order in which they must be read."""

    meta: StateMeta
    blocks: tuple[BlockIndex, ...]


class FileIndex(msgspec.Struct, frozen=True):
    """What a file holds."""

    sections: tuple[SectionIndex, ...]


class RawBlock(msgspec.Struct, frozen=True):
    """A block that is not decoded yet."""

    removed: bool
    groups: tuple[tuple[int, int], ...]
    data: bytes | memoryview


class RawSection(msgspec.Struct, frozen=True):
    """Blocks of one state as one file has them."""

    meta: StateMeta
    blocks: Sequence[RawBlock]


class FileBuilder:
    """Puts a file together, in memory or, where ``write`` is given, piece by piece; used from one thread."""

    def __init__(self, write: Callable[[bytes | memoryview], object] | None = None) -> None:
        self._pieces: list[bytes | memoryview] = []
        self._write = self._pieces.append if write is None else write
        self._write(_HEADER.pack(_MAGIC, VERSION))
        self._size = _HEADER.size
        self._sections: list[SectionIndex] = []
        self._blocks: list[BlockIndex] = []

    def add(
        self, block: bytes | memoryview, groups: tuple[tuple[int, int], ...], *, removed: bool
    ) -> None:
        """Append a block to the section that ``end_section`` will name."""
        self._blocks.append(BlockIndex(self._size, len(block), removed, groups))
        self._write(block)
        self._size += len(block)

    def end_section(self, meta: StateMeta) -> None:
        """Say which state the blocks since the last section are of; nothing when there are none."""
        if self._blocks:
            self._sections.append(SectionIndex(meta, tuple(self._blocks)))
            self._blocks = []

    @property
    def is_empty(self) -> bool:
        """Whether there is no section."""
        return not self._sections

    def finish(self) -> bytes:
        """The bytes of the file; none where they were written."""
        index = msgspec.msgpack.encode(FileIndex(tuple(self._sections)))
        self._write(index)
        self._write(_FOOTER.pack(self._size, len(index), _MAGIC))
        data = b"".join(self._pieces)
        self._pieces.clear()
        return data


def read_sections(blob: Blob, data: bytes | memoryview, groups: range) -> Iterator[RawSection]:
    """The sections of a file with those blocks that hold an entry of ``groups``.

    Raises:
        FileCorrupt: the file is none of this format, or of a version that came later.
    """
    view = memoryview(data)
    for section in _index_of(blob, view).sections:
        blocks = [
            RawBlock(block.removed, block.groups, view[block.offset : block.offset + block.size])
            for block in section.blocks
            if any(group in groups for group, _ in block.groups)
        ]
        if blocks:
            yield RawSection(section.meta, blocks)


def _index_of(blob: Blob, view: memoryview) -> FileIndex:
    name = blob.path if isinstance(blob, FileRef) else f"{blob.size} bytes kept in the metadata"
    if len(view) < _HEADER.size + _FOOTER.size:
        raise FileCorrupt(f"{name}: {len(view)} bytes are too few for a file of hashmap state")
    magic, version = _HEADER.unpack_from(view)
    offset, size, end = _FOOTER.unpack_from(view, len(view) - _FOOTER.size)
    if magic != _MAGIC or end != _MAGIC:
        raise FileCorrupt(
            f"{name}: begins with {magic!r} and ends with {end!r}, expected {_MAGIC!r}; it is no file "
            f"of hashmap state, or was cut"
        )
    if version != VERSION:
        raise FileCorrupt(
            f"{name}: has version {version} of the format of hashmap state, and this release reads "
            f"version {VERSION}; restore with the release that wrote it or a later one"
        )
    try:
        return msgspec.msgpack.decode(view[offset : offset + size], type=FileIndex)
    except (msgspec.MsgspecError, ValueError) as error:
        raise FileCorrupt(f"{name}: its index cannot be read: {error}") from error
