"""From records to columns: the first step of checking and of encoding a run of tuples."""

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

__all__ = ["columns_of"]

# Unpacking checks the length of each tuple for free, and one comprehension a column is faster than
# zip(*records), which makes an iterator a record; from five fields on zip wins.
_FIRST_COLUMN: dict[int, Callable[[Sequence[Any]], list[Any]]] = {
    1: lambda records: [first for (first,) in records],
    2: lambda records: [first for first, _ in records],
    3: lambda records: [first for first, _, _ in records],
    4: lambda records: [first for first, _, _, _ in records],
}


def columns_of(records: Sequence[Sequence[Any]], arity: int) -> list[Sequence[Any]]:
    """The columns of sequences that must each have ``arity`` items, else ValueError.

    >>> columns_of([(1, "a"), (2, "b")], 2)
    [[1, 2], ['a', 'b']]
    """
    if not records:
        return [[] for _ in range(arity)]
    if arity in _FIRST_COLUMN:
        rest = (list(map(itemgetter(position), records)) for position in range(1, arity))
        return [_FIRST_COLUMN[arity](records), *rest]
    columns: list[Sequence[Any]] = list(zip(*records, strict=True))
    if len(columns) != arity:
        raise ValueError(f"expected {arity} items in each record, found {len(columns)}")
    return columns
