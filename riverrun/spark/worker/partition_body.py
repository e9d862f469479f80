"""What Spark's tasks run for a function over the partitions of a DataFrame."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from pyspark import TaskContext


class PartitionBody:
    """Calls ``body`` once for a partition, and gives what came of it as one row; for ``mapInArrow``."""

    def __init__(self, body: Callable[[int, Iterator[pa.RecordBatch]], Any]) -> None:
        self._body = body

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The mapped partition."""
        context = TaskContext.get()
        assert context is not None  # noqa: S101  (it runs in a task)
        number = context.partitionId()
        result = pickle.dumps(self._body(number, batches))
        yield pa.RecordBatch.from_arrays(
            [pa.array([number], pa.int32()), pa.array([result], pa.binary())],
            names=["partition", "result"],
        )
