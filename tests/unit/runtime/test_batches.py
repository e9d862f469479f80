"""map_batches and filter_batches: whole runs of columns through a function of the program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from riverrun.api.batch_functions import BatchFunction
from riverrun.api.columns import col
from riverrun.api.runtime_context import RuntimeContext
from riverrun.core.errors import ProgramError
from riverrun.datastream.data_stream import DataStream
from riverrun.runtime.failures import OperatorFailed
from riverrun.serde.row import Row, RowKind
from riverrun.serde.types import DataclassTypeInfo, Types
from riverrun.testing.harness import OperatorHarness
from tests.unit.runtime.column_cases import take_long_runs

ROWS = Types.ROW_NAMED(["k", "n"], [Types.STRING(), Types.LONG()])
DOUBLED = Types.ROW_NAMED(["k", "twice"], [Types.STRING(), Types.LONG()])
RUN = [Row(k="a", n=1), Row(k="b", n=2), Row(k=None, n=None)]


@dataclass
class Order:
    customer: str
    amount: float


def through(
    build: Callable[[DataStream], DataStream],
    run: list[Any],
    times: list[int] | None = None,
    type_info: Any = ROWS,
) -> list[tuple[Any, int | None]]:
    with OperatorHarness(build, types=[type_info]) as harness:
        take_long_runs(harness)
        harness.push_run(run, times)
        return harness.records()


def double(batch: pa.RecordBatch) -> pa.RecordBatch:
    assert isinstance(batch, pa.RecordBatch)
    assert batch.schema.names == ["k", "n"]
    columns = [batch.column("k"), pc.multiply(batch.column("n"), 2)]
    return pa.RecordBatch.from_arrays(columns, names=["k", "twice"])


def test_a_batch_goes_in_and_a_batch_comes_out() -> None:
    found = through(lambda stream: stream.map_batches(double, DOUBLED), RUN, [5, 6, 7])
    assert found == [
        (Row(k="a", twice=2), 5),
        (Row(k="b", twice=4), 6),
        (Row(k=None, twice=None), 7),
    ]


def test_without_a_type_records_stay_of_their_type() -> None:
    found = through(lambda stream: stream.map_batches(lambda batch: batch), RUN)
    assert found == [(row, None) for row in RUN]


def test_the_type_may_be_an_arrow_schema() -> None:
    schema = pa.schema({"total": pa.int64()})
    build = lambda stream: stream.map_batches(  # noqa: E731
        lambda batch: {"total": [pc.sum(batch.column("n")).as_py()]}, schema
    )
    assert through(build, RUN) == [(Row(total=3), None)]


@pytest.mark.parametrize("form", ["numpy", "pandas", "arrow"])
def test_every_format_goes_in_and_comes_out(form: str) -> None:
    def twice(batch: Any) -> Any:
        if form == "pandas":
            return batch.assign(twice=batch["n"] * 2).drop(columns="n")
        if form == "numpy":
            assert isinstance(batch["n"], np.ndarray)
            return {"k": batch["k"], "twice": batch["n"] * 2}
        return pa.table({"k": batch.column("k"), "twice": pc.multiply(batch.column("n"), 2)})

    build = lambda stream: stream.map_batches(twice, DOUBLED, format=form)  # noqa: E731
    assert [row for row, _ in through(build, RUN[:2])] == [
        Row(k="a", twice=2),
        Row(k="b", twice=4),
    ]


def test_a_format_without_its_library_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(ProgramError, match="polars is not installed"):
        through(lambda stream: stream.map_batches(double, DOUBLED, format="polars"), RUN)


def test_other_numbers_of_records_need_no_timestamps() -> None:
    build = lambda stream: stream.map_batches(lambda batch: batch.slice(0, 1))  # noqa: E731
    assert through(build, RUN) == [(RUN[0], None)]
    with pytest.raises(OperatorFailed) as caught:
        through(build, RUN, [1, 2, 3])
    assert "made 1 records of 3" in str(caught.value.__cause__)
    assert 'timestamps="ts"' in str(caught.value.__cause__)


def test_event_times_may_come_and_go_in_a_column() -> None:
    def last_first(batch: pa.RecordBatch) -> pa.RecordBatch:
        assert batch.schema.names == ["k", "n", "ts"]
        return batch.take(pa.array([2, 0]))

    build = lambda stream: stream.map_batches(last_first, timestamps="ts")  # noqa: E731
    assert through(build, RUN, [5, 6, 7]) == [(RUN[2], 7), (RUN[0], 5)]


def test_event_times_may_be_a_field() -> None:
    timed = Types.ROW_NAMED(["n", "ts"], [Types.LONG(), Types.SQL_TIMESTAMP()])

    def stamp(batch: pa.RecordBatch) -> Any:
        return {"n": batch.column("n"), "ts": pa.array([1_000_000, 2_000_000], pa.timestamp("us"))}

    build = lambda stream: stream.map_batches(stamp, timed, timestamps="ts")  # noqa: E731
    assert [(row.n, time) for row, time in through(build, RUN[:2])] == [(1, 1000), (2, 2000)]


def test_kinds_of_rows_stay_if_the_number_of_rows_does() -> None:
    rows = [Row.of_kind(RowKind.DELETE, "a", 1), Row("b", 2)]
    ((first, _), (second, _)) = through(lambda s: s.map_batches(lambda batch: batch), rows)
    assert first.get_row_kind() is RowKind.DELETE
    assert second.get_row_kind() is RowKind.INSERT


def test_dataclasses_and_plain_values_have_columns() -> None:
    orders = DataclassTypeInfo(Order, (Types.STRING(), Types.DOUBLE()))
    build = lambda stream: stream.map_batches(  # noqa: E731
        lambda batch: batch.set_column(1, "amount", pc.negate(batch.column("amount")))
    )
    assert through(build, [Order("a", 2.5)], type_info=orders) == [(Order("a", -2.5), None)]
    numbers = through(
        lambda stream: stream.map_batches(
            lambda batch: {"value": pc.add(batch.column("value"), 1)}
        ),
        [1, 2],
        type_info=Types.LONG(),
    )
    assert numbers == [(2, None), (3, None)]


@pytest.mark.parametrize(
    ("fn", "said"),
    [
        (lambda _batch: None, "returned None; expected a pyarrow RecordBatch"),
        (lambda _batch: 5, "returned a int"),
        (lambda batch: batch.select(["k"]), "the columns are"),
        (lambda batch: {"k": batch.column("n"), "n": batch.column("k")}, "column 'n'"),
        (lambda _batch: {"k": ["a"], "n": [1, 2]}, "different lengths"),
    ],
)
def test_what_is_no_batch_of_the_type_is_refused(fn: Callable[[Any], Any], said: str) -> None:
    with pytest.raises(OperatorFailed) as caught:
        through(lambda stream: stream.map_batches(fn), RUN)
    assert said in str(caught.value.__cause__)
    assert "MapBatches" in str(caught.value)


@pytest.mark.parametrize(
    ("column", "said"), [(None, "expected also 'ts'"), ([None, 1, 2], "nulls")]
)
def test_missing_event_times_are_refused(column: Any, said: str) -> None:
    def stamp(batch: pa.RecordBatch) -> Any:
        made = {"k": batch.column("k"), "n": batch.column("n")}
        return made if column is None else {**made, "ts": column}

    with pytest.raises(OperatorFailed) as caught:
        through(lambda stream: stream.map_batches(stamp, timestamps="ts"), RUN)
    assert said in str(caught.value.__cause__)


@pytest.mark.parametrize(
    "fn",
    [
        col("n") > 1,
        lambda batch: pc.greater(batch.column("n"), 1),
        lambda _batch: np.array([False, True, False]),
        lambda _batch: [False, True, None],
        lambda batch: pa.chunked_array([pc.greater(batch.column("n"), 1)]),
    ],
)
def test_a_mask_keeps_records_and_their_times(fn: Any) -> None:
    found = through(lambda stream: stream.filter_batches(fn), RUN, [5, 6, 7])
    assert found == [(RUN[1], 6)]


def test_a_mask_may_keep_all_or_nothing() -> None:
    everything = through(lambda stream: stream.filter_batches(lambda _b: [True] * 3), RUN)
    assert [row for row, _ in everything] == RUN
    assert through(lambda stream: stream.filter_batches(lambda _b: [None] * 3), RUN) == []


@pytest.mark.parametrize(
    ("fn", "said"),
    [
        (lambda _batch: [True], "1 values for a batch of 3"),
        (lambda _batch: [1, 2, 3], "expected bools"),
        (lambda _batch: None, "returned None"),
    ],
)
def test_what_is_no_mask_is_refused(fn: Callable[[Any], Any], said: str) -> None:
    with pytest.raises(OperatorFailed) as caught:
        through(lambda stream: stream.filter_batches(fn), RUN)
    assert said in str(caught.value.__cause__)


class Opened(BatchFunction):
    """Adds what it was opened with."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._more = runtime_context.get_number_of_parallel_subtasks()

    def apply(self, batch: Any) -> Any:
        return {"k": batch.column("k"), "n": pc.add(batch.column("n"), self._more)}


def test_a_function_object_is_opened() -> None:
    assert through(lambda stream: stream.map_batches(Opened()), RUN[:1]) == [
        (Row(k="a", n=2), None)
    ]


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda s: s.map_batches(double), "type of the stream is not known"),
        (lambda s: s.filter_batches(double), "type of the stream is not known"),
        (lambda s: s.key_by_columns("k"), "type of the stream is not known"),
    ],
)
def test_a_stream_of_unknown_type_has_no_columns(
    build: Callable[[DataStream], DataStream], said: str
) -> None:
    with pytest.raises(ProgramError, match=said):
        through(build, RUN, type_info=None)


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda s: s.map_batches(5), "expected a BatchFunction"),
        (lambda s: s.map_batches(Opened), "expected a BatchFunction"),
        (lambda s: s.map_batches(double, DOUBLED, format="csv"), "format is 'csv'"),
        (lambda s: s.map_batches(double, Types.PICKLED_BYTE_ARRAY()), "does not map to columns"),
        (lambda s: s.map_batches(double, "rows"), "expected one of Types"),
        (lambda s: s.map_batches(double, DOUBLED, timestamps=5), "name of a column"),
        (lambda s: s.filter_batches(col("z") > 1), "no column 'z'"),
        (lambda s: s.key_by_columns(), "got no columns"),
        (lambda s: s.key_by(col("n") + 1), "is an expression"),
        (lambda s: s.key_by(col("z")), "no column 'z'"),
    ],
)
def test_mistakes_are_found_when_the_program_is_made(
    build: Callable[[DataStream], DataStream], said: str
) -> None:
    with pytest.raises((ProgramError, TypeError), match=said):
        through(build, RUN)
