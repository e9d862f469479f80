"""What an attempt needs before it can run: slots, a starting point, its deployments and an engine."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Protocol

from riverrun.checkpoint.completed import CompletedCheckpoint
from riverrun.checkpoint.owner import JobTakenOver
from riverrun.checkpoint.store import CheckpointStore, NoUsableCheckpoint
from riverrun.cluster.checkpoint_place import CheckpointPlace
from riverrun.cluster.engine import Engine
from riverrun.cluster.io_thread import IoThread
from riverrun.cluster.job_master.attempt import AttemptPlan
from riverrun.cluster.job_master.job_events import PreparationFailed
from riverrun.cluster.resources.requirements import Bounds
from riverrun.cluster.starting_point import FirstStart, StartingPoint, StartingPoints
from riverrun.core.errors import ExternalError
from riverrun.core.exception_facts import failure_of
from riverrun.core.ids import Attempt, SubtaskId, VertexId
from riverrun.graph.deployment import Deployment
from riverrun.graph.executor import JobSubmission
from riverrun.graph.job_graph import JobGraph
from riverrun.graph.rescaling import has_same_parallelism
from riverrun.protocol.snapshots import TaskRestore
from riverrun.storage.open import open_storage
from riverrun.storage.storage import Storage


class Deploy(Protocol):
    """Makes what the engine runs: ``graph.deploy.deployments`` of the graph's plan."""

    def __call__(
        self,
        graph: JobGraph,
        *,
        attempt: Attempt,
        restore: Mapping[SubtaskId, TaskRestore],
        checkpoint_folder: str | None,
    ) -> Sequence[Sequence[Deployment]]:
        """One tuple per layer, in which the index is the partition."""


class Slots(Protocol):
    """The slots of the job: ``resources.job_slots.JobSlots``. Methods may be called from any thread."""

    def seek(self, graph: JobGraph, answer: Callable[[JobGraph | ExternalError], None]) -> None:
        """Seek slots for the next attempt; what it may be is told to ``answer``, on any thread."""

    def reserve(self, graph: JobGraph) -> None:
        """Let the running job hold the slots that it will need as ``graph``; TooFewSlots."""

    def limit(self, graph: JobGraph, rescaled: Future[None]) -> None:
        """Somebody wants the job to run as ``graph``: it does not grow beyond that by itself.

        Until it is ``rescaled`` it changes nothing by itself.
        """

    def requirements(self) -> Mapping[VertexId, Bounds]:
        """Between which parallelisms each vertex may run."""

    def require(self, bounds: Mapping[VertexId, Bounds]) -> Mapping[VertexId, int]:
        """Set them; the parallelisms to which somebody has to rescale the job, if any. RescaleRefused."""

    def up(
        self, graph: JobGraph, rescale: Callable[[Mapping[VertexId, int]], Future[None]]
    ) -> None:
        """All tasks run, as ``graph``; ``rescale`` may be called from now on."""

    def down(self) -> None:
        """The job does not run now, or is about to stop."""

    def leave(self) -> None:
        """The job is over; a second call does nothing."""

    def waiting_for(self) -> str | None:
        """What the job waits for, if it waits for slots."""


@dataclass(frozen=True, slots=True)
class AttemptOrder:
    """The attempt that is wanted."""

    number: Attempt
    graph: JobGraph
    before: JobGraph
    """The graph of the attempt before, which has to do if ``graph`` cannot start from the checkpoint."""
    retained: Sequence[CompletedCheckpoint]
    doubtful: Collection[int]
    """The numbers of those that are used only if there is no other."""


@dataclass(frozen=True, slots=True)
class PreparedAttempt:
    """An attempt that can be started."""

    plan: AttemptPlan
    start: StartingPoint
    graph: JobGraph
    refused: str | None = None
    """Why it has another graph than the one that was wanted."""


class Preparation:
    """Prepares the attempts of one job.

    Args:
        submission: the job.
        deploy: makes an attempt's deployments.
        engines: makes an engine for each attempt.
        place: where the checkpoints go; ``None`` for a job that takes none.
        storage: holds ``place``, instead of the one that its location names.
        slots: where to seek slots; ``None``: there are always enough.
        io: does the reading.
    """

    def __init__(  # noqa: PLR0913  (its parts, each by its name)
        self,
        submission: JobSubmission,
        deploy: Deploy,
        engines: Callable[[], Engine],
        *,
        place: CheckpointPlace | None,
        storage: Storage | None,
        slots: Slots | None,
        io: IoThread,
    ) -> None:
        self._graph = submission.graph
        self._slots = slots
        self._io = io
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

    def first_attempt(self, start: StartingPoint) -> PreparedAttempt:
        """The first attempt, from ``start``; its slots are there."""
        return self._attempt(Attempt(0), start, self._graph)

    def go_on_from(self, savepoint: str) -> None:
        """Let attempts that have no checkpoint start from ``savepoint``."""
        self._starting_points.go_on_from(savepoint)

    def next(
        self, order: AttemptOrder, then: Callable[[PreparedAttempt | PreparationFailed], None]
    ) -> None:
        """Seek slots for the attempt and prepare it, after all that the store has to do before.

        Returns at once; ``then`` is called on any thread.
        """
        slots = self._slots
        if slots is None:
            self._io.run(lambda: then(self._next(order, order.graph)))
            return

        def found(graph: JobGraph | ExternalError) -> None:
            if isinstance(graph, ExternalError):
                then(PreparationFailed(failure_of(graph)))
            else:
                self._io.run(lambda: then(self._next(order, graph)))

        self._io.run(lambda: slots.seek(order.graph, found))

    def _next(self, order: AttemptOrder, graph: JobGraph) -> PreparedAttempt | PreparationFailed:
        graphs = (graph,) if graph is order.before else (graph, order.before)
        try:
            start = self._starting_points.next(order.retained, order.doubtful, graphs)
            refused = start.refused
            if refused is not None:
                graph = order.before
                if self._slots is not None:
                    self._slots.reserve(graph)
            elif not has_same_parallelism(graph, order.graph):
                refused = "the slots that are there are for another parallelism"
            return self._attempt(order.number, start, graph, refused)
        except (NoUsableCheckpoint, JobTakenOver) as e:
            return PreparationFailed(replace(failure_of(e), retryable=False))
        except Exception as e:  # noqa: BLE001  (whatever it is, the job's core decides what follows)
            return PreparationFailed(failure_of(e))

    def _attempt(
        self, number: Attempt, start: StartingPoint, graph: JobGraph, refused: str | None = None
    ) -> PreparedAttempt:
        folder = None if self.store is None else self.store.folder
        layers = self._deploy(graph, attempt=number, restore=start.tasks, checkpoint_folder=folder)
        plan = AttemptPlan(number, layers, self._engines())
        return PreparedAttempt(plan, start, graph, refused)
