"""Large records in shared memory when its folder is full, a consumer is slow or a producer is killed."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from riverrun.api.functions import MapFunction
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.connectors.datagen import DataGeneratorSource
from riverrun.testing.leaks import Snapshot, leaks_since
from riverrun.testing.standalone import StandaloneCluster
from riverrun.testing.waiting import wait_until
from tests.spark.conftest import MARK, MakeEnv, await_status, run_script

pytestmark = pytest.mark.spark

SIZE = 1 << 20
RECORDS = 120
_FOLDER_BYTES = 12 << 20


def blob(index: int) -> tuple[int, bytes]:
    return index, index.to_bytes(4, "big") * (SIZE // 4)


def digest(record: tuple[int, bytes]) -> tuple[int, str]:
    return record[0], hashlib.sha256(record[1]).hexdigest()


def fill(file: Path) -> None:
    """Write until the file system has no room."""
    with suppress(OSError), file.open("ab", buffering=0) as filler:
        while True:
            filler.write(bytes(1 << 16))


class Fills(MapFunction):
    """Leaves no room in the folder while a part of the records passes."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def map(self, value: Any) -> Any:
        if value[0] == RECORDS // 4:
            fill(self._file)
        elif value[0] == RECORDS // 2:
            self._file.unlink(missing_ok=True)
        return value


@pytest.fixture
def small_folder(tmp_path: Path) -> Iterator[Path]:
    """A file system in memory that holds a few records."""
    options = ("-t", "tmpfs", "-o", f"size={_FOLDER_BYTES},mode=0700", "frames")
    command = ["mount", *options, str(tmp_path)]
    if os.geteuid() or subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("file systems can be mounted by root only")
    yield tmp_path
    subprocess.run(["umount", str(tmp_path)], check=True)


@pytest.mark.parametrize("full_at_first", [True, False], ids=["from the start", "under way"])
def test_a_folder_without_room_costs_no_record(
    make_env: MakeEnv, small_folder: Path, full_at_first: bool
) -> None:
    filler = small_folder / "filler"
    if full_at_first:
        fill(filler)
    env = make_env(2, {"riverrun.frame.local-folder": str(small_folder)})
    blobs = env.from_source(
        DataGeneratorSource(blob, RECORDS), WatermarkStrategy.no_watermarks(), "blobs"
    )
    digests = blobs.key_by(lambda record: record[0] % 5).map(Fills(filler)).map(digest)
    with digests.execute_and_collect() as results:
        found: Counter[Any] = Counter(results)

    assert found == Counter(digest(blob(index)) for index in range(RECORDS))
    filler.unlink(missing_ok=True)
    wait_until(lambda: not list(small_folder.iterdir()), what="the removal of the shared memory")


def takes_long(record: tuple[int, bytes]) -> int:
    time.sleep(0.1)
    return record[0]


def test_checkpoints_pass_large_records_in_front_of_a_slow_function(make_env: MakeEnv) -> None:
    env = make_env(2, {"execution.checkpointing.interval": "200 ms"})
    blobs = env.from_source(DataGeneratorSource(blob), WatermarkStrategy.no_watermarks(), "blobs")
    blobs.key_by(lambda record: record[0] % 16).map(takes_long).add_sink(lambda _: None)
    client = env.execute_async("slow")
    await_status(client)

    wait_until(lambda: client.get_checkpoints().counts.completed >= 3, what="the third checkpoint")
    client.cancel().result(30)


_PROGRAM = """
import json
from pathlib import Path
from riverrun.connectors.datagen import DataGeneratorSource
from riverrun.datastream.environment import StreamExecutionEnvironment
import helper

env = StreamExecutionEnvironment.get_execution_environment({
    "riverrun.master": Path("master").read_text(),
    "spark.driver.host": "127.0.0.1",
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "riverrun.frame.local-folder": str(Path("frames").resolve()),
    "execution.checkpointing.interval": "250 ms",
    "execution.checkpointing.dir": str(Path("checkpoints").resolve()),
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "3",
    "restart-strategy.fixed-delay.delay": "100 ms",
})
env.set_parallelism(2)
blobs = env.from_source(DataGeneratorSource(helper.blob, 200), None, "blobs")
seen = blobs.key_by(helper.key).map(helper.Seen())
with seen.execute_and_collect() as results:
    found = list(results)
    failures = [each.failure.type_name for each in results._job.failures()]
Path("found").write_text(json.dumps([found, failures]))
env.close()
"""

_HELPER = """
import os, signal, time
from pathlib import Path
from riverrun.api.functions import MapFunction

HERE = Path({here!r})

def blob(index):
    if index == 150 and not (HERE / "killed").exists():
        (HERE / "killed").write_text(os.environ["SPARK_EXECUTOR_DIRS"])
        os.kill(os.getpid(), signal.SIGKILL)
    return index, os.environ["SPARK_EXECUTOR_DIRS"], index.to_bytes(4, "big") * (1 << 18)

def key(record):
    return record[0] % 16

class Seen(MapFunction):
    def map(self, record):
        index, producer, content = record
        time.sleep(0.01)
        whole = content == index.to_bytes(4, "big") * (1 << 18)
        return index, whole, producer != os.environ["SPARK_EXECUTOR_DIRS"]
"""


def test_a_producer_is_killed_while_another_executor_maps_its_memory(tmp_path: Path) -> None:
    frames = tmp_path / "frames"
    frames.mkdir()
    (tmp_path / "helper.py").write_text(_HELPER.format(here=str(tmp_path)))
    before = Snapshot.take(MARK, daemons=True)
    with StandaloneCluster(tmp_path) as cluster:
        (tmp_path / "master").write_text(cluster.master)
        run_script(tmp_path, _PROGRAM)
    found, failures = json.loads((tmp_path / "found").read_text())

    assert (tmp_path / "killed").exists()
    assert "WorkerLost" in failures
    assert sorted(index for index, _, _ in found) == list(range(200))
    assert all(whole for _, whole, _ in found)
    assert any(elsewhere for _, _, elsewhere in found)
    wait_until(lambda: not list(frames.iterdir()), what="the removal of the shared memory")
    assert leaks_since(before, daemons=True, patience_s=20.0) == []
