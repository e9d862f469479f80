"""States of one stored value by address: value, reducing, aggregating.

``ValueState.value`` and ``update`` are called for every record; while the key is cached they are one
look into a dict, as in a backend that keeps everything in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from riverrun.api.state import AggregatingState, Aggregator, ReducingState, ValueState
from riverrun.state.rocksdb.cache import CachedTable, Surroundings
from riverrun.state.rocksdb.cached import Unwritten
from riverrun.state.rocksdb.rows import RowFormat


class SingleTable(CachedTable):
    """One row by address; None in the cache when there is none.

    Attributes:
        loaded: Entries that were read one by one.
    """

    __slots__ = ("loaded",)

    def __init__(self, surroundings: Surroundings, rows: RowFormat, *, stored: bool) -> None:
        super().__init__(surroundings, rows, stored=stored)
        self.loaded = 0

    def load(self, address: Any) -> Any:
        if not self.stored:
            return None
        self.loaded += 1
        row_value = self._store.get(self.format.place(address).prefix)
        return None if row_value is None else self.format.stored(row_value)

    def load_all(self, addresses: list[Any]) -> None:
        """Put what the rows say about ``addresses``, which are not in the cache, into it."""
        if not self.stored:
            return
        found = self._store.get_all(self.format.row_keys(addresses))
        there = [address for address, row in zip(addresses, found, strict=True) if row is not None]
        stored = self.format.stored_each([row for row in found if row is not None])
        self.left -= len(addresses)
        if self.left < 0:
            if there:
                self._sampled(there[0], stored[0])
            self.left = self._budget.wait(self)
        cache = self.cache
        if len(there) < len(addresses):
            cache.update(dict.fromkeys(addresses))
        cache.update(zip(there, stored, strict=True))

    def write(self, addresses: Sequence[Any]) -> None:
        cache, rows = self.cache, self.format
        there = [address for address in addresses if cache[address] is not None]
        for group, found in rows.groups_of(there):
            stored = [cache[address] for address in found]
            self._store.put_all(*rows.single_rows(group, found, stored))
        if self.stored and len(there) < len(addresses):
            gone = [address for address in addresses if cache[address] is None]
            for place in rows.places(gone):
                self._store.delete(place.prefix)

    def settled(self, address: Any) -> None:
        if self.cache[address] is None:
            del self.cache[address]

    def freeze(self) -> Unwritten | None:
        if not self.dirty:
            return None
        cache, dirty = self.cache, self.dirty
        # By ``get``, which copies nothing that another savepoint holds too.
        all_of_it = len(dirty) == len(cache)
        entries = dict(cache) if all_of_it else {address: cache.get(address) for address in dirty}
        return Unwritten(self.format.schema, entries, cache)

    def is_bare(self, cached: Any) -> bool:
        return cached is None

    def replace(self, address: Any, stored: Any) -> None:
        """Put a stored value at an address; None removes it."""
        self.cache[address] = stored
        self.dirty.add(address)
        self.left -= 1
        if self.left < 0:
            self.measure(address)


class RocksDBValueState(SingleTable, ValueState[Any]):
    """A value by key."""

    __slots__ = ()

    def value(self) -> Any:
        try:
            return self.cache[self._backend.key]
        except TypeError:
            self.address()  # says so when there is no key, which has no hash
            raise

    def update(self, value: Any) -> None:
        key = self._backend.key
        try:
            self.cache[key] = value
        except TypeError:
            self.address()
            raise
        self.dirty.add(key)
        self.left -= 1
        if self.left < 0:
            self.measure(key)

    def clear(self) -> None:
        self.replace(self.address(), None)


class RocksDBReducingState(SingleTable, ReducingState[Any]):
    """The reduced value by address."""

    __slots__ = ("_reduce",)

    def __init__(
        self,
        surroundings: Surroundings,
        rows: RowFormat,
        reduce: Callable[[Any, Any], Any],
        *,
        stored: bool,
    ) -> None:
        super().__init__(surroundings, rows, stored=stored)
        self._reduce = reduce

    def get(self) -> Any:
        return self.cache[self.address()]

    def add(self, value: Any) -> None:
        address = self.address()
        found = self.cache[address]
        self.replace(address, value if found is None else self._reduce(found, value))

    def clear(self) -> None:
        self.replace(self.address(), None)


class RocksDBAggregatingState(SingleTable, AggregatingState[Any, Any]):
    """The accumulator by address."""

    __slots__ = ("_function",)

    def __init__(
        self,
        surroundings: Surroundings,
        rows: RowFormat,
        function: Aggregator,
        *,
        stored: bool,
    ) -> None:
        super().__init__(surroundings, rows, stored=stored)
        self._function = function

    def get(self) -> Any:
        found = self.cache[self.address()]
        return None if found is None else self._function.get_result(found)

    def add(self, value: Any) -> None:
        address = self.address()
        found = self.cache[address]
        if found is None:
            found = self._function.create_accumulator()
        self.replace(address, self._function.add(value, found))

    def clear(self) -> None:
        self.replace(self.address(), None)
