"""The bare loops find what the programs are to give: they are the limit of the same work, not of less."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.loops import LOOPS
from benchmarks.loops.clicks import sessions
from benchmarks.loops.transactions import keyed, skewed, state, stateless
from benchmarks.programs import PROGRAMS
from benchmarks.workloads import (
    CHAIN,
    COLUMNS,
    JOIN,
    KEYED,
    LARGE_RECORDS,
    SESSIONS,
    SKEWED,
    SLIDING,
    STATE,
    STATELESS,
    WINDOWS,
    WORKLOADS,
)

THROUGH_WINDOWS = 250_000
"""So many payments end a few windows before the input does."""


def test_every_workload_but_nexmark_has_a_loop_and_a_program() -> None:
    assert set(LOOPS) == set(PROGRAMS) == {name for name in WORKLOADS if not name.startswith("q")}


def test_the_loops_over_transactions_keep_the_same_records_and_sums() -> None:
    assert stateless(range(5_000)) == len(list(PROGRAMS[STATELESS].expected(5_000)))
    for found, workload in (
        (dict(keyed(range(5_000)).values()), KEYED),
        (state(range(5_000)), STATE),
        (skewed(range(5_000)), SKEWED),
    ):
        assert found == dict(PROGRAMS[workload].expected(5_000))


@pytest.mark.parametrize("workload", [WINDOWS, SLIDING])
def test_the_loops_over_payments_give_the_same_windows(workload: str) -> None:
    found = LOOPS[workload](range(THROUGH_WINDOWS))

    assert sorted(found) == sorted(PROGRAMS[workload].expected(THROUGH_WINDOWS))


def test_the_loop_over_columns_gives_the_same_windows() -> None:
    found = np.concatenate(LOOPS[COLUMNS](range(THROUGH_WINDOWS))).tolist()

    assert sorted(map(tuple, found)) == sorted(PROGRAMS[COLUMNS].expected(THROUGH_WINDOWS))


def test_the_loop_over_clicks_gives_the_same_sessions() -> None:
    found = LOOPS[SESSIONS](range(280_000))

    assert sorted(found) == sorted(PROGRAMS[SESSIONS].expected(280_000))


def test_sessions_end_after_a_pause_and_begin_again(monkeypatch: pytest.MonkeyPatch) -> None:
    times = (0, 4_000, 20_000, 19_500, 25_000, 30_001, 60_000, 52_000, 56_000)
    monkeypatch.setattr("benchmarks.loops.clicks.click", lambda index: (7, 0, times[index]))
    monkeypatch.setattr("benchmarks.loops.clicks.BOUND_MS", 10_000)

    assert sorted(sessions(range(len(times)))) == [1, 2, 3, 3]


def test_the_other_loops_give_the_sum_of_the_results() -> None:
    assert LOOPS[JOIN](range(50_000)) == sum(
        wait for _, _, wait in PROGRAMS[JOIN].expected(100_000)
    )
    assert LOOPS[LARGE_RECORDS](range(3)) == sum(PROGRAMS[LARGE_RECORDS].expected(3))
    assert LOOPS[CHAIN](range(1_000)) == sum(PROGRAMS[CHAIN].expected(1_000))
