"""All systems on the same logic in one run: ``python -m benchmarks.run [--quick] [--publish]``.

Absolute figures depend on the machine and its load, ratios within one run much less; so the systems
take turns, each in a process of its own, workload by workload, and medians of the rounds are
compared. The figures are saved after every cell: ``--resume FILE`` goes on where a run was
interrupted, with ``--rounds`` for more of them and ``--only``, ``--workload`` or ``--no-peers`` for a part;
``--report FILE`` shows again what it found. ``--publish`` runs the other benchmarks of
``benchmarks.beside`` too and writes the page and the charts into ``docs/benchmarks``.
"""

import argparse
import signal
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from benchmarks.beside import run_beside
from benchmarks.provenance import provenance
from benchmarks.publish import publish
from benchmarks.report import rows, table
from benchmarks.results import Plan, Results, expected_seconds, load, path_for, saved_files
from benchmarks.systems import SYSTEMS
from benchmarks.systems.system import DEADLINE_SECONDS
from benchmarks.turns import UNKNOWN_SECONDS, Expected, cells, chosen, minutes, take_turns
from benchmarks.workloads import COLUMNS, STATE, STATELESS, WINDOWS, WORKLOADS

_ROUNDS: Final = 3
_QUICK_WORKLOADS: Final = (STATELESS, STATE, WINDOWS, COLUMNS)
_QUICK_SYSTEMS: Final = ("baseline", "riverrun", "bytewax", "pyflink")
_QUICK_DEADLINE_SECONDS: Final = 120.0
"""Of a cell, which takes 5 to 20 s on a quiet machine."""


def main() -> int:
    """Measure, print the table, save the figures; 1 if a cell could not be measured."""
    arguments = _arguments()
    # So that whoever stops this process stops the measured one too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    console = Console(width=max(120, Console().width))
    if arguments.list:
        console.print(_list(_plan(arguments)))
        return 0
    try:
        results = load(arguments.report) if arguments.report else _measure(arguments, console)
    except KeyboardInterrupt:
        console.print("interrupted; --resume with the file of the figures goes on", style="red")
        return 1
    if results.measured:
        console.print(table(rows(results.measurements)))
    for cell, why in results.failed.items():
        console.print(f"failed in round {cell.turn}: {why}", style="red", markup=False)
    if arguments.publish:
        for path in publish(results):
            console.print(f"written: {path}", markup=False, highlight=False)
    beside = [each for each in results.beside.values() if not each.succeeded]
    return 1 if results.failed or beside else 0


def _measure(arguments: argparse.Namespace, console: Console) -> Results:
    if arguments.resume:
        path, results = arguments.resume, load(arguments.resume)
        part = _extended(results, arguments)
        chosen(SYSTEMS, part.systems, console, peers=True)
    else:
        plan = _plan(arguments)
        there = chosen(SYSTEMS, plan.systems, console, peers=not arguments.no_peers)
        names = [system.name for system in there]
        part = Plan(plan.workloads, names, plan.rounds, plan.quick)
        results = Results(part, provenance())
        path = path_for(results)
    console.print(f"figures: {path}", markup=False, highlight=False)
    quick = results.plan.quick
    take_turns(
        results,
        SYSTEMS,
        console,
        path,
        expected=expected_seconds(saved_files(), quick=quick),
        deadline_seconds=arguments.deadline
        or (_QUICK_DEADLINE_SECONDS if quick else DEADLINE_SECONDS),
        part=part,
    )
    if arguments.publish and not quick:
        run_beside(results, console, path)
    return results


def _extended(results: Results, arguments: argparse.Namespace) -> Plan:
    """What to measure now of a run that is there: all of it, or more rounds, or some of it."""
    plan = results.plan
    rounds = max(plan.rounds, arguments.rounds or 0)
    results.plan = Plan(plan.workloads, plan.systems, rounds, plan.quick)
    systems = arguments.only or plan.systems
    if arguments.no_peers:
        systems = [name for name in systems if not SYSTEMS[name].is_peer]
    return Plan(arguments.workload or plan.workloads, systems, rounds, plan.quick)


def _plan(arguments: argparse.Namespace) -> Plan:
    """What was asked for; a quick run is a part of everything, unless parts are named."""
    quick = arguments.quick
    named = arguments.workload or arguments.only
    return Plan(
        arguments.workload or (_QUICK_WORKLOADS if quick and not named else WORKLOADS),
        arguments.only or (_QUICK_SYSTEMS if quick and not named else tuple(SYSTEMS)),
        arguments.rounds or (1 if quick else _ROUNDS),
        quick,
    )


def _list(plan: Plan) -> Table:
    """The cells of a plan, with how long they took when they were last measured."""
    expected: Expected = expected_seconds(saved_files(), quick=plan.quick)
    every = cells(SYSTEMS, plan)
    total = sum(expected.get((each.workload, each.system), UNKNOWN_SECONDS) for each in every)
    known = sum((each.workload, each.system) in expected for each in every)
    result = Table(
        title=f"{len(every)} cells, about {minutes(total)} in all; "
        f"{len(every) - known} were never measured and count {UNKNOWN_SECONDS:g} s"
    )
    for heading in ("workload", "systems, with seconds of one cell", "all rounds"):
        result.add_column(heading)
    for workload in plan.workloads:
        here = [each for each in every if each.workload == workload]
        seconds = {each.system: expected.get((workload, each.system)) for each in here}
        words = [name if took is None else f"{name} {took:.0f}" for name, took in seconds.items()]
        in_all = sum(UNKNOWN_SECONDS if took is None else took for took in seconds.values())
        result.add_row(workload, ", ".join(words), minutes(in_all * plan.rounds))
    return result


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one round, few systems and records")
    parser.add_argument("--rounds", type=int, help=f"default: {_ROUNDS}, quick: 1")
    parser.add_argument("--only", action="append", choices=SYSTEMS, help="may be repeated")
    parser.add_argument("--workload", action="append", choices=WORKLOADS, help="may be repeated")
    parser.add_argument("--no-peers", action="store_true", help="our own and the baseline only")
    parser.add_argument("--list", action="store_true", help="what would be measured, and how long")
    parser.add_argument("--resume", type=Path, metavar="FILE", help="go on with a run's figures")
    parser.add_argument("--report", type=Path, metavar="FILE", help="show a run's figures again")
    parser.add_argument("--deadline", type=float, metavar="SECONDS", help="of one cell")
    parser.add_argument("--publish", action="store_true", help="write docs/benchmarks")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
