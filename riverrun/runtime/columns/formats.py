"""Batches in the forms that functions of the program want."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from riverrun.api.batch_functions import BatchFormat
from riverrun.serde.column_views import ColumnMismatch

__all__ = ["batch_in", "columns_out", "mask_out"]


def batch_in(batch: pa.RecordBatch, form: BatchFormat) -> Any:
    """A batch as the function gets it."""
    match form:
        case BatchFormat.ARROW:
            return batch
        case BatchFormat.PANDAS:
            return batch.to_pandas()
        case BatchFormat.POLARS:
            return importlib.import_module("polars").from_arrow(batch)
        case BatchFormat.NUMPY:
            return {
                name: column.to_numpy(zero_copy_only=False)
                for name, column in zip(batch.schema.names, batch.columns, strict=True)
            }


def columns_out(given: Any, form: BatchFormat) -> dict[str, Any]:
    """What the function gave, by column.

    Raises:
        ColumnMismatch: it is no batch.
    """
    if isinstance(given, pa.RecordBatch | pa.Table):
        return dict(zip(given.schema.names, given.columns, strict=True))
    if isinstance(given, Mapping):
        return dict(given)
    if form is BatchFormat.PANDAS and type(given).__name__ == "DataFrame":
        return columns_out(pa.Table.from_pandas(given, preserve_index=False), BatchFormat.ARROW)
    if form is BatchFormat.POLARS and hasattr(given, "to_arrow"):
        return columns_out(given.to_arrow(), BatchFormat.ARROW)
    raise ColumnMismatch(
        f"the function returned {_described(given)}; expected {_EXPECTED[form]} for every batch, "
        f"also for one of which nothing is left"
    )


def mask_out(given: Any, count: int) -> npt.NDArray[np.bool_]:
    """The mask that the function gave; a null counts as false.

    Raises:
        ColumnMismatch: it is no mask, or not as long as the batch.
    """
    if hasattr(given, "to_arrow"):
        given = given.to_arrow()
    if isinstance(given, pa.ChunkedArray):
        given = given.combine_chunks()
    try:
        array = given if isinstance(given, pa.Array) else pa.array(given, from_pandas=True)
    except (pa.ArrowException, TypeError) as error:
        raise ColumnMismatch(
            f"the function returned {_described(given)}; expected a mask: an array of bools ({error})"
        ) from error
    if pa.types.is_null(array.type):
        array = array.cast(pa.bool_())
    if not pa.types.is_boolean(array.type):
        raise ColumnMismatch(f"the mask is {array.type}; expected bools")
    if len(array) != count:
        raise ColumnMismatch(
            f"the mask has {len(array)} values for a batch of {count} records; expected one a record"
        )
    mask: npt.NDArray[np.bool_] = array.fill_null(fill_value=False).to_numpy(zero_copy_only=False)
    return mask


def _described(given: Any) -> str:
    return "None" if given is None else f"a {type(given).__name__}"


_EXPECTED = {
    BatchFormat.ARROW: "a pyarrow RecordBatch or Table, or a dict of arrays",
    BatchFormat.PANDAS: "a pandas DataFrame",
    BatchFormat.POLARS: "a polars DataFrame",
    BatchFormat.NUMPY: "a dict of arrays",
}
