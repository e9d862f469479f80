"""A value by key and namespace, kept as one dict of keys for each namespace.

Windows work on many keys of one namespace at a time: records of the same window are folded with one
look into a small dict each, and a window that is over is one dict to empty.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, ValuesView
from itertools import chain
from typing import Any

from riverrun import loops
from riverrun.api.state import ValueState
from riverrun.state.folding import Folding, Reducing, fold_one
from riverrun.state.hashmap.table import FrozenTable, Place, Table
from riverrun.state.immutable import ATOMS, copy_of
from riverrun.state.namespace_runs import NamespaceRuns, Piece, merge_into


class NestedEntries(Mapping[Any, Any]):
    """Dicts by namespace, to be read like one dict by (key, namespace)."""

    __slots__ = ("_by_namespace",)

    def __init__(self, by_namespace: Mapping[Any, Mapping[Any, Any]]) -> None:
        self._by_namespace = by_namespace

    def __getitem__(self, address: Any) -> Any:
        key, namespace = address
        return self._by_namespace[namespace][key]

    def __iter__(self) -> Iterator[Any]:
        for namespace, entries in self._by_namespace.items():
            for key in entries:
                yield key, namespace

    def __len__(self) -> int:
        return sum(map(len, self._by_namespace.values()))

    def values(self) -> _NestedValues:
        """The values, without a look for each address."""
        return _NestedValues(self, self._by_namespace)


class _NestedValues(ValuesView[Any]):
    def __init__(
        self, entries: NestedEntries, by_namespace: Mapping[Any, Mapping[Any, Any]]
    ) -> None:
        super().__init__(entries)
        self._by_namespace = by_namespace

    def __iter__(self) -> Iterator[Any]:
        return chain.from_iterable(entries.values() for entries in self._by_namespace.values())


class NamespacedValueState(Table, NamespaceRuns, ValueState[Any]):
    """A value by key and namespace; ``nested`` has no empty dicts in it between two calls."""

    __slots__ = ("_changed_in", "nested")

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.nested: dict[Any, dict[Any, Any]] = {}
        self._changed_in: dict[Any, set[Any]] | None = {} if place.tracked else None

    def value(self) -> Any:
        key, namespace = self._address()
        if self._frozen:
            return self._shown(key, namespace)
        entries = self.nested.get(namespace)
        return None if entries is None else entries.get(key)

    def update(self, value: Any) -> None:
        if value is None:
            self.drop(self._address())
        else:
            self.replace(self._address(), value)

    def clear(self) -> None:
        self.drop(self._address())

    def fold_in(self, pieces: Iterable[Piece], folding: Folding) -> list[list[Any]]:
        # Nothing but a dict and the user's function per record.
        out = []
        for namespace, keys, values in pieces:
            entries = self.nested.setdefault(namespace, {})
            fresh: list[Any] = []
            if self._frozen:
                self._fold_guarded(namespace, keys, values, folding, fresh)
            elif isinstance(folding, Reducing):
                _reduce(entries, keys, values, folding, fresh)
            else:
                loops.fold_new(entries, keys, values, folding.add, folding.create, fresh)
            if not entries:
                self.nested.pop(namespace, None)
            self._note(namespace, keys)
            out.append(fresh)
        return out

    def values_in(self, namespace: Any, keys: Sequence[Any]) -> list[Any]:
        if self._frozen:
            return [self._shown(key, namespace) for key in keys]
        get = self.nested.get(namespace, {}).get
        return [get(key) for key in keys]

    def take_in(self, namespace: Any, keys: Sequence[Any]) -> list[Any]:
        entries = self.nested.get(namespace)
        if entries is None:
            return [None] * len(keys)
        if self._frozen:
            found = self.values_in(namespace, keys)
            self.drop_in(namespace, keys)
            return found
        pop = entries.pop
        found = [pop(key, None) for key in keys]
        if not entries:
            del self.nested[namespace]
        self._note(namespace, keys)
        return found

    def drop_in(self, namespace: Any, keys: Iterable[Any]) -> None:
        entries = self.nested.get(namespace)
        if entries is None:
            return
        dropped = [key for key in keys if entries.pop(key, None) is not None]
        if not entries:
            del self.nested[namespace]
        self._note(namespace, dropped)

    def merge_in(
        self,
        namespaces: Iterable[Any],
        keys: Sequence[Any],
        merge: Callable[[Any, Any], Any],
    ) -> dict[Any, Any]:
        wanted = set(keys)
        out: dict[Any, Any] = {}
        for namespace in namespaces:
            entries = self.nested.get(namespace)
            if entries is None:
                continue
            # The shorter side is gone through: what is not there costs next to nothing.
            if len(entries) <= len(wanted):
                found = [(key, held) for key, held in entries.items() if key in wanted]
            else:
                found = [(key, entries[key]) for key in wanted if key in entries]
            if out:
                for key, held in found:
                    merge_into(out, key, held, merge)
            else:
                out = {key: held if type(held) in ATOMS else copy_of(held) for key, held in found}
        return out

    def freeze_all(self) -> FrozenTable:
        copied = {namespace: entries.copy() for namespace, entries in self.nested.items()}
        return self._guarded(FrozenTable.of(self, NestedEntries(copied)))

    def freeze_some(self, addresses: Collection[Any]) -> FrozenTable:
        there, removed = {}, []
        for address in addresses:
            held = self._held(address)
            if held is None:
                removed.append(address)
            else:
                there[address] = held
        return self._guarded(FrozenTable.of(self, there, removed))

    def take_changed(self) -> set[Any]:
        found, self._changed_in = self._changed_in or {}, {}
        return {(key, namespace) for namespace, keys in found.items() for key in keys}

    def drop(self, address: Any) -> None:
        key, namespace = address
        self.drop_in(namespace, (key,))

    def stored(self) -> Iterator[tuple[Any, Any]]:
        for address in list(NestedEntries(self.nested)):
            held = self._held(address)
            if held is not None:
                yield address, held

    def replace(self, address: Any, value: Any) -> None:
        key, namespace = address
        self.nested.setdefault(namespace, {})[key] = value
        self._note(namespace, (key,))

    def load(self, addresses: Sequence[Any], values: Sequence[Any]) -> None:
        for (key, namespace), value in zip(addresses, values, strict=True):
            self.nested.setdefault(namespace, {})[key] = value

    def unload(self, addresses: Iterable[Any]) -> None:
        for key, namespace in addresses:
            entries = self.nested.get(namespace, {})
            if entries.pop(key, None) is not None and not entries:
                del self.nested[namespace]

    def entry_count(self) -> int:
        return sum(map(len, self.nested.values()))

    def forget(self) -> None:
        self.nested.clear()

    def _held(self, address: Any) -> Any:
        key, namespace = address
        entries = self.nested.get(namespace)
        return None if entries is None else entries.get(key)

    def _note(self, namespace: Any, keys: Iterable[Any]) -> None:
        if self._changed_in is not None:
            self._changed_in.setdefault(namespace, set()).update(keys)

    def _shown(self, key: Any, namespace: Any) -> Any:
        """The value, no longer shared with any snapshot if it can change."""
        address = (key, namespace)
        held = self._held(address)
        if held is None:
            return None
        given = self._unshared(address, held)
        if given is not held:
            self.nested[namespace][key] = given
        return given

    def _fold_guarded(
        self,
        namespace: Any,
        keys: Sequence[Any],
        values: Sequence[Any],
        folding: Folding,
        fresh: list[Any],
    ) -> None:
        """While a snapshot is written: what it holds is copied before the function can change it."""
        entries = self.nested[namespace]
        for key, value in zip(keys, values, strict=True):
            held = self._shown(key, namespace)
            if held is None:
                fresh.append(key)
            held = fold_one(folding, held, value)
            if held is None:
                entries.pop(key, None)
            else:
                entries[key] = held


def _reduce(
    entries: dict[Any, Any],
    keys: Sequence[Any],
    values: Sequence[Any],
    folding: Reducing,
    fresh: list[Any],
) -> None:
    reduce = folding.reduce
    for key, value in zip(keys, values, strict=True):
        try:
            held = entries[key]
        except KeyError:
            held = value
            fresh.append(key)
        else:
            held = reduce(held, value)
        if held is None:
            entries.pop(key, None)
        else:
            entries[key] = held
