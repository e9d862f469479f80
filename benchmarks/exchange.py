"""Megabytes a second through one exchange: ``python -m benchmarks.exchange [--kind NAME] [--parallelism N]``.

A source makes records, ``rebalance`` sends each of them to another process through Spark, a sink forgets it there. All
of the job counts, source and sink too: two sizes, the difference of the payloads over the difference of the times, so
that only the start of a job drops out. Parallelism 1 is one channel, parallelism 2 is four. The payload is what a
record holds (eight bytes a number), not what it is encoded to. Beside it the same records, pickled, through a
``multiprocessing.Pipe`` from one process to another: what a user would write by hand.
"""

import argparse
import json
import multiprocessing
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from benchmarks.blobs import SIZE, blob
from benchmarks.payment_columns import COLUMNS, payment_columns
from benchmarks.provenance import provenance
from benchmarks.resources import adopt_orphans, cpu_seconds
from benchmarks.setup_peers import CACHE
from benchmarks.workloads import transaction
from riverrun import BatchGeneratorSource, StreamExecutionEnvironment, WatermarkStrategy
from riverrun.connectors.datagen import DataGeneratorSource
from riverrun.connectors.discard import DiscardingSink

_MEGABYTE: Final = 1_000_000
_SMALL_SHARE: Final = 5
"""The small size is this part of the large one."""
_PIPE_BYTES: Final = 64 << 10
"""What is sent through the pipe at once, at least."""
_WANTED: Final = 150.0
"""Megabytes a second through one exchange at parallelism 2, of records that are not small."""


_POOL: Final = blob(0)[1] + blob(1)[1]


class Payload:
    """Makes records of so many bytes, which differ and do not compress."""

    def __init__(self, size: int) -> None:
        self._size = size

    def __call__(self, index: int) -> bytes:
        """The record number ``index``."""
        start = index * 4_099 % SIZE
        return _POOL[start : start + self._size]


@dataclass(frozen=True, slots=True)
class Kind:
    """Records of one kind.

    Attributes:
        source: Makes so many of them.
        values: The same without an engine, as lists or batches of ``_PIPE_BYTES`` or more.
        size: The payload of one of them in bytes.
        records: How many make a few seconds.
        wanted: Whether they are to reach what is wanted of an exchange.
    """

    source: Callable[[int], Any]
    values: Callable[[int], Iterator[Any]]
    size: int
    records: int
    wanted: bool = False


def _objects(make: Callable[[int], Any], size: int, records: int, *, wanted: bool) -> Kind:
    def values(count: int) -> Iterator[Any]:
        step = max(1, _PIPE_BYTES // size)
        for start in range(0, count, step):
            yield list(map(make, range(start, min(start + step, count))))

    return Kind(lambda count: DataGeneratorSource(make, count), values, size, records, wanted)


def _batches(size: int, records: int) -> Kind:
    schema = pa.schema([(name, pa.int64()) for name in COLUMNS])
    step = 8 * _PIPE_BYTES // size

    def values(count: int) -> Iterator[Any]:
        for start in range(0, count, step):
            indexes = np.arange(start, min(start + step, count))
            yield pa.RecordBatch.from_pydict(payment_columns(indexes), schema=schema)

    return Kind(
        lambda count: BatchGeneratorSource(payment_columns, schema, count), values, size, records
    )


KINDS: Final = {
    "bytes of 1 kB": _objects(Payload(1_000), 1_000, 500_000, wanted=False),
    "bytes of 10 kB": _objects(Payload(10_000), 10_000, 50_000, wanted=True),
    "bytes of 100 kB": _objects(Payload(100_000), 100_000, 6_000, wanted=True),
    "bytes of 1 MB": _objects(Payload(SIZE), SIZE, 600, wanted=True),
    "tuples of two numbers": _objects(transaction, 16, 10_000_000, wanted=False),
    "Arrow batches of three numbers": _batches(24, 40_000_000),
}


@dataclass(frozen=True, slots=True)
class Figure:
    """Megabytes a second, and how many a second of CPU of all processes together; None: not known."""

    rate: float
    cpu_rate: float | None


def exchanged(kind: Kind, parallelism: int, records: int) -> float:
    """Seconds of a job that sends ``records`` records through one exchange."""
    environment = StreamExecutionEnvironment.get_execution_environment()
    environment.set_parallelism(parallelism)
    stream = environment.from_source(
        kind.source(records), WatermarkStrategy.no_watermarks(), "records"
    )
    stream.rebalance().sink_to(DiscardingSink())
    started = time.perf_counter()
    environment.execute("exchange")
    return time.perf_counter() - started


def piped(kind: Kind, records: int) -> float:
    """Seconds to send them, pickled, from one process to another, start of the process included."""
    started = time.perf_counter()
    receiving, sending = multiprocessing.Pipe(duplex=False)
    sender = multiprocessing.Process(target=_send, args=(kind.values(records), sending))
    sender.start()
    sending.close()
    while receiving.recv() is not None:
        pass
    sender.join()
    return time.perf_counter() - started


def _send(values: Iterator[Any], sending: Connection) -> None:
    for each in values:
        sending.send(each)
    sending.send(None)


def measured(run: Callable[[int], float], kind: Kind, share: int = 1) -> Figure:
    """The rate of ``run``, net of what it costs to start; ``share`` takes fewer records."""
    large = kind.records // share
    small = large // _SMALL_SHARE
    run(small)
    took = []
    for records in (small, large):
        cpu = cpu_seconds()
        seconds = run(records)
        after = cpu_seconds()
        took.append((seconds, None if cpu is None or after is None else after - cpu))
    megabytes = (large - small) * kind.size / _MEGABYTE
    (small_seconds, small_cpu), (seconds, cpu) = took
    burnt = None if cpu is None or small_cpu is None else cpu - small_cpu
    return Figure(megabytes / (seconds - small_seconds), megabytes / burnt if burnt else None)


def main() -> int:
    """Measure each kind, print the table, save the figures; 1 if what is wanted is missed."""
    arguments = _arguments()
    adopt_orphans()
    console = Console(width=max(100, Console().width))
    headings = ("records", "parallelism", "MB/s", "MB/s of CPU", "a pipe, MB/s", "wanted")
    table = Table(*headings, title="through one exchange, payload, net of start-up")
    figures: dict[str, dict[str, Any]] = {}
    missed = False
    for name in arguments.kind or KINDS:
        kind, share = KINDS[name], 5 if arguments.quick else 1
        pipe = measured(partial(piped, kind), kind, share)
        for parallelism in arguments.parallelism or (1, 2):
            with console.status(f"{name}, parallelism {parallelism}"):
                figure = measured(partial(exchanged, kind, parallelism), kind, share)
            counts = kind.wanted and parallelism > 1
            missed |= counts and figure.rate < _WANTED
            table.add_row(
                name,
                str(parallelism),
                f"{figure.rate:,.0f}",
                "-" if figure.cpu_rate is None else f"{figure.cpu_rate:,.0f}",
                f"{pipe.rate:,.0f}",
                _verdict(figure.rate) if counts else "",
            )
            figures[f"{name}, parallelism {parallelism}"] = {
                **asdict(figure),
                "pipe_rate": pipe.rate,
            }
    console.print(table)
    console.print(f"figures: {_save(figures)}")
    return 1 if missed else 0


def _verdict(rate: float) -> str:
    colour = "green" if rate >= _WANTED else "red"
    return f"[{colour}]{_WANTED:,.0f}[/]"


def _save(figures: dict[str, dict[str, Any]]) -> Path:
    path = CACHE / "results" / "exchange.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**provenance(), "megabytes_per_second": figures}, indent=2))
    return path


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.exchange", description=__doc__)
    parser.add_argument("--kind", action="append", choices=KINDS, help="may be repeated")
    parser.add_argument("--parallelism", type=int, action="append", help="may be repeated")
    parser.add_argument("--quick", action="store_true", help="a fifth of the records")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
