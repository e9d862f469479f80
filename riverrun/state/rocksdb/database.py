"""One RocksDB as rows of bytes: get, write, scan, hard-linked copies; its errors as ours.

RocksDB says what went wrong in one long line of its own. Here it becomes `FileCorrupt` when bytes of a
file are not what was written, else `StorageError`, and the message begins with the file.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from rocksdict import (
    AccessType,
    Checkpoint,
    IngestExternalFileOptions,
    Options,
    Rdict,
    SstFileWriter,
    WriteBatch,
    WriteOptions,
)

from riverrun.storage.storage import FileCorrupt, StorageError

P = ParamSpec("P")
R = TypeVar("R")

_FILE: Final = re.compile(r"(?:[^\s:]*/)?(?:\d+\.sst|MANIFEST-\d+|OPTIONS-\d+|CURRENT|\d+\.log)")
_DAMAGE: Final = ("Corruption", "No such file", "Invalid argument", "Not implemented")
"""What the errors of damaged and missing files begin with; others are of the disk or of the machine."""


def rocksdb_error(folder: Path, error: Exception) -> StorageError:
    """RocksDB's error about the database in ``folder``, as one of ours.

    >>> rocksdb_error(Path("/d"), Exception("Corruption: bad block in /d/000012.sst offset 3"))
    FileCorrupt('/d/000012.sst: RocksDB cannot read it: Corruption: bad block in /d/000012.sst offset 3')
    """
    said = str(error).strip()
    named = _FILE.findall(said)
    file = Path(named[0]) if named else folder
    if not file.is_absolute() and file != folder:
        file = folder / file.name
    if any(word in said for word in _DAMAGE):
        return FileCorrupt(f"{file}: RocksDB cannot read it: {said}")
    return StorageError(f"{file}: RocksDB could not go on: {said}")


def _reporting(
    method: Callable[Concatenate[Database, P], R],
) -> Callable[Concatenate[Database, P], R]:
    def reporting(self: Database, /, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(self, *args, **kwargs)
        except StorageError:
            raise
        except Exception as error:
            raise rocksdb_error(self.folder, error) from error

    return reporting


class Database:
    """Rows of bytes in order; used from one thread.

    Nothing is written ahead: what is not flushed dies with the process, since a checkpoint is what a
    restart begins from.
    """

    @_reporting
    def __init__(self, folder: Path, options: Options, *, read_only: bool = False) -> None:
        self.folder = folder
        access = AccessType.read_only() if read_only else AccessType.read_write()
        folder.mkdir(parents=True, exist_ok=True)
        self._db = Rdict(str(folder), options, access_type=access)
        unlogged = WriteOptions()
        unlogged.disable_wal = True
        self._unlogged = unlogged
        self._options = options

    @_reporting
    def get(self, key: bytes) -> bytes | None:
        """The row at ``key``."""
        found: bytes | None = self._db.get(key)
        return found

    @_reporting
    def get_all(self, keys: list[bytes]) -> list[bytes | None]:
        """The rows at ``keys``, in their order."""
        found: list[bytes | None] = self._db.get(keys)
        return found

    @_reporting
    def write(self, batch: WriteBatch) -> None:
        """Carry out the whole batch or nothing of it."""
        self._db.write(batch, self._unlogged)

    @_reporting
    def ingest(self, parts: Iterable[tuple[Iterable[bytes], Iterable[bytes]]], file: Path) -> None:
        """Write rows that come in order, with different keys, as a table of their own.

        At half the cost of ``write``, since it goes around the buffer that sorts rows. ``parts`` are keys and
        values; ``file``, on the same disk, is in the way while this runs.
        """
        writer = SstFileWriter(options=self._options)
        writer.open(str(file))
        for keys, values in parts:
            deque(map(writer.__setitem__, keys, values), maxlen=0)
        writer.finish()
        how = IngestExternalFileOptions()
        how.set_move_files(True)
        self._db.ingest_external_file([str(file)], how)

    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """The rows that begin with ``prefix``, in order; those of the moment of this call."""
        return self.scan_each((prefix,))

    def scan_each(self, prefixes: Iterable[bytes]) -> Iterator[tuple[bytes, bytes]]:
        """The rows that begin with the first prefix, then those of the next; as they are now."""
        return self._rows(self._iterator(), prefixes)

    def scan_from(self, begin: bytes, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """The rows with ``prefix``, in order, from ``begin`` on."""
        return self._rows(self._iterator(), (prefix,), begin)

    def scan_runs(self, prefix: bytes, size: int) -> Iterator[tuple[list[bytes], list[bytes]]]:
        """The keys and values of the rows with ``prefix``, in order, at most ``size`` at a time."""
        rows = self._iterator()
        self._seek(rows, prefix)
        key, value, step = rows.key, rows.value, rows.next
        row_key = key()
        while row_key is not None and row_key.startswith(prefix):
            row_keys, row_values = [], []
            for _ in range(size):
                row_keys.append(row_key)
                row_values.append(value())
                step()
                row_key = key()
                if row_key is None or not row_key.startswith(prefix):
                    break
            yield row_keys, row_values
        self._require_whole(rows)

    @_reporting
    def flush(self) -> None:
        """Make what was written a file."""
        self._db.flush()

    @_reporting
    def link(self, target: Path) -> None:
        """Make ``target``, a folder that does not exist, a copy whose large files are hard links."""
        Checkpoint(self._db).create_checkpoint(str(target))

    @_reporting
    def row_count(self) -> int:
        """About how many rows there are."""
        return int(self._db.property_int_value("rocksdb.estimate-num-keys") or 0)

    @_reporting
    def close(self) -> None:
        """Close the files; a scan that is still open keeps them until it is dropped."""
        self._db.close()

    @_reporting
    def _iterator(self) -> Any:
        # Without an upper bound in its options: rows beyond it were seen to come all the same.
        return self._db.iter()

    @_reporting
    def _seek(self, rows: Any, begin: bytes) -> None:
        rows.seek(begin)

    def _rows(
        self, rows: Any, prefixes: Iterable[bytes], begin: bytes = b""
    ) -> Iterator[tuple[bytes, bytes]]:
        # Not ``Rdict.items``: it ends at a damaged block as if there were no more rows.
        valid, key, value, step = rows.valid, rows.key, rows.value, rows.next
        for prefix in prefixes:
            self._seek(rows, begin or prefix)
            while valid() and (row_key := key()).startswith(prefix):
                yield row_key, value()
                step()
            self._require_whole(rows)

    def _require_whole(self, rows: Any) -> None:
        """Raise what ended the rows, unless it was their end."""
        if not rows.valid():
            self._end(rows)

    @_reporting
    def _end(self, rows: Any) -> None:
        rows.status()


def after_prefix(prefix: bytes) -> bytes:
    r"""The first bytes after all that begin with ``prefix``; empty when there are none.

    >>> after_prefix(b"a\x01"), after_prefix(b"a\xff"), after_prefix(b"\xff")
    (b'a\x02', b'b', b'')
    """
    kept = prefix.rstrip(b"\xff")
    return kept[:-1] + bytes([kept[-1] + 1]) if kept else b""
