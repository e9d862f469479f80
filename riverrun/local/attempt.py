"""One attempt of a job in this process: its tasks, from their start to their end."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence

from riverrun.cluster.send_limits import SendLimits
from riverrun.cluster.split_messages import passed_on
from riverrun.cluster.watermark_alignment import WatermarkAlignmentCoordinator
from riverrun.core import options
from riverrun.core.errors import Failure
from riverrun.core.ids import SubtaskId
from riverrun.graph.deployment import Deployment, TaskDeployment
from riverrun.local.pipeline import Pipeline, Step
from riverrun.local.surroundings import Surroundings
from riverrun.local.task_host import JobReport, Report, TaskHost
from riverrun.local.ways import Way
from riverrun.protocol.control import (
    Down,
    RecordsAllowed,
    ToEnumerator,
    ToReader,
    WatermarkReported,
)
from riverrun.protocol.references import restored_location
from riverrun.runtime.failures import describe
from riverrun.runtime.operator_states import TaskResources
from riverrun.runtime.snapshot import TaskSnapshot
from riverrun.runtime.snapshot_parts import SnapshotParts, Target
from riverrun.runtime.task import Task
from riverrun.storage.checkpoint_files import CheckpointFiles, SavedCheckpointFiles
from riverrun.storage.savepoint_files import SavepointFiles


class LocalAttempt:
    """The tasks of one attempt.

    Args:
        name: names the attempt's local files.
        layers: what to run, by layer and partition.
        place: what the tasks run in.
        report: called with each report that arrives, and the attempt that it comes from.
    """

    def __init__(
        self,
        name: str,
        layers: Sequence[Sequence[Deployment]],
        place: Surroundings,
        report: Callable[[LocalAttempt, TaskHost, JobReport], None],
    ) -> None:
        self.name = name
        self._place = place
        self._folder = place.folder / name
        self._report = report
        self.is_over = False
        """Whether its tasks are closed."""
        self.pipeline = Pipeline(layers, self._host, place.rng, place.clock)
        self._alignment = WatermarkAlignmentCoordinator.of(layers)
        self._limits = SendLimits.of(layers)
        self._hosts = {host.id: host for host in self.pipeline.hosts}
        self.ways = [way for host in self.pipeline.hosts for way in host.ways]

    def open(self) -> None:
        """Restore and open all tasks."""
        self.pipeline.open()

    def turn(self) -> Step:
        """One turn of one task; takes virtual time when it did something."""
        step = self.pipeline.step()
        if step is Step.RAN:
            self._place.clock.advance(self._place.turn_ms)
        return step

    def look(self, now: float) -> None:
        """Do what is due now."""
        for tasks, message in self._alignment.look(now):
            self.tell(tasks, message)

    def wake_at(self) -> float | None:
        """When somebody has something to do although nothing came, in monotonic milliseconds."""
        times = (self.pipeline.wake_at(), self._alignment.deadline())
        return min((time for time in times if time is not None), default=None)

    def is_done(self) -> bool:
        """Whether every task has finished and everything it said has arrived."""
        return self.pipeline.is_finished and not any(self.ways)

    def tell(self, tasks: Iterable[SubtaskId], order: Down) -> None:
        """Send ``order`` to these tasks."""
        for task in tasks:
            self._hosts[task].orders.put(order)

    def metrics(self) -> Mapping[str, Mapping[str, float]]:
        """Values now: "<task name>.<subtask>[.<operator name>]" -> metric name -> value."""
        found: dict[str, Mapping[str, float]] = {}
        for task in self.pipeline.tasks:
            scope = f"{task.deployment.name}.{task.deployment.subtask}"
            for operator, values in task.metrics.snapshot().items():
                found[f"{scope}.{operator}" if operator else scope] = values
        return found

    def describe(self, error: BaseException, way: Way | None = None) -> Failure:
        """``error`` as a failure of the task whose turn it was, or to whom ``way`` leads."""
        running = self.pipeline.running
        if way is not None:
            running = next(
                (host.deployment for host in self.pipeline.hosts if way in host.ways), running
            )
        assert running is not None  # noqa: S101  (an attempt has tasks, and one of them raised)
        return describe(error, task=running.name, subtask=running.subtask)

    def close(self) -> BaseException | None:
        """Close all tasks and remove their files; the first error is given back."""
        if self.is_over:
            return None
        self.is_over = True
        error = self.pipeline.close()
        for way in self.ways:
            way.waiting.clear()
        shutil.rmtree(self._folder, ignore_errors=True)
        return error

    def _host(self, deployment: TaskDeployment) -> TaskHost:
        place = self._place
        subtask = SubtaskId(deployment.vertex, deployment.subtask)

        def wake() -> None:
            self._hosts[subtask].roused = True
            place.woken.set()

        resources = TaskResources(
            folder=self._folder / f"{deployment.layer}-{deployment.partition}",
            open_spill=place.open_spill,
            saved=self._saved(deployment),
            wake=wake,
        )
        task = Task(deployment, place.settings, place.clock, resources)
        return TaskHost(task, self._parts(deployment), self._heard)

    def _heard(self, host: TaskHost, report: Report) -> None:
        if isinstance(report, WatermarkReported):
            self._alignment.reported(host.id, report.watermark)
        elif isinstance(report, ToEnumerator | ToReader):
            task, message = passed_on(host.id, report)
            self.tell((task,), message)
        elif isinstance(report, RecordsAllowed):
            for task, limit in self._limits.passed_on(host.id, report):
                self.tell((task,), limit)
        else:
            self._report(self, host, report)

    def _parts(self, deployment: TaskDeployment) -> SnapshotParts:
        place, folder = self._place, deployment.checkpoint_folder
        storage = None if folder is None else place.storage(folder)
        limit = options.INLINE_THRESHOLD.get(deployment.config)

        def target_of(snapshot: TaskSnapshot) -> Target:
            order = snapshot.savepoint
            if order is not None:
                return SavepointFiles(place.storage(order.folder), order.folder, place.folder)
            assert storage is not None  # noqa: S101  (nobody triggers checkpoints otherwise)
            assert folder is not None  # noqa: S101  (as above)
            return CheckpointFiles(storage, folder, snapshot.checkpoint, inline_limit=limit)

        return SnapshotParts(target_of, place.clock, log_level=logging.DEBUG)

    def _saved(self, deployment: TaskDeployment) -> SavedCheckpointFiles | None:
        restore = deployment.restore
        if restore is None:
            return None
        return SavedCheckpointFiles(self._place.storage(restored_location(restore)))
