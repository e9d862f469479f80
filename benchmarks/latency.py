"""Latency through source, key_by, reduce and sink at 1,000 records/s: ``python -m benchmarks.latency``.

A record carries the wall-clock time at which the source made it, the reduce hands the newest one on
with each update, and the sink, in its worker, takes the difference. All processes share one clock,
that of this machine. The first seconds are warm-up and do not count.
"""

import argparse
import json
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any, Final, TypeAlias

from rich.console import Console
from rich.table import Table

from benchmarks.provenance import provenance
from benchmarks.setup_peers import CACHE
from benchmarks.workloads import transaction
from riverrun import RuntimeContext, SinkFunction, StreamExecutionEnvironment, WatermarkStrategy
from riverrun.connectors.datagen import DataGeneratorSource

_RATE: Final = 1_000
_WARM_UP_SECONDS: Final = 5
_WANTED_P50_MS: Final = 10.0
_WANTED_P99_MS: Final = 40.0
_CURVE: Final = (0.0, *(tenths / 10 for tenths in range(1, 9)), 0.9, 0.95, 0.98, 0.99, 0.995, 0.999)
"""The quantiles that are saved."""

Timed: TypeAlias = tuple[int, int, int]
"""Customer, amount, nanoseconds since the epoch at which the record was made."""


def timed_transaction(index: int) -> Timed:
    """The transaction with the time of its making."""
    customer, amount = transaction(index)
    return customer, amount, time.time_ns()


def customer_of(record: Timed) -> int:
    """The key."""
    return record[0]


def add_timed(total: Timed, record: Timed) -> Timed:
    """The running sum, with the time of the record that caused this update."""
    return total[0], total[1] + record[1], record[2]


class LatencySink(SinkFunction):
    """Keeps (made at, latency) of each record and writes them to a file of its own at the end."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._samples: list[tuple[int, int]] = []

    def open(self, runtime_context: RuntimeContext) -> None:
        """Start with no samples."""
        del runtime_context
        self._samples = []

    def invoke(self, value: Timed, context: Any) -> None:
        """Take the time."""
        del context
        self._samples.append((value[2], time.time_ns() - value[2]))

    def close(self) -> None:
        """Leave the samples where the driver finds them."""
        Path(self._folder, f"{uuid.uuid4()}.json").write_text(json.dumps(self._samples))


def samples_ms(parallelism: int, buffer_timeout_ms: int, seconds: int) -> list[float]:
    """The sorted latencies of one run in milliseconds, without the warm-up."""
    with tempfile.TemporaryDirectory() as folder:
        environment = StreamExecutionEnvironment.get_execution_environment()
        environment.set_parallelism(parallelism)
        environment.set_buffer_timeout(buffer_timeout_ms)
        source = DataGeneratorSource(
            timed_transaction, _RATE * (seconds + _WARM_UP_SECONDS), rate_per_second=_RATE
        )
        records = environment.from_source(source, WatermarkStrategy.no_watermarks(), "timed")
        records.key_by(customer_of).reduce(add_timed).add_sink(LatencySink(folder))
        environment.execute(f"latency at parallelism {parallelism}")
        samples = [
            sample
            for path in Path(folder).glob("*.json")
            for sample in json.loads(path.read_text())
        ]
    counted_from = min(made for made, _ in samples) + _WARM_UP_SECONDS * 1_000_000_000
    return sorted(took / 1e6 for made, took in samples if made >= counted_from)


def quantile(ordered: list[float], share: float) -> float:
    """The value that ``share`` of the sorted values do not exceed.

    >>> quantile([1.0, 2.0, 3.0, 4.0], 0.5)
    2.0
    """
    return ordered[max(0, round(share * len(ordered)) - 1)]


def main() -> None:
    """Measure each combination and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.latency", description=__doc__)
    parser.add_argument("--seconds", type=int, default=20, help="counted seconds of each run")
    parser.add_argument("--parallelism", type=int, action="append")
    parser.add_argument("--buffer-timeout", type=int, action="append", help="milliseconds")
    arguments = parser.parse_args()
    console = Console()
    table = Table(title=f"latency in ms at {_RATE:,} records/s, source -> key_by -> reduce -> sink")
    headings = ("parallelism", "buffer timeout", "records", "p50", "p90", "p99", "max", "wanted")
    for heading in headings:
        table.add_column(heading, justify="right")
    curves: dict[str, dict[str, float]] = {}
    for parallelism in arguments.parallelism or (1, 2):
        for timeout in arguments.buffer_timeout or (10, 5):
            with console.status(f"parallelism {parallelism}, buffer timeout {timeout} ms"):
                ordered = samples_ms(parallelism, timeout, arguments.seconds)
            name = f"{_RATE:,} records/s, parallelism {parallelism}, buffer timeout {timeout} ms"
            curves[name] = {str(share): quantile(ordered, share) for share in _CURVE}
            p50, p99 = quantile(ordered, 0.5), quantile(ordered, 0.99)
            met = p50 <= _WANTED_P50_MS and p99 <= _WANTED_P99_MS
            table.add_row(
                str(parallelism),
                f"{timeout} ms",
                f"{len(ordered):,}",
                *(f"{quantile(ordered, share):.1f}" for share in (0.5, 0.9, 0.99, 1.0)),
                "[green]met[/]" if met else "[red]missed[/]",
            )
    console.print(table)
    console.print(f"figures: {_save(curves)}")


def _save(curves: dict[str, dict[str, float]]) -> Path:
    """Write the quantiles to a dated JSON file, from which ``benchmarks.plots`` draws."""
    document = {**provenance(), "latency_ms": curves}
    path = CACHE / "results" / f"latency-{document['date'][:19].replace(':', '')}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=2))
    return path


if __name__ == "__main__":
    main()
