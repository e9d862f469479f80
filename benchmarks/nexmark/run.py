"""Nexmark on a local Spark: ``python -m benchmarks.nexmark.run [--quick] [--only q5]``.

Each query in three ways that take turns, round by round, each in a process of its own: the limit (plain Python, one
process per core), riverrun on records, and riverrun on columns where the query fits them. Rates are events a
second, net of start-up, at parallelism 2; all kinds of events count, also for queries of bids alone.
"""

import argparse
from collections.abc import Mapping
from typing import Final

from rich.console import Console

from benchmarks.nexmark.column_queries import COLUMN_QUERIES
from benchmarks.nexmark.queries import QUERIES
from benchmarks.report import Targets, save, table
from benchmarks.systems import Case, Sizes, System
from benchmarks.turns import chosen, take_turns

_ROUNDS: Final = 3
_ROWS: Final = Sizes(500_000, 5_500_000)
_COLUMNS: Final = Sizes(2_000_000, 22_000_000)

SYSTEMS: Final[Mapping[str, System]] = {
    system.name: system
    for system in (
        System("baseline", dict.fromkeys(QUERIES, Case("benchmarks.nexmark.limit", _ROWS))),
        System("riverrun", dict.fromkeys(QUERIES, Case("benchmarks.nexmark.job", _ROWS))),
        System(
            "columns",
            dict.fromkeys(
                COLUMN_QUERIES, Case("benchmarks.nexmark.job", _COLUMNS, ("--logic", "columns"))
            ),
        ),
    )
}

TARGETS: Final[Targets] = {(query, "baseline"): 1 / 2 for query in QUERIES}
"""What a row function is to reach of the bare loop."""


def main() -> int:
    """Measure, print the table, save the figures; 1 if a query could not be measured."""
    arguments = _arguments()
    console = Console(width=max(100, Console().width))
    measurements, failures = take_turns(
        chosen(SYSTEMS, arguments.system, console, peers=False),
        arguments.only or tuple(QUERIES),
        console,
        rounds=1 if arguments.quick else arguments.rounds,
        quick=arguments.quick,
    )
    if measurements:
        console.print(table(measurements, TARGETS))
        console.print(f"figures: {save(measurements, quick=arguments.quick)}")
    return 1 if failures else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.nexmark.run", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one round, fewer events")
    parser.add_argument("--rounds", type=int, default=_ROUNDS)
    parser.add_argument("--only", action="append", choices=QUERIES, help="may be repeated")
    parser.add_argument("--system", action="append", choices=SYSTEMS, help="may be repeated")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
