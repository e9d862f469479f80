"""Who is measured when, and what an interrupted run has left to do."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.measurement import Measurement
from benchmarks.results import Beside, Cell, Plan, Results, expected_seconds, load
from benchmarks.systems import Case, RunFailed, Sizes, System
from benchmarks.turns import cells, seconds_left, take_turns
from tests.unit.benchmarks.made_up import PROVENANCE, measurement, results

CASE = Case("benchmarks.engine", Sizes(1, 2))
SYSTEMS = {
    "fast": System("fast", {"keyed": CASE, "state": CASE}),
    "slow": System("slow", {"state": CASE}),
}
PLAN = Plan(("keyed", "state"), ("fast", "slow"), 2, quick=False)


class Runs:
    """Stands in for the processes: notes who was asked for, and fails as it is told."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.failing: set[tuple[str, str]] = set()
        self.interrupted_after: int | None = None

    def run(self, system: System, workload: str) -> Measurement:
        if len(self.asked) == self.interrupted_after:
            raise KeyboardInterrupt
        self.asked.append((workload, system.name))
        if (workload, system.name) in self.failing:
            raise RunFailed(f"{system.name} {workload}: ended with 1, log 'x.log':\nlast words")
        return measurement(workload, system.name, 1_000.0)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    made = Runs()
    monkeypatch.setattr(System, "run", lambda system, workload, **_: made.run(system, workload))
    return made


def take(found: Results, path: Path, systems: Mapping[str, System] = SYSTEMS) -> None:
    take_turns(found, systems, Console(quiet=True), path, expected={}, deadline_seconds=1.0)


def test_all_rounds_of_a_workload_follow_each_other_and_systems_alternate_in_them() -> None:
    assert cells(SYSTEMS, PLAN) == [
        Cell("keyed", 1, "fast"),
        Cell("keyed", 2, "fast"),
        Cell("state", 1, "fast"),
        Cell("state", 1, "slow"),
        Cell("state", 2, "fast"),
        Cell("state", 2, "slow"),
    ]


def test_a_cell_that_fails_does_not_keep_the_others_from_being_measured(
    runs: Runs, tmp_path: Path
) -> None:
    runs.failing = {("state", "fast")}
    found = Results(PLAN, PROVENANCE)
    take(found, tmp_path / "run.json")

    assert len(runs.asked) == 6
    assert set(found.failed) == {Cell("state", 1, "fast"), Cell("state", 2, "fast")}
    assert set(found.failed.values()) == {"fast state: ended with 1, log 'x.log'"}
    assert Cell("state", 2, "slow") in found.measured


def test_a_rate_that_cannot_be_told_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    backwards = Measurement("fast", "keyed", 1, 2.0, 2, 1.0, {})
    monkeypatch.setattr(System, "run", lambda *_, **__: backwards)
    found = Results(Plan(("keyed",), ("fast",), 1, quick=False), PROVENANCE)
    take(found, tmp_path / "run.json")

    assert "measure more records" in found.failed[Cell("keyed", 1, "fast")]


def test_an_interrupted_run_goes_on_where_it_was(runs: Runs, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    runs.interrupted_after = 3
    with pytest.raises(KeyboardInterrupt):
        take(Results(PLAN, PROVENANCE), path)
    runs.interrupted_after = None
    before = len(runs.asked)
    resumed = load(path)
    take(resumed, path)

    assert (before, len(runs.asked)) == (3, 6)
    assert list(resumed.measured) == cells(SYSTEMS, PLAN)
    assert list(load(path).measured) == cells(SYSTEMS, PLAN)


def test_what_failed_is_tried_again_by_a_run_that_goes_on(runs: Runs, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    runs.failing = {("keyed", "fast")}
    take(Results(PLAN, PROVENANCE), path)
    runs.failing = set()
    runs.asked.clear()
    resumed = load(path)
    take(resumed, path)

    assert runs.asked == [("keyed", "fast")] * 2
    assert resumed.failed == {}


def test_results_are_the_same_after_saving(tmp_path: Path) -> None:
    made = results([("keyed", "fast", [1.0, 2.0])], latency={"systems": {}})
    made.fail(Cell("keyed", 1, "slow"), "slow keyed: ended with 1:\nand more")
    made.beside["benchmarks.latency"] = Beside("python -m benchmarks.latency", "said", True)
    made.save(tmp_path / "run.json")

    found = load(tmp_path / "run.json")
    assert found.measured == made.measured
    assert found.failed == {Cell("keyed", 1, "slow"): "slow keyed: ended with 1"}
    assert found.beside == made.beside
    assert (found.latency, found.provenance) == (made.latency, made.provenance)
    assert found.plan.rounds == 2


def test_the_time_left_is_what_cells_took_now_or_before() -> None:
    done = results([("keyed", "fast", [1.0])])
    pending = [Cell("keyed", 2, "fast"), Cell("state", 1, "fast"), Cell("state", 1, "slow")]

    assert seconds_left(pending, done, {("keyed", "fast"): 99.0, ("state", "fast"): 20.0}) == 47.0


def test_the_expected_seconds_are_those_of_the_last_run_of_the_same_kind(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("run-1.json", "run-2.json", "run-3.json")]
    results([("keyed", "fast", [1.0])]).save(files[0])
    results([("state", "fast", [1.0, 2.0])]).save(files[1])
    results([("join", "fast", [1.0])], quick=True).save(files[2])

    assert expected_seconds(files, quick=False) == {
        ("keyed", "fast"): 12.0,
        ("state", "fast"): 12.0,
    }
    assert expected_seconds(files, quick=True) == {("join", "fast"): 12.0}


def test_a_part_of_a_run_may_have_more_rounds(runs: Runs, tmp_path: Path) -> None:
    found = Results(PLAN, PROVENANCE)
    more = Plan(("state",), ("fast",), 3, quick=False)

    take_turns(
        found,
        SYSTEMS,
        Console(quiet=True),
        tmp_path / "run.json",
        expected={},
        deadline_seconds=1.0,
        part=more,
    )

    assert list(found.measured) == [Cell("state", turn, "fast") for turn in (1, 2, 3)]
    assert runs.asked == [("state", "fast")] * 3
