"""Rows of a run by their key: a small number for each row, and the keys that the numbers stand for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from riverrun.serde.arrow_columns import Column
from riverrun.serde.columns import ColumnRun

__all__ = ["Groups", "grouped", "grouped_by", "index_of"]

_SPARE: Final = 1024
"""How many numbers that stand for nothing are cheaper than a hash table, beside two for each row."""


class Groups(NamedTuple):
    """``keys[codes[row]]`` is the key of a row; two keys may be equal (0.0 and -0.0)."""

    codes: npt.NDArray[np.int64]
    keys: list[Any]


def grouped(run: ColumnRun, positions: Sequence[int]) -> Groups:
    """The rows by the values of some columns: the value itself for one column, a tuple for several.

    Without columns all rows have the key ``()``.
    """
    if not positions:
        return Groups(np.zeros(len(run), np.int64), [()] if len(run) else [])
    parts = [_grouped_column(run.column(at), run.layout.columns[at]) for at in positions]
    if len(parts) == 1:
        return parts[0]
    codes = parts[0].codes
    size = len(parts[0].keys)
    for part in parts[1:]:
        # The product of a few columns' sizes stays far below 2**63 for as many rows as a run has;
        # beyond that the codes are made dense again.
        if size * len(part.keys) > 1 << 62:
            codes, _ = _dense(codes, size)
            size = int(codes.max()) + 1
        codes = codes * len(part.keys) + part.codes
        size *= len(part.keys)
    codes, rows = _dense(codes, size)
    keys = list(
        zip(
            *([part.keys[code] for code in part.codes[rows].tolist()] for part in parts),
            strict=True,
        )
    )
    return Groups(codes, keys)


def grouped_by(records: Sequence[Any], key_of: Callable[[Any], Any]) -> Groups:
    """The records by what a function says of each."""
    index: dict[Any, int] = {}
    codes = np.empty(len(records), np.int64)
    for row, value in enumerate(records):
        codes[row] = index.setdefault(key_of(value), len(index))
    return Groups(codes, list(index))


def index_of(
    codes: npt.NDArray[np.int64], size: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Which of the codes below ``size`` occur, ascending, and each row's place among them."""
    if size <= 2 * len(codes) + _SPARE:
        present = np.flatnonzero(np.bincount(codes, minlength=size))
        places = np.empty(size, np.int64)
        places[present] = np.arange(len(present))
        return present, places[codes]
    present, inverse = np.unique(codes, return_inverse=True)
    return present, inverse.astype(np.int64, copy=False)


def _dense(
    codes: npt.NDArray[np.int64], size: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Codes without gaps, and a row for each of them."""
    present, places = index_of(codes, size)
    rows = np.empty(len(present), np.int64)
    rows[places] = np.arange(len(codes))
    return places, rows


def _grouped_column(array: pa.Array, column: Column) -> Groups:
    if pa.types.is_integer(array.type) and not array.null_count and len(array):
        found = _near_integers(array.to_numpy())
        if found is not None:
            return found
    try:
        encoded = array.dictionary_encode(null_encoding="encode")
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return grouped_by(column.from_array(array), _itself)  # a struct or a list
    keys = column.from_array(encoded.dictionary)
    if pa.types.is_floating(array.type):
        keys = [_NAN if key != key else key for key in keys]  # noqa: PLR0124  (true of NaN alone)
    return Groups(encoded.indices.to_numpy().astype(np.int64), keys)


def _near_integers(values: npt.NDArray[Any]) -> Groups | None:
    """Integers that lie close together are their own codes."""
    least, greatest = int(values.min()), int(values.max())
    size = greatest - least + 1
    if size > 2 * len(values) + _SPARE:
        return None
    present, codes = index_of(values.astype(np.int64) - least, size)
    return Groups(codes, (present + least).tolist())


def _itself(key: Any) -> Any:
    return key


_NAN: Final = float("nan")
"""One object for all: a dict finds a NaN by its identity only."""
