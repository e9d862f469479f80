"""Jobs whose tasks keep little in flight give the same results, whatever fails, and never lock up."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from riverrun.core import options
from riverrun.core.time import Time
from riverrun.datastream.data_stream import DataStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.runtime import debloating
from riverrun.testing.simulate import Faults, Variety, replay, simulate
from tests.unit.testing import simulated_programs
from tests.unit.testing.test_simulated_joins import Pair, both, key_of

Build = Callable[[StreamExecutionEnvironment], DataStream]


def joined(env: StreamExecutionEnvironment) -> DataStream:
    """Two inputs, event time that waits for both of them, and timers."""
    left, right = both(env)
    sides = left.key_by(key_of).interval_join(right.key_by(key_of))
    return sides.between(Time.milliseconds(-5), Time.milliseconds(5)).process(Pair())


def skipping(env: StreamExecutionEnvironment) -> DataStream:
    """One stream takes a longer way than another one of the same source: a relay is on the shorter one."""
    numbers = env.from_collection(list(range(60)))
    longer = numbers.rebalance().map(lambda n: n * 2).disable_chaining().broadcast()
    return longer.filter(lambda n: n % 3 == 0).union(numbers).rebalance().map(lambda n: n + 1)


ON = {options.DEBLOAT.key: "true", options.DEBLOAT_TARGET.key: "100 ms"}
PROGRAMS = [
    pytest.param(simulated_programs.counting, id="counting"),
    pytest.param(simulated_programs.united, id="united"),
    pytest.param(simulated_programs.batching, id="batching"),
    pytest.param(simulated_programs.settled, id="settled"),
    pytest.param(joined, id="joined"),
    pytest.param(skipping, id="skipping"),
]
VARIETY = Variety(
    modes=("aligned", "unaligned", "aligned-timeout", "at-least-once"), savepoints=1, stops=1
)


@pytest.fixture(params=[(1, 1), (1, 6), (4, 40)])
def tight(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """So few records in flight that every task is held back again and again."""
    first, most = request.param
    monkeypatch.setattr(debloating, "FIRST", first)
    monkeypatch.setattr(debloating, "_MOST", most)


@pytest.mark.usefixtures("tight")
@pytest.mark.parametrize("build", PROGRAMS)
def test_results_survive_every_fault(build: Build) -> None:
    report = simulate(build, seeds=range(20), config=ON, variety=VARIETY)

    assert report.attempts > report.runs
    assert report.checkpoints > report.runs


@pytest.mark.usefixtures("tight")
def test_results_survive_rescaling() -> None:
    variety = Variety(parallelism=(1, 2, 3), rescales=2)
    report = simulate(simulated_programs.rescaled, seeds=range(20), config=ON, variety=variety)

    assert report.rescales > 0


def test_tasks_hear_from_their_consumers_only_where_it_is_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(debloating, "FIRST", 1)
    quiet = Faults.none()

    on = replay(simulated_programs.counting, 1, config=ON, faults=quiet)
    off = replay(simulated_programs.counting, 1, faults=quiet)

    assert any("send until record" in line for line in on)
    assert not any("send until record" in line for line in off)
