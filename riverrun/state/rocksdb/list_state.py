"""Lists in pieces: what is added is written as a new piece, without reading those before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from riverrun.api.state import ListState
from riverrun.state.elements import elements_for, none_refused
from riverrun.state.rocksdb.cache import CachedTable, Surroundings
from riverrun.state.rocksdb.memory import footprint
from riverrun.state.rocksdb.rows import RowFormat

_MANY_PIECES: Final = 8
"""A list that is found in more pieces than this is written anew as one."""
_LIST_BYTES: Final = 400
"""What a cached list takes beside its elements."""


class CachedList:
    """What is known of one list.

    Attributes:
        written: The elements that the rows hold; None when they were not read.
        added: The elements after these.
        replaced: Whether the rows must go before ``added`` is written.
    """

    __slots__ = ("added", "replaced", "written")

    def __init__(self, written: list[Any] | None) -> None:
        self.written = written
        self.added: list[Any] = []
        self.replaced = False

    def __len__(self) -> int:
        return len(self.written or ()) + len(self.added)


class RocksDBListState(CachedTable, ListState[Any]):
    """A list by address."""

    __slots__ = ("_elements",)

    def __init__(self, surroundings: Surroundings, rows: RowFormat, *, stored: bool) -> None:
        super().__init__(surroundings, rows, stored=stored)
        self._elements = 0

    def get(self) -> list[Any]:
        address = self.address()
        found: CachedList = self.cache[address]
        if found.written is None:
            self._read(address, found)
        return [*(found.written or ()), *found.added]

    def add(self, value: Any) -> None:
        if value is None:
            raise none_refused(self.format.schema.meta.name)
        address = self.address()
        self.cache[address].added.append(value)
        self._elements += 1
        self._changed(address)

    def add_all(self, values: Iterable[Any]) -> None:
        new = elements_for(self.format.schema.meta.name, values)
        if new:
            address = self.address()
            self.cache[address].added += new
            self._elements += len(new)
            self._changed(address)

    def update(self, values: Iterable[Any]) -> None:
        new = elements_for(self.format.schema.meta.name, values)
        self._replace(self.address(), new)

    def clear(self) -> None:
        self._replace(self.address(), [])

    def load(self, address: Any) -> CachedList:  # noqa: ARG002 - it is read when someone asks for it
        return CachedList(None if self.stored else [])

    def write(self, addresses: Sequence[Any]) -> None:
        for address, place in zip(addresses, self.format.places(addresses), strict=True):
            found: CachedList = self.cache[address]
            if found.replaced and self.stored:
                self._store.delete_prefix(place.prefix)
            if found.added:
                row_key = self.format.piece_row(place, self._store.new_piece())
                self._store.put(row_key, self.format.list_value(place, found.added))

    def settle(self, addresses: Iterable[Any]) -> None:
        for address in addresses:
            self._settled(address)

    def _settled(self, address: Any) -> None:
        found: CachedList = self.cache[address]
        if found.written is not None:
            found.written += found.added
        else:
            self._elements -= len(found.added)
        found.added = []
        found.replaced = False
        if not found.written:
            del self.cache[address]

    def is_bare(self, cached: Any) -> bool:
        return len(cached) == 0

    def estimate(self) -> int:
        return int(self.entry_bytes * self._elements) + _LIST_BYTES * len(self.cache)

    def sample(self, address: Any, cached: CachedList) -> float:
        count = len(cached)
        if count == 0:
            return self.entry_bytes
        of_elements = [cached.added or cached.written]
        return footprint(address, of_elements) / max(len(cached.added) or count, 1)

    def evict(self, count: int) -> None:
        super().evict(count)
        self._elements = sum(map(len, self.cache.values()))

    def _replace(self, address: Any, new: list[Any]) -> None:
        found: CachedList = self.cache[address]
        self._elements += len(new) - len(found)
        found.written, found.added, found.replaced = [], new, True
        self._changed(address)

    def _changed(self, address: Any) -> None:
        self.dirty.add(address)
        self.left -= 1
        if self.left < 0:
            self.measure(address)

    def _read(self, address: Any, found: CachedList) -> None:
        pieces = [
            self.format.elements(row_value)
            for _, row_value in self._store.scan(self.format.place(address).prefix)
        ]
        found.written = [element for piece in pieces for element in piece]
        self._elements += len(found.written)
        self.left -= len(found.written)
        if len(pieces) > _MANY_PIECES:
            found.added = found.written + found.added
            found.written, found.replaced = [], True
            self.dirty.add(address)
