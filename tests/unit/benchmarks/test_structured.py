"""Spark's cases are all there or explained, and its stateful functions give what the other systems give."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import chain
from typing import Any

import pytest

from benchmarks.loops import LOOPS
from benchmarks.payments import SLIDING_MS, WINDOW_MS, customer_of, payment
from benchmarks.peers.structured_state import Keeper, Sessions, Totals, WindowSums
from benchmarks.peers.structured_streaming import QUERIES
from benchmarks.systems.flink_sql import FLINK_SQL
from benchmarks.systems.spark import SPARK_SQL, STRUCTURED
from benchmarks.systems.system import System
from benchmarks.visits import click, visitor_of
from benchmarks.workloads import SESSIONS, SLIDING, STATE, WINDOWS, WORKLOADS, transaction

SYSTEMS = {system.name: system for system in (STRUCTURED, SPARK_SQL, FLINK_SQL)}
FOREVER = 1 << 62


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS)
def test_every_workload_is_measured_or_explained(system: System) -> None:
    assert set(WORKLOADS) == set(chain(system.cases, system.left_out))


def test_every_case_of_structured_streaming_has_a_query() -> None:
    assert set(STRUCTURED.cases) == set(QUERIES)


@pytest.mark.parametrize("system", [STRUCTURED, SPARK_SQL], ids=lambda system: system.name)
def test_flags_are_settings_of_the_module(system: System) -> None:
    for case in system.cases.values():
        settings = import_module(case.module).SETTINGS
        assert {flag.removeprefix("--").replace("-", "_") for flag in case.flags[::2]} <= set(
            settings
        )


def in_micro_batches(
    keeper: Keeper,
    made: Callable[[int], Any],
    key_of: Callable[[Any], int],
    *,
    records: int,
    batch: int,
) -> Iterator[tuple[Any, ...]]:
    """The keeper's results: each micro-batch looks first at its records, then at what is due."""
    held: dict[tuple[int, ...], tuple[Any, ...]] = {}
    latest = 0
    for start in range(0, records, batch):
        groups = defaultdict(list)
        for index in range(start, min(start + batch, records)):
            record = made(index)
            latest = max(latest, record[-1])
            groups[(key_of(record),)].append(record)
        for key, those in groups.items():
            held[key], results = keeper.update(key, those, held.get(key))
            yield from results
        yield from expired(keeper, held, latest - 1_000)
    yield from expired(keeper, held, FOREVER)


def expired(
    keeper: Keeper, held: dict[tuple[int, ...], tuple[Any, ...]], watermark: int
) -> Iterator[tuple[Any, ...]]:
    for key, value in list(held.items()):
        due = keeper.due(key, value)
        if due is None or due > watermark:
            continue
        kept, results = keeper.expire(key, value, watermark)
        if kept is None:
            del held[key]
        else:
            held[key] = kept
        yield from results


def test_totals_go_on_over_micro_batches() -> None:
    found = list(in_micro_batches(Totals(), transaction, customer_of, records=30_000, batch=7_000))

    assert len(found) == 30_000
    assert dict(found) == LOOPS[STATE](range(30_000))


@pytest.mark.parametrize(
    ("workload", "size"), [(WINDOWS, WINDOW_MS), (SLIDING, SLIDING_MS)], ids=[WINDOWS, SLIDING]
)
def test_windows_give_what_plain_python_gives(workload: str, size: int) -> None:
    found = in_micro_batches(WindowSums(size), payment, customer_of, records=150_000, batch=40_000)

    assert sorted(spend for _, _, spend in found) == sorted(LOOPS[workload](range(150_000)))


def test_sessions_give_what_plain_python_gives() -> None:
    found = in_micro_batches(Sessions(), click, visitor_of, records=300_000, batch=70_000)

    assert sorted(count for _, _, count in found) == sorted(LOOPS[SESSIONS](range(300_000)))


def test_a_visitors_sessions_end_one_by_one() -> None:
    times = (0, 4_000, 20_000, 19_500, 25_000, 30_001)
    keeper = Sessions()

    held, results = keeper.update((7,), [(7, 0, time) for time in times[:3]], None)
    assert (results, keeper.due((7,), held)) == ([], 9_000)

    kept, results = keeper.expire((7,), held, 9_000)
    assert kept is not None
    assert results == [(7, 0, 2)]

    held, _ = keeper.update((7,), [(7, 0, time) for time in times[3:]], kept)
    assert keeper.expire((7,), held, 40_000) == (None, [(7, 19_500, 3), (7, 30_001, 1)])
