"""A Spark of a few lines: its frames are Arrow tables whose chunks are the partitions."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest


class ArrowFrames:
    """Satisfies ``DataFrames``."""

    def __init__(self) -> None:
        self.runs = 0
        self.at_exit: list[Path] = []

    def check_frame(self, who: str, frame: object) -> None:
        assert isinstance(frame, pa.Table)

    def arrow_schema(self, frame: Any) -> pa.Schema:
        return frame.schema

    def for_each_partition(
        self, frame: Any, body: Callable[[int, Iterator[pa.RecordBatch]], Any]
    ) -> list[Any]:
        self.runs += 1
        body = pickle.loads(pickle.dumps(body))
        return [body(number, iter([batch])) for number, batch in enumerate(frame.to_batches())]

    def session(self, who: str, given: object | None) -> object:
        return given or "the session"

    def one_machine(self, session: object) -> bool:
        return True

    def read_parquet(self, session: object, files: Sequence[str], schema: pa.Schema) -> Any:
        tables = [pq.read_table(file) for file in files]
        return pa.concat_tables(tables) if tables else schema.empty_table()

    def delete_at_exit(self, session: object, folder: Path) -> None:
        self.at_exit.append(folder)


@pytest.fixture
def frames(monkeypatch: pytest.MonkeyPatch) -> ArrowFrames:
    made = ArrowFrames()
    for module in ("source", "sinks"):
        monkeypatch.setattr(f"riverrun.connectors.spark.{module}.dataframes", lambda _: made)
    return made
