"""A large state is read, exported and compared without being held in memory."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from riverrun.api.state import ValueStateDescriptor
from riverrun.serde.types import Types
from riverrun.state_processor.difference import differences
from riverrun.state_processor.exporting import export
from riverrun.state_processor.savepoint import Savepoint
from tests.unit.state_processor.made_checkpoints import Operator

ROWS = 40_000
SIZE = 2000
"""Characters of a value: together 80 MB."""
MOST = 45 << 20
"""Row groups have 32 MB."""


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Savepoint]:
    """The same large state in every format, and with types and without."""
    found: dict[str, Savepoint] = {}
    for backend in ("hashmap", "rocksdb"):
        operator = Operator(tmp_path_factory.mktemp(backend), backend, max_parallelism=128)
        for number in range(ROWS):
            at: Any = operator.at(number)
            text = str(number) * (SIZE // len(str(number)))
            at.state(ValueStateDescriptor("typed", Types.STRING())).update(text)
        found[backend] = operator.checkpoint()
        found[f"savepoint of {backend}"] = operator.savepoint()
        operator.close()
    return found


@contextmanager
def bounded() -> Iterator[Callable[[], None]]:
    """Fail when the block holds too much, of Python's or of Arrow's, at its peak or when it looks."""
    gc.collect()
    arrow = pa.total_allocated_bytes()
    tracemalloc.start()
    try:

        def look() -> None:
            assert pa.total_allocated_bytes() - arrow < MOST

        yield look
        assert tracemalloc.get_traced_memory()[1] < MOST
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("way", ["hashmap", "rocksdb", "savepoint of hashmap"])
def test_batches_take_little_memory(saved: dict[str, Savepoint], way: str) -> None:
    rows = 0
    with bounded() as look:
        for batch in saved[way].state("customers", "typed").batches(batch_size=2048):
            look()
            rows += batch.num_rows
    assert rows == ROWS


def test_an_export_takes_little_memory(saved: dict[str, Savepoint], tmp_path: Path) -> None:
    told: list[int] = []
    with bounded():
        table = saved["hashmap"].state("customers", "typed")
        assert export(table, tmp_path / "out.parquet", progress=told.append) == ROWS
    assert sum(told) == ROWS
    assert pq.read_metadata(tmp_path / "out.parquet").num_rows == ROWS


def test_a_comparison_takes_little_memory(saved: dict[str, Savepoint]) -> None:
    with bounded():
        found = list(differences(saved["savepoint of hashmap"], saved["rocksdb"]))
    assert [(each.same, each.is_different) for each in found] == [(ROWS, False)]
