"""Ranges of values: a column's values from the least to the greatest, in parts of about equal length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["JdbcNumericBetweenParametersProvider", "inner_borders"]


def inner_borders(low: Any, high: Any, parts: int) -> list[Any]:
    """Where the parts of the values from ``low`` to ``high`` end and the next ones begin.

    Numbers, dates and times can be parted.

    >>> inner_borders(0, 9, 3)
    [3, 6]
    >>> inner_borders(5, 6, 4)
    [6]
    """
    if isinstance(low, int):
        length = high - low + 1
        borders = [low + length * part // parts for part in range(1, parts)]
    else:
        borders = [low + (high - low) * part / parts for part in range(1, parts)]
    return sorted({border for border in borders if low < border <= high})


class JdbcNumericBetweenParametersProvider:
    """Pairs of numbers for a query with ``BETWEEN ? AND ?``: Flink's name and meaning.

    >>> JdbcNumericBetweenParametersProvider(0, 9).of_batch_num(3).get_parameter_values()
    [(0, 2), (3, 5), (6, 9)]
    """

    def __init__(self, min_val: int, max_val: int) -> None:
        if min_val > max_val:
            raise ValueError(
                f"JdbcNumericBetweenParametersProvider: goes from {min_val} to {max_val}; expected the "
                f"first not above the second"
            )
        self._min, self._max, self._parts = min_val, max_val, 1

    def of_batch_num(self, batch_num: int) -> JdbcNumericBetweenParametersProvider:
        """So many pairs, or as many as there are numbers."""
        if batch_num < 1:
            raise ValueError(f"of_batch_num: got {batch_num}; expected 1 or more")
        self._parts = batch_num
        return self

    def of_batch_size(self, batch_size: int) -> JdbcNumericBetweenParametersProvider:
        """Pairs with about so many numbers each."""
        if batch_size < 1:
            raise ValueError(f"of_batch_size: got {batch_size}; expected 1 or more")
        self._parts = -(-(self._max - self._min + 1) // batch_size)
        return self

    def get_parameter_values(self) -> list[tuple[int, int]]:
        """The pairs, in order."""
        borders: Sequence[int] = inner_borders(self._min, self._max, self._parts)
        return list(
            zip([self._min, *borders], [*(each - 1 for each in borders), self._max], strict=True)
        )
