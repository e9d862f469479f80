"""Many rows of states with one row for each address, in the order of their bytes where that is cheap."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from riverrun.state.rocksdb.number_rows import Numbers, in_order, numbers_of, row_keys
from riverrun.state.rocksdb.rows import RowFormat
from riverrun.state.rocksdb.store import Store

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
        write_numbers(
            rows, store, keys, lambda at: rows.row_values([stored[each] for each in at.tolist()])
        )
        return
    by_address = dict(zip(addresses, stored, strict=True))
    for group, found in rows.groups_of(addresses):
        values = [by_address[address] for address in found]
        store.put_all(*rows.single_rows(group, found, values))


def write_numbers(
    rows: RowFormat,
    store: Store,
    keys: Numbers,
    values_at: Callable[[npt.NDArray[np.intp]], Iterable[bytes]],
) -> None:
    """Write the rows of different ``keys``; ``values_at`` gives the row values of those at some places."""
    order = in_order(keys, rows.max_parallelism)
    for first in range(0, len(keys), _TOGETHER):
        part = order.part(first, first + _TOGETHER)
        store.put_all(row_keys(part, rows.number), values_at(part.at))
