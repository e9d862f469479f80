"""A value state, read and written for each record: ``python -m benchmarks.state [--quick]``.

10,000 keys, parallelism 2, no checkpoints: the limit (the same function over a dict), riverrun with
its two backends, Bytewax's ``stateful_map`` and PyFlink in process mode. The systems take turns.
"""

import argparse

from rich.console import Console

from benchmarks.report import Measurements, median_rate, save, table
from benchmarks.systems import SYSTEMS
from benchmarks.turns import chosen, take_turns
from benchmarks.workloads import STATE

_ROUNDS = 3
_ROCKSDB_SHARE = 1 / 2
"""Of the hashmap's records/s, while the keys fit the cache."""


def main() -> int:
    """Measure, print the table, save the figures; 1 if a system could not be measured."""
    arguments = _arguments()
    console = Console(width=max(100, Console().width))
    measurements, failures = take_turns(
        chosen(SYSTEMS, arguments.only, console, peers=not arguments.no_peers),
        (STATE,),
        console,
        rounds=1 if arguments.quick else arguments.rounds,
        quick=arguments.quick,
    )
    if measurements:
        console.print(table(measurements))
        _compare_backends(console, measurements)
        console.print(f"figures: {save(measurements, quick=arguments.quick)}")
    return 1 if failures else 0


def _compare_backends(console: Console, measurements: Measurements) -> None:
    hashmap = median_rate(measurements, STATE, "riverrun")
    rocksdb = median_rate(measurements, STATE, "rocksdb")
    if hashmap and rocksdb:
        share = rocksdb / hashmap
        colour = "green" if share >= _ROCKSDB_SHARE else "red"
        console.print(
            f"rocksdb: [{colour}]{share:.2f}[/] of hashmap (wanted: {_ROCKSDB_SHARE:.2f})"
        )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.state", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one round, fewer records")
    parser.add_argument("--rounds", type=int, default=_ROUNDS)
    parser.add_argument("--only", action="append", choices=SYSTEMS, help="may be repeated")
    parser.add_argument("--no-peers", action="store_true", help="our own and the baseline only")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
