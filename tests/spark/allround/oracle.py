"""What the all-round job must give, computed without any of its machinery."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from tests.spark.allround.functions import KINDS, LIST_LENGTH, Record
from tests.spark.allround.job import Shape

_SHOWN = 20


def problems(shape: Shape, results: Iterable[Record]) -> list[str]:
    """What is wrong with the results; empty when they are exact."""
    found = list(results)
    return [
        *_violations(found),
        *_differences("key", _expected_keys(shape), _keyed(found)),
        *_differences("rule", _expected_rules(shape), _rules(found)),
        *_broken_counters(found),
    ]


def problems_but_repeats(shape: Shape, results: Iterable[Record]) -> list[str]:
    """What is wrong with the results when records may have been committed twice.

    A job that goes back behind a checkpoint that was complete cannot take back what was committed with it.
    """
    found = list(results)
    return [
        *_violations(found),
        *_differences("key", _expected_keys(shape), set(_keyed(found))),
        *_differences("rule", _expected_rules(shape), set(_rules(found))),
    ]


def keyed_record(key: int, n: int) -> Record:
    """What the job knows about ``key`` after its record ``n``."""
    recent = tuple(range(n - n % LIST_LENGTH, n + 1))
    kinds = tuple((kind, (n - kind) // KINDS + 1) for kind in range(min(KINDS, n + 1)))
    return ("key", key, n, n * (n + 1) // 2, recent, kinds)


def _expected_keys(shape: Shape) -> Iterator[Record]:
    for key in range(shape.keys):
        yield from (keyed_record(key, n) for n in range(shape.per_key))


def _expected_rules(shape: Shape) -> Iterator[Record]:
    for subtask in range(shape.parallelism):
        yield from (("rule", subtask, n) for n in range(shape.rules))


def _violations(found: Iterable[Record]) -> list[str]:
    return [f"violation: {record[1]}" for record in found if record[0] == "violation"][:_SHOWN]


def _rules(found: Iterable[Record]) -> list[Record]:
    return [record for record in found if record[0] == "rule"]


def _keyed(found: Iterable[Record]) -> list[Record]:
    return [record[:6] for record in found if record[0] == "key"]


def _differences(kind: str, expected: Iterable[Record], found: Iterable[Record]) -> Iterator[str]:
    wanted, there = Counter(expected), Counter(found)
    missing, extra = wanted - there, there - wanted
    if missing:
        yield f"{kind}: {missing.total()} missing, such as {next(iter(missing))}"
    if extra:
        yield f"{kind}: {extra.total()} too many, such as {next(iter(extra))}"


def _broken_counters(found: Iterable[Record]) -> Iterator[str]:
    """The numbers that operator state gave must be 1, 2, 3 ... for each counter."""
    numbers: dict[Any, list[int]] = defaultdict(list)
    for record in found:
        if record[0] == "key":
            numbers[record[6]].append(record[7])
    for name, values in numbers.items():
        if sorted(values) != list(range(1, len(values) + 1)):
            yield f"counter {name}: {len(values)} numbers up to {max(values)}"
