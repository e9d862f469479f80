"""Keyed state in dicts.

A state's values live in one flat dict; key groups are worked out when entries are written, not when
they are used. State restored from this backend's own files is decoded when its descriptor is known, straight
into the declared types; what nobody asks for is kept as bytes and goes into the next snapshot as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from riverrun.api.state import State, StateDescriptor, ValueState
from riverrun.protocol.snapshots import KeyedSnapshot, StateMeta
from riverrun.state.backend import (
    NO_KEY,
    BackendSettings,
    KeyedStateBackend,
    StateRefused,
)
from riverrun.state.hashmap.counting import Counting
from riverrun.state.hashmap.frozen import NAME, FrozenHashMap
from riverrun.state.hashmap.history import LARGEST_SHARE, History
from riverrun.state.hashmap.reader import (
    DecodedSection,
    decoded_sections,
    entries_in,
    raw_sections,
    replay,
)
from riverrun.state.hashmap.snapshot_file import RawSection
from riverrun.state.hashmap.states import HashMapValueState, table_for
from riverrun.state.hashmap.table import FrozenTable, Place, Table
from riverrun.state.hashmap.timers import FrozenTimers, HashMapTimerQueue
from riverrun.state.interchange import iterate
from riverrun.state.migration import plan_migration
from riverrun.state.same_groups import require_same_groups
from riverrun.state.schema import StateSchema, schema_from, schema_of
from riverrun.state.serializers import EntrySerializer
from riverrun.state.timers import timers_schema
from riverrun.state.ttl import with_ttl
from riverrun.state.ttl_rules import Sweeper, TtlRules
from riverrun.storage.snapshot_files import SavedFiles

_MANY_CHANGES: Final = 1024
"""Fewer cost nothing to keep."""


class HashMapBackend(KeyedStateBackend):
    """Keyed state in dicts."""

    def __init__(self, settings: BackendSettings) -> None:
        self.key: Any = NO_KEY
        self.namespace: Any = None
        self._settings = settings
        self._groups = range(settings.first_group, settings.last_group + 1)
        self._tables: dict[str, Table] = {}
        self._states: dict[str, State] = {}
        self._timers: dict[str, HashMapTimerQueue] = {}
        self._ttl: dict[str, TtlRules] = {}
        self._sweepers: list[Sweeper] = []
        """Of states whose expired entries every record helps to find."""
        self._unclaimed: dict[str, list[RawSection | DecodedSection]] = {}
        self._history = History()
        self._most_changed = False
        """Whether changes since the last snapshot are not counted any more."""
        self._counting = Counting()
        self._records = 0
        """Since the last snapshot."""
        self._savepoints: set[int] = set()
        """Savepoints whose outcome is not known; they say nothing about checkpoints."""

    def state(self, descriptor: StateDescriptor, *, namespaced: bool = False) -> State:
        settings = self._settings
        schema = schema_of(descriptor, settings.key_type, namespaced=namespaced)
        known = self._tables.get(descriptor.name)
        if known is not None:
            self._require_same(known.schema, schema)
            return self._states[descriptor.name]
        place = Place(self, settings.operator, schema, tracked=settings.incremental)
        table = table_for(descriptor, place)
        self._claim(table)
        self._tables[descriptor.name] = table
        state: State = table  # type: ignore[assignment]  # every table that table_for makes is a state
        if schema.meta.ttl:
            rules = self._ttl[descriptor.name] = TtlRules(descriptor, settings.clock)
            sweeper = self._sweeper(table, rules)
            state = with_ttl(descriptor, state, rules, sweeper.step if sweeper else None)
        self._states[descriptor.name] = state
        return state

    def timer_queues(self) -> Mapping[str, HashMapTimerQueue]:
        return self._timers

    def timers(self, name: str) -> HashMapTimerQueue:
        queue = self._timers.get(name)
        if queue is None:
            settings = self._settings
            schema = timers_schema(name, settings.key_type)
            queue = HashMapTimerQueue(schema, tracked=settings.incremental)
            for addresses, values in self._restored(schema):
                queue.load(addresses, removed=values is None)
            self._timers[name] = queue
        return queue

    def fold(
        self,
        state: ValueState[Any],
        keys: Sequence[Any],
        values: Sequence[Any],
        fn: Callable[[Any, Any], Any],
    ) -> list[Any]:
        if isinstance(state, HashMapValueState):
            return state.fold(keys, values, fn)
        return super().fold(state, keys, values, fn)

    def keys(self, name: str) -> Iterator[Any]:
        table = self._tables.get(name)
        if table is not None:
            rules = self._ttl.get(name)
            prune = None if rules is None or rules.show_expired else rules.pruner()
            for address, stored in table.stored():
                if prune is None or prune(stored) is not None:
                    yield address
            return
        found: dict[Any, None] = {}
        for section in self._unclaimed.get(name, ()):
            if isinstance(section, DecodedSection):
                for _, addresses, _ in section.entries():
                    found.update(dict.fromkeys(addresses))
                continue
            serializer = EntrySerializer(schema_from(section.meta), self._settings.operator)
            for _, addresses, values in replay(section, serializer, self._groups):
                for address in addresses:
                    if values is None:
                        found.pop(address, None)
                    else:
                        found[address] = None
        yield from found

    def restore(
        self, snapshots: Sequence[KeyedSnapshot], files: SavedFiles, *, owned: bool
    ) -> None:
        for snapshot in snapshots:
            require_same_groups(snapshot, self._settings)
            sections: Iterable[RawSection | DecodedSection]
            if snapshot.backend == NAME:
                sections = raw_sections(snapshot, files, self._groups)
            else:
                sections = decoded_sections(iterate(snapshot, files, self._groups))
            for section in sections:
                self._unclaimed.setdefault(section.meta.name, []).append(section)
        if owned and len(snapshots) == 1 and self._may_build_on(snapshots[0]):
            self._history.relied_on = snapshots[0].parts

    def freeze(self, checkpoint: int, *, savepoint: bool = False) -> FrozenHashMap:
        tables: dict[str, Table | HashMapTimerQueue] = {**self._tables, **self._timers}
        changes = None
        if savepoint:
            self._savepoints.add(checkpoint)
        elif self._settings.incremental:
            taken = {name: table.take_changed() for name, table in tables.items()}
            known = None if self._most_changed else taken
            entries = self.entry_count()
            changes = self._history.freeze(checkpoint, known, entries)
            counts = self._counting.begins(
                most_changed=self._most_changed, records=self._records, entries=entries
            )
            self._most_changed, self._records = False, 0
            if not counts and not self._unclaimed:
                self._count_no_more()
        before = None
        frozen: list[FrozenTable | FrozenTimers] = []
        if changes is None:
            frozen = [table.freeze_all() for table in tables.values()]
            self._prune(frozen)
        else:
            before = self._history.relied_on
            frozen = [tables[name].freeze_some(found) for name, found in changes.items() if found]
        return FrozenHashMap(
            settings=self._settings,
            tables=frozen,
            unclaimed=self._encoded_unclaimed() if before is None else (),
            states=self._metas(),
            before=before,
            wrote=lambda parts: None if savepoint else self._history.wrote(checkpoint, parts),
        )

    def records_passed(self, count: int) -> None:
        for sweeper in self._sweepers:
            sweeper.step(count)
        self._records += count
        if self._settings.incremental and not self._most_changed:
            self._stop_counting_changes()

    def _stop_counting_changes(self) -> None:
        """When so much has changed that the next snapshot holds everything, it no longer matters what."""
        changed = sum(len(table.changed or ()) for table in self._tables.values())
        if changed < _MANY_CHANGES or self._unclaimed:
            return
        if changed > self.entry_count() * LARGEST_SHARE:
            self._count_no_more()

    def _count_no_more(self) -> None:
        self._most_changed = True
        for table in self._tables.values():
            table.changed = None

    def checkpoint_completed(self, checkpoint: int) -> None:
        if checkpoint in self._savepoints:
            self._savepoints.remove(checkpoint)
        else:
            self._history.completed(checkpoint)

    def checkpoint_aborted(self, checkpoint: int) -> None:
        if checkpoint in self._savepoints:
            self._savepoints.remove(checkpoint)
        else:
            self._history.aborted(checkpoint)

    def entry_count(self) -> int:
        found = [one for sections in self._unclaimed.values() for one in sections]
        raw = [one for one in found if isinstance(one, RawSection)]
        waiting = entries_in([raw], self._groups)
        waiting += sum(one.count() for one in found if isinstance(one, DecodedSection))
        held = sum(table.entry_count() for table in self._tables.values())
        return waiting + held + sum(map(len, self._timers.values()))

    def close(self) -> None:
        for table in self._tables.values():
            table.forget()
        for queue in self._timers.values():
            queue.clear()
        self._unclaimed.clear()

    def _claim(self, table: Table) -> None:
        """Decode what was restored for the table's state."""
        for addresses, values in self._restored(table.schema):
            if values is None:
                table.unload(addresses)
            else:
                table.load(addresses, values)

    def _restored(self, schema: StateSchema) -> Iterator[tuple[list[Any], list[Any] | None]]:
        """What was restored for a state, in the form asked for now; taken once, None when removed."""
        settings = self._settings
        for section in self._unclaimed.get(schema.meta.name, ()):
            same = section.meta == schema.meta
            written = schema if same else schema_from(section.meta)
            migration = plan_migration(written, schema, settings.operator, settings.clock.now())
            for _, addresses, values in self._entries(section, written):
                if migration is not None:
                    addresses = list(map(migration.address, addresses))  # noqa: PLW2901
                    values = values and list(map(migration.stored, values))  # noqa: PLW2901
                yield addresses, values
            if migration is not None:
                self._history.renew()
        self._unclaimed.pop(schema.meta.name, None)

    def _entries(
        self, section: RawSection | DecodedSection, written: StateSchema
    ) -> Iterator[tuple[int, list[Any], list[Any] | None]]:
        if isinstance(section, DecodedSection):
            return section.take()
        return replay(section, EntrySerializer(written, self._settings.operator), self._groups)

    def _encoded_unclaimed(self) -> list[RawSection]:
        """What nobody asked for, as bytes: a snapshot must not share values that may be asked for."""
        operator = self._settings.operator
        for sections in self._unclaimed.values():
            sections[:] = [
                one.encoded(operator) if isinstance(one, DecodedSection) else one
                for one in sections
            ]
        return [
            one
            for sections in self._unclaimed.values()
            for one in sections
            if isinstance(one, RawSection)
        ]

    def _sweeper(self, table: Table, rules: TtlRules) -> Sweeper | None:
        if rules.cleanup is None:
            return None
        sweeper = Sweeper(table, rules, rules.cleanup.get_cleanup_size())
        if rules.cleanup.run_cleanup_for_every_record():
            self._sweepers.append(sweeper)
        return sweeper

    def _may_build_on(self, snapshot: KeyedSnapshot) -> bool:
        settings = self._settings
        return (
            settings.incremental
            and snapshot.backend == NAME
            and (snapshot.first_group, snapshot.last_group)
            == (settings.first_group, settings.last_group)
            and all(part.shared for part in snapshot.parts)
        )

    def _prune(self, tables: Sequence[FrozenTable | FrozenTimers]) -> None:
        for frozen in tables:
            rules = self._ttl.get(frozen.schema.meta.name)
            if isinstance(frozen, FrozenTable) and rules is not None and rules.in_full_snapshot:
                frozen.prune = rules.pruner()

    def _metas(self) -> tuple[StateMeta, ...]:
        claimed = [table.schema.meta for table in self._tables.values()]
        claimed += [queue.schema.meta for queue in self._timers.values()]
        waiting = [sections[-1].meta for sections in self._unclaimed.values()]
        return (*claimed, *waiting)

    def _require_same(self, known: StateSchema, asked: StateSchema) -> None:
        if known.meta != asked.meta:
            raise StateRefused(
                f"operator {self._settings.operator!r}: state {known.meta.name!r} was asked for twice, as "
                f"{_described(known)} and as {_described(asked)}; use one descriptor, or two names"
            )


def _described(schema: StateSchema) -> str:
    meta = schema.meta
    words = [f"{meta.kind.value} state"]
    if schema.map_key is not None:
        words.append(f"of keys {schema.map_key!r}")
    if schema.value is not None:
        words.append(f"of {schema.value!r}")
    if meta.namespaced:
        words.append("with namespaces")
    if meta.ttl:
        words.append("with TTL")
    return " ".join(words)
