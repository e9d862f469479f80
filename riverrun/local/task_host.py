"""One task in this process, and its ways to the JobMaster and to the store."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from riverrun.core.errors import ProgramError
from riverrun.core.ids import SubtaskId
from riverrun.core.lifecycle import TaskStatus
from riverrun.graph.deployment import TaskDeployment
from riverrun.local.ways import Way, WayKind
from riverrun.protocol.control import (
    CheckpointAborted,
    CheckpointAcknowledged,
    CheckpointDeclined,
    InputOver,
    Order,
    StatusChanged,
    WatermarkReported,
)
from riverrun.runtime.chain import ClientRun
from riverrun.runtime.snapshot import TaskSnapshot
from riverrun.runtime.task import Task, Turn
from riverrun.storage.checkpoint_files import CheckpointFiles

log = logging.getLogger(__name__)

JobReport: TypeAlias = (
    CheckpointAcknowledged | CheckpointDeclined | InputOver | StatusChanged | ClientRun
)
"""What a task says that concerns the job over all its attempts."""

Report: TypeAlias = JobReport | WatermarkReported
"""What a task tells its JobMaster."""

FilesOf: TypeAlias = Callable[[int], CheckpointFiles]
"""From the number of a checkpoint to where this task writes its part."""

_ABORTED_REMEMBERED = 100


class TaskHost:
    """Runs a task's turns, and moves what it is told and what it says.

    Args:
        task: the task.
        files_of: where its snapshots go; ``None`` when it takes none.
        report: called with each report that arrives at the JobMaster.
    """

    def __init__(
        self,
        task: Task,
        files_of: FilesOf | None,
        report: Callable[[TaskHost, Report], None],
    ) -> None:
        self.task = task
        deployment = task.deployment
        self.id = SubtaskId(deployment.vertex, deployment.subtask)
        name = f"{deployment.name} ({deployment.subtask})"
        self.orders = Way(WayKind.ORDERS, name, self._obey)
        self.reports = Way(WayKind.REPORTS, name, lambda each: report(self, each))
        self.writes = Way(WayKind.WRITES, name, self._write)
        self._files_of = files_of
        self._aborted: set[int] = set()
        self._said_input_over = files_of is None
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
        watermark = task.take_watermark_report()
        if watermark is not None:
            self.reports.put(watermark)
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
            floor = order.checkpoint - _ABORTED_REMEMBERED
            self._aborted = {number for number in self._aborted if number > floor}
            self._aborted.add(order.checkpoint)
        self.task.obey(order)

    def _write(self, snapshot: TaskSnapshot | None) -> None:
        if snapshot is None:
            self.reports.put(StatusChanged(TaskStatus.FINISHED))
        elif snapshot.checkpoint in self._aborted:
            snapshot.discard()
        else:
            self.reports.put(self._written(snapshot))

    def _written(self, snapshot: TaskSnapshot) -> CheckpointAcknowledged | CheckpointDeclined:
        assert self._files_of is not None  # noqa: S101  (nobody triggers checkpoints otherwise)
        checkpoint = snapshot.checkpoint
        files: Any = None
        try:
            files = self._files_of(checkpoint)
            described, times = snapshot.write(files)
        except Exception as error:
            snapshot.discard()
            _discard(files)
            if isinstance(error, ProgramError):
                raise  # State that cannot be stored: no other checkpoint will do better.
            log.debug("snapshot not written checkpoint=%d", checkpoint, exc_info=error)
            return CheckpointDeclined(checkpoint, f"{type(error).__name__}: {error}")
        times = msgspec.structs.replace(times, state_bytes=files.bytes_written)
        return CheckpointAcknowledged(checkpoint, described, times)


def _discard(files: CheckpointFiles | None) -> None:
    if files is None:
        return
    try:
        files.discard()
    except Exception as error:
        log.debug("files of a failed snapshot are left over", exc_info=error)
