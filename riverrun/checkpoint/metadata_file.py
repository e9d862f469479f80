"""The `_metadata` file: two lines of JSON, which any tool can read.

The first line says what the file is, who wrote it, and the size and digest of the second, which is the
checkpoint.
``python -m json.tool --json-lines _metadata`` shows both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import msgspec

from riverrun.checkpoint.layout import inside, outside, paths_begin_at
from riverrun.checkpoint.metadata import CheckpointMetadata
from riverrun.checkpoint.references import relocated
from riverrun.protocol.snapshots import FORMAT_VERSION
from riverrun.storage.digests import digest_of
from riverrun.storage.storage import FileCorrupt, StorageError

_KIND: Final = "checkpoint"
_BEGINS: Final = b'{"riverrun":'
_FLINK: Final = b"\x49\x60\x67\x2d"
_LONGEST_HEADER: Final = 4096
_UNREADABLE: Final = (msgspec.MsgspecError, UnicodeDecodeError)


class FormatTooNew(StorageError):  # noqa: N818
    """A later release of riverrun wrote the file, in a format that this one does not know."""

    def __init__(self, location: str, found: int, known: int) -> None:
        super().__init__(location, found, known)
        self.location, self.found, self.known = location, found, known

    def __str__(self) -> str:
        return (
            f"file {self.location!r}: it has version {self.found} of the checkpoint format and this "
            f"riverrun knows versions up to {self.known}; use the release that wrote it, or a later one"
        )


class _Header(msgspec.Struct, frozen=True):
    riverrun: str
    version: int
    epoch: int
    size: int
    digest: str


class _Version(msgspec.Struct, frozen=True):
    """What every version of the header has."""

    riverrun: str
    version: int


@dataclass(frozen=True, slots=True)
class MetadataFile:
    """A `_metadata` file that was read."""

    metadata: CheckpointMetadata
    epoch: int
    """Of the owner who wrote it."""


def encode(file: MetadataFile, location: str) -> bytes:
    """The bytes of the file at ``location``; paths below the folder where they begin become relative."""
    folder = paths_begin_at(location, savepoint=file.metadata.savepoint)
    body = msgspec.json.encode(relocated(file.metadata, lambda path: inside(folder, path)))
    version = file.metadata.format_version
    digest = _digest(version, file.epoch, body)
    header = _Header(_KIND, version, file.epoch, len(body), digest)
    return msgspec.json.encode(header) + b"\n" + body + b"\n"


def decode(data: bytes, location: str) -> MetadataFile:
    """What ``encode`` was given, with the files where ``location`` says that they are now.

    Raises:
        FormatTooNew: a later release wrote it.
        FileCorrupt: it is foreign, cut off or damaged.
    """
    header, body = _split(data, location)
    if len(body) < header.size:
        raise _cut_off(location, f"expected {header.size} bytes of metadata, found {len(body)}")
    if len(body) > header.size:
        raise _damaged(location, f"{len(body) - header.size} bytes more than it should have")
    found = _digest(header.version, header.epoch, body)
    if found != header.digest:
        raise _damaged(location, f"expected digest {header.digest}, found {found}")
    try:
        metadata = msgspec.json.decode(body, type=CheckpointMetadata)
    except _UNREADABLE as error:
        raise _damaged(location, f"its content is not that of a checkpoint: {error}") from error
    folder = paths_begin_at(location, savepoint=metadata.savepoint)
    return MetadataFile(relocated(metadata, lambda path: outside(folder, path)), header.epoch)


def _digest(version: int, epoch: int, body: bytes) -> str:
    """Of the body and of those parts of the header that say more than what the body is."""
    return digest_of(b"%d %d\n" % (version, epoch) + body)


def _split(data: bytes, location: str) -> tuple[_Header, bytes]:
    line, newline, rest = data.partition(b"\n")
    if not newline and (not data or line[: len(_BEGINS)] == _BEGINS[: len(line)]):
        raise _cut_off(location, f"there are {len(data)} bytes, and the first line is not whole")
    if not line.startswith(_BEGINS) or len(line) > _LONGEST_HEADER:
        raise FileCorrupt(_foreign(data, location))
    try:
        version = msgspec.json.decode(line, type=_Version)
        if version.riverrun == _KIND and version.version > FORMAT_VERSION:
            raise FormatTooNew(location, version.version, FORMAT_VERSION)
        header = msgspec.json.decode(line, type=_Header)
    except _UNREADABLE as error:
        raise _damaged(location, f"its first line cannot be read: {error}") from error
    if header.riverrun != _KIND:
        raise FileCorrupt(
            f"file {location!r}: expected riverrun's {_KIND}, found its {header.riverrun!r}; "
            f"give the folder of a checkpoint"
        )
    return header, rest.removesuffix(b"\n")


def _foreign(data: bytes, location: str) -> str:
    if data.startswith(_FLINK):
        return (
            f"file {location!r}: expected a checkpoint of riverrun, found one of Apache Flink; "
            f"its state cannot be read here, so start without it"
        )
    return (
        f"file {location!r}: expected a checkpoint of riverrun, found something else that begins with "
        f"{data[:16]!r}; give the folder of a checkpoint"
    )


def _cut_off(location: str, found: str) -> FileCorrupt:
    return FileCorrupt(
        f"file {location!r}: it was cut off: {found}; use another checkpoint, or copy it again"
    )


def _damaged(location: str, found: str) -> FileCorrupt:
    return FileCorrupt(
        f"file {location!r}: it was changed or damaged after it was written: {found}; "
        f"use another checkpoint"
    )
