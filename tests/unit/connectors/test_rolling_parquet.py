"""Files are closed at their size, memory is bounded, and every row is in one file."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverrun.connectors.base import rolling_parquet
from riverrun.connectors.base.rolling_parquet import RollingParquet

SCHEMA = pa.schema([("id", pa.int64())])


class Kept(BytesIO):
    """A file whose bytes stay after it was closed."""

    def close(self) -> None:
        if not self.closed:
            self.data = self.getvalue()
        super().close()


class InMemory:
    def __init__(self) -> None:
        self.files: dict[str, Kept] = {}
        self.open_at_once = 0

    def create(self, partition: tuple[Any, ...]) -> tuple[str, Any]:
        path = f"{partition}/{len(self.files)}"
        self.files[path] = Kept()
        still_open = [each for each in self.files.values() if not each.closed]
        self.open_at_once = max(self.open_at_once, len(still_open))
        return path, pa.PythonFile(self.files[path], mode="w")

    def facts(
        self, path: str, partition: tuple[Any, ...], size: int, metadata: pq.FileMetaData
    ) -> Any:
        assert size == len(self.files[path].data)
        return path, partition, metadata.num_rows

    def ids(self, path: str) -> list[int]:
        found: list[int] = pq.read_table(BytesIO(self.files[path].data))["id"].to_pylist()
        return found


def batch(*ids: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(ids, pa.int64())], schema=SCHEMA)


def rolling(files: InMemory, target_size: int = 1 << 20) -> RollingParquet:
    return RollingParquet(files, SCHEMA, target_size=target_size, compression="none")


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(1, 30)), max_size=20),
    st.integers(50, 3000),
    st.integers(1, 4),
)
def test_every_row_is_in_one_file_of_its_partition(
    runs: list[tuple[int, int]], target_size: int, open_files: int
) -> None:
    files = InMemory()
    writing = rolling(files, target_size)
    expected: dict[int, list[int]] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rolling_parquet, "_OPEN_FILES", open_files)
        patch.setattr(rolling_parquet, "_GROUP_ROWS", 16)
        for number, (partition, rows) in enumerate(runs):
            ids = list(range(number * 100, number * 100 + rows))
            writing.add((partition,), batch(*ids))
            expected.setdefault(partition, []).extend(ids)
        closed = writing.close_all()
    found: dict[int, list[int]] = {}
    for path, (partition,), rows in closed:
        ids = files.ids(path)
        assert len(ids) == rows
        found.setdefault(partition, []).extend(ids)
    assert found == expected
    assert files.open_at_once <= open_files
    assert writing.close_all() == []


def test_the_largest_partition_is_written_when_memory_runs_short(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rolling_parquet, "_WAITING_BYTES", 100)
    files = InMemory()
    writing = rolling(files)
    writing.add(("small",), batch(1))
    writing.add(("large",), batch(*range(15)))
    assert [path.partition("/")[0] for path in files.files] == ["('large',)"]
    writing.abandon()
    assert all(each.closed for each in files.files.values())
    assert writing.close_all() == []


class FullDisk(InMemory):
    """Files of one partition cannot be written to their end."""

    def create(self, partition: tuple[Any, ...]) -> tuple[str, Any]:
        path, out = super().create(partition)
        if partition == ("full",):

            def refuse(_: bytes) -> int:
                raise OSError("no space left")

            self.files[path].write = refuse  # type: ignore[method-assign, assignment]
        return path, out


def test_after_a_failure_every_file_is_let_go() -> None:
    files = FullDisk()
    parts = rolling(files)
    for partition in ("full", "fine"):
        parts.add((partition,), batch(1))
    with pytest.raises(OSError, match="no space left"):
        parts.close_all()
    parts.abandon()
    assert files.files
    assert all(each.closed for each in files.files.values())
