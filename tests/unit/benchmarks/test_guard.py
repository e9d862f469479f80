"""The guard of the hot paths: what it compares and how, and that its paths run."""

from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.guard import __main__ as command
from benchmarks.guard.counters import CpuCounter, InstructionCounter, best_counter, cost
from benchmarks.guard.paths import PATHS, bare_loop
from benchmarks.guard.rounds import Rounds
from benchmarks.guard.verdict import Outcome, failed, load, store, verdicts

RECORDS = 3_000


class Ticks:
    """A counter that the measured work moves itself."""

    unit = "ticks"

    def __init__(self) -> None:
        self.now = 0

    def read(self) -> int:
        return self.now


def costing(ticks: Ticks, *costs: int) -> Callable[[int], Callable[[], int]]:
    """A path that costs so much a record, each time it is measured the next of these."""
    left = list(costs)

    def prepare(records: int) -> Callable[[], int]:
        def work() -> int:
            ticks.now += records * (left.pop(0) if len(left) > 1 else left[0])
            return records

        return work

    return prepare


@pytest.fixture
def ticks(monkeypatch: pytest.MonkeyPatch) -> Ticks:
    ticks = Ticks()
    monkeypatch.setattr("benchmarks.guard.rounds.bare_loop", costing(ticks, 10))
    return ticks


@pytest.mark.parametrize("name", PATHS)
def test_each_path_handles_all_its_records(name: str) -> None:
    assert PATHS[name](RECORDS)() == RECORDS


def test_the_bare_loop_handles_all_its_records() -> None:
    assert bare_loop(RECORDS)() == RECORDS


@pytest.mark.parametrize(
    ("stored", "found", "outcome"),
    [
        (2.0, 2.0, Outcome.KEPT),
        (2.0, 2.39, Outcome.KEPT),
        (2.0, 2.41, Outcome.LOST),
        (2.0, 1.61, Outcome.KEPT),
        (2.0, 1.5, Outcome.GAINED),
    ],
)
def test_a_path_is_lost_when_it_costs_a_fifth_more(
    stored: float, found: float, outcome: Outcome
) -> None:
    [verdict] = verdicts({"reduce": stored}, {"reduce": found})

    assert verdict.outcome is outcome
    assert failed([verdict]) == (["reduce"] if outcome is Outcome.LOST else [])


def test_a_new_path_passes_and_one_that_is_no_longer_measured_does_not() -> None:
    compared = verdicts({"old": 1.0}, {"new": 1.0})

    assert [(each.path, each.outcome) for each in compared] == [
        ("new", Outcome.NEW),
        ("old", Outcome.GONE),
    ]
    assert failed(compared) == ["old"]


def test_ratios_are_kept_apart_by_unit_and_by_python(tmp_path: Path) -> None:
    file = tmp_path / "baseline.json"
    store(file, "cpu", "3.11", {"reduce": 1.23456})
    store(file, "cpu", "3.12", {"reduce": 2.0})
    store(file, "instructions", "3.11", {"reduce": 3.0})
    store(file, "cpu", "3.12", {"timers": 4.0})

    assert load(file, "cpu", "3.11") == {"reduce": 1.235}
    assert load(file, "cpu", "3.12") == {"timers": 4.0}
    assert load(file, "instructions", "3.11") == {"reduce": 3.0}
    assert load(file, "instructions", "3.12") is None


def test_the_least_cost_counts_and_is_taken_beside_the_bare_loop(ticks: Ticks) -> None:
    rounds = Rounds({"reduce": costing(ticks, 40, 20, 30)}, ticks, records=5)
    rounds.run(3)

    assert rounds.ratios() == {"reduce": 2.0}


def test_what_seems_lost_is_looked_at_again_and_the_rest_is_not(ticks: Ticks) -> None:
    paths = {"disturbed": costing(ticks, 90, 90, 20), "fine": costing(ticks, 10, 1)}
    rounds = Rounds(paths, ticks, records=5)
    rounds.run(1)

    rounds.confirm({"disturbed": 2.0, "fine": 1.0}, looks=3, rounds=1)

    assert rounds.ratios() == {"disturbed": 2.0, "fine": 1.0}


def test_what_stays_lost_is_still_lost_after_all_looks(ticks: Ticks) -> None:
    rounds = Rounds({"slow": costing(ticks, 30)}, ticks, records=5)
    rounds.run(1)

    rounds.confirm({"slow": 2.0, "unknown": 1.0}, looks=2, rounds=1)

    assert failed(verdicts({"slow": 2.0}, rounds.ratios())) == ["slow"]


def test_work_without_records_has_no_cost() -> None:
    with pytest.raises(ValueError, match="handled 0 records"):
        cost(Ticks(), lambda: 0)


def test_the_counters_of_this_machine_only_grow() -> None:
    counters = [CpuCounter(), best_counter(), *filter(None, [InstructionCounter.opened()])]

    for counter in counters:
        assert cost(counter, bare_loop(1_000)) >= 0


def test_the_command_fails_without_stored_ratios_and_on_a_loss(
    ticks: Ticks,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = str(tmp_path / "baseline.json")
    monkeypatch.setattr(command, "best_counter", lambda: ticks)
    monkeypatch.setattr(command, "PATHS", {"reduce": costing(ticks, 20)})
    quick = ["--rounds", "1", "--records", "5", "--baseline", file]

    assert command.main(quick) == 1
    assert "run with --update" in " ".join(capsys.readouterr().out.split())
    assert command.main([*quick, "--update"]) == 0
    assert command.main(quick) == 0
    monkeypatch.setattr(command, "PATHS", {"reduce": costing(ticks, 25)})
    assert command.main(quick) == 1
    assert "+25%" in capsys.readouterr().out
