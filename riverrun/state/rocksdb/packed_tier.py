"""Entries that have left the cache of decoded values and not yet memory: packed, between cache and rows.

A look for the keys of a run costs a tenth of what RocksDB takes for it, and what leaves the cache becomes a row
only when it has to leave memory or when a checkpoint comes, and then many rows are written in their order.
Only whole numbers are packed as keys, and only values of some bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress
from types import NoneType
from typing import Any, Final

import numpy as np

from riverrun.state.rocksdb.number_rows import numbers_of
from riverrun.state.rocksdb.packed_table import (
    Mask,
    Numbers,
    PackedTable,
    Words,
    all_have_place,
    has_place,
)
from riverrun.state.rocksdb.packed_values import PackedValues, packed_values
from riverrun.state.rocksdb.row_writer import write_numbers
from riverrun.state.rocksdb.rows import RowFormat
from riverrun.state.rocksdb.store import Store

_TOGETHER: Final = 4096
"""Entries that are packed together."""
_ENOUGH: Final = 64
"""Entries whose values say how wide the table becomes."""


class PackedTier:
    """Packed entries of one state that has one row for each key."""

    __slots__ = ("_rows", "_store", "_table", "_untried", "_values", "wrote")

    def __init__(self, rows: RowFormat, store: Store) -> None:
        self._rows = rows
        self._store = store
        self._table: PackedTable | None = None
        self._values: PackedValues | None = None
        self._untried = True
        self.wrote = False
        """Whether entries left for their rows since this was last set to False."""

    @property
    def nbytes(self) -> int:
        """The memory it takes."""
        return 0 if self._table is None else self._table.nbytes

    @property
    def changed(self) -> int:
        """About how many entries are not what their rows say."""
        return 0 if self._table is None else self._table.changed

    def find_one(self, address: Any) -> Any:
        """The value of one key; None if it is not here."""
        number = _as_number(address)
        if self._table is None or self._values is None or number is None:
            return None
        slot = self._table.find_one(number)
        return None if slot is None else self._values.unpack(self._table.value(slot))[0]

    def find(self, addresses: list[Any]) -> tuple[list[Any], Sequence[Any], list[Any]]:
        """Those of ``addresses`` that are here, their values, and the other addresses."""
        table, values = self._table, self._values
        if table is None or values is None:
            return [], [], addresses
        keys = _numbers(addresses)
        if keys is None:
            return self._find_each(addresses)
        slots, there = table.find(keys)
        if there.all():
            return addresses, values.unpack(table.values(slots)), []
        found = list(compress(addresses, there.tolist()))
        others = list(compress(addresses, (~there).tolist()))
        return found, values.unpack(table.values(slots[there])), others

    def _find_each(self, addresses: list[Any]) -> tuple[list[Any], Sequence[Any], list[Any]]:
        looked = [(address, self.find_one(address)) for address in addresses]
        found = [pair for pair in looked if pair[1] is not None]
        others = [address for address, value in looked if value is None]
        return [address for address, _ in found], [value for _, value in found], others

    def take(
        self, addresses: Sequence[Any], cache: Mapping[Any, Any], changed: set[Any], most: int
    ) -> list[Any]:
        """Take over entries of the cache, in at most ``most`` bytes; those that cannot be.

        Raises:
            UnstorableValue: a value is not of the state's type.
        """
        if int not in set(map(type, addresses)):
            self.forget(addresses)
            return list(addresses)
        left: list[Any] = []
        for first in range(0, len(addresses), _TOGETHER):
            some = addresses[first : first + _TOGETHER]
            # By ``get``, which copies nothing that a savepoint holds too.
            stored = list(map(cache.get, some))
            marks = np.fromiter(map(changed.__contains__, some), np.bool_, len(some))
            left += self._take(some, stored, marks, most)
        return left

    def _take(
        self, addresses: Sequence[Any], stored: list[Any], marks: Mask, most: int
    ) -> list[Any]:
        left: list[Any] = []
        keys = _numbers(addresses)
        if keys is None or NoneType in set(map(type, stored)):
            fits = [
                value is not None and has_place(address)
                for address, value in zip(addresses, stored, strict=True)
            ]
            left = [address for address, fit in zip(addresses, fits, strict=True) if not fit]
            addresses, stored = list(compress(addresses, fits)), list(compress(stored, fits))
            marks = marks[np.array(fits, np.bool_)]
            keys = np.array(addresses, np.int64)
        if stored and self._is_ready(stored):
            assert self._values is not None  # noqa: S101  (it is ready)
            words, packed = self._values.pack(stored)
            if packed is not None:
                left += list(compress(addresses, (~packed).tolist()))
                keys, marks = keys[packed], marks[packed]
            kept = self._put(keys, words, marks, most)
            left += list(addresses[kept:]) if packed is None else keys[kept:].tolist()
        else:
            left += addresses
        self.forget(left)
        return left

    def _is_ready(self, stored: list[Any]) -> bool:
        if self._untried and len(stored) >= _ENOUGH:
            self._untried = False
            self._values = packed_values(self._rows, stored[:_ENOUGH])
            if self._values is not None:
                self._table = PackedTable(self._values.words)
        return self._values is not None

    def _put(self, keys: Numbers, words: Words, changed: Mask, most: int) -> int:
        """Put the first of these entries, and say how many there was room for."""
        table = self._table
        assert table is not None  # noqa: S101  (it is ready)
        while table.room() < len(keys) and table.grow(most):
            pass
        if table.room() < len(keys):
            self.wrote = True
            for lost, values in table.shed():
                self._write(lost, values)
            self._store.commit()
        kept = min(max(table.room(), 0), len(keys))
        table.put(keys[:kept], words[:kept], changed[:kept])
        return kept

    def forget(self, addresses: Sequence[Any]) -> None:
        """What is here of ``addresses`` is not true any more."""
        if self._table is None or not addresses:
            return
        keys = [key for address in addresses if (key := _as_number(address)) is not None]
        self._table.remove(np.array(keys, np.int64))

    def flush(self) -> bool:
        """Make rows of what changed; whether there was any. The store has yet to commit."""
        if self._table is None or not self._table.changed:
            return False
        for keys, words in self._table.take_changed():
            self._write(keys, words)
        return True

    def _write(self, keys: Numbers, words: Words) -> None:
        values = self._values
        assert values is not None  # noqa: S101  (there are entries)
        write_numbers(self._rows, self._store, keys, lambda at: values.row_values(words[at]))


def _numbers(addresses: Sequence[Any]) -> Numbers | None:
    """The addresses as keys of a table, if all of them can be."""
    keys = numbers_of(addresses)
    return None if keys is None or not all_have_place(keys) else keys


def _as_number(address: Any) -> int | None:
    """The key of a table that equals ``address``."""
    if type(address) is not int:
        if address is None or isinstance(address, (str, bytes, tuple)):
            return None
        try:
            number = int(address)
            if number != address:
                return None
        except (TypeError, ValueError, OverflowError):
            return None
        address = number
    return address if has_place(address) else None
