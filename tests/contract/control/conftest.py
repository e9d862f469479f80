"""A control server, JobMasters with an engine that the test plays, and tasks as real connections."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import psutil
import pytest

from riverrun.cluster.control_server import ControlServer, ServerSettings
from riverrun.cluster.engine import ControlAccess, OnEnd
from riverrun.cluster.job_master.attempt import JobAttempt
from riverrun.cluster.job_master.master import JobMaster
from riverrun.cluster.job_master.timing import Timing
from riverrun.core.errors import Failure
from riverrun.core.ids import Attempt, JobId, SubtaskId, VertexId
from riverrun.core.lifecycle import TaskStatus
from riverrun.graph.deployment import Deployment, RelayDeployment, TaskDeployment
from riverrun.graph.executor import JobSubmission, RunningJob
from riverrun.graph.job_graph import JobGraph, JobVertex
from riverrun.protocol.control import Register, Start, StatusChanged, TaskEnded
from riverrun.protocol.snapshots import TaskRestore
from riverrun.spark.worker.control_client import ControlClient

PATIENCE = 30.0
VERTEX = VertexId("ab" * 16)


class PlayedEngine:
    """An engine that does nothing by itself; it ends when it is cancelled, or when the test says so."""

    def __init__(self) -> None:
        self.access: ControlAccess | None = None
        self.cancels = 0
        self.ends_when_cancelled = True
        self.refuses: Exception | None = None
        self.canceled = threading.Event()
        self._on_end: OnEnd | None = None
        self._lock = threading.Lock()

    def start(
        self, layers: Sequence[Sequence[Deployment]], control: ControlAccess, on_end: OnEnd
    ) -> None:
        if self.refuses is not None:
            raise self.refuses
        self.access, self._on_end = control, on_end

    def cancel(self) -> None:
        self.cancels += 1
        self.canceled.set()
        if self.ends_when_cancelled:
            self.end(Failure("ExternalError", "the Spark job was cancelled"))

    def end(self, failure: Failure | None = None) -> None:
        with self._lock:
            on_end, self._on_end = self._on_end, None
        if on_end is not None:
            on_end(failure)


class PlayedTask:
    """A task's connection and what came over it."""

    def __init__(self, client: ControlClient) -> None:
        self.client = client
        self.inbox: queue.Queue[Any] = queue.Queue()
        self.lost: queue.Queue[str] = queue.Queue()
        client.start(self.inbox.put, self.lost.put)

    def expect(self, kind: type[Any]) -> Any:
        message = self.inbox.get(timeout=PATIENCE)
        assert isinstance(message, kind)
        return message

    def end(self, outcome: TaskStatus = TaskStatus.FINISHED) -> None:
        self.client.send(TaskEnded(outcome))
        self.client.close()


class Job:
    """A JobMaster that is started, with the engine of its first attempt."""

    def __init__(self, master: JobMaster, engine: PlayedEngine, parallelism: int) -> None:
        self.master, self.engine, self.parallelism = master, engine, parallelism
        self.as_the_client_sees_it: RunningJob = master

    @property
    def attempt(self) -> JobAttempt:
        attempt = self.master._attempt
        assert attempt is not None
        return attempt

    def register(self, subtask: int, **changes: Any) -> Register:
        relay = subtask == self.parallelism
        fields: dict[str, Any] = {
            "job": str(self.master.job_id),
            "attempt": 0,
            "vertex": "" if relay else str(VERTEX),
            "task": "Relay: Map" if relay else "Map",
            "subtask": 0 if relay else subtask,
            "layer": 1 if relay else 0,
            "partition": 0 if relay else subtask,
            "pid": 1000 + subtask,
            "host": "here",
        }
        return Register(**fields | changes)

    def connect(self, subtask: int) -> PlayedTask:
        assert self.engine.access is not None
        access = self.engine.access
        return PlayedTask(
            ControlClient.connect(access.address, access.secret, self.register(subtask))
        )

    def connect_all(self) -> list[PlayedTask]:
        """Every subtask and the relay, started."""
        tasks = [self.connect(subtask) for subtask in range(self.parallelism + 1)]
        for task in tasks:
            task.client.send(StatusChanged(TaskStatus.RUNNING))
        for task in tasks:
            task.expect(Start)
        return tasks


def plan(parallelism: int) -> JobGraph:
    """``parallelism`` subtasks of one vertex."""
    return JobGraph((JobVertex(VERTEX, "Map", (), parallelism, 128, "default"),), ())


def layers(
    job: JobId,
    graph: JobGraph,
    *,
    attempt: Attempt,
    restore: Mapping[SubtaskId, TaskRestore],
    checkpoint_folder: str | None,
) -> list[list[Deployment]]:
    """The subtasks in layer 0, a relay in layer 1."""
    parallelism = graph.vertices[0].parallelism
    tasks: list[Deployment] = [
        TaskDeployment(
            job=job,
            job_name="spend",
            attempt=attempt,
            vertex=VERTEX,
            name="Map",
            subtask=n,
            parallelism=parallelism,
            max_parallelism=128,
            layer=0,
            partition=n,
            operators=(),
            inputs=(),
            outputs=(),
            restore=restore.get(SubtaskId(VERTEX, n)),
            checkpoint_folder=checkpoint_folder,
        )
        for n in range(parallelism)
    ]
    return [tasks, [RelayDeployment(job, "spend", attempt, "Relay: Map", 0, 1, 0, {})]]


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    process = psutil.Process()
    threads, sockets = set(threading.enumerate()), len(process.net_connections())
    files = process.num_fds()
    yield
    assert set(threading.enumerate()) - threads == set()
    assert len(process.net_connections()) <= sockets
    assert process.num_fds() <= files  # what others left may be collected meanwhile


@pytest.fixture
def server() -> Iterator[ControlServer]:
    server = ControlServer(ServerSettings(handshake_timeout_ms=PATIENCE * 1000))
    server.start()
    yield server
    server.close()


@pytest.fixture
def make_job(server: ControlServer) -> Iterator[Callable[..., Job]]:
    jobs: list[Job] = []

    def make(
        parallelism: int = 2,
        *,
        timing: Timing | None = None,
        config: Mapping[str, str] | None = None,
        handlers: Mapping[str, Callable[[int, Sequence[Any]], None]] | None = None,
    ) -> Job:
        job = JobId.random()
        engine = PlayedEngine()
        submission = JobSubmission(job, "spend", plan(parallelism), config or {}, handlers or {})
        timing = timing or Timing(failure_grace_ms=50, cancel_grace_ms=50, cancel_retry_ms=50)
        master = JobMaster(
            submission,
            partial(layers, job),
            engines=lambda: engine,
            server=server,
            timing=timing,
        )
        jobs.append(Job(master, engine, parallelism))
        return jobs[-1]

    yield make
    for job in jobs:
        if job.engine.access is not None:
            job.engine.ends_when_cancelled = True
            job.master.cancel()
            job.master.wait(PATIENCE)
