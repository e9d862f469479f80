"""What an attempt needs before it can run: a starting point, its deployments and an engine."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from riverrun.checkpoint.completed import CompletedCheckpoint
from riverrun.checkpoint.owner import JobTakenOver
from riverrun.checkpoint.store import CheckpointStore, NoUsableCheckpoint
from riverrun.cluster.checkpoint_place import CheckpointPlace
from riverrun.cluster.engine import Engine
from riverrun.cluster.job_master.attempt import AttemptPlan
from riverrun.cluster.job_master.job_events import PreparationFailed
from riverrun.cluster.starting_point import FirstStart, StartingPoint, StartingPoints
from riverrun.core.exception_facts import failure_of
from riverrun.core.ids import Attempt, SubtaskId
from riverrun.graph.deployment import Deployment
from riverrun.graph.executor import JobSubmission
from riverrun.protocol.snapshots import TaskRestore
from riverrun.storage.open import open_storage
from riverrun.storage.storage import Storage


class Deploy(Protocol):
    """Makes what the engine runs: ``graph.deploy.deployments`` of the job's plan."""

    def __call__(
        self,
        *,
        attempt: Attempt,
        restore: Mapping[SubtaskId, TaskRestore],
        checkpoint_folder: str | None,
    ) -> Sequence[Sequence[Deployment]]:
        """One tuple per layer, in which the index is the partition."""


@dataclass(frozen=True, slots=True)
class PreparedAttempt:
    """An attempt that can be started."""

    plan: AttemptPlan
    start: StartingPoint


class Preparation:
    """Prepares the attempts of one job.

    Args:
        submission: the job.
        deploy: makes an attempt's deployments.
        engines: makes an engine for each attempt.
        place: where the checkpoints go; ``None`` for a job that takes none.
        storage: holds ``place``, instead of the one that its location names.
    """

    def __init__(
        self,
        submission: JobSubmission,
        deploy: Deploy,
        engines: Callable[[], Engine],
        place: CheckpointPlace | None,
        storage: Storage | None,
    ) -> None:
        self._config = submission.config
        self._deploy = deploy
        self._engines = engines
        self.store: CheckpointStore | None = None
        """The job's own checkpoints, if it takes any."""
        if place is not None:
            storage = storage or open_storage(place.root, submission.config)
            self.store = CheckpointStore(storage, place.root, str(submission.job))
        self._starting_points = StartingPoints(submission, self.store, self.storage)

    def storage(self, location: str) -> Storage:
        """The store that holds ``location``."""
        return open_storage(location, self._config)

    def first(self) -> FirstStart:
        """Where the job begins; raises what refuses it."""
        return self._starting_points.first()

    def next(
        self, number: Attempt, retained: Sequence[CompletedCheckpoint], doubtful: Collection[int]
    ) -> PreparedAttempt | PreparationFailed:
        """The attempt after a failure; see ``StartingPoints.next``. Waits for the store."""
        try:
            return self.attempt(number, self._starting_points.next(retained, doubtful))
        except (NoUsableCheckpoint, JobTakenOver) as e:
            return PreparationFailed(replace(failure_of(e), retryable=False))
        except Exception as e:  # noqa: BLE001  (whatever it is, the job's core decides what follows)
            return PreparationFailed(failure_of(e))

    def attempt(self, number: Attempt, start: StartingPoint) -> PreparedAttempt:
        """The attempt with this number, from ``start``."""
        folder = None if self.store is None else self.store.folder
        layers = self._deploy(attempt=number, restore=start.tasks, checkpoint_folder=folder)
        return PreparedAttempt(AttemptPlan(number, layers, self._engines()), start)
