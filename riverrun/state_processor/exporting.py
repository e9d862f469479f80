"""A state written to a file that other tools read, some thousand rows at a time."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TextIO, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from riverrun.core.errors import ConfigError
from riverrun.state_processor.plain_values import as_json
from riverrun.state_processor.table import StateTable
from riverrun.storage.os_errors import reported
from riverrun.storage.storage import FileExists

Progress: TypeAlias = Callable[[int], None]
"""Is called with the number of rows that were written since."""


def export(
    table: StateTable, out: Path, *, replace: bool = False, progress: Progress | None = None
) -> int:
    """Write all rows of ``table`` to a file; its suffix says the format.

    ``.parquet`` and ``.arrow`` have the columns of ``table.schema``; ``.csv`` has one column for each field of
    these, with lists as JSON; ``.jsonl`` has one object for each row.

    Args:
        table: the state.
        out: the file, which is there whole or not at all.
        replace: whether a file that is there may be replaced.
        progress: is told how many rows were written.

    Returns:
        How many rows there are.

    Raises:
        ConfigError: the suffix says no format.
        FileExists: the file is there, and ``replace`` is not given.
        StorageError: it cannot be written, or the state cannot be read.
    """
    write = _WRITERS.get(out.suffix)
    if write is None:
        raise ConfigError(
            f"file {str(out)!r}: the suffix {out.suffix!r} says no format; expected one of "
            f"{', '.join(_WRITERS)}"
        )
    if out.exists() and not replace:
        raise FileExists(
            f"file {str(out)!r}: it is there already; name another one, or let it be replaced"
        )
    with reported("writing", str(out)):
        out.parent.mkdir(parents=True, exist_ok=True)
    unfinished = out.with_name(f".{out.name}.unfinished")
    try:
        rows = write(table, unfinished, progress or (lambda _rows: None))
        with reported("writing", str(out)):
            unfinished.replace(out)
    finally:
        unfinished.unlink(missing_ok=True)
    return rows


def _counted(table: StateTable, progress: Progress) -> Iterator[pa.RecordBatch]:
    for batch in table.batches():
        yield batch
        progress(batch.num_rows)


def _parquet(table: StateTable, out: Path, progress: Progress) -> int:
    rows = 0
    with reported("writing", str(out)):
        writer = pq.ParquetWriter(out, table.schema, compression="zstd")
    with writer:
        for batch in _counted(table, progress):
            with reported("writing", str(out)):
                writer.write_batch(batch)
            rows += batch.num_rows
    return rows


def _arrow(table: StateTable, out: Path, progress: Progress) -> int:
    rows = 0
    with reported("writing", str(out)):
        writer = pa.ipc.new_file(str(out), table.schema)
    with writer:
        for batch in _counted(table, progress):
            with reported("writing", str(out)):
                writer.write_batch(batch)
            rows += batch.num_rows
    return rows


def _csv(table: StateTable, out: Path, progress: Progress) -> int:
    with _opened(out) as file:
        return write_csv(table, file, progress)


def write_csv(table: StateTable, file: TextIO, progress: Progress = lambda _rows: None) -> int:
    """Write rows of fields; the fields of a struct are columns of their own, ``value.city``."""
    rows = 0
    writer = csv.writer(file)
    names = [name for field in table.schema for name in _leaves(field, field.name)]
    writer.writerow(names)
    for batch in _counted(table, progress):
        for row in batch.to_pylist():
            flat: dict[str, Any] = {}
            for field in batch.schema:
                _flatten(row[field.name], field.type, field.name, flat)
            writer.writerow([flat.get(name) for name in names])
        rows += batch.num_rows
    return rows


def _jsonl(table: StateTable, out: Path, progress: Progress) -> int:
    with _opened(out) as file:
        return write_jsonl(table, file, progress)


def write_jsonl(table: StateTable, file: TextIO, progress: Progress = lambda _rows: None) -> int:
    """Write a JSON object for each row, a line each."""
    rows = 0
    for rows, row in enumerate(table.rows(), 1):
        file.write(json.dumps(as_json(row), ensure_ascii=False) + "\n")
        if rows % _TOLD == 0:
            progress(_TOLD)
    progress(rows % _TOLD)
    return rows


_TOLD: Final = 10_000


@contextmanager
def _opened(out: Path) -> Iterator[TextIO]:
    with (
        reported("writing", str(out)),
        out.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file,
    ):
        yield file


def _leaves(field: pa.Field, name: str) -> list[str]:
    if not pa.types.is_struct(field.type):
        return [name]
    return [leaf for inner in field.type for leaf in _leaves(inner, f"{name}.{inner.name}")]


def _flatten(value: Any, arrow_type: pa.DataType, name: str, into: dict[str, Any]) -> None:
    if value is None:
        return
    if pa.types.is_struct(arrow_type):
        for inner in arrow_type:
            _flatten(value[inner.name], inner.type, f"{name}.{inner.name}", into)
    elif pa.types.is_nested(arrow_type):
        into[name] = json.dumps(as_json(value), ensure_ascii=False)
    else:
        into[name] = as_json(value)


_WRITERS: Final[Mapping[str, Callable[[StateTable, Path, Progress], int]]] = {
    ".parquet": _parquet,
    ".arrow": _arrow,
    ".csv": _csv,
    ".jsonl": _jsonl,
}
