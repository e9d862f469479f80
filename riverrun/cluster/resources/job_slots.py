"""One job's slots over all its attempts: sought before each of them, given back once at the end.

In adaptive mode the slots that are found decide the parallelism of the attempt, and while it runs the
job follows: when slots come that it could use, it is rescaled.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import replace
from typing import TypeAlias

from riverrun.cluster.resources.adaptive import AdaptiveNeed, AdaptiveTiming, Change, Following
from riverrun.cluster.resources.fitting import Fit, Fitting
from riverrun.cluster.resources.manager import ResourceManager
from riverrun.cluster.resources.requirements import (
    Bounds,
    SchedulerMode,
    checked,
    first_requirements,
    upper_ends,
)
from riverrun.cluster.resources.seeking import FixedNeed, Room, Seeker
from riverrun.cluster.resources.slot_desk import Answer, Denied, Granted
from riverrun.core.clock import Clock, SystemClock
from riverrun.core.errors import ExternalError, RiverrunError
from riverrun.core.ids import JobId, VertexId
from riverrun.core.options import SLOT_REQUEST_TIMEOUT
from riverrun.graph.executor import JobSubmission
from riverrun.graph.job_graph import JobGraph
from riverrun.graph.layers import plan_layers
from riverrun.graph.rescaling import parallelism_of, rescaled

log = logging.getLogger(__name__)

Rescale: TypeAlias = Callable[[Mapping[VertexId, int]], Future[None]]
"""Lets a running job go on with these parallelisms."""


class JobSlots:
    """The slots of one job. Methods may be called from any thread.

    Args:
        manager: of the application.
        submission: the job; its configuration says the mode.
        clock: that of the manager.
    """

    def __init__(
        self, manager: ResourceManager, submission: JobSubmission, clock: Clock | None = None
    ) -> None:
        self._manager = manager
        self._job: JobId = submission.job
        self._name = submission.name
        self._clock = clock or SystemClock()
        self._timeout_ms = SLOT_REQUEST_TIMEOUT.get(submission.config).to_millis()
        self.mode = SchedulerMode.from_config(submission.config)
        """Who decides the parallelism."""
        self._timing = AdaptiveTiming.from_config(submission.config, self.mode)
        self._lock = threading.Lock()
        self._graph = submission.graph
        self._bounds: Mapping[VertexId, Bounds] = first_requirements(self._graph, self.mode)
        self._fitting = Fitting(self._graph, self._bounds)
        self._following = Following(self._timing, self._clock.monotonic())
        self._rescale: Rescale | None = None
        self._wishes = 0  # of others, to rescale the job
        self._course: Mapping[VertexId, int] | None = (
            None  # what it is being rescaled to, by itself
        )

    def first(self) -> JobGraph:
        """Wait for the first attempt's slots; the program as it is to run in them.

        Raises:
            TooFewSlots: they did not come in time.
        """
        slots = self._manager.acquire(
            self._job, self._name, self._seeker(self._graph, self._timing)
        )
        return self._fitted(self._graph, slots)

    def seek(self, graph: JobGraph, answer: Callable[[JobGraph | ExternalError], None]) -> None:
        """Seek slots for the next attempt, which is that of ``graph`` unless the job is adaptive.

        ``answer`` is called once, on any thread.
        """
        self.down()
        # Another attempt shall not wait whether more come: what comes later is followed.
        seeker = self._seeker(graph, replace(self._timing, settling_ms=0))

        def found(result: Answer | ExternalError) -> None:
            match result:
                case Granted(_, slots):
                    answer(self._fitted(graph, slots))
                case Denied(_, error):
                    answer(error)
                case error:
                    answer(error)

        self._manager.seek(self._job, self._name, seeker, found)

    def reserve(self, graph: JobGraph) -> None:
        """Let the running job hold the slots that it will need as ``graph``.

        A job that does not run now seeks them when it is started again.

        Raises:
            TooFewSlots: there are none; it holds what it held.
        """
        self._manager.resize(self._job, plan_layers(graph).subtask_count)

    def limit(self, graph: JobGraph, rescaled: Future[None]) -> None:
        """Somebody wants the job to run as ``graph``: an adaptive one is never larger from now on.

        Until it is ``rescaled``, or is not after all, it changes nothing by itself.
        """
        with self._lock:
            self._wishes += 1
            if self.mode.follows:
                self._bounds = _with_upper(self._bounds, parallelism_of(graph))
                self._fitting = Fitting(self._graph, self._bounds)

        rescaled.add_done_callback(self._wish_over)

    def up(self, graph: JobGraph, rescale: Rescale) -> None:
        """All tasks run, as ``graph``; from now on an adaptive job follows by ``rescale``."""
        with self._lock:
            self._graph = graph
            if not self.mode.follows:
                self._bounds = first_requirements(graph, self.mode)
                return
            self._rescale = rescale
            self._following.changed(self._clock.monotonic())
        self._manager.follow(self._job, self)

    def down(self) -> None:
        """The job does not run now, or is about to stop."""
        with self._lock:
            self._rescale = None
        self._manager.unfollow(self._job)

    def leave(self) -> None:
        """The job is over; a second call does nothing."""
        self.down()
        self._manager.leave(self._job)

    def waiting_for(self) -> str | None:
        """What the job waits for, if it waits for slots."""
        waiting = self._manager.waiting().get(self._job)
        return None if waiting is None else waiting.words

    def requirements(self) -> Mapping[VertexId, Bounds]:
        """Between which parallelisms each vertex may run."""
        with self._lock:
            return dict(self._bounds)

    def require(self, bounds: Mapping[VertexId, Bounds]) -> Mapping[VertexId, int]:
        """Set them, for all vertices; an adaptive job follows at once, as far as there are slots.

        Returns:
            The parallelisms to which somebody has to rescale a job that is not adaptive.

        Raises:
            RescaleRefused: the program cannot run so.
        """
        if not self.mode.follows:
            return upper_ends(self._graph, bounds)
        bounds = checked(self._graph, bounds)
        with self._lock:
            self._bounds, self._fitting = bounds, Fitting(self._graph, bounds)
            self._following.hurry()
            following = self._rescale is not None
        if following:
            self._manager.follow(self._job, self)
        return {}

    def look(self, room: Room, now: float) -> float | None:
        """Follow; called by the manager."""
        with self._lock:
            rescale = self._rescale
            if rescale is None or self._wishes:
                return None
            course = self._following.consider(self._fitting, room, parallelism_of(self._graph), now)
            if not isinstance(course, Change):
                return course.until
            self._rescale = None  # until it is up again, or was not rescaled
        self._change(course.to, rescale)
        return None

    def _wish_over(self, _: Future[None]) -> None:
        with self._lock:
            self._wishes -= 1
            following = self._rescale is not None
        if following:
            self._manager.follow(self._job, self)

    def _change(self, to: Fit, rescale: Rescale) -> None:
        log.info("job %r is rescaled to %d slots job=%s", self._name, to.slots, self._job)

        def done(future: Future[None]) -> None:
            error = future.exception()
            if error is not None:
                self._not_rescaled(error, rescale)

        try:
            rescale(to.parallelism).add_done_callback(done)
        except RiverrunError as error:
            self._not_rescaled(error, rescale)

    def _not_rescaled(self, error: BaseException, rescale: Rescale) -> None:
        """Try again after the cooldown, if the job still runs as it was."""
        log.warning("job %r was not rescaled job=%s: %s", self._name, self._job, error)
        with self._lock:
            self._following.changed(self._clock.monotonic())
            self._rescale = rescale

    def _seeker(self, graph: JobGraph, timing: AdaptiveTiming) -> Seeker:
        now = self._clock.monotonic()
        if self.mode.follows:
            return AdaptiveNeed(self._fitting, timing, now)
        return FixedNeed(plan_layers(graph).subtask_count, self._timeout_ms, now)

    def _fitted(self, graph: JobGraph, slots: int) -> JobGraph:
        fit = self._fitting.largest(slots) if self.mode.follows else None
        return graph if fit is None else rescaled(graph, fit.parallelism)


def _with_upper(
    bounds: Mapping[VertexId, Bounds], parallelism: Mapping[VertexId, int]
) -> dict[VertexId, Bounds]:
    return {
        vertex: Bounds(min(each.lower, parallelism[vertex]), parallelism[vertex])
        for vertex, each in bounds.items()
    }
