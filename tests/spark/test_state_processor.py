"""States as Spark's DataFrames: read by the executors, equal to what Arrow gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from riverrun.state_processor.savepoint import Savepoint
from tests.unit.state_processor.saved_jobs import saved

pytestmark = pytest.mark.spark


def test_spark_has_the_rows_that_arrow_has(tmp_path: Path, spark_session: Any) -> None:
    typed = saved(tmp_path / "typed", typed=True, **{"state.backend.type": "rocksdb"})
    untyped = saved(tmp_path / "untyped", typed=False, **{"state.backend.type": "hashmap"})
    for path, operator, state in [
        (typed.savepoint, "everything", "account"),
        (typed.savepoint, "everything", "fleeting"),
        (typed.savepoint, "windows", "_window.contents"),
        (typed.checkpoint, "everything", "by parity"),
        (typed.checkpoint, "windows", "_timers.window.processing"),
        (untyped.checkpoint, "everything", "account"),
        (untyped.checkpoint, "remembers", "numbers"),
        (untyped.savepoint, "everything", "seen"),
    ]:
        table = Savepoint.read(path).state(operator, state)
        frame = table.to_spark(spark_session).toArrow()

        columns = [name for name in frame.column_names if name != "pickled"]
        assert rows_of(frame.select(columns)) == rows_of(table.to_arrow()), (path, state)

    one = Savepoint.read(typed.savepoint).state("everything", "last").where_key("k3")
    assert one.to_spark(spark_session).collect()[0].value == 53


def rows_of(table: Any) -> list[str]:
    return sorted(map(repr, table.to_pylist()))
