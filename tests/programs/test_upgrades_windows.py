"""What an operator keeps by itself, windows above all, in a program that has other ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from riverrun.api.column_aggregates import Agg, Aggregate
from riverrun.api.columns import col
from riverrun.api.functions import AggregateFunction
from riverrun.api.session_windows import EventTimeSessionWindows
from riverrun.api.triggers import EventTimeTrigger
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.api.window_assigner import WindowAssigner
from riverrun.api.window_assigners import SlidingEventTimeWindows, TumblingEventTimeWindows
from riverrun.api.window_functions import ProcessWindowFunction
from riverrun.checkpoint.saved_operators import RestoreRefused
from riverrun.core.time import Time
from riverrun.datastream.data_stream import DataStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.serde.row import Row
from riverrun.serde.types import Types
from tests.compatibility.held_source import HOLD, HeldSource
from tests.programs.upgrade_jobs import (
    KEYS,
    NOTHING,
    PATIENCE_S,
    PER_KEY,
    TOTALS,
    Build,
    Versions,
    counted,
    key_of,
)

HALF = PER_KEY // 2
RECORD = Types.ROW_NAMED(["key", "number"], [Types.LONG(), Types.LONG()])


@pytest.fixture
def versions(tmp_path: Path) -> Versions:
    return Versions(tmp_path)


class Count(AggregateFunction):
    """How many records a window has."""

    def create_accumulator(self) -> Any:
        return 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator + 1

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a + acc_b


class Show(ProcessWindowFunction[Any, Any, Any, Any]):
    """Key, bounds in seconds, and how many records."""

    def process(
        self, key: Any, context: ProcessWindowFunction.Context[Any], elements: Iterable[Any]
    ) -> Iterator[Any]:
        window, found = context.window(), list(elements)
        count = found[0] if isinstance(found[0], int) else len(found)
        yield [key, window.start // 1000, window.end // 1000, count]


class OfMyOwn(EventTimeTrigger[Any]):
    """Like the usual one, but unknown to riverrun."""


def timed(env: StreamExecutionEnvironment) -> DataStream:
    source = HeldSource("records", KEYS, PER_KEY, patient=False)
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    return env.from_source(source, strategy, "records").uid("records")


def tumbling(seconds: int) -> TumblingEventTimeWindows[Any]:
    return TumblingEventTimeWindows.of(Time.seconds(seconds))


def sliding(seconds: int, slide: int) -> SlidingEventTimeWindows[Any]:
    return SlidingEventTimeWindows.of(Time.seconds(seconds), Time.seconds(slide))


def sessions(seconds: int) -> Any:
    return EventTimeSessionWindows.with_gap(Time.seconds(seconds))


def folded(assigner: WindowAssigner[Any, Any], trigger: Any = None) -> Build:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        windows = timed(env).key_by(key_of).window(assigner)
        windows = windows if trigger is None else windows.trigger(trigger)
        return windows.aggregate(Count(), Show()).uid("kept").name("kept")

    return build


def listed(assigner: WindowAssigner[Any, Any]) -> Build:
    return lambda env: (
        timed(env).key_by(key_of).window(assigner).process(Show()).uid("kept").name("kept")
    )


def reduced(assigner: WindowAssigner[Any, Any]) -> Build:
    return lambda env: (
        timed(env)
        .key_by(key_of)
        .window(assigner)
        .reduce(lambda a, b: (a[0], max(a[1], b[1])))
        .uid("kept")
        .name("kept")
        .map(list)
    )


def _columns(env: StreamExecutionEnvironment) -> Any:
    rows = timed(env).map(lambda record: Row(key=record[0], number=record[1]), RECORD)
    return rows.uid("rows of columns").key_by(col("key"))


def on_columns(assigner: Any, *aggregates: Aggregate) -> Build:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        made = _columns(env).window(assigner).aggregate_columns(*aggregates)
        kept: DataStream = made.uid("kept").name("kept").map(list)
        return kept

    return build


def rolling(*aggregates: Aggregate) -> Build:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        made = _columns(env).aggregate_columns(*aggregates).uid("kept").name("kept")
        last: DataStream = made.filter(lambda row: row[1] == PER_KEY).map(list)
        return last

    return build


def rolling_reduce(env: StreamExecutionEnvironment) -> DataStream:
    ones = timed(env).map(lambda record: (record[0], 1)).uid("ones")
    sums = ones.key_by(key_of).reduce(lambda a, b: (a[0], a[1] + b[1])).uid("kept").name("kept")
    return sums.filter(lambda pair: pair[1] == PER_KEY).map(list)


def processed(env: StreamExecutionEnvironment) -> DataStream:
    return timed(env).key_by(key_of).process(counted()).uid("kept").name("kept")


@pytest.mark.parametrize(
    ("old", "new", "rows"),
    [
        (folded(tumbling(8)), folded(tumbling(12)), [[0, 8, 8], [8, 16, 4], [12, 24, 12]]),
        (listed(tumbling(8)), listed(tumbling(12)), [[0, 8, 8], [8, 16, 4], [12, 24, 12]]),
        (
            folded(tumbling(8)),
            folded(tumbling(8), OfMyOwn()),
            [[0, 8, 8], [8, 16, 8], [16, 24, 8]],
        ),
        (folded(sessions(3)), folded(sessions(2)), [[0, 25, 24]]),
        (
            listed(sliding(12, 12)),
            listed(sliding(12, 6)),
            [[0, 12, 12], [6, 18, 6], [12, 24, 12], [18, 30, 6]],
        ),
    ],
    ids=["size", "size of listed", "trigger", "gap", "slide of listed"],
)
def test_windows_that_are_open_keep_their_bounds_and_others_are_as_the_new_program_says(
    versions: Versions, old: Build, new: Build, rows: list[Any]
) -> None:
    savepoint = versions.stop_at(HALF, old)

    found = versions.finish(new, 3, start_from=savepoint)

    assert sorted(row[1:] for row in found if row[0] == 0) == sorted(rows)


COUNT, SUM = Agg.count(), Agg.sum("number")


@pytest.mark.parametrize(
    ("old", "new", "was", "now"),
    [
        (
            folded(sliding(12, 4)),
            folded(sliding(12, 6)),
            "SlidingEventTimeWindows(12000, 4000, 0); aggregate; EventTimeTrigger",
            "SlidingEventTimeWindows(12000, 6000, 0); aggregate; EventTimeTrigger",
        ),
        (
            folded(tumbling(8)),
            folded(sessions(3)),
            "TumblingEventTimeWindows(8000, 0); aggregate; EventTimeTrigger",
            "sessions; aggregate; EventTimeTrigger",
        ),
        (
            folded(tumbling(8)),
            reduced(tumbling(8)),
            "TumblingEventTimeWindows(8000, 0); aggregate; EventTimeTrigger",
            "TumblingEventTimeWindows(8000, 0); reduce; EventTimeTrigger",
        ),
        (
            listed(tumbling(8)),
            folded(tumbling(8)),
            "TumblingEventTimeWindows(8000, 0); all records; EventTimeTrigger",
            "TumblingEventTimeWindows(8000, 0); aggregate; EventTimeTrigger",
        ),
        (
            on_columns(tumbling(8), COUNT),
            on_columns(tumbling(12), COUNT),
            "TumblingEventTimeWindows(8000, 0); columns [count]",
            "TumblingEventTimeWindows(12000, 0); columns [count]",
        ),
        (
            rolling(COUNT, SUM),
            rolling(COUNT),
            "rolling; columns [count, sum(number Types.LONG())]",
            "rolling; columns [count]",
        ),
        (rolling_reduce, processed, "rolling; reduce", "an operator of another kind"),
    ],
    ids=["slide", "sessions", "reduce", "records", "columns", "aggregates", "kind of operator"],
)
def test_what_others_cannot_take_over_is_refused_at_submission(
    versions: Versions, old: Build, new: Build, was: str, now: str
) -> None:
    savepoint = versions.stop_at(HALF, old)

    with pytest.raises(RestoreRefused) as caught:
        versions.start(new, 3, start_from=savepoint, config=NOTHING)

    assert str(caught.value) == (
        f"operator 'kept' (uid 'kept'): the checkpoint holds what it kept as ({was}), and in the program "
        f"it is ({now}), which cannot take that over; leave it as it was, or give it another uid and leave "
        f"the state out with --allowNonRestoredState (windows that are open can be emptied first: stop "
        f"with drain)"
    )


def test_names_of_aggregates_may_change(versions: Versions) -> None:
    savepoint = versions.stop_at(HALF, rolling(COUNT))

    assert versions.finish(rolling(COUNT.alias("n")), 3, start_from=savepoint) == TOTALS


@pytest.mark.parametrize("order", [("ONE_PHASE", "AUTO"), ("TWO_PHASE", "ONE_PHASE")])
def test_windows_on_columns_go_on_in_one_phase_or_in_two(
    versions: Versions, order: tuple[str, str]
) -> None:
    before, after = ({"table.optimizer.agg-phase-strategy": phases} for phases in order)
    build = on_columns(tumbling(8), COUNT, SUM)
    savepoint = versions.stop_at(HALF, build, config=before)

    found = versions.finish(build, 3, start_from=savepoint, config=after)

    assert sorted(row[1:4] for row in found if row[0] == 0) == [
        [start * 1000, (start + 8) * 1000, 8] for start in (0, 8, 16)
    ]


def test_after_a_drain_windows_may_be_any_others(versions: Versions, tmp_path: Path) -> None:
    HOLD.close(HALF, KEYS)
    env, client = versions.start(folded(sliding(12, 4)), 2, start_from=None, config=NOTHING)
    with env:
        assert HOLD.reached.wait(PATIENCE_S)
        savepoint = client.stop_with_savepoint(True, str(tmp_path)).result(PATIENCE_S)
    HOLD.open()

    rows = versions.finish(folded(tumbling(6)), 3, start_from=savepoint)

    assert [row[1:] for row in rows if row[0] == 0 and row[2] - row[1] == 6] == [
        [12, 18, 6],
        [18, 24, 6],
    ]
