"""All systems on the same logic in one run: ``python -m benchmarks.run [--quick] [--only NAME]``.

Absolute figures depend on the machine and its load, ratios within one run much less; so the
systems take turns, round by round, each in a process of its own, and medians are compared.
"""

import argparse

from rich.console import Console

from benchmarks.measurement import Measurement
from benchmarks.report import save, table
from benchmarks.setup_peers import PEERS, PeerUnavailable, ensure
from benchmarks.systems import SYSTEMS, RunFailed, System
from benchmarks.workloads import WORKLOADS

_ROUNDS = 3


def main() -> int:
    """Measure, print the table, save the figures; 1 if a system could not be measured."""
    arguments = _arguments()
    console = Console(width=max(100, Console().width))
    systems = _systems(arguments, console)
    measurements: list[Measurement] = []
    failures = 0
    rounds = 1 if arguments.quick else arguments.rounds
    for turn in range(rounds):
        for workload in arguments.workload or WORKLOADS:
            for system in systems:
                done = _measure(console, f"round {turn + 1}/{rounds}", system, workload, arguments)
                if done is None:
                    failures += 1
                else:
                    measurements.append(done)
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


def _systems(arguments: argparse.Namespace, console: Console) -> list[System]:
    """The systems asked for, the environments of the peers among them made where missing."""
    chosen = []
    for name in arguments.only or SYSTEMS:
        if name in PEERS:
            if arguments.no_peers:
                continue
            try:
                ensure(PEERS[name])
            except PeerUnavailable as error:
                console.print(f"left out: {error}", style="red", markup=False)
                continue
        chosen.append(SYSTEMS[name])
    return chosen


def _measure(
    console: Console, turn: str, system: System, workload: str, arguments: argparse.Namespace
) -> Measurement | None:
    what = f"{turn}  {workload:<9}  {system.name:<8}"
    try:
        with console.status(what):
            measurement = system.run(workload, quick=arguments.quick)
        console.print(f"{what}  {measurement.rate:>12,.0f} records/s", highlight=False)
    except (RunFailed, ValueError) as error:
        console.print(f"{what}  failed: {error}", style="red", markup=False)
        return None
    return measurement


if __name__ == "__main__":
    raise SystemExit(main())
