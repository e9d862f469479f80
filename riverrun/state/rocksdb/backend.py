"""Keyed state in RocksDB, with a cache of decoded values in front of it.

Everything that was not written yet is in the caches; a checkpoint writes it, flushes the database and
links its files. What changes from one checkpoint to the next is not written but taken as it is
(`riverrun.state.rocksdb.held`). All of it but the background part of a snapshot runs in the task's thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, Final

from riverrun.api.state import (
    AggregatingStateDescriptor,
    ReducingStateDescriptor,
    State,
    StateDescriptor,
    ValueState,
)
from riverrun.core import options
from riverrun.protocol.snapshots import KeyedSnapshot, StateKind
from riverrun.state.backend import NO_KEY, BackendSettings, KeyedStateBackend, StateRefused
from riverrun.state.hashmap.reader import entries_in
from riverrun.state.hashmap.snapshot_file import RawSection
from riverrun.state.rocksdb.cache import CacheBudget, CachedTable, Surroundings
from riverrun.state.rocksdb.catalog import WITH_ENTRIES, Catalog, SnapshotFacts
from riverrun.state.rocksdb.claim import Claims
from riverrun.state.rocksdb.frozen import FrozenRocksDB
from riverrun.state.rocksdb.list_state import RocksDBListState
from riverrun.state.rocksdb.map_state import RocksDBMapState
from riverrun.state.rocksdb.namespaced import NamespacedValueState
from riverrun.state.rocksdb.read_ahead import ReadAhead
from riverrun.state.rocksdb.restore import Restore
from riverrun.state.rocksdb.rows import LAYOUT_VERSION, RowFormat
from riverrun.state.rocksdb.scan import visible_addresses
from riverrun.state.rocksdb.store import Store, remove_folder
from riverrun.state.rocksdb.sweep import RowSweeper
from riverrun.state.rocksdb.timers import RocksDBTimerQueue
from riverrun.state.rocksdb.uploads import Uploads
from riverrun.state.rocksdb.value_states import (
    RocksDBAggregatingState,
    RocksDBReducingState,
    RocksDBValueState,
    SingleTable,
)
from riverrun.state.schema import MAPS, StateSchema, schema_from, schema_of
from riverrun.state.timers import timers_schema
from riverrun.state.ttl import with_ttl
from riverrun.state.ttl_rules import TtlRules
from riverrun.storage.snapshot_files import SavedFiles

_TIMERS_SHARE: Final = 32
"""The part of the memory that timers of one clock may take: one of so many."""


class RocksDBBackend(KeyedStateBackend):
    """Keyed state in RocksDB."""

    reads_ahead = True

    def __init__(self, settings: BackendSettings) -> None:
        self.key: Any = NO_KEY
        self.namespace: Any = None
        self._settings = settings
        self._groups = range(settings.first_group, settings.last_group + 1)
        self._store = Store(settings)
        self._catalog = Catalog()
        self._surroundings = Surroundings(
            self, settings.operator, self._store, CacheBudget(self._store.plan.values)
        )
        self._tables: dict[str, CachedTable] = {}
        self._states: dict[str, State] = {}
        self._ahead: list[ReadAhead] = []
        self._ttl: dict[str, TtlRules] = {}
        self._timers: dict[str, RocksDBTimerQueue] = {}
        self._near_timers: dict[str, list[RawSection]] = {}
        """Restored timers that were in memory and that nobody asked for yet."""
        self._uploads = Uploads()
        self._savepoints: set[int] = set()
        """Savepoints whose outcome is not known; they say nothing about checkpoints."""
        self._links = count(1)

    def state(self, descriptor: StateDescriptor, *, namespaced: bool = False) -> State:
        settings = self._settings
        schema = schema_of(descriptor, settings.key_type, namespaced=namespaced)
        known = self._tables.get(descriptor.name)
        if known is not None:
            self._require_same(known.format.schema, schema)
            return self._states[descriptor.name]
        rows, stored = Claims(settings, self._store, self._catalog).claim(schema)
        table = self._table(descriptor, rows, stored=stored)
        self._tables[descriptor.name] = table
        if isinstance(table, SingleTable) and not schema.meta.namespaced:
            self._ahead.append(ReadAhead(table))
        state: State = table  # type: ignore[assignment]  # every table that is made here is a state
        if schema.meta.ttl:
            rules = self._ttl[descriptor.name] = TtlRules(descriptor, settings.clock)
            state = with_ttl(descriptor, state, rules, self._sweep(descriptor, table, rules))
        self._states[descriptor.name] = state
        return state

    def expect(self, keys: Sequence[Any]) -> None:
        try:
            for ahead in self._ahead:
                ahead.expect(keys)
        except TypeError:
            return  # a key without a hash, which its own record will be blamed for

    def fold(
        self,
        state: ValueState[Any],
        keys: Sequence[Any],
        values: Sequence[Any],
        fn: Callable[[Any, Any], Any],
    ) -> list[Any]:
        self.expect(keys)
        return super().fold(state, keys, values, fn)

    def timer_queues(self) -> Mapping[str, RocksDBTimerQueue]:
        return self._timers

    def timers(self, name: str) -> RocksDBTimerQueue:
        queue = self._timers.get(name)
        if queue is None:
            settings = self._settings
            schema = timers_schema(name, settings.key_type)
            claims = Claims(settings, self._store, self._catalog)
            rows, stored = claims.claim(schema)
            on_disk = options.ROCKSDB_TIMERS.get(settings.options) == "rocksdb"
            room = settings.memory_bytes // _TIMERS_SHARE if on_disk else None
            queue = RocksDBTimerQueue(rows, self._store, self._groups, room, stored=stored)
            for section in self._near_timers.pop(name, ()):
                for addresses in claims.near_timers(section, schema):
                    queue.load(addresses)
            self._timers[name] = queue
        return queue

    def keys(self, name: str) -> Iterator[Any]:
        table = self._tables.get(name)
        if table is not None:
            table.flush()
            formats = [table.format]
        else:
            formats = [
                RowFormat(
                    schema_from(meta),
                    number,
                    self._settings.max_parallelism,
                    self._settings.operator,
                )
                for number, meta in self._catalog.named(name).items()
            ]
        return visible_addresses(self._store, formats, self._groups, self._ttl.get(name))

    def restore(
        self, snapshots: Sequence[KeyedSnapshot], files: SavedFiles, *, owned: bool
    ) -> None:
        restore = Restore(self._settings, self._store, files)
        restore.run(snapshots)
        self._catalog = restore.catalog
        self._near_timers = restore.timers
        if owned and restore.base is not None:
            self._uploads.restored(restore.base.parts)

    def freeze(self, checkpoint: int, *, savepoint: bool = False) -> FrozenRocksDB:
        unwritten, held = [], []
        for table in self._tables.values():
            if not savepoint:
                if (taken := table.hold()) is not None:
                    held.append(taken)
            elif (found := table.freeze()) is not None:
                unwritten.append(found)
        near = [queue.freeze() for queue in self._timers.values()]
        folder = None
        if not self._store.is_empty:
            folder = self._settings.folder / "snapshots" / f"{checkpoint}-{next(self._links)}"
            self._store.link(folder)
        if savepoint:
            self._savepoints.add(checkpoint)
        else:
            self._uploads.begin(checkpoint)
        facts = SnapshotFacts(
            layout=WITH_ENTRIES if held else LAYOUT_VERSION,
            max_parallelism=self._settings.max_parallelism,
            numbers=self._catalog.numbers(),
            next_piece=self._store.next_piece,
        )
        return FrozenRocksDB(
            settings=self._settings,
            checkpoint=checkpoint,
            folder=folder,
            states=self._catalog.metas(),
            facts=facts,
            uploads=self._uploads,
            unwritten=unwritten,
            held=held,
            timers=near,
            unclaimed=[one for sections in self._near_timers.values() for one in sections],
        )

    def checkpoint_completed(self, checkpoint: int) -> None:
        if checkpoint in self._savepoints:
            self._savepoints.remove(checkpoint)
        else:
            self._uploads.completed(checkpoint)

    def checkpoint_aborted(self, checkpoint: int) -> None:
        if checkpoint in self._savepoints:
            self._savepoints.remove(checkpoint)
        else:
            self._uploads.aborted(checkpoint)

    def entry_count(self) -> int:
        dirty = sum(table.unwritten_count() for table in self._tables.values())
        near = sum(queue.in_memory for queue in self._timers.values())
        waiting = entries_in(self._near_timers.values(), self._groups)
        return self._store.row_count() + dirty + near + waiting

    def close(self) -> None:
        for table in self._tables.values():
            table.cache.clear()
            table.dirty.clear()
        for queue in self._timers.values():
            queue.clear()
        self._store.close()
        remove_folder(self._settings.folder)

    def _table(self, descriptor: StateDescriptor, rows: RowFormat, *, stored: bool) -> CachedTable:
        """The table of the state that ``descriptor`` asks for.

        With TTL a state stores pairs, and what wraps it does the reducing and aggregating: then these
        kinds have the table of a value.
        """
        around, meta = self._surroundings, rows.schema.meta
        if meta.kind is StateKind.LIST:
            return RocksDBListState(around, rows, stored=stored)
        if meta.kind in MAPS:
            return RocksDBMapState(around, rows, stored=stored)
        if not meta.ttl:
            match descriptor:
                case ReducingStateDescriptor():
                    return RocksDBReducingState(around, rows, descriptor.reduce, stored=stored)
                case AggregatingStateDescriptor():
                    function = descriptor.get_agg_function()
                    return RocksDBAggregatingState(around, rows, function, stored=stored)
        if meta.namespaced:
            return NamespacedValueState(around, rows, stored=stored)
        return RocksDBValueState(around, rows, stored=stored)

    def _sweep(
        self, descriptor: StateDescriptor, table: CachedTable, rules: TtlRules
    ) -> Callable[[], None] | None:
        config = descriptor.ttl_config
        if config is None:
            return None
        strategy = config.get_cleanup_strategies().get_rocksdb_compact_filter_cleanup_strategy()
        if strategy is None:
            return None
        every = strategy.get_query_time_after_num_entries()
        return RowSweeper(self._store, table, self._groups, rules, every).touched

    def _require_same(self, known: StateSchema, asked: StateSchema) -> None:
        if known.meta != asked.meta:
            raise StateRefused(
                f"operator {self._settings.operator!r}: state {known.meta.name!r} was asked for twice, as "
                f"{_described(known)} and as {_described(asked)}; use one descriptor, or two names"
            )


def _described(schema: StateSchema) -> str:
    meta = schema.meta
    types = [f"{role} {text}" for role, text in meta.types.items()]
    names = "with namespaces" if meta.namespaced else "without namespaces"
    ttl = "with TTL" if meta.ttl else "without TTL"
    return f"{meta.kind.value} state {names} and {ttl} of {', '.join(types) or 'pickled values'}"
