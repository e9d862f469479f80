"""The same program with other parallelisms: what a running job is rescaled to. Pure, no I/O.

Vertices, operators and chains stay, and so do their ids, so that all state finds its way. Operators of
one vertex run together, so a vertex is rescaled as a whole. An edge that is Forward where both ends are
equal becomes Rescale where they are not, and Forward again later.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final, TypeAlias

from riverrun.core.errors import ExternalError, ProgramError
from riverrun.core.ids import VertexId
from riverrun.graph.job_graph import JobEdge, JobGraph, JobVertex
from riverrun.graph.partitioning import Forward

Parallelism: TypeAlias = int | Mapping[str, int]
"""What somebody asks for: one number for all vertices that are free, or a number for each name."""

_KINDS: Final = ("Source: ", "Sink: ")


class RescaleRefused(ProgramError):  # noqa: N818
    """The program cannot run with the parallelism that was asked for.

    Args:
        vertex: its name, or what was found in place of one.
        parallelism: what was asked for.
        max_parallelism: the most that the vertex can have; ``None`` where there is no vertex.
        reason: why not, and what to do.
    """

    def __init__(
        self, vertex: str, parallelism: object, max_parallelism: int | None, reason: str
    ) -> None:
        super().__init__(vertex, parallelism, max_parallelism, reason)
        self.vertex, self.parallelism = vertex, parallelism
        self.max_parallelism, self.reason = max_parallelism, reason

    def __str__(self) -> str:
        return f"vertex {self.vertex!r}: cannot be rescaled to {self.parallelism!r}: {self.reason}"


class RescaleFailed(ExternalError):  # noqa: N818
    """The job could have been rescaled but was not; it goes on as it was, unless it has ended.

    Args:
        job: the job's name.
        reason: what came between.
    """

    def __init__(self, job: str, reason: str) -> None:
        super().__init__(job, reason)
        self.job, self.reason = job, reason

    def __str__(self) -> str:
        return f"job {self.job!r}: was not rescaled: {self.reason}"


def rescaled(graph: JobGraph, parallelism: Mapping[VertexId, int]) -> JobGraph:
    """``graph`` with these parallelisms; vertices that are not named keep theirs.

    Raises:
        RescaleRefused: a vertex cannot have the parallelism, or there is no such vertex.
    """
    known = {vertex.id for vertex in graph.vertices}
    for vertex_id, number in parallelism.items():
        if vertex_id not in known:
            raise _unknown(graph, vertex_id.value, number)
        _check(graph.vertex(vertex_id), number)
    vertices = tuple(
        replace(vertex, parallelism=parallelism.get(vertex.id, vertex.parallelism))
        for vertex in graph.vertices
    )
    now = {vertex.id: vertex for vertex in vertices}
    return JobGraph(vertices, tuple(_rescaled_edge(edge, now) for edge in graph.edges))


def wanted(graph: JobGraph, parallelism: Parallelism) -> dict[VertexId, int]:
    """The parallelism of each vertex that somebody wants to be changed.

    Args:
        graph: the program.
        parallelism: a number, which is for every vertex whose parallelism the program leaves open; or
            numbers by uid, operator name, vertex name or vertex id.

    Raises:
        RescaleRefused: a name stands for no vertex or for several, or two names of one vertex differ; a
            number, while the program sets the parallelism of every vertex.
    """
    if isinstance(parallelism, Mapping):
        return _by_name(graph, parallelism)
    free = [vertex for vertex in graph.vertices if is_free(vertex)]
    if not free:
        raise RescaleRefused(
            graph.vertices[0].name if graph.vertices else "",
            parallelism,
            None,
            "the program sets the parallelism of this and every other vertex; name those to be "
            "changed, as in {'uid': 2}, or remove set_parallelism() from the program",
        )
    return {vertex.id: parallelism for vertex in free}


def is_free(vertex: JobVertex) -> bool:
    """Whether the program leaves the vertex's parallelism open, so that it follows that of the job."""
    return not vertex.parallelism_set and vertex.forced_parallelism is None


def has_same_parallelism(one: JobGraph, other: JobGraph) -> bool:
    """Whether two graphs of one program do not differ in any vertex's parallelism."""
    return parallelism_of(one) == parallelism_of(other)


def parallelism_of(graph: JobGraph) -> dict[VertexId, int]:
    """The parallelism of every vertex."""
    return {vertex.id: vertex.parallelism for vertex in graph.vertices}


def _check(vertex: JobVertex, number: int) -> None:
    most = vertex.max_parallelism
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        reason = f"expected a whole number from 1 to {most}"
        raise RescaleRefused(vertex.name, number, most, reason)
    if vertex.forced_parallelism is not None and number != vertex.forced_parallelism:
        reason = (
            f"one of its operators can only run with parallelism {vertex.forced_parallelism}; leave "
            f"this vertex out"
        )
        raise RescaleRefused(vertex.name, number, most, reason)
    if number > most:
        reason = (
            f"its max parallelism is {most}, and its state is divided into so many key groups; give at "
            f"most {most}, or start a new job with a larger set_max_parallelism()"
        )
        raise RescaleRefused(vertex.name, number, most, reason)


def _rescaled_edge(edge: JobEdge, vertices: Mapping[VertexId, JobVertex]) -> JobEdge:
    source, target = vertices[edge.source], vertices[edge.target]
    if source.parallelism == target.parallelism:
        return edge if edge.unequal is None else replace(edge, partitioning=Forward())
    if edge.unequal is not None:
        return replace(edge, partitioning=edge.unequal)
    if isinstance(edge.partitioning, Forward):
        raise RescaleRefused(
            target.name,
            target.parallelism,
            target.max_parallelism,
            f"its input from {source.name!r} (parallelism {source.parallelism}) is taken to be "
            f"partitioned by a key already, which needs equal parallelism; rescale both alike, or use "
            f"key_by() in the program",
        )
    return edge


def _by_name(graph: JobGraph, parallelism: Mapping[str, int]) -> dict[VertexId, int]:
    found: dict[VertexId, int] = {}
    for name, number in parallelism.items():
        vertex = _named(graph, name, number)
        if found.setdefault(vertex.id, number) != number:
            reason = (
                f"another name of this vertex comes with {found[vertex.id]!r}; its operators run "
                f"together, so give one number"
            )
            raise RescaleRefused(vertex.name, number, vertex.max_parallelism, reason)
    return found


def _named(graph: JobGraph, name: str, number: int) -> JobVertex:
    found = [vertex for vertex in graph.vertices if name in set(_names(vertex))]
    if not found:
        raise _unknown(graph, name, number)
    if len(found) > 1:
        ids = ", ".join(repr(vertex.id.value) for vertex in found)
        reason = f"{len(found)} vertices have this name; give the id of one of them: {ids}"
        raise RescaleRefused(name, number, None, reason)
    return found[0]


def _names(vertex: JobVertex) -> Iterator[str]:
    yield vertex.id.value
    yield vertex.name
    for operator in vertex.operators:
        yield operator.operator_id
        yield operator.name
        if operator.uid is not None:
            yield operator.uid
        for kind in _KINDS:
            if operator.name.startswith(kind):
                yield operator.name.removeprefix(kind)


def _unknown(graph: JobGraph, name: str, number: object) -> RescaleRefused:
    ids = {vertex.id.value for vertex in graph.vertices}
    ids |= {operator.operator_id for vertex in graph.vertices for operator in vertex.operators}
    names = [each for vertex in graph.vertices for each in _names(vertex) if each not in ids]
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    shown = ", ".join(repr(vertex.name) for vertex in graph.vertices)
    reason = f"the job has no vertex or operator of this name; {hint}there are {shown}"
    return RescaleRefused(name, number, None, reason)
