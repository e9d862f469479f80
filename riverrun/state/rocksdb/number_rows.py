"""Rows of whole numbers as arrays: row keys of int keys, and row values that hold one int each.

The bytes are those of `riverrun.state.rocksdb.rows`, `canonical` and `values`; a test compares them. Rows are
put into the order of their bytes first, because RocksDB takes sorted rows at a fifth of the cost of others.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from riverrun.serde.stable_hash import hash_integers

Numbers: TypeAlias = npt.NDArray[np.int64]
_Bytes: TypeAlias = npt.NDArray[np.uint8]

_SIZES: Final = np.array([1 << 8 * size - 1 for size in range(1, 9)], np.uint64)
"""From each of these on a number takes one byte more."""
_HEAD: Final = 10
_NO_NAMESPACE: Final = 4
# The forms of an int in MessagePack: the first number of each, from the least to the largest.
_FORMS: Final = (
    (-(1 << 63), b"\xd3", 8),
    (-(1 << 31), b"\xd2", 4),
    (-(1 << 15), b"\xd1", 2),
    (-(1 << 7), b"\xd0", 1),
    (-32, b"", 1),
    (1 << 7, b"\xcc", 1),
    (1 << 8, b"\xcd", 2),
    (1 << 16, b"\xce", 4),
    (1 << 32, b"\xcf", 8),
)
_FORM_STARTS: Final = np.array([first for first, _, _ in _FORMS], np.int64)


class Order(NamedTuple):
    """Keys in the order of their rows."""

    at: npt.NDArray[np.intp]
    """Where each of them was."""
    keys: Numbers
    groups: npt.NDArray[np.uint16]
    sizes: _Bytes

    def part(self, first: int, end: int) -> Order:
        """Some of them that follow each other."""
        some = slice(first, end)
        return Order(self.at[some], self.keys[some], self.groups[some], self.sizes[some])


def numbers_of(values: Any) -> Numbers | None:
    """The values as an array, if all are ints of 64 bits."""
    if set(map(type, values)) != {int}:
        return None
    try:
        return np.array(values, np.int64)
    except OverflowError:
        return None


def in_order(keys: Numbers, max_parallelism: int) -> Order:
    """The keys in the order of their rows."""
    groups = (hash_integers(keys) % np.uint64(max_parallelism)).astype(np.uint16)
    sizes = (np.searchsorted(_SIZES, _magnitudes(keys), "right") + 1).astype(np.uint8)
    at = np.lexsort((keys.view(np.uint64), sizes, groups))
    return Order(at, keys[at], groups[at], sizes[at])


def row_keys(order: Order, number: int) -> list[bytes]:
    """The row keys in the state ``number``."""
    out = _Rows(len(order.keys))
    big_endian = order.keys.astype(">i8").view(np.uint8).reshape(-1, 8)
    groups = order.groups.astype(">u2").view(np.uint8).reshape(-1, 2)
    for size in np.unique(order.sizes).tolist():
        rows = out.rows_at(order.sizes == size)
        head = number.to_bytes(2, "big") + (size + 2).to_bytes(4, "big") + b"I" + bytes([size])
        table = np.zeros((rows.size, _HEAD + size + _NO_NAMESPACE), np.uint8)
        table[:, :2] = groups[rows]
        table[:, 2:_HEAD] = np.frombuffer(head, np.uint8)
        # A number of nine bytes is the least of all, whose first byte is only its sign.
        table[:, _HEAD + max(size - 8, 0) : -_NO_NAMESPACE] = big_endian[rows, -min(size, 8) :]
        table[:, _HEAD : _HEAD + max(size - 8, 0)] = 0xFF
        out.put(rows, table)
    return out.all()


def int_row_values(values: Numbers) -> list[bytes]:
    """The row values that hold nothing but one int each."""
    out = _Rows(len(values))
    forms = np.searchsorted(_FORM_STARTS, values, "right") - 1
    big_endian = values.astype(">i8").view(np.uint8).reshape(-1, 8)
    for form in np.unique(forms).tolist():
        rows = out.rows_at(forms == form)
        _, mark, size = _FORMS[form]
        head = b"\x00\x91" + mark  # nothing is kept of the key; an array of one value
        table = np.empty((rows.size, len(head) + size), np.uint8)
        table[:, : len(head)] = np.frombuffer(head, np.uint8)
        table[:, len(head) :] = big_endian[rows, -size:]
        out.put(rows, table)
    return out.all()


class _Rows:
    """Collects rows of different widths."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._whole: list[bytes] | None = None
        self._mixed: npt.NDArray[np.object_] | None = None

    def rows_at(self, mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.intp]:
        return np.flatnonzero(mask)

    def put(self, at: npt.NDArray[np.intp], table: _Bytes) -> None:
        found: list[bytes] = table.view(f"V{table.shape[1]}")[:, 0].tolist()
        if at.size == self._count:
            self._whole = found
            return
        if self._mixed is None:
            self._mixed = np.empty(self._count, np.object_)
        self._mixed[at] = found

    def all(self) -> list[bytes]:
        if self._whole is not None:
            return self._whole
        return [] if self._mixed is None else self._mixed.tolist()


def _magnitudes(keys: Numbers) -> npt.NDArray[np.uint64]:
    bits = keys.view(np.uint64)
    return np.where(keys < 0, ~bits + np.uint64(1), bits)
