"""Rows of a restored state become rows of the state that the program asks for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from riverrun.state.backend import BackendSettings, groups_of
from riverrun.state.hashmap.reader import replay
from riverrun.state.hashmap.snapshot_file import RawSection
from riverrun.state.migration import Migration, plan_migration
from riverrun.state.rocksdb.catalog import Catalog
from riverrun.state.rocksdb.rows import RowFormat, state_prefix
from riverrun.state.rocksdb.store import Store
from riverrun.state.schema import StateSchema, schema_from
from riverrun.state.serializers import EntrySerializer


@dataclass(frozen=True, slots=True)
class Claims:
    """Gives numbers to the states that are asked for."""

    settings: BackendSettings
    store: Store
    catalog: Catalog

    def claim(self, schema: StateSchema) -> tuple[RowFormat, bool]:
        """The rows of the state, all in the form of ``schema``, and whether there may be any.

        Rows that were written otherwise are rewritten now, once.

        Raises:
            StateRefused: they cannot be what is asked for.
        """
        found = self.catalog.named(schema.meta.name)
        if not found:
            return self._format(schema, self.catalog.number_of(schema.meta)), False
        settings = self.settings
        now = settings.clock.now()
        plans = {
            number: (
                schema_from(meta),
                plan_migration(schema_from(meta), schema, settings.operator, now),
            )
            for number, meta in found.items()
        }
        target = self._format(schema, next(iter(found)))
        for number, (written, migration) in plans.items():
            if migration is not None or number != target.number:
                self._rewrite(self._format(written, number), target, migration)
            if number != target.number:
                self.catalog.forget(number)
        self.catalog.assign(target.number, schema.meta)
        return target, not self.store.is_empty

    def near_timers(self, section: RawSection, schema: StateSchema) -> Iterator[list[Any]]:
        """Addresses of timers that were in memory, in the form of ``schema``."""
        settings = self.settings
        written = schema_from(section.meta)
        migration = plan_migration(written, schema, settings.operator, settings.clock.now())
        serializer = EntrySerializer(written, settings.operator)
        for _, addresses, _ in replay(section, serializer, groups_of(settings)):
            yield addresses if migration is None else list(map(migration.address, addresses))

    def _format(self, schema: StateSchema, number: int) -> RowFormat:
        return RowFormat(schema, number, self.settings.max_parallelism, self.settings.operator)

    def _rewrite(self, old: RowFormat, new: RowFormat, migration: Migration | None) -> None:
        store = self.store
        for group in range(self.settings.first_group, self.settings.last_group + 1):
            for row_key, row_value in store.scan(state_prefix(group, old.number)):
                new_key, new_value = _rewritten(row_key, row_value, old, new, migration)
                if new_key != row_key:
                    store.delete(row_key)
                store.put(new_key, new_value)
        store.commit()


def _rewritten(
    row_key: bytes, row_value: bytes, old: RowFormat, new: RowFormat, migration: Migration | None
) -> tuple[bytes, bytes]:
    row = old.row(row_key, row_value)
    address = row.address if migration is None else migration.address(row.address)
    place = new.place(address)
    if old.is_list:
        elements = old.elements_of(row.payload)
        if migration is not None:
            elements = [migration.value(element) for element in elements]
        return place.prefix + row.rest, new.list_value(place, elements)
    stored, map_key = old.stored_of(row.payload), row.map_key
    if migration is not None:
        stored, map_key = migration.value(stored), migration.map_key(map_key)
    if old.is_map:
        return new.map_value(place, map_key, stored)
    return place.prefix, new.value(place, stored)
