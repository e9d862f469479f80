"""A value by key and namespace, one at a time and many keys at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from typing import Any

from riverrun.api.state import ValueState
from riverrun.state.folding import Aggregating, Folding, Reducing
from riverrun.state.namespace_runs import NamespaceRuns, Piece
from riverrun.state.rocksdb.value_states import SingleTable


class NamespacedValueState(SingleTable, NamespaceRuns, ValueState[Any]):
    """A value by key and namespace."""

    __slots__ = ()

    def value(self) -> Any:
        return self.cache[self.address()]

    def update(self, value: Any) -> None:
        self.replace(self.address(), value)

    def clear(self) -> None:
        self.replace(self.address(), None)

    def fold_in(self, pieces: Iterable[Piece], folding: Folding) -> list[list[Any]]:
        out = []
        for namespace, keys, values in pieces:
            fresh: list[Any] = []
            if isinstance(folding, Reducing):
                self._reduce(namespace, keys, values, folding.reduce, fresh)
            else:
                self._aggregate(namespace, keys, values, folding, fresh)
            self._changed(len(keys), (keys[-1], namespace))
            out.append(fresh)
        return out

    def values_in(self, namespace: Any, keys: Sequence[Any]) -> list[Any]:
        cache = self.cache
        return [cache[key, namespace] for key in keys]

    def take_in(self, namespace: Any, keys: Sequence[Any]) -> list[Any]:
        found = self.values_in(namespace, keys)
        self.drop_in(namespace, keys)
        return found

    def drop_in(self, namespace: Any, keys: Iterable[Any]) -> None:
        addresses = [(key, namespace) for key in keys]
        if not addresses:
            return
        if self.stored:
            self.cache.update(zip(addresses, repeat(None)))
            self.dirty.update(addresses)
            self._changed(len(addresses), addresses[-1])
        else:  # there are no rows to delete
            for address in addresses:
                self.cache.pop(address, None)
            self.dirty.difference_update(addresses)

    # A load may make room in the cache, and then writes and drops what is marked as changed: so every
    # change is marked at once, not at the end of the run.

    def _aggregate(
        self,
        namespace: Any,
        keys: Sequence[Any],
        values: Sequence[Any],
        folding: Aggregating,
        fresh: list[Any],
    ) -> None:
        cache, mark, add, create = self.cache, self.dirty.add, folding.add, folding.create
        for key, value in zip(keys, values, strict=True):
            address = (key, namespace)
            held = cache[address]
            if held is None:
                held = create()
                fresh.append(key)
            cache[address] = add(value, held)
            mark(address)

    def _reduce(
        self,
        namespace: Any,
        keys: Sequence[Any],
        values: Sequence[Any],
        reduce: Callable[[Any, Any], Any],
        fresh: list[Any],
    ) -> None:
        cache, mark = self.cache, self.dirty.add
        for key, value in zip(keys, values, strict=True):
            address = (key, namespace)
            held = cache[address]
            if held is None:
                fresh.append(key)
            cache[address] = value if held is None else reduce(held, value)
            mark(address)

    def _changed(self, count: int, address: Any) -> None:
        self.left -= count
        if self.left < 0:
            self.measure(address)
