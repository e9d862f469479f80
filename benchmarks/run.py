"""All systems on the same logic in one run: ``python -m benchmarks.run [--quick] [--only NAME]``.

Absolute figures depend on the machine and its load, ratios within one run much less; so the
systems take turns, round by round, each in a process of its own, and medians are compared.
"""

import argparse

from rich.console import Console

from benchmarks.report import save, table
from benchmarks.systems import SYSTEMS
from benchmarks.turns import chosen, take_turns
from benchmarks.workloads import WORKLOADS

_ROUNDS = 3


def main() -> int:
    """Measure, print the table, save the figures; 1 if a system could not be measured."""
    arguments = _arguments()
    console = Console(width=max(100, Console().width))
    measurements, failures = take_turns(
        chosen(SYSTEMS, arguments.only, console, peers=not arguments.no_peers),
        arguments.workload or WORKLOADS,
        console,
        rounds=1 if arguments.quick else arguments.rounds,
        quick=arguments.quick,
    )
    if measurements:
        console.print(table(measurements))
        console.print(f"figures: {save(measurements, quick=arguments.quick)}")
    return 1 if failures else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one round, fewer records")
    parser.add_argument("--rounds", type=int, default=_ROUNDS)
    parser.add_argument("--only", action="append", choices=SYSTEMS, help="may be repeated")
    parser.add_argument("--workload", action="append", choices=WORKLOADS, help="may be repeated")
    parser.add_argument("--no-peers", action="store_true", help="our own and the baseline only")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
