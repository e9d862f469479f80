"""Start of a job in a warm session, from ``execute`` to the first record out.

``python -m benchmarks.startup``: the first job starts the session and does not count.
"""

import argparse
import statistics
import time
from typing import Final

from rich.console import Console

from benchmarks.measurement import PARALLELISM
from benchmarks.workloads import add_amounts, customer_of, transaction
from riverrun import StreamExecutionEnvironment, WatermarkStrategy
from riverrun.connectors.datagen import DataGeneratorSource

_RECORDS: Final = 1_000
_WANTED_SECONDS: Final = 2.0


def seconds_to_first_record() -> float:
    """Run one small keyed job to its end; how long its first record took to reach this process."""
    environment = StreamExecutionEnvironment.get_execution_environment()
    environment.set_parallelism(PARALLELISM)
    transactions = environment.from_source(
        DataGeneratorSource(transaction, _RECORDS), WatermarkStrategy.no_watermarks(), "gen"
    )
    totals = transactions.key_by(customer_of).reduce(add_amounts)
    started = time.perf_counter()
    with totals.execute_and_collect() as results:
        next(results)
        seconds = time.perf_counter() - started
        for _ in results:
            pass
    return seconds


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.startup", description=__doc__)
    parser.add_argument("--jobs", type=int, default=5)
    arguments = parser.parse_args()
    console = Console()
    with console.status("cold: the session starts"):
        cold = seconds_to_first_record()
    warm = []
    for number in range(arguments.jobs):
        with console.status(f"warm job {number + 1}/{arguments.jobs}"):
            warm.append(seconds_to_first_record())
    median = statistics.median(warm)
    colour = "green" if median <= _WANTED_SECONDS else "red"
    console.print(f"cold, with the session: {cold:.2f} s")
    console.print(
        f"warm: median [{colour}]{median:.2f} s[/], worst {max(warm):.2f} s "
        f"over {len(warm)} jobs (wanted: {_WANTED_SECONDS:.1f} s)"
    )


if __name__ == "__main__":
    main()
