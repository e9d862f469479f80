"""Random numbers that belong to a place: the same for the same seed, field and index, in any order.

Nothing is kept from one number to the next, so a reader that goes on at index ``i`` makes what an earlier
one made there, and a run of records costs a few operations on arrays.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

Bits: TypeAlias = npt.NDArray[np.uint64]
Longs: TypeAlias = npt.NDArray[np.int64]
Doubles: TypeAlias = npt.NDArray[np.float64]

_STEP: Final = np.uint64(0x9E3779B97F4A7C15)
_FIRST: Final = np.uint64(0xBF58476D1CE4E5B9)
_SECOND: Final = np.uint64(0x94D049BB133111EB)
_FRACTION: Final = 2.0**-53
_WORD: Final = (1 << 64) - 1


def mixed(bits: Bits) -> Bits:
    """Numbers that look random, each from its own; different ones for different ones."""
    # The finalizer of splitmix64: three multiplications that overflow on purpose.
    bits = bits + _STEP
    bits = (bits ^ (bits >> np.uint64(30))) * _FIRST
    bits = (bits ^ (bits >> np.uint64(27))) * _SECOND
    return bits ^ (bits >> np.uint64(31))


def salt_of(seed: int, name: str) -> np.uint64:
    """What tells the numbers of one field from those of another.

    >>> bool(salt_of(1, "a") != salt_of(1, "b") != salt_of(2, "b"))
    True
    """
    word = np.array([seed & _WORD], np.uint64) ^ np.uint64(zlib.crc32(name.encode()))
    return np.uint64(mixed(word)[0])


@dataclass(frozen=True, slots=True)
class Draws:
    """The values of one field in a run of records: one id each, which random numbers come from."""

    ids: Bits
    times_us: Longs
    """When the record of each value is due, in microseconds since 1970."""

    @staticmethod
    def of(salt: np.uint64, indices: Longs, times_us: Longs) -> Draws:
        """The values that a field has in the records with these indices."""
        return Draws(mixed(indices.astype(np.uint64) ^ salt), times_us)

    def bits(self, number: int) -> Bits:
        """Random number ``number`` of each value."""
        return mixed(self.ids + np.uint64((number * int(_STEP)) & _WORD))

    def fractions(self, number: int) -> Doubles:
        """Random number ``number`` of each value, from 0 to below 1."""
        return (self.bits(number) >> np.uint64(11)).astype(np.float64) * _FRACTION

    def between(self, number: int, low: int, high: int) -> Longs:
        """A whole number from ``low`` to ``high`` for each, both included."""
        bits = self.bits(number)
        span = high - low + 1
        if span <= _WORD:
            bits = bits % np.uint64(span)
        return (bits + np.uint64(low & _WORD)).astype(np.int64)

    def words(self, width: int) -> Bits:
        """A row of ``width`` random words for each value."""
        # Far from the numbers that ``bits`` gives.
        steps = np.arange(1024, 1024 + width, dtype=np.uint64) * _STEP
        return mixed(self.ids[:, None] + steps[None, :])

    def elements(self, sizes: Longs) -> Draws:
        """The elements of values that have so many of them."""
        starts = np.cumsum(sizes) - sizes
        places = np.arange(int(sizes.sum()), dtype=np.int64) - np.repeat(starts, sizes)
        ids = np.repeat(self.ids, sizes) + places.astype(np.uint64)
        return Draws(mixed(ids), np.repeat(self.times_us, sizes))

    def part(self, place: int) -> Draws:
        """Part ``place`` of each value."""
        return Draws(self.bits(place + 16), self.times_us)
