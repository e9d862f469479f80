"""The five kinds of state over a table.

These methods are called for every record, so they do as little as they can: ``ValueState.value`` is one
look into a dict. Lists, keys and items are given out as copies: who goes through them may change
the state meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from riverrun import loops
from riverrun.api.state import (
    AggregatingState,
    AggregatingStateDescriptor,
    Aggregator,
    ListState,
    MapState,
    ReducingState,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueState,
)
from riverrun.loops import Entries, pure
from riverrun.protocol.snapshots import StateKind
from riverrun.state.elements import elements_for, none_refused
from riverrun.state.hashmap.nested import NamespacedValueState
from riverrun.state.hashmap.table import Place, Table
from riverrun.state.held_maps import HeldMaps
from riverrun.state.schema import MAPS


class HashMapValueState(Table, ValueState[Any]):
    """A value by key."""

    __slots__ = ()

    value = Entries.entry
    update = Entries.put_entry

    def clear(self) -> None:
        self.drop(self._address())

    def fold(
        self, keys: Sequence[Any], values: Sequence[Any], fn: Callable[[Any, Any], Any]
    ) -> list[Any]:
        """A run of ``KeyedStateBackend.fold``, with nothing but the dict per record."""
        if self._plain:
            out = loops.fold(self.data, keys, values, fn)
        else:  # what a snapshot holds is copied before the function can change it
            out = pure.fold(self.data, keys, values, fn, self._get)
        if self.changed is not None:
            self.changed.update(keys)
        return out


class HashMapListState(Table, ListState[Any]):
    """A list by address."""

    __slots__ = ()

    def get(self) -> list[Any]:
        found = self._get(self._address())
        return [] if found is None else list(found)

    def add(self, value: Any) -> None:
        if value is None:
            raise none_refused(self.schema.meta.name)
        address = self._address()
        found = self._get(address)
        if found is None:
            self.data[address] = [value]
        else:
            found.append(value)
        if self.changed is not None:
            self.changed.add(address)

    def add_all(self, values: Iterable[Any]) -> None:
        new = elements_for(self.schema.meta.name, values)
        if new:
            address = self._address()
            found = self._get(address)
            if found is None:
                self.data[address] = new
            else:
                found += new
            if self.changed is not None:
                self.changed.add(address)

    def update(self, values: Iterable[Any]) -> None:
        new = elements_for(self.schema.meta.name, values)
        if new:
            self.replace(self._address(), new)
        else:
            self.drop(self._address())

    def clear(self) -> None:
        self.drop(self._address())


class HashMapMapState(Table, HeldMaps, MapState[Any, Any]):
    """A dict by address; never an empty one."""

    __slots__ = ()

    def maps(self) -> tuple[Callable[[Any], dict[Any, Any] | None], dict[Any, dict[Any, Any]]]:
        return self._get, self.data

    def note(self, keys: Iterable[Any]) -> None:
        if self.changed is not None:
            self.changed.update(keys)

    def get(self, key: Any) -> Any:
        found = self._get(self._address())
        return None if found is None else found.get(key)

    def put(self, key: Any, value: Any) -> None:
        address = self._address()
        found = self._get(address)
        if found is None:
            self.data[address] = {key: value}
        else:
            found[key] = value
        if self.changed is not None:
            self.changed.add(address)

    def put_all(self, dict_value: Mapping[Any, Any]) -> None:
        if dict_value:
            address = self._address()
            self.replace(address, {**(self._get(address) or {}), **dict_value})

    def remove(self, key: Any) -> None:
        address = self._address()
        found = self._get(address)
        if found is None or key not in found:
            return
        del found[key]
        if not found:
            del self.data[address]
        if self.changed is not None:
            self.changed.add(address)

    def contains(self, key: Any) -> bool:
        found = self._get(self._address())
        return found is not None and key in found

    def items(self) -> list[tuple[Any, Any]]:
        found = self._get(self._address())
        return [] if found is None else list(found.items())

    def keys(self) -> list[Any]:
        return list(self._get(self._address()) or ())

    def values(self) -> list[Any]:
        found = self._get(self._address())
        return [] if found is None else list(found.values())

    def is_empty(self) -> bool:
        return self._address() not in self.data

    def clear(self) -> None:
        self.drop(self._address())


class HashMapReducingState(Table, ReducingState[Any]):
    """The reduced value by address."""

    __slots__ = ("_reduce",)

    def __init__(self, place: Place, reduce: Callable[[Any, Any], Any]) -> None:
        super().__init__(place)
        self._reduce = reduce

    def get(self) -> Any:
        return self._get(self._address())

    def add(self, value: Any) -> None:
        address = self._address()
        found = self._get(address)
        reduced = value if found is None else self._reduce(found, value)
        if reduced is None:
            self.drop(address)
        else:
            self.replace(address, reduced)

    def clear(self) -> None:
        self.drop(self._address())


class HashMapAggregatingState(Table, AggregatingState[Any, Any]):
    """The accumulator by address."""

    __slots__ = ("_function",)

    def __init__(self, place: Place, function: Aggregator) -> None:
        super().__init__(place)
        self._function = function

    def get(self) -> Any:
        found = self._get(self._address())
        return None if found is None else self._function.get_result(found)

    def add(self, value: Any) -> None:
        address = self._address()
        found = self._get(address)
        if found is None:
            found = self._function.create_accumulator()
        accumulator = self._function.add(value, found)
        if accumulator is None:
            self.drop(address)
        else:
            self.replace(address, accumulator)

    def clear(self) -> None:
        self.drop(self._address())


def table_for(descriptor: StateDescriptor, place: Place) -> Table:
    """The table of the state that ``descriptor`` asks for.

    With TTL a state stores pairs, and what wraps it does the reducing and aggregating: then these
    kinds have the table of a value.
    """
    meta = place.schema.meta
    if meta.kind is StateKind.LIST:
        return HashMapListState(place)
    if meta.kind in MAPS:
        return HashMapMapState(place)
    if not meta.ttl:
        match descriptor:
            case ReducingStateDescriptor():
                return HashMapReducingState(place, descriptor.reduce)
            case AggregatingStateDescriptor():
                return HashMapAggregatingState(place, descriptor.get_agg_function())
    return NamespacedValueState(place) if meta.namespaced else HashMapValueState(place)
