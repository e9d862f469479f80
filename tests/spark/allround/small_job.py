"""A small job with one task that reads and one with state and a sink, and a rider of the test in each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from riverrun.api.functions import KeyedProcessFunction, RuntimeContext
from riverrun.api.state import MapStateDescriptor, ValueStateDescriptor
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.connectors.collect import CollectSink
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.datastream.job_client import JobClient
from riverrun.serde.types import Types
from tests.spark.allround.file_sink import FileSink, committed
from tests.spark.allround.sabotage import Saboteur
from tests.spark.allround.sequences import SequenceSource

_KEYS, _PER_KEY, _RATE = 4, 5000, 200.0
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


class SmallJob:
    """The job, running in ``env``; it goes slowly until ``finish``.

    Its results go to files in ``folder``, or to this process.
    """

    def __init__(
        self,
        env: StreamExecutionEnvironment,
        folder: Path,
        saboteur: Saboteur,
        *,
        to_files: bool = True,
    ) -> None:
        self._folder = folder
        self._received: list[Any] = []
        self._to_files = to_files
        files = FileSink(str(folder / "out"))
        source = SequenceSource(_KEYS, _PER_KEY, _RATE, str(folder / "gate"))
        (
            env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
            .map(saboteur.rider("source"))
            .key_by(lambda value: value[0])
            .process(Sums())
            .name("sums")
            .map(saboteur.rider("state"))
            .sink_to(files if to_files else CollectSink(lambda _, run: self._received.extend(run)))
        )
        self.client: JobClient = env.execute_async("small")

    def finish(self) -> None:
        """Let the job run to its end, and see whether its result is exact."""
        (self._folder / "gate").touch()
        self.client.get_job_execution_result().result(_END_S)
        found = committed(self._folder / "out") if self._to_files else self._received
        expected = Counter(
            (key, n, n * (n + 1) // 2, n // 10 + 1) for key in range(_KEYS) for n in range(_PER_KEY)
        )
        assert Counter(found) == expected
