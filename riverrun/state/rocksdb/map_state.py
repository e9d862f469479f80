"""Maps with a row for each entry: only the entries that are used are in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, Final

from riverrun.api.state import MapState
from riverrun.state.rocksdb.cache import CachedTable, Surroundings
from riverrun.state.rocksdb.memory import footprint
from riverrun.state.rocksdb.rows import RowFormat

_SMALL: Final = 1024
"""A map of up to so many stored entries is cached as a whole when someone goes through it."""
_MAP_BYTES: Final = 700
"""What a cached map takes beside its entries."""


class _Mark:
    """Stands for something that is no value of a user."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


GONE: Final = _Mark("<no such entry>")
_UNKNOWN: Final = _Mark("<not read>")


class CachedMap:
    """What is known of one map.

    Attributes:
        entries: Values by map key; ``GONE`` where there is known to be none.
        changed: The map keys whose rows are not what ``entries`` says.
        complete: Whether there is no entry but these.
        replaced: Whether all rows must go before the changed ones are written.
    """

    __slots__ = ("changed", "complete", "entries", "replaced")

    def __init__(self, *, complete: bool) -> None:
        self.entries: dict[Any, Any] = {}
        self.changed: set[Any] = set()
        self.complete = complete
        self.replaced = False

    def __len__(self) -> int:
        return len(self.entries)


class RocksDBMapState(CachedTable, MapState[Any, Any]):
    """A map by address."""

    __slots__ = ("_entries",)

    def __init__(self, surroundings: Surroundings, rows: RowFormat, *, stored: bool) -> None:
        super().__init__(surroundings, rows, stored=stored)
        self._entries = 0

    def get(self, key: Any) -> Any:
        address = self.address()
        found: CachedMap = self.cache[address]
        value = found.entries.get(key, _UNKNOWN)
        if value is _UNKNOWN:
            value = self._missing(address, found, key)
        return None if value is GONE else value

    def contains(self, key: Any) -> bool:
        address = self.address()
        found: CachedMap = self.cache[address]
        value = found.entries.get(key, _UNKNOWN)
        if value is _UNKNOWN:
            value = self._missing(address, found, key)
        return value is not GONE

    def put(self, key: Any, value: Any) -> None:
        address = self.address()
        found: CachedMap = self.cache[address]
        entries = found.entries
        if key not in entries:
            self._entries += 1
        entries[key] = value
        found.changed.add(key)
        self.dirty.add(address)
        self.left -= 1
        if self.left < 0:
            self.measure(address)

    def put_all(self, dict_value: Mapping[Any, Any]) -> None:
        if dict_value:
            address = self.address()
            found: CachedMap = self.cache[address]
            before = len(found.entries)
            found.entries.update(dict_value)
            self._entries += len(found.entries) - before
            found.changed.update(dict_value)
            self.left -= len(dict_value)
            self._changed(address)

    def remove(self, key: Any) -> None:
        address = self.address()
        found: CachedMap = self.cache[address]
        if found.complete and found.entries.get(key, GONE) is GONE:
            return
        before = len(found.entries)
        found.entries[key] = GONE
        self._entries += len(found.entries) - before
        found.changed.add(key)
        self._changed(address)

    def items(self) -> Iterator[tuple[Any, Any]]:
        """All pairs, as they are now; the map may change meanwhile."""
        address = self.address()
        found: CachedMap = self.cache[address]
        if not found.complete:
            stored = self._stored(address)
            first = list(islice(stored, _SMALL + 1))
            if len(first) > _SMALL:
                return _merged(dict(found.entries), chain(first, stored))
            self._complete(found, first)
        return iter([pair for pair in found.entries.items() if pair[1] is not GONE])

    def keys(self) -> Iterator[Any]:
        return (key for key, _ in self.items())

    def values(self) -> Iterator[Any]:
        return (value for _, value in self.items())

    def is_empty(self) -> bool:
        address = self.address()
        found: CachedMap = self.cache[address]
        if any(value is not GONE for value in found.entries.values()):
            return False
        if found.complete:
            return True
        return all(key in found.entries for key, _ in self._stored(address))

    def clear(self) -> None:
        address = self.address()
        found: CachedMap = self.cache[address]
        self._entries -= len(found.entries)
        empty = CachedMap(complete=True)
        empty.replaced = True
        self.cache[address] = empty
        self._changed(address)

    def load(self, address: Any) -> CachedMap:  # noqa: ARG002 - entries are read when someone asks for them
        return CachedMap(complete=not self.stored)

    def write(self, addresses: Sequence[Any]) -> None:
        for address, place in zip(addresses, self.format.places(addresses), strict=True):
            found: CachedMap = self.cache[address]
            if found.replaced and self.stored:
                self._store.delete_prefix(place.prefix)
            for key in found.changed:
                value = found.entries[key]
                if value is not GONE:
                    self._store.put(*self.format.map_value(place, key, value))
                elif self.stored and not found.replaced:
                    self._store.delete(self.format.map_row(place, key))

    def settle(self, addresses: Iterable[Any]) -> None:
        for address in addresses:
            self._settled(address)

    def _settled(self, address: Any) -> None:
        found: CachedMap = self.cache[address]
        for key in found.changed:
            if found.entries[key] is GONE:
                del found.entries[key]
                self._entries -= 1
        found.changed = set()
        found.replaced = False
        if not found.entries:
            del self.cache[address]

    def is_bare(self, cached: Any) -> bool:
        return len(cached) == 0

    def estimate(self) -> int:
        return int(self.entry_bytes * self._entries) + _MAP_BYTES * len(self.cache)

    def sample(self, address: Any, cached: CachedMap) -> float:  # noqa: ARG002 - counted with the map
        if not cached.entries:
            return self.entry_bytes
        key, value = next(reversed(cached.entries.items()))
        return footprint(key, None if value is GONE else value)

    def evict(self, count: int) -> None:
        super().evict(count)
        self._entries = sum(map(len, self.cache.values()))

    def _changed(self, address: Any) -> None:
        self.dirty.add(address)
        self.left -= 1
        if self.left < 0:
            self.measure(address)

    def _missing(self, address: Any, found: CachedMap, key: Any) -> Any:
        """The value at a key that is not cached, or ``GONE``."""
        if found.complete:
            return GONE
        row_value = self._store.get(self.format.map_row(self.format.place(address), key))
        value = GONE if row_value is None else self.format.stored(row_value)
        found.entries[key] = value
        self._entries += 1
        self.left -= 1
        if self.left < 0:
            self.measure(address)
        return value

    def _stored(self, address: Any) -> Iterator[tuple[Any, Any]]:
        """The entries that the rows hold now."""
        prefix, rows = self.format.place(address).prefix, self.format
        return (
            (rows.map_key(row_key, row_value, prefix), rows.stored(row_value))
            for row_key, row_value in self._store.scan(prefix)
        )

    def _complete(self, found: CachedMap, stored: list[tuple[Any, Any]]) -> None:
        before = len(found.entries)
        cached = found.entries
        found.entries = {**dict(stored), **cached}
        found.complete = True
        self._entries += len(found.entries) - before
        self.left -= len(stored)


def _merged(cached: dict[Any, Any], stored: Iterator[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
    """The stored entries, with the cached ones in place of those of the same key and after them."""
    for key, value in stored:
        found = cached.pop(key, _UNKNOWN)
        if found is _UNKNOWN:
            yield key, value
        elif found is not GONE:
            yield key, found
    yield from (pair for pair in cached.items() if pair[1] is not GONE)
