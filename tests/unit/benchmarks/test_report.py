"""What a run comes to, and that nobody overlooks where riverrun is behind."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks import beside
from benchmarks.publish import page, publish
from benchmarks.report import GROUPS, TARGETS, Goal, Verdict, rows, table
from benchmarks.results import Beside, Cell, load
from benchmarks.setup_peers import ROOT
from benchmarks.systems import SYSTEMS, Case, Sizes, System
from benchmarks.workloads import COLUMNS, SUBTASKS, WORKLOADS
from tests.unit.benchmarks.made_up import measurement, results

RUN = [
    ("keyed", "baseline", [1_900.0, 2_000.0, 2_200.0]),
    ("keyed", "riverrun", [900.0, 1_000.0, 1_100.0]),
    ("keyed", "rocksdb", [1_500.0] * 3),
    ("keyed", "bytewax", [1_250.0] * 3),
    ("keyed", "pyflink", [100.0, 100.0, 90.0]),
    ("keyed", "pyflink-thread", [125.0] * 3),
    ("windows", "riverrun", [1_000.0] * 3),
    ("windows", "flink-sql", [4_000.0] * 3),
    ("windows", "spark-sql", [500.0] * 3),
]
VERDICTS = {
    ("keyed", "baseline"): Verdict.MET,
    ("keyed", "riverrun"): Verdict.NOT_COMPARED,
    ("keyed", "rocksdb"): Verdict.NOT_COMPARED,
    ("keyed", "bytewax"): Verdict.MISSED,
    ("keyed", "pyflink"): Verdict.MET,
    ("keyed", "pyflink-thread"): Verdict.MISSED,
    ("windows", "riverrun"): Verdict.NOT_COMPARED,
    ("windows", "flink-sql"): Verdict.BEHIND,
    ("windows", "spark-sql"): Verdict.AHEAD,
}


def test_every_row_says_how_riverrun_stands() -> None:
    found = {(row.workload, row.system): row.verdict for row in rows(results(RUN).measurements)}

    assert found == VERDICTS


def test_a_row_holds_medians_spread_and_costs() -> None:
    [row] = rows(
        [
            measurement("keyed", "riverrun", rate, cpu, peak)
            for rate, cpu, peak in (
                (90.0, 3.0, 100_000_000),
                (100.0, 2.0, 300_000_000),
                (120.0, 7.0, 200_000_000),
            )
        ]
    )

    assert row.rate == pytest.approx(100)
    assert row.spread == pytest.approx(0.3)
    assert row.cpu == pytest.approx(3.0)
    assert row.peak_mb == 200
    assert row.of_limit is None
    assert row.ratio == pytest.approx(1)


def test_a_machine_that_becomes_slower_between_rounds_changes_no_ratio() -> None:
    speeds = [("baseline", [4.0, 4.0, 2.0, 2.0, 2.0]), ("riverrun", [3.0, 3.0, 3.0, 1.5, 1.5])]
    found = rows(
        [measurement("keyed", system, rate, 1.0, 1) for system, rates in speeds for rate in rates]
    )

    limit, ours = found
    assert limit.ratio == ours.of_limit == pytest.approx(0.75)
    assert ours.rate / limit.rate == pytest.approx(1.5)


def test_the_goals_are_those_of_parallelism_two() -> None:
    for workload in WORKLOADS:
        for peer in ("pyflink", "pyflink-thread"):
            assert TARGETS[workload, peer] == Goal(least=10)
        for peer in ("bytewax", "pathway", "structured"):
            assert TARGETS[workload, peer] == Goal(least=1)
    without = {workload for workload in WORKLOADS if (workload, "baseline") not in TARGETS}
    assert without == {COLUMNS, *SUBTASKS} - {"subtasks-2"}
    assert TARGETS[COLUMNS, "flink-sql"] == Goal(least=1)
    assert {system for _, system in TARGETS} <= set(SYSTEMS)


def test_every_workload_is_in_one_group() -> None:
    grouped = [workload for workloads in GROUPS.values() for workload in workloads]

    assert sorted(grouped) == sorted(WORKLOADS)


def test_the_page_names_every_place_where_riverrun_is_not_ahead() -> None:
    text = page(results(RUN))
    listed = text.partition("## Where riverrun is not ahead")[2].partition("##")[0]

    assert listed.split("\n")[2:-2] == [
        "- keyed, `bytewax`: riverrun is 0.80 x, wanted 1 x.",
        "- keyed, `pyflink-thread`: riverrun is 8.0 x, wanted 10 x.",
        "- windows, `flink-sql`: riverrun is 0.25 x, nothing was wanted.",
    ]
    assert text.count("missed**") == 2
    assert text.count("behind**") == 1


def test_the_page_has_figures_machine_and_commands() -> None:
    text = page(results(RUN))

    assert "| keyed | pyflink | 100 | 10% | 0.05 | 10 x | 10 x | 2 | 100 |" in text
    for part in (
        "do not edit",
        "Made <Up> 1, 2 cores, 8.0 GB",
        "Python 3.11.0, riverrun 0.1, pyflink 2.3.0",
        "2026-01-02 03:04 UTC, at revision abcdef123456 with changes",
        "`python -m benchmarks.run --publish`",
    ):
        assert part in text
    assert "not to be quoted" not in text
    assert "not to be quoted" in page(results(RUN, quick=True))


def test_the_page_says_what_was_left_out_what_failed_and_what_others_found() -> None:
    run = results(RUN)
    run.fail(Cell("keyed", 2, "pathway"), "pathway keyed: ended with 1")
    run.beside["benchmarks.big_state"] = Beside("python -m benchmarks.big_state", "a table", False)
    case = Case("benchmarks.engine", Sizes(1, 2))
    why = {"keyed": "it has no keys", "windows": "it has no keys", "join": "not asked"}
    text = page(run, systems={"pyflink": System("pyflink", {"q1": case}, left_out=why)})

    assert "- round 2: pathway keyed: ended with 1" in text
    assert "- `pyflink`, keyed: it has no keys" in text
    assert "- `pyflink`, windows: it has no keys" in text
    assert "not asked" not in text
    assert "## Big state\n\n`python -m benchmarks.big_state`: **It failed.**" in text


def test_where_all_goals_are_met_the_page_says_so() -> None:
    assert "Nowhere in this run" in page(results(RUN[:3]))


def test_the_table_colours_what_is_missed() -> None:
    shown = io.StringIO()
    console = Console(file=shown, width=160, force_terminal=True, color_system="standard")
    console.print(table(rows(results(RUN).measurements)))
    [missed] = [line for line in shown.getvalue().splitlines() if "bytewax" in line]

    assert "\x1b[31m0.80 x\x1b[0m" in missed


def test_publishing_writes_page_figures_and_charts(tmp_path: Path) -> None:
    (tmp_path / "old.svg").write_text("of an earlier run")
    written = publish(results(RUN), tmp_path)

    assert sorted(written) == sorted(tmp_path.iterdir())
    assert {path.name for path in written} == {
        "README.md",
        "results.json",
        "records-per-second.svg",
        "ratio-to-pyflink.svg",
        "cpu-per-million.svg",
        "peak-memory.svg",
    }
    again = tmp_path / "again"
    publish(load(tmp_path / "results.json"), again)
    for path in written:
        assert (again / path.name).read_text() == path.read_text()


def test_a_benchmark_beside_the_table_is_heard_and_its_failure_noted() -> None:
    said = beside.run_one(["-c", f"print('at', {str(ROOT / 'x')!r})"])
    failed = beside.run_one(["-c", "import sys; print(1); sys.exit('why')"])
    late = beside.run_one(["-c", "import time; time.sleep(300)"], 0.5)

    assert (said.output, said.succeeded) == ("at x", True)
    assert (late.output, late.succeeded) == ("ran past 0.5 s", False)
    assert (failed.output, failed.succeeded) == ("1\nwhy", False)


def test_benchmarks_beside_the_table_run_once_and_not_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def run_one(words: list[str]) -> Beside:
        asked.append(words[1])
        return Beside("command", "said", words[1] != "benchmarks.big_state")

    modules = {"benchmarks.checkpoints": (), "benchmarks.big_state": (), "benchmarks.missing": ()}
    monkeypatch.setattr(beside, "MODULES", modules)
    monkeypatch.setattr(beside, "run_one", run_one)
    run = results(RUN)
    for _ in range(2):
        beside.run_beside(run, Console(quiet=True), tmp_path / "run.json")

    assert asked == ["benchmarks.checkpoints", "benchmarks.big_state", "benchmarks.big_state"]
    assert load(tmp_path / "run.json").beside["benchmarks.checkpoints"].output == "said"
