"""The ``throughput`` part of ``benchmarks.checkpoints``: what a checkpoint every second takes from a job.

A process function with a value state, over few keys and over many, with checkpoints and without, which take
turns. A rate tells the cost on a quiet machine only. On a busy one the CPU time of all processes tells it: what
the job took more with checkpoints, divided by their number, is what one costs, and the job has two cores'
time in each second.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from rich.console import Console

from benchmarks import engine
from benchmarks.big_state import Changes
from benchmarks.measurement import PARALLELISM
from benchmarks.programs.transactions import Totals
from benchmarks.resources import adopt_orphans, cpu_seconds
from benchmarks.workloads import STATE, customer_of
from riverrun import StreamExecutionEnvironment, WatermarkStrategy
from riverrun.connectors.datagen import DataGeneratorSource
from riverrun.connectors.discard import DiscardingSink

INTERVAL_MS: Final = 1_000
ALLOWED: Final = 0.05


@dataclass(frozen=True, slots=True)
class Job:
    """One run."""

    seconds: float
    cpu: float
    checkpoints: int


@dataclass(frozen=True, slots=True)
class Cost:
    """What checkpoints took from a job over so many keys."""

    keys: int
    rates: Mapping[int, list[float]]
    """Records a second by interval; 0 is without."""
    checkpoint_cpu: float
    """Seconds of CPU for one checkpoint."""

    @property
    def lost(self) -> float:
        """The share of the rate that is lost, by the median rates."""
        return 1 - statistics.median(self.rates[INTERVAL_MS]) / statistics.median(self.rates[0])

    @property
    def share(self) -> float:
        """The share of the job's CPU time that one checkpoint a second takes."""
        return self.checkpoint_cpu / (PARALLELISM * INTERVAL_MS / 1000)


def cost(backend: str, keys: int, small: int, records: int, rounds: int, console: Console) -> Cost:
    """Measure it."""
    adopt_orphans()
    rates: dict[int, list[float]] = {0: [], INTERVAL_MS: []}
    cpu: dict[int, float] = dict.fromkeys(rates, 0.0)
    checkpoints = 0
    _run(backend, keys, small, 0)
    for turn in range(rounds):
        for interval in rates if turn % 2 == 0 else reversed(rates):
            less, more = (_run(backend, keys, each, interval) for each in (small, records))
            rates[interval].append((records - small) / (more.seconds - less.seconds))
            cpu[interval] += more.cpu - less.cpu
            checkpoints += more.checkpoints - less.checkpoints
            console.print(
                f"  {keys:,} keys, interval {interval} ms: {rates[interval][-1]:,.0f} records/s, "
                f"{(more.cpu - less.cpu) / (records - small) * 1e6:.2f} µs of CPU a record",
                highlight=False,
            )
    one = max(0.0, cpu[INTERVAL_MS] - cpu[0]) / max(1, checkpoints)
    return Cost(keys, rates, one)


def _run(backend: str, keys: int, records: int, interval: int) -> Job:
    with tempfile.TemporaryDirectory() as folder:
        environment = StreamExecutionEnvironment.get_execution_environment(
            _configuration(backend, interval, folder)
        )
        environment.set_parallelism(PARALLELISM)
        source = DataGeneratorSource(Changes(keys), records)
        changes = environment.from_source(source, WatermarkStrategy.no_watermarks(), "changes")
        changes.key_by(customer_of).process(Totals()).sink_to(DiscardingSink())
        started, cpu = time.perf_counter(), cpu_seconds() or 0.0
        client = environment.execute_async("checkpoint cost")
        client.get_job_execution_result().result()
        took, used = time.perf_counter() - started, (cpu_seconds() or 0.0) - cpu
        return Job(took, used, client.get_checkpoints().counts.completed if interval else 0)


def _configuration(backend: str, interval: int, folder: str) -> dict[str, Any]:
    values = {
        **engine.SETTINGS,
        "workload": STATE,
        "backend": backend,
        "incremental": "true",
        "checkpoint_interval": str(interval),
        "checkpoint_folder": folder,
    }
    return engine.configuration(argparse.Namespace(**values))
