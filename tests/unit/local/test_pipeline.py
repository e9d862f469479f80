"""Who runs next in one process: nobody sleeps while something of his is still under way."""

from __future__ import annotations

import random
from typing import Any

from riverrun.core.clock import ManualClock
from riverrun.core.ids import Attempt, JobId, VertexId
from riverrun.graph.deployment import TaskDeployment
from riverrun.local.pipeline import Pipeline, Step
from riverrun.local.task_host import TaskHost
from riverrun.runtime.output import Outbox
from riverrun.runtime.task import Turn

FRAMES = 40
"""More than a consumer's inbox holds."""


class ScriptedTask:
    """What a pipeline asks a task for; it never wakes by itself."""

    waiting = awaiting = False

    def __init__(self, deployment: TaskDeployment) -> None:
        self.deployment = deployment
        self.outbox = Outbox()
        self.received: list[bytes] = []

    def wake_at(self) -> float | None:
        return None

    def stood_still(self, ms: float) -> None:
        """Nothing depends on it here."""

    def receive(self, frame: bytes) -> None:
        self.received.append(frame)


class ScriptedHost(TaskHost):
    """A producer that sends all its frames when it is told to end; a consumer that takes them all."""

    def __init__(self, deployment: TaskDeployment) -> None:
        self.scripted = ScriptedTask(deployment)
        task: Any = self.scripted
        no_snapshots: Any = None
        super().__init__(task, no_snapshots, lambda host, report: None)
        self._sends = deployment.layer == 0
        self._ends = False

    def end(self) -> None:
        self._ends = self.roused = True

    def turn(self) -> Turn:
        self.roused = False
        if not self._sends:
            is_over = len(self.scripted.received) == FRAMES
            return Turn.FINISHED if is_over else Turn.IDLE
        if not self._ends:
            return Turn.IDLE
        if not self.scripted.received:
            self.scripted.received = [b"sent"]
            self.scripted.outbox.frames = [(0, bytes([number])) for number in range(FRAMES)]
        return Turn.FINISHED


def deployment(layer: int) -> TaskDeployment:
    return TaskDeployment(
        job=JobId("1" * 32),
        job_name="scripted",
        attempt=Attempt(0),
        vertex=VertexId(str(layer) * 32),
        name=f"layer {layer}",
        subtask=0,
        parallelism=1,
        max_parallelism=1,
        layer=layer,
        partition=0,
        operators=(),
        inputs=(),
        outputs=(),
    )


def test_a_task_that_ends_after_a_sleep_hands_over_what_a_full_inbox_did_not_take() -> None:
    layers = [[deployment(0)], [deployment(1)]]
    pipeline = Pipeline(layers, ScriptedHost, random.Random(1), ManualClock(0))
    assert pipeline.step() is Step.IDLE, "all sleep now"
    producer = pipeline.hosts[0]
    assert isinstance(producer, ScriptedHost)

    producer.end()
    steps = [pipeline.step() for _ in range(4 * FRAMES)]

    assert steps[-1] is Step.FINISHED
    assert pipeline.unfinished() == []
