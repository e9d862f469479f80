"""Spark's DataFrames, as streams need them; satisfies ``graph.dataframes.DataFrames``."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from riverrun.core.errors import ExternalError, ProgramError
from riverrun.spark.driver.explain import explain
from riverrun.spark.driver.jvm import SparkJvm
from riverrun.spark.worker.partition_body import PartitionBody

_RESULT: Final = "partition int, result binary"


class SparkDataFrames:
    """Classic DataFrames of a session in this process."""

    def check_frame(self, who: str, frame: object) -> None:
        if not isinstance(frame, DataFrame) or not isinstance(frame.sparkSession, SparkSession):
            raise TypeError(
                f"{who}: got {type(frame).__name__}; expected a pyspark.sql.DataFrame of a classic "
                f"SparkSession"
            )
        if frame.isStreaming:
            raise TypeError(
                f"{who}: got a DataFrame of a streaming query; expected one of a batch query: read the "
                f"source of the query with a connector instead"
            )

    def arrow_schema(self, frame: Any) -> pa.Schema:
        try:
            return to_arrow_schema(frame.schema, timezone="UTC")
        except PySparkException as error:
            raise ProgramError(
                f"the DataFrame has a column that Arrow has no type for ({explain(str(error))}); "
                f"cast it to another type before"
            ) from error

    def for_each_partition(
        self, frame: Any, body: Callable[[int, Iterator[pa.RecordBatch]], Any]
    ) -> list[Any]:
        try:
            rows = frame.mapInArrow(PartitionBody(body), _RESULT).collect()
        except PySparkException as error:
            raise ExternalError(
                f"Spark failed to run the DataFrame: {explain(str(error))}"
            ) from error
        found = {row["partition"]: pickle.loads(row["result"]) for row in rows}
        return [found[number] for number in sorted(found)]

    def session(self, who: str, given: object | None) -> SparkSession:
        # The active session is the thread's; the other one is the last that this process made.
        session = given or SparkSession.getActiveSession() or SparkSession._instantiatedSession  # noqa: SLF001
        if not isinstance(session, SparkSession):
            raise ProgramError(
                f"{who}: there is no Spark session; expected get_execution_environment(spark=...), or "
                f"one that is active in this process (found {session!r})"
            )
        return session

    def one_machine(self, session: Any) -> bool:
        return SparkJvm(session).is_local()

    def read_parquet(self, session: Any, files: Sequence[str], schema: pa.Schema) -> DataFrame:
        typed = from_arrow_schema(schema, prefer_timestamp_ntz=True)
        if not files:
            return session.createDataFrame([], typed)
        # A path alone is one of the session's default file system, which may be another.
        located = [each if "://" in each else f"file://{each}" for each in files]
        return session.read.schema(typed).parquet(*located)

    def delete_at_exit(self, session: Any, folder: Path) -> None:
        SparkJvm(session).delete_at_exit(folder)
