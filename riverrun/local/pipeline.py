"""The data plane of one attempt in one thread: who runs next is drawn by a seed, time is virtual.

Frames travel through bounded inboxes, encoded as on Spark, so that the same checks hold. A task whose
consumer's inbox is full is not picked: that is the back-pressure. Orders for tasks and reports of tasks
are on their own ways (``riverrun.local.ways``) and arrive between turns.
"""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import Final, TypeAlias

from riverrun.core.clock import Clock
from riverrun.graph.deployment import Deployment, RelayDeployment, TaskDeployment
from riverrun.local.task_host import TaskHost
from riverrun.runtime.relay import Relay
from riverrun.runtime.task import Task, Turn

_INBOX_FRAMES: Final = 16
_FRAMES_AHEAD: Final = 4
"""How many frames a task takes in at most when it has nothing to work on."""

_AWAKE: Final = -math.inf

MakeHost: TypeAlias = Callable[[TaskDeployment], TaskHost]


class Step(Enum):
    """What came of one step of a pipeline."""

    RAN = auto()
    IDLE = auto()
    FINISHED = auto()


class _Node:
    """A task or relay with its inbox and the frames it could not hand over yet."""

    def __init__(self, place: tuple[int, int], body: TaskHost | Relay) -> None:
        self.place = place
        self.body = body
        self.inbox: deque[bytes] = deque()
        self.pending: deque[tuple[int, bytes]] = deque()
        self.finished = False
        self.sleeps_until = _AWAKE
        """A task that had nothing to do need not be asked again before, unless something comes."""
        self.stands_since = 0.0
        """Since when frames wait to be handed over."""


class Pipeline:
    """Every subtask of an attempt; ``step`` lets one of them take one turn."""

    def __init__(
        self,
        layers: Sequence[Sequence[Deployment]],
        make_host: MakeHost,
        rng: random.Random,
        clock: Clock,
    ) -> None:
        self._rng = rng
        self._clock = clock
        self._nodes = [
            [_Node((number, place), _body(each, make_host)) for place, each in enumerate(row)]
            for number, row in enumerate(layers)
        ]
        self._live = [node for row in self._nodes for node in row]
        self.hosts = [
            node.body for row in self._nodes for node in row if isinstance(node.body, TaskHost)
        ]
        """Every task, in layer order."""
        self.is_finished = False
        """Whether every subtask has finished."""
        self.running: Deployment | None = None
        """Whose turn it is, or was when something was raised."""

    @property
    def tasks(self) -> list[Task]:
        """Every task, in layer order."""
        return [host.task for host in self.hosts]

    def open(self) -> None:
        """Open all tasks, consumers before producers."""
        for host in reversed(self.hosts):
            self.running = host.deployment
            host.task.open()

    def step(self) -> Step:
        """Let one subtask that can run take a turn."""
        live = self._live
        if not live:
            return Step.FINISHED
        first = int(self._rng.random() * len(live))
        now = self._clock.monotonic()
        for place in range(first - len(live), first):
            node = live[place]
            if node.sleeps_until > now and not self._is_roused(node):
                continue
            if self._run(node):
                if node.finished:
                    live.remove(node)
                    self.is_finished = not live
                return Step.RAN
        return Step.IDLE

    def wake_at(self) -> float | None:
        """When somebody has something to do although nothing came, in monotonic milliseconds."""
        times = [
            node.sleeps_until if node.sleeps_until > _AWAKE else _wake_at(node.body)
            for node in self._live
            if isinstance(node.body, TaskHost)
        ]
        first = min(times, default=math.inf)
        return None if first == math.inf else first

    @property
    def awaiting(self) -> bool:
        """Whether somebody waits for something outside, which takes real time."""
        return any(
            isinstance(node.body, TaskHost) and node.body.task.awaiting for node in self._live
        )

    def unfinished(self) -> list[str]:
        """Names of the subtasks that have not finished."""
        return [
            f"{node.body.deployment.name} ({node.body.deployment.subtask})" for node in self._live
        ]

    def close(self) -> BaseException | None:
        """Close all tasks; the first error is given back."""
        first: BaseException | None = None
        for host in self.hosts:
            error = host.close()
            if error is not None and first is None:
                first, self.running = error, host.deployment
        return first

    def _run(self, node: _Node) -> bool:
        """One turn of ``node``; False when it had nothing to do or could not go on."""
        self.running = node.body.deployment
        handed_over = bool(node.pending)
        if handed_over:
            if not self._hand_over(node):
                return False
            if isinstance(node.body, TaskHost):
                node.body.task.stood_still(self._clock.monotonic() - node.stands_since)
        if isinstance(node.body, Relay):
            return self._run_relay(node, node.body) or handed_over
        return self._run_task(node, node.body) or handed_over

    def _is_roused(self, node: _Node) -> bool:
        return bool(node.inbox) or (isinstance(node.body, TaskHost) and node.body.roused)

    def _run_task(self, node: _Node, host: TaskHost) -> bool:
        task = host.task
        received = self._receive(node, task)
        turn = host.turn()
        if task.outbox.frames:
            node.pending.extend(task.outbox.take())
            node.stands_since = self._clock.monotonic()
        if turn is Turn.FINISHED:
            # It may have slept until it was told; what a full inbox does not take must not sleep with it.
            node.sleeps_until = _AWAKE
            node.finished = self._hand_over(node)
            return True
        # All that waited in the task may have been held back for a barrier: then it takes frames again.
        hungry = bool(node.inbox) and not task.waiting
        if received or turn is Turn.WORKED or node.pending or host.spoke or hungry:
            node.sleeps_until = _AWAKE
            return True
        node.sleeps_until = _wake_at(host)
        return False

    def _receive(self, node: _Node, task: Task) -> bool:
        """As on Spark: a task that has work takes no frame, one that has none takes a few."""
        inbox = node.inbox
        if not inbox or task.waiting:
            return False
        ahead = 1 + int(self._rng.random() * _FRAMES_AHEAD)
        for _ in range(min(ahead, len(inbox))):
            task.receive(inbox.popleft())
        return True

    def _run_relay(self, node: _Node, relay: Relay) -> bool:
        if node.inbox:
            node.pending.append(relay.forward(node.inbox.popleft()))
            return True
        above = self._nodes[node.place[0] - 1]
        node.finished = all(producer.finished for producer in above)
        return node.finished

    def _hand_over(self, node: _Node) -> bool:
        """Move waiting frames to their inboxes; False when one of them is full."""
        pending = node.pending
        while pending:
            target, frame = pending[0]
            consumer = self._nodes[node.place[0] + 1][target] if frame else None
            # One that had finished before a restart leaves without reading its input.
            if consumer is not None and not consumer.finished:
                if len(consumer.inbox) >= _INBOX_FRAMES:
                    return False
                consumer.inbox.append(frame)
            pending.popleft()
        return True


def _wake_at(host: TaskHost) -> float:
    time = host.task.wake_at()
    return math.inf if time is None else time


def _body(deployment: Deployment, make_host: MakeHost) -> TaskHost | Relay:
    match deployment:
        case TaskDeployment():
            return make_host(deployment)
        case RelayDeployment():
            return Relay(deployment)
