"""Whether the program can travel to the workers, and if not, what stands in its way."""

from __future__ import annotations

import pickle
from typing import Any, Final

import cloudpickle

from riverrun.core.errors import NotPicklable
from riverrun.graph.job_graph import JobGraph
from riverrun.graph.object_parts import Part, parts_of

_MAX_DEPTH: Final = 40
"""How deep the search for the culprit goes; below, the object there is blamed as a whole."""


def dumps(obj: Any) -> bytes:
    """``obj`` as bytes; functions and classes that a worker could not import go by value."""
    data: bytes = cloudpickle.dumps(obj, protocol=pickle.HIGHEST_PROTOCOL)
    return data


def dumps_fast(obj: Any) -> bytes:
    """``obj`` as bytes; the fast way, unless it has to do with classes or functions of the program's script."""
    try:
        return pickle.dumps(obj, protocol=pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, AttributeError, TypeError):
        return dumps(obj)


def loads(data: bytes) -> Any:
    """What ``dumps`` was given."""
    return pickle.loads(data)


def check_picklable(graph: JobGraph) -> None:
    """Try to pickle everything that would be sent.

    Raises:
        NotPicklable: names the operator and the innermost thing that cannot be pickled.
    """
    for vertex in graph.vertices:
        for operator in vertex.operators:
            _check(operator.name, operator)
    for edge in graph.edges:
        # A partitioning runs in the producer but was written in front of the consumer.
        reader = graph.vertex(edge.target).operators[0]
        _check(reader.name, edge.partitioning)
        _check(reader.name, edge.type_info)


def _check(operator: str, value: Any) -> None:
    refusal = _refusal(value)
    if refusal is None:
        return
    culprit = _Search().culprit(Part("the operator", value), depth=0)
    raise NotPicklable(operator, culprit or str(refusal)) from refusal


def _refusal(value: Any) -> Exception | None:
    try:
        dumps(value)
    except Exception as error:  # noqa: BLE001  (a user's __reduce__ may raise anything)
        return error
    return None


class _Search:
    """Depth-first search for an object that refuses although all its parts do not."""

    def __init__(self) -> None:
        # The objects themselves are kept, so that no id is used again during the search.
        self._visited: dict[int, Any] = {}

    def culprit(self, part: Part, depth: int) -> str | None:
        """Where the culprit inside ``part`` is and what it says; ``None`` when it was visited before."""
        refusal = _refusal(part.value)
        if refusal is None or id(part.value) in self._visited:
            return None
        self._visited[id(part.value)] = part.value
        in_a_cycle = False
        if depth < _MAX_DEPTH:
            for child in parts_of(part.value):
                found = self.culprit(child, depth + 1)
                if found is not None:
                    return found
                in_a_cycle = in_a_cycle or id(child.value) in self._visited
        return None if in_a_cycle else f"{part.where}: {refusal}"
