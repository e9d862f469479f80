"""Exactly once from end to end: all that can be killed is killed, and both ends agree with the oracle.

The all-round job runs as a script of its own on a standalone cluster, between two real systems.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from riverrun.testing import processes
from riverrun.testing.standalone import StandaloneCluster
from riverrun.testing.waiting import wait_until
from tests.servers.kafka import KafkaBroker
from tests.servers.postgres import OWNER, PASSWORD, PostgresServer, find_programs
from tests.spark.allround.job import Shape, open_gate
from tests.spark.allround.oracle import problems
from tests.spark.allround.run import RECOVERING
from tests.spark.conftest import MARK, Row
from tests.spark.pairs.ends import Pair, sequences

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
SHAPE = Shape(keys=12, per_key=2500, rate=200.0, slow_s=0.0)
PARTS = 4
KINDS = ("worker", "executor", "server", "driver", "worker", "executor", "server", "driver")
_EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
_PROGRAM = f"""
import json
from pathlib import Path
from riverrun.datastream.environment import StreamExecutionEnvironment
from tests.spark.allround.job import Shape
from tests.spark.pairs.ends import build

here = Path(__file__).resolve().parent
env = StreamExecutionEnvironment.get_execution_environment()
build(env, {SHAPE!r}, here, json.loads((here / "pair.json").read_text()))
env.execute("pair")
"""


@pytest.fixture
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    server = KafkaBroker(tmp_path_factory.mktemp("kafka"))
    server.start()
    yield server
    server.kill()


@pytest.fixture
def postgres() -> Iterator[PostgresServer]:
    programs = find_programs()
    if programs is None:
        pytest.skip("no PostgreSQL on this machine")
    server = PostgresServer(programs)
    yield server
    server.close()


def filled_topic(broker: KafkaBroker) -> str:
    topic = broker.create_topic(partitions=PARTS)
    for part in range(PARTS):
        broker.produce(topic, sequences(SHAPE, part, PARTS), partition=part)
    return topic


def filled_folder(folder: Path) -> str:
    folder.mkdir()
    for part in range(PARTS):
        lines = "".join(f"{line}\n" for line in sequences(SHAPE, part, PARTS))
        (folder / f"{part}.jsonl").write_text(lines)
    return str(folder)


@pytest.fixture
def kafka_to_kafka(broker: KafkaBroker) -> Pair:
    target = broker.create_topic(partitions=3)

    def read_back() -> list[str]:
        found = broker.consume(target).values()
        return [message.value().decode() for each in found for message in each]

    settings = {
        "source": "kafka",
        "servers": broker.bootstrap_servers,
        "topic": filled_topic(broker),
        "sink": "kafka",
        "target": target,
    }
    return Pair(settings, read_back, broker.restart)


@pytest.fixture
def files_to_files(tmp_path: Path) -> Pair:
    out = tmp_path / "files-out"

    def read_back() -> list[str]:
        visible = [path for path in out.rglob("*") if path.is_file()]
        return [
            line
            for path in visible
            if not path.name.startswith((".", "_"))
            for line in path.read_text().splitlines()
        ]

    folder = filled_folder(tmp_path / "files-in")
    return Pair({"source": "files", "folder": folder, "sink": "files", "out": str(out)}, read_back)


@pytest.fixture
def kafka_to_postgresql(broker: KafkaBroker, postgres: PostgresServer) -> Pair:
    database = postgres.create_database()
    database.execute("CREATE TABLE results (line text)")
    settings = {
        "source": "kafka",
        "servers": broker.bootstrap_servers,
        "topic": filled_topic(broker),
        "sink": "postgresql",
        "url": database.url,
        "user": OWNER,
        "password": PASSWORD,
    }
    return Pair(
        settings,
        lambda: [line for (line,) in database.execute("SELECT line FROM results")],
        postgres.restart,
    )


@pytest.fixture
def files_to_delta(tmp_path: Path) -> Pair:
    table = str(tmp_path / "table")

    def read_back() -> list[str]:
        deltalake = pytest.importorskip("deltalake")
        found: list[str] = deltalake.DeltaTable(table).to_pyarrow_table()["line"].to_pylist()
        return found

    folder = filled_folder(tmp_path / "files-in")
    return Pair({"source": "files", "folder": folder, "sink": "delta", "table": table}, read_back)


class Script:
    """The job as a program of its own, on a cluster."""

    def __init__(self, folder: Path, pair: Pair, master: str) -> None:
        self.folder = folder
        self.store = folder / "store"
        config = {
            **RECOVERING,
            "execution.checkpointing.interval": "400 ms",
            "execution.checkpointing.dir": str(self.store),
            "riverrun.master": master,
            "spark.driver.host": "127.0.0.1",
            "spark.executor.memory": "512m",
            "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        }
        self._definitions = [f"-D{key}={value}" for key, value in config.items()]
        (folder / "pair.json").write_text(json.dumps(pair.settings))
        (folder / "job.py").write_text(_PROGRAM)
        self.driver = self._start("--job-id", "0123456789abcdef0123456789abcdef")

    def checkpoints(self) -> int:
        """The number of the newest complete checkpoint."""
        found = self.store.glob("*/chk-*/_metadata")
        return max((int(path.parent.name[4:]) for path in found), default=0)

    def await_checkpoint(self) -> None:
        """Wait for a checkpoint newer than those that are there."""
        before = self.checkpoints()
        self.await_while(lambda: self.checkpoints() > before, "a checkpoint")

    def await_while(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for something that happens only while the driver runs."""

        def happened() -> bool:
            if self.driver.poll() is not None:
                out, err = self.driver.communicate()
                raise AssertionError(f"the driver ended before: {what}\n{out}\n{err}")
            return condition()

        try:
            wait_until(happened, what=what, timeout_s=120)
        except TimeoutError as e:
            self.driver.kill()
            out, err = self.driver.communicate()
            raise AssertionError(f"{e}\n{out[-8000:]}\n{err[-8000:]}") from e

    def kill_driver(self) -> None:
        """Kill the driver, wait until its executors are gone, and resume the job."""
        self.driver.kill()
        self.driver.communicate(timeout=60)
        wait_until(lambda: not executors(), what="no executor", timeout_s=60)
        self.driver = self._start("--resume")

    def finish(self) -> None:
        """Let it run to its end."""
        open_gate(self.folder)
        out, err = self.driver.communicate(timeout=240)
        assert self.driver.returncode == 0, f"{out}\n{err}"

    def _start(self, *arguments: str) -> subprocess.Popen[str]:
        river = [sys.executable, "-c", "from riverrun.cli.main import main; main()", "run"]
        return subprocess.Popen(
            [*river, *self._definitions, *arguments, "job.py"],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


def executors() -> list[psutil.Process]:
    return [each for each in processes.marked(MARK) if _EXECUTOR in each.cmdline()]


def kill_one_of(found: Callable[[], list[psutil.Process]], rng: random.Random) -> None:
    victims = wait_until(found, what="somebody to kill", timeout_s=60)
    assert victims
    rng.choice(victims).kill()


def python_workers() -> list[psutil.Process]:
    """Those that run tasks: children of the daemons of the executors."""
    return [
        worker
        for executor in executors()
        for daemon in executor.children()
        for worker in daemon.children()
    ]


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    "pair", ["kafka_to_kafka", "files_to_files", "kafka_to_postgresql", "files_to_delta"]
)
def test_content_equals_the_oracle_whatever_is_killed(
    pair: str,
    seed: int,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    nothing_left: None,
    row: Row,
) -> None:
    ends: Pair = request.getfixturevalue(pair)
    rng = random.Random(seed)
    kinds: list[str] = [kind for kind in KINDS if kind != "server" or ends.restart_server]
    rng.shuffle(kinds)
    with StandaloneCluster(tmp_path) as cluster:
        script = Script(tmp_path, ends, cluster.master)
        try:
            for kind in kinds:
                script.await_checkpoint()
                strike(kind, script, ends, rng)
            script.await_checkpoint()
            script.finish()
        finally:
            script.driver.kill()
            script.driver.communicate()
    found: list[Any] = ends.results()
    row(
        "everything killed with SIGKILL",
        {"pair": pair, "seed": seed, "killed": " ".join(kinds), "results": len(found)},
    )
    assert problems(SHAPE, found) == []


def strike(kind: str, script: Script, ends: Pair, rng: random.Random) -> None:
    match kind:
        case "worker":
            kill_one_of(python_workers, rng)
        case "executor":
            kill_one_of(executors, rng)
        case "driver":
            script.kill_driver()
        case "server":
            assert ends.restart_server is not None
            ends.restart_server()
