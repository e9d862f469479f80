"""Event time under every fault: windows, timers and watermarks give what follows from their input."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from riverrun.testing.simulate import Variety, simulate
from tests.unit.testing import timer_programs, window_programs
from tests.unit.testing.event_time_streams import Simulated

PROGRAMS = {**window_programs.PROGRAMS, **timer_programs.PROGRAMS}
BACKENDS = ("hashmap", "hashmap", "hashmap", "rocksdb")
EXACTLY_ONCE = Variety(backends=BACKENDS, parallelism=(1, 2, 3))
ANY_MODE = Variety(
    modes=("aligned", "unaligned", "aligned-timeout", "at-least-once"),
    backends=BACKENDS,
    parallelism=(1, 2, 3),
)


def run(program: Simulated, seeds: range) -> None:
    undisturbed: list[Counter[Any]] = []

    def check(values: list[Any]) -> None:
        found, expected = Counter(values), program.expected
        if not undisturbed:
            undisturbed.append(found)
            # Every other run is compared with this one, by the simulator.
            assert found == expected, f"missing {expected - found}, too many {found - expected}"

    variety = replace(
        ANY_MODE if program.repeatable else EXACTLY_ONCE, incremental=program.incremental
    )
    simulate(program.build, seeds=seeds, variety=variety, check=check)
    assert undisturbed[0]


@pytest.mark.parametrize("name", PROGRAMS)
def test_event_time_survives_every_fault(name: str) -> None:
    run(PROGRAMS[name], range(PROGRAMS[name].runs))


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_event_time_survives_very_many_runs(name: str) -> None:
    run(PROGRAMS[name], range(10_000, 10_500))
