"""About how many different values there are, in a few kilobytes.

Up to a few hundred values are counted exactly, by their hashes. Beyond that HyperLogLog: 4,096 registers
keep the greatest number of leading zeros seen among the hashes that fall to each of them. The estimate is
Ertl's (arXiv 1702.01284), which needs no tables of corrections; its standard error is 1.6 %.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import numpy.typing as npt

__all__ = ["MINUS_ONE", "HyperLogLog"]

_BITS: Final = 12
_REGISTERS: Final = 1 << _BITS
_RANKS: Final = 64 - _BITS
_EXACT: Final = 512
"""So many hashes take as much room as the registers."""

_DENSE, _SPARSE = b"d", b"s"

MINUS_ONE: Final = 0xA0761D6478BD642F
"""To be taken as the hash of -1: that of keys does not tell -1 from -2, no more than Python's does."""

Hashes = npt.NDArray[np.uint64]


class HyperLogLog:
    """A set of 64-bit hashes that only tells about how many they are.

    >>> some = HyperLogLog()
    >>> for value in (1, 2, 3, 2): some.add(value * 0x9E3779B97F4A7C15 % 2**64)
    >>> some.estimate()
    3
    """

    __slots__ = ("_few", "_registers")

    def __init__(self) -> None:
        self._few: set[int] | None = set()
        self._registers: npt.NDArray[np.uint8] | None = None

    def add(self, value_hash: int) -> None:
        """Take in the hash of one value."""
        if self._few is not None:
            self._few.add(value_hash)
            if len(self._few) > _EXACT:
                self._spread()
            return
        self.add_all(np.array([value_hash], np.uint64))

    def add_all(self, hashes: Hashes) -> None:
        """Take in the hashes of many values."""
        if self._few is not None:
            self._few.update(hashes.tolist())
            if len(self._few) > _EXACT:
                self._spread()
            return
        assert self._registers is not None  # noqa: S101  (either few or registers)
        places = (hashes >> np.uint64(_RANKS)).astype(np.int64)
        np.maximum.at(self._registers, places, _ranks(hashes))

    def merge(self, other: HyperLogLog) -> None:
        """Take in all that ``other`` has seen; ``other`` stays as it is."""
        if other._few is not None:
            self.add_all(np.fromiter(other._few, np.uint64, len(other._few)))
            return
        if self._few is not None:
            self._spread()
        assert self._registers is not None and other._registers is not None  # noqa: S101, PT018
        np.maximum(self._registers, other._registers, out=self._registers)

    def estimate(self) -> int:
        """About how many different hashes were taken in."""
        if self._few is not None:
            return len(self._few)
        assert self._registers is not None  # noqa: S101  (either few or registers)
        counts = np.bincount(self._registers, minlength=_RANKS + 2).tolist()
        z = _REGISTERS * _tau(1.0 - counts[_RANKS + 1] / _REGISTERS)
        for count in reversed(counts[1 : _RANKS + 1]):
            z = 0.5 * (z + count)
        z += _REGISTERS * _sigma(counts[0] / _REGISTERS)
        return round(_REGISTERS * _REGISTERS / (2.0 * math.log(2.0) * z))

    def to_bytes(self) -> bytes:
        """All there is to know; ``from_bytes`` gives it back."""
        if self._few is not None:
            return _SPARSE + np.array(sorted(self._few), "<u8").tobytes()
        assert self._registers is not None  # noqa: S101  (either few or registers)
        return _DENSE + self._registers.tobytes()

    @staticmethod
    def from_bytes(data: bytes) -> HyperLogLog:
        """What ``to_bytes`` wrote."""
        made = HyperLogLog()
        if data[:1] == _SPARSE:
            made._few = set(np.frombuffer(data, "<u8", offset=1).tolist())
        elif data[:1] == _DENSE and len(data) == 1 + _REGISTERS:
            made._few = None
            made._registers = np.frombuffer(data, np.uint8, offset=1).copy()
        else:
            raise ValueError(
                f"a count of different values: found {len(data)} bytes that begin with "
                f"{data[:1]!r}; expected what to_bytes wrote"
            )
        return made

    def __reduce__(self) -> tuple[object, ...]:
        return HyperLogLog.from_bytes, (self.to_bytes(),)

    def _spread(self) -> None:
        few = self._few or set()
        self._few = None
        self._registers = np.zeros(_REGISTERS, np.uint8)
        self.add_all(np.fromiter(few, np.uint64, len(few)))


def _ranks(hashes: Hashes) -> npt.NDArray[np.uint8]:
    """One more than the leading zeros of the bits below those that choose the register."""
    rest = hashes & np.uint64((1 << _RANKS) - 1)
    # The rest has at most 52 bits, which a double holds exactly: its exponent is the bit length.
    _, lengths = np.frexp(rest.astype(np.float64))
    return (_RANKS + 1 - lengths).astype(np.uint8)


def _sigma(x: float) -> float:
    if x == 1.0:
        return math.inf
    y, z, before = 1.0, x, -1.0
    while z != before:
        x *= x
        before = z
        z += x * y
        y += y
    return z


def _tau(x: float) -> float:
    if x in (0.0, 1.0):
        return 0.0
    y, z, before = 1.0, 1.0 - x, -1.0
    while z != before:
        x = math.sqrt(x)
        before = z
        y *= 0.5
        z -= (1.0 - x) ** 2 * y
    return z / 3.0
