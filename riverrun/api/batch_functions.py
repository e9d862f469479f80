"""Functions of whole batches of records, and the forms in which they get them."""

from __future__ import annotations

from abc import abstractmethod
from enum import Enum
from typing import Any

from riverrun.api.function import Function

__all__ = ["BatchFormat", "BatchFunction"]


class BatchFormat(Enum):
    """What a function of batches is given, and gives back."""

    ARROW = "arrow"
    """A pyarrow RecordBatch; a Table may come back."""
    POLARS = "polars"
    """A polars DataFrame."""
    PANDAS = "pandas"
    """A pandas DataFrame."""
    NUMPY = "numpy"
    """A dict of numpy arrays by column."""


class BatchFunction(Function):
    """A function of a batch of records, with ``open`` and ``close``."""

    @abstractmethod
    def apply(self, batch: Any) -> Any:
        """What comes of the batch: a batch for ``map_batches``, a mask for ``filter_batches``."""
