"""What asynchronous calls cost beside bare asyncio: ``python -m benchmarks.async_io [--spark]``.

Each call sleeps for one millisecond on the event loop, a thousand at a time. The bare program gathers a
thousand calls, and then the next thousand. Ratios of one run, the best of several rounds; the time of a
job counts from its first call to its last.
"""

import argparse
import asyncio
import tempfile
import time
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from riverrun import (
    AsyncDataStream,
    AsyncFunction,
    Configuration,
    DiscardingSink,
    RuntimeContext,
    StreamExecutionEnvironment,
    Time,
)

_CAPACITY: Final = 1_000
_CALL_S: Final = 0.001


class Sleep(AsyncFunction[int, int]):
    """Waits a little, and leaves the seconds from the first call to the last in a file."""

    def __init__(self, report: Path) -> None:
        self._report = report

    def open(self, runtime_context: RuntimeContext) -> None:
        del runtime_context
        self._began = self._ended = 0.0

    async def async_invoke(self, value: int) -> list[int]:
        if not self._began:
            self._began = time.perf_counter()
        await asyncio.sleep(_CALL_S)
        self._ended = time.perf_counter()
        return [value]

    def close(self) -> None:
        self._report.write_text(str(self._ended - self._began))


def bare(calls: int) -> float:
    """Seconds for so many calls in a program of nothing else."""

    async def call(value: int) -> list[int]:
        await asyncio.sleep(_CALL_S)
        return [value]

    async def program() -> float:
        began = time.perf_counter()
        for first in range(0, calls, _CAPACITY):
            await asyncio.gather(*(call(value) for value in range(first, first + _CAPACITY)))
        return time.perf_counter() - began

    return asyncio.run(program())


def job(calls: int, master: str, *, ordered: bool) -> float:
    """Seconds for so many calls in a job."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "seconds"
        config = Configuration({"riverrun.master": master})
        with StreamExecutionEnvironment.get_execution_environment(config) as env:
            env.set_parallelism(1)
            numbers = env.from_sequence(1, calls)
            wait = AsyncDataStream.ordered_wait if ordered else AsyncDataStream.unordered_wait
            waited = wait(numbers, Sleep(report), Time.seconds(60), _CAPACITY)
            waited.sink_to(DiscardingSink())
            env.execute("async io")
        return float(report.read_text())


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--spark", action="store_true", help="also as a job on a local Spark")
    chosen = parser.parse_args()
    masters = ["in-process", *(["local[2]"] if chosen.spark else [])]
    best: dict[str, float] = {}
    for _ in range(chosen.rounds):
        rounds = {"bare asyncio": bare(chosen.calls)}
        for master in masters:
            rounds[f"{master}, ordered"] = job(chosen.calls, master, ordered=True)
            rounds[f"{master}, unordered"] = job(chosen.calls, master, ordered=False)
        best = {name: min(seconds, best.get(name, seconds)) for name, seconds in rounds.items()}
    table = Table("", "calls/s", "of bare asyncio")
    for name, seconds in best.items():
        ratio = best["bare asyncio"] / seconds
        table.add_row(name, f"{chosen.calls / seconds:,.0f}", f"{ratio:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
