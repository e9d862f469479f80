"""Nexmark's queries on riverrun, on a local Spark, as ``python -m benchmarks.nexmark.job``.

``--logic rows`` runs the query on records, ``--logic columns`` on columns where there is such a version.
"""

import argparse
import time
from collections.abc import Mapping
from typing import Final

from benchmarks.measurement import PARALLELISM, measure
from benchmarks.nexmark.column_queries import COLUMN_QUERIES
from benchmarks.nexmark.queries import QUERIES
from benchmarks.nexmark.source import column_stream, event_stream
from riverrun import DataStream, StreamExecutionEnvironment
from riverrun.connectors.discard import DiscardingSink

SETTINGS: Final[Mapping[str, str]] = {
    "buffer_timeout": "10",
    "backend": "hashmap",
    "logic": "rows",
}


def query_of(
    environment: StreamExecutionEnvironment, query: str, logic: str, records: int
) -> DataStream:
    """The results of ``query`` over the first ``records`` events."""
    if logic == "columns":
        return COLUMN_QUERIES[query](column_stream(environment, records))
    return QUERIES[query](event_stream(environment, records))


def run(arguments: argparse.Namespace, records: int) -> float:
    """Seconds that ``execute`` takes, the start of the job included."""
    environment = StreamExecutionEnvironment.get_execution_environment(
        {"riverrun.master": f"local[{PARALLELISM}]", "state.backend.type": arguments.backend}
    )
    environment.set_parallelism(PARALLELISM)
    environment.set_buffer_timeout(int(arguments.buffer_timeout))
    results = query_of(environment, arguments.workload, arguments.logic, records)
    results.sink_to(DiscardingSink())
    started = time.perf_counter()
    environment.execute(arguments.workload)
    return time.perf_counter() - started


if __name__ == "__main__":
    measure("riverrun", run, SETTINGS, tuple(QUERIES))
