"""How a backend begins from snapshots.

The largest snapshot of this backend is opened as it is: its files are fetched, or linked where they are
on this machine, and the key groups that belong to other subtasks are marked as deleted. With the same
key groups and one snapshot, that is all. The rows of other snapshots are copied, group by group, and
what another backend wrote is read entry by entry. Entries that had no rows, or other ones, get theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from riverrun.protocol.snapshots import KeyedSnapshot, StateMeta
from riverrun.state.backend import BackendSettings
from riverrun.state.hashmap.reader import raw_sections, replay
from riverrun.state.hashmap.snapshot_file import RawSection
from riverrun.state.interchange import StateBlock, iterate
from riverrun.state.rocksdb.catalog import (
    NAME,
    Catalog,
    catalog_of,
    facts_of,
)
from riverrun.state.rocksdb.reader import (
    fetch_database,
    fetched,
    held_entries,
    named_in_store,
    near_timers,
    rows_of,
)
from riverrun.state.rocksdb.row_writer import write_singles
from riverrun.state.rocksdb.rows import Place, RowFormat, group_prefix, renumbered, state_number
from riverrun.state.rocksdb.store import Store
from riverrun.state.same_groups import require_same_groups
from riverrun.state.schema import schema_from
from riverrun.state.serializers import EntrySerializer
from riverrun.storage.snapshot_files import SavedFiles

_TOGETHER: Final = 65536
"""Entries whose rows are written together: enough for a table of their own."""


class Restore:
    """Fills an empty store."""

    def __init__(self, settings: BackendSettings, store: Store, files: SavedFiles) -> None:
        self._settings = settings
        self._groups = range(settings.first_group, settings.last_group + 1)
        self._store = store
        self._files = files
        self.catalog = Catalog()
        self._last: RowFormat | None = None
        self.base: KeyedSnapshot | None = None
        """The snapshot whose files the database began with."""
        self.timers: dict[str, list[RawSection]] = {}
        """Of each name, timers that were in memory."""

    def run(self, snapshots: Sequence[KeyedSnapshot]) -> None:
        """Take over the key groups of the settings out of ``snapshots``."""
        for snapshot in snapshots:
            require_same_groups(snapshot, self._settings)
        self._begin([snapshot for snapshot in snapshots if snapshot.backend == NAME])
        for snapshot in snapshots:
            if snapshot.backend != NAME:
                for block in iterate(snapshot, self._files, self._groups):
                    self._take(block)
        self._store.commit()

    def _begin(self, own: Sequence[KeyedSnapshot]) -> None:
        """Take over snapshots of this backend."""
        for snapshot in own:
            facts_of(snapshot)  # refuses what a later release wrote
            self._keep_timers(snapshot)
        rows = [snapshot for snapshot in own if rows_of(snapshot) and self._wanted(snapshot)]
        self.base = max(rows, key=lambda snapshot: snapshot.full_bytes, default=None)
        if self.base is not None:
            self._open(self.base)
        for snapshot in own:
            if snapshot is self.base:
                continue
            for meta in snapshot.states:
                self.catalog.number_of(meta)
            if snapshot in rows:
                self._copy(snapshot)
        for snapshot in own:
            for section in raw_sections(held_entries(snapshot), self._files, self._groups):
                self._write(section)

    def _wanted(self, snapshot: KeyedSnapshot) -> range:
        first = max(snapshot.first_group, self._settings.first_group)
        return range(first, min(snapshot.last_group, self._settings.last_group) + 1)

    def _keep_timers(self, snapshot: KeyedSnapshot) -> None:
        for section in raw_sections(near_timers(snapshot), self._files, self._groups):
            self.timers.setdefault(section.meta.name, []).append(section)

    def _open(self, base: KeyedSnapshot) -> None:
        store, settings = self._store, self._settings
        fetch_database(base, self._files, store.folder)
        with named_in_store(base):
            store.open()
        store.next_piece = facts_of(base).next_piece
        self.catalog = catalog_of(base)
        if base.first_group < settings.first_group:
            store.delete_range(group_prefix(base.first_group), group_prefix(settings.first_group))
        if base.last_group > settings.last_group:
            store.delete_range(
                group_prefix(settings.last_group + 1), group_prefix(base.last_group + 1)
            )
        store.commit()

    def _copy(self, snapshot: KeyedSnapshot) -> None:
        facts = facts_of(snapshot)
        numbers = {
            number: self.catalog.number_of(meta)
            for number, meta in zip(facts.numbers, snapshot.states, strict=True)
        }
        # Pieces of a list are all of one snapshot, so that their order stays what it was.
        self._store.next_piece = max(self._store.next_piece, facts.next_piece)
        wanted = self._wanted(snapshot)
        with fetched(snapshot, self._files, self._settings.folder) as database:
            for row_key, row_value in database.scan_each(map(group_prefix, wanted)):
                number = numbers[state_number(row_key)]
                self._store.put(renumbered(row_key, number), row_value)

    def _write(self, section: RawSection) -> None:
        """Make rows of entries that count instead of those that were there."""
        rows = self._format(section.meta)
        serializer = EntrySerializer(rows.schema, self._settings.operator)
        addresses: list[Any] = []
        stored: list[Any] = []
        for _, found, values in replay(section, serializer, self._groups):
            if values is None:
                for place in rows.places(found):
                    self._store.delete(place.prefix)
                continue
            addresses += found
            stored += values
            if len(addresses) >= _TOGETHER:
                write_singles(rows, self._store, addresses, stored)
                addresses, stored = [], []
        write_singles(rows, self._store, addresses, stored)
        self._store.commit()

    def _take(self, block: StateBlock) -> None:
        rows = self._format(block.meta)
        addresses: Sequence[Any] = block.keys
        if block.namespaces is not None:
            addresses = list(zip(block.keys, block.namespaces, strict=True))
        if not rows.is_map and not rows.is_list:
            self._store.put_all(*rows.single_rows(block.group, addresses, block.values))
            return
        places = rows.places_in(block.group, addresses)
        for place, stored in zip(places, block.values, strict=True):
            _put(self._store, rows, place, stored)

    def _format(self, meta: StateMeta) -> RowFormat:
        """How rows of the state are written; that of the last block, mostly."""
        if self._last is None or self._last.schema.meta is not meta:
            number, settings = self.catalog.number_of(meta), self._settings
            self._last = RowFormat(
                schema_from(meta), number, settings.max_parallelism, settings.operator
            )
        return self._last


def _put(store: Store, rows: RowFormat, place: Place, stored: Any) -> None:
    """Write the rows of one map or list in the form of ``riverrun.state.interchange``."""
    if rows.is_map:
        for map_key, value in stored.items():
            store.put(*rows.map_value(place, map_key, value))
    else:
        row_key = rows.piece_row(place, store.new_piece())
        store.put(row_key, rows.list_value(place, stored))
