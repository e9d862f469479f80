"""One state in the database that the rocksdb backend left, and in the files of timers and of entries beside it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from riverrun.protocol.snapshots import KeyedSnapshot, StateKind
from riverrun.state.hashmap.snapshot_file import RawSection
from riverrun.state.interchange import StateBlock
from riverrun.state.rocksdb import reader
from riverrun.state.rocksdb.catalog import facts_of
from riverrun.state.rocksdb.database import Database
from riverrun.state.rocksdb.entries import row_blocks
from riverrun.state.rocksdb.rows import RowFormat
from riverrun.state.schema import schema_from
from riverrun.state_processor.hashmap_scan import HashmapScan, opened_sections
from riverrun.storage.snapshot_files import SavedFiles


class RocksDBScan:
    """The rows of one state, and those of its timers and entries that were in memory."""

    def __init__(
        self,
        snapshot: KeyedSnapshot,
        near: HashmapScan,
        database: Database | None,
        formats: Sequence[RowFormat],
        newer: Sequence[RawSection],
    ) -> None:
        self._snapshot = snapshot
        self._near = near
        self._database = database
        self._formats = formats
        self._newer = newer

    def blocks(self, groups: range) -> Iterator[StateBlock]:
        """The entries of ``groups``; a large map comes in several blocks."""
        yield from self._near.blocks(groups)
        if self._database is not None:
            hidden = reader.hidden_rows(self._newer, groups, self._snapshot.backend)
            with reader.named_in_store(self._snapshot):
                for rows in self._formats:
                    yield from row_blocks(self._database, rows, groups, hidden)


@contextmanager
def opened_rocksdb(
    snapshot: KeyedSnapshot, files: SavedFiles, state: str, operator: str
) -> Iterator[RocksDBScan]:
    """The state as the snapshot has it; the database is on this machine for that time."""
    groups = range(snapshot.first_group, snapshot.last_group + 1)
    facts = facts_of(snapshot)
    timers, held = reader.near_timers(snapshot).parts, reader.held_entries(snapshot).parts
    with ExitStack() as stack:
        found = stack.enter_context(opened_sections((*timers, *held), files, groups))
        sections = [section for section in found if section.meta.name == state]
        near = HashmapScan(sections, operator)
        database = None
        formats: list[RowFormat] = []
        if reader.rows_of(snapshot):
            formats = [
                RowFormat(schema_from(meta), number, facts.max_parallelism, snapshot.backend)
                for number, meta in zip(facts.numbers, snapshot.states, strict=True)
                if meta.name == state
            ]
            folder = Path(tempfile.gettempdir())
            database = stack.enter_context(reader.fetched(snapshot, files, folder))
        newer = [each for each in sections if each.meta.kind is not StateKind.TIMERS]
        yield RocksDBScan(snapshot, near, database, formats, newer)
