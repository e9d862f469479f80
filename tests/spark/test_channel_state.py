"""Unaligned checkpoints of a back-pressured job on Spark, from which it goes on with another parallelism."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from riverrun.api.process_functions import KeyedProcessFunction
from riverrun.api.runtime_context import RuntimeContext
from riverrun.api.state import ValueStateDescriptor
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.datastream.job_client import JobClient
from riverrun.serde.types import Types
from riverrun.testing.waiting import wait_until
from tests.spark.allround.chaos import Chaos, statistics, take_checkpoint
from tests.spark.allround.file_sink import FileSink, committed
from tests.spark.allround.sequences import SequenceSource
from tests.spark.conftest import Figure, MakeEnv

pytestmark = pytest.mark.spark

KEYS, PER_KEY = 8, 1500
EXACT = Counter((key, number, number) for key in range(KEYS) for number in range(PER_KEY))
UNALIGNED = {
    "execution.checkpointing.interval": "1000 h",
    "execution.checkpointing.unaligned.enabled": "true",
    "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
    "riverrun.frame.bytes": "8 kb",
    "riverrun.cancel.grace": "300 ms",
}


PADDING = "." * 2000
"""Makes records large, so that few of them fill the buffers on their way."""


def as_plain(record: tuple[int, int]) -> Any:
    return (*record, PADDING)


class SlowCount(KeyedProcessFunction):
    """Numbers the records of each key, slowly until there is a file ``gate``."""

    def __init__(self, gate: Path) -> None:
        self._gate = gate

    def open(self, runtime_context: RuntimeContext) -> None:
        self._seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        if not self._gate.exists():
            time.sleep(0.001)
        seen = self._seen.value() or 0
        self._seen.update(seen + 1)
        # Records of a key come in order: its number is the one that the source gave it.
        yield ctx.get_current_key(), seen, value[1]


class Large(NamedTuple):
    """A record of a known type: it travels as plain values, without its class."""

    key: int
    number: int
    padding: str


def as_large(record: tuple[int, int]) -> Large:
    return Large(*record, PADDING)


def start(
    env: StreamExecutionEnvironment, folder: Path, make: Callable[[Any], Any] = as_plain
) -> JobClient:
    source = SequenceSource(KEYS, PER_KEY, rate=1e6)
    records = env.from_source(source, None, "records").uid("records")
    large = records.map(make)
    counted = large.key_by(lambda record: record[0]).process(SlowCount(folder / "gate"))
    counted.uid("count").name("count").sink_to(FileSink(str(folder / "results"))).uid("files")
    return env.execute_async("pressed")


def checkpoint_with_records_in_flight(client: JobClient, figure: Figure) -> str:
    """Take checkpoints until one has channel state; where that is."""

    def taken() -> str | None:
        location = take_checkpoint(client)
        latest = statistics(client).latest.completed
        assert latest is not None
        if latest.totals.persisted_data < 20_000:
            return None
        figure("channel state of a back-pressured job", latest.totals.persisted_data / 1000, "kB")
        return location

    location = wait_until(taken, what="a checkpoint with records in flight")
    assert location is not None
    return location


def test_a_back_pressured_job_goes_on_from_unaligned_checkpoints_at_other_parallelisms(
    make_env: MakeEnv, tmp_path: Path, figure: Figure
) -> None:
    config = {**UNALIGNED, "execution.checkpointing.dir": str(tmp_path / "checkpoints")}
    for parallelism in (2, 3):
        client = start(make_env(parallelism, config), tmp_path)
        location = checkpoint_with_records_in_flight(client, figure)
        client.cancel().result(60)
        config["execution.state-recovery.path"] = location
    assert len(list(committed(tmp_path / "results"))) < KEYS * PER_KEY

    (tmp_path / "gate").touch()
    last = start(make_env(1, config), tmp_path)
    last.get_job_execution_result().result(60)

    assert Counter(committed(tmp_path / "results")) == EXACT


def test_records_of_a_known_type_in_flight_survive_a_killed_worker(
    make_env: MakeEnv, tmp_path: Path, figure: Figure
) -> None:
    config = {**UNALIGNED, "execution.checkpointing.dir": str(tmp_path / "checkpoints")}
    client = start(make_env(2, config), tmp_path, as_large)
    chaos = Chaos(client)

    for subtask in (0, 1):
        checkpoint_with_records_in_flight(client, figure)
        chaos.kill_and_recover("count", subtask)
    restored = statistics(client).latest.restored
    assert restored is not None
    (tmp_path / "gate").touch()
    client.get_job_execution_result().result(60)

    assert Counter(committed(tmp_path / "results")) == EXACT
