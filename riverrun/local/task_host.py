"""One task in this process, and its ways to the JobMaster and to the store."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from riverrun.core.ids import SubtaskId
from riverrun.core.lifecycle import TaskStatus
from riverrun.graph.deployment import TaskDeployment
from riverrun.local.ways import Way, WayKind
from riverrun.protocol.control import (
    AboutCheckpoints,
    CheckpointAborted,
    InputOver,
    Order,
    PeerReport,
    StatusChanged,
)
from riverrun.runtime.chain import ClientRun
from riverrun.runtime.snapshot import TaskSnapshot
from riverrun.runtime.snapshot_parts import SnapshotParts
from riverrun.runtime.task import Task, Turn

JobReport: TypeAlias = AboutCheckpoints | ClientRun
"""What a task says that concerns the job over all its attempts."""

Report: TypeAlias = JobReport | PeerReport
"""What a task tells its JobMaster."""


class TaskHost:
    """Runs a task's turns, and moves what it is told and what it says.

    Args:
        task: the task.
        parts: writes its snapshots.
        report: called with each report that arrives at the JobMaster.
    """

    def __init__(
        self,
        task: Task,
        parts: SnapshotParts,
        report: Callable[[TaskHost, Report], None],
    ) -> None:
        self.task = task
        deployment = task.deployment
        self.id = SubtaskId(deployment.vertex, deployment.subtask)
        name = f"{deployment.name} ({deployment.subtask})"
        self.orders = Way(WayKind.ORDERS, name, self._obey)
        self.reports = Way(WayKind.REPORTS, name, lambda each: report(self, each))
        self.writes = Way(WayKind.WRITES, name, self._write)
        self._parts = parts
        # Who takes no checkpoints does not wait for one.
        self._said_input_over = deployment.checkpoint_folder is None
        self._finished = False
        self.roused = False
        """Whether the task was told something, or woken, since its last turn."""
        self.spoke = False
        """Whether something of the last turn went on its way to the JobMaster or the store."""

    @property
    def deployment(self) -> TaskDeployment:
        """What the task runs."""
        return self.task.deployment

    @property
    def ways(self) -> tuple[Way, Way, Way]:
        """All ways from and to the task."""
        return self.orders, self.reports, self.writes

    def turn(self) -> Turn:
        """One turn of the task; what it made for others than its consumers goes on its way."""
        task = self.task
        self.roused = False
        turn = task.turn()
        before = len(self.reports.waiting) + len(self.writes.waiting)
        for run in task.client_runs.take():
            self.reports.put(run)
        for snapshot in task.take_snapshots():
            self.writes.put(snapshot)
        for report in task.take_reports():
            self.reports.put(report)
        if not self._said_input_over and task.input_over:
            self._said_input_over = True
            self.reports.put(InputOver())
        self.spoke = len(self.reports.waiting) + len(self.writes.waiting) > before
        if turn is Turn.FINISHED and not self._finished:
            self._finished = True
            # After its snapshots: a task leaves when all that it has to say is said.
            self.writes.put(None)
        return turn

    def close(self) -> BaseException | None:
        """Close the task; the first error is given back."""
        for snapshot in self.writes.waiting:
            if snapshot is not None:
                snapshot.discard()
        self.writes.waiting.clear()
        return self.task.close()

    def _obey(self, order: Order) -> None:
        self.roused = True
        if isinstance(order, CheckpointAborted):
            self._parts.abort(order.checkpoint)
        self.task.obey(order)

    def _write(self, snapshot: TaskSnapshot | None) -> None:
        if snapshot is None:
            self.reports.put(StatusChanged(TaskStatus.FINISHED))
            return
        answer = self._parts.write(snapshot)
        if answer is not None:
            self.reports.put(answer)
