"""Accumulators of a job: each subtask reports all its own values, the job's value is their sum."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def merged(reports: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """One value per name over all subtasks.

    Numbers are added, lists are joined, sets are united, dicts are merged by the same rule per key;
    of anything else the last report stands.

    >>> merged([{"n": 1, "seen": {"a"}, "by": {"x": 1}}, {"n": 2, "seen": {"b"}, "by": {"x": 3}}])["by"]
    {'x': 4}
    """
    result: dict[str, Any] = {}
    for report in reports:
        for name, value in report.items():
            result[name] = _plus(result[name], value) if name in result else value
    return result


def _plus(left: Any, right: Any) -> Any:
    match left, right:
        case bool(), bool():
            return right
        case (int() | float(), int() | float()) | (list(), list()):
            return left + right
        case (set(), set()) | (frozenset(), frozenset()):
            return left | right
        case dict(), dict():
            return merged([left, right])
        case _:
            return right
