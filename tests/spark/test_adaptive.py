"""An adaptive job on a standalone cluster: it starts with what is there, grows, and goes on with less."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from riverrun.testing.standalone import StandaloneCluster
from riverrun.testing.waiting import Stopwatch, wait_until
from tests.spark.allround.file_sink import committed
from tests.spark.conftest import Figure, start_script

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]
KEYS, PER_KEY = 16, 500

_PROGRAM = f"""
import json
from pathlib import Path
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.datastream.environment import StreamExecutionEnvironment
from tests.spark.allround.file_sink import FileSink
from tests.spark.allround.run import RECOVERING
from tests.spark.allround.sequences import SequenceSource

here = Path.cwd()
prefix = "jobmanager.adaptive-scheduler"
env = StreamExecutionEnvironment.get_execution_environment({{
    **RECOVERING,
    "riverrun.master": (here / "master").read_text(),
    "execution.checkpointing.dir": str(here / "store"),
    "jobmanager.scheduler": "adaptive",
    f"{{prefix}}.submission.resource-stabilization-timeout": "0 ms",
    f"{{prefix}}.executing.cooldown-after-rescaling": "1 s",
    f"{{prefix}}.executing.resource-stabilization-timeout": "1 s",
    "spark.driver.host": "127.0.0.1",
    "spark.task.cpus": "0.25",
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}})
env.set_parallelism(4)
source = SequenceSource({KEYS}, {PER_KEY}, 40.0, str(here / "gate"))
(
    env.from_source(source, WatermarkStrategy.no_watermarks(), "sequences")
    .map(lambda v: (v[0], 1, v[1]))
    .key_by(lambda v: v[0])
    .reduce(lambda a, b: (a[0], a[1] + b[1], a[2] + b[2]))
    .sink_to(FileSink(str(here / "out")))
)
client = env.execute_async("adaptive")
last = None
while not client.get_job_status().result().is_terminal_state():
    execution = client._job.execution
    if execution.all_running_or_finished():
        now = [len(vertex.subtasks) for vertex in execution.vertices.values()]
        if now != last:
            last = now
            with Path("said").open("a") as said:
                said.write(json.dumps(now) + "\\n")
    try:
        client._job.wait(0.1)
    except TimeoutError:
        pass
client.get_job_execution_result().result()
with Path("said").open("a") as said:
    said.write(json.dumps([each.failure.type_name for each in client.get_failures()]) + "\\n")
env.close()
"""


class Program:
    """The program, and the parallelisms with which all its tasks ran."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.process = start_script(folder, _PROGRAM, {"PYTHONPATH": str(ROOT)})

    def said(self) -> list[Any]:
        path = self._folder / "said"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def await_last(self, parallelism: list[int]) -> None:
        def there() -> bool:
            if self.process.poll() is not None:
                out, err = self.process.communicate()
                raise AssertionError(f"the program ended; it said {self.said()}\n{out}\n{err}")
            return self.said()[-1:] == [parallelism]

        wait_until(there, what=f"the job runs as {parallelism}", timeout_s=180)

    def finish(self) -> None:
        (self._folder / "gate").touch()
        out, err = self.process.communicate(timeout=180)
        assert self.process.returncode == 0, f"{out}\n{err}"


@pytest.fixture
def cluster(tmp_path: Path, nothing_left: None) -> Iterator[StandaloneCluster]:
    with StandaloneCluster(tmp_path, workers=1) as made:
        (tmp_path / "master").write_text(made.master)
        yield made


def test_an_adaptive_job_follows_executors_and_its_result_is_exact(
    cluster: StandaloneCluster, tmp_path: Path, figure: Figure
) -> None:
    program = Program(tmp_path)
    try:
        program.await_last([2, 2])

        watch = Stopwatch()
        second = cluster.add_worker()
        program.await_last([4, 4])
        figure("from a new worker's start until the job uses it", watch.seconds, "s")

        watch = Stopwatch()
        cluster.kill_worker(second)
        program.await_last([2, 2])
        figure("from a worker's death until the job goes on with fewer", watch.seconds, "s")
        program.finish()
    finally:
        program.process.kill()
        program.process.communicate()

    *_, failures = program.said()
    assert "WorkerLost" in failures
    found = sorted(committed(tmp_path / "out"))
    assert [record[:2] for record in found] == [
        (key, count + 1) for key in range(KEYS) for count in range(PER_KEY)
    ]
    assert {key: total for key, _, total in found} == dict.fromkeys(
        range(KEYS), sum(range(PER_KEY))
    )
