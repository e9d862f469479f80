"""Whether the hot paths still cost what they did: ``python -m benchmarks.guard [--update]``.

Each path handles its records in this process, without Spark; what a record costs is divided by what a
record of a bare Python loop costs. Two costs are looked at, never time on the clock:

* bytecode, the instructions that the interpreter executes: exact, the same on a busy machine;
* the processor's instructions where the machine counts them, CPU time where not, in many short rounds: they also show
  what is done in C, so paths that seem lost are looked at again before they count as lost.

Ends with 1 if a path costs a fifth more than the stored ratio says, or half more in CPU time. Where none are
stored for this Python it says so and ends with 0. ``RIVERRUN_PURE=1`` looks at the loops in Python where compiled
ones are there; ``make bench-guard`` looks at both. ``--update`` stores what is measured now; nobody has to after a
gain.
"""

import argparse
import gc
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from benchmarks.guard import bytecode
from benchmarks.guard.counters import best_counter
from benchmarks.guard.paths import PATHS
from benchmarks.guard.rounds import (
    RECORDS,
    ROUNDS,
    SECOND_LOOKS,
    Rounds,
    bytecode_ratios,
    warm_up,
)
from benchmarks.guard.verdict import (
    FAILED,
    STORED,
    Outcome,
    Ratios,
    Stored,
    Verdict,
    failed,
    load,
    store,
    this_processor,
    this_python,
    verdicts,
)

_COLOURS: Final[Mapping[Outcome, str]] = {
    Outcome.GAINED: "bold green",
    **dict.fromkeys(FAILED, "red"),
}


def main(given: list[str] | None = None) -> int:
    """Measure, compare, print; 1 if something was lost."""
    arguments = _arguments(given)
    console = Console(width=max(100, Console().width))
    rounds = Rounds(PATHS, best_counter(), arguments.records)
    with console.status("measuring"):
        warm_up(PATHS)
        gc.freeze()  # so that collecting before each measurement takes no time
        exact = bytecode_ratios(PATHS, arguments.records)
        if arguments.update:
            return _update(arguments, exact, rounds, console)
        lost = [
            *_compare_exact(arguments.baseline, exact, console),
            *_compare_counted(arguments, rounds, console),
        ]
    if lost:
        console.print(f"guard: lost: {', '.join(dict.fromkeys(lost))}", style="red")
    return 1 if lost else 0


def _update(arguments: argparse.Namespace, exact: Ratios, rounds: Rounds, console: Console) -> int:
    rounds.look(2 * arguments.rounds)
    python, processor = this_python(), this_processor()
    unit = best_counter().unit
    for each, ratios in ((bytecode.UNIT, exact), (unit, rounds.ratios())):
        store(arguments.baseline, each, python, Stored(ratios, processor))
    console.print(f"stored: bytecode and {unit} on Python {python}, {len(PATHS)} paths")
    return 0


def _compare_exact(baseline: Path, found: Ratios, console: Console) -> list[str]:
    unit, python = bytecode.UNIT, this_python()
    stored = load(baseline, unit, python)
    if stored is None:
        return _skipped(baseline, unit, console)
    compared = verdicts(stored.ratios, found, stored.bounds(unit, this_processor()))
    console.print(_table(compared, unit, f"Python {python}"))
    return failed(compared)


def _compare_counted(arguments: argparse.Namespace, rounds: Rounds, console: Console) -> list[str]:
    unit, python, processor = best_counter().unit, this_python(), this_processor()
    stored = load(arguments.baseline, unit, python)
    if stored is None:
        return _skipped(arguments.baseline, unit, console)
    bounds = stored.bounds(unit, processor)
    rounds.look(arguments.rounds)
    rounds.confirm(stored.ratios, bounds, SECOND_LOOKS, arguments.rounds)
    compared = verdicts(stored.ratios, rounds.ratios(), bounds)
    place = f"Python {python}"
    if processor != stored.processor:
        place += f", stored on another processor: up to {bounds.allowed:.0%} more is let pass"
    console.print(_table(compared, unit, place))
    return failed(compared)


def _skipped(baseline: Path, unit: str, console: Console) -> list[str]:
    console.print(
        f"guard: {str(baseline)!r} has no ratios of {unit} on Python {this_python()}: not compared; "
        f"store some with --update on a version that is known to be fast",
        style="yellow",
        markup=False,
    )
    return []


def _table(compared: list[Verdict], unit: str, place: str) -> Table:
    table = Table(title=f"{unit} per record beside a bare loop's, {place}")
    table.add_column("path")
    for heading in ("stored", "now", "change", "outcome"):
        table.add_column(heading, justify="right")
    for verdict in compared:
        colour = _COLOURS.get(verdict.outcome, "green")
        table.add_row(
            verdict.path,
            _number(verdict.stored),
            _number(verdict.found),
            "" if verdict.change is None else f"{verdict.change:+.0%}",
            f"[{colour}]{verdict.outcome.value}[/]",
        )
    return table


def _number(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.3f}"


def _arguments(given: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.guard", description=__doc__)
    parser.add_argument("--update", action="store_true", help="store what is measured now")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--records", type=int, default=RECORDS)
    parser.add_argument("--baseline", type=Path, default=STORED, help="the file of stored ratios")
    return parser.parse_args(given)


if __name__ == "__main__":
    raise SystemExit(main())
