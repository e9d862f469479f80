"""What the client of a running job may wish for, and has to get an answer to in any case."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from riverrun.checkpoint.savepoint_store import dispose_savepoint
from riverrun.cluster.job_master.job_state import JobState
from riverrun.cluster.job_master.preparation import Preparation, Slots
from riverrun.cluster.job_master.rescales import Rescales, RescaleWish
from riverrun.cluster.resources.requirements import (
    Bounds,
    SchedulerMode,
    first_requirements,
    upper_ends,
)
from riverrun.cluster.savepoint_wishes import SavepointWish, savepoint_wish
from riverrun.core.errors import CheckpointFailed
from riverrun.core.ids import JobId, VertexId
from riverrun.core.options import CHECKPOINT_INTERVAL
from riverrun.graph.executor import JobSubmission
from riverrun.graph.rescaling import Parallelism, RescaleFailed


@dataclass(frozen=True, slots=True)
class CheckpointWish:
    """Somebody wants a checkpoint now."""

    outcome: Future[str] = field(default_factory=Future)
    """Where the checkpoint is once it is complete, or CheckpointFailed."""


Wish: TypeAlias = CheckpointWish | SavepointWish | RescaleWish


class TakesWishes(Protocol):
    """The job's mailbox."""

    def ask(self, note: Wish, /) -> bool:
        """Leave a wish; whether it will be answered."""


class ClientWishes:
    """The methods of a ``RunningJob`` by which clients wish for something. On any thread.

    Args:
        submission: the job.
        mailbox: where its thread finds the wishes.
        state: its decision core, of which only the graphs are read.
        preparation: knows the stores.
        rescales: knows what refuses a rescale.
        slots: those of the job; ``None``: there are always enough.
    """

    def __init__(
        self,
        submission: JobSubmission,
        mailbox: TakesWishes,
        state: JobState,
        preparation: Preparation,
        rescales: Rescales,
        slots: Slots | None,
    ) -> None:
        self._submission = submission
        self._mailbox = mailbox
        self._state = state
        self._preparation = preparation
        self._rescales = rescales
        self._slots = slots

    @property
    def job_id(self) -> JobId:
        return self._submission.job

    @property
    def name(self) -> str:
        return self._submission.name

    def trigger_checkpoint(self, timeout: float | None = None) -> str:
        if self._preparation.store is None:
            raise CheckpointFailed(
                f"job {self.name!r}: takes no checkpoints; set {CHECKPOINT_INTERVAL.key!r}"
            )
        wish = CheckpointWish()
        self._ask(wish)
        return wish.outcome.result(timeout)

    def trigger_savepoint(self, target: str | None = None) -> Future[str]:
        wish = savepoint_wish(self.job_id, self._submission.config, target)
        self._ask(wish)
        return wish.outcome

    def stop_with_savepoint(self, target: str | None = None, *, drain: bool = False) -> Future[str]:
        wish = savepoint_wish(self.job_id, self._submission.config, target, stop=True, drain=drain)
        self._ask(wish)
        return wish.outcome

    def dispose_savepoint(self, location: str) -> None:
        dispose_savepoint(self._preparation.storage(location), location)

    def rescale(self, parallelism: Parallelism) -> Future[None]:
        graph = self._rescales.check(self._state.graph, self._state.next_graph, parallelism)
        wish = RescaleWish(parallelism)
        if self._slots is not None:
            self._slots.limit(graph, wish.outcome)
        return self._go_on_with(wish)

    def requirements(self) -> Mapping[VertexId, Bounds]:
        """Between which parallelisms each vertex may run."""
        if self._slots is None:
            return first_requirements(self._state.next_graph, SchedulerMode.DEFAULT)
        return self._slots.requirements()

    def require(self, bounds: Mapping[VertexId, Bounds]) -> None:
        """Set them for all vertices, and return; the job follows.

        An adaptive job goes up to the upper bounds as far as there are slots, any other one is rescaled
        to them.

        Raises:
            RescaleRefused: the program cannot run so.
            TooFewSlots: the cluster has no room for the upper bounds, and the job is not adaptive.
            RescaleFailed: the job has ended.
        """
        wanted: Mapping[VertexId, int] = upper_ends(self._state.next_graph, bounds)
        if self._slots is not None:
            wanted = self._slots.require(bounds)
        if wanted:
            self._follow(wanted)

    def _follow(self, parallelism: Mapping[VertexId, int]) -> Future[None]:
        """Rescale the job because of its slots or of its requirements."""
        named = {vertex.value: number for vertex, number in parallelism.items()}
        self._rescales.check(self._state.graph, self._state.next_graph, named)
        return self._go_on_with(RescaleWish(named))

    def _go_on_with(self, wish: RescaleWish) -> Future[None]:
        self._ask(wish)
        return wish.outcome

    def _ask(self, wish: Wish) -> None:
        if not self._mailbox.ask(wish):
            raise _too_late(wish, self.name)


def refuse(wish: Wish, job: str) -> None:
    """Answer a wish that the job did not come to hear of before it ended."""
    outcome = wish.taken if isinstance(wish, SavepointWish) else wish.outcome
    outcome.set_exception(_too_late(wish, job))


def _too_late(wish: Wish, job: str) -> CheckpointFailed | RescaleFailed:
    if isinstance(wish, RescaleWish):
        return RescaleFailed(job, "it has ended")
    return CheckpointFailed(f"job {job!r}: has ended")
