"""A small job with one task that reads and one with state and a sink, and a rider of the test in each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from riverrun.api.functions import KeyedProcessFunction, RuntimeContext
from riverrun.api.state import MapStateDescriptor, ValueStateDescriptor
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.datastream.job_client import JobClient
from riverrun.serde.types import Types
from tests.spark.allround.file_sink import FileSink, committed
from tests.spark.allround.sabotage import Saboteur
from tests.spark.allround.sequences import SequenceSource

_KEYS, _PER_KEY = 4, 5000
_END_S = 60.0


class Sums(KeyedProcessFunction):
    """The sum of each key, and how often it had each last digit."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._sum = runtime_context.get_state(ValueStateDescriptor("sum", Types.LONG()))
        self._digits = runtime_context.get_map_state(
            MapStateDescriptor("digits", Types.LONG(), Types.LONG())
        )

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        key, n = value
        total = (self._sum.value() or 0) + n
        self._sum.update(total)
        self._digits.put(n % 10, (self._digits.get(n % 10) or 0) + 1)
        yield (key, n, total, self._digits.get(n % 10))


def start_small_job(env: StreamExecutionEnvironment, folder: Path, saboteur: Saboteur) -> JobClient:
    """The job, running in ``env``; it goes slowly until ``finish_small_job``."""
    source = SequenceSource(_KEYS, _PER_KEY, 200.0, str(folder / "gate"))
    (
        env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
        .map(saboteur.rider("source"))
        .key_by(lambda value: value[0])
        .process(Sums())
        .name("sums")
        .map(saboteur.rider("state"))
        .sink_to(FileSink(str(folder / "out")))
    )
    return env.execute_async("small")


def finish_small_job(client: JobClient, folder: Path) -> None:
    """Let the job run to its end, and see whether its result is exact."""
    (folder / "gate").touch()
    client.get_job_execution_result().result(_END_S)
    expected = Counter(
        (key, n, n * (n + 1) // 2, n // 10 + 1) for key in range(_KEYS) for n in range(_PER_KEY)
    )
    assert Counter(committed(folder / "out")) == expected
