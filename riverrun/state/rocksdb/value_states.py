"""States of one stored value by address: value, reducing, aggregating.

``ValueState.value`` and ``update`` are called for every record; while the key is cached they are one
look into a dict, as in a backend that keeps everything in memory.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from types import NoneType
from typing import Any

from riverrun.api.state import AggregatingState, Aggregator, ReducingState, ValueState
from riverrun.state.hashmap.table import FrozenTable
from riverrun.state.rocksdb.cache import CachedTable, Surroundings
from riverrun.state.rocksdb.cached import Unwritten
from riverrun.state.rocksdb.held import Holding
from riverrun.state.rocksdb.packed_tier import PackedTier
from riverrun.state.rocksdb.row_writer import write_singles
from riverrun.state.rocksdb.rows import RowFormat


class SingleTable(CachedTable):
    """One row by address; None in the cache when there is none.

    Attributes:
        loaded: Entries that were read one by one.
        holding: Decides which checkpoints write no rows; None where all write them.
        tier: What left the cache and is still in memory; None where it would not be worth while.
        beyond: Whether there may be rows that are neither in the cache nor in the tier.
    """

    __slots__ = ("_gone", "beyond", "holding", "loaded", "tier")

    def __init__(self, surroundings: Surroundings, rows: RowFormat, *, stored: bool) -> None:
        super().__init__(surroundings, rows, stored=stored)
        self.loaded = 0
        self.beyond = stored
        self._gone: list[Any] = []
        """What was written last without a value."""
        meta = rows.schema.meta
        is_plain = not meta.namespaced and not meta.ttl
        self.tier = PackedTier(rows, self._store) if is_plain else None
        self.holding = Holding(rows.schema, self.cache) if is_plain else None

    def packed_bytes(self) -> int:
        return 0 if self.tier is None else self.tier.nbytes

    def unwritten_count(self) -> int:
        return len(self.dirty) + (0 if self.tier is None else self.tier.changed)

    def is_whole(self) -> bool:
        """Whether what is not in the cache is nowhere."""
        return not self.beyond and self.packed_bytes() == 0

    def load(self, address: Any) -> Any:
        if self.is_whole():
            return None
        self.loaded += 1
        if self.tier is not None and (found := self.tier.find_one(address)) is not None:
            return found
        row_value = self._store.get(self.format.place(address).prefix) if self.beyond else None
        return None if row_value is None else self.format.stored(row_value)

    def load_all(self, addresses: list[Any]) -> None:
        """Put what tier and rows say about ``addresses``, which are not in the cache, into it."""
        fresh: dict[Any, Any] = {}
        others = addresses
        if self.tier is not None:
            there, stored, others = self.tier.find(addresses)
            fresh = dict(zip(there, stored, strict=True))
        if others:
            fresh.update(dict.fromkeys(others))
            if self.beyond:
                fresh.update(self._rows_of(others))
        self.left -= len(addresses)
        if self.left < 0:
            for address, found in fresh.items():
                if found is not None:
                    self._sampled(address, found)
                    break
            self.left = self._budget.wait(self)
        self.cache.update(fresh)

    def _rows_of(self, addresses: list[Any]) -> Iterable[tuple[Any, Any]]:
        found = self._store.get_all(self.format.row_keys(addresses))
        there = [address for address, row in zip(addresses, found, strict=True) if row is not None]
        stored = self.format.stored_each([row for row in found if row is not None])
        return zip(there, stored, strict=True)

    def write(self, addresses: Sequence[Any]) -> None:
        stored = list(map(self.cache.get, addresses))
        self._gone = []
        if NoneType in set(map(type, stored)):
            self._gone = gone = [
                address for address, value in zip(addresses, stored, strict=True) if value is None
            ]
            if self.tier is not None:
                self.tier.forget(gone)
            if self.stored:
                for place in self.format.places(gone):
                    self._store.delete(place.prefix)
            addresses = [
                address
                for address, value in zip(addresses, stored, strict=True)
                if value is not None
            ]
            stored = [value for value in stored if value is not None]
        write_singles(self.format, self._store, addresses, stored)

    def sample(self, address: Any, cached: Any) -> float:
        beside = 0 if self.holding is None else self.holding.entry_bytes
        return super().sample(address, cached) + beside

    def flush(self) -> None:
        self._flush_tier()
        super().flush()

    def hold(self) -> FrozenTable | None:
        held = None if self.holding is None else self.holding.take(self.dirty)
        if held is None:
            self.flush()
        else:
            self._flush_tier()
        return held

    def _flush_tier(self) -> None:
        if self.tier is not None and self.tier.flush():
            self._store.commit()
            self.stored = True

    def settle(self, addresses: Iterable[Any]) -> None:
        del addresses  # those without a value are known
        for address in self._gone:
            del self.cache[address]

    def evict(self, count: int) -> None:
        oldest = list(islice(self.cache, count))
        changed = self.dirty.intersection(oldest)
        left = oldest
        if self.tier is not None:
            left = self.tier.take(oldest, self.cache, changed, self._budget.most_packed(self))
            if self.tier.wrote:
                self.stored = self.beyond = True
        if left:
            written = changed.intersection(left)
            self.write(list(written))
            self._store.commit()
            self.stored = self.stored or bool(written)
            self.beyond = self.beyond or any(self.cache.get(one) is not None for one in left)
        self.dirty.difference_update(changed)
        deque(map(self.cache.__delitem__, oldest), maxlen=0)

    def freeze(self) -> Unwritten | None:
        self._flush_tier()
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
