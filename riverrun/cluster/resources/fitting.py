"""How parallel a job can be with the slots that are there: the pure core of the adaptive mode.

Every subtask and every relay between layers needs a slot, so the slots of a job are counted in the plan
of its layers. All vertices get the same parallelism, as far as their bounds allow: the largest for which
there are slots. Vertices that must not differ (a stream that is taken to be partitioned) stay equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from riverrun.cluster.resources.requirements import Bounds
from riverrun.core.ids import VertexId
from riverrun.graph.job_graph import JobGraph
from riverrun.graph.layers import plan_layers
from riverrun.graph.partitioning import Forward
from riverrun.graph.rescaling import rescaled


@dataclass(frozen=True, slots=True)
class Fit:
    """Parallelisms for all vertices, and how many slots they need."""

    parallelism: Mapping[VertexId, int]
    slots: int

    @property
    def sum(self) -> int:
        """The parallelisms of all vertices together."""
        return sum(self.parallelism.values())


class Fitting:
    """Fits a job into slots; ``bounds`` must name all vertices of ``graph``."""

    def __init__(self, graph: JobGraph, bounds: Mapping[VertexId, Bounds]) -> None:
        self._graph = graph
        self._bounds = _agreed(graph, bounds)
        self._level = max((each.upper for each in self._bounds.values()), default=1)
        self.smallest = self._at(0)
        """Every vertex at its lower bound."""
        self._known: tuple[int, Fit | None] | None = None

    def largest(self, slots: int) -> Fit | None:
        """The largest parallelisms for which ``slots`` are enough; ``None`` if not even the smallest are."""
        if self._known is None or self._known[0] != slots:
            self._known = (slots, self._search(slots))
        return self._known[1]

    def is_full(self, fit: Fit) -> bool:
        """Whether more slots would change nothing."""
        return all(fit.parallelism[vertex] == each.upper for vertex, each in self._bounds.items())

    def holds(self, parallelism: Mapping[VertexId, int]) -> bool:
        """Whether a job with these parallelisms does not leave its bounds."""
        return all(each.holds(parallelism[vertex]) for vertex, each in self._bounds.items())

    def _search(self, slots: int) -> Fit | None:
        if self.smallest.slots > slots:
            return None
        # No vertex has more subtasks than there are slots, so nothing above that has to be tried.
        best, low, high = self.smallest, 1, min(self._level, slots)
        while low <= high:
            middle = (low + high) // 2
            fit = self._at(middle)
            if fit.slots <= slots:
                best, low = fit, middle + 1
            else:
                high = middle - 1
        return best

    def _at(self, level: int) -> Fit:
        parallelism = {
            vertex: min(each.upper, max(each.lower, level)) for vertex, each in self._bounds.items()
        }
        return Fit(parallelism, slots_of(self._graph, parallelism))


def slots_of(graph: JobGraph, parallelism: Mapping[VertexId, int]) -> int:
    """How many slots the job needs with these parallelisms."""
    return plan_layers(rescaled(graph, parallelism)).subtask_count


def _agreed(graph: JobGraph, bounds: Mapping[VertexId, Bounds]) -> dict[VertexId, Bounds]:
    """The bounds after vertices that must be equal agreed on theirs."""
    group = {vertex.id: vertex.id for vertex in graph.vertices}
    for edge in graph.edges:
        if isinstance(edge.partitioning, Forward) and edge.unequal is None:
            old, new = group[edge.target], group[edge.source]
            group = {vertex: new if each == old else each for vertex, each in group.items()}
    agreed: dict[VertexId, Bounds] = {}
    for vertex, name in group.items():
        known = agreed.get(name, bounds[vertex])
        lower = max(known.lower, bounds[vertex].lower)
        agreed[name] = Bounds(lower, max(lower, min(known.upper, bounds[vertex].upper)))
    return {vertex.id: agreed[group[vertex.id]] for vertex in graph.vertices}
