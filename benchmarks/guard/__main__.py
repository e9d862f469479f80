"""Whether the hot paths still cost what they did: ``python -m benchmarks.guard [--update]``.

Each path handles its records in this process, without Spark; what a record costs is divided by what a
record of a bare Python loop costs, measured in between. Costs are instructions where the machine
counts them, CPU time where not; never time on the clock. Ends with 1 if a path costs a fifth more
than the stored ratio says.
"""

import argparse
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.guard.counters import best_counter
from benchmarks.guard.paths import PATHS
from benchmarks.guard.rounds import RECORDS, ROUNDS, SECOND_LOOKS, Rounds
from benchmarks.guard.verdict import (
    ALLOWED,
    FAILED,
    STORED,
    Outcome,
    Verdict,
    failed,
    load,
    store,
    this_python,
    verdicts,
)


def main(given: list[str] | None = None) -> int:
    """Measure, compare, print; 1 if something was lost or nothing is stored to compare with."""
    arguments = _arguments(given)
    console = Console(width=max(100, Console().width))
    counter, python = best_counter(), this_python()
    rounds = Rounds(PATHS, counter, arguments.records)
    with console.status("measuring"):
        rounds.warm_up()
        rounds.run(arguments.rounds)
    if arguments.update:
        rounds.run(arguments.rounds)
        store(arguments.baseline, counter.unit, python, rounds.ratios())
        console.print(f"stored: {counter.unit} on Python {python}, {len(PATHS)} paths")
        return 0
    stored = load(arguments.baseline, counter.unit, python)
    if stored is None:
        console.print(_table(verdicts({}, rounds.ratios()), counter.unit, python))
        console.print(
            f"guard: {str(arguments.baseline)!r} has no ratios of {counter.unit} on Python {python}; "
            f"run with --update on a version that is known to be fast",
            style="red",
            markup=False,
        )
        return 1
    with console.status("looking again at what seems lost"):
        rounds.confirm(stored, SECOND_LOOKS, arguments.rounds)
    compared = verdicts(stored, rounds.ratios())
    console.print(_table(compared, counter.unit, python))
    lost = failed(compared)
    if lost:
        console.print(f"guard: {', '.join(lost)}: more than {ALLOWED:.0%} worse", style="red")
    return 1 if lost else 0


def _table(compared: list[Verdict], unit: str, python: str) -> Table:
    table = Table(title=f"{unit} per record beside a bare loop's, Python {python}")
    table.add_column("path")
    for heading in ("stored", "now", "change", "outcome"):
        table.add_column(heading, justify="right")
    for verdict in compared:
        colour = "red" if verdict.outcome in FAILED else "green"
        outcome = verdict.outcome.value
        if verdict.outcome is Outcome.GAINED:
            outcome += ", store it with --update"
        table.add_row(
            verdict.path,
            _number(verdict.stored),
            _number(verdict.found),
            "" if verdict.change is None else f"{verdict.change:+.0%}",
            f"[{colour}]{outcome}[/]",
        )
    return table


def _number(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.2f}"


def _arguments(given: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.guard", description=__doc__)
    parser.add_argument("--update", action="store_true", help="store what is measured now")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--records", type=int, default=RECORDS)
    parser.add_argument("--baseline", type=Path, default=STORED, help="the file of stored ratios")
    return parser.parse_args(given)


if __name__ == "__main__":
    raise SystemExit(main())
