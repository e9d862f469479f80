"""A JobManager is killed, or told to end, and its standby goes on with its jobs; totals are exact."""

from __future__ import annotations

import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from riverrun.client.connection import JobManagerGone, RequestRefused
from riverrun.client.job_manager import JobManagerClient
from riverrun.cluster.ha.high_availability import high_availability
from riverrun.core.configuration import Configuration
from riverrun.core.ids import JobId
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.testing.waiting import Stopwatch, wait_until
from tests.spark.allround.file_sink import committed
from tests.spark.allround.job import Shape, build, open_gate
from tests.spark.allround.oracle import problems
from tests.spark.allround.run import RECOVERING
from tests.spark.conftest import Figure

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]
_SHAPE = Shape(per_key=300, rate=800.0)

_JOB_MANAGER = """
import json, logging, sys
from riverrun.jobmanager.leading import LedJobManager
from riverrun.jobmanager.process import run_job_manager

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
config = json.loads(sys.argv[1])
run_job_manager(config, lambda cluster: print(cluster.url, flush=True), create=LedJobManager.create)
"""


class JobManagerProcess:
    """A JobManager that leads or stands by."""

    def __init__(self, config: Mapping[str, str], folder: Path) -> None:
        # A process that is killed leaves its temporary files; names of sockets in it must be short.
        self._temporary = tempfile.mkdtemp(prefix="ha-")
        with (folder / "log").open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", _JOB_MANAGER, json.dumps(dict(config))],
                cwd=folder,
                env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": self._temporary},
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def url(self) -> str:
        """Where it serves, once it leads."""
        return self._lines.get(timeout=180).strip()

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()
        shutil.rmtree(self._temporary, ignore_errors=True)

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)


class Cluster:
    """JobManagers that stand in for each other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.config = {
            "riverrun.master": "local[2]",
            "rest.port": "0",
            "high-availability.type": "filesystem",
            "high-availability.storageDir": str(folder / "ha"),
            "riverrun.high-availability.retry-period": "500 ms",
        }
        self._made: list[JobManagerProcess] = []

    def start(self) -> JobManagerProcess:
        folder = self.folder / f"job-manager-{len(self._made)}"
        folder.mkdir()
        self._made.append(JobManagerProcess(self.config, folder))
        return self._made[-1]

    def submit(self, url: str) -> str:
        """Leave the all-round job with the JobManager at ``url``; its id."""
        env = StreamExecutionEnvironment.get_execution_environment(
            Configuration(
                {
                    **RECOVERING,
                    "riverrun.master": url,
                    "execution.attached": "false",
                    "execution.checkpointing.dir": str(self.folder / "checkpoints"),
                }
            )
        )
        build(env, _SHAPE, self.folder)
        job = env.execute_async("all-round").get_job_id()
        env.close()
        return str(job)

    def checkpoints(self) -> list[int]:
        found = (self.folder / "checkpoints").glob("*/chk-*/_metadata")
        return sorted(int(path.parent.name[4:]) for path in found)

    def await_checkpoint(self) -> int:
        """Wait for a checkpoint newer than those that are there; its number."""
        before = max(self.checkpoints(), default=0)
        wait_until(
            lambda: max(self.checkpoints(), default=0) > before,
            what="a checkpoint",
            timeout_s=180,
        )
        return max(self.checkpoints())

    def leader(self) -> str | None:
        ha = high_availability(self.config)
        assert ha is not None
        leader = ha.find_leader()
        return leader and leader.address

    def end(self) -> None:
        for each in self._made:
            each.end()


@pytest.fixture
def cluster(tmp_path: Path, nothing_left: None) -> Iterator[Cluster]:
    made = Cluster(tmp_path)
    yield made
    made.end()


def status(url: str, job: str) -> str:
    client = JobManagerClient.at(url, {})
    try:
        return client.status(JobId(job))
    except (JobManagerGone, RequestRefused):
        return "UNKNOWN"
    finally:
        client.connection.close()


@pytest.mark.parametrize(
    "ends",
    [
        pytest.param(lambda process: process.kill(), id="killed"),
        pytest.param(
            lambda process: process.send_signal(signal.SIGTERM),
            id="told to end",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_standby_goes_on_with_the_jobs_and_totals_are_exact(
    cluster: Cluster, figure: Figure, ends: Callable[[subprocess.Popen[str]], None]
) -> None:
    leader = cluster.start()
    job = cluster.submit(leader.url())
    standby = cluster.start()
    latest = cluster.await_checkpoint()

    watch = Stopwatch()
    ends(leader.process)
    newer = cluster.await_checkpoint()
    figure("from the leader's end to the next checkpoint", watch.seconds, "s")

    assert newer > latest
    url = standby.url()
    assert cluster.leader() == url
    open_gate(cluster.folder)
    wait_until(lambda: status(url, job) == "FINISHED", what="the job's end", timeout_s=180)
    assert problems(_SHAPE, committed(cluster.folder / "out")) == []
    standby.process.send_signal(signal.SIGTERM)
    assert standby.process.wait(120) == 0
    assert cluster.leader() is None
