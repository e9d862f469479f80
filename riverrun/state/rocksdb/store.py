"""The database of a backend, opened when the first row is written, and the batches on their way in."""

from __future__ import annotations

import logging
import shutil
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from rocksdict import WriteBatch

from riverrun.state.backend import BackendSettings
from riverrun.state.rocksdb.database import Database, after_prefix
from riverrun.state.rocksdb.memory import MemoryPlan
from riverrun.state.rocksdb.tuning import PREDEFINED_OPTIONS, database_options
from riverrun.storage.storage import StorageError

log = logging.getLogger(__name__)

_BATCH_BYTES: Final = 1 << 20
_FEW_ROWS: Final = 256
"""So many rows are deleted one by one; more of them by one mark, which makes reading near it slower."""


_MANY_ROWS: Final = 32_768
"""So many rows in order are worth a table of their own."""


class Store:
    """Rows of one backend; a store that holds nothing has no files."""

    def __init__(self, settings: BackendSettings) -> None:
        self.folder = settings.folder / "db"
        self.plan = MemoryPlan.of(settings.memory_bytes)
        self._predefined = settings.options.get(PREDEFINED_OPTIONS, "DEFAULT")
        # Also when there is nothing to open yet: a wrong name is found before the job runs.
        database_options(self.plan, self._predefined)
        self._db: Database | None = None
        self._batch: WriteBatch | None = None
        self._batched = 0
        self.next_piece = 0

    @property
    def is_empty(self) -> bool:
        """Whether no row was ever written."""
        return self._db is None

    def open(self) -> Database:
        """The database; made, or opened from the files that a restore put there."""
        if self._db is None:
            self._db = Database(self.folder, database_options(self.plan, self._predefined))
        return self._db

    def get(self, row_key: bytes) -> bytes | None:
        """The row at ``row_key``."""
        return None if self._db is None else self._db.get(row_key)

    def get_all(self, row_keys: list[bytes]) -> list[bytes | None]:
        """The rows at ``row_keys``, which costs a fraction of one look for each."""
        return [None] * len(row_keys) if self._db is None else self._db.get_all(row_keys)

    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """The rows with a prefix, as they are at this moment."""
        return self.scan_each((prefix,))

    def scan_from(self, begin: bytes, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """The rows with a prefix, from ``begin`` on."""
        return iter(()) if self._db is None else self._db.scan_from(begin, prefix)

    def scan_each(self, prefixes: Iterable[bytes]) -> Iterator[tuple[bytes, bytes]]:
        """The rows of one prefix after the other, as they are at this moment."""
        return iter(()) if self._db is None else self._db.scan_each(prefixes)

    def put(self, row_key: bytes, row_value: bytes) -> None:
        """Write a row, at the latest at the next ``commit``."""
        batch = self._batch
        if batch is None:
            batch = self._batch = WriteBatch(raw_mode=True)
        batch.put(row_key, row_value)
        self._batched += len(row_key) + len(row_value)
        if self._batched > _BATCH_BYTES:
            self.commit()

    def put_all(self, row_keys: Sequence[bytes], row_values: Iterable[bytes]) -> None:
        """Write rows, at the latest at the next ``commit``; not so many that memory would fill."""
        batch = self._batch
        if batch is None:
            batch = self._batch = WriteBatch(raw_mode=True)
        deque(map(batch.put, row_keys, row_values), maxlen=0)
        if batch.size_in_bytes() > _BATCH_BYTES:
            self.commit()

    def put_sorted(
        self, parts: Iterable[tuple[Sequence[bytes], Iterable[bytes]]], count: int
    ) -> None:
        """Write ``count`` rows that come in order, with different keys; at the latest at the next ``commit``."""
        if count < _MANY_ROWS:
            for row_keys, row_values in parts:
                self.put_all(row_keys, row_values)
            return
        self.commit()  # what was put before is older
        self.open().ingest(parts, self.folder.with_name("incoming.sst"))

    def delete(self, row_key: bytes) -> None:
        """Delete a row, at the latest at the next ``commit``."""
        if self._batch is None:
            self._batch = WriteBatch(raw_mode=True)
        self._batch.delete(row_key)
        self._batched += len(row_key)
        if self._batched > _BATCH_BYTES:
            self.commit()

    def delete_prefix(self, prefix: bytes) -> None:
        """Delete the committed rows with this prefix, at the latest at the next ``commit``."""
        found = []
        for row_key, _ in self.scan(prefix):
            found.append(row_key)
            if len(found) > _FEW_ROWS:
                self.delete_range(prefix, after_prefix(prefix))
                return
        for row_key in found:
            self.delete(row_key)

    def delete_range(self, begin: bytes, end: bytes) -> None:
        """Delete all rows from ``begin`` up to ``end``, at the latest at the next ``commit``."""
        if self._batch is None:
            self._batch = WriteBatch(raw_mode=True)
        self._batch.delete_range(begin, end)

    def commit(self) -> None:
        """Make every put and delete up to now readable."""
        if self._batch is not None:
            self.open().write(self._batch)
            self._batch = None
            self._batched = 0

    def new_piece(self) -> int:
        """A number above those of all pieces of lists."""
        self.next_piece += 1
        return self.next_piece

    def link(self, target: Path) -> None:
        """Make ``target``, which does not exist, a copy of the committed rows, with hard links."""
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            self.open().link(target)
        except OSError as error:
            raise StorageError(f"{target}: the folder cannot be made: {error}") from error
        except StorageError:
            for left_over in (target, target.with_name(f"{target.name}.tmp")):
                remove_folder(left_over)
            raise

    def row_count(self) -> int:
        """About how many rows there are."""
        return 0 if self._db is None else self._db.row_count()

    def close(self) -> None:
        """Close the database and remove its files."""
        self._batch = None
        database, self._db = self._db, None
        try:
            if database is not None:
                database.close()
        except StorageError as error:
            # RocksDB writes what it holds before it closes; nobody wants that any more.
            log.warning("database closed after a failed write folder=%s: %s", self.folder, error)
        remove_folder(self.folder)


def remove_folder(folder: Path) -> None:
    """Remove a folder with all that is in it; nothing happens when it is not there.

    Raises:
        StorageError: it could not be removed.
    """
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        return
    except OSError as error:
        raise StorageError(f"{folder}: the folder cannot be removed: {error}") from error
