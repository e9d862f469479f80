"""Running jobs that are rescaled under every fault."""

from __future__ import annotations

from dataclasses import replace

import pytest

from riverrun.testing.simulate import Faults, Variety, replay, simulate
from riverrun.testing.simulation.program import Build
from tests.unit.testing import (
    rescaled_programs,
    simulated_programs,
    timer_programs,
    window_programs,
)

OFTEN = Variety(rescales=3)
PROGRAMS: dict[str, Build] = {
    "counting": simulated_programs.counting,
    "settled": simulated_programs.settled,
    "rescaled": simulated_programs.rescaled,
    **rescaled_programs.PROGRAMS,
}
TIMED = {**window_programs.PROGRAMS, **timer_programs.PROGRAMS}
ALL = {**PROGRAMS, **{name: program.build for name, program in TIMED.items()}}


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_survive_rescales_and_every_fault(name: str) -> None:
    report = simulate(PROGRAMS[name], seeds=range(15), variety=OFTEN)

    assert report.rescales > 5


def test_a_rescale_alone_is_an_attempt_and_no_failure() -> None:
    report = simulate(
        simulated_programs.counting, seeds=range(15), variety=OFTEN, faults=Faults.none()
    )

    assert report.rescales > 5
    assert report.attempts > report.runs


def test_rescales_among_savepoints_stops_and_other_jobmasters() -> None:
    variety = replace(OFTEN, savepoints=2, stops=1, parallelism=(1, 2, 3))
    report = simulate(simulated_programs.rescaled, seeds=range(15), variety=variety)

    assert report.rescales > 3
    assert report.jobs > report.runs


@pytest.mark.parametrize("name", ["sliding, folded", "sorted by timers", "settled, sessions"])
def test_event_time_survives_rescales(name: str) -> None:
    program = TIMED[name]
    variety = replace(OFTEN, incremental=program.incremental)
    simulate(program.build, seeds=range(6), variety=variety)


def test_at_least_once_loses_nothing_in_a_rescale() -> None:
    variety = replace(OFTEN, modes=("at-least-once",))
    simulate(simulated_programs.passing, seeds=range(20), variety=variety)


def test_the_trace_tells_of_rescales() -> None:
    traces = [
        line
        for seed in range(5)
        for line in replay(simulated_programs.counting, seed, variety=OFTEN)
    ]

    assert any("rescale wanted" in line for line in traces)


@pytest.mark.parametrize(
    "change",
    [{"rescales": -1}, {"rescales": 1, "rescaled_to": ()}, {"rescales": 1, "rescaled_to": (0,)}],
)
def test_variety_that_makes_no_sense_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="variety: rescale"):
        replace(Variety(), **change)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_results_survive_very_many_rescales(name: str) -> None:
    incremental = TIMED[name].incremental if name in TIMED else (False, True)
    variety = replace(
        OFTEN,
        incremental=incremental,
        savepoints=1,
        stops=1,
        parallelism=(1, 2, 3),
        backends=("hashmap", "hashmap", "rocksdb"),
    )
    simulate(ALL[name], seeds=range(30_000, 30_100), variety=variety)
