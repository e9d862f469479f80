"""Sums in tumbling windows of event time: ``python -m benchmarks.windows [--quick]``.

1,000 keys, windows of ten seconds, parallelism 2, no checkpoints: the limit (the same functions in a bare
loop), riverrun with a Python aggregate function on its two backends and with the sum declared on
columns, Bytewax's ``fold_window`` in two processes, PyFlink in process mode, and Flink SQL, which runs no
Python at all. The systems take turns.
"""

import argparse

from rich.console import Console

from benchmarks.engine import check
from benchmarks.report import Measurements, median_rate, save, table
from benchmarks.systems import SYSTEMS
from benchmarks.turns import chosen, take_turns
from benchmarks.workloads import COLUMNS, WINDOWS
from riverrun import StreamExecutionEnvironment

_ROUNDS = 3
_COLUMNS_PER_CORE = 1_000_000
_CORES = 2


def main() -> int:
    """Measure, print the table, save the figures; 1 if a system could not be measured."""
    arguments = _arguments()
    console = Console(width=max(100, Console().width))
    if arguments.check:
        return _check(console, arguments.check)
    measurements, failures = take_turns(
        chosen(SYSTEMS, arguments.only, console, peers=not arguments.no_peers),
        (WINDOWS, COLUMNS),
        console,
        rounds=1 if arguments.quick else arguments.rounds,
        quick=arguments.quick,
    )
    if measurements:
        console.print(table(measurements))
        _compare_columns(console, measurements)
        console.print(f"figures: {save(measurements, quick=arguments.quick)}")
    return 1 if failures else 0


def _compare_columns(console: Console, measurements: Measurements) -> None:
    columns = median_rate(measurements, COLUMNS, "riverrun")
    if not columns:
        return
    wanted = {f"{_COLUMNS_PER_CORE:,} records/s a core": float(_COLUMNS_PER_CORE * _CORES)}
    flink = median_rate(measurements, WINDOWS, "flink-sql")
    if flink:
        wanted["Flink SQL"] = flink
    for what, rate in wanted.items():
        colour = "green" if columns >= rate else "red"
        console.print(f"columns: [{colour}]{columns / rate:.2f}[/] of {what} (wanted: 1.00)")


def _check(console: Console, records: int) -> int:
    for workload, backend in ((WINDOWS, "hashmap"), (WINDOWS, "rocksdb"), (COLUMNS, "hashmap")):
        config = {"state.backend.type": backend}
        check(StreamExecutionEnvironment.get_execution_environment(config), workload, records)
        console.print(f"{workload} on {backend}: right for {records:,} payments")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.windows", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one round, fewer records")
    parser.add_argument("--rounds", type=int, default=_ROUNDS)
    parser.add_argument("--only", action="append", choices=SYSTEMS, help="may be repeated")
    parser.add_argument("--no-peers", action="store_true", help="our own and the baseline only")
    parser.add_argument(
        "--check", type=int, metavar="RECORDS", help="check results, measure nothing"
    )
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
