"""Metrics picked and summed up: what is asked for by name, over one scope or over many."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from riverrun.rest.bodies.metrics import AggregatedMetric, Metric
from riverrun.rest.problems import bad_request

AGGREGATIONS: Final = ("min", "max", "sum", "avg", "skew")
_EACH: Final = "*."
_COMMA: Final = re.compile(r"(?<!\\),")


def names_in(text: str | None) -> list[str]:
    r"""The names in a comma-separated list; one that has a comma itself is written with ``\,``.

    >>> names_in("a,b.c"), names_in(None), names_in(""), names_in(r"map(a\, b).in,c")
    (['a', 'b.c'], [], [], ['map(a, b).in', 'c'])
    """
    return [name.replace(r"\,", ",") for name in _COMMA.split(text or "") if name]


def of_each(names: Iterable[str], subtasks: int) -> list[str]:
    """The names, with ``*.<metric>`` as that metric of every subtask.

    >>> of_each(["1.a", "*.b.c"], 2)
    ['1.a', '0.b.c', '1.b.c']
    """
    found: list[str] = []
    for name in names:
        if name.startswith(_EACH):
            metric = name.removeprefix(_EACH)
            found.extend(f"{index}.{metric}" for index in range(subtasks))
        else:
            found.append(name)
    return found


def picked(values: Mapping[str, float], wanted: Sequence[str]) -> list[Metric]:
    """The wanted metrics with their values; all names without values when none is named."""
    if not wanted:
        return [Metric(name) for name in sorted(values)]
    return [Metric(name, number(values[name])) for name in wanted if name in values]


def number(value: float) -> str:
    """A value as text: whole ones without a point.

    >>> number(3.0), number(0.25), number(float("nan"))
    ('3', '0.25', 'nan')
    """
    return str(int(value)) if value == value // 1 else str(value)


def aggregated(
    scopes: Iterable[Mapping[str, float]], wanted: Sequence[str], modes: Sequence[str]
) -> list[AggregatedMetric]:
    """The wanted metrics over all scopes that have them; names alone when none is named.

    Raises:
        HttpProblem: 400 for a mode that there is not.
    """
    modes = [mode.lower() for mode in modes] or list(AGGREGATIONS[:4])
    for mode in modes:
        if mode not in AGGREGATIONS:
            raise bad_request(f"agg: is {mode!r}, expected some of {', '.join(AGGREGATIONS)}")
    scopes = list(scopes)
    if not wanted:
        return [AggregatedMetric(id=name) for name in sorted({n for s in scopes for n in s})]
    found = {name: [scope[name] for scope in scopes if name in scope] for name in wanted}
    return [
        AggregatedMetric(id=name, **{mode: _figure(mode, values) for mode in modes})
        for name, values in found.items()
        if values
    ]


def _figure(mode: str, values: Sequence[float]) -> float:
    mean = sum(values) / len(values)
    match mode:
        case "min":
            return min(values)
        case "max":
            return max(values)
        case "sum":
            return sum(values)
        case "avg":
            return mean
        case _:
            spread = sum(abs(value - mean) for value in values) / len(values)
            return 100.0 * spread / mean if mean else 0.0
