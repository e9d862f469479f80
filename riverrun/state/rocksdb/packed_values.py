"""Stored values as rows of words of one width, and back: what `PackedTable` holds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np

from riverrun.state.rocksdb.number_rows import int_row_values
from riverrun.state.rocksdb.packed_table import Mask, Words
from riverrun.state.rocksdb.rows import UNKEPT, RowFormat

_WIDEST: Final = 64
"""Bytes; what is wider goes to its row at once."""
_END: Final = b"\x01"
_WORD: Final = 8


class PackedValues(ABC):
    """One way to make words of values.

    Attributes:
        words: How many each value becomes.
    """

    words = 1

    @abstractmethod
    def pack(self, stored: list[Any]) -> tuple[Words, Mask | None]:
        """A row of words for each value that fits, in order; and which do, if not all.

        Raises:
            UnstorableValue: a value is not of the state's type.
        """

    @abstractmethod
    def unpack(self, words: Words) -> Sequence[Any]:
        """The values."""

    @abstractmethod
    def row_values(self, words: Words) -> Iterable[bytes]:
        """The row values of the values."""


class NumberValues(PackedValues):
    """All of them ints of 64 bits, or all floats; both come back as they were."""

    def __init__(self, rows: RowFormat, number: type[int | float]) -> None:
        self._rows = rows
        self._number = number
        self._column = np.int64 if number is int else np.float64

    def pack(self, stored: list[Any]) -> tuple[Words, Mask | None]:
        self._rows.check_values(stored)
        number, fits = self._number, None
        try:
            if set(map(type, stored)) != {number}:
                raise OverflowError  # noqa: TRY301 - as what is no such number
            column = np.array(stored, self._column)
        except OverflowError:
            fits = np.array([self._fits(value) for value in stored], np.bool_)
            column = np.array([value for value in stored if self._fits(value)], self._column)
        return column.view(np.uint64)[:, None], fits

    def unpack(self, words: Words) -> Sequence[Any]:
        values: list[Any] = words[:, 0].view(self._column).tolist()
        return values

    def row_values(self, words: Words) -> Iterable[bytes]:
        if self._number is int and self._rows.holds_ints:
            return int_row_values(words[:, 0].view(np.int64))
        return self._rows.row_values(self.unpack(words))

    def _fits(self, value: Any) -> bool:
        if type(value) is not self._number:
            return False
        return self._number is float or -(1 << 63) <= value < 1 << 63


class EncodedValues(PackedValues):
    """As they stand in their rows, with something behind that is no zero."""

    def __init__(self, rows: RowFormat, words: int) -> None:
        self._rows = rows
        self.words = words
        self._form = f"S{words * _WORD}"

    def pack(self, stored: list[Any]) -> tuple[Words, Mask | None]:
        payloads = [payload + _END for payload in self._rows.payloads(stored)]
        fits, size = None, self.words * _WORD
        if max(map(len, payloads), default=0) > size:
            fits = np.array([len(payload) <= size for payload in payloads], np.bool_)
            payloads = [payload for payload in payloads if len(payload) <= size]
        words = np.array(payloads, self._form).view(np.uint64)
        return words.reshape(len(payloads), self.words), fits

    def unpack(self, words: Words) -> Sequence[Any]:
        return self._rows.stored_in(self._payloads(words))

    def row_values(self, words: Words) -> Iterable[bytes]:
        return [UNKEPT + payload for payload in self._payloads(words)]

    def _payloads(self, words: Words) -> list[bytes]:
        found = np.ascontiguousarray(words).reshape(-1).view(self._form).tolist()
        return [payload[:-1] for payload in found]


def packed_values(rows: RowFormat, stored: list[Any]) -> PackedValues | None:
    """The way for values like most of these; None where they are too wide.

    Raises:
        UnstorableValue: a value is not of the state's type.
    """
    classes = set(map(type, stored))
    if classes == {float} or (classes == {int} and rows.keeps_ints):
        return NumberValues(rows, classes.pop())
    sizes = sorted(map(len, rows.payloads(stored)))
    wide = sizes[len(sizes) * 7 // 8] + len(_END)
    return None if wide > _WIDEST else EncodedValues(rows, -(-wide // _WORD))
