"""A JobMaster whose engine, server and tasks are played by the test, in memory."""

from __future__ import annotations

import queue
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from riverrun.cluster.checkpoint_place import CheckpointPlace, checkpoint_place
from riverrun.cluster.engine import ControlAccess, OnEnd
from riverrun.cluster.job_master.master import JobMaster
from riverrun.cluster.job_master.timing import Timing
from riverrun.cluster.links import JobGateway
from riverrun.core.errors import Failure
from riverrun.core.ids import JobId, VertexId
from riverrun.core.lifecycle import JobStatus, TaskStatus
from riverrun.graph.deploy import deployments
from riverrun.graph.deployment import ChainedOperator, Deployment, TaskDeployment
from riverrun.graph.executor import JobSubmission
from riverrun.graph.job_graph import JobGraph, JobVertex
from riverrun.graph.specs import MapSpec
from riverrun.protocol.control import (
    CheckpointAcknowledged,
    CheckpointCompleted,
    Down,
    FailureOrigin,
    InputOver,
    Register,
    Registered,
    Start,
    StatusChanged,
    TaskEnded,
    TaskFailed,
    TriggerCheckpoint,
    Up,
)
from riverrun.protocol.snapshots import (
    KeyedPart,
    KeyedSnapshot,
    OperatorSnapshot,
    SnapshotTimes,
    SubtaskSnapshot,
)
from riverrun.storage.blobs import InlineBlob
from riverrun.storage.storage import Storage

PATIENCE = 30.0
OPERATOR = "ab" * 16
VERTEX = VertexId(OPERATOR)
MAX_PARALLELISM = 128
BOOM = Failure("ValueError", "boom", operator="Map", subtask=1)
PROMPT = Timing(failure_grace_ms=20, cancel_grace_ms=20, cancel_retry_ms=20, stragglers_grace_ms=20)
RESTARTS = {
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "3",
    "restart-strategy.fixed-delay.delay": "0 ms",
}
CHECKPOINTS = {"execution.checkpointing.interval": "1 h"}

M = TypeVar("M")


def same(value: Any) -> Any:
    return value


def graph(parallelism: int, operator_id: str = OPERATOR) -> JobGraph:
    """One vertex with one operator."""
    operator = ChainedOperator(operator_id, "Map", "map", MapSpec(same))
    vertex = JobVertex(
        VertexId(operator_id), "Map", (operator,), parallelism, MAX_PARALLELISM, "default"
    )
    return JobGraph((vertex,), ())


class FakeServer:
    """Knows which jobs may be connected to; closes connections as the real one does."""

    address = ("here", 1)

    def __init__(self) -> None:
        self.jobs: dict[str, tuple[bytes, JobGateway]] = {}
        self.links: list[FakeTask] = []

    def add_job(self, job: str, secret: bytes, gateway: JobGateway) -> None:
        assert job not in self.jobs
        self.jobs[job] = (secret, gateway)

    def remove_job(self, job: str) -> None:
        self.jobs.pop(job, None)
        for link in list(self.links):
            link.close()


class FakeTask:
    """A task and its connection."""

    def __init__(self, server: FakeServer, gateway: JobGateway, register: Register) -> None:
        self.last_heard = 1e18  # never silent
        self.index = register.subtask
        self.inbox: queue.Queue[Down] = queue.Queue()
        self.gateway = gateway
        self._server = server
        server.links.append(self)
        gateway.opened(self, register)

    def send(self, message: Down) -> None:
        self.inbox.put(message)

    def close(self) -> None:
        if self in self._server.links:
            self._server.links.remove(self)
            self.gateway.closed(self, "closed")

    def abort(self) -> None:
        self.close()

    def say(self, message: Up) -> None:
        self.gateway.received(self, message)

    def expect(self, kind: type[M]) -> M:
        message = self.inbox.get(timeout=PATIENCE)
        assert isinstance(message, kind), message
        return message

    def acknowledge(self, checkpoint: int, blob: Any = None, *, finished: bool = False) -> None:
        first, last = self.index * 64, self.index * 64 + 63
        blob = blob or InlineBlob(f"state {checkpoint} of {self.index}".encode())
        keyed = KeyedSnapshot("hashmap", first, last, (), (KeyedPart("base", blob, shared=False),))
        snapshot = SubtaskSnapshot(
            VERTEX.value, self.index, (OperatorSnapshot(OPERATOR, keyed),), finished=finished
        )
        self.say(CheckpointAcknowledged(checkpoint, snapshot, SnapshotTimes()))

    def finish(self) -> None:
        self.say(StatusChanged(TaskStatus.FINISHED))
        self.say(TaskEnded(TaskStatus.FINISHED))
        self.close()

    def fail(self, failure: Failure = BOOM) -> None:
        self.say(TaskFailed(failure, FailureOrigin.USER))
        self.say(TaskEnded(TaskStatus.FAILED))
        self.close()


class PlayedAttempt:
    """An engine that was started, and the tasks that the test lets come up."""

    def __init__(self, job: PlayedJob) -> None:
        self._job = job
        self.refuses: Exception | None = None
        self.ends_when_cancelled = True
        self.layers: Sequence[Sequence[Deployment]] = ()
        self.tasks: list[FakeTask] = []
        self.gateway: JobGateway | None = None
        self.access: ControlAccess | None = None
        self._on_end: OnEnd | None = None

    def start(
        self, layers: Sequence[Sequence[Deployment]], control: ControlAccess, on_end: OnEnd
    ) -> None:
        if self.refuses is not None:
            raise self.refuses
        self.layers, self.access, self._on_end = layers, control, on_end
        self._job.started.put(self)

    def cancel(self) -> None:
        if self.ends_when_cancelled:
            self.end(Failure("ExternalError", "the engine was told to stop"))

    def end(self, failure: Failure | None = None) -> None:
        on_end, self._on_end = self._on_end, None
        if on_end is not None:
            on_end(failure)

    @property
    def number(self) -> int:
        return self.layers[0][0].attempt

    def restores(self) -> list[int | None]:
        """The checkpoint that each subtask starts from."""
        found = [d.restore for d in self.layers[0] if isinstance(d, TaskDeployment)]
        return [None if restore is None else restore.checkpoint for restore in found]

    def connect(self, subtask: int, **changes: Any) -> FakeTask:
        job = str(self._job.master.job_id)
        secret, gateway = self._job.server.jobs[job]
        assert self.access is not None
        assert secret == self.access.secret
        self.gateway = gateway
        fields: dict[str, Any] = {
            "job": job,
            "attempt": self.number,
            "vertex": str(VERTEX),
            "task": "Map",
            "subtask": subtask,
            "layer": 0,
            "partition": subtask,
            "pid": 1000 + subtask,
            "host": "here",
        }
        return FakeTask(self._job.server, gateway, Register(**fields | changes))

    def come_up(self, **changes: Any) -> list[FakeTask]:
        """Let every task register, start and run; ``changes`` are what they say of themselves."""
        self.tasks = [self.connect(subtask, **changes) for subtask in range(len(self.layers[0]))]
        for task in self.tasks:
            task.expect(Registered)
        for task in self.tasks:
            task.say(StatusChanged(TaskStatus.RUNNING))
        for task in self.tasks:
            task.expect(Start)
        return self.tasks

    def fail(self, failure: Failure = BOOM) -> None:
        """Let a task fail, and the others leave."""
        self.tasks[0].fail(failure)
        for task in self.tasks[1:]:
            task.say(TaskEnded(TaskStatus.CANCELED))
            task.close()

    def finish(self) -> None:
        """Let every task finish, and the engine succeed."""
        for task in self.tasks:
            task.finish()
        self.end()

    def end_input(self) -> int:
        """Let every task reach the end of its input, and take the last checkpoint."""
        for task in self.tasks:
            task.say(InputOver())
        return self.checkpoint()

    def checkpoint(self, blobs: Mapping[int, Any] | None = None) -> int:
        """Let every task take part in the checkpoint that is triggered next, until it is complete."""
        triggers = [task.expect(TriggerCheckpoint) for task in self.tasks]
        for task, trigger in zip(self.tasks, triggers, strict=True):
            task.acknowledge(trigger.checkpoint, (blobs or {}).get(task.index))
        completed = {task.expect(CheckpointCompleted).checkpoint for task in self.tasks}
        assert completed == {triggers[0].checkpoint}
        return completed.pop()


class PlayedJob:
    """A job and the attempts that its JobMaster starts."""

    def __init__(
        self,
        config: Mapping[str, str],
        *,
        parallelism: int = 2,
        operator: str = OPERATOR,
        job: JobId | None = None,
        handlers: Mapping[str, Callable[[int, Sequence[Any]], None]] | None = None,
        storage: Storage | None = None,
        timing: Timing = PROMPT,
        slots: Any = None,
        **submitted: Any,
    ) -> None:
        self.started: queue.Queue[PlayedAttempt] = queue.Queue()
        self.server = FakeServer()
        self.refusals: queue.SimpleQueue[Exception] = queue.SimpleQueue()
        program = graph(parallelism, operator)
        submission = JobSubmission(
            job or JobId.random(), "spend", program, config, handlers or {}, **submitted
        )
        self.place: CheckpointPlace | None = checkpoint_place(submission, one_machine=True)
        deploy = partial(
            deployments, job=submission.job, name=submission.name, config=submission.config
        )
        self.master = JobMaster(
            submission,
            deploy,
            engines=self._engine,
            server=self.server,
            timing=timing,
            place=self.place,
            storage=storage,
            slots=slots,
        )

    def _engine(self) -> PlayedAttempt:
        engine = PlayedAttempt(self)
        if not self.refusals.empty():
            engine.refuses = self.refusals.get()
        return engine

    @property
    def folder(self) -> Path:
        assert self.place is not None
        return Path(self.place.root) / str(self.master.job_id)

    def start(self) -> PlayedAttempt:
        self.master.start()
        return self.next_attempt()

    def running(self) -> PlayedAttempt:
        attempt = self.start()
        attempt.come_up()
        return attempt

    def next_attempt(self) -> PlayedAttempt:
        return self.started.get(timeout=PATIENCE)

    def wait(self) -> JobStatus:
        return self.master.wait(PATIENCE)

    def stop(self) -> None:
        """End it whatever it does."""
        self.master.cancel()
        while True:
            try:
                self.master.wait(0.01)
            except TimeoutError:
                for task in list(self.server.links):
                    task.close()
            else:
                return
