"""The workloads on riverrun, on a local Spark, as ``python -m benchmarks.engine``.

The programs are in ``benchmarks.programs``. All runs of one process share its session. The small run comes first, so
the session is warm for the large one, and what a job costs to start drops out as it does for every other system.
"""

import argparse
import time
from collections.abc import Mapping
from typing import Any, Final

from benchmarks.measurement import measure, parallelism_of
from benchmarks.programs import PROGRAMS
from riverrun import StreamExecutionEnvironment
from riverrun.connectors.discard import DiscardingSink

SETTINGS: Final[Mapping[str, str]] = {
    "buffer_timeout": "10",
    "backend": "hashmap",
    "checkpoint_interval": "0",
    "checkpoint_folder": "",
    "incremental": "false",
}


def configuration(arguments: argparse.Namespace) -> dict[str, Any]:
    """The options of a job; an interval of 0 takes no checkpoints."""
    config = {
        "state.backend.type": arguments.backend,
        "execution.checkpointing.incremental": arguments.incremental,
    }
    if int(arguments.checkpoint_interval):
        config["execution.checkpointing.interval"] = f"{arguments.checkpoint_interval} ms"
        config["execution.checkpointing.dir"] = arguments.checkpoint_folder
    return config


def run(arguments: argparse.Namespace, records: int) -> float:
    """Seconds that ``execute`` takes, the start of the job included."""
    environment = StreamExecutionEnvironment.get_execution_environment(configuration(arguments))
    environment.set_parallelism(parallelism_of(arguments.workload))
    environment.set_buffer_timeout(int(arguments.buffer_timeout))
    PROGRAMS[arguments.workload].build(environment, records).sink_to(DiscardingSink())
    started = time.perf_counter()
    environment.execute(arguments.workload)
    return time.perf_counter() - started


def check(environment: StreamExecutionEnvironment, workload: str, records: int) -> None:
    """Fail unless the results over ``records`` records are those of plain Python."""
    program = PROGRAMS[workload]
    environment.set_parallelism(parallelism_of(workload))
    with program.build(environment, records).execute_and_collect() as results:
        found = program.settled(results)
    if found != program.settled(program.expected(records)):
        raise SystemExit(f"riverrun: {workload} of {records:,} records is not what Python gives")


if __name__ == "__main__":
    measure("riverrun", run, SETTINGS, tuple(PROGRAMS))
