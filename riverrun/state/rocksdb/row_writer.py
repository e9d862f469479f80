"""Many rows of states with one row for each address, in the order of their bytes where that is cheap."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from riverrun.state.rocksdb.number_rows import (
    Numbers,
    in_order,
    int_row_values,
    numbers_of,
    row_keys,
)
from riverrun.state.rocksdb.rows import RowFormat
from riverrun.state.rocksdb.store import Store

RowValues: TypeAlias = Callable[[npt.NDArray[np.intp]], Iterable[bytes]]
"""Gives the row values of those at some places."""

_TOGETHER: Final = 2048
"""Rows that are made together."""
_FEW: Final = 16
"""So few rows are not worth arrays."""


def write_singles(
    rows: RowFormat, store: Store, addresses: Sequence[Any], stored: Sequence[Any]
) -> None:
    """Write the rows of different addresses, of a state that is neither map nor list."""
    keys = None
    if not rows.schema.meta.namespaced and len(addresses) > _FEW:
        keys = numbers_of(addresses)
    if keys is not None:
        write_numbers(rows, store, keys, _values_of(rows, stored))
        return
    by_address = dict(zip(addresses, stored, strict=True))
    for group, found in rows.groups_of(addresses):
        values = [by_address[address] for address in found]
        store.put_all(*rows.single_rows(group, found, values))


def _values_of(rows: RowFormat, stored: Sequence[Any]) -> RowValues:
    if rows.holds_ints:
        rows.check_values(stored)
        # Read in the order in which they lie in memory, and only then brought into that of the rows.
        numbers = numbers_of(stored)
        if numbers is not None:
            return lambda at: int_row_values(numbers[at])
    return lambda at: rows.row_values([stored[each] for each in at.tolist()])


def write_numbers(rows: RowFormat, store: Store, keys: Numbers, values_at: RowValues) -> None:
    """Write the rows of different ``keys``."""
    order = in_order(keys, rows.max_parallelism)
    parts = (order.part(first, first + _TOGETHER) for first in range(0, len(keys), _TOGETHER))
    store.put_sorted(
        ((row_keys(part, rows.number), values_at(part.at)) for part in parts), len(keys)
    )
