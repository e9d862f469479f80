"""Windows on Spark while workers are killed: final contents are exact, and late records show once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from riverrun.api.functions import AggregateFunction
from riverrun.api.nesting_triggers import PurgingTrigger
from riverrun.api.output_tag import OutputTag
from riverrun.api.session_windows import EventTimeSessionWindows
from riverrun.api.triggers import EventTimeTrigger
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.api.window_assigners import SlidingEventTimeWindows, TumblingEventTimeWindows
from riverrun.api.window_functions import ProcessWindowFunction
from riverrun.core.time import Duration
from riverrun.datastream.data_stream import DataStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from tests.oracles.windows import Record, Shape, final_windows
from tests.spark.allround.chaos import Chaos, await_checkpoint, statistics
from tests.spark.allround.file_sink import FileSink, committed
from tests.spark.allround.run import RECOVERING
from tests.spark.allround.sequences import SequenceSource
from tests.spark.conftest import MakeEnv

pytestmark = pytest.mark.spark

KEYS = 8
PER_KEY = 600
DISORDER_MS = 150
STEP_MS = 10
PAUSE_MS = 200
BOUND_MS = 1200
"""Far more than the disorder: the splits of one source are not read in step to the millisecond."""
LATE = OutputTag("late")


def time_of(record: Any) -> int:
    """Bursts of twenty records, out of order by up to 150 ms; now and then one from long ago."""
    key, n = record
    time = DISORDER_MS + n * STEP_MS + n // 20 * PAUSE_MS - (7 * n + 3 * key) * 13 % DISORDER_MS
    return max(0, time - 8000) if is_straggler(record) else int(time)


def is_straggler(record: Any) -> bool:
    return bool((record[0] + record[1]) % 40 == 9)


EVERYTHING = [
    Record(str(key), key * PER_KEY + n, time_of((key, n)))
    for key in range(KEYS)
    for n in range(PER_KEY)
]
IN_TIME = [record for record in EVERYTHING if not is_straggler(divmod(record.number, PER_KEY))]


class Numbers(AggregateFunction):
    """The numbers of a window's records."""

    def create_accumulator(self) -> list[int]:
        return []

    def add(self, value: Any, accumulator: list[int]) -> list[int]:
        accumulator.append(number_of(value))
        return accumulator

    def get_result(self, accumulator: list[int]) -> list[int]:
        return sorted(accumulator)

    def merge(self, acc_a: list[int], acc_b: list[int]) -> list[int]:
        return acc_a + acc_b


class Together(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(
        self, key: Any, context: ProcessWindowFunction.Context[Any], elements: Iterable[Any]
    ) -> Iterator[Any]:
        window = context.window()
        (numbers,) = elements
        yield str(key), (window.start, window.end), numbers


class Each(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(
        self, key: Any, context: ProcessWindowFunction.Context[Any], elements: Iterable[Any]
    ) -> Iterator[Any]:
        for record in elements:
            assert context.window().start <= time_of(record) < context.window().end
            yield "window", number_of(record)


def number_of(record: Any) -> int:
    return int(record[0] * PER_KEY + record[1])


def build(env: StreamExecutionEnvironment, folder: Path) -> None:
    bounded = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(BOUND_MS))
    strategy = bounded.with_timestamp_assigner(lambda record, _: time_of(record))
    source = SequenceSource(KEYS, PER_KEY, 1500.0, str(folder / "gate"))
    records = env.from_source(source, strategy, "records")

    def keyed(stream: DataStream) -> Any:
        return stream.key_by(lambda record: record[0])

    in_time = records.filter(lambda record: not is_straggler(record))
    sliding = keyed(in_time).window(SlidingEventTimeWindows.of(400, 100))
    sliding.aggregate(Numbers(), Together()).sink_to(FileSink(str(folder / "sliding")))
    sessions = keyed(in_time).window(EventTimeSessionWindows.with_gap(40))
    sessions.aggregate(Numbers(), Together()).sink_to(FileSink(str(folder / "sessions")))
    tumbling = keyed(records).window(TumblingEventTimeWindows.of(300)).allowed_lateness(500)
    tumbling.trigger(PurgingTrigger.of(EventTimeTrigger())).side_output_late_data(LATE)
    firings = tumbling.process(Each())
    late = firings.get_side_output(LATE).map(lambda record: ("late", number_of(record)))
    firings.sink_to(FileSink(str(folder / "once")))
    late.sink_to(FileSink(str(folder / "late")))


def final(shape: Shape) -> Counter[Any]:
    return Counter(
        (key, window, tuple(sorted(numbers)))
        for key, window, numbers in final_windows(shape, IN_TIME)
    )


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_windows_are_exact_though_workers_are_killed_twice(
    make_env: MakeEnv, tmp_path: Path, backend: str
) -> None:
    unaligned = str(backend == "hashmap").lower()
    env = make_env(
        2,
        {
            **RECOVERING,
            "state.backend.type": backend,
            "execution.checkpointing.unaligned.enabled": unaligned,
            "pipeline.auto-watermark-interval": "50 ms",
        },
    )
    build(env, tmp_path)

    client = env.execute_async("windows killed")
    chaos = Chaos(client, seed=len(backend))
    chaos.kill_after_checkpoint()
    chaos.kill_within(2.0)
    await_checkpoint(client)
    (tmp_path / "gate").touch()
    client.get_job_execution_result().result(90)

    assert chaos.kills == 2
    assert statistics(client).counts.restored >= 1
    assert Counter(committed(tmp_path / "sliding")) == final(Shape("sliding", 400, 100))
    assert Counter(committed(tmp_path / "sessions")) == final(Shape("session", 40))
    # Which stragglers are late is a matter of when watermarks come; each is shown once in any case.
    late = committed(tmp_path / "late")
    shown = Counter(number for _, number in [*committed(tmp_path / "once"), *late])
    assert shown == Counter(record.number for record in EVERYTHING)
