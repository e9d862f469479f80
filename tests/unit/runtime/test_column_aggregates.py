"""Rolling aggregates declared on columns: per record, per run, at the end; kept in state."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riverrun.api.column_aggregates import Agg
from riverrun.api.columns import col
from riverrun.datastream.data_stream import DataStream
from riverrun.runtime.failures import OperatorFailed
from riverrun.runtime.operators import column_aggregates
from riverrun.serde.row import Row
from riverrun.serde.types import Types
from riverrun.testing.harness import OperatorHarness
from tests.unit.runtime.column_cases import (
    AGGREGATES,
    RECORD,
    aggregated,
    record,
    records,
    take_long_runs,
)

SPEND = Types.ROW_NAMED(["k", "n"], [Types.STRING(), Types.LONG()])


def rolling(stream: DataStream) -> DataStream:
    return stream.key_by(col("k")).aggregate_columns(*AGGREGATES)


def per_run(stream: DataStream) -> DataStream:
    return stream.key_by(col("k")).aggregate_columns(*AGGREGATES, per_run=True)


def pieces(run: Sequence[Any], cuts: list[int]) -> list[Sequence[Any]]:
    bounds = sorted({0, *(cut for cut in cuts if cut < len(run)), len(run)})
    return [run[start:end] for start, end in pairwise(bounds)]


def so_far(rows: Sequence[Row], upto: int) -> tuple[Any, ...]:
    key = rows[upto]["k"]
    return key, *aggregated([row for row in rows[: upto + 1] if row["k"] == key])


@given(rows=st.lists(records(), min_size=1, max_size=12), cuts=st.lists(st.integers(1, 12)))
@settings(max_examples=25, deadline=None)
def test_each_record_gives_the_aggregates_so_far(rows: list[Row], cuts: list[int]) -> None:
    with OperatorHarness(rolling, types=[RECORD]) as harness:
        take_long_runs(harness)
        start = 0
        for piece in pieces(rows, cuts):
            harness.push_run(piece, range(start, start + len(piece)))
            start += len(piece)
        found = harness.records()
    expected = [so_far(rows, upto) for upto in range(len(rows))]
    assert [(repr(tuple(row)), time) for row, time in found] == [
        (repr(each), time) for time, each in enumerate(expected)
    ]


@given(rows=st.lists(records(), min_size=1, max_size=12), cuts=st.lists(st.integers(1, 12)))
@settings(max_examples=20, deadline=None)
def test_per_run_each_key_gives_its_last_aggregates(rows: list[Row], cuts: list[int]) -> None:
    start = 0
    expected = []
    with OperatorHarness(per_run, types=[RECORD]) as harness:
        take_long_runs(harness)
        for piece in pieces(rows, cuts):
            harness.push_run(piece, range(start, start + len(piece)))
            last = {row["k"]: start + at for at, row in enumerate(piece)}
            expected += [(repr(so_far(rows, upto)), upto) for upto in sorted(last.values())]
            start += len(piece)
        found = harness.records()
    assert [(repr(tuple(row)), time) for row, time in found] == expected


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
@pytest.mark.parametrize("most", [1 << 20, 2])
@given(
    before=st.lists(records(), min_size=1, max_size=12),
    after=st.lists(records(), min_size=1, max_size=12),
    to=st.integers(1, 2),
)
@settings(max_examples=6, deadline=None)
def test_aggregates_are_kept_in_state(
    backend: str, most: int, before: list[Row], after: list[Row], to: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(column_aggregates, "_MOST_CELLS", most)
        with OperatorHarness(rolling, types=[RECORD], backend=backend) as harness:
            for row in before:
                harness.push(row)
            snapshot = harness.snapshot()
        found = []
        everything = [*before, *after]
        for subtask in range(to):
            with OperatorHarness(
                rolling,
                types=[RECORD],
                backend=backend,
                parallelism=to,
                subtask=subtask,
                restore=snapshot,
            ) as harness:
                for row in after:
                    harness.push(row)
                found.append([tuple(made) for made in harness.output()])
    # Each subtask is given all records; the one that has the key's group knows what came before.
    for upto, expected in enumerate(
        so_far(everything, index) for index in range(len(before), len(everything))
    ):
        assert repr(expected) in [repr(each[upto]) for each in found]


def test_at_the_end_of_a_batch_job_each_key_gives_one_row() -> None:
    config = {"execution.runtime-mode": "BATCH"}
    with OperatorHarness(rolling, types=[RECORD], config=config) as harness:
        rows = [record(k=key, n=number) for number, key in enumerate("abab")]
        harness.push_run(rows, [7, 1, 3, 2])
        assert harness.output() == []
        harness.end_input()
        found = sorted((repr(tuple(row)), time) for row, time in harness.records())
    assert found == [
        (repr(("a", *aggregated([rows[0], rows[2]]))), 7),
        (repr(("b", *aggregated([rows[1], rows[3]]))), 2),
    ]


def test_a_rolling_sum_that_does_not_fit_is_refused() -> None:
    with OperatorHarness(
        lambda stream: stream.key_by(col("k")).aggregate_columns(Agg.sum("n")), types=[SPEND]
    ) as harness:
        harness.push(Row("a", -(2**63)))
        with pytest.raises(OperatorFailed) as caught:
            harness.push_run([Row("a", 1), Row("a", -2)])
    assert "does not fit 64 bits" in str(caught.value.__cause__)
