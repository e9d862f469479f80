"""Work on columns on a local Spark: ``python -m benchmarks.columns [--quick] [--only NAME]``.

Each workload runs twice: in a bare loop over numpy arrays on one core, which is what the same array
operations cost without an engine, and as a job with parallelism 2 on two cores, every record through one
exchange. Rates are net of the start of a job: two sizes, the difference counts.

=========  ==========================================================================
workload   what is done
=========  ==========================================================================
windows    the sum per key (1,000 of them) in tumbling windows of ten seconds
sliding    the same in windows of one minute every ten seconds
rolling    the sum and the count per key so far, once a batch
batches    a filter and a function of batches, then an exchange without keys
=========  ==========================================================================
"""

import argparse
import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console
from rich.table import Table

from benchmarks.payment_columns import payment_columns
from riverrun import (
    Agg,
    BatchGeneratorSource,
    DataStream,
    DiscardingSink,
    Duration,
    SlidingEventTimeWindows,
    StreamExecutionEnvironment,
    TumblingEventTimeWindows,
    WatermarkStrategy,
    col,
)

_CORES: Final = 2
_SCHEMA: Final = pa.schema([(name, pa.int64()) for name in ("customer", "amount", "time")])
_BATCH: Final = 1 << 14
_KEYS: Final = 1_000
_WINDOW_MS: Final = 10_000
_MINUTE_MS: Final = 60_000
_LEAST: Final = 100
_WANTED_PER_CORE: Final = 1_000_000


def _batches(records: int) -> Iterator[dict[str, Any]]:
    for start in range(0, records, _BATCH):
        yield payment_columns(np.arange(start, min(start + _BATCH, records)))


def bare_windows(records: int) -> None:
    """One array of sums a window; a window leaves when its time is over."""
    sums: dict[int, Any] = {}
    for batch in _batches(records):
        starts = batch["time"] // _WINDOW_MS
        for start in np.unique(starts).tolist():
            mine = starts == start
            held = sums.setdefault(start, np.zeros(_KEYS, np.int64))
            np.add.at(held, batch["customer"][mine], batch["amount"][mine])
        for start in [each for each in sums if each < int(starts.max()) - 1]:
            del sums[start]


def bare_rolling(records: int) -> None:
    """Two arrays, and what changed in each batch."""
    sums, counts = np.zeros(_KEYS, np.int64), np.zeros(_KEYS, np.int64)
    for batch in _batches(records):
        np.add.at(sums, batch["customer"], batch["amount"])
        np.add.at(counts, batch["customer"], 1)
        touched = np.flatnonzero(np.bincount(batch["customer"], minlength=_KEYS))
        pa.RecordBatch.from_arrays(
            [pa.array(touched), pa.array(sums[touched]), pa.array(counts[touched])],
            names=["customer", "sum", "count"],
        )


def bare_batches(records: int) -> None:
    """A mask and a product."""
    for batch in _batches(records):
        made = pa.RecordBatch.from_pydict(batch, schema=_SCHEMA)
        _priced(made.filter(pc.greater(made.column("amount"), _LEAST)))


def _priced(batch: pa.RecordBatch) -> pa.RecordBatch:
    place = batch.schema.get_field_index("amount")
    return batch.set_column(place, "amount", pc.multiply(batch.column("amount"), 3))


def _source(environment: StreamExecutionEnvironment, records: int) -> DataStream:
    bounded = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(200))
    source = BatchGeneratorSource(payment_columns, _SCHEMA, records)
    return environment.from_source(source, bounded.with_timestamp_column("time"), "payments")


def windows(stream: DataStream) -> DataStream:
    """Tumbling windows."""
    keyed = stream.key_by(col("customer")).window(TumblingEventTimeWindows(_WINDOW_MS))
    return keyed.aggregate_columns(Agg.sum("amount"))


def sliding(stream: DataStream) -> DataStream:
    """Windows that overlap six times."""
    keyed = stream.key_by(col("customer")).window(SlidingEventTimeWindows(_MINUTE_MS, _WINDOW_MS))
    return keyed.aggregate_columns(Agg.sum("amount"))


def rolling(stream: DataStream) -> DataStream:
    """Aggregates so far."""
    keyed = stream.key_by(col("customer"))
    return keyed.aggregate_columns(Agg.sum("amount"), Agg.count(), per_run=True)


def batches(stream: DataStream) -> DataStream:
    """Functions of batches."""
    return stream.filter_batches(col("amount") > _LEAST).map_batches(_priced).rebalance()


WORKLOADS: Final[dict[str, tuple[Callable[[int], None], Callable[[DataStream], DataStream]]]] = {
    "windows": (bare_windows, windows),
    "sliding": (bare_windows, sliding),
    "rolling": (bare_rolling, rolling),
    "batches": (bare_batches, batches),
}


def _job(
    environment: StreamExecutionEnvironment,
    build: Callable[[DataStream], DataStream],
    records: int,
) -> float:
    build(_source(environment, records)).sink_to(DiscardingSink())
    started = time.perf_counter()
    environment.execute("columns")
    return time.perf_counter() - started


def _timed(run: Callable[[int], None], records: int) -> float:
    started = time.perf_counter()
    run(records)
    return time.perf_counter() - started


def main() -> int:
    """Measure, print the table; 1 if a core takes less than a million records a second in windows."""
    arguments = _arguments()
    console = Console(width=max(100, Console().width))
    table = Table(
        "workload", "bare loop, 1 core", "riverrun, 2 cores", "a core", "of the bare loop"
    )
    slow = False
    with StreamExecutionEnvironment.get_execution_environment(
        {"riverrun.master": f"local[{_CORES}]"}
    ) as environment:
        environment.set_parallelism(_CORES)
        for name in arguments.only or WORKLOADS:
            bare, rate = _measured(environment, name, quick=arguments.quick)
            slow |= name == "windows" and rate < _WANTED_PER_CORE * _CORES
            table.add_row(
                name,
                f"{bare:,.0f}/s",
                f"{rate:,.0f}/s",
                f"{rate / _CORES:,.0f}/s",
                f"{rate / bare:.2f}",
            )
    console.print(table)
    return 1 if slow else 0


def _measured(
    environment: StreamExecutionEnvironment, name: str, *, quick: bool
) -> tuple[float, float]:
    """Records a second of the bare loop and of the job: medians of a few rounds."""
    small, large = (4_000_000, 20_000_000) if quick else (10_000_000, 70_000_000)
    bare, build = WORKLOADS[name]
    _job(environment, build, small)  # the JVM compiles what it runs often
    rates = []
    for _ in range(1 if quick else 3):
        bare_rate = small / _timed(bare, small)
        took = -_job(environment, build, small) + _job(environment, build, large)
        rates.append((bare_rate, (large - small) / took))
    bare_rates, job_rates = zip(*rates, strict=True)
    return median(bare_rates), median(job_rates)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.columns", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one round, fewer records")
    parser.add_argument("--only", action="append", choices=WORKLOADS, help="may be repeated")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
