"""Finds the operations of a path: a tree of its parts, so that many routes cost no more than a few."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

T = TypeVar("T")

_VERSION: Final = "v1"


@dataclass(slots=True)
class _Node(Generic[T]):
    fixed: dict[str, _Node[T]] = field(default_factory=dict)
    named: _Node[T] | None = None
    operations: dict[str, tuple[T, tuple[str, ...]]] = field(default_factory=dict)
    """Method -> operation, and the names of the parts that are not fixed."""


@dataclass(frozen=True, slots=True)
class Found(Generic[T]):
    """The operations of a path, by method, and what stands in the places of names."""

    operations: Mapping[str, tuple[T, tuple[str, ...]]]
    values: tuple[str, ...]

    def names(self, method: str) -> dict[str, str]:
        """Name -> what the path has in its place."""
        return dict(zip(self.operations[method][1], self.values, strict=True))


class PathTable(Generic[T]):
    """Operations by path and method; every path is known with and without Flink's version before it.

    Fixed parts go before names: ``/jobs/overview`` is no job.

    >>> table = PathTable([("GET", "/jobs/{jobid}", "detail"), ("GET", "/jobs/overview", "overview")])
    >>> table.find("/v1/jobs/77").names("GET"), table.find("/jobs/overview").operations["GET"][0]
    ({'jobid': '77'}, 'overview')
    >>> table.find("/jobs/77/plan") is None
    True
    """

    def __init__(self, operations: Iterable[tuple[str, str, T]]) -> None:
        self._root: _Node[T] = _Node()
        for method, path, operation in operations:
            self._add(method, path, operation)

    def find(self, path: str) -> Found[T] | None:
        """What there is at a path of a request."""
        parts = path.split("/")[1:]
        if parts[:1] == [_VERSION]:
            del parts[0]
        return _search(self._root, parts, ())

    def _add(self, method: str, path: str, operation: T) -> None:
        node, names = self._root, []
        for part in path.split("/")[1:]:
            if part.startswith("{"):
                names.append(part[1:-1])
                node.named = node.named or _Node()
                node = node.named
            else:
                node = node.fixed.setdefault(part, _Node())
        node.operations[method] = (operation, tuple(names))


def _search(node: _Node[T], parts: list[str], values: tuple[str, ...]) -> Found[T] | None:
    if not parts:
        return Found(node.operations, values) if node.operations else None
    first, rest = parts[0], parts[1:]
    if first in node.fixed:
        found = _search(node.fixed[first], rest, values)
        if found is not None:
            return found
    if node.named is not None and first:
        return _search(node.named, rest, (*values, first))
    return None
