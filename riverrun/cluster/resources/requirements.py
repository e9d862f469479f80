"""Between which parallelisms each vertex of a job may run: Flink's "job resource requirements"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from riverrun.core import options
from riverrun.core.ids import VertexId
from riverrun.graph.job_graph import JobGraph, JobVertex
from riverrun.graph.rescaling import RescaleRefused, is_free, rescaled


class SchedulerMode(Enum):
    """Who decides the parallelism of a job."""

    DEFAULT = "default"
    """The program, and whoever rescales the job."""
    ADAPTIVE = "adaptive"
    """The slots that are there, up to the program's parallelism."""
    REACTIVE = "reactive"
    """The slots that are there, up to the max parallelism where the program leaves it open."""

    @staticmethod
    def from_config(config: Mapping[str, str]) -> SchedulerMode:
        """What ``jobmanager.scheduler`` and ``scheduler-mode`` say together."""
        if options.SCHEDULER_MODE.get(config) is not None:
            return SchedulerMode.REACTIVE
        adaptive = options.SCHEDULER.get(config) == "adaptive"
        return SchedulerMode.ADAPTIVE if adaptive else SchedulerMode.DEFAULT

    @property
    def follows(self) -> bool:
        """Whether a job in this mode follows when executors come and go."""
        return self is not SchedulerMode.DEFAULT


@dataclass(frozen=True, slots=True)
class Bounds:
    """A vertex runs with at least ``lower`` and at most ``upper`` subtasks."""

    lower: int
    upper: int

    def holds(self, parallelism: int) -> bool:
        """Whether the parallelism is between the two.

        >>> Bounds(1, 4).holds(4), Bounds(1, 4).holds(5)
        (True, False)
        """
        return self.lower <= parallelism <= self.upper


def first_requirements(graph: JobGraph, mode: SchedulerMode) -> dict[VertexId, Bounds]:
    """What a job requires that nobody said anything about."""
    return {vertex.id: _first(vertex, mode) for vertex in graph.vertices}


def checked(graph: JobGraph, bounds: Mapping[VertexId, Bounds]) -> dict[VertexId, Bounds]:
    """The requirements that somebody sets, if the job can run with both ends of all of them.

    Raises:
        RescaleRefused: it cannot, a vertex is not named, or there is none of the name.
    """
    for vertex in graph.vertices:
        each = bounds.get(vertex.id)
        if each is None:
            raise RescaleRefused(
                vertex.name,
                None,
                vertex.max_parallelism,
                "its bounds are missing; name all vertices",
            )
        if each.lower > each.upper:
            reason = f"the lower bound is above the upper bound {each.upper}; expected at most that"
            raise RescaleRefused(vertex.name, each.lower, vertex.max_parallelism, reason)
    rescaled(graph, {vertex: each.lower for vertex, each in bounds.items()})
    rescaled(graph, {vertex: each.upper for vertex, each in bounds.items()})
    return dict(bounds)


def upper_ends(graph: JobGraph, bounds: Mapping[VertexId, Bounds]) -> dict[VertexId, int]:
    """The parallelisms of a job that is not adaptive; RescaleRefused as in ``checked``."""
    return {vertex: each.upper for vertex, each in checked(graph, bounds).items()}


def _first(vertex: JobVertex, mode: SchedulerMode) -> Bounds:
    if mode is SchedulerMode.DEFAULT or vertex.forced_parallelism is not None:
        return Bounds(vertex.parallelism, vertex.parallelism)
    open_end = mode is SchedulerMode.REACTIVE and is_free(vertex)
    return Bounds(1, vertex.max_parallelism if open_end else vertex.parallelism)
