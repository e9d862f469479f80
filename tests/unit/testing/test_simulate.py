"""Programs give the same result whatever happens; a simulation that finds another one says how."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from riverrun.core.errors import ProgramError
from riverrun.datastream.data_stream import DataStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.testing.simulate import (
    Faults,
    SimulationFailed,
    SimulationReport,
    Variety,
    replay,
    simulate,
)
from tests.unit.testing import simulated_programs

Build = Callable[[StreamExecutionEnvironment], DataStream]

PROGRAMS = [
    pytest.param(simulated_programs.counting, 100, id="counting"),
    pytest.param(simulated_programs.united, 60, id="united"),
    pytest.param(simulated_programs.batching, 150, id="batching"),
    pytest.param(simulated_programs.settled, 100, id="settled"),
]


@pytest.mark.parametrize(("build", "runs"), PROGRAMS)
def test_results_survive_every_fault(build: Build, runs: int) -> None:
    report = simulate(build, seeds=range(runs))

    assert report.runs == runs
    assert report.attempts > 2 * runs
    assert report.checkpoints > runs
    assert all(report.faults.values()), report.faults


@pytest.mark.slow
@pytest.mark.parametrize(("build", "runs"), PROGRAMS)
def test_results_survive_very_many_runs(build: Build, runs: int) -> None:
    simulate(build, seeds=range(10_000, 10_000 + 40 * runs))


@pytest.mark.parametrize(("build", "runs"), PROGRAMS)
def test_results_survive_state_on_disk(build: Build, runs: int) -> None:
    simulate(build, seeds=range(runs // 15), variety=Variety(backends=("rocksdb",)))


def test_at_least_once_loses_nothing_and_may_repeat() -> None:
    repeats: list[int] = []

    def check(values: list[Any]) -> None:
        repeats.append(len(values) - len(set(values)))

    at_least_once = Variety(modes=("at-least-once",))
    often = Faults(task_crashes=5)
    simulate(
        simulated_programs.passing,
        seeds=range(60),
        faults=often,
        variety=at_least_once,
        check=check,
    )

    assert repeats[0] == 0, "the undisturbed run"
    assert any(repeats)


def test_results_survive_another_parallelism() -> None:
    often = Faults(master_crashes=3)
    rescaled = Variety(parallelism=(1, 2, 3))

    simulate(simulated_programs.rescaled, seeds=range(80), faults=often, variety=rescaled)


def test_what_zombies_commit_is_part_of_a_complete_checkpoint() -> None:
    found: list[list[Any]] = []

    def check(values: list[Any]) -> None:
        outside = [value for commit in simulated_programs.OUTSIDE.values() for value in commit]
        found.append(sorted(outside))
        simulated_programs.OUTSIDE.clear()
        assert found[-1] == found[0]

    haunted = Faults(zombies=4, master_crashes=2)
    simulate(simulated_programs.written_outside, seeds=range(60), faults=haunted, check=check)

    assert len(found[0]) == 20


def test_another_order_of_events_is_no_fault() -> None:
    report = simulate(simulated_programs.counting, seeds=range(30), faults=Faults.none())

    assert report.attempts == report.runs == 30
    assert not any(report.faults.values())


def test_settings_of_the_program_stay() -> None:
    seen: set[tuple[str, ...]] = set()

    def build(env: StreamExecutionEnvironment) -> DataStream:
        env.configure({"execution.checkpointing.incremental": "true"})
        return simulated_programs.counting(env)

    for seed in range(10):
        with pytest.raises(SimulationFailed) as caught:
            replay(build, seed, check=_only_undisturbed())
        seen.add(
            tuple(line for line in caught.value.schedule.splitlines() if "incremental" in line)
        )

    assert seen == {()}


def _only_undisturbed() -> Callable[[list[Any]], None]:
    calls: list[int] = []

    def check(values: list[Any]) -> None:
        calls.append(len(values))
        assert len(calls) == 1, "not the first run"

    return check


class TestAFailingRun:
    @pytest.fixture
    def failed(self) -> SimulationFailed:
        with pytest.raises(SimulationFailed) as caught:
            simulate(forgetful, seeds=range(500))
        return caught.value

    def test_has_the_fewest_faults(self, failed: SimulationFailed) -> None:
        faults = [line for line in failed.schedule.splitlines() if "fault:" in line]

        assert len(faults) == 1
        assert "missing" in failed.reason or "too many" in failed.reason

    def test_says_what_happened_step_by_step(self, failed: SimulationFailed) -> None:
        text = "\n".join(failed.trace)

        assert "*** " in text
        assert "trigger checkpoint 1" in text
        assert f"replay(build, {failed.seed})" in str(failed)

    def test_repeats_exactly(self, failed: SimulationFailed) -> None:
        traces = []
        for _ in range(2):
            with pytest.raises(SimulationFailed) as again:
                replay(forgetful, failed.seed)
            assert again.value.seed == failed.seed
            assert again.value.reason == failed.reason
            traces.append(again.value.trace)

        assert traces[0] == traces[1]

    def test_travels_between_processes(self, failed: SimulationFailed) -> None:
        copy = pickle.loads(pickle.dumps(failed))

        assert str(copy) == str(failed)


def forgetful(env: StreamExecutionEnvironment) -> DataStream:
    """A program with a mistake: a count that no checkpoint holds."""
    seen: dict[int, int] = {}

    def count(value: int) -> tuple[int, int]:
        seen[value % 3] = seen.get(value % 3, 0) + 1
        return value % 3, seen[value % 3]

    return env.from_sequence(1, 20).map(count)


def test_a_replay_is_the_same_in_another_process() -> None:
    script = (
        "from riverrun.testing.simulate import replay\n"
        "from tests.unit.testing.simulated_programs import counting\n"
        "print('\\n'.join(replay(counting, 7)))\n"
    )
    root = Path(__file__).parents[3]
    traces = [
        subprocess.run(
            [sys.executable, "-c", script],
            cwd=root,
            env={"PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(root)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    ]

    assert traces[0] == traces[1] != ""
    assert traces[0].splitlines() == replay(simulated_programs.counting, 7)


def test_a_program_that_depends_on_the_order_is_told_so() -> None:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        env.set_parallelism(2)
        numbered = env.from_sequence(1, 20).map(lambda value: (value % 2, value))
        return numbered.key_by(lambda pair: pair[0]).reduce(
            lambda one, two: (one[0], two[1] * 2 - one[1])
        )

    with pytest.raises(SimulationFailed, match="another order of events is enough"):
        simulate(build, seeds=range(50))


def test_a_program_without_a_result_is_refused() -> None:
    def build(env: StreamExecutionEnvironment) -> Any:
        env.from_sequence(1, 3)

    with pytest.raises(ProgramError, match="build gave None; expected the DataStream"):
        simulate(build)


def test_a_program_that_fails_by_itself_is_refused() -> None:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        return env.from_collection([1, 0]).map(lambda value: 1 // value)

    with pytest.raises(ProgramError, match="although nobody disturbs it"):
        simulate(build)


def test_numbers_of_faults_are_checked() -> None:
    with pytest.raises(ValueError, match="task_crashes is -1; expected 0 or more"):
        Faults(task_crashes=-1)


def test_modes_are_checked() -> None:
    with pytest.raises(ValueError, match="mode 'sideways'; expected some of"):
        Variety(modes=("sideways",))


def test_a_report_counts_what_was_tried() -> None:
    report = simulate(simulated_programs.passing, seeds=[3], faults=Faults.none())

    assert isinstance(report, SimulationReport)
    assert (report.runs, report.attempts) == (1, 1)
    assert report.steps > 20
