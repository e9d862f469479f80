"""Whatever breaks off and whoever else commits: every record is in the table once."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pytest
from deltalake.exceptions import TableNotFoundError
from pyiceberg.exceptions import NoSuchTableError

from riverrun.serde.row import Row
from riverrun.testing.conformance.sinks import SinkTarget, check_sink
from tests.contract.connectors.lake.conftest import Lake, delta_lake, iceberg_lake
from tests.contract.connectors.lake.stepwise import StepwiseJob, context

RECORDS = [Row(id=number, shop=f"shop {number % 3}") for number in range(30)]
STEPS = 20
"""A little more than a job without crashes takes."""


def ids(lake: Lake, table: str) -> list[int]:
    return sorted(lake.rows(table)["id"].to_pylist())


def expected() -> list[int]:
    return [row["id"] for row in RECORDS]


def test_a_crash_at_any_step_loses_and_repeats_nothing(lake: Lake) -> None:
    steps = (
        (4, 7, 9)
        if lake.config
        else range(lake.kind == "iceberg", STEPS, 1 + (lake.kind == "iceberg"))
    )
    for step in steps:
        table = lake.table()
        job = StepwiseJob(lake.sink(table), RECORDS, crashes=[step], config=lake.config)
        job.run()
        assert ids(lake, table) == expected(), step
        assert lake.commits(table) == 3, step


@pytest.mark.parametrize("parallelism", [[1, 3], [3, 1]], ids=["more", "fewer"])
def test_after_a_restart_other_numbers_of_writers_go_on(lake: Lake, parallelism: list[int]) -> None:
    for step in (2, 7) if lake.config else range(1, 10, 4):
        table = lake.table()
        job = StepwiseJob(
            lake.sink(table, partition_by=["shop"]),
            RECORDS,
            crashes=[step, step + 5],
            parallelism=parallelism,
            config=lake.config,
        )
        job.run()
        assert job.crashed == 2
        assert ids(lake, table) == expected(), step


def test_a_commit_that_is_repeated_adds_nothing(lake: Lake) -> None:
    table = lake.table()
    sink = lake.sink(table)
    prepared = _prepared(lake, sink, RECORDS)
    for _ in range(3):
        committer = sink.create_global_committer(context(config=lake.config))
        committer.commit(5, prepared)
        committer.commit(4, prepared)
        committer.close()
    assert ids(lake, table) == expected()
    assert lake.commits(table) == 1


def test_committers_of_one_sink_at_the_same_time_commit_once(lake: Lake) -> None:
    table = lake.table()
    sink = lake.sink(table)
    prepared = _prepared(lake, sink, RECORDS)

    def commit(_: int) -> None:
        committer = sink.create_global_committer(context(config=lake.config))
        committer.commit(1, prepared)
        committer.close()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(commit, range(4)))
    assert ids(lake, table) == expected()
    assert lake.commits(table) == 1


def test_two_jobs_write_to_one_table_at_the_same_time(lake: Lake) -> None:
    table = lake.table()

    def run(_: int) -> None:
        StepwiseJob(lake.sink(table), RECORDS, crashes=[8], piece=6, config=lake.config).run()

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(run, range(2)))
    assert ids(lake, table) == sorted(2 * expected())


def test_a_new_job_counts_its_checkpoints_from_one_again(lake: Lake) -> None:
    table = lake.table()
    for _ in range(2):
        StepwiseJob(lake.sink(table), RECORDS, config=lake.config).run()
    assert ids(lake, table) == sorted(2 * expected())


def test_what_an_earlier_job_prepared_is_committed_by_the_next_one_once(lake: Lake) -> None:
    table = lake.table()
    earlier, later = lake.sink(table), lake.sink(table)
    prepared = _prepared(lake, earlier, RECORDS[:10])
    for sink in (earlier, later):
        committer = sink.create_global_committer(context(config=lake.config))
        committer.commit(7, prepared)
        committer.close()
    more = _prepared(lake, later, RECORDS[10:])
    committer = later.create_global_committer(context(config=lake.config))
    committer.commit(8, more)
    committer.close()
    assert ids(lake, table) == expected()


def test_other_tools_read_the_files(lake: Lake) -> None:
    if lake.config:
        pytest.skip("the reader has no way to the object store")
    table = lake.table()
    StepwiseJob(lake.sink(table), RECORDS).run()
    paths = [path.removeprefix("file://") for path in lake.files(table)]
    with duckdb.connect() as reader:
        found = reader.execute("select id, shop from read_parquet(?) order by id", [paths])
        assert found.fetchall() == [(row["id"], row["shop"]) for row in RECORDS]


def _prepared(lake: Lake, sink: Any, records: list[Any]) -> list[Any]:
    writer = sink.create_writer(context(config=lake.config))
    writer.open()
    writer.write_run(records, None)
    prepared: list[Any] = writer.prepare_commit()
    writer.close()
    return prepared


def test_the_sinks_conform(tmp_path: Path) -> None:
    lakes = [delta_lake(str(tmp_path), {}, {}), iceberg_lake(tmp_path)]
    for kind in lakes:

        @contextmanager
        def target(lake: Lake = kind) -> Iterator[SinkTarget]:
            table = lake.table()

            def rows() -> list[Any]:
                try:
                    found = lake.rows(table).to_pylist()
                except (TableNotFoundError, NoSuchTableError):
                    return []
                return [Row(**row) for row in found]

            yield SinkTarget(lake.sink(table), rows)

        check_sink(target, RECORDS[:16], parallelisms=[(2, 1)])
