"""One session, many clients: each job has its own code, and nothing is lost, leaked or illegal."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import sysconfig
import threading
import venv
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.client.job_manager import JobManagerClient
from riverrun.connectors.datagen import DataGeneratorSource
from riverrun.core.configuration import Configuration
from riverrun.core.errors import CheckpointFailed
from riverrun.core.ids import JobId
from riverrun.core.lifecycle import JOB_MOVES, JobStatus
from riverrun.datastream.data_stream import DataStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.testing import processes
from riverrun.testing.waiting import wait_until
from tests.spark.conftest import MARK

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]
_PATIENCE_S = 240.0
_JOB_MANAGER = """
import json, logging, sys
from riverrun.jobmanager.process import run_job_manager

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
run_job_manager(json.loads(sys.argv[1]), lambda cluster: print(cluster.url, flush=True))
"""


_PROGRAM = """
from pathlib import Path
from riverrun import Configuration, StreamExecutionEnvironment

config = Configuration({"riverrun.master": "local[2]", "parallelism.default": "1"})
env = StreamExecutionEnvironment.get_execution_environment(config)
env.add_python_archive("words.zip", "words")
env.register_cached_file("program.py", "itself")
env.from_collection([0]).map(
    lambda i: f"{Path('words/hello.txt').read_text()} {i}" if Path("itself").exists() else "none"
).print()
env.execute()
"""


class Session:
    """A JobManager in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._clients: list[JobManagerClient] = []
        self._envs: list[StreamExecutionEnvironment] = []
        self.logs = folder / "logs"
        config = {
            "riverrun.master": "local[2]",
            "rest.port": "0",
            "env.log.dir": str(self.logs),
        }
        with (folder / "stderr").open("w") as stderr:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _JOB_MANAGER, json.dumps(config)],
                cwd=folder,
                env={
                    **os.environ,
                    "PYTHONPATH": str(ROOT),
                    "RIVERRUN_STATE_DIR": str(folder / "state"),
                },
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
            )
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()
        assert self.url, (folder / "stderr").read_text()

    def client(self) -> JobManagerClient:
        self._clients.append(JobManagerClient.at(self.url, {}))
        return self._clients[-1]

    def env(self, **config: str) -> StreamExecutionEnvironment:
        settings = {key.replace("__", "-").replace("_", "."): each for key, each in config.items()}
        env = StreamExecutionEnvironment.get_execution_environment(
            Configuration({"riverrun.master": self.url, "parallelism.default": "1", **settings})
        )
        self._envs.append(env)
        return env

    def end(self) -> None:
        for client in self._clients:
            client.connection.close()
        for env in self._envs:
            env.close()
        self._process.send_signal(signal.SIGTERM)
        out, _ = self._process.communicate(timeout=90)
        assert self._process.returncode == 0, f"{out}\n{(self.folder / 'stderr').read_text()}"


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    others = {process.pid for process in processes.marked(MARK)}
    session = Session(tmp_path_factory.mktemp("session"))
    yield session
    session.end()
    wait_until(
        lambda: {process.pid for process in processes.marked(MARK)} <= others,
        what="no process of the session left",
    )


@contextmanager
def search_path_restored() -> Iterator[None]:
    before = sys.path[:]
    yield
    sys.path[:] = before


def numbers(env: StreamExecutionEnvironment, count: int | None, rate: float | None) -> DataStream:
    source = DataGeneratorSource(lambda i: i, count, rate)
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")


def test_jobs_that_bring_different_modules_of_one_name_run_side_by_side(
    session: Session, tmp_path: Path
) -> None:
    def run(name: str, others: list[str]) -> list[Any]:
        module = tmp_path / name / "module_of_this_name.py"
        module.parent.mkdir()
        module.write_text(f"NAME = {name!r}")

        def meet(value: int) -> tuple[str, int]:
            import module_of_this_name  # type: ignore[import-not-found]  # noqa: PLC0415

            (tmp_path / f"{name}-runs").touch()
            for other in others:
                wait_until((tmp_path / f"{other}-runs").exists, what=other, timeout_s=120.0)
            return module_of_this_name.NAME, value

        env = session.env()
        env.add_python_file(str(module))
        with numbers(env, 3, None).map(meet).execute_and_collect(name) as found:
            return sorted(found)

    with search_path_restored(), ThreadPoolExecutor(2) as clients:
        together = [clients.submit(run, "left", ["right"]), clients.submit(run, "right", ["left"])]
        left, right = (each.result(_PATIENCE_S) for each in together)
        later = run("later", [])

    assert left == [("left", 0), ("left", 1), ("left", 2)]
    assert right == [("right", 0), ("right", 1), ("right", 2)]
    assert later == [("later", 0), ("later", 1), ("later", 2)]


def test_an_interpreter_packages_archives_and_files_come_with_the_job(
    session: Session, tmp_path: Path
) -> None:
    env = session.env()
    env.add_python_archive(str(_virtual_environment(tmp_path)), "own")
    env.set_python_executable("own/bin/python")
    with zipfile.ZipFile(tmp_path / "words.zip", "w") as archive:
        archive.writestr("deep/hello.txt", "hello")
    env.add_python_archive(str(tmp_path / "words.zip"))
    script = tmp_path / "greet.sh"
    script.write_text("#!/bin/sh\necho greetings")
    env.register_cached_file(str(script), "greet", executable=True)
    wheels = _folder_with_a_wheel(tmp_path)
    (tmp_path / "requirements.txt").write_text("small-package-of-a-test==1.0")
    env.set_python_requirements(str(tmp_path / "requirements.txt"), str(wheels))

    def look(value: int) -> tuple[Any, ...]:
        import module_in_the_archive  # type: ignore[import-not-found]  # noqa: PLC0415
        import small_package_of_a_test  # type: ignore[import-not-found]  # noqa: PLC0415

        said = subprocess.run(["./greet"], capture_output=True, text=True, check=True).stdout
        return (
            value,
            Path(sys.prefix).name.endswith("-unpacked"),
            module_in_the_archive.WORD,
            small_package_of_a_test.WORD,
            Path("words.zip/deep/hello.txt").read_text(),
            said.strip(),
        )

    with numbers(env, 1, None).map(look).execute_and_collect("brought") as found:
        assert list(found) == [
            (0, True, "from the archive", "from the wheel", "hello", "greetings")
        ]


@pytest.mark.slow
def test_a_program_that_brings_its_own_jobmanager_brings_archives_and_files_too(
    tmp_path: Path, nothing_left: None
) -> None:
    with zipfile.ZipFile(tmp_path / "words.zip", "w") as archive:
        archive.writestr("hello.txt", "hello")
    (tmp_path / "program.py").write_text(_PROGRAM)

    ended = subprocess.run(
        [sys.executable, "program.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=_PATIENCE_S,
    )

    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == "hello 0\n"


def test_what_a_job_prints_that_nobody_waits_for_is_in_its_file(session: Session) -> None:
    env = session.env(execution_attached="false")
    numbers(env, 5, None).print()
    job = env.execute_async("prints").get_job_id()
    output = session.logs / f"job-{job}.out"

    await_status(session.client(), job, JobStatus.FINISHED)

    assert output.read_text().splitlines() == ["0", "1", "2", "3", "4"]


def test_a_failure_comes_back_with_the_programs_own_lines(session: Session) -> None:
    def divide(value: int) -> float:
        return 1 / (value - 2)

    env = session.env(restart__strategy_type="none")
    numbers(env, 5, None).map(divide).print()

    with pytest.raises(Exception, match="ZeroDivisionError") as raised:
        env.execute("fails")
    assert "return 1 / (value - 2)" in str(raised.value)


class Watch:
    """Notes every status that the list of jobs shows, until it is closed."""

    def __init__(self, client: JobManagerClient) -> None:
        self._client = client
        self.stories: dict[str, list[JobStatus]] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()

    def close(self) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(0.1):
            for job in self._client.jobs().jobs:
                story = self.stories.setdefault(job.jid, [])
                status = JobStatus(job.state)
                if not story or story[-1] is not status:
                    story.append(status)


def can_follow(before: JobStatus, after: JobStatus) -> bool:
    """Whether a job can come from one status to the other, by any way."""
    reached, new = {before}, {before}
    while new:
        new = {to for each in new for to in JOB_MOVES[each]} - reached
        reached |= new
    return after in reached


def await_status(client: JobManagerClient, job: JobId, *wanted: JobStatus) -> None:
    wait_until(
        lambda: JobStatus(client.status(job)) in wanted,
        what=f"job {job} in {wanted}",
        timeout_s=_PATIENCE_S,
    )


class Client:
    """One of many that work with the session at the same time."""

    def __init__(self, session: Session, number: int, savepoints: Path) -> None:
        self._session = session
        self._number = number
        self._savepoints = savepoints
        self._client = session.client()

    def counted(self, count: int, rate: float) -> list[int]:
        """Run a bounded job, interfere with it, and give all that came of it."""
        job = JobId(secrets.token_hex(16))
        env = self._env(job)
        stream = numbers(env, count, rate).key_by(lambda i: i % 7).map(lambda i: i).uid("map")
        with stream.execute_and_collect(f"bounded-{self._number}") as found:
            await_status(self._client, job, JobStatus.RUNNING, JobStatus.FINISHED)
            with ThreadPoolExecutor(1) as collecting:
                collected = collecting.submit(lambda: sorted(found))
                self._interfere(job)
                result: list[int] = collected.result(_PATIENCE_S)
        await_status(self._client, job, JobStatus.FINISHED)
        return result

    def cancelled(self) -> Path:
        """Run an endless job, take a savepoint of it, and cancel it."""
        job = JobId(secrets.token_hex(16))
        env = self._env(job, execution_attached="false")
        numbers(env, None, 50.0).key_by(lambda i: i % 7).map(lambda i: i).uid("map").print()
        env.execute_async(f"endless-{self._number}")
        await_status(self._client, job, JobStatus.RUNNING)
        taken = wait_until(lambda: self._savepoint(job), what="a savepoint of a job that runs")
        self._interfere(job)
        self._client.cancel(job)
        await_status(self._client, job, JobStatus.CANCELED)
        return Path(str(taken))

    def _savepoint(self, job: JobId) -> str | None:
        """Where it is; ``None`` while a task of the job does not run yet, or is restarted."""
        try:
            return self._client.savepoint(job, str(self._savepoints)).result(_PATIENCE_S)
        except CheckpointFailed as e:
            if "does not run at present" in str(e):
                return None
            raise

    def _interfere(self, job: JobId) -> None:
        """A bounded job may be over by then, which is a refusal and nothing else."""
        for wish in (
            lambda: self._client.rescale(job, 2).result(_PATIENCE_S),
            lambda: self._client.savepoint(job, str(self._savepoints)).result(_PATIENCE_S),
        ):
            try:
                wish()
            except Exception:  # noqa: BLE001  (whatever the refusal is: the job must have ended)
                await_status(self._client, job, JobStatus.FINISHED)
        assert str(job) in {each.jid for each in self._client.jobs().jobs}

    def _env(self, job: JobId, **config: str) -> StreamExecutionEnvironment:
        return self._session.env(
            riverrun_job__id=str(job),
            execution_checkpointing_interval="500 ms",
            execution_checkpointing_dir=str(self._savepoints / "checkpoints"),
            **config,
        )


def work_together(session: Session, folder: Path, rounds: int, count: int) -> None:
    watch = Watch(session.client())
    try:
        with ThreadPoolExecutor(8) as pool:
            bounded, endless = [], []
            for number in range(8):
                client = Client(session, number, folder)
                for _ in range(rounds):
                    if number % 2:
                        endless.append(pool.submit(client.cancelled))
                    else:
                        bounded.append(pool.submit(client.counted, count, 50.0))
            results = [each.result(4 * _PATIENCE_S) for each in bounded]
            savepoints = [each.result(4 * _PATIENCE_S) for each in endless]
    finally:
        watch.close()

    assert results == [list(range(count))] * len(results)
    assert all((path / "_metadata").is_file() for path in savepoints)
    illegal = [
        (job, story)
        for job, story in watch.stories.items()
        if not all(can_follow(*pair) for pair in pairwise(story))
    ]
    assert illegal == []
    wait_until(
        lambda: (
            (overview := session.client().overview()).slots_available == overview.slots_total
            and overview.jobs_running == 0
        ),
        what="all slots free",
    )


def test_eight_clients_submit_savepoint_rescale_and_cancel_at_once(
    session: Session, tmp_path: Path
) -> None:
    work_together(session, tmp_path, rounds=1, count=400)


@pytest.mark.slow
def test_eight_clients_again_and_again(session: Session, tmp_path: Path) -> None:
    work_together(session, tmp_path, rounds=5, count=600)


def _virtual_environment(folder: Path) -> Path:
    """An interpreter with a module of its own, which finds riverrun where this one does."""
    place = folder / "environment"
    venv.create(place, symlinks=True, with_pip=False)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = place / "lib" / version / "site-packages"
    (packages / "outer.pth").write_text(f"{sysconfig.get_paths()['purelib']}\n{ROOT}\n")
    (packages / "module_in_the_archive.py").write_text("WORD = 'from the archive'")
    return Path(shutil.make_archive(str(folder / "environment"), "gztar", place))


def _folder_with_a_wheel(folder: Path) -> Path:
    name = "small_package_of_a_test"
    info = f"{name}-1.0.dist-info"
    wheels = folder / "wheels"
    wheels.mkdir()
    with zipfile.ZipFile(wheels / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{name}.py", "WORD = 'from the wheel'")
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        wheel.writestr(
            f"{info}/WHEEL",
            "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        wheel.writestr(f"{info}/RECORD", f"{name}.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n")
    return wheels
