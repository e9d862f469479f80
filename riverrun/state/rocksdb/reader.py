"""Reads what the rocksdb backend wrote: a fetched database for itself, decoded entries for anyone."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from riverrun.protocol.snapshots import KeyedPart, KeyedSnapshot
from riverrun.state.hashmap import reader as hashmap
from riverrun.state.hashmap.snapshot_file import RawSection
from riverrun.state.interchange import StateBlock
from riverrun.state.rocksdb.catalog import facts_of
from riverrun.state.rocksdb.database import Database
from riverrun.state.rocksdb.entries import row_blocks
from riverrun.state.rocksdb.frozen import ENTRIES, TABLE, TIMERS
from riverrun.state.rocksdb.rows import RowFormat
from riverrun.state.rocksdb.tuning import reading_options
from riverrun.state.schema import schema_from
from riverrun.state.serializers import EntrySerializer
from riverrun.storage.blobs import FileRef
from riverrun.storage.snapshot_files import SavedFiles
from riverrun.storage.storage import FileCorrupt, StorageError


def rows_of(snapshot: KeyedSnapshot) -> tuple[KeyedPart, ...]:
    """The files of the snapshot's database."""
    return tuple(part for part in snapshot.parts if part.name not in {TIMERS, ENTRIES})


def near_timers(snapshot: KeyedSnapshot) -> KeyedSnapshot:
    """The timers that were in memory, which are in a file as the hashmap backend writes them."""
    return _only(snapshot, TIMERS)


def held_entries(snapshot: KeyedSnapshot) -> KeyedSnapshot:
    """The entries that count instead of their rows, in such a file too."""
    return _only(snapshot, ENTRIES)


def _only(snapshot: KeyedSnapshot, name: str) -> KeyedSnapshot:
    parts = tuple(part for part in snapshot.parts if part.name == name)
    return msgspec.structs.replace(snapshot, parts=parts)


def hidden_rows(sections: Iterable[RawSection], groups: range, owner: str) -> dict[Any, None]:
    """The addresses in sections of one state: their rows, if they have any, do not count."""
    found: dict[Any, None] = {}
    for section in sections:
        serializer = EntrySerializer(schema_from(section.meta), owner)
        for _, addresses, _ in hashmap.replay(section, serializer, groups):
            found.update(dict.fromkeys(addresses))
    return found


def fetch_database(snapshot: KeyedSnapshot, files: SavedFiles, folder: Path) -> None:
    """Put the files of a snapshot into a folder, which is made."""
    try:
        folder.mkdir(parents=True)
        for part in rows_of(snapshot):
            target = folder / part.name
            if target.suffix == TABLE:
                files.fetch(part.blob, target)
            else:
                # Copied, because RocksDB may write into these.
                target.write_bytes(files.read(part.blob))
    except OSError as error:
        raise StorageError(f"{folder}: a snapshot cannot be put there: {error}") from error


@contextmanager
def named_in_store(snapshot: KeyedSnapshot) -> Iterator[None]:
    """Let errors about a file of the snapshot name it as the store does, not only its local copy."""
    try:
        yield
    except FileCorrupt as error:
        for part in snapshot.parts:
            if f"/{part.name}:" in str(error) and isinstance(part.blob, FileRef):
                raise FileCorrupt(f"{part.blob.path}: {error}") from error
        raise


@contextmanager
def fetched(snapshot: KeyedSnapshot, files: SavedFiles, folder: Path) -> Iterator[Database]:
    """The database of a snapshot, to be read; in a new folder below ``folder`` for that time."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        place = tempfile.TemporaryDirectory(prefix="restore-", dir=folder)
    except OSError as error:
        raise StorageError(f"{folder}: a snapshot cannot be put there: {error}") from error
    with place as made:
        target = Path(made) / "db"
        fetch_database(snapshot, files, target)
        with named_in_store(snapshot):
            database = Database(target, reading_options(), read_only=True)
            try:
                yield database
            finally:
                database.close()


def iterate(snapshot: KeyedSnapshot, files: SavedFiles, groups: range) -> Iterator[StateBlock]:
    """What the snapshot holds of ``groups``; a large map comes in several blocks."""
    wanted = range(
        max(groups.start, snapshot.first_group), min(groups.stop, snapshot.last_group + 1)
    )
    if not wanted:
        return
    facts = facts_of(snapshot)
    yield from hashmap.iterate(near_timers(snapshot), files, wanted)
    held = list(hashmap.raw_sections(held_entries(snapshot), files, wanted))
    yield from hashmap.gathered(held, wanted, snapshot.backend)
    if not rows_of(snapshot):
        return
    with fetched(snapshot, files, Path(tempfile.gettempdir())) as database:
        for number, meta in zip(facts.numbers, snapshot.states, strict=True):
            rows = RowFormat(schema_from(meta), number, facts.max_parallelism, snapshot.backend)
            newer = [section for section in held if section.meta.name == meta.name]
            hidden = hidden_rows(newer, wanted, snapshot.backend)
            yield from row_blocks(database, rows, wanted, hidden)
