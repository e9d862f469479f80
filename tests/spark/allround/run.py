"""Runs the all-round job under a test's hands, and compares what it gives with the oracle."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from riverrun.core.errors import JobCanceled, JobFailed
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.datastream.job_client import JobClient
from tests.spark.allround.chaos import Chaos
from tests.spark.allround.file_sink import committed
from tests.spark.allround.functions import Record
from tests.spark.allround.job import Shape, build, open_gate
from tests.spark.allround.oracle import problems

_END_S = 90.0

RECOVERING: Mapping[str, str] = {
    "execution.checkpointing.interval": "250 ms",
    "execution.checkpointing.tolerable-failed-checkpoints": "1000",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "1000",
    "restart-strategy.fixed-delay.delay": "100 ms",
    "riverrun.frame.bytes": "2 kb",
    "riverrun.cancel.grace": "300 ms",
}
"""A job that checkpoints often, and gets up again quickly, any number of times."""


class Run:
    """A running all-round job; both of its sinks are read."""

    def __init__(self, client: JobClient, shape: Shape, folder: Path, seed: int) -> None:
        self.client = client
        self.shape = shape
        self.folder = folder
        self.chaos = Chaos(client, seed)
        self.collected: list[Record] = []
        self.find_problems = problems

    def finish(self) -> None:
        """Let the job run to its end, and hold both results against the oracle."""
        open_gate(self.folder)
        self.client.get_job_execution_result().result(_END_S)

    def check(self) -> None:
        """Hold the results against the oracle."""
        assert self.find_problems(self.shape, committed(self.folder / "out")) == []
        assert self.find_problems(self.shape, self.collected) == []


@contextmanager
def all_round(
    env: StreamExecutionEnvironment, folder: Path, shape: Shape | None = None, seed: int = 0
) -> Iterator[Run]:
    """Start the job; what is in the block disturbs it, then it is finished and its results are checked."""
    shape = shape or Shape()
    with build(env, shape, folder).execute_and_collect("all-round") as results:
        run = Run(JobClient(results._job), shape, folder, seed)
        reader = threading.Thread(target=_read, args=(results, run.collected))
        reader.start()
        try:
            yield run
            run.finish()
        finally:
            run.client.cancel().result(_END_S)
            reader.join(_END_S)
    run.check()


def _read(results: Iterable[Record], into: list[Record]) -> None:
    # Whoever waits for the job's result hears of its failure.
    with suppress(JobFailed, JobCanceled):
        into.extend(results)
