"""The entries of one state in a dict, and what a snapshot needs to take them while they change.

A snapshot holds the values as they are; it does not copy them. Until it is written, the table gives
out no value that the snapshot holds and that could be changed: it puts a copy in its place first. The
snapshot keeps the original. This costs nothing while no snapshot is being written, because the way
to read (``_get``) is exchanged only for that time. Nor does it while all values are plain: to find that
out costs less than what a table that is guarded takes longer.

Of numbers a snapshot takes an array instead (`riverrun.state.number_values`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from threading import Lock
from typing import Any, Protocol

import numpy as np

from riverrun import loops
from riverrun.loops import Entries
from riverrun.protocol.snapshots import StateKind
from riverrun.state.backend import NO_KEY, KeyedStateBackend, NoCurrentKey
from riverrun.state.entry_columns import Numbers
from riverrun.state.hashmap.known_keys import Keys, KnownKeys
from riverrun.state.immutable import (
    ATOMS,
    copy_of,
    copy_of_dict,
    copy_of_list,
    is_immutable_type,
)
from riverrun.state.number_values import number_in, numbers_in
from riverrun.state.schema import MAPS, StateSchema


@dataclass(frozen=True, slots=True)
class Place:
    """Whose state a table holds."""

    backend: KeyedStateBackend
    operator: str
    schema: StateSchema
    tracked: bool
    """Whether to remember which addresses change."""


class Frozen(Protocol):
    """What a snapshot takes entries of."""

    @property
    def schema(self) -> StateSchema:
        """Of the entries."""

    def thaw(self, frozen: FrozenTable) -> None:
        """The snapshot needs ``frozen`` no more; any thread."""


@dataclass(slots=True)
class FrozenTable:
    """What one snapshot takes of one table."""

    table: Frozen
    addresses: Collection[Any]
    values: Collection[Any] | Numbers
    """In the same order."""
    removed: Sequence[Any] = ()
    shared: Mapping[Any, Any] | None = None
    """The same as a mapping, where the values are such that the table must not give them out."""
    known: KnownKeys | None = None
    """What the snapshot before knew of the addresses, which are a tuple then, and this one will."""
    prune: Callable[[Any], Any] | None = None
    """Gives what is left of a stored value, or None; set where expired entries are left out."""

    @staticmethod
    def of(table: Table, entries: Mapping[Any, Any], removed: Sequence[Any] = ()) -> FrozenTable:
        """What is in a mapping that nobody changes."""
        return FrozenTable(table, entries, entries.values(), removed, entries)

    @property
    def schema(self) -> StateSchema:
        """Of the table."""
        return self.table.schema

    def stretches(self, size: int) -> Iterator[tuple[list[Any], list[Any]]]:
        """Addresses and stored values, without what is expired, at most ``size`` at a time."""
        for keys, values in self.parts(size):
            addresses = keys.all() if isinstance(keys, Keys) else keys
            yield addresses, values.tolist() if isinstance(values, np.ndarray) else values

    def parts(self, size: int) -> Iterator[tuple[Keys | list[Any], list[Any] | Numbers]]:
        """The same, with addresses as they are known by and values as they are held."""
        prune, source, packed = self.prune, self.addresses, self.values
        keys, stored = iter(source), iter(() if isinstance(packed, np.ndarray) else packed)
        for start in range(0, len(source), size):
            end = min(start + size, len(source))
            values = (
                packed[start:end] if isinstance(packed, np.ndarray) else list(islice(stored, size))
            )
            if prune is not None:
                left = [
                    (key, kept)
                    for key, one in zip(islice(keys, size), values, strict=True)
                    if (kept := prune(one))
                ]
                yield [key for key, _ in left], [kept for _, kept in left]
            elif isinstance(source, tuple):
                yield Keys(source, start, end), values
            else:
                yield list(islice(keys, size)), values

    def thaw(self) -> None:
        """The snapshot needs this no more; any thread."""
        self.table.thaw(self)


class Table(Entries):
    """Entries by address: the key, or (key, namespace) where the state has namespaces.

    Attributes:
        data: The entries. Whoever reads a value to hand it out uses ``_get`` instead.
        known: What the last snapshot knew of the addresses, if it took all of them.
        changed: Addresses put or removed since the last freeze; None when nobody wants to know.
    """

    __slots__ = (
        "_copy",
        "_frozen",
        "_lock",
        "_namespaced",
        "_number",
        "_operator",
        "known",
        "schema",
    )

    def __init__(self, place: Place) -> None:
        self.schema = place.schema
        self.data = {}
        self.changed = set() if place.tracked else None
        self.known: KnownKeys | None = None
        self._backend = place.backend
        self._operator = place.operator
        self._namespaced = place.schema.meta.namespaced
        self._get = self.data.get
        self._plain = True
        self._copy = _copier(place.schema)
        self._number = number_in(place.schema)
        self._frozen: tuple[Mapping[Any, Any], ...] = ()
        self._lock = Lock()

    def freeze_all(self) -> FrozenTable:
        """Every entry as it is now."""
        data = self.data
        known = None if self._namespaced else self.known or KnownKeys()
        addresses = list(data) if known is None else known.of(data)
        packed = numbers_in(data, self._number)
        if packed is not None:
            frozen = FrozenTable(self, addresses, packed)
        elif self._copy is None or (loops.COMPILED and loops.all_plain(data)):
            frozen = FrozenTable(self, addresses, list(data.values()))
        else:
            entries = data.copy()
            frozen = self._guarded(FrozenTable(self, addresses, entries.values(), shared=entries))
        self.known = frozen.known = known
        return frozen

    def freeze_some(self, addresses: Collection[Any]) -> FrozenTable:
        """What is now at ``addresses``, with those where nothing is."""
        data = self.data
        self.known = (
            None  # it is large, and of use only where one snapshot after the other takes everything
        )
        removed = [address for address in addresses if address not in data]
        there = [address for address in addresses if address in data] if removed else addresses
        values = list(map(data.__getitem__, there))
        if self._copy is None:
            return FrozenTable(self, there, values, removed)
        entries = dict(zip(there, values, strict=True))
        return self._guarded(FrozenTable.of(self, entries, removed))

    def thaw(self, frozen: FrozenTable) -> None:
        """The snapshot needs ``frozen`` no more; any thread."""
        with self._lock:
            self._frozen = tuple(held for held in self._frozen if held is not frozen.shared)
            if not self._frozen:
                self._get = self.data.get
                self._plain = True

    def take_changed(self) -> set[Any]:
        """The addresses changed since the last call."""
        found, self.changed = self.changed, set()
        return found or set()

    def drop(self, address: Any) -> None:
        """Remove the entry, if there is one."""
        if self.data.pop(address, None) is not None and self.changed is not None:
            self.changed.add(address)

    def stored(self) -> Iterator[tuple[Any, Any]]:
        """Addresses and stored values, to look at and not to hand out; changes meanwhile are fine."""
        data = self.data
        for address in list(data):
            value = data.get(address)
            if value is not None:
                yield address, value

    def replace(self, address: Any, value: Any) -> None:
        """Put a stored value at an address."""
        self.data[address] = value
        if self.changed is not None:
            self.changed.add(address)

    def load(self, addresses: Sequence[Any], values: Sequence[Any]) -> None:
        """Put restored values at their addresses."""
        self.data.update(zip(addresses, values, strict=True))

    def unload(self, addresses: Iterable[Any]) -> None:
        """Take away what was restored before and is not there any more."""
        for address in addresses:
            self.data.pop(address, None)

    def entry_count(self) -> int:
        """How many entries there are."""
        return len(self.data)

    def forget(self) -> None:
        """Drop everything; the table is not used any more."""
        self.data.clear()
        self.known = None

    def _address(self) -> Any:
        """Where the current key's entry is."""
        key = self._backend.key
        if key is NO_KEY:
            raise NoCurrentKey(self._operator, self.schema.meta.name)
        return (key, self._backend.namespace) if self._namespaced else key

    def _guarded(self, frozen: FrozenTable) -> FrozenTable:
        if self._copy is not None and frozen.shared:
            with self._lock:
                self._frozen = (*self._frozen, frozen.shared)
                self._plain = False
                self._get = self._get_guarded
        return frozen

    def _get_guarded(self, address: Any) -> Any:
        """The value at ``address``, no longer shared with any snapshot if it can change."""
        value = self.data.get(address)
        given = self._unshared(address, value)
        if given is not value:
            self.data[address] = given
        return given

    def _unshared(self, address: Any, value: Any) -> Any:
        """``value``, which is at ``address``, or a copy of it if a snapshot holds it and it can change."""
        if type(value) in ATOMS or self._copy is None:
            return value
        if any(held.get(address) is value for held in self._frozen):
            return self._copy(value)
        return value


def _copier(schema: StateSchema) -> Callable[[Any], Any] | None:
    """How to copy a stored value; None where there is nothing that could change."""
    immutable = is_immutable_type(schema.value)
    if schema.meta.kind is StateKind.LIST:
        return list.copy if immutable else copy_of_list
    if schema.meta.kind in MAPS:
        return dict.copy if immutable else copy_of_dict
    return None if immutable else copy_of
