"""The guard of the hot paths: what it compares and how, and that its paths run."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.guard import __main__ as command
from benchmarks.guard.bytecode import UNIT, instructions
from benchmarks.guard.counters import CpuCounter, InstructionCounter, best_counter, cost
from benchmarks.guard.exchange_paths import bare_copies
from benchmarks.guard.paths import PATHS, bare_loop
from benchmarks.guard.rounds import Rounds
from benchmarks.guard.verdict import (
    ALLOWED,
    ALLOWED_CPU,
    ALLOWED_ELSEWHERE,
    STORED,
    Bounds,
    Outcome,
    Stored,
    failed,
    load,
    store,
    verdicts,
)

RECORDS = 3_000
HANDLED = {
    "exchange Arrow batches": 2,
    "exchange megabytes": RECORDS // 512,
    "hundred operators": RECORDS // 4,
}
"""Paths that count something else than plain records."""


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
    monkeypatch.setattr("benchmarks.guard.rounds.bare_of", lambda _name: costing(ticks, 10))
    return ticks


@pytest.mark.parametrize("name", PATHS)
def test_each_path_handles_all_its_records_in_the_same_bytecode_each_time(name: str) -> None:
    counted = []
    for _ in range(3):  # the first one warms up
        handled: list[int] = []
        work = PATHS[name](RECORDS)
        counted.append(instructions(lambda: handled.append(work()) or handled[0]))  # type: ignore[func-returns-value]  # noqa: B023
        assert handled == [HANDLED.get(name, RECORDS)]

    # A cache of the standard library that is filled by then or not makes a few instructions in all.
    assert counted[1] == pytest.approx(counted[2], rel=0.005)
    assert counted[1] > 0


@pytest.mark.parametrize("bare", [bare_loop, bare_copies])
def test_the_bare_loops_handle_all_their_records(bare: Callable[[int], Callable[[], int]]) -> None:
    assert bare(RECORDS)() == (RECORDS if bare is bare_loop else RECORDS // 512)


def idle(steps: int) -> int:
    for _ in range(steps):
        pass
    return steps


def test_bytecode_is_counted_to_the_instruction() -> None:
    def twice() -> int:
        idle(1_000)
        return idle(1_000)

    once = instructions(lambda: idle(1_000))

    assert once == instructions(lambda: idle(1_000))
    assert instructions(twice) == pytest.approx(2 * once, rel=0.02)


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


def test_next_to_no_bytecode_may_double_but_not_become_some() -> None:
    bounds = Stored({}, "any").bounds(UNIT, "another")

    assert failed(verdicts({"encode": 0.01}, {"encode": 0.05}, bounds)) == []
    assert failed(verdicts({"encode": 0.01}, {"encode": 0.07}, bounds)) == ["encode"]
    assert failed(verdicts({"state": 2.0}, {"state": 2.41}, bounds)) == ["state"]


def test_instructions_are_held_to_a_fifth_on_any_processor() -> None:
    assert Stored({}, "one").bounds("instructions", "another") == Bounds(ALLOWED)


def test_cpu_time_of_another_processor_is_held_to_less() -> None:
    stored = Stored({"reduce": 1.0}, "one")

    assert stored.bounds("cpu", "one").allowed == ALLOWED_CPU
    assert stored.bounds("cpu", "another").allowed == ALLOWED_ELSEWHERE


def test_a_new_path_passes_and_one_that_is_no_longer_measured_does_not() -> None:
    compared = verdicts({"old": 1.0}, {"new": 1.0})

    assert [(each.path, each.outcome) for each in compared] == [
        ("new", Outcome.NEW),
        ("old", Outcome.GONE),
    ]
    assert failed(compared) == ["old"]


def test_ratios_are_kept_apart_by_unit_and_by_python(tmp_path: Path) -> None:
    file = tmp_path / "baseline.json"
    store(file, "cpu", "3.11", Stored({"reduce": 1.23456}, "one"))
    store(file, "cpu", "3.12", Stored({"reduce": 2.0}, "one"))
    store(file, "bytecode", "3.11", Stored({"reduce": 3.0}, "one"))
    store(file, "cpu", "3.12", Stored({"timers": 4.0}, "two"))

    assert load(file, "cpu", "3.11") == Stored({"reduce": 1.235}, "one")
    assert load(file, "cpu", "3.12") == Stored({"timers": 4.0}, "two")
    assert load(file, "bytecode", "3.11") == Stored({"reduce": 3.0}, "one")
    assert load(file, "bytecode", "3.12") is None


def test_the_least_cost_of_a_look_counts_and_is_taken_beside_the_bare_loop(ticks: Ticks) -> None:
    rounds = Rounds({"reduce": costing(ticks, 40, 20, 30)}, ticks, records=5)
    rounds.look(3)

    assert rounds.ratios() == {"reduce": 2.0}


def test_what_seems_lost_is_looked_at_again_and_the_rest_is_not(ticks: Ticks) -> None:
    paths = {"disturbed": costing(ticks, 90, 90, 20), "fine": costing(ticks, 10, 1)}
    rounds = Rounds(paths, ticks, records=5)
    rounds.look(1)

    rounds.confirm({"disturbed": 2.0, "fine": 1.0}, Bounds(), looks=3, rounds=1)

    assert rounds.ratios() == {"disturbed": 2.0, "fine": 1.0}


def test_what_stays_lost_is_still_lost_after_all_looks(ticks: Ticks) -> None:
    rounds = Rounds({"slow": costing(ticks, 30)}, ticks, records=5)
    rounds.look(1)

    rounds.confirm({"slow": 2.0, "unknown": 1.0}, Bounds(), looks=2, rounds=1)

    assert failed(verdicts({"slow": 2.0}, rounds.ratios())) == ["slow"]


def test_work_without_records_has_no_cost() -> None:
    with pytest.raises(ValueError, match="handled 0 records"):
        cost(Ticks(), lambda: 0)


def test_the_counters_of_this_machine_only_grow() -> None:
    counters = [CpuCounter(), best_counter(), *filter(None, [InstructionCounter.opened()])]

    for counter in counters:
        assert cost(counter, bare_loop(1_000)) >= 0


def slowed(path: Callable[[int], Callable[[], int]], share: float) -> Any:
    """The path with so much more bytecode of its own."""

    def prepare(records: int) -> Callable[[], int]:
        executed = instructions(path(records)) * path(records)()
        more = round(share * executed / instructions(lambda: idle(1_000)))
        work = path(records)

        def slow_work() -> int:
            idle(more)
            return work()

        return slow_work

    return prepare


@pytest.mark.parametrize("name", ["value state", "tumbling aggregate", "hundred operators"])
def test_a_quarter_more_work_in_a_path_fails_and_the_same_work_does_not(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    quick = ["--rounds", "1", "--records", "2048", "--baseline", str(tmp_path / "baseline.json")]
    monkeypatch.setattr(command, "best_counter", Ticks)  # bytecode alone has to see it
    monkeypatch.setattr("benchmarks.guard.rounds.cost", lambda _counter, _work: 1.0)
    monkeypatch.setattr(command, "PATHS", {name: PATHS[name]})

    assert command.main([*quick, "--update"]) == 0
    assert command.main(quick) == 0
    monkeypatch.setattr(command, "PATHS", {name: slowed(PATHS[name], 0.25)})
    capsys.readouterr()
    assert command.main(quick) == 1
    assert "+25%" in capsys.readouterr().out
    monkeypatch.setattr(command, "PATHS", {name: slowed(PATHS[name], 0.15)})
    assert command.main(quick) == 0


def test_the_command_passes_without_stored_ratios_and_fails_on_a_loss(
    ticks: Ticks,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = str(tmp_path / "baseline.json")
    monkeypatch.setattr(command, "best_counter", lambda: ticks)
    monkeypatch.setattr(command, "PATHS", {"reduce": costing(ticks, 20)})
    quick = ["--rounds", "1", "--records", "5", "--baseline", file]

    assert command.main(quick) == 0
    assert "not compared" in " ".join(capsys.readouterr().out.split())
    assert command.main([*quick, "--update"]) == 0
    assert command.main(quick) == 0
    monkeypatch.setattr(command, "PATHS", {"reduce": costing(ticks, 31)})
    assert command.main(quick) == 1
    assert "+55%" in capsys.readouterr().out


def test_ratios_of_all_paths_are_stored_for_the_python_that_is_supported_first() -> None:
    for unit in (UNIT, "cpu"):
        stored = load(STORED, unit, "3.11")
        assert stored is not None
        assert set(stored.ratios) == set(PATHS)
