"""A job's tasks in one thread: who runs next is drawn by a seed, time is virtual.

Frames travel through bounded inboxes, encoded as on Spark, so that the same checks hold. A task whose
consumer's inbox is full is not picked: that is the back-pressure. When nobody can run, time jumps to
the next moment at which somebody asked to be woken.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import Any, Final

from riverrun.core.clock import ManualClock
from riverrun.core.errors import InternalError
from riverrun.graph.deployment import Deployment, RelayDeployment, TaskDeployment
from riverrun.runtime.relay import Relay
from riverrun.runtime.settings import TaskSettings
from riverrun.runtime.task import Task, Turn

_INBOX_FRAMES: Final = 16


class Step(Enum):
    """What came of one step of a pipeline."""

    RAN = auto()
    WAITED = auto()
    FINISHED = auto()


class _Node:
    """A task or relay with its inbox and the frames it could not hand over yet."""

    def __init__(self, place: tuple[int, int], body: Task | Relay) -> None:
        self.place = place
        self.body = body
        self.inbox: deque[bytes] = deque()
        self.pending: deque[tuple[int, bytes]] = deque()
        self.finished = False


class Pipeline:
    """Every subtask of a job; ``step`` lets one of them take one turn."""

    def __init__(
        self,
        layers: Sequence[Sequence[Deployment]],
        settings: TaskSettings,
        clock: ManualClock,
        deliver: Callable[[str, int, list[Any]], None],
    ) -> None:
        self._clock = clock
        self._deliver = deliver
        self._rng = random.Random(settings.seed)  # noqa: S311  (order of turns; no secret)
        self._nodes = [
            [_Node((number, place), _body(each, settings, clock)) for place, each in enumerate(row)]
            for number, row in enumerate(layers)
        ]
        self._live = [node for row in self._nodes for node in row]
        self.running: Deployment | None = None
        """Whose turn it is, or was when something was raised."""

    @property
    def tasks(self) -> list[Task]:
        """Every task, in layer order."""
        return [n.body for row in self._nodes for n in row if isinstance(n.body, Task)]

    def open(self) -> None:
        """Open all tasks, consumers before producers."""
        for task in reversed(self.tasks):
            self.running = task.deployment
            task.open()

    def step(self) -> Step:
        """Let one subtask that can run take a turn, or let time pass."""
        self._live = [node for node in self._live if not node.finished]
        if not self._live:
            return Step.FINISHED
        for node in self._rng.sample(self._live, len(self._live)):
            if self._run(node):
                return Step.RAN
        self._wait()
        return Step.WAITED

    def close(self) -> BaseException | None:
        """Close all tasks; the first error is given back."""
        first: BaseException | None = None
        for task in self.tasks:
            error = task.close()
            if error is not None and first is None:
                first, self.running = error, task.deployment
        return first

    def _run(self, node: _Node) -> bool:
        """One turn of ``node``; False when it had nothing to do or could not go on."""
        self.running = node.body.deployment
        if not self._hand_over(node):
            return False
        if isinstance(node.body, Relay):
            return self._run_relay(node, node.body)
        return self._run_task(node, node.body)

    def _run_task(self, node: _Node, task: Task) -> bool:
        received = bool(node.inbox)
        if node.inbox:
            task.receive(node.inbox.popleft())
        turn = task.turn()
        node.pending.extend(task.outbox.take())
        for operator_id, values in task.client_runs.take():
            self._deliver(operator_id, task.deployment.subtask, values)
        if turn is Turn.FINISHED and self._hand_over(node):
            node.finished = True
            return True
        return received or turn is not Turn.IDLE or bool(node.pending)

    def _run_relay(self, node: _Node, relay: Relay) -> bool:
        if node.inbox:
            node.pending.append(relay.forward(node.inbox.popleft()))
            return True
        above = self._nodes[node.place[0] - 1]
        node.finished = all(producer.finished for producer in above)
        return node.finished

    def _hand_over(self, node: _Node) -> bool:
        """Move waiting frames to their inboxes; False when one of them is full."""
        while node.pending:
            target, frame = node.pending[0]
            if frame:
                inbox = self._nodes[node.place[0] + 1][target].inbox
                if len(inbox) >= _INBOX_FRAMES:
                    return False
                inbox.append(frame)
            node.pending.popleft()
        return True

    def _wait(self) -> None:
        times = [
            time
            for node in self._live
            if isinstance(node.body, Task) and (time := node.body.wake_at()) is not None
        ]
        if not times:
            stuck = ", ".join(_name(node) for node in self._live)
            raise InternalError(f"nobody can run and nobody waits for a time: {stuck}")
        self._clock.advance(max(0.0, min(times) - self._clock.monotonic()))


def _body(deployment: Deployment, settings: TaskSettings, clock: ManualClock) -> Task | Relay:
    match deployment:
        case TaskDeployment():
            return Task(deployment, settings, clock)
        case RelayDeployment():
            return Relay(deployment)


def _name(node: _Node) -> str:
    deployment = node.body.deployment
    return f"{deployment.name} ({deployment.subtask})"
