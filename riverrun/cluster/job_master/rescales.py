"""Rescaling a job, seen from its shell: who asked for it, and the checkpoint that it goes through.

A job that takes no checkpoints goes through a savepoint of its own. Its tasks stop with it, so that
nothing leaves a sink that the next attempt would repeat: such a job's sinks commit at once.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import count
from typing import Final, Protocol

import msgspec

from riverrun.checkpoint.completed import CompletedCheckpoint
from riverrun.checkpoint.layout import folder_of
from riverrun.checkpoint.restore import assign
from riverrun.checkpoint.saved_operators import RestoreRefused
from riverrun.checkpoint.savepoint_store import new_savepoint_folder
from riverrun.cluster.checkpoint_place import CheckpointPlace
from riverrun.cluster.job_master import job_events as ev
from riverrun.cluster.job_report import RescaleReport
from riverrun.cluster.savepoint_wishes import SavepointWish
from riverrun.core.errors import CheckpointFailed, ExternalError
from riverrun.graph.executor import JobSubmission
from riverrun.graph.job_graph import JobGraph
from riverrun.graph.layers import slots_needed
from riverrun.graph.rescaling import (
    Parallelism,
    RescaleFailed,
    RescaleRefused,
    rescaled,
    wanted,
)
from riverrun.protocol.barriers import SavepointOrder

log = logging.getLogger(__name__)

_REMEMBERED: Final = 100


@dataclass(frozen=True, slots=True)
class RescaleWish:
    """Somebody wants the job to go on with other parallelisms; the program can run so."""

    parallelism: Parallelism
    outcome: Future[None] = field(default_factory=Future)
    """Done when the job runs so; RescaleFailed in its place."""


@dataclass(frozen=True, slots=True)
class RescalePoint:
    """What a rescale goes through has come about, or has not."""

    number: int
    taken: Future[str]
    """Its location, or CheckpointFailed; done."""


class Checkpoints(Protocol):
    """The checkpoints of the job."""

    @property
    def retained(self) -> Sequence[CompletedCheckpoint]:
        """Those that an attempt can start from, oldest first."""

    def request(self, wish: Future[str]) -> None:
        """Take a checkpoint now."""

    def request_savepoint(self, wish: SavepointWish) -> None:
        """Take a savepoint now."""

    def discard_later(self, folder: str) -> None:
        """Delete the folder of a savepoint that nobody needs."""


class Reserves(Protocol):
    """The slots of the job."""

    def reserve(self, graph: JobGraph) -> None:
        """Let the running job hold the slots that it will need as ``graph``; TooFewSlots."""


class Rescales:
    """Carries out what the job's core decides about rescales, on the job's thread.

    Args:
        submission: the job.
        place: makes a place for the savepoints of a job that takes no checkpoints; raises what refuses
            it. ``None`` for a job that takes checkpoints.
        slots: the job's; ``None``: there are always enough.
        post: brings a RescalePoint to the job's thread; called on that thread.
        now: the time, for the history.
    """

    def __init__(
        self,
        submission: JobSubmission,
        place: Callable[[], CheckpointPlace] | None,
        slots: Reserves | None,
        post: Callable[[RescalePoint], None],
        now: Callable[[], int] = lambda: 0,
    ) -> None:
        self._submission = submission
        self._make_place = place
        self._slots = slots
        self._post = post
        self._lock = threading.Lock()
        self._place: CheckpointPlace | None = None
        self._numbers = count(1)
        self._wishes: dict[int, Future[None]] = {}
        self._now = now
        self._history: deque[RescaleReport] = deque(maxlen=_REMEMBERED)
        self.is_stopping = False
        """Whether the tasks are being stopped with a savepoint."""
        self.savepoint: str | None = None
        """The savepoint that the job, if it takes no checkpoints, was rescaled through last."""

    @property
    def by_savepoint(self) -> bool:
        """Whether the job stops with a savepoint to be rescaled."""
        return self._make_place is not None

    def is_own(self, savepoint: str | None) -> bool:
        """Whether this is the savepoint of a rescale, so that an attempt follows."""
        place = self._place
        return (
            savepoint is not None and place is not None and savepoint.startswith(f"{place.root}/")
        )

    def check(self, now: JobGraph, then: JobGraph, parallelism: Parallelism) -> JobGraph:
        """Raise what refuses a rescale, and reserve the slots that it needs; the graph. On any thread.

        Args:
            now: the graph of the latest attempt.
            then: what the next one would have.
            parallelism: what is asked for.
        """
        graph = rescaled(then, wanted(then, parallelism))
        self._ensure_place()
        # Slots that will not be needed any more are in use until the job has stopped.
        if self._slots is not None and slots_needed(graph) > slots_needed(now):
            self._slots.reserve(graph)
        return graph

    def wanted(self, wish: RescaleWish, graph: JobGraph) -> ev.RescaleWanted | None:
        """The wish, as the job's core takes it; ``graph`` is what the next attempt would have.

        ``None`` if the program cannot run so any more, since another wish came before; it is answered.
        """
        try:
            after = rescaled(graph, wanted(graph, wish.parallelism))
        except RescaleRefused as refused:
            wish.outcome.set_exception(refused)
            return None
        number = next(self._numbers)
        self._wishes[number] = wish.outcome
        self._history.append(
            RescaleReport(
                id=f"{number:032x}",
                began=self._now(),
                before=_parallelisms(graph),
                after=_parallelisms(after),
            )
        )
        return ev.RescaleWanted(number, after)

    def history(self) -> tuple[RescaleReport, ...]:
        """The rescales so far, oldest first; very old ones are forgotten. On any thread."""
        return tuple(self._history)

    def answer(self, decision: ev.AnswerRescale, now: JobGraph, then: JobGraph) -> None:
        """Tell whoever has the wish, and give back slots that were reserved for it in vain."""
        if decision.reason is not None and self._slots is not None:
            try:
                self._slots.reserve(max(now, then, key=slots_needed))
            except ExternalError as e:
                log.info("slots stay as they are job=%s reason=%s", self._submission.job, e)
        outcome = self._wishes.pop(decision.wish)
        self._note_end(decision)
        if decision.reason is None:
            outcome.set_result(None)
        else:
            outcome.set_exception(RescaleFailed(self._submission.name, decision.reason))

    def take_checkpoint(self, number: int, checkpoints: Checkpoints) -> None:
        """Take what the next attempt starts from; ``post`` gets its outcome."""
        place = self._ensure_place()
        if place is None:
            taken: Future[str] = Future()
            self._await(number, taken)
            checkpoints.request(taken)
        else:
            folder = new_savepoint_folder(place.root, str(self._submission.job))
            wish = SavepointWish(SavepointOrder(folder, stop=True))
            self.is_stopping = True
            self._await(number, wish.taken)
            checkpoints.request_savepoint(wish)

    def checkpointed(
        self, point: RescalePoint, checkpoints: Checkpoints, graph: JobGraph
    ) -> ev.RescaleCheckpointed:
        """What came of it, for the job's core; ``graph`` is to go on from it."""
        self.is_stopping = False
        error = point.taken.exception()
        if error is not None:
            return ev.RescaleCheckpointed(point.number, str(error))
        location = point.taken.result()
        if self.by_savepoint:
            if self.savepoint is not None:
                checkpoints.discard_later(self.savepoint)
            self.savepoint = location
            return ev.RescaleCheckpointed(point.number, None, final=True)
        why = _why_not_from(location, checkpoints.retained, graph)
        return ev.RescaleCheckpointed(point.number, why)

    def refuse_stop(self, wish: SavepointWish) -> None:
        """Answer somebody who wants to stop the job while it is being stopped for a rescale."""
        why = "is being rescaled; ask again when it runs"
        wish.taken.set_exception(CheckpointFailed(f"job {self._submission.name!r}: {why}"))

    def drop(self) -> None:
        """The job is over, and nobody decides any more: answer those who wait."""
        for wish in list(self._wishes):
            self._wishes.pop(wish).set_exception(
                RescaleFailed(self._submission.name, "it has ended")
            )

    def close(self, checkpoints: Checkpoints) -> None:
        """The job is over: remove what only rescales needed."""
        place = self._place
        if place is not None and place.temporary is None:
            checkpoints.discard_later(place.root)
        elif place is not None:
            place.remove()

    def _note_end(self, decision: ev.AnswerRescale) -> None:
        name = f"{decision.wish:032x}"
        for place, each in enumerate(self._history):
            if each.id == name:
                self._history[place] = msgspec.structs.replace(
                    each, ended=self._now(), failure=decision.reason
                )

    def _await(self, number: int, taken: Future[str]) -> None:
        taken.add_done_callback(lambda done: self._post(RescalePoint(number, done)))

    def _ensure_place(self) -> CheckpointPlace | None:
        if self._make_place is None:
            return None
        with self._lock:
            if self._place is None:
                self._place = self._make_place()
            return self._place


def _parallelisms(graph: JobGraph) -> dict[str, int]:
    return {vertex.id.value: vertex.parallelism for vertex in graph.vertices}


def _why_not_from(
    location: str, retained: Sequence[CompletedCheckpoint], graph: JobGraph
) -> str | None:
    """Why the tasks of ``graph`` cannot start from the checkpoint, found out before any is stopped."""
    for each in retained:
        if folder_of(each.location) == location:
            try:
                assign(each.metadata, graph, allow_non_restored=True, owned=True)
            except RestoreRefused as e:
                return str(e)
    return None
