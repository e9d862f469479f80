"""State of an operator in its subtask: lists and broadcast maps, kept in memory.

A snapshot holds each element, or each pair of a broadcast map, as an item of its own, so that items
can be dealt out to other subtasks without decoding them. An item of a list is one value as
``ValueCodec`` encodes it; of a broadcast map it is the size of the key (uint32, little-endian), the key
and the value. Items are encoded at the moment of the snapshot: they are few, and may be changed later.
"""

from __future__ import annotations

import struct
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from riverrun.api.state import (
    BroadcastState,
    ListState,
    ListStateDescriptor,
    MapStateDescriptor,
    OperatorStateStore,
    ReadOnlyBroadcastState,
    State,
    StateDescriptor,
)
from riverrun.core.errors import ProgramError
from riverrun.protocol.snapshots import (
    OperatorStatePart,
    Redistribution,
    StateKind,
    StateMeta,
)
from riverrun.serde.check import TypeMismatch
from riverrun.serde.pickled_runs import UnpicklableValue
from riverrun.state.backend import StateRefused
from riverrun.state.elements import elements_for
from riverrun.state.migration import Migration, plan_migration
from riverrun.state.parquet.items import read_items
from riverrun.state.rocksdb.values import ValueCodec
from riverrun.state.schema import StateSchema, schema_from, schema_of
from riverrun.state.serializers import UnstorableValue
from riverrun.storage.snapshot_files import SavedFiles, SnapshotFiles

_SIZE: Final = struct.Struct("<I")


class ReadOnlyState(ProgramError):  # noqa: N818
    """Broadcast state was to be changed where only one subtask would see the change."""

    def __init__(self, state: str) -> None:
        super().__init__(state)
        self.state = state

    def __str__(self) -> str:
        return (
            f"broadcast state {self.state!r} cannot be changed here: only this subtask would do so; "
            f"change it in process_broadcast_element, which every subtask runs alike"
        )


class _Kept(State):
    """A state of the operator with the way in which its items are written."""

    def __init__(self, operator: str, schema: StateSchema, how: Redistribution) -> None:
        self.schema = schema
        self.how = how
        self._operator = operator
        self._value = ValueCodec(schema.value)

    @abstractmethod
    def items_now(self) -> list[bytes]:
        """The items of a snapshot."""

    def encoded(self) -> list[bytes]:
        """The items; UnstorableValue when one does not fit its type."""
        try:
            return self.items_now()
        except (TypeMismatch, UnpicklableValue) as error:
            raise UnstorableValue(self._operator, self.schema.meta.name, str(error)) from error


class OperatorListState(_Kept, ListState[Any]):
    """A list of the operator."""

    def __init__(self, operator: str, schema: StateSchema, how: Redistribution) -> None:
        super().__init__(operator, schema, how)
        self._elements: list[Any] = []

    def get(self) -> list[Any]:
        return self._elements.copy()

    def add(self, value: Any) -> None:
        self.add_all([value])

    def add_all(self, values: Iterable[Any]) -> None:
        self._elements += elements_for(self.schema.meta.name, values)

    def update(self, values: Iterable[Any]) -> None:
        self._elements = elements_for(self.schema.meta.name, values)

    def clear(self) -> None:
        self._elements = []

    def items_now(self) -> list[bytes]:
        return list(map(self._value.encode, self._elements))

    def take(self, items: Sequence[bytes], written: StateSchema, change: Migration | None) -> None:
        """Append restored items."""
        values = map(ValueCodec(written.value).decode, items)
        self._elements += values if change is None else map(change.value, values)


class _ReadableMap(ReadOnlyBroadcastState[Any, Any]):
    """The reading half of a broadcast state."""

    def __init__(self, entries: dict[Any, Any]) -> None:
        self._entries = entries

    def get(self, key: Any) -> Any:
        return self._entries.get(key)

    def contains(self, key: Any) -> bool:
        return key in self._entries

    def items(self) -> list[tuple[Any, Any]]:
        return list(self._entries.items())

    def keys(self) -> list[Any]:
        return list(self._entries)

    def values(self) -> list[Any]:
        return list(self._entries.values())

    def is_empty(self) -> bool:
        return not self._entries


class ReadOnlyMap(_ReadableMap):
    """A broadcast state as the other side sees it."""

    def __init__(self, name: str, entries: dict[Any, Any]) -> None:
        super().__init__(entries)
        self._name = name

    def clear(self) -> None:
        raise ReadOnlyState(self._name)


class OperatorBroadcastState(_Kept, _ReadableMap, BroadcastState[Any, Any]):
    """A broadcast map of the operator."""

    def __init__(self, operator: str, schema: StateSchema) -> None:
        _Kept.__init__(self, operator, schema, Redistribution.BROADCAST)
        _ReadableMap.__init__(self, {})
        self._key = ValueCodec(schema.map_key)

    def put(self, key: Any, value: Any) -> None:
        self._entries[key] = value

    def put_all(self, dict_value: Mapping[Any, Any]) -> None:
        self._entries.update(dict_value)

    def remove(self, key: Any) -> None:
        self._entries.pop(key, None)

    def clear(self) -> None:
        self._entries.clear()

    def read_only(self) -> ReadOnlyMap:
        """The same entries, not to be changed."""
        return ReadOnlyMap(self.schema.meta.name, self._entries)

    def items_now(self) -> list[bytes]:
        return _encoded_pairs(self._key, self._value, self._entries.items())

    def take(self, items: Sequence[bytes], written: StateSchema, change: Migration | None) -> None:
        """Put restored items."""
        for key, value in _decoded_pairs(written, items):
            if change is None:
                self._entries[key] = value
            else:
                self._entries[change.map_key(key)] = change.value(value)


@dataclass(frozen=True, slots=True)
class _Restored:
    """Items that nobody asked for yet."""

    meta: StateMeta
    how: Redistribution
    items: list[bytes]


class FrozenOperatorState:
    """The operator state at one moment, encoded."""

    def __init__(self, states: Sequence[_Restored]) -> None:
        self._states = states

    def items(self) -> Iterator[tuple[StateMeta, Redistribution, list[Any]]]:
        """Each state with its elements, or with pairs of key and value; only states that have some."""
        for state in self._states:
            if state.items:
                yield state.meta, state.how, decoded_items(state.meta, state.items)

    def write(self, files: SnapshotFiles) -> tuple[OperatorStatePart, ...]:
        """Keep the items; a state without items has no part."""
        parts = []
        for state in self._states:
            borders = []
            end = 0
            for item in state.items:
                borders.append((end, end + len(item)))
                end += len(item)
            blob = files.put(b"".join(state.items), shared=False)
            parts.append(OperatorStatePart(state.meta, state.how, blob, tuple(borders)))
        return tuple(parts)


class OperatorStateBackend(OperatorStateStore):
    """All operator state of one operator in one subtask; used from the task thread."""

    def __init__(self, operator: str) -> None:
        self._operator = operator
        self._states: dict[str, OperatorListState | OperatorBroadcastState] = {}
        self._unclaimed: dict[str, list[_Restored]] = {}

    def get_list_state(self, state_descriptor: ListStateDescriptor) -> OperatorListState:
        return self._list(state_descriptor, Redistribution.SPLIT)

    def get_union_list_state(self, state_descriptor: ListStateDescriptor) -> OperatorListState:
        return self._list(state_descriptor, Redistribution.UNION)

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> OperatorBroadcastState:
        schema = _schema_of(state_descriptor, StateKind.BROADCAST)
        found = self._known(schema, Redistribution.BROADCAST)
        if isinstance(found, OperatorBroadcastState):
            return found
        state = OperatorBroadcastState(self._operator, schema)
        self._claim(state)
        return state

    def restore(self, parts: Sequence[OperatorStatePart], files: SavedFiles) -> None:
        """Take over the items that ``parts`` name; called first, at most once."""
        for part in parts:
            if part.rows:
                items = _encoded(part.meta, read_items(part, files))
            else:
                data = files.read(part.blob) if part.items else b""
                items = [data[start:end] for start, end in part.items]
            restored = _Restored(part.meta, part.redistribution, items)
            self._unclaimed.setdefault(part.meta.name, []).append(restored)

    def freeze(self) -> FrozenOperatorState:
        """All states as they are now; also restored ones that nobody asked for."""
        states = [
            _Restored(state.schema.meta, state.how, items)
            for state in self._states.values()
            if (items := state.encoded())
        ]
        waiting = [one for found in self._unclaimed.values() for one in found if one.items]
        return FrozenOperatorState([*states, *waiting])

    def _list(self, descriptor: ListStateDescriptor, how: Redistribution) -> OperatorListState:
        schema = _schema_of(descriptor, StateKind.LIST)
        found = self._known(schema, how)
        if isinstance(found, OperatorListState):
            return found
        state = OperatorListState(self._operator, schema, how)
        self._claim(state)
        return state

    def _known(
        self, schema: StateSchema, how: Redistribution
    ) -> OperatorListState | OperatorBroadcastState | None:
        found = self._states.get(schema.meta.name)
        if found is not None and (found.schema.meta, found.how) != (schema.meta, how):
            raise StateRefused(
                f"operator {self._operator!r}: operator state {schema.meta.name!r} was asked for twice, as "
                f"{found.how.value} {found.schema.meta.kind.value} state and as {how.value} "
                f"{schema.meta.kind.value} state, or with two types; use one descriptor, or two names"
            )
        return found

    def _claim(self, state: OperatorListState | OperatorBroadcastState) -> None:
        """Decode what was restored for the state."""
        meta = state.schema.meta
        for restored in self._unclaimed.get(meta.name, ()):
            if restored.how is not state.how:
                raise StateRefused(
                    f"operator {self._operator!r}: operator state {meta.name!r} was written as "
                    f"{restored.how.value} state and is asked for as {state.how.value} state; ask for "
                    f"it as it was, or give the new state another name"
                )
            same = restored.meta == meta
            written = state.schema if same else schema_from(restored.meta)
            change = plan_migration(written, state.schema, self._operator, now=0)
            state.take(restored.items, written, change)
        self._unclaimed.pop(meta.name, None)
        self._states[meta.name] = state


def _encoded_pairs(
    key_codec: ValueCodec, value_codec: ValueCodec, pairs: Iterable[tuple[Any, Any]]
) -> list[bytes]:
    encode_key, encode_value = key_codec.encode, value_codec.encode
    return [
        _SIZE.pack(len(encoded)) + encoded + encode_value(value)
        for key, value in pairs
        for encoded in [encode_key(key)]
    ]


def _decoded_pairs(written: StateSchema, items: Iterable[bytes]) -> Iterator[tuple[Any, Any]]:
    decode_key, decode_value = ValueCodec(written.map_key).decode, ValueCodec(written.value).decode
    for item in items:
        end = _SIZE.size + _SIZE.unpack_from(item)[0]
        yield decode_key(item[_SIZE.size : end]), decode_value(item[end:])


def _encoded(meta: StateMeta, values: list[Any]) -> list[bytes]:
    """The items of elements, or of pairs of key and value."""
    schema = schema_from(meta)
    if meta.kind is StateKind.BROADCAST:
        return _encoded_pairs(ValueCodec(schema.map_key), ValueCodec(schema.value), values)
    return list(map(ValueCodec(schema.value).encode, values))


def decoded_items(meta: StateMeta, items: list[bytes]) -> list[Any]:
    """The elements, or pairs of key and value, of the items of a snapshot."""
    schema = schema_from(meta)
    if meta.kind is StateKind.BROADCAST:
        return list(_decoded_pairs(schema, items))
    return list(map(ValueCodec(schema.value).decode, items))


def _schema_of(descriptor: StateDescriptor, kind: StateKind) -> StateSchema:
    if descriptor.ttl_config is not None and descriptor.ttl_config.is_enabled():
        raise StateRefused(
            f"operator state {descriptor.name!r} has a time to live, which only keyed state has; "
            f"remove enable_time_to_live from its descriptor"
        )
    schema = schema_of(descriptor, None, namespaced=False)
    meta = StateMeta(descriptor.name, kind, schema.meta.types)
    return StateSchema(meta, None, schema.value, schema.map_key)
