"""The checkpoints of a job in this process: the JobMaster's own shell, with ways instead of a thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future

from riverrun.checkpoint.completed import CompletedCheckpoint
from riverrun.checkpoint.settings import CheckpointSettings
from riverrun.checkpoint.statistics import CheckpointingStatistics
from riverrun.checkpoint.store import CheckpointStore
from riverrun.cluster.checkpointing import Checkpointing, StoreAnswered, Tasks
from riverrun.cluster.savepoint_wishes import SavepointWish
from riverrun.cluster.starting_point import StartingPoint, StartingPoints
from riverrun.core.ids import SubtaskId
from riverrun.core.lifecycle import JobStatus
from riverrun.graph.executor import JobSubmission
from riverrun.graph.job_graph import JobGraph
from riverrun.local.store_ways import StoreWays
from riverrun.local.surroundings import Surroundings
from riverrun.local.ways import Way, WayKind
from riverrun.protocol.control import AboutCheckpoints


class JobCheckpoints:
    """Takes checkpoints if the job wants any, and savepoints; knows what its attempts start from.

    Raises what refuses the job: a configuration, or a checkpoint that it cannot start from.
    """

    def __init__(self, submission: JobSubmission, place: Surroundings, label: str) -> None:
        settings = CheckpointSettings.of(submission.config)
        self.enabled = settings.enabled
        self._store: CheckpointStore | None = None
        if settings.enabled:
            root = place.checkpoint_dir
            self._store = CheckpointStore(place.storage(root), root, str(submission.job))
        self._points = StartingPoints(submission, self._store, place.storage)
        first = self._points.first()
        self.first: StartingPoint = first.point
        """What the first attempt starts from."""
        self._doubtful: set[int] = set()
        self._deadline: float | None = None
        self._stale = True
        """Whether something happened since the deadline was asked for, which costs."""
        self._work = StoreWays(label)
        self._answers = Way(WayKind.OUTCOMES, label, self._answered)
        self.ways: list[Way] = [self._work.metadata, self._work.deletes, self._answers]
        """The JobMaster's ways to its store and back."""
        self._shell = Checkpointing(
            submission,
            self._store,
            first,
            storage=place.storage,
            io=self._work,
            now=place.clock.monotonic,
            wake=self._answers.put,
        )

    @property
    def folder(self) -> str | None:
        """Where tasks put their files; ``None`` when they take no checkpoints."""
        return None if self._store is None else self._store.folder

    def statistics(self) -> CheckpointingStatistics | None:
        """How the checkpoints went; ``None`` when there are none. On any thread."""
        return self._shell.statistics()

    @property
    def retained(self) -> tuple[CompletedCheckpoint, ...]:
        """The checkpoints that the next attempt may start from, oldest first."""
        return self._shell.retained

    @property
    def stopped_with(self) -> str | None:
        """The savepoint that the job stopped with."""
        return self._shell.stopped_with

    def deadline(self) -> float | None:
        """When ``look`` is due."""
        if self._stale:
            self._stale = False
            self._deadline = self._shell.deadline()
        return self._deadline

    def look(self) -> None:
        """Do what is due now."""
        self._stale = True
        self._shell.look()

    def post(self, answer: Callable[[], None]) -> None:
        """Call ``answer`` when what is on its way from the store has arrived."""
        self._answers.put(answer)

    def go_on_from(self, savepoint: str) -> None:
        """Let attempts that have no checkpoint start from ``savepoint``."""
        self._points.go_on_from(savepoint)

    def replan(self, graph: JobGraph) -> None:
        """The attempt that is about to begin runs another graph of the program."""
        self._shell.replan(graph)

    def discard_later(self, folder: str) -> None:
        """Delete the folder of a savepoint that nobody needs."""
        self._shell.discard_later(folder)

    def prepare(
        self, graphs: Sequence[JobGraph], then: Callable[[StartingPoint | Exception], None]
    ) -> None:
        """Find out what the next attempt starts from, when the store is done with all before that.

        ``graphs`` are those of ``StartingPoints.next``.
        """
        retained = self._shell.retained

        def look_up() -> None:
            found: StartingPoint | Exception
            try:
                found = self._points.next(retained, self._doubtful, graphs)
            except Exception as error:  # noqa: BLE001  (becomes the job's failure)
                found = error
            self._answers.put(lambda: then(found))

        self._work.run(look_up)

    def doubt(self, point: StartingPoint) -> None:
        """A task could not read a file of the checkpoint that ``point`` is."""
        if point.checkpoint is not None:
            self._doubtful.add(point.checkpoint.id)

    def begin(self, tasks: Tasks, point: StartingPoint) -> None:
        """An attempt begins."""
        self._stale = True
        self._shell.begin(tasks, point)
        self._shell.delete_later(point.leftovers)

    def running(self) -> None:
        """Every task of the attempt runs."""
        self._stale = True
        self._shell.running()

    def heard(
        self,
        task: SubtaskId,
        report: AboutCheckpoints,
    ) -> None:
        """A task of the attempt said something."""
        self._stale = True
        self._shell.heard(task, report)

    def request(self, wish: Future[str]) -> None:
        """Take a checkpoint now, of a job that takes some."""
        self._stale = True
        self._shell.request(wish)

    def request_savepoint(self, wish: SavepointWish) -> None:
        """Take a savepoint now."""
        self._stale = True
        self._shell.request_savepoint(wish)

    def ended(self, reason: str) -> None:
        """Nothing of the attempt counts any more."""
        self._stale = True
        self._shell.ended(reason)

    def end(self, status: JobStatus) -> None:
        """The job is over: delete what must not stay."""
        self._shell.end(status, 0.0)

    def close(self) -> None:
        """Do here and now what the store still has to do."""
        self._work.close(0.0)

    def _answered(self, answer: StoreAnswered | Callable[[], None]) -> None:
        if not isinstance(answer, StoreAnswered):
            answer()
        else:
            self._stale = True
            self._shell.take_answers()
