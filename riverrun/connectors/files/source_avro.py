"""Avro files: a block of records at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from io import BytesIO
from typing import Any, Final

from riverrun.connectors.base.extras import require
from riverrun.connectors.base.split_reader import OpenSplit, SplitRun
from riverrun.connectors.files.paths import FileStore, location_of
from riverrun.connectors.files.source_formats import BulkFormat, FileUnreadable, Opening
from riverrun.connectors.files.source_splits import FileSplit
from riverrun.connectors.files.source_streams import chunk_size
from riverrun.connectors.formats.avro_schema import (
    AvroSchema,
    GenericRecordAvroTypeInfo,
    row_type_of_avro,
)
from riverrun.connectors.formats.avro_values import rows_from
from riverrun.serde.type_info import TypeInformation

__all__ = ["AvroFileFormat", "AvroInputFormat"]

_MAGIC: Final = b"Obj\x01"
_SYNC: Final = 16
_LONGEST_NUMBER: Final = 10
_SEARCHED: Final = 1 << 16


class AvroFileFormat(BulkFormat):
    """Records of Avro files, in one schema whichever they were written with.

    Args:
        schema: the schema of the records as they come out.
        as_rows: whether they are rows, and not dicts.
    """

    def __init__(self, schema: AvroSchema, *, as_rows: bool = True) -> None:
        require("fastavro", extra="avro", user="Avro files")
        self.schema = schema if isinstance(schema, AvroSchema) else AvroSchema.parse_string(schema)
        self._type: TypeInformation = (
            row_type_of_avro(self.schema) if as_rows else GenericRecordAvroTypeInfo(self.schema)
        )
        self._as_rows = as_rows

    def is_splittable(self, location: str) -> bool:
        del location
        return True

    def open_split(self, split: FileSplit, opening: Opening) -> OpenSplit[Any]:
        finish = rows_from(row_type_of_avro(self.schema)) if self._as_rows else None
        return _OpenBlocks(split, self.schema, finish, opening.store)

    def get_produced_type(self) -> TypeInformation:
        return self._type


class AvroInputFormat(AvroFileFormat):
    """PyFlink's name for the records of the Avro files at ``path``, as dicts."""

    def __init__(self, path: str, schema: AvroSchema) -> None:
        super().__init__(schema, as_rows=False)
        self.path = location_of(path)


class _OpenBlocks(OpenSplit[Any]):
    def __init__(
        self,
        split: FileSplit,
        schema: AvroSchema,
        finish: Callable[[Sequence[Any]], list[Any]] | None,
        store: FileStore,
    ) -> None:
        self._split = split
        self._store = store
        self._schema = schema
        self._finish = finish
        self._file: Any = store.open(split.location)
        self._held, self._held_from = b"", 0
        self._ahead = 0
        """How much is read at once: a block takes three looks, and each may be a request to a store."""
        self._decode = require("fastavro", extra="avro", user="Avro files").reader
        try:
            with store.reported("reading", split.location):
                self._size = self._file.size()
                self._header = self._read_header()
                self._sync = self._header[-_SYNC:]
                self._ahead = chunk_size(split.location)
                self._block = self._first_block()
        except BaseException:
            self._file.close()
            raise
        self._after = self._block
        """Where the block after the one in ``_records`` begins."""
        self._records: list[Any] | None = None
        self._given = split.skip

    def read(self, limit: int) -> SplitRun:
        if self._records is None and not self._is_over():
            self._records = self._read_block()
        if self._records is None:
            return SplitRun(finished=True)
        values = self._records[self._given : self._given + limit]
        self._given += len(values)
        if self._given >= len(self._records):
            self._block, self._given, self._records = self._after, 0, None
        return SplitRun(
            values if self._finish is None else list(self._finish(values)),
            finished=self._records is None and self._is_over(),
        )

    def split(self) -> FileSplit:
        return self._split.at(self._block, self._given)

    def close(self) -> None:
        self._file.close()

    def _is_over(self) -> bool:
        # A block belongs to the range that the marker before it begins in.
        return self._block >= self._size or self._block - _SYNC >= self._split.end

    def _first_block(self) -> int:
        split = self._split
        if split.offset is not None:
            return split.offset
        if split.start <= len(self._header) - _SYNC:
            return len(self._header)
        position, before = split.start, b""
        while position < self._size:
            found = self._at(position, _SEARCHED)
            place = (before + found).find(self._sync)
            if place >= 0:
                return position - len(before) + place + _SYNC
            position += len(found)
            before = (before + found)[-(_SYNC - 1) :]
        return int(self._size)

    def _read_header(self) -> bytes:
        size = _SEARCHED
        while True:
            found = self._at(0, size)
            if found[:4] != _MAGIC:
                raise self._unreadable(f"it begins with {found[:4]!r}; expected an Avro file")
            end = _header_end(found)
            if end is not None:
                return found[:end]
            if size >= self._size:
                raise self._unreadable("it is cut off before its first record")
            size *= 4

    def _read_block(self) -> list[Any]:
        with self._store.reported("reading", self._split.location):
            count, data = self._number(self._block)
            size, data = self._number(data)
            self._after = data + size + _SYNC
            found = self._at(self._block, self._after - self._block)
        if len(found) < self._after - self._block or found[-_SYNC:] != self._sync:
            raise self._unreadable(
                f"the block at byte {self._block} is damaged or cut off; expected {size} bytes and the "
                f"file's marker"
            )
        try:
            # The header and one block are a file again, which the library reads fast.
            records = list(self._decode(BytesIO(self._header + found), self._schema.parsed))
        except Exception as error:
            # fastavro lets any kind of error out for blocks that it cannot read.
            raise self._unreadable(
                f"the block at byte {self._block} cannot be read as {self._schema.full_name!r}: {error!r}"
            ) from error
        if len(records) != count:
            raise self._unreadable(
                f"the block at byte {self._block} has {len(records)} records; expected {count}"
            )
        return records

    def _number(self, position: int) -> tuple[int, int]:
        found = _long(self._at(position, _LONGEST_NUMBER), 0)
        if found is None:
            raise self._unreadable(f"it is cut off at byte {position}")
        return found[0], position + found[1]

    def _at(self, position: int, size: int) -> bytes:
        position = min(position, self._size)
        begin = position - self._held_from
        end = min(position + size, self._size)
        if begin < 0 or end > self._held_from + len(self._held):
            self._file.seek(position)
            self._held_from, begin = position, 0
            self._held = self._file.read(max(size, self._ahead))
        return self._held[begin : begin + size]

    def _unreadable(self, reason: str) -> FileUnreadable:
        return FileUnreadable(self._split.location, reason)


def _long(data: bytes, place: int) -> tuple[int, int] | None:
    """The number at ``place`` and the place after it, as Avro writes numbers; None if it is cut off.

    >>> _long(bytes([0x80, 0x01]), 0), _long(bytes([3]), 0)
    ((64, 2), (-2, 1))
    """
    value = shift = 0
    while place < len(data):
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return (value >> 1) ^ -(value & 1), place
        shift += 7
    return None


def _header_end(data: bytes) -> int | None:
    """Where the header of a file ends; None if it is longer than ``data``."""
    place = len(_MAGIC)
    while True:
        found = _long(data, place)
        if found is None:
            return None
        count, place = found
        if count == 0:
            return place + _SYNC if len(data) >= place + _SYNC else None
        if count < 0:
            found = _long(data, place)
            if found is None:
                return None
            count, place = -count, found[1]
        for _ in range(count * 2):
            found = _long(data, place)
            if found is None:
                return None
            place = found[0] + found[1]
