"""The seam between streams and Spark's DataFrames: named here, done by the one package that knows Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import pyarrow as pa

from riverrun.graph.named_classes import load_class

__all__ = ["DataFrames", "dataframes"]

_SPARK: Final = "riverrun.spark.driver.dataframes:SparkDataFrames"


class DataFrames(Protocol):
    """What streams ask of Spark. A frame is a ``pyspark.sql.DataFrame``, a session a ``SparkSession``."""

    def check_frame(self, who: str, frame: object) -> None:
        """Raise TypeError unless it is a DataFrame of a batch query."""

    def arrow_schema(self, frame: object) -> pa.Schema:
        """The columns of a frame; times of the session's zone are times in UTC."""

    def for_each_partition(
        self, frame: object, body: Callable[[int, Iterator[pa.RecordBatch]], Any]
    ) -> list[Any]:
        """Call ``body`` with the number and the batches of each partition, in Spark's tasks.

        Returns:
            What ``body`` gave, by the number of the partition; of a task that ran twice, what counts.
        """

    def session(self, who: str, given: object | None) -> object:
        """The session to work with: the one that is given, else the active one of this process."""

    def one_machine(self, session: object) -> bool:
        """Whether the session's tasks run in its driver, so that files of this machine serve them."""

    def read_parquet(self, session: object, files: Sequence[str], schema: pa.Schema) -> object:
        """A frame of the rows of Parquet files, typed by ``schema``."""

    def delete_at_exit(self, session: object, folder: Path) -> None:
        """Let Spark remove a folder of this machine when it ends."""


def dataframes(who: str) -> DataFrames:
    """The package that knows DataFrames, loaded now.

    Raises:
        ProgramError: pyspark is not installed.
    """
    found = load_class(
        _SPARK,
        lambda package: (
            f"{who}: needs the package {package!r}, which is not installed; run: "
            f"pip install 'riverrun[spark]'"
        ),
    )
    made: DataFrames = found()
    return made
