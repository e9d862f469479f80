"""Answers what the REST interface is asked about savepoints and checkpoints.

Values are unpickled here, which runs code of the program: see ``snapshot_process``.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import Any, Final

from riverrun.checkpoint.layout import folder_of, metadata_of
from riverrun.core.errors import ProgramError
from riverrun.graph.key_groups import group_range, owner_of
from riverrun.jobmanager.snapshot_search import places_below
from riverrun.rest.bodies.states import (
    EntryList,
    EntryText,
    KeyFacts,
    KeyGroups,
    KeyList,
    KeyValues,
    OperatorStates,
    SnapshotFacts,
    SnapshotList,
    SnapshotStates,
    StateInfo,
    ValueText,
)
from riverrun.serde.key_hash import KeyHashError, key_group
from riverrun.state_processor.facts import OperatorFacts, StateFacts
from riverrun.state_processor.group_sizes import group_sizes
from riverrun.state_processor.key_text import key_candidates, written_key
from riverrun.state_processor.plain_values import text
from riverrun.state_processor.savepoint import Savepoint
from riverrun.state_processor.shown_values import shown_value
from riverrun.state_processor.sources import KeyedSource
from riverrun.state_processor.table import StateTable
from riverrun.storage.local import LocalStorage
from riverrun.storage.open import absolute_location, open_storage
from riverrun.storage.storage import FileMissing, StorageError

PATIENCE_S: Final = 20.0
"""How long an answer may be worked on before it is given as far as it is."""
_COUNTING_S: Final = 4.0
"""How long entries are counted for a list of states."""
_MOST_SNAPSHOTS: Final = 200
_MOST_ENTRIES: Final = 200


class SnapshotBrowser:
    """Satisfies ``Snapshots``; every call reads what is there now."""

    def __init__(self, config: Mapping[str, str], patience_s: float = PATIENCE_S) -> None:
        self._config = config
        self._patience_s = patience_s

    def below(self, path: str) -> SnapshotList:
        """What is below a folder."""
        found = places_below(path, self._config)
        snapshots, unreadable = [], []
        for place in found.places[:_MOST_SNAPSHOTS]:
            try:
                snapshots.append(_facts(self._read(place)))
            except (StorageError, ProgramError) as error:
                unreadable.append(str(error))
        snapshots.sort(key=lambda each: (each.timestamp, each.checkpoint), reverse=True)
        complete = found.complete and len(found.places) <= _MOST_SNAPSHOTS
        return SnapshotList(
            path=path, snapshots=snapshots, unreadable=unreadable, complete=complete
        )

    def states(self, path: str) -> SnapshotStates:
        """The operators of a snapshot with their states."""
        savepoint = self._read(path)
        clock = _Clock(min(_COUNTING_S, self._patience_s))
        operators = [_operator(savepoint, each, clock) for each in savepoint.operators]
        in_flight = savepoint.metadata.in_flight_bytes
        return SnapshotStates(
            snapshot=_facts(savepoint), operators=operators, in_flight_bytes=in_flight
        )

    def key_groups(self, path: str, operator: str, state: str) -> KeyGroups:
        """How a keyed state is spread."""
        savepoint = self._read(path)
        source = _keyed(savepoint.state(operator, state))
        found = savepoint.find(operator)
        sizes = group_sizes(source, _Clock(self._patience_s).is_left)
        parallelism, highest = found.parallelism, found.max_parallelism
        return KeyGroups(
            parallelism=parallelism,
            max_parallelism=highest,
            subtasks=[group_range(each, parallelism, highest) for each in range(parallelism)],
            entries=sizes.entries,
            bytes=sizes.bytes,
            complete=sizes.complete,
            estimated=sizes.shared_out,
        )

    def keys(
        self, path: str, operator: str, state: str, key_group: int | None, limit: int
    ) -> KeyList:
        """The first keys, of one key group or of all."""
        table, parallelism = self._keyed_table(path, operator, state, key_group)
        key_type = table.types.get("key")
        clock = _Clock(self._patience_s)
        keys: dict[str, KeyFacts] = {}
        for row in table.rows():
            written = written_key(key_type, row["key"])
            if written not in keys:
                if len(keys) == limit or not clock.is_left():
                    return KeyList(keys=list(keys.values()), complete=False)
                group = int(row["key_group"])
                subtask = owner_of(group, parallelism, table.max_parallelism)
                keys[written] = KeyFacts(key=written, key_group=group, subtask=subtask)
        return KeyList(keys=list(keys.values()), complete=True)

    def lookup(
        self, path: str, operator: str, state: str, key: str, key_group: int | None
    ) -> KeyValues:
        """What there is for a key, which is in a key group if one is given."""
        table, parallelism = self._keyed_table(path, operator, state, key_group)
        candidates = _possible(table, key, key_group)
        for candidate in candidates:
            values = _values(table.where_key(candidate), candidate, key, parallelism)
            if values.found:
                return values
        return self._by_text(table, key, parallelism, candidates)

    def entries(self, path: str, operator: str, state: str, limit: int) -> EntryList:
        """The first entries of operator state."""
        table = self._read(path).state(operator, state)
        if isinstance(table.source, KeyedSource):
            raise ProgramError(
                f"state {state!r} of operator {operator!r}: it is {table.kind} state, which belongs to "
                f"keys; ask for its keys, and look one up"
            )
        entries, complete = _entries(table.rows(), limit)
        return EntryList(entries=entries, complete=complete)

    def _by_text(
        self, table: StateTable, key: str, parallelism: int, candidates: list[Any]
    ) -> KeyValues:
        """Look for a key that no text means, such as an object, by the text that is shown for it."""
        key_type = table.types.get("key")
        clock = _Clock(self._patience_s)
        complete = True
        for row in table.rows():
            if written_key(key_type, row["key"]) == key:
                return _values(table.where_key(row["key"]), row["key"], key, parallelism)
            if not clock.is_left():
                complete = False
                break
        likeliest = candidates[0] if candidates else None
        group = key_group(likeliest, table.max_parallelism) if candidates else None
        return KeyValues(
            key=key,
            found=False,
            key_type=type(likeliest).__qualname__ if candidates else "",
            key_group=group,
            subtask=None if group is None else owner_of(group, parallelism, table.max_parallelism),
            entries=[],
            complete=complete,
        )

    def _keyed_table(
        self, path: str, operator: str, state: str, key_group: int | None
    ) -> tuple[StateTable, int]:
        """The rows of a keyed state, of one key group or of all, and the parallelism of its operator."""
        savepoint = self._read(path)
        table = savepoint.state(operator, state)
        _keyed(table)
        if key_group is not None:
            table = table.where_key_groups(key_group)
        return table, savepoint.find(operator).parallelism

    def _read(self, path: str) -> Savepoint:
        location = absolute_location(path)
        if not open_storage(location, self._config).exists(metadata_of(location)):
            raise FileMissing(
                f"location {path!r}: there is no checkpoint or savepoint; was it deleted, or is the path "
                f"another one?"
            )
        return Savepoint.read(location, self._config)


class _Clock:
    """Says when it is enough."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def is_left(self) -> bool:
        return time.monotonic() < self._end


def _facts(savepoint: Savepoint) -> SnapshotFacts:
    facts = savepoint.metadata
    return SnapshotFacts(
        path=folder_of(savepoint.checkpoint.location),
        job_id=facts.job_id,
        job_name=facts.job_name,
        checkpoint=facts.checkpoint,
        savepoint=facts.savepoint,
        timestamp=int(facts.taken.timestamp() * 1000),
        bytes=facts.bytes,
        riverrun_version=facts.riverrun_version,
    )


def _operator(savepoint: Savepoint, operator: OperatorFacts, clock: _Clock) -> OperatorStates:
    return OperatorStates(
        id=operator.operator_id,
        uid=operator.uid,
        name=operator.name,
        vertex=operator.vertex,
        parallelism=operator.parallelism,
        max_parallelism=operator.max_parallelism,
        bytes=operator.bytes,
        states=[_state(_counted(savepoint, operator, each, clock)) for each in operator.states],
    )


def _counted(
    savepoint: Savepoint, operator: OperatorFacts, state: StateFacts, clock: _Clock
) -> StateFacts:
    """With numbers that only its content tells, if that is at hand and read soon."""
    known = state.rows is not None and state.bytes is not None
    if known or not isinstance(savepoint.storage, LocalStorage) or not clock.is_left():
        return state
    source = savepoint.state(operator.operator_id, state.name).source
    if not isinstance(source, KeyedSource):
        return state
    sizes = group_sizes(source, clock.is_left)
    if not sizes.complete or sizes.shared_out:
        return state
    taken = sum(each or 0 for each in sizes.bytes)
    return replace(
        state,
        rows=sum(each or 0 for each in sizes.entries) if state.rows is None else state.rows,
        bytes=taken if state.bytes is None else state.bytes,
    )


def _state(state: StateFacts) -> StateInfo:
    def type_of(role: str) -> str | None:
        found = state.types.get(role)
        return None if found is None else repr(found)

    return StateInfo(
        name=state.name,
        kind=state.kind.value,
        keyed=state.kind.is_keyed,
        key_type=type_of("key"),
        map_key_type=type_of("map_key"),
        value_type=type_of("value"),
        namespaced=state.namespaced,
        ttl=state.ttl,
        entries=state.rows,
        bytes=state.bytes,
    )


def _keyed(table: StateTable) -> KeyedSource:
    if isinstance(table.source, KeyedSource):
        return table.source
    raise ProgramError(
        f"state {table.name!r} of operator {table.operator!r}: it is {table.kind} state, which has no keys; "
        f"ask for its entries"
    )


def _possible(table: StateTable, written: str, wanted: int | None) -> list[Any]:
    """What the text may mean and can be a key of the key group."""
    found = []
    for candidate in key_candidates(table.types.get("key"), written):
        try:
            group = key_group(candidate, table.max_parallelism)
        except KeyHashError:
            continue
        if wanted in (None, group):
            found.append(candidate)
    return found


def _values(table: StateTable, key: Any, written: str, parallelism: int) -> KeyValues:
    entries, complete = _entries(table.rows(), _MOST_ENTRIES)
    group = key_group(key, table.max_parallelism)
    return KeyValues(
        key=written,
        found=bool(entries),
        key_type=type(key).__qualname__,
        key_group=group,
        subtask=owner_of(group, parallelism, table.max_parallelism),
        entries=entries,
        complete=complete,
    )


def _entries(rows: Iterable[dict[str, Any]], limit: int) -> tuple[list[EntryText], bool]:
    found = list(islice(rows, limit + 1))
    return [_entry(row) for row in found[:limit]], len(found) <= limit


def _entry(row: dict[str, Any]) -> EntryText:
    stored = [name for name in ("value", "elements", "map_value") if name in row]
    return EntryText(
        value=_value_text(row[stored[0]]) if stored else None,
        namespace=None if row.get("namespace") is None else text(row["namespace"]),
        time=row.get("time"),
        map_key=text(row["map_key"]) if "map_key" in row else None,
        last_used=_last_used(row.get("last_used")),
        subtask=row.get("subtask"),
    )


def _value_text(value: Any) -> ValueText:
    shown = shown_value(value)
    return ValueText(type=shown.type, text=shown.text, json=shown.json, cut=shown.cut)


def _last_used(found: Any) -> int | None:
    if isinstance(found, list):
        found = max((each for each in found if each is not None), default=None)
    return int(found.timestamp() * 1000) if isinstance(found, datetime) else None
