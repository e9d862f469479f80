"""Large records, through exchanges and a relay: in shared memory, in parts through Spark, or both in turn."""

from __future__ import annotations

import hashlib
import os
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from riverrun.api.functions import MapFunction, RuntimeContext
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.connectors.datagen import DataGeneratorSource
from riverrun.protocol.parts import MOST_BYTES
from riverrun.testing.waiting import wait_until
from tests.spark.allround.run import RECOVERING
from tests.spark.conftest import MakeEnv

pytestmark = pytest.mark.spark

RECORDS = 60
SIZES = (10, MOST_BYTES - 10, MOST_BYTES + 10, 3 * MOST_BYTES, 5 * MOST_BYTES + 7)


def blob(index: int) -> tuple[int, bytes]:
    return index, (str(index).encode() * SIZES[index % len(SIZES)])[: SIZES[index % len(SIZES)]]


def digest(way: str, record: tuple[int, bytes]) -> tuple[str, int, str]:
    return way, record[0], hashlib.sha256(record[1]).hexdigest()


WAYS = {
    "shared memory": {},
    "parts through Spark": {"riverrun.frame.local-memory": "0"},
    "both, as there is little memory": {"riverrun.frame.local-memory": "1 mb"},
    "all frames in shared memory": {"riverrun.frame.local-bytes": "1"},
}


class IsKilled(MapFunction):
    """Ends its process as the kernel would, in the first attempt, at the given record."""

    def __init__(self, record: int) -> None:
        self._record = record

    def open(self, runtime_context: RuntimeContext) -> None:
        self._first = runtime_context.get_attempt_number() == 0

    def map(self, value: Any) -> Any:
        if self._first and value[0] == self._record:
            os.kill(os.getpid(), signal.SIGKILL)
        return value


def left_in(folder: Path) -> list[Path]:
    return [each for job in folder.iterdir() for each in (job, *job.iterdir())]


@pytest.mark.parametrize("config", WAYS.values(), ids=WAYS)
def test_they_arrive_whole_and_once_on_every_way(
    make_env: MakeEnv, config: dict[str, str], tmp_path: Path
) -> None:
    env = make_env(2, {"riverrun.frame.local-folder": str(tmp_path)} | config)
    blobs = env.from_source(
        DataGeneratorSource(blob, RECORDS), WatermarkStrategy.no_watermarks(), "blobs"
    )
    # What goes to "both" straight from the source passes the layer of "first" by a relay.
    first = blobs.key_by(lambda record: record[0] % 5).map(lambda record: record).name("first")
    long_way = first.rebalance().map(lambda record: ("long", record))
    short_way = blobs.rebalance().map(lambda record: ("short", record))
    both = long_way.union(short_way).rebalance().map(lambda each: digest(*each)).name("both")

    with both.execute_and_collect() as results:
        found: Counter[Any] = Counter(results)

    expected = {digest(way, blob(index)) for way in ("long", "short") for index in range(RECORDS)}
    assert found == Counter(dict.fromkeys(expected, 1))
    wait_until(lambda: not left_in(tmp_path), what="the removal of the shared memory")


@pytest.mark.parametrize(("memory", "shared"), [("16 mb", True), ("0", False)])
def test_they_lie_in_shared_memory_unless_that_is_switched_off(
    make_env: MakeEnv, memory: str, shared: bool, tmp_path: Path
) -> None:
    folder = str(tmp_path)
    env = make_env(
        2, {"riverrun.frame.local-folder": folder, "riverrun.frame.local-memory": memory}
    )
    blobs = env.from_source(
        DataGeneratorSource(blob, RECORDS), WatermarkStrategy.no_watermarks(), "blobs"
    )
    arenas = blobs.rebalance().map(lambda _: len(list(Path(folder).glob("*/" + 32 * "[0-9a-f]"))))
    with arenas.execute_and_collect() as results:
        assert any(results) is shared


@pytest.mark.parametrize("unaligned", ["false", "true"], ids=["aligned", "unaligned"])
def test_after_a_kill_they_arrive_once_and_nothing_is_left_behind(
    make_env: MakeEnv, unaligned: str, tmp_path: Path
) -> None:
    config = {
        "riverrun.frame.local-folder": str(tmp_path),
        "execution.checkpointing.unaligned.enabled": unaligned,
    }
    env = make_env(2, {**RECOVERING, **config})
    blobs = env.from_source(
        DataGeneratorSource(blob, RECORDS, 60.0), WatermarkStrategy.no_watermarks(), "blobs"
    )
    digests = (
        blobs.key_by(lambda record: record[0] % 5)
        .map(IsKilled(RECORDS - 9))
        .map(lambda record: digest("killed", record))
    )
    with digests.execute_and_collect() as results:
        client = results._job
        found: Counter[Any] = Counter(results)

    expected = {digest("killed", blob(index)) for index in range(RECORDS)}
    assert found == Counter(dict.fromkeys(expected, 1))
    assert [record.failure.type_name for record in client.failures()] == ["WorkerLost"]
    wait_until(lambda: not left_in(tmp_path), what="the removal of the shared memory")
