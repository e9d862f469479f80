"""Parquet files through a job: ``python -m benchmarks.parquet_files [--quick]``.

Files are read, filtered and written again, twice: by pyarrow alone, in as many processes as the job has
subtasks, and by a job on a local Spark, exactly once. Rates are net of the start: two sizes, the difference
counts. Wanted: at least half of pyarrow's speed.
"""

import argparse
import multiprocessing
import shutil
import tempfile
import time
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from riverrun import FileSource, ParquetColumnarRowInputFormat, StreamExecutionEnvironment
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.connectors.files.output_columns import ParquetBulkWriters
from riverrun.connectors.files.sink_builder import FileSink
from riverrun.core.configuration import Configuration

_CORES: Final = 2
_ROWS: Final = 1_000_000
"""Of each file."""
_GROUP: Final = 1 << 17


def keep(batch: pa.RecordBatch) -> pa.Array:
    """The filter: about half of the rows."""
    return pc.and_(pc.less(batch["amount"], 60.0), pc.not_equal(batch["country"], "fr"))


def make_files(folder: Path, count: int) -> list[Path]:
    """Files of payments."""
    rng = np.random.default_rng(1)
    names = pa.array(["de", "fr", "it", "es", "pl"])
    paths = []
    for number in range(count):
        table = pa.table(
            {
                "id": np.arange(number * _ROWS, (number + 1) * _ROWS),
                "amount": rng.random(_ROWS) * 100,
                "country": names.take(pa.array(rng.integers(0, 5, _ROWS))),
                "customer": rng.integers(0, 100_000, _ROWS),
            }
        )
        paths.append(folder / f"{number:03}.parquet")
        parquet.write_table(table, paths[-1], row_group_size=_GROUP)
    return paths


def plain_part(paths: list[Path], target: Path) -> float:
    """What one process of pyarrow's side does; its seconds."""
    pa.set_cpu_count(1)
    began = time.perf_counter()
    writer = None
    for path in paths:
        file = parquet.ParquetFile(path)
        for group in range(file.num_row_groups):
            table = file.read_row_group(group, use_threads=False)
            kept = table.filter(keep(table))
            writer = writer or parquet.ParquetWriter(target, kept.schema)
            writer.write_table(kept, row_group_size=_GROUP)
    if writer is not None:
        writer.close()
    return time.perf_counter() - began


def plain(paths: list[Path], target: Path) -> float:
    """The seconds of pyarrow alone, on as many cores as the job has."""
    target.mkdir()
    parts = [(paths[core::_CORES], target / f"{core}.parquet") for core in range(_CORES)]
    with multiprocessing.get_context("spawn").Pool(_CORES) as pool:
        return max(pool.starmap(plain_part, parts))


def job(env: StreamExecutionEnvironment, folder: Path, target: Path) -> float:
    """The seconds of the job, its start included."""
    reads = ParquetColumnarRowInputFormat.like_file(str(folder / "000.parquet"))
    source = FileSource.for_bulk_file_format(reads, folder).build()
    row_type = reads.get_produced_type()
    sink = FileSink.for_bulk_format(target, ParquetBulkWriters.for_row_type(row_type)).build()
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "payments")
    stream.filter_batches(keep).sink_to(sink)
    began = time.perf_counter()
    env.execute("parquet")
    return time.perf_counter() - began


def rows_in(folder: Path) -> int:
    """How many rows the files of a folder have."""
    paths = [path for path in folder.rglob("*") if path.is_file() and path.name[0] not in "._"]
    return sum(parquet.ParquetFile(path).metadata.num_rows for path in paths)


def main() -> None:
    """Measure both and print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick: bool = parser.parse_args().quick
    sizes = (2, 6) if quick else (4, 24)
    work = Path(tempfile.mkdtemp(prefix="parquet-files-"))
    settings = Configuration(
        {"riverrun.master": f"local[{_CORES}]", "execution.checkpointing.interval": "2 s"}
    )
    seconds: dict[str, list[float]] = {"pyarrow": [], "riverrun": []}
    try:
        with StreamExecutionEnvironment.get_execution_environment(settings) as env:
            env.set_parallelism(_CORES)
            for turn, files in enumerate((sizes[0], *sizes)):  # the first warms up
                folder = work / f"in-{turn}"
                folder.mkdir()
                paths = make_files(folder, files)
                there = plain(paths, work / f"plain-{turn}")
                here = job(env, folder, work / f"out-{turn}")
                if rows_in(work / f"plain-{turn}") != rows_in(work / f"out-{turn}"):
                    raise SystemExit("the job wrote other rows than pyarrow")
                if turn:
                    seconds["pyarrow"].append(there)
                    seconds["riverrun"].append(here)
    finally:
        shutil.rmtree(work)
    rows = (sizes[1] - sizes[0]) * _ROWS
    rates = {name: rows / (both[1] - both[0]) for name, both in seconds.items()}
    for name, rate in rates.items():
        small, large = seconds[name]
        print(f"{name:9} {rate:14,.0f} rows/s on {_CORES} cores ({small:.2f} s, {large:.2f} s)")
    print(f"ratio     {rates['riverrun'] / rates['pyarrow']:.2f}")


if __name__ == "__main__":
    main()
