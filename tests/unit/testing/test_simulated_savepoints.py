"""Savepoints under every fault: taken while the job goes on, and to stop one job and start the next."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from riverrun.api.functions import MapFunction
from riverrun.datastream.data_stream import DataStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.testing.simulate import Faults, SimulationFailed, Variety, simulate
from riverrun.testing.simulation.program import Build
from tests.unit.testing import simulated_programs, timer_programs, window_programs

OFTEN = Variety(savepoints=2, stops=2)
PROGRAMS = [
    pytest.param(simulated_programs.counting, id="counting"),
    pytest.param(simulated_programs.united, id="united"),
    pytest.param(simulated_programs.settled, id="settled"),
]
TIMED = {**window_programs.PROGRAMS, **timer_programs.PROGRAMS}


@pytest.mark.parametrize("build", PROGRAMS)
def test_results_survive_stops_and_every_fault(build: Build) -> None:
    report = simulate(build, seeds=range(30), variety=OFTEN)

    assert report.savepoints > 5
    assert report.jobs > report.runs + 3


def test_a_job_may_go_on_from_a_savepoint_at_another_parallelism() -> None:
    rescaled = replace(OFTEN, parallelism=(1, 2, 3), backends=("hashmap", "rocksdb"))
    report = simulate(simulated_programs.rescaled, seeds=range(20), variety=rescaled)

    assert report.jobs > report.runs


def test_at_least_once_loses_nothing_in_a_stop() -> None:
    variety = replace(OFTEN, modes=("at-least-once",))
    simulate(simulated_programs.passing, seeds=range(20), variety=variety)


@pytest.mark.parametrize("name", ["sliding, folded", "sorted by timers", "settled, sessions"])
def test_event_time_survives_stops(name: str) -> None:
    program = TIMED[name]
    variety = replace(OFTEN, incremental=program.incremental)
    simulate(program.build, seeds=range(12), variety=variety)


@pytest.mark.slow
@pytest.mark.parametrize("name", TIMED)
def test_event_time_survives_very_many_stops(name: str) -> None:
    program = TIMED[name]
    variety = replace(
        OFTEN,
        incremental=program.incremental,
        backends=("hashmap", "hashmap", "rocksdb"),
        parallelism=(1, 2, 3),
    )
    simulate(program.build, seeds=range(20_000, 20_200), variety=variety)


@pytest.mark.slow
@pytest.mark.parametrize("build", PROGRAMS)
def test_results_survive_very_many_stops(build: Build) -> None:
    simulate(build, seeds=range(20_000, 22_000), variety=OFTEN)


class Forgetful(MapFunction):
    """Counts in a place that no savepoint holds."""

    def __init__(self) -> None:
        self._seen = 0

    def map(self, value: Any) -> Any:
        self._seen += 1
        return self._seen


def forgetful(env: StreamExecutionEnvironment) -> DataStream:
    """Numbers records, until it begins again."""
    env.set_parallelism(1)
    return env.from_sequence(1, 60).map(Forgetful())


def test_what_a_stop_forgets_is_found_without_any_fault() -> None:
    with pytest.raises(SimulationFailed, match=r"(?s)stop with a savepoint \(step.*no faults"):
        simulate(forgetful, seeds=range(30), faults=Faults.none(), variety=OFTEN)
